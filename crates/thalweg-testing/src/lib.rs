//! Support for tests of Thalweg's crates. Never published.
//!
//! What needs other crates is behind a feature, so that tests of a crate build what they need.

mod allocator;
mod random;
#[cfg(feature = "sample")]
pub mod sample;

pub use allocator::CountingAllocator;
pub use random::SplitMix;
