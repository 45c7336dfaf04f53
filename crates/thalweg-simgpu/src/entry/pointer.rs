//! Pointer attributes.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out};
use super::entry;
use crate::memory::BlockKind;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

impl Call {
    /// Writes an attribute. Returns false for an address that the driver does not know.
    fn pointer_attribute(&self, attribute: u32, address: u64, to: Out<c_void>) -> CallResult<bool> {
        let Some(block) = self.memory.known_at(address) else {
            return Ok(false);
        };
        let device = match block.kind {
            BlockKind::Device { device, .. } => device,
            _ => self
                .contexts
                .get(block.context)
                .map_or(0, |context| context.device),
        };
        let pool = match block.kind {
            BlockKind::Device { pool, .. } => pool.unwrap_or(0),
            _ => 0,
        };
        match attribute {
            1 => to.cast::<u64>().set(block.context)?,
            2 => to
                .cast::<c_uint>()
                .set(if block.is_host() { 1 } else { 2 })?,
            3 => to.cast::<u64>().set(address)?,
            4 if block.is_host() => to.cast::<u64>().set(address)?,
            6 => to.cast::<c_int>().set(0)?,
            7 => to.cast::<u64>().set(block.start)?,
            8 => to.cast::<u8>().set(0)?,
            9 => to.cast::<c_int>().set(device as c_int)?,
            10 => to.cast::<u8>().set(0)?,
            11 => to.cast::<u64>().set(block.start)?,
            12 => to.cast::<usize>().set(block.len as usize)?,
            13 => to.cast::<u8>().set(1)?,
            14 => to.cast::<u64>().set(0)?,
            15 => to.cast::<u8>().set(0)?,
            16 => to.cast::<c_uint>().set(3)?,
            17 => to.cast::<u64>().set(pool)?,
            _ => return fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
        Ok(true)
    }
}

entry! {
    /// An attribute of an address.
    fn cuPointerGetAttribute(value: Out<c_void>, attribute: c_uint, address: u64), Rules::DRIVER, |call| {
        if value.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        match call.pointer_attribute(attribute, address, value)? {
            true => Ok(()),
            false => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}

entry! {
    /// Several attributes of an address. They are zero for an address that the driver does not
    /// know.
    fn cuPointerGetAttributes(count: c_uint, attributes: In<c_uint>, values: In<u64>, address: u64), Rules::DRIVER, |call| {
        for index in 0..count as usize {
            let (attribute, value) = (attributes.nth(index)?, values.nth(index)?);
            let value = Out(value as *mut c_void);
            let known = call.pointer_attribute(attribute, address, value).unwrap_or(false);
            if !known {
                match attribute {
                    1 | 3 | 4 | 7 | 11 | 12 | 14 | 17 => value.cast::<u64>().set(0)?,
                    2 | 6 | 16 => value.cast::<c_uint>().set(0)?,
                    // No device has it.
                    9 => value.cast::<c_int>().set(-2)?,
                    8 | 10 | 13 | 15 => value.cast::<u8>().set(0)?,
                    _ => return fail(CUresult::CUDA_ERROR_INVALID_VALUE),
                }
            }
        }
        Ok(())
    }
}

entry! {
    /// Sets an attribute. It has no effect.
    fn cuPointerSetAttribute(_value: In<c_void>, attribute: c_uint, address: u64), Rules::DRIVER, |call| {
        if attribute != 6 || call.memory.known_at(address).is_none() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Ok(())
    }
}
