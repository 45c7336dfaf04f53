//! Passes: what changes a plan, or decides how it runs, before a method is instantiated.

mod channels_last;
mod check_arguments;
mod constant_folding;
mod copy_elimination;
mod execution;
mod fusion;
mod inline;
mod link_storages;
mod lowering;
mod prepack;
mod residency;
mod unread;

use thalweg_core::Result;

pub(crate) use self::check_arguments::check_arguments;
pub(crate) use self::lowering::{Lowering, Resources};
use crate::facts::Facts;
use crate::optimizations::Optimizations;

/// A pass over the plan of a method: it changes the plan ([`Lowering::change`]), or decides how a part
/// of it runs.
pub(crate) trait Pass {
    /// Runs the pass. `facts` are those of the plan as it is before.
    ///
    /// # Errors
    /// If the plan cannot run, or what the pass needs is not there.
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()>;
}

/// The passes of a method that is linked, in order.
pub(crate) fn passes(optimizations: Optimizations) -> impl Iterator<Item = &'static dyn Pass> {
    let passes: [(bool, &'static dyn Pass); 9] = [
        (true, &inline::InlineGraphs),
        (
            optimizations.constant_folding,
            &constant_folding::ConstantFolding,
        ),
        (optimizations.channels_last, &channels_last::ChannelsLast),
        (optimizations.fusion, &fusion::EpilogueFusion),
        (true, &execution::ChooseExecutions),
        (optimizations.residency, &copy_elimination::CopyElimination),
        (true, &link_storages::LinkStorages),
        (true, &prepack::Prepacking),
        (true, &unread::FindUnread),
    ];
    let enabled = passes.into_iter().filter(|(enabled, _)| *enabled);
    enabled.map(|(_, pass)| pass)
}
