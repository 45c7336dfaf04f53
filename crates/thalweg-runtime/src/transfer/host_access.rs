//! Accesses of the host to memory that copies may still use.

use thalweg_core::engine::{ArgumentAccess, Frame, Slot};
use thalweg_core::{Access, Result, ValueId};

use crate::mutation::{Rule, disabled};
use crate::submit::DeviceQueue;

/// Waits for copies that still use memory which an instruction is about to access on the host.
#[inline]
pub(crate) fn wait_for_host(
    frame: &Frame,
    devices: &mut [DeviceQueue],
    arguments: &[ValueId],
    access: &ArgumentAccess<'_>,
) -> Result<()> {
    let in_flight = devices.iter().any(|device| device.has_in_flight());
    if !in_flight || disabled(Rule::HostAfterCopies) {
        return Ok(());
    }
    for (position, &argument) in arguments.iter().enumerate() {
        if let Some(access) = access.of(position) {
            wait_for_value(frame, devices, argument, access)?;
        }
    }
    Ok(())
}

/// Returns true if [`wait_for_host`] would wait.
pub(crate) fn waits_for_host(
    frame: &Frame,
    devices: &[DeviceQueue],
    arguments: &[ValueId],
    access: &ArgumentAccess<'_>,
) -> Result<bool> {
    if !devices.iter().any(|device| device.has_in_flight()) {
        return Ok(false);
    }
    for (position, &argument) in arguments.iter().enumerate() {
        if let Some(access) = access.of(position)
            && conflicts(frame, devices, argument, access)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if copies still use the memory of a value, or will.
pub(crate) fn conflicts(
    frame: &Frame,
    devices: &[DeviceQueue],
    value: ValueId,
    access: Access,
) -> Result<bool> {
    Ok(match frame.slot(value)? {
        Slot::Tensor(id) => frame.host_ranges(*id).any(|(storage, range)| {
            let mut devices = devices.iter();
            devices.any(|device| device.conflicts(storage, &range, access))
        }),
        Slot::TensorList(ids) => {
            for &id in ids.iter().flatten() {
                if let Slot::Tensor(_) = frame.slot(id)?
                    && conflicts(frame, devices, id, access)?
                {
                    return Ok(true);
                }
            }
            false
        }
        _ => false,
    })
}

/// Waits for copies that still use the memory of a value.
pub(crate) fn wait_for_value(
    frame: &Frame,
    devices: &mut [DeviceQueue],
    value: ValueId,
    access: Access,
) -> Result<()> {
    match frame.slot(value)? {
        Slot::Tensor(id) => {
            for (storage, range) in frame.host_ranges(*id) {
                for device in devices.iter_mut() {
                    device.before_host(storage, &range, access)?;
                }
            }
            Ok(())
        }
        Slot::TensorList(ids) => {
            for &id in ids.iter().flatten() {
                if let Slot::Tensor(_) = frame.slot(id)? {
                    wait_for_value(frame, devices, id, access)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
