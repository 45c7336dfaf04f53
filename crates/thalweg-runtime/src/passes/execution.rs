//! How each instruction runs, before the residency analysis.

use std::sync::Arc;

use thalweg_core::engine::Overlap;
use thalweg_core::{Device, Kernel};

use crate::facts::{Moving, device_of};
use crate::plan::{MethodPlan, Step};
use crate::schedule::Execution;

/// The operators that copy between the host and a device. Where both sides are on the host they
/// are operators like others.
const COPIES: [&str; 2] = ["et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"];

/// How each instruction runs.
pub(crate) fn executions(
    plan: &MethodPlan,
    kernels: &[Kernel],
    moving: &Moving,
    devices: &[Arc<dyn Device>],
) -> Vec<Execution> {
    let execution = |step: &Step| {
        let Step::Kernel {
            operator,
            arguments,
        } = step
        else {
            return Execution::Other;
        };
        let signature = kernels[*operator as usize].signature();
        let arguments = plan.arguments(*arguments);
        if COPIES.contains(&signature.operator())
            && let [from, to, ..] = arguments[..]
        {
            let index = |id| devices.iter().position(|device| Some(device.id()) == id);
            match (index(device_of(plan, from)), index(device_of(plan, to))) {
                (None, Some(device)) => return Execution::Upload(device),
                (Some(device), None) => return Execution::Download(device),
                (Some(from), Some(to)) if from == to => return Execution::Copy(from),
                _ => {}
            }
        }
        if signature.is_view() {
            return Execution::Kernel(Overlap::View);
        }
        let reads = signature.parameters().len();
        let apart = moving.apart(plan, arguments, reads, signature.writes());
        Execution::Kernel(apart.map_or(Overlap::Possible, Overlap::None))
    };
    plan.steps.iter().map(execution).collect()
}
