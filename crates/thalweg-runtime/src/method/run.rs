//! The part of a call that is the same for all of its instructions.

use super::instance::ProfileSource;
use crate::options::RunOptions;

/// The part of a call that is the same for all of its instructions.
#[derive(Clone, Copy)]
pub(super) struct Run<'r> {
    pub(super) options: &'r RunOptions<'r>,
    pub(super) profiles: ProfileSource,
    pub(super) number: u64,
    /// True if commands are deferred for as long as that is possible.
    pub(super) defers: bool,
}
