//! Function multiversioning: loops that the compiler vectorizes for several instruction sets.
//!
//! This crate is compiled for what every machine of its kind has. A loop that is worth it is compiled
//! a second time, for the longer vectors that most machines have, and which of the two runs is found
//! out when it does.

use pulp::Arch;

/// Runs a loop with the vectors that the machine has. Results are the same with all. The closure has
/// to be `#[inline(always)]`, and so has what it calls: what is not inlined is not compiled anew.
#[inline(always)]
pub(crate) fn vectorized<R>(run: impl FnOnce() -> R) -> R {
    Arch::new().dispatch(run)
}
