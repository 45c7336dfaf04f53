//! Attributes of an address.

use std::ffi::{c_int, c_uint, c_void};

use thalweg_core::Result;

use super::context::Context;
use crate::sys::Status;

/// Attributes of the driver's, in the order in which they are asked.
const MEMORY_TYPE: c_int = 2;
const DEVICE_POINTER: c_int = 3;
const IS_MANAGED: c_int = 8;
const DEVICE_ORDINAL: c_int = 9;

/// The attributes of an address; zeros if the driver does not know it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PointerFacts {
    /// 1 for the host's memory, 2 for a device's, 0 for an unknown address.
    pub(crate) memory_type: c_uint,
    pub(crate) device_pointer: u64,
    pub(crate) managed: bool,
    pub(crate) ordinal: c_int,
}

/// The attributes of an address, which may be any.
pub(crate) fn pointer_facts(context: &Context, address: u64) -> Result<PointerFacts> {
    let _managing = context.manage()?;
    let mut facts = PointerFacts::default();
    let mut managed: c_uint = 0;
    let mut attributes = [MEMORY_TYPE, DEVICE_POINTER, IS_MANAGED, DEVICE_ORDINAL];
    let mut answers: [*mut c_void; 4] = [
        (&raw mut facts.memory_type).cast(),
        (&raw mut facts.device_pointer).cast(),
        (&raw mut managed).cast(),
        (&raw mut facts.ordinal).cast(),
    ];
    // SAFETY: there are as many places as attributes, each of its attribute's size; the address is
    // only looked up.
    let status = unsafe {
        (context.table().cuPointerGetAttributes)(
            attributes.len() as c_uint,
            attributes.as_mut_ptr(),
            answers.as_mut_ptr(),
            address,
        )
    };
    if status == Status::INVALID_VALUE {
        return Ok(PointerFacts::default());
    }
    context.check("cuPointerGetAttributes", status)?;
    facts.managed = managed != 0;
    Ok(facts)
}
