//! Calls of delegates.

use crate::arguments::{ArgumentAccess, Arguments};
use crate::device::{DeviceId, DeviceTensor, StreamHandle};
use crate::frame::{DeviceLocation, Frame, Location, Slot, TensorId};
use crate::memory::Scratch;
use crate::trace::Tracer;
use crate::{Result, ValueId, bail};

/// One call of a delegate.
pub struct Call<'c> {
    frame: &'c mut Frame,
    scratch: &'c mut Scratch,
    devices: &'c mut dyn CallDevices,
    arguments: &'c [ValueId],
    context: CallContext<'c>,
}

/// What a delegate is called with, beside its arguments.
#[derive(Clone, Copy)]
pub struct CallContext<'c> {
    /// See [`Call::number`].
    pub number: u64,
    /// See [`Call::profile`].
    pub profile: Option<usize>,
    /// See [`Call::tracer`].
    pub tracer: Tracer<'c>,
}

/// The devices of a method instance, as a call of a delegate uses them. The runtime implements it.
pub trait CallDevices {
    /// The id of the device with this index in the instance.
    fn id(&self, index: usize) -> Option<DeviceId>;

    /// The stream of the call on a device, to which the delegate is about to submit work.
    fn lend_stream(&mut self, device: DeviceId) -> Option<StreamHandle>;

    /// The stream of the call on a device, for events.
    fn stream(&self, device: DeviceId) -> Option<StreamHandle>;

    /// The stream that the caller has chosen on a device, where the instance has no memory.
    fn caller_stream(&self, device: DeviceId) -> Option<StreamHandle>;

    /// True if no work that the instance has submitted to a device may still be in flight.
    fn is_idle(&self, device: DeviceId) -> bool;

    /// Waits until the host can access arguments.
    ///
    /// # Errors
    /// If a device failed.
    fn wait_for_host(
        &mut self,
        frame: &Frame,
        arguments: &[ValueId],
        access: &ArgumentAccess<'_>,
    ) -> Result<()>;
}

impl<'c> Call<'c> {
    /// A call of a delegate with these arguments.
    pub fn new(
        frame: &'c mut Frame,
        scratch: &'c mut Scratch,
        devices: &'c mut dyn CallDevices,
        arguments: &'c [ValueId],
        context: CallContext<'c>,
    ) -> Self {
        Self {
            frame,
            scratch,
            devices,
            arguments,
            context,
        }
    }

    /// The number of this call of the method, unique in the process. The delegates of a method
    /// see the same number in one call, and so does [`CallEnd`].
    pub fn number(&self) -> u64 {
        self.context.number
    }

    /// The profile that the caller has pinned for the delegate, which is one that it has; `None` if the
    /// inputs decide.
    pub fn profile(&self) -> Option<usize> {
        self.context.profile
    }

    /// The number of arguments of the instruction: inputs, then outputs.
    pub fn argument_count(&self) -> usize {
        self.arguments.len()
    }

    /// The arguments, to read and write on the CPU. `writes` names, in ascending order, the
    /// positions that will be written.
    ///
    /// Where a device still uses one of them, this waits for it.
    ///
    /// # Errors
    /// If memory is out, or a device failed.
    pub fn arguments<'a>(&'a mut self, writes: &'a [u16]) -> Result<Arguments<'a>> {
        let access = ArgumentAccess::of_delegate(self.arguments.len(), writes);
        self.devices
            .wait_for_host(self.frame, self.arguments, &access)?;
        Arguments::new(self.frame, self.scratch, self.arguments, &access)
    }

    /// The stream of the call on a device. All work of the delegate there goes to it. It comes
    /// after all that earlier calls of the same instance have left in flight on the device.
    ///
    /// # Errors
    /// If the method has no memory on that device.
    pub fn stream(&mut self, device: DeviceId) -> Result<StreamHandle> {
        match self.devices.lend_stream(device) {
            Some(stream) => Ok(stream),
            None => bail!(MissingDevice, "the method has no memory on {device}"),
        }
    }

    /// True if no work that this call and earlier ones of the instance have submitted to a device may
    /// still be in flight, since the host has waited for it.
    pub fn is_idle(&self, device: DeviceId) -> bool {
        self.devices.is_idle(device)
    }

    /// The stream that the caller chose on a device, for a method that has no memory there. The runtime
    /// does not know of the delegate's work on it, so that it must be complete when the delegate
    /// returns.
    pub fn caller_stream(&self, device: DeviceId) -> Option<StreamHandle> {
        self.devices.caller_stream(device)
    }

    /// The device that an argument lies on; `None` if that is the host.
    ///
    /// # Errors
    /// If the argument is not a tensor.
    pub fn device_of(&self, position: usize) -> Result<Option<DeviceId>> {
        let tensor = self.tensor_on_device(position)?;
        Ok(tensor.map(|tensor| tensor.device()))
    }

    /// An argument that lies on a device. Work on its memory must go to the call's
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

    /// An argument that lies on a device; `None` if it lies on the host.
    ///
    /// # Errors
    /// If the argument is not a tensor.
    #[inline]
    #[allow(unsafe_code, reason = "the frame says what is on the device")]
    pub fn tensor_on_device(&self, position: usize) -> Result<Option<DeviceTensor<'_>>> {
        let id = self.tensor_id(position)?;
        let Location::Device(DeviceLocation {
            device,
            address,
            len,
        }) = self.frame.location(id)?
        else {
            return Ok(None);
        };
        let Some(device) = self.devices.id(device) else {
            bail!(Internal, "there is no device {device}");
        };
        // SAFETY: the frame has the memory, and the call borrows it.
        Ok(Some(unsafe {
            DeviceTensor::from_parts(device, address, len, self.frame.layout(id))
        }))
    }

    /// An output that lies on a device, resized to a shape.
    ///
    /// # Errors
    /// As for [`device_tensor`](Self::device_tensor), and if the program did not plan for that
    /// shape.
    pub fn device_output(&mut self, position: usize, sizes: &[usize]) -> Result<DeviceTensor<'_>> {
        let id = self.tensor_id(position)?;
        self.frame.resize(id, sizes)?;
        self.device_tensor(position)
    }

    /// The tracer of the call, which has a span of what the delegate does. Work that it submits to the
    /// [`stream`](Self::stream) of the call is timed.
    #[inline]
    pub fn tracer(&self) -> Tracer<'c> {
        self.context.tracer
    }

    fn tensor_id(&self, position: usize) -> Result<TensorId> {
        match self.arguments.get(position).map(|&id| self.frame.slot(id)) {
            Some(slot) => match slot? {
                Slot::Tensor(id) => Ok(*id),
                _ => bail!(InvalidProgram, "argument {position} is not a tensor"),
            },
            None => bail!(InvalidProgram, "argument {position} is missing"),
        }
    }
}

/// The end of a call of a method.
#[derive(Clone, Copy)]
pub struct CallEnd<'c> {
    number: u64,
    devices: &'c dyn CallDevices,
}

impl<'c> CallEnd<'c> {
    /// The end of the call with this number.
    pub fn new(number: u64, devices: &'c dyn CallDevices) -> Self {
        Self { number, devices }
    }

    /// The call's number, the same as [`Call::number`].
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The stream of the call on a device; `None` if the method has no memory there.
    ///
    /// It is for events. Work belongs to the call, and what is submitted here may run when the
    /// method's memory is gone.
    pub fn stream(&self, device: DeviceId) -> Option<StreamHandle> {
        self.devices.stream(device)
    }

    /// True if no work that this call and earlier ones of the instance have submitted to a device may
    /// still be in flight, since the host has waited for it.
    pub fn is_idle(&self, device: DeviceId) -> bool {
        self.devices.is_idle(device)
    }
}
