//! Memory pools.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys::{CUmemPoolProps, CUresult};

use super::argument::{In, Out};
use super::entry;
use crate::memory::Pool;
use crate::report::ReportKind;
use crate::simulator::Rules;
use crate::status::fail;

entry! {
    /// The default pool of a device.
    fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: c_int), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        pool.set(call.devices[index].default_pool)
    }
}

entry! {
    /// The current pool of a device.
    fn cuDeviceGetMemPool(pool: Out<u64>, device: c_int), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        pool.set(call.devices[index].current_pool)
    }
}

entry! {
    /// Sets the current pool of a device.
    fn cuDeviceSetMemPool(device: c_int, pool: u64), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        if call.pools.get(pool)?.device != index {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        call.devices[index].current_pool = pool;
        Ok(())
    }
}

entry! {
    /// Creates a pool.
    fn cuMemPoolCreate(pool: Out<u64>, properties: In<CUmemPoolProps>), Rules::DRIVER, |call| {
        if pool.is_null() || properties.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        // The place is read as numbers, for the caller may have left any bits there: the kind of
        // allocation, the kinds of handles, the kind of place, its number.
        let words = In::<i32>(properties.0.cast());
        let (kind, device) = (words.nth(2)?, words.nth(3)?);
        if words.nth(0)? != 1 || kind != 1 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let device = call.device_index(device)?;
        let handle = call.pools.insert(Pool::new(device, false));
        pool.set(handle)
    }
}

entry! {
    /// Destroys a pool. Memory of it that is in use stays until it is freed.
    fn cuMemPoolDestroy(pool: u64), Rules::DRIVER.releases(), |call| {
        match call.pools.get(pool) {
            Ok(known) if known.default => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
            Ok(_) => call.destroy_pool(pool),
            Err(why) => {
                let site = call.site.clone();
                Err(call.report_invalid_handle("pool", pool, why, &site))
            }
        }
    }
}

entry! {
    /// Trims a pool to some bytes.
    fn cuMemPoolTrimTo(pool: u64, keep: usize), Rules::DRIVER.unsafe_in_capture(), |call| {
        call.pools.get(pool)?;
        call.trim_pool(pool, keep as u64);
        Ok(())
    }
}

entry! {
    /// An attribute of a pool.
    fn cuMemPoolGetAttribute(pool: u64, attribute: u32, value: Out<c_void>), Rules::DRIVER, |call| {
        let pool = call.pools.get(pool)?;
        if let 1..=3 = attribute {
            let on = pool.reuse[attribute as usize - 1];
            return value.cast::<c_int>().set(c_int::from(on));
        }
        value.cast::<u64>().set(match attribute {
            4 => pool.release_threshold,
            5 => pool.reserved,
            6 => pool.reserved_high,
            7 => pool.used,
            8 => pool.used_high,
            _ => return fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        })
    }
}

entry! {
    /// Sets an attribute of a pool.
    fn cuMemPoolSetAttribute(pool: u64, attribute: u32, value: In<c_void>), Rules::DRIVER, |call| {
        let pool = call.pools.get_mut(pool)?;
        let number = In::<u64>(value.0.cast());
        match attribute {
            1..=3 => {
                pool.reuse[attribute as usize - 1] = In::<c_int>(value.0.cast()).get()? != 0;
            }
            4 => pool.release_threshold = number.get()?,
            6 if number.get()? == 0 => pool.reserved_high = pool.reserved,
            8 if number.get()? == 0 => pool.used_high = pool.used,
            _ => return fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
        Ok(())
    }
}

entry! {
    /// Gives devices access to the memory of a pool. Here all peers have it.
    fn cuMemPoolSetAccess(pool: u64, _access: In<c_void>, _count: usize), Rules::DRIVER, |call| {
        if let Err(why) = call.pools.get(pool) {
            let site = call.site.clone();
            call.report(ReportKind::InvalidHandle, format!("{site} uses no pool"), &site);
            return Err(why.into());
        }
        Ok(())
    }
}
