//! A backend that remembers what engines were run with.

use std::sync::{Arc, Mutex, PoisonError};

use thalweg_core::{
    Backend, Call, CallEnd, Delegate, DelegateInstance, DelegateSpec, Device as _, Result, State,
    bail, ensure,
};

use super::Floor;
use crate::TensorRt;
use crate::abi::{Shape, download};
use crate::argument;
use crate::contexts::Making;
use crate::instance::Instance;
use crate::loaded::Loaded;
use crate::scratch::Scratch;

/// TensorRT as a backend that remembers every call of an engine, with the values of its inputs and
/// outputs. From that, [`Watched::floor`] runs the same engines by themselves.
///
/// Its engines are those of the [`TensorRt`] that it was made of, so that a floor takes no memory
/// for weights. Its calls wait for the device, before and after each engine: what it runs is not to
/// be measured.
#[derive(Clone)]
pub struct Watched {
    tensorrt: TensorRt,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A call of an engine.
pub(super) struct Seen {
    pub(super) loaded: Arc<Loaded>,
    pub(super) profile: usize,
    pub(super) inputs: Vec<Value>,
    pub(super) outputs: Vec<Value>,
}

/// An input or output of such a call.
pub(super) struct Value {
    /// Its shape, as the engine sees it.
    pub(super) shape: Shape,
    pub(super) bytes: Vec<u8>,
}

impl Watched {
    /// Nothing has been seen yet.
    pub fn new(tensorrt: &TensorRt) -> Self {
        Self {
            tensorrt: tensorrt.clone(),
            seen: Arc::default(),
        }
    }

    /// What it takes to run all engines that have been called since the last time that this was
    /// asked, in that order, on the shapes of then. `inputs` and `outputs` are the bytes of the
    /// tensors that the method took and gave: as many are copied where copies are a part of what is
    /// measured.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](thalweg_core::ErrorKind::InvalidInput) if no engine was called;
    /// [`ErrorKind::Unsupported`](thalweg_core::ErrorKind::Unsupported) if they are on several
    /// devices; and if TensorRT or the driver refuses something.
    pub fn floor(&self, inputs: &[&[u8]], outputs: &[&[u8]]) -> Result<Floor> {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        ensure!(
            !seen.is_empty(),
            InvalidInput,
            "no engine of TensorRT was called"
        );
        Floor::new(&self.tensorrt, seen, inputs, outputs)
    }
}

impl Backend for Watched {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<Arc<dyn Delegate>> {
        Ok(Arc::new(WatchedDelegate {
            loaded: self.tensorrt.load_shared(spec)?,
            seen: self.seen.clone(),
        }))
    }
}

struct WatchedDelegate {
    loaded: Arc<Loaded>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Delegate for WatchedDelegate {
    fn instance(&self, _: &State) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(WatchedInstance {
            instance: Instance::new(
                self.loaded.clone(),
                Scratch::own(self.loaded.device()),
                Making::default(),
            )?,
            loaded: self.loaded.clone(),
            seen: self.seen.clone(),
        }))
    }

    fn aliases(&self) -> Vec<(usize, usize)> {
        self.loaded.aliases.clone()
    }

    fn name(&self) -> Option<&str> {
        self.loaded.own_name()
    }

    fn profile_count(&self) -> usize {
        self.loaded.profiles.len()
    }
}

struct WatchedInstance {
    instance: Instance,
    loaded: Arc<Loaded>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl DelegateInstance for WatchedInstance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let loaded = &self.loaded;
        let count = loaded.bindings.len().min(call.argument_count());
        let inputs = (0..loaded.inputs.min(count)).map(|index| look(call, loaded, index));
        let inputs = inputs.collect::<Result<_>>()?;
        self.instance.execute(call)?;
        let Some(profile) = self.instance.last_profile() else {
            bail!(Internal, "a call of an engine without a profile");
        };
        let outputs = (loaded.inputs..count).map(|index| look(call, loaded, index));
        let seen = Seen {
            loaded: loaded.clone(),
            profile,
            inputs,
            outputs: outputs.collect::<Result<_>>()?,
        };
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(seen);
        Ok(())
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        self.instance.end(end)
    }
}

/// An argument of a call, as it is now.
fn look(call: &mut Call<'_>, loaded: &Loaded, index: usize) -> Result<Value> {
    let binding = &loaded.bindings[index];
    let Some(on) = call.device_of(index)? else {
        let arguments = call.arguments(&[])?;
        let tensor = arguments.tensor(index)?;
        return Ok(Value {
            shape: argument::input_shape(binding, tensor.sizes())?,
            bytes: tensor.bytes().to_vec(),
        });
    };
    let device = loaded.device();
    ensure!(
        on == device.id(),
        InvalidProgram,
        "`{}` lies on {on}, and the engine is on {}",
        binding.text,
        device.id()
    );
    let stream = call.stream(on)?;
    let tensor = call.device_tensor(index)?;
    let mut bytes = vec![0; tensor.len()];
    if !bytes.is_empty() {
        download(device, &mut bytes, tensor.address(), stream)?;
    }
    Ok(Value {
        shape: argument::input_shape(binding, tensor.sizes())?,
        bytes,
    })
}
