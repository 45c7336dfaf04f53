//! Elimination of copies between the host and devices that nothing depends on.

use thalweg_core::Result;
use thalweg_core::engine::Category;

use super::{Lowering, Pass, residency};
use crate::facts::Facts;

/// Finds by the residency analysis which copies between the host and devices are needed, and where
/// tensors on devices then lie.
pub(crate) struct CopyElimination;

impl Pass for CopyElimination {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let resources = lowering.resources;
        let _span = resources.tracer.begin(Category::Load, "plan copies");
        let delegates = resources.delegates.iter();
        let aliases: Vec<Vec<(usize, usize)>> =
            delegates.map(|delegate| delegate.aliases()).collect();
        let search = residency::MethodFacts {
            plan: facts.plan(),
            kernels: facts.kernels(),
            devices: resources.devices,
            changing: &facts.written().values,
            aliases: &aliases,
        };
        lowering.places = residency::without_needless_copies(&search, &mut lowering.executions);
        Ok(())
    }
}
