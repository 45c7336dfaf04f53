//! Command-line options that several commands have.

mod count;
mod graphs;
mod profiles;
mod threads;

pub(crate) use count::at_least_one;
pub(crate) use graphs::Graphs;
pub(crate) use profiles::Profiles;
pub(crate) use threads::Threads;
