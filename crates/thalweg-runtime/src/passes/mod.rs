//! Passes: what changes a plan, or decides how it runs, before a method is instantiated.

pub(crate) mod channels_last;
pub(crate) mod constant_folding;
pub(crate) mod execution;
pub(crate) mod fusion;
pub(crate) mod prepack;
pub(crate) mod residency;
