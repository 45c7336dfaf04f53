//! The origin of each piece of an instance's memory.

use thalweg_core::Result;

use super::{Lowering, Pass};
use crate::facts::Facts;
use crate::storages::storages;

/// Finds where each piece of an instance's memory comes from.
pub(crate) struct LinkStorages;

impl Pass for LinkStorages {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let plan = facts.plan();
        lowering.lends = facts.written().lends(plan);
        lowering.storages = storages(
            plan,
            lowering.resources.sources,
            &lowering.lends,
            &lowering.executions,
            lowering.resources.devices,
            &lowering.places,
        )?;
        Ok(())
    }
}
