//! Mutable buffers that delegates have in the state of a method instance.

use std::any::Any;
use std::sync::Arc;

use crate::Result;

/// The buffers of delegates in a state. Instances of any methods that share the state find the same
/// buffer by its name.
pub trait StateBuffers {
    /// The buffer of a name; `create` makes it if there is none yet. A backend names it as the model
    /// does, so that methods which share the state share it.
    ///
    /// A delegate that has such buffers says so ([`Delegate::has_state`](crate::Delegate::has_state)).
    ///
    /// # Errors
    /// Those of `create`.
    fn get_or_create(
        &self,
        name: &str,
        create: &mut dyn FnMut() -> Result<Arc<dyn DelegateBuffer>>,
    ) -> Result<Arc<dyn DelegateBuffer>>;
}

/// A mutable buffer of a delegate, as a part of a state.
///
/// While one of its functions is called, no method runs that shares the state, and nothing that such
/// a method has submitted is in flight.
pub trait DelegateBuffer: Any + Send + Sync {
    /// The size in bytes.
    fn len(&self) -> usize;

    /// True if it has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A copy of its bytes.
    ///
    /// # Errors
    /// If its device failed.
    fn read(&self) -> Result<Vec<u8>>;

    /// Replaces its bytes with as many others. Nothing of that is in flight afterwards.
    ///
    /// # Errors
    /// If its device failed.
    fn write(&self, bytes: &[u8]) -> Result<()>;

    /// Sets it back to its initial value. Nothing of that is in flight afterwards.
    ///
    /// # Errors
    /// If its device failed.
    fn reset(&self) -> Result<()>;
}
