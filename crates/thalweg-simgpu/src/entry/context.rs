//! Contexts: primary ones, created ones, the current one, and access between devices.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::CUresult;

use super::argument::{In, Out};
use super::entry;
use crate::objects::ContextKind;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

impl Call {
    fn end_context(&mut self, handle: u64) -> CallResult {
        self.wait_for_context(handle)?;
        let site = self.site.clone();
        self.destroy_context(handle, &site)
    }
}

entry! {
    /// Retains the primary context of a device.
    fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: c_int), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        if context.is_null() {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let handle = match call.devices[index].primary {
            Some(handle) => handle,
            None => {
                let flags = call.devices[index].primary_flags;
                let handle = call.create_context(index, ContextKind::Primary, flags);
                call.devices[index].primary = Some(handle);
                handle
            }
        };
        call.devices[index].retained += 1;
        context.set(handle)
    }
}

entry! {
    /// Releases the primary context of a device. The last release destroys it.
    fn cuDevicePrimaryCtxRelease_v2(device: c_int), Rules::DRIVER.releases(), |call| {
        let index = call.device_index(device)?;
        let Some(handle) = call.devices[index].primary else {
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        };
        // A reset leaves a context that is not retained.
        call.devices[index].retained = call.devices[index].retained.saturating_sub(1);
        if call.devices[index].retained == 0 {
            call.end_context(handle)?;
        }
        Ok(())
    }
}

entry! {
    /// Destroys the primary context of a device, and clears a sticky error.
    fn cuDevicePrimaryCtxReset_v2(device: c_int), Rules::DRIVER.releases(), |call| {
        let index = call.device_index(device)?;
        if let Some(handle) = call.devices[index].primary {
            call.end_context(handle)?;
        }
        call.devices[index].sticky = None;
        Ok(())
    }
}

entry! {
    /// The flags of a device's primary context, and 1 if it exists.
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        let device = &call.devices[index];
        flags.set(device.primary_flags)?;
        active.set(c_int::from(device.primary.is_some()))
    }
}

entry! {
    /// Sets the flags of a device's primary context.
    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        call.devices[index].primary_flags = flags;
        Ok(())
    }
}

fn create(call: &mut Call, context: Out<u64>, flags: c_uint, device: c_int) -> CallResult {
    let index = call.device_index(device)?;
    if context.is_null() {
        return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let handle = call.create_context(index, ContextKind::Created, flags);
    call.with_contexts(|contexts| contexts.push(handle));
    context.set(handle)
}

entry! {
    /// Creates a context, and makes it current.
    fn cuCtxCreate_v2(context: Out<u64>, flags: c_uint, device: c_int), Rules::DRIVER, |call| {
        create(call, context, flags, device)
    }
}

entry! {
    /// Creates a context, and makes it current.
    fn cuCtxCreate_v4(context: Out<u64>, _parameters: In<u8>, flags: c_uint, device: c_int), Rules::DRIVER, |call| {
        create(call, context, flags, device)
    }
}

entry! {
    /// Destroys a created context.
    fn cuCtxDestroy_v2(context: u64), Rules::DRIVER.releases(), |call| {
        let own = call.contexts.get(context).is_ok_and(|c| c.kind == ContextKind::Created);
        if !own {
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        call.with_contexts(|contexts| {
            if contexts.last() == Some(&context) {
                contexts.pop();
            }
        });
        call.end_context(context)
    }
}

entry! {
    /// Makes a context current.
    fn cuCtxSetCurrent(context: u64), Rules::DRIVER, |call| {
        if context != 0 && let Err(why) = call.contexts.get(context) {
            let site = call.site.clone();
            call.report_invalid_handle("context", context, why, &site);
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        call.with_contexts(|contexts| {
            contexts.pop();
            if context != 0 {
                contexts.push(context);
            }
        });
        Ok(())
    }
}

entry! {
    /// The thread's current context, or null.
    fn cuCtxGetCurrent(context: Out<u64>), Rules::DRIVER, |call| {
        context.set(call.current().unwrap_or(0))
    }
}

entry! {
    /// Pushes a context on the thread's stack.
    fn cuCtxPushCurrent_v2(context: u64), Rules::DRIVER, |call| {
        if let Err(why) = call.contexts.get(context) {
            let site = call.site.clone();
            call.report_invalid_handle("context", context, why, &site);
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        call.with_contexts(|contexts| contexts.push(context));
        Ok(())
    }
}

entry! {
    /// Pops a context from the thread's stack.
    fn cuCtxPopCurrent_v2(context: Out<u64>), Rules::DRIVER.releases(), |call| {
        match call.with_contexts(Vec::pop) {
            Some(handle) => {
                context.set_if_wanted(handle);
                Ok(())
            }
            None => fail(CUresult::CUDA_ERROR_INVALID_CONTEXT),
        }
    }
}

entry! {
    /// The device of the current context.
    fn cuCtxGetDevice(device: Out<c_int>), Rules::CONTEXT, |call| {
        device.set(call.device()? as c_int)
    }
}

entry! {
    /// The device of a context, or of the current one.
    fn cuCtxGetDevice_v2(device: Out<c_int>, context: u64), Rules::DRIVER, |call| {
        let context = if context == 0 { call.context()? } else { context };
        let index = call.contexts.get(context)?.device;
        device.set(index as c_int)
    }
}

entry! {
    /// The flags of the current context.
    fn cuCtxGetFlags(flags: Out<c_uint>), Rules::CONTEXT, |call| {
        let context = call.context()?;
        flags.set(call.contexts.get(context)?.flags)
    }
}

entry! {
    /// The number of a context. No other context has it.
    fn cuCtxGetId(context: u64, id: Out<u64>), Rules::DRIVER, |call| {
        let context = if context == 0 { call.context()? } else { context };
        id.set(call.contexts.get(context)?.id)
    }
}

entry! {
    /// The version of the interface for which a context was created.
    fn cuCtxGetApiVersion(_context: u64, version: Out<c_uint>), Rules::DRIVER, |_call| {
        version.set(3020)
    }
}

entry! {
    /// Waits for all work of the current context.
    fn cuCtxSynchronize(), Rules::CONTEXT.unsafe_in_capture(), |call| {
        let context = call.context()?;
        call.forbid_context_wait(context)?;
        call.wait_for_context(context)
    }
}

entry! {
    /// Waits for all work of a context.
    fn cuCtxSynchronize_v2(context: u64), Rules::DRIVER.unsafe_in_capture(), |call| {
        let context = if context == 0 { call.context()? } else { context };
        call.forbid_context_wait(context)?;
        call.wait_for_context(context)
    }
}

entry! {
    /// The priorities that streams may have: the least, then the greatest, which is the lower
    /// number.
    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>), Rules::CONTEXT, |_call| {
        least.set_if_wanted(0);
        greatest.set_if_wanted(-5);
        Ok(())
    }
}

entry! {
    /// A limit of the current context.
    fn cuCtxGetLimit(value: Out<usize>, limit: c_uint), Rules::CONTEXT, |_call| {
        value.set(match limit {
            0 => 1024,
            1 => 1 << 20,
            2 => 8 << 20,
            _ => 0,
        })
    }
}

entry! {
    /// Sets a limit of the current context. It has no effect.
    fn cuCtxSetLimit(_limit: c_uint, _value: usize), Rules::CONTEXT, |_call| Ok(())
}

entry! {
    /// The preference of cache or shared memory.
    fn cuCtxGetCacheConfig(config: Out<c_uint>), Rules::CONTEXT, |_call| config.set(0)
}

entry! {
    /// Sets the preference of cache or shared memory. It has no effect.
    fn cuCtxSetCacheConfig(_config: c_uint), Rules::CONTEXT, |_call| Ok(())
}

entry! {
    /// Gives the current context access to the memory of another device.
    fn cuCtxEnablePeerAccess(peer: u64, flags: c_uint), Rules::CONTEXT, |call| {
        let device = call.device()?;
        let Ok(other) = call.contexts.get(peer) else {
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        };
        let other = other.device;
        if flags != 0 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if other == device {
            return fail(CUresult::CUDA_ERROR_INVALID_DEVICE);
        }
        if !call.peers.insert((device, other)) {
            return fail(CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
        }
        Ok(())
    }
}

entry! {
    /// Ends that access.
    fn cuCtxDisablePeerAccess(peer: u64), Rules::CONTEXT, |call| {
        let device = call.device()?;
        let Ok(other) = call.contexts.get(peer) else {
            return fail(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        };
        let other = other.device;
        if !call.peers.remove(&(device, other)) {
            return fail(CUresult::CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        }
        Ok(())
    }
}
