//! Backends: what runs the parts of a program that are not operators.
//!
//! A backend is known to a runtime by its name. It loads each delegate of a program once
//! ([`Delegate`]: engine, code, weights), and gives every method instance something of its own to run
//! it with ([`DelegateInstance`]: contexts, state). A delegate may also be a graph of operators
//! ([`Subgraph`]), which becomes a part of the method.

mod buffers;
mod call;
mod spec;
mod subgraph;

use std::sync::Arc;

pub use buffers::{DelegateBuffer, StateBuffers};
pub use call::{Call, CallContext, CallDevices, CallEnd};
pub use spec::{DelegateSpec, NamedData};
pub use subgraph::{Node, NodeValue, NodeValueId, Subgraph};

use crate::device::StreamHandle;
use crate::{Result, bail};

/// A loader of delegates.
pub trait Backend: Send + Sync {
    /// Loads a delegate. All instances of the method share it.
    ///
    /// # Errors
    /// If the payload is not one of this backend's, or what it needs is missing.
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate>;

    /// Checks that the backend can work on this machine.
    ///
    /// # Errors
    /// The reason why it cannot.
    fn available(&self) -> Result<()> {
        Ok(())
    }
}

/// What a backend makes of a delegate's payload.
pub enum LoadedDelegate {
    /// Something that only its backend can run.
    Opaque(Arc<dyn Delegate>),
    /// A graph of operators, which takes the place of the delegate in the method.
    Graph(Subgraph),
}

/// A loaded delegate.
pub trait Delegate: Send + Sync {
    /// A new instance for one method instance, whose state has `buffers`.
    ///
    /// # Errors
    /// If memory or another resource is out.
    fn instance(&self, buffers: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>>;

    /// True if instances have [buffers in their state](StateBuffers). Calls of methods that share the
    /// state are then one after the other, on devices, too.
    fn has_state(&self) -> bool {
        false
    }

    /// The outputs that are inputs updated in place, such as a cache: the position of the output
    /// among the arguments, and that of the input.
    ///
    /// Where nothing else needs the old content of the input, both arguments of a call are the same
    /// memory, so that a cache is neither copied nor moved. Otherwise they are not, and the delegate
    /// copies the input to the output's memory before it updates it there.
    fn aliases(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// The delegate's own name, if it has one. Callers can pin its profile by that name.
    fn name(&self) -> Option<&str> {
        None
    }

    /// The number of optimization profiles, of which a call uses one ([`Call::profile`]); zero, if it
    /// has none. Whoever wraps another delegate passes this on, and the name.
    fn profile_count(&self) -> usize {
        0
    }
}

/// A delegate of one method instance.
///
/// An argument on a device that has a value when the delegate is called is its input, which it only
/// reads, unless an output [aliases it](Delegate::aliases); one that has none is its output. The
/// residency analysis depends on it.
///
/// # Deferred submission
/// A call that may use graphs defers its work on the device, to submit it in batches. It calls
/// [`encode`](Self::encode) instead of `execute`. When the batch is submitted, it calls
/// [`submit`](Self::submit), which is captured if the batch becomes a graph; or it launches a graph
/// that was captured earlier with the same keys. Either way, [`submitted`](Self::submitted) follows.
pub trait DelegateInstance: Send {
    /// Runs the delegate once.
    ///
    /// # Errors
    /// If it cannot do what the program asks.
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()>;

    /// Does all that [`execute`](Self::execute) does but for the submission of work to the device, and
    /// returns the key of that work. `None`, with nothing done, if it cannot be deferred this time;
    /// then the delegate is executed.
    ///
    /// It is not called again before the encoded work was submitted.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    fn encode(&mut self, call: &mut Call<'_>) -> Result<Option<GraphKey>> {
        let _ = call;
        Ok(None)
    }

    /// Submits the encoded work to the call's stream. If `capturing`, it becomes a part of a graph and
    /// does not run, and may be submitted once more if there can be no graph.
    ///
    /// # Errors
    /// If the device or the delegate refuses.
    fn submit(&mut self, stream: StreamHandle, capturing: bool) -> Result<()> {
        let _ = (stream, capturing);
        bail!(Internal, "a delegate submits what it has not encoded")
    }

    /// Takes note that the encoded work was submitted: by [`submit`](Self::submit), or by the launch of
    /// a graph that was captured under the same key.
    ///
    /// # Errors
    /// If it cannot be remembered.
    fn submitted(&mut self, stream: StreamHandle) -> Result<()> {
        let _ = stream;
        Ok(())
    }

    /// Takes note of the end of a call in which the delegate took part, whatever became of it: once
    /// for each such call, also after an error or a panic, of this delegate or of anything else. What
    /// is held for the time of a call is given back here.
    ///
    /// All work of the call was submitted by then. Whoever wraps another instance passes this on.
    ///
    /// # Errors
    /// They are the call's, unless it has failed already. Other delegates are told all the same.
    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        let _ = end;
        Ok(())
    }
}

/// The key of encoded work. If a delegate of a method instance returns the same key twice,
/// [`DelegateInstance::submit`] submits the very same work both times: the same kernels, on the same
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GraphKey(pub u64);

impl From<Arc<dyn Delegate>> for LoadedDelegate {
    fn from(delegate: Arc<dyn Delegate>) -> Self {
        Self::Opaque(delegate)
    }
}

impl<D: Delegate + 'static> From<Arc<D>> for LoadedDelegate {
    fn from(delegate: Arc<D>) -> Self {
        Self::Opaque(delegate)
    }
}
