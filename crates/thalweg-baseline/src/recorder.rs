//! The TensorRT backend that records the calls of engines.

use std::sync::{Arc, Mutex, PoisonError};

use thalweg_core::{
    Backend, Call, CallEnd, Delegate, DelegateInstance, DelegateSpec, Device as _, LoadedDelegate,
    Result, StateBuffers, bail, ensure,
};
use thalweg_tensorrt::TensorRt;
use thalweg_tensorrt::direct::{DirectEngine, DirectInstance, TensorValue};

use crate::baseline::Baseline;
use crate::recorded::RecordedCall;
use crate::unchecked::download_argument;

/// TensorRT as a backend that records every call of an engine, with the values of its inputs and outputs.
/// [`Recorder::baseline`] runs the same engines by themselves.
///
/// The engines are those of the [`TensorRt`] that it is made of, so that a baseline takes no memory for
/// weights. The host waits for the device before and after each engine, so its calls must not be measured.
#[derive(Clone)]
pub struct Recorder {
    tensorrt: TensorRt,
    calls: Calls,
}

/// The calls that are recorded.
type Calls = Arc<Mutex<Vec<RecordedCall>>>;

impl Recorder {
    /// A recorder without calls.
    pub fn new(tensorrt: &TensorRt) -> Self {
        Self {
            tensorrt: tensorrt.clone(),
            calls: Calls::default(),
        }
    }

    /// The baseline of all calls since the last time that this was called, in that order and with their
    /// shapes. `inputs` and `outputs` are the bytes of the tensors that the method took and returned: as
    /// many bytes are copied in variants with copies.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](thalweg_core::ErrorKind::InvalidInput) if no engine was called;
    /// [`ErrorKind::Unsupported`](thalweg_core::ErrorKind::Unsupported) if they are on several devices;
    /// and if TensorRT or the driver refuses something.
    pub fn baseline(&self, inputs: &[&[u8]], outputs: &[&[u8]]) -> Result<Baseline> {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap_or_else(PoisonError::into_inner));
        ensure!(
            !calls.is_empty(),
            InvalidInput,
            "no engine of TensorRT was called"
        );
        Baseline::new(&self.tensorrt, calls, inputs, outputs)
    }
}

impl Backend for Recorder {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        Ok(Arc::new(RecordingDelegate {
            engine: DirectEngine::load(&self.tensorrt, spec)?,
            calls: self.calls.clone(),
        })
        .into())
    }
}

/// A delegate whose calls are recorded.
struct RecordingDelegate {
    engine: DirectEngine,
    calls: Calls,
}

impl Delegate for RecordingDelegate {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(RecordingInstance {
            instance: self.engine.instance()?,
            engine: self.engine.clone(),
            calls: self.calls.clone(),
        }))
    }

    fn aliases(&self) -> Vec<(usize, usize)> {
        self.engine.aliases().to_vec()
    }

    fn name(&self) -> Option<&str> {
        self.engine.name()
    }

    fn profile_count(&self) -> usize {
        self.engine.profile_count()
    }
}

/// An instance whose calls are recorded.
struct RecordingInstance {
    instance: DirectInstance,
    engine: DirectEngine,
    calls: Calls,
}

impl DelegateInstance for RecordingInstance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let engine = &self.engine;
        let count = engine.binding_count().min(call.argument_count());
        let inputs = (0..engine.input_count().min(count)).map(|index| value(call, engine, index));
        let inputs = inputs.collect::<Result<_>>()?;
        self.instance.execute(call)?;
        let Some(profile) = self.instance.last_profile() else {
            bail!(Internal, "a call of an engine without a profile");
        };
        let outputs = (engine.input_count()..count).map(|index| value(call, engine, index));
        let recorded = RecordedCall {
            engine: engine.clone(),
            profile,
            inputs,
            outputs: outputs.collect::<Result<_>>()?,
        };
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(recorded);
        Ok(())
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        self.instance.end(end)
    }
}

/// The present value of an argument of a call.
fn value(call: &mut Call<'_>, engine: &DirectEngine, index: usize) -> Result<TensorValue> {
    let Some(on) = call.device_of(index)? else {
        let arguments = call.arguments(&[])?;
        let tensor = arguments.tensor(index)?;
        return Ok(TensorValue {
            sizes: tensor.sizes().to_vec(),
            bytes: tensor.bytes().to_vec(),
        });
    };
    let device = engine.device();
    ensure!(
        on == device.id(),
        InvalidProgram,
        "argument {index} lies on {on}, and the engine is on {}",
        device.id()
    );
    let stream = call.stream(on)?;
    let tensor = call.device_tensor(index)?;
    let mut bytes = vec![0; tensor.len()];
    if !bytes.is_empty() {
        download_argument(device, &mut bytes, tensor.address(), stream)?;
    }
    Ok(TensorValue {
        sizes: tensor.sizes().to_vec(),
        bytes,
    })
}
