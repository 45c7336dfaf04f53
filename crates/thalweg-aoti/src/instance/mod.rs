//! Method instances of models.

mod arguments;
mod call;
mod encode;
mod graph_key;
mod layout;
mod lru;
mod records;

use std::sync::Arc;

use thalweg_core::{Call, CallEnd, DelegateInstance, Device as _, ErrorKind, Result, StateBuffers};
use thalweg_core::{GraphKey, StreamHandle, bail};
use thalweg_cuda::Stream;

use self::graph_key::{EncodedRun, GraphKeys};
use self::records::RunRecords;
use crate::abi::{AllocationPlan, borrow_stream};
use crate::compiled_library::CompiledLibrary;
use crate::model::{Model, ModelInstance};
use crate::mutation::{Rule, disabled};

/// The instance of a delegate in one method instance.
pub(crate) struct Instance {
    /// There until this is dropped.
    own: Option<ModelInstance>,
    records: RunRecords,
    graph_keys: GraphKeys,
    encoded: EncodedRun,
    /// The number of the call whose workspace this instance uses.
    workspace_call: Option<u64>,
    /// The last call that had a workspace, and the workspace's address.
    last_workspace: Option<(u64, u64)>,
    /// True if there is work that can never be waited for.
    lost: bool,
    model: Arc<Model>,
}

impl Instance {
    /// An instance with the mutable buffers of a state.
    pub(crate) fn new(model: Arc<Model>, state: &dyn StateBuffers) -> Result<Self> {
        Ok(Self {
            own: Some(model.instance(state)?),
            records: RunRecords::default(),
            graph_keys: GraphKeys::default(),
            encoded: EncodedRun::default(),
            workspace_call: None,
            last_workspace: None,
            lost: false,
            model,
        })
    }
}

impl DelegateInstance for Instance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let model = self.model.clone();
        let device = &model.library.resources.device;
        let id = device.id();
        match call.stream(id) {
            Ok(stream) => self.run(call, &model, stream, true),
            // All arguments are on the host, and the core does not know of the work on the device. So the
            // work must be complete when this returns, also after an error.
            Err(error) if error.kind() == ErrorKind::MissingDevice => {
                let stream = call.caller_stream(id);
                let stream = stream.unwrap_or_else(|| device.default_stream());
                let result = self.run(call, &model, stream, false);
                let waited = self.synchronize(&borrow_stream(device, stream));
                result.and(waited)
            }
            Err(error) => Err(error),
        }
    }

    fn encode(&mut self, call: &mut Call<'_>) -> Result<Option<GraphKey>> {
        let model = self.model.clone();
        let is_encoded = self.encode(call, &model)?;
        Ok(is_encoded.then(|| GraphKey(self.graph_keys.of(self.encoded.key()))))
    }

    fn submit(&mut self, handle: StreamHandle, recording: bool) -> Result<()> {
        let model = self.model.clone();
        let library = &model.library;
        let stream = stream_for(library, handle)?;
        let session = library.session(&stream)?;
        let submitted = self.submit(&session, &model, recording);
        let finished = session.finish();
        submitted.and(finished)
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        let Some(call) = self.workspace_call.take() else {
            return Ok(());
        };
        let resources = &self.model.library.resources;
        let id = resources.device.id();
        match end.stream(id) {
            Some(stream) => {
                let stream = || borrow_stream(&resources.device, stream);
                resources.workspaces.end(call, end.is_idle(id), stream)
            }
            None => Ok(()),
        }
    }
}

impl Instance {
    /// The address of the call's workspace, if the plan needs one and it is large enough.
    fn workspace(
        &mut self,
        call: &Call<'_>,
        plan: &AllocationPlan,
        handle: StreamHandle,
    ) -> Result<Option<u64>> {
        if plan.workspace() == 0 {
            return Ok(None);
        }
        let model = self.model.clone();
        let resources = &model.library.resources;
        let stream = || borrow_stream(&resources.device, handle);
        let workspaces = &resources.workspaces;
        if let Some(before) = self
            .workspace_call
            .filter(|before| *before != call.number())
        {
            // The end of an earlier call was not reported, as by a wrapper of this instance that does not
            // forward `end`. Its work is before what this call enqueues.
            self.workspace_call = None;
            workspaces.end(before, false, stream)?;
        }
        let bytes = usize::try_from(plan.workspace()).unwrap_or(usize::MAX);
        let address = workspaces.of_call(call.number(), bytes, self.last_workspace, stream)?;
        if let Some(address) = address {
            self.workspace_call = Some(call.number());
            self.last_workspace = Some((call.number(), address));
        }
        Ok(address)
    }

    /// Withdraws the call's workspace for good: the library has not freed an allocation in it.
    fn abandon_workspace(&mut self, model: &Model) {
        if let Some(call) = self.workspace_call.take() {
            model.library.resources.workspaces.abandon(call);
        }
    }

    /// Waits for a stream that the core does not wait for.
    fn synchronize(&mut self, stream: &Stream) -> Result<()> {
        if disabled(Rule::DrainUnknownWork) {
            return Ok(());
        }
        stream.synchronize().inspect_err(|_| {
            let device = stream.device();
            // A call that failed once may succeed the second time. A lost device runs nothing.
            self.lost |= stream.synchronize().is_err() && device.alive().is_ok();
        })
    }
}

/// The model instance, which is there until the instance is dropped.
fn present(own: &mut Option<ModelInstance>) -> Result<&mut ModelInstance> {
    match own {
        Some(own) => Ok(own),
        None => bail!(Internal, "an instance is used after it was dropped"),
    }
}

/// The stream that a library enqueues on.
fn stream_for(library: &CompiledLibrary, handle: StreamHandle) -> Result<Stream> {
    let device = &library.resources.device;
    match disabled(Rule::OneStream) {
        false => Ok(borrow_stream(device, handle)),
        true => Stream::new(device),
    }
}

impl Drop for Instance {
    /// The core has waited for the work of all calls.
    fn drop(&mut self) {
        if self.lost {
            tracing::warn!("a compiled library that may still be running is never unloaded");
            std::mem::forget(self.own.take());
            std::mem::forget(self.model.clone());
        }
        if let Some(call) = self.workspace_call.take() {
            let resources = &self.model.library.resources;
            let stream = || Stream::per_thread(&resources.device);
            match self.lost {
                true => resources.workspaces.abandon(call),
                // The call's work is complete.
                false => {
                    let _ = resources.workspaces.end(call, true, stream);
                }
            }
        }
    }
}
