//! Streams.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::CUresult;

use super::argument::Out;
use super::entry;
use crate::callback::HostFunction;
use crate::objects::StreamKind;
use crate::report::ReportKind;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};
use crate::work::Body;

const WAITS: Rules = Rules::CONTEXT.unsafe_in_capture();

impl Call {
    /// Fails if a stream is captured, since it cannot be waited for, and invalidates the capture.
    pub(super) fn must_not_capture(&mut self, stream: u64) -> CallResult {
        self.forbid_implicit(stream, true)?;
        let Some(id) = self.streams.get(stream)?.capture else {
            return Ok(());
        };
        for capture in &mut self.captures {
            capture.invalid |= capture.id == id;
        }
        fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
    }

    pub(super) fn new_stream(
        &mut self,
        context: u64,
        out: Out<u64>,
        flags: u32,
        priority: i32,
    ) -> CallResult {
        if out.is_null() || flags > 1 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let priority = priority.clamp(-5, 0);
        let stream = self.create_stream(context, StreamKind::Created, flags, priority)?;
        out.set(stream)
    }
}

entry! {
    /// Creates a stream.
    fn cuStreamCreate(stream: Out<u64>, flags: c_uint), Rules::CONTEXT, |call| {
        let context = call.context()?;
        call.new_stream(context, stream, flags, 0)
    }
}

entry! {
    /// Creates a stream with a priority.
    fn cuStreamCreateWithPriority(stream: Out<u64>, flags: c_uint, priority: c_int), Rules::CONTEXT, |call| {
        let context = call.context()?;
        call.new_stream(context, stream, flags, priority)
    }
}

entry! {
    /// Destroys a stream. The work in it goes on.
    fn cuStreamDestroy_v2(stream: u64), Rules::DRIVER.releases(), |call| {
        if stream <= 2 {
            return fail(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        let site = call.site.clone();
        call.check_stream(stream, &site)?;
        call.destroy_stream(stream, &site)
    }
}

entry! {
    /// Success if all work of a stream is complete.
    fn cuStreamQuery / cuStreamQuery_ptsz (stream: u64), WAITS, |call| {
        let stream = call.stream(stream)?;
        call.must_not_capture(stream)?;
        let tail = call.stream_tail(call.streams.get(stream)?);
        if call.poll(&tail) {
            Ok(())
        } else {
            fail(CUresult::CUDA_ERROR_NOT_READY)
        }
    }
}

entry! {
    /// Waits for all work of a stream.
    fn cuStreamSynchronize / cuStreamSynchronize_ptsz (stream: u64), WAITS, |call| {
        let stream = call.stream(stream)?;
        call.must_not_capture(stream)?;
        let tail = call.stream_tail(call.streams.get(stream)?);
        call.wait_for(&tail);
        Ok(())
    }
}

entry! {
    /// Has a stream wait for an event.
    fn cuStreamWaitEvent / cuStreamWaitEvent_ptsz (stream: u64, event: u64, flags: c_uint), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        if flags > 1 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let site = call.site.clone();
        call.wait_event(stream, event, flags == 1, &site)
    }
}

entry! {
    /// Enqueues a host function.
    fn cuLaunchHostFunc / cuLaunchHostFunc_ptsz (stream: u64, function: Option<unsafe extern "C" fn(*mut c_void)>, data: Out<c_void>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        let Some(function) = function else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let data = data.0 as usize;
        let name = call.site.name.clone();
        call.submit(stream, &name, Body::Host(HostFunction::Plain { function, data }))?;
        Ok(())
    }
}

entry! {
    /// Enqueues a callback, which is given the stream and its status.
    fn cuStreamAddCallback / cuStreamAddCallback_ptsz (
        stream: u64,
        function: Option<unsafe extern "C" fn(usize, u32, *mut c_void)>,
        data: Out<c_void>,
        flags: c_uint,
    ), Rules::CONTEXT, |call| {
        let handle = stream;
        let stream = call.stream(stream)?;
        let Some(function) = function.filter(|_| flags == 0) else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        // Callbacks cannot be captured.
        call.must_not_capture(stream)?;
        let data = data.0 as usize;
        let function = HostFunction::Callback { function, stream: handle, data };
        let name = call.site.name.clone();
        call.submit(stream, &name, Body::Host(function))?;
        Ok(())
    }
}

entry! {
    /// The flags of a stream.
    fn cuStreamGetFlags / cuStreamGetFlags_ptsz (stream: u64, flags: Out<c_uint>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        flags.set(call.streams.get(stream)?.flags)
    }
}

entry! {
    /// The priority of a stream.
    fn cuStreamGetPriority / cuStreamGetPriority_ptsz (stream: u64, priority: Out<c_int>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        priority.set(call.streams.get(stream)?.priority)
    }
}

entry! {
    /// The number of a stream. No other stream has it.
    fn cuStreamGetId / cuStreamGetId_ptsz (stream: u64, id: Out<u64>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        id.set(call.streams.get(stream)?.id)
    }
}

entry! {
    /// The context of a stream.
    fn cuStreamGetCtx / cuStreamGetCtx_ptsz (stream: u64, context: Out<u64>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        context.set(call.streams.get(stream)?.context)
    }
}

entry! {
    /// The context of a stream, or its green context.
    fn cuStreamGetCtx_v2 / cuStreamGetCtx_v2_ptsz (stream: u64, context: Out<u64>, green: Out<u64>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        let owner = call.streams.get(stream)?.context;
        let behind = call.green.iter().find(|(_, g)| g.context == owner).map(|(handle, _)| handle);
        green.set_if_wanted(behind.unwrap_or(0));
        context.set(if behind.is_some() { 0 } else { owner })
    }
}

entry! {
    /// The device of a stream.
    fn cuStreamGetDevice / cuStreamGetDevice_ptsz (stream: u64, device: Out<c_int>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        device.set(call.streams.get(stream)?.device as c_int)
    }
}

entry! {
    /// The green context of a stream, or null.
    fn cuStreamGetGreenCtx(stream: u64, green: Out<u64>), Rules::CONTEXT, |call| {
        let stream = call.stream(stream)?;
        let owner = call.streams.get(stream)?.context;
        let behind = call.green.iter().find(|(_, g)| g.context == owner).map(|(handle, _)| handle);
        green.set(behind.unwrap_or(0))
    }
}

entry! {
    /// Attaches managed memory, of which there is none.
    fn cuStreamAttachMemAsync / cuStreamAttachMemAsync_ptsz (_stream: u64, _pointer: u64, _bytes: usize, _flags: c_uint), Rules::CONTEXT, |call| {
        let site = call.site.clone();
        call.report(ReportKind::Unsupported, format!("{site}: there is no managed memory"), &site);
        fail(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }
}
