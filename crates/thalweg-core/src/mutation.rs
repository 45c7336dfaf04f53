//! Mutations: tests disable ordering rules, one at a time, to show that each is needed.

/// Makes the switch for a crate's ordering rules, which exists if the crate has its feature `mutations`,
/// and in its own tests: `disable(rule)` disables one until the guard is dropped, and `disabled(rule)`
/// asks. Without the switch, none is disabled, at no cost.
#[doc(hidden)]
#[macro_export]
macro_rules! ordering_rules {
    ($rule:ident) => {
        #[cfg(any(test, feature = "mutations"))]
        mod switch {
            use super::$rule;
            use std::sync::atomic::{AtomicU32, Ordering};

            static DISABLED: AtomicU32 = AtomicU32::new(0);

            /// Leaves one rule out until the result is dropped. For tests, one at a time.
            pub fn disable(rule: $rule) -> Mutation {
                DISABLED.fetch_or(1 << rule as u32, Ordering::SeqCst);
                Mutation(rule)
            }

            /// A rule that is left out.
            #[derive(Debug)]
            #[must_use]
            pub struct Mutation($rule);

            impl Drop for Mutation {
                fn drop(&mut self) {
                    DISABLED.fetch_and(!(1 << self.0 as u32), Ordering::SeqCst);
                }
            }

            pub(crate) fn disabled(rule: $rule) -> bool {
                DISABLED.load(Ordering::Relaxed) & (1 << rule as u32) != 0
            }
        }

        #[cfg(any(test, feature = "mutations"))]
        pub use switch::*;

        #[cfg(not(any(test, feature = "mutations")))]
        #[inline(always)]
        pub(crate) fn disabled(_rule: $rule) -> bool {
            false
        }
    };
}
