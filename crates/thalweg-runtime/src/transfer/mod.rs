//! Transfers: copies between the host and a device, and within a device, on the stream of a call.
#![allow(unsafe_code, reason = "copies take addresses, which are checked here")]

mod host_access;

use std::ops::Range;

use thalweg_core::engine::{
    DeviceLocation, Frame, HostLocation, Location, Slot, StorageId, TensorId,
};
use thalweg_core::{Access, DeviceAddress, Dims, Result, ValueId, bail, ensure};

pub(crate) use host_access::{conflicts, wait_for_host, wait_for_value, waits_for_host};

use crate::mutation::{Rule, disabled};
use crate::schedule::{CoherenceAction, DeviceCopy, PersistentBuffer};
use crate::state::Coherence;
use crate::submit::DeviceQueue;

/// The bytes of an input that are in flight while the host copies as many to the staging buffer.
const CHUNK: usize = 512 << 10;

/// For fewer bytes, a copy to the staging buffer takes less time than the question whether they are
/// pinned.
const PINNED_CHECK_MIN: usize = 16 << 10;

/// The copies of a method instance.
pub(crate) struct Transfer<'t> {
    pub(crate) frame: &'t mut Frame,
    pub(crate) devices: &'t mut [DeviceQueue],
}

/// An input in memory of a device that the caller has.
#[derive(Clone, Copy)]
pub(crate) struct DeviceInputLocation {
    /// The index of the device.
    pub(crate) device: usize,
    pub(crate) address: DeviceAddress,
    pub(crate) len: usize,
}

impl Transfer<'_> {
    /// Copies a tensor on the host to one on a device.
    pub(crate) fn upload(&mut self, from: ValueId, to: ValueId) -> Result<()> {
        let (from, to) = self.begin_copy(from, to)?;
        self.upload_from(from, to)
    }

    /// Copies an input from the caller's memory to a device. Where that memory is not pinned, the
    /// copy goes through the input's planned location, in chunks: while one is in flight, the host
    /// copies the next one there.
    pub(crate) fn upload_input(
        &mut self,
        borrowed: StorageId,
        from: ValueId,
        to: ValueId,
    ) -> Result<()> {
        let (staging, to) = self.begin_copy(from, to)?;
        let staging = staging.on_host("an input that is copied to a device lies")?;
        let target = to.on_device("a copy to a device ends")?;
        let given = self.frame.location_in(borrowed, 0, staging.len)?;
        let can_stage = staging.pinned.is_some() && staging.writable;
        if !can_stage || self.is_pinned(target.device, given)? {
            return self.upload_from(given, to);
        }
        let (storage, len) = (staging.storage, staging.len);
        for start in (0..len).step_by(CHUNK) {
            let chunk = CHUNK.min(len - start);
            let range = staging.offset + start..staging.offset + start + chunk;
            // A copy that an earlier call submitted may still read the staging buffer.
            if !disabled(Rule::InputsAfterCopies) {
                for device in self.devices.iter_mut() {
                    device.before_host(storage, &range, Access::Write)?;
                }
            }
            self.frame
                .copy_between(borrowed, start, storage, range.clone())?;
            let pinned = staging.pinned;
            let queue = self.in_turn(target.device, storage, range, pinned, Access::Read)?;
            let from = staging.data.wrapping_add(start);
            // SAFETY: both locations were checked to have `len` bytes; then as for other uploads.
            unsafe { queue.upload(target.address.offset(start), from, chunk)? };
        }
        Ok(())
    }

    /// Returns true if a caller's memory is pinned, and large enough for the question to be worth it.
    fn is_pinned(&self, device: usize, given: Location) -> Result<bool> {
        match (given, self.devices.get(device)) {
            (Location::Host(host), Some(queue)) if host.len >= PINNED_CHECK_MIN => {
                queue.device.is_pinned(host.data)
            }
            _ => Ok(false),
        }
    }

    fn upload_from(&mut self, from: Location, to: Location) -> Result<()> {
        let HostLocation {
            data,
            storage,
            offset,
            len,
            pinned,
            ..
        } = from.on_host("a copy to a device starts")?;
        let target = to.on_device("a copy to a device ends")?;
        let is_borrowed = self.frame.is_borrowed(storage);
        let range = offset..offset + len;
        let queue = self.in_turn(target.device, storage, range, pinned, Access::Read)?;
        if is_borrowed && queue.device.is_pinned(data)? {
            queue.reads_borrowed();
        } else {
            check_not_deferred(queue, pinned)?;
        }
        // SAFETY: both locations were checked to have `len` bytes. Pinned memory is not written by
        // the host while a copy uses it, and lives as long as the instance, which waits.
        unsafe { queue.upload(target.address, data, len) }
    }

    /// Does what is to be done for a persistent buffer.
    pub(crate) fn persist(
        &mut self,
        buffer: &PersistentBuffer,
        coherence: &Coherence,
        action: CoherenceAction,
    ) -> Result<()> {
        let Some(queue) = self.devices.get(buffer.device) else {
            bail!(Internal, "there is no device {}", buffer.device);
        };
        let id = queue.id();
        let location = |(storage, offset)| self.frame.location_in(storage, offset, buffer.bytes);
        match action {
            CoherenceAction::ToDevice if !coherence.on_device(id) => {
                let (from, to) = (location(buffer.host)?, location((buffer.storage, 0))?);
                self.upload_from(from, to)?;
                coherence.add_device(id);
            }
            CoherenceAction::ToHost if !coherence.on_host() => {
                let from = self.frame.device_address(buffer.storage, 0, buffer.bytes)?;
                let to = location(buffer.host)?;
                self.download_to(buffer.device, from, to)?;
                coherence.add_host();
            }
            CoherenceAction::DeviceWrites if coherence.on_device(id) => coherence.device_only(id),
            CoherenceAction::HostWrites if coherence.on_host() => coherence.host_only(),
            CoherenceAction::DeviceOnly => coherence.device_only(id),
            CoherenceAction::HostOnly => coherence.host_only(),
            CoherenceAction::AddHost => coherence.add_host(),
            _ => {}
        }
        Ok(())
    }

    /// Makes a copy within a device that the schedule says.
    pub(crate) fn copy_parts(&mut self, copy: &DeviceCopy) -> Result<()> {
        let from = self
            .frame
            .device_address(copy.from.0, copy.from.1, copy.bytes)?;
        let to = self
            .frame
            .device_address(copy.to.0, copy.to.1, copy.bytes)?;
        ensure!(
            from.0.abs_diff(to.0) >= copy.bytes as u64,
            Internal,
            "a copy on a device overlaps itself"
        );
        // SAFETY: both were checked to have as many bytes, and to lie apart.
        unsafe { self.queue(copy.device)?.copy(to, from, copy.bytes) }
    }

    /// Copies an input that the caller has on a device to a tensor there.
    pub(crate) fn copy_input(
        &mut self,
        input: DeviceInputLocation,
        from: ValueId,
        to: ValueId,
    ) -> Result<()> {
        self.pass_shape(from, to)?;
        let to = tensor_id(self.frame, to)?;
        let location = self.frame.location(to)?;
        self.copy_from_input(input, location.on_device("a copy to a device ends")?)
    }

    /// Copies an input that the caller has on a device to its planned location.
    pub(crate) fn place_input(&mut self, input: DeviceInputLocation, to: TensorId) -> Result<()> {
        self.frame.reserve(to)?;
        match self.frame.location(to)? {
            Location::Device(location) => self.copy_from_input(input, location),
            location @ Location::Host(HostLocation { len, .. }) => {
                ensure!(
                    len == input.len,
                    Internal,
                    "an input of {} bytes for {len}",
                    input.len
                );
                self.download_to(input.device, input.address, location)
            }
        }
    }

    fn copy_from_input(&mut self, input: DeviceInputLocation, to: DeviceLocation) -> Result<()> {
        let DeviceLocation {
            device,
            address,
            len,
        } = to;
        ensure!(
            device == input.device && len == input.len,
            Unsupported,
            "an input is on another device than the program takes it to"
        );
        let queue = self.queue(device)?;
        // Also if there is nothing to copy: the caller's memory is used from now on.
        queue.stream();
        if len == 0 || address == input.address {
            return Ok(());
        }
        // SAFETY: the caller has vouched for the input's memory; the target was checked. They are
        // apart: one is the caller's, the other the instance's.
        unsafe { queue.copy(address, input.address, len) }
    }

    /// Copies a tensor on a device to one on the host.
    pub(crate) fn download(&mut self, from: ValueId, to: ValueId) -> Result<()> {
        let (from, to) = self.begin_copy(from, to)?;
        let from = from.on_device("a copy from a device starts")?;
        self.download_to(from.device, from.address, to)
    }

    /// Copies memory of a device to a tensor on the host.
    pub(crate) fn fetch(
        &mut self,
        device: usize,
        storage: StorageId,
        offset: usize,
        to: ValueId,
    ) -> Result<()> {
        let to = tensor_id(self.frame, to)?;
        self.frame.reserve(to)?;
        let location = self.frame.location(to)?;
        let address = self.frame.device_address(storage, offset, location.len())?;
        self.download_to(device, address, location)
    }

    /// Gives the target of a copy that is not made the shape of its source.
    pub(crate) fn pass_shape(&mut self, from: ValueId, to: ValueId) -> Result<()> {
        let (from, to) = (tensor_id(self.frame, from)?, tensor_id(self.frame, to)?);
        give_shape(self.frame, from, to)
    }

    fn download_to(&mut self, device: usize, address: DeviceAddress, to: Location) -> Result<()> {
        let HostLocation {
            data,
            storage,
            offset,
            len,
            pinned,
            writable,
        } = to.on_host("a copy from a device ends")?;
        ensure!(
            writable,
            InvalidProgram,
            "the program copies to a constant, or to an input that the caller only lends"
        );
        let range = offset..offset + len;
        let queue = self.in_turn(device, storage, range, pinned, Access::Write)?;
        check_not_deferred(queue, pinned)?;
        // SAFETY: as for uploads; nobody reads pinned memory either while a copy writes it. Memory
        // that is not pinned has been written when this returns, and no view of it is out, since
        // no kernel runs.
        unsafe { queue.download(data, address, len) }
    }

    /// Copies a tensor to another one on the same device.
    pub(crate) fn copy_on_device(&mut self, from: ValueId, to: ValueId) -> Result<()> {
        let (from, to) = self.begin_copy(from, to)?;
        let from = from.on_device("a copy on a device starts")?;
        let to = to.on_device("a copy on a device ends")?;
        ensure!(
            from.device == to.device,
            Unsupported,
            "a copy starts on one device and ends on another"
        );
        if from.address == to.address || from.len == 0 {
            return Ok(());
        }
        ensure!(
            from.address.0.abs_diff(to.address.0) >= from.len as u64,
            InvalidProgram,
            "a copy on a device overlaps itself"
        );
        // SAFETY: both locations were checked to have as many bytes, and to lie apart.
        unsafe {
            self.queue(from.device)?
                .copy(to.address, from.address, from.len)
        }
    }

    /// Gives the target of a copy the shape of the source, and says where both are.
    fn begin_copy(&mut self, from: ValueId, to: ValueId) -> Result<(Location, Location)> {
        let (from, to) = (tensor_id(self.frame, from)?, tensor_id(self.frame, to)?);
        let (dtype, sizes, order) = self.frame.layout(from);
        let (to_dtype, _, to_order) = self.frame.layout(to);
        ensure!(
            dtype == to_dtype,
            InvalidProgram,
            "a copy from {dtype} to {to_dtype} would have to convert"
        );
        ensure!(
            order == to_order || sizes.contains(&0),
            InvalidProgram,
            "a copy between dim orders {order:?} and {to_order:?} would have to rearrange"
        );
        give_shape(self.frame, from, to)?;
        self.frame.reserve(to)?;
        Ok((self.frame.location(from)?, self.frame.location(to)?))
    }

    fn queue(&mut self, device: usize) -> Result<&mut DeviceQueue> {
        match self.devices.get_mut(device) {
            Some(queue) => Ok(queue),
            None => bail!(Internal, "there is no device {device}"),
        }
    }

    /// Orders a copy between the host and a device after other copies that use the same host memory,
    /// and remembers that it uses it, too.
    ///
    /// On one stream the device keeps the order, if it makes the copy by itself, which it does with
    /// pinned memory. Otherwise the copy waits for others here. Memory that was pinned for one device
    /// may be so for all of its kind, so that of another device counts as pinned, too.
    fn in_turn(
        &mut self,
        device: usize,
        storage: StorageId,
        range: Range<usize>,
        pinned: Option<usize>,
        access: Access,
    ) -> Result<&mut DeviceQueue> {
        let is_pinned = pinned.is_some();
        for (index, other) in self.devices.iter_mut().enumerate() {
            if index != device || !is_pinned {
                other.before_host(storage, &range, access)?;
            }
        }
        let queue = self.queue(device)?;
        let rule = match access {
            Access::Read => Rule::UploadsRead,
            Access::Write => Rule::DownloadsWrite,
        };
        if is_pinned && !disabled(rule) {
            queue.add_in_flight(storage, range, access);
        }
        Ok(queue)
    }
}

fn tensor_id(frame: &Frame, value: ValueId) -> Result<TensorId> {
    match frame.slot(value)? {
        Slot::Tensor(id) => Ok(*id),
        _ => bail!(InvalidProgram, "a copy between devices has no tensor"),
    }
}

/// The location of a tensor.
pub(crate) fn location_of(frame: &Frame, value: ValueId) -> Result<Location> {
    frame.location(tensor_id(frame, value)?)
}

#[inline]
fn give_shape(frame: &mut Frame, from: TensorId, to: TensorId) -> Result<()> {
    let sizes = frame.layout(from).1;
    // Mostly it has it from the call before.
    if sizes == frame.layout(to).1 {
        return Ok(());
    }
    let sizes = Dims::from_slice(sizes)?;
    frame.resize(to, &sizes)
}

/// A copy that the device does not make by itself is made at once, or nobody would know of it.
fn check_not_deferred(queue: &DeviceQueue, pinned: Option<usize>) -> Result<()> {
    ensure!(
        pinned.is_some() || !queue.defers(),
        Internal,
        "a copy of memory that is not pinned is deferred"
    );
    Ok(())
}
