//! Copies between the host and a device, on the stream of a call.

use std::ops::Range;

use super::storage::Place;
use super::{Lending, Sides, Slot, StorageId, TensorId, Values};
use crate::device::{DeviceAddress, DeviceState, Use};
use crate::link::{DeviceCopy, Kept, KeptAction};
use crate::method::InputPlace;
use crate::omit::{Rule, omitted};
use crate::{Result, ValueId, bail, ensure};

/// So many bytes of an input are under way while the host copies as many to where they start from.
const PART: usize = 512 << 10;

/// To copy fewer bytes takes less time than to ask whether they could stay where they are.
const WORTH_ASKING: usize = 16 << 10;

impl Values {
    /// Copies a tensor on the host to one on a device.
    pub(crate) fn upload(
        &mut self,
        devices: &mut [DeviceState],
        from: ValueId,
        to: ValueId,
    ) -> Result<()> {
        let (from, to) = self.prepare(from, to)?;
        self.upload_from(devices, from, to)
    }

    /// Copies an input from the caller's memory to a device, by way of its planned place: while one
    /// part is under way, the host copies the next one there.
    pub(crate) fn upload_input(
        &mut self,
        devices: &mut [DeviceState],
        lent: StorageId,
        from: ValueId,
        to: ValueId,
    ) -> Result<()> {
        let (staging, to) = self.prepare(from, to)?;
        let (
            Place::Host {
                data,
                storage,
                offset,
                len,
                pinned,
                writable,
            },
            Place::Device {
                device, address, ..
            },
        ) = (staging, to)
        else {
            bail!(
                InvalidProgram,
                "an input is not copied from the host to a device"
            );
        };
        let given = self.place_in(lent, 0, len)?;
        if pinned.is_none() || !writable || Self::is_reached(devices, device, given)? {
            return self.upload_from(devices, given, to);
        }
        for start in (0..len).step_by(PART) {
            let part = PART.min(len - start);
            let range = offset + start..offset + start + part;
            // A copy that an earlier call asked for may still read the place.
            if !omitted(Rule::InputsAfterCopies) {
                for device in devices.iter_mut() {
                    device.before_host(storage, &range, Use::Write)?;
                }
            }
            self.stage(lent, start, storage, range.clone())?;
            let state = in_turn(devices, device, storage, range, pinned, Use::Read)?;
            // SAFETY: both places were checked to have `len` bytes; then as for other uploads.
            unsafe { state.upload(address.offset(start), data.add(start), part)? };
        }
        Ok(())
    }

    /// Whether the device copies from a caller's memory by itself, and there is enough of it for that
    /// to be worth asking.
    fn is_reached(devices: &[DeviceState], device: usize, given: Place) -> Result<bool> {
        match (given, devices.get(device)) {
            (Place::Host { data, len, .. }, Some(state)) if len >= WORTH_ASKING => {
                state.device.reaches(data)
            }
            _ => Ok(false),
        }
    }

    fn upload_from(&self, devices: &mut [DeviceState], from: Place, to: Place) -> Result<()> {
        let Place::Host {
            data,
            storage,
            offset,
            len,
            pinned,
            ..
        } = from
        else {
            bail!(InvalidProgram, "a copy to a device starts on a device");
        };
        let Place::Device {
            device, address, ..
        } = to
        else {
            bail!(InvalidProgram, "a copy to a device ends on the host");
        };
        let range = offset..offset + len;
        let state = in_turn(devices, device, storage, range, pinned, Use::Read)?;
        if self.is_callers(storage) && state.device.reaches(data)? {
            state.reads_callers();
        } else {
            not_put_off(state, pinned)?;
        }
        // SAFETY: both places were checked to have `len` bytes. Pinned memory is not written by
        // the host while it is pending, and lives as long as the instance, which waits.
        unsafe { state.upload(address, data, len) }
    }

    /// Does what is to be done for something that is kept on a device.
    pub(crate) fn keep(
        &self,
        devices: &mut [DeviceState],
        kept: &Kept,
        sides: &Sides,
        action: KeptAction,
    ) -> Result<()> {
        let Some(state) = devices.get(kept.device) else {
            bail!(Internal, "there is no device {}", kept.device);
        };
        let id = state.id();
        let place = |(storage, offset)| self.place_in(storage, offset, kept.bytes);
        match action {
            KeptAction::ToDevice if !sides.on_device(id) => {
                self.upload_from(devices, place(kept.host)?, place((kept.storage, 0))?)?;
                sides.add_device(id);
            }
            KeptAction::ToHost if !sides.on_host() => {
                let address = self.device_address(kept.storage, 0, kept.bytes)?;
                Self::download_to(devices, kept.device, address, place(kept.host)?)?;
                sides.add_host();
            }
            KeptAction::DeviceWrites if sides.on_device(id) => sides.device_only(id),
            KeptAction::HostWrites if sides.on_host() => sides.host_only(),
            KeptAction::DeviceOnly => sides.device_only(id),
            KeptAction::HostOnly => sides.host_only(),
            KeptAction::AddHost => sides.add_host(),
            _ => {}
        }
        Ok(())
    }

    /// Copies within a device what the instructions say is copied there.
    pub(crate) fn copy_parts(&self, devices: &mut [DeviceState], copy: &DeviceCopy) -> Result<()> {
        let from = self.device_address(copy.from.0, copy.from.1, copy.bytes)?;
        let to = self.device_address(copy.to.0, copy.to.1, copy.bytes)?;
        ensure!(
            from.0.abs_diff(to.0) >= copy.bytes as u64,
            Internal,
            "a copy on a device overlaps itself"
        );
        let Some(state) = devices.get_mut(copy.device) else {
            bail!(Internal, "there is no device {}", copy.device);
        };
        // SAFETY: both were checked to have as many bytes, and to lie apart.
        unsafe { state.copy(to, from, copy.bytes) }
    }

    /// Copies an input that the caller has on a device to a tensor there.
    pub(crate) fn copy_input(
        &mut self,
        devices: &mut [DeviceState],
        input: InputPlace,
        from: ValueId,
        to: ValueId,
    ) -> Result<()> {
        self.pass_shape(from, to)?;
        let to = self.tensor_id(to)?;
        let place = self.place(to)?;
        Self::copy_from_input(devices, input, place)
    }

    /// Copies an input that the caller has on a device to its planned place.
    pub(crate) fn bring_input(
        &mut self,
        devices: &mut [DeviceState],
        input: InputPlace,
        to: TensorId,
    ) -> Result<()> {
        self.reserve(to)?;
        match self.place(to)? {
            place @ Place::Device { .. } => Self::copy_from_input(devices, input, place),
            place @ Place::Host { len, .. } => {
                ensure!(
                    len == input.len,
                    Internal,
                    "an input of {} bytes for {len}",
                    input.len
                );
                Self::download_to(devices, input.device, input.address, place)
            }
        }
    }

    fn copy_from_input(devices: &mut [DeviceState], input: InputPlace, to: Place) -> Result<()> {
        let Place::Device {
            device,
            address,
            len,
        } = to
        else {
            bail!(InvalidProgram, "a copy to a device ends on the host");
        };
        ensure!(
            device == input.device && len == input.len,
            Unsupported,
            "an input is on another device than the program takes it to"
        );
        let Some(state) = devices.get_mut(device) else {
            bail!(Internal, "there is no device {device}");
        };
        // Also if there is nothing to copy: what is at the caller's is used from now on.
        state.stream();
        if len == 0 || address == input.address {
            return Ok(());
        }
        // SAFETY: the caller has vouched for the input's memory; the target was checked. They are
        // apart: one is the caller's, the other the instance's.
        unsafe { state.copy(address, input.address, len) }
    }

    /// Copies a tensor on a device to one on the host.
    pub(crate) fn download(
        &mut self,
        devices: &mut [DeviceState],
        from: ValueId,
        to: ValueId,
    ) -> Result<()> {
        let (from, to) = self.prepare(from, to)?;
        let Place::Device {
            device, address, ..
        } = from
        else {
            bail!(InvalidProgram, "a copy from a device starts on the host");
        };
        Self::download_to(devices, device, address, to)
    }

    /// Copies memory of a device to a tensor on the host.
    pub(crate) fn fetch(
        &mut self,
        devices: &mut [DeviceState],
        device: usize,
        storage: StorageId,
        offset: usize,
        to: ValueId,
    ) -> Result<()> {
        let to = self.tensor_id(to)?;
        self.reserve(to)?;
        let place = self.place(to)?;
        let len = match place {
            Place::Host { len, .. } | Place::Device { len, .. } => len,
        };
        let address = self.device_address(storage, offset, len)?;
        Self::download_to(devices, device, address, place)
    }

    /// Gives the target of a copy that is not made the shape of its source.
    pub(crate) fn pass_shape(&mut self, from: ValueId, to: ValueId) -> Result<()> {
        let (from, to) = (self.tensor_id(from)?, self.tensor_id(to)?);
        self.give_shape(from, to)
    }

    #[inline]
    fn give_shape(&mut self, from: TensorId, to: TensorId) -> Result<()> {
        let sizes = self.layout(from).1;
        // Mostly it has it from the call before.
        if sizes == self.layout(to).1 {
            return Ok(());
        }
        let sizes = crate::Dims::from_slice(sizes)?;
        self.resize(to, &sizes)
    }

    fn download_to(
        devices: &mut [DeviceState],
        device: usize,
        address: DeviceAddress,
        to: Place,
    ) -> Result<()> {
        let Place::Host {
            data,
            storage,
            offset,
            len,
            pinned,
            writable,
        } = to
        else {
            bail!(InvalidProgram, "a copy from a device ends on a device");
        };
        ensure!(
            writable,
            InvalidProgram,
            "the program copies to a constant, or to an input that the caller only lends"
        );
        let range = offset..offset + len;
        let state = in_turn(devices, device, storage, range, pinned, Use::Write)?;
        not_put_off(state, pinned)?;
        // SAFETY: as for uploads; nobody reads pinned memory either while it is pending. Memory
        // that is not pinned has been written when this returns, and no view of it is out, since
        // no kernel runs.
        unsafe { state.download(data, address, len) }
    }

    /// Copies a tensor to another one on the same device.
    pub(crate) fn copy_on_device(
        &mut self,
        devices: &mut [DeviceState],
        from: ValueId,
        to: ValueId,
    ) -> Result<()> {
        let (from, to) = self.prepare(from, to)?;
        let (
            Place::Device {
                device,
                address: source,
                len,
            },
            Place::Device {
                device: other,
                address: target,
                ..
            },
        ) = (from, to)
        else {
            bail!(
                InvalidProgram,
                "a copy on a device starts or ends on the host"
            );
        };
        let Some(state) = devices.get_mut(device).filter(|_| device == other) else {
            bail!(
                Unsupported,
                "a copy starts on one device and ends on another"
            );
        };
        if source == target || len == 0 {
            return Ok(());
        }
        ensure!(
            source.0.abs_diff(target.0) >= len as u64,
            InvalidProgram,
            "a copy on a device overlaps itself"
        );
        // SAFETY: both places were checked to have `len` bytes, and to lie apart.
        unsafe { state.copy(target, source, len) }
    }

    /// Waits for devices that still use memory which an instruction is about to use on the host.
    #[inline]
    pub(crate) fn wait_for_host(
        &self,
        devices: &mut [DeviceState],
        arguments: &[ValueId],
        lending: &Lending<'_>,
    ) -> Result<()> {
        let pending = devices.iter().any(|device| device.has_pending());
        if !pending || omitted(Rule::HostAfterCopies) {
            return Ok(());
        }
        for (position, &argument) in arguments.iter().enumerate() {
            if let Some(by_host) = lending.use_of(position) {
                self.wait_for_value(devices, argument, by_host)?;
            }
        }
        Ok(())
    }

    /// Whether [`Values::wait_for_host`] would wait.
    pub(crate) fn waits_for_host(
        &self,
        devices: &[DeviceState],
        arguments: &[ValueId],
        lending: &Lending<'_>,
    ) -> Result<bool> {
        if !devices.iter().any(|device| device.has_pending()) {
            return Ok(false);
        }
        for (position, &argument) in arguments.iter().enumerate() {
            if let Some(by_host) = lending.use_of(position)
                && self.conflicts(devices, argument, by_host)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether devices still use the memory of a value, or will.
    pub(crate) fn conflicts(
        &self,
        devices: &[DeviceState],
        value: ValueId,
        by_host: Use,
    ) -> Result<bool> {
        Ok(match self.slot(value)? {
            Slot::Tensor(id) => self.host_ranges(*id).into_iter().any(|(storage, range)| {
                let mut devices = devices.iter();
                devices.any(|device| device.conflicts(storage, &range, by_host))
            }),
            Slot::TensorList(ids) => {
                for &id in ids.iter().flatten() {
                    if let Slot::Tensor(_) = self.slot(id)?
                        && self.conflicts(devices, id, by_host)?
                    {
                        return Ok(true);
                    }
                }
                false
            }
            _ => false,
        })
    }

    /// Where a tensor is.
    pub(crate) fn place_of(&self, value: ValueId) -> Result<Place> {
        self.place(self.tensor_id(value)?)
    }

    /// Waits for devices that still use the memory of a value.
    pub(crate) fn wait_for_value(
        &self,
        devices: &mut [DeviceState],
        value: ValueId,
        by_host: Use,
    ) -> Result<()> {
        match self.slot(value)? {
            Slot::Tensor(id) => {
                for (storage, range) in self.host_ranges(*id) {
                    for device in devices.iter_mut() {
                        device.before_host(storage, &range, by_host)?;
                    }
                }
                Ok(())
            }
            Slot::TensorList(ids) => {
                for &id in ids.iter().flatten() {
                    if let Slot::Tensor(_) = self.slot(id)? {
                        self.wait_for_value(devices, id, by_host)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Gives the target of a copy the shape of the source, and says where both are.
    fn prepare(&mut self, from: ValueId, to: ValueId) -> Result<(Place, Place)> {
        let (from, to) = (self.tensor_id(from)?, self.tensor_id(to)?);
        let (dtype, sizes, order) = self.layout(from);
        let (to_dtype, _, to_order) = self.layout(to);
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
        self.give_shape(from, to)?;
        self.reserve(to)?;
        Ok((self.place(from)?, self.place(to)?))
    }

    fn tensor_id(&self, value: ValueId) -> Result<TensorId> {
        match self.slot(value)? {
            Slot::Tensor(id) => Ok(*id),
            _ => bail!(InvalidProgram, "a copy between devices has no tensor"),
        }
    }
}

/// A copy that the device does not make by itself is made at once, or nobody would know of it.
fn not_put_off(state: &DeviceState, pinned: Option<usize>) -> Result<()> {
    ensure!(
        pinned.is_some() || !state.collects(),
        Internal,
        "a copy of memory that is not pinned is put off"
    );
    Ok(())
}

/// Lets a copy between the host and a device take its turn with other copies that use the same host
/// memory, and remembers that it uses it, too.
///
/// On one stream the device keeps the order, if it makes the copy by itself, which it does with
/// pinned memory. Otherwise the copy waits for others here. Memory that was pinned for one device may
/// be so for all of its kind, so that of another device counts as pinned, too.
fn in_turn(
    devices: &mut [DeviceState],
    device: usize,
    storage: StorageId,
    range: Range<usize>,
    pinned: Option<usize>,
    by_device: Use,
) -> Result<&mut DeviceState> {
    let by_itself = pinned.is_some();
    for (index, other) in devices.iter_mut().enumerate() {
        if index != device || !by_itself {
            other.before_host(storage, &range, by_device)?;
        }
    }
    let Some(state) = devices.get_mut(device) else {
        bail!(Internal, "there is no device {device}");
    };
    let rule = match by_device {
        Use::Read => Rule::UploadsRead,
        Use::Write => Rule::DownloadsWrite,
    };
    if by_itself && !omitted(rule) {
        state.add_pending(storage, range, by_device);
    }
    Ok(state)
}
