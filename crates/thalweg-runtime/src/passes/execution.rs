//! The execution of each instruction, as the program says: before copies are eliminated.

use thalweg_core::Result;
use thalweg_core::engine::Overlap;

use super::{Lowering, Pass};
use crate::facts::{Facts, Moving, device_of};
use crate::plan::Step;
use crate::schedule::Execution;

/// The operators that copy between the host and a device. Where both sides are on the host they
/// are operators like others.
const COPIES: [&str; 2] = ["et_copy::_h2d_copy.out", "et_copy::_d2h_copy.out"];

/// Chooses how each instruction runs: as a copy, or by its kernel, and then proves where it can that
/// arguments do not alias.
pub(crate) struct ChooseExecutions;

impl Pass for ChooseExecutions {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let plan = facts.plan();
        let moving = Moving::new(plan, facts.views().iter().copied());
        let devices = lowering.resources.devices;
        let execution = |step: &Step| {
            let Step::Kernel {
                operator,
                arguments,
            } = step
            else {
                return Execution::Other;
            };
            let signature = facts.kernel(*operator).signature();
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
        lowering.executions = plan.steps.iter().map(execution).collect();
        lowering.moving = moving;
        Ok(())
    }
}
