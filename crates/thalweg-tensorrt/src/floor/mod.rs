//! Floors: how long the engines of a method take with as little around them as possible.

mod load;
mod measure;
mod run;
mod watch;

pub use measure::{Around, Floor};
pub use watch::Watched;
