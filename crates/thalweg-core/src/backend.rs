//! Backends: what runs the parts of a program that are not operators.
//!
//! A backend is known to a [`Runtime`](crate::Runtime) by its name. It loads each delegate of a
//! program once ([`Delegate`]: engine, code, weights), and gives every method instance something
//! of its own to run it with ([`DelegateInstance`]: contexts, state).

use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::data::ProgramData;
use crate::device::{DeviceId, DeviceState, DeviceTensor, StreamHandle};
use crate::memory::Values;
use crate::memory::{Arguments, FileBytes, Lending, Overlap, Place, Scratch, Slot, TensorId, mask};
use crate::{BackendOptions, Result, RunOptions, State, Tracer, ValueId, bail};

/// Something that can load delegates.
pub trait Backend: Send + Sync {
    /// Loads a delegate. What it gives back is shared by all instances of the method.
    ///
    /// # Errors
    /// If the payload is not one of this backend's, or what it needs is missing.
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<Arc<dyn Delegate>>;

    /// Whether the backend can work on this machine, with the reason if it cannot.
    ///
    /// # Errors
    /// The reason.
    fn available(&self) -> Result<()> {
        Ok(())
    }
}

/// A loaded delegate.
pub trait Delegate: Send + Sync {
    /// What one method instance runs the delegate with. `state` is the state of the instance, where the
    /// delegate has what it changes and other methods may go on with.
    ///
    /// # Errors
    /// If memory or another resource is out.
    fn instance(&self, state: &State) -> Result<Box<dyn DelegateInstance>>;

    /// Whether instances have [buffers in their state](State::delegate_buffer). Calls of methods that share
    /// the state are then one after the other, on devices, too.
    fn has_state(&self) -> bool {
        false
    }

    /// The outputs that are inputs updated in place, such as a cache: the position of the output
    /// among the arguments, and that of the input.
    ///
    /// Where nothing else needs what was in the input, both arguments of a call are the same memory,
    /// and so a cache is neither copied nor moved. Otherwise they are not, and the delegate copies
    /// the input to the output's memory before it updates it there.
    fn aliases(&self) -> Vec<(usize, usize)> {
        Vec::new()
    }

    /// What it is called, if it has a name of its own. Callers can pin its profile by that name.
    fn name(&self) -> Option<&str> {
        None
    }

    /// How many profiles it was built with, of which a call uses one ([`Call::profile`]); zero, if it
    /// knows of no such thing. Whoever wraps another delegate passes this on, and the name.
    fn profile_count(&self) -> usize {
        0
    }
}

/// A delegate of one method instance.
///
/// An argument on a device that has a value when the delegate is called is its input, which it only
/// reads, unless an output [is the same](Delegate::aliases); one that has none is its output. What
/// is on the device for longer than one instruction depends on it.
pub trait DelegateInstance: Send {
    /// Runs the delegate once.
    ///
    /// # Errors
    /// If it cannot do what the program asks.
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()>;

    /// Does all that [`execute`](Self::execute) does but for asking the device for anything: what it
    /// would ask for is asked for later, by [`ask`](Self::ask), perhaps together with other work, as a
    /// graph. `None`, with nothing done, if that cannot be put off this time; then it is executed.
    ///
    /// It is called where the call may use graphs, and nothing of an earlier `prepare` is left to be
    /// asked for.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    fn prepare(&mut self, call: &mut Call<'_>) -> Result<Option<Stamp>> {
        let _ = call;
        Ok(None)
    }

    /// Asks the device for what was prepared, on the call's stream. If `recording`, that becomes a part
    /// of a graph and does not run, and may be asked for once more if there can be no graph.
    ///
    /// # Errors
    /// If the device or the delegate refuses.
    fn ask(&mut self, stream: StreamHandle, recording: bool) -> Result<()> {
        let _ = (stream, recording);
        bail!(Internal, "a delegate is asked for what it has not prepared")
    }

    /// Takes note that what was prepared was asked for: by [`ask`](Self::ask), or by launching a graph
    /// that was recorded when the stamp was the same.
    ///
    /// # Errors
    /// If it cannot be remembered.
    fn asked(&mut self, stream: StreamHandle) -> Result<()> {
        let _ = stream;
        Ok(())
    }

    /// Takes note that a call is over in which the delegate was executed, whatever became of it: once
    /// for each such call, also after an error or a panic, of this delegate or of anything else. What
    /// is held for the time of a call is given back here.
    ///
    /// All that the call has asked devices for was asked for by then. Whoever wraps another instance
    /// passes this on.
    ///
    /// # Errors
    /// They are the call's, unless it has failed already. Other delegates are told all the same.
    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        let _ = end;
        Ok(())
    }
}

/// A delegate to load: what the program says about it.
pub struct DelegateSpec<'a> {
    pub(crate) method: &'a str,
    pub(crate) index: usize,
    pub(crate) backend: &'a str,
    pub(crate) file: &'a FileBytes,
    pub(crate) payload: Range<usize>,
    pub(crate) compile_specs: &'a [(String, Vec<u8>)],
    pub(crate) data: &'a ProgramData,
    pub(crate) options: &'a BackendOptions,
    pub(crate) tracer: Tracer<'a>,
}

impl DelegateSpec<'_> {
    /// The method that the delegate belongs to.
    pub fn method(&self) -> &str {
        self.method
    }

    /// Its index among the method's delegates.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name of its backend.
    pub fn backend(&self) -> &str {
        self.backend
    }

    /// The payload, in the program's file.
    pub fn payload(&self) -> &[u8] {
        &self.file.bytes()[self.payload.clone()]
    }

    /// The payload, to be kept for longer than the load: it keeps the program's file.
    pub fn shared_payload(&self) -> Payload {
        Payload {
            file: self.file.clone(),
            range: self.payload.clone(),
        }
    }

    /// The value of an option that the exporter fixed.
    pub fn compile_spec(&self, key: &str) -> Option<&[u8]> {
        let spec = self.compile_specs.iter().find(|(other, _)| other == key)?;
        Some(&spec.1)
    }

    /// All options that the exporter fixed, in order.
    pub fn compile_specs(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.compile_specs
            .iter()
            .map(|(key, value)| (&**key, &**value))
    }

    /// Named data of the program, or of a data file.
    pub fn named_data(&self, key: &str) -> Option<&[u8]> {
        self.data.get(key)
    }

    /// The same, to be kept for longer than the load: it keeps the file that the data is in.
    pub fn shared_named_data(&self, key: &str) -> Option<Payload> {
        let (file, range) = self.data.find(key)?;
        file.bytes().get(range.clone())?;
        Some(Payload {
            file: file.clone(),
            range,
        })
    }

    /// The options that the caller gave when the program was loaded.
    pub fn options(&self) -> &BackendOptions {
        self.options
    }

    /// Where the load is written down, if it is traced. There is a span of it.
    pub fn tracer(&self) -> Tracer<'_> {
        self.tracer
    }
}

/// The payload of a delegate, or other data of a program, with the file that it lies in. Cheap to
/// clone.
#[derive(Clone)]
pub struct Payload {
    file: FileBytes,
    range: Range<usize>,
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.file.bytes()[self.range.clone()]
    }
}

/// One call of a delegate.
pub struct Call<'c> {
    pub(crate) values: &'c mut Values,
    pub(crate) scratch: &'c mut Scratch,
    pub(crate) devices: &'c mut [DeviceState],
    pub(crate) arguments: &'c [ValueId],
    pub(crate) options: &'c RunOptions<'c>,
    pub(crate) number: u64,
    pub(crate) profile: Option<usize>,
}

impl<'c> Call<'c> {
    /// What tells this call of the method from all others in the process. The delegates of a method
    /// see the same number in one call, and so does [`CallEnd`].
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The profile that the caller has pinned for the delegate, which is one that it has; `None` if the
    /// inputs decide.
    pub fn profile(&self) -> Option<usize> {
        self.profile
    }

    /// How many arguments the instruction has: inputs, then outputs.
    pub fn argument_count(&self) -> usize {
        self.arguments.len()
    }

    /// The arguments, to read and write on the CPU. `writes` names, in ascending order, the
    /// positions that will be written.
    ///
    /// Where a device still works on one of them, this waits for it.
    ///
    /// # Errors
    /// If memory is out, or a device failed.
    pub fn arguments<'a>(&'a mut self, writes: &'a [u16]) -> Result<Arguments<'a>> {
        let lending = Lending {
            reads: self.arguments.len(),
            writes,
            write_mask: mask(writes),
            overlap: Overlap::Copied,
            signature: None,
        };
        self.values
            .wait_for_host(self.devices, self.arguments, &lending)?;
        Arguments::new(self.values, self.scratch, self.arguments, &lending)
    }

    /// The stream of the call on a device. All that the delegate does there goes to it. It comes
    /// after all that earlier calls of the same instance have left in flight on the device.
    ///
    /// # Errors
    /// If the method has no memory on that device.
    pub fn stream(&mut self, device: DeviceId) -> Result<StreamHandle> {
        let mut devices = self.devices.iter_mut();
        match devices.find(|state| state.id() == device) {
            Some(state) => Ok(state.lend_stream()),
            None => bail!(MissingDevice, "the method has no memory on {device}"),
        }
    }

    /// Whether all that earlier calls of the instance, and this one so far, have asked a device for is
    /// over, since the host has waited for it.
    pub fn is_over(&self, device: DeviceId) -> bool {
        is_over(self.devices, device)
    }

    /// The stream that the caller chose on a device, for a method that has no memory there. Nothing
    /// but the delegate knows of what it does on it, so that this must be over when the delegate
    /// returns.
    pub fn caller_stream(&self, device: DeviceId) -> Option<StreamHandle> {
        self.options.stream_on(device)
    }

    /// The device that an argument lies on; `None` if that is the host.
    ///
    /// # Errors
    /// If the argument is not a tensor.
    pub fn device_of(&self, position: usize) -> Result<Option<DeviceId>> {
        let tensor = self.tensor_on_device(position)?;
        Ok(tensor.map(|tensor| tensor.device()))
    }

    /// An argument that lies on a device. What is done with its memory must go to the call's
    /// [`stream`](Self::stream) there.
    ///
    /// # Errors
    /// If the argument is not a tensor, or does not lie on a device.
    pub fn device_tensor(&self, position: usize) -> Result<DeviceTensor<'_>> {
        match self.tensor_on_device(position)? {
            Some(tensor) => Ok(tensor),
            None => bail!(
                InvalidProgram,
                "argument {position} lies on the host, not on a device"
            ),
        }
    }

    /// The same; `None` if the argument lies on the host.
    ///
    /// # Errors
    /// If the argument is not a tensor.
    #[inline]
    pub fn tensor_on_device(&self, position: usize) -> Result<Option<DeviceTensor<'_>>> {
        let id = self.tensor_id(position)?;
        let Place::Device {
            device,
            address,
            len,
        } = self.values.place(id)?
        else {
            return Ok(None);
        };
        let (dtype, sizes, dim_order) = self.values.layout(id);
        Ok(Some(DeviceTensor {
            device: match self.devices.get(device) {
                Some(state) => state.id(),
                None => bail!(Internal, "there is no device {device}"),
            },
            address,
            len,
            dtype,
            sizes,
            dim_order,
        }))
    }

    /// An output that lies on a device, resized to a shape.
    ///
    /// # Errors
    /// As for [`device_tensor`](Self::device_tensor), and if the program did not plan for that
    /// shape.
    pub fn device_output(&mut self, position: usize, sizes: &[usize]) -> Result<DeviceTensor<'_>> {
        let id = self.tensor_id(position)?;
        self.values.resize(id, sizes)?;
        self.device_tensor(position)
    }

    /// The choices that the caller made for this call.
    pub fn options(&self) -> &RunOptions<'_> {
        self.options
    }

    /// Where the call is written down, if it is traced. There is a span of what the delegate does; what
    /// it asks a device for on the [`stream`](Self::stream) of the call is timed.
    #[inline]
    pub fn tracer(&self) -> Tracer<'c> {
        self.options.tracer()
    }

    fn tensor_id(&self, position: usize) -> Result<TensorId> {
        match self.arguments.get(position).map(|&id| self.values.slot(id)) {
            Some(slot) => match slot? {
                Slot::Tensor(id) => Ok(*id),
                _ => bail!(InvalidProgram, "argument {position} is not a tensor"),
            },
            None => bail!(InvalidProgram, "argument {position} is missing"),
        }
    }
}

/// What a delegate has prepared, as a number. If a delegate of a method instance gives the same one
/// twice, [`DelegateInstance::ask`] asks for the very same work both times: the same kernels, on the
/// same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp(pub u64);

/// The end of a call of a method.
pub struct CallEnd<'c> {
    pub(crate) number: u64,
    pub(crate) devices: &'c [DeviceState],
}

impl CallEnd<'_> {
    /// The call's number, as [`Call::number`] said it.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The stream that the call had on a device; `None` if the method has no memory there.
    ///
    /// It is for events. Work belongs to the call, and what is asked for here may run when the
    /// method's memory is gone.
    pub fn stream(&self, device: DeviceId) -> Option<StreamHandle> {
        let mut devices = self.devices.iter();
        let state = devices.find(|state| state.id() == device)?;
        Some(state.chosen_stream())
    }

    /// Whether all that this call and earlier ones of the instance have asked a device for is over,
    /// since the host has waited for it.
    pub fn is_over(&self, device: DeviceId) -> bool {
        is_over(self.devices, device)
    }
}

fn is_over(devices: &[DeviceState], device: DeviceId) -> bool {
    let mut devices = devices.iter();
    devices.any(|state| state.id() == device && state.is_over())
}
