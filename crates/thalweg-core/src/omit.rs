//! Rules of order that tests leave out, one at a time, to show that each is needed.

/// A wait or a record that the order on devices depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// An operator of the host waits for copies that use its arguments.
    HostAfterCopies,
    /// An output is read after the copy that writes it.
    OutputsAfterCopies,
    /// An input is written after the copies of earlier calls that read its place.
    InputsAfterCopies,
    /// A call's stream goes on after what the call before left in flight.
    CallAfterCall,
    /// Memory goes when nothing in flight uses it any more.
    DropAfterUse,
    /// What a call leaves in flight is recorded.
    RecordEnd,
    /// A call that cannot record what it leaves in flight waits for it.
    DrainWithoutRecord,
    /// A copy to a device is known to read its source until it is done.
    UploadsRead,
    /// A copy from a device is known to write its target until it is done.
    DownloadsWrite,
    /// A call that uses a state on a device goes on after what another has left in flight there.
    StateAfterCall,
    /// What a call leaves in flight that uses a state on a device is recorded for others.
    StateRecord,
    /// The host reads a state after what a call has left in flight.
    StateOnHost,
    /// A call is over after the copies that read memory which the caller lent for its time.
    LentUntilCopied,
    /// A call on a stream that the caller records begins when what came before is over.
    RecordedAfterCall,
    /// What a caller records is not taken for the end of the call, for later calls to wait for.
    NoEndInRecording,
    /// Whoever is told to go on after a call's completion does.
    AfterCompletion,
}

/// Makes the switch for a crate's rules, which is there if the crate's feature `omissions` is, and
/// in its own tests: `omit(rule)` leaves one out until the result is dropped, and `omitted(rule)`
/// says whether it is. Without the switch, nothing is, at no cost.
#[doc(hidden)]
#[macro_export]
macro_rules! omission_switch {
    ($rule:ident) => {
        #[cfg(any(test, feature = "omissions"))]
        mod switch {
            use super::$rule;
            use std::sync::atomic::{AtomicU32, Ordering};

            static OMITTED: AtomicU32 = AtomicU32::new(0);

            /// Leaves one rule out until the result is dropped. For tests, one at a time.
            pub fn omit(rule: $rule) -> Omission {
                OMITTED.fetch_or(1 << rule as u32, Ordering::SeqCst);
                Omission(rule)
            }

            /// A rule that is left out.
            #[derive(Debug)]
            #[must_use]
            pub struct Omission($rule);

            impl Drop for Omission {
                fn drop(&mut self) {
                    OMITTED.fetch_and(!(1 << self.0 as u32), Ordering::SeqCst);
                }
            }

            pub(crate) fn omitted(rule: $rule) -> bool {
                OMITTED.load(Ordering::Relaxed) & (1 << rule as u32) != 0
            }
        }

        #[cfg(any(test, feature = "omissions"))]
        pub use switch::*;

        #[cfg(not(any(test, feature = "omissions")))]
        #[inline(always)]
        pub(crate) fn omitted(_rule: $rule) -> bool {
            false
        }
    };
}

omission_switch!(Rule);
