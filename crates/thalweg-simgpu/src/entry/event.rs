//! Events.

use std::ffi::{c_float, c_uint};

use cudarc::driver::sys::CUresult;

use super::argument::Out;
use super::entry;
use crate::objects::Event;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

entry! {
    /// Creates an event.
    fn cuEventCreate(event: Out<u64>, flags: c_uint), Rules::CONTEXT, |call| {
        // Events between processes must have no time.
        if event.is_null() || flags > 7 || (flags & 4 != 0 && flags & 2 == 0) {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let (context, device) = (call.owning_context(call.context()?), call.device()?);
        let label = format!("event {}", call.next_id()).into();
        let handle = call.events.insert(Event::new(label, device, context, flags & 2 == 0));
        event.set(handle)
    }
}

entry! {
    /// Destroys an event. Streams that wait for it go on waiting.
    fn cuEventDestroy_v2(event: u64), Rules::DRIVER.releases(), |call| {
        let site = call.site.clone();
        call.check_event(event, &site)?;
        call.events.remove(event)?;
        Ok(())
    }
}

impl Call {
    fn record(&mut self, event: u64, stream: u64, flags: u32) -> CallResult {
        let stream = self.stream(stream)?;
        let site = self.site.clone();
        let device = self.check_event(event, &site)?.device;
        if flags > 1 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if self.streams.get(stream)?.device != device {
            return fail(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        let name = self.site.name.clone();
        self.record_event(event, stream, &name, flags == 1)
    }

    /// Fails if an event was last recorded in a capture, and invalidates the capture.
    fn must_not_be_captured(&mut self, event: u64) -> CallResult {
        let Some(captured) = self.events.get(event)?.captured.clone() else {
            return Ok(());
        };
        let open = self.captures.iter_mut().find(|c| c.id == captured.capture);
        match open {
            Some(capture) => {
                capture.invalid = true;
                fail(CUresult::CUDA_ERROR_CAPTURED_EVENT)
            }
            // The capture has ended, and the event was not recorded since.
            None => fail(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
    }
}

entry! {
    /// Records an event in a stream.
    fn cuEventRecord / cuEventRecord_ptsz (event: u64, stream: u64), Rules::CONTEXT, |call| {
        call.record(event, stream, 0)
    }
}

entry! {
    /// Records an event in a stream. In a capture, the flags can make the record a node.
    fn cuEventRecordWithFlags / cuEventRecordWithFlags_ptsz (event: u64, stream: u64, flags: c_uint), Rules::CONTEXT, |call| {
        call.record(event, stream, flags)
    }
}

entry! {
    /// Success if the work before an event is complete.
    fn cuEventQuery(event: u64), Rules::CONTEXT, |call| {
        let site = call.site.clone();
        call.check_event(event, &site)?;
        call.must_not_be_captured(event)?;
        call.forbid_unsafe()?;
        let known = call.events.get(event)?;
        let (recorded, label) = (known.recorded.clone(), known.label.clone());
        match recorded {
            Some(recorded) if call.poll(std::slice::from_ref(&recorded)) => Ok(()),
            Some(_) => fail(CUresult::CUDA_ERROR_NOT_READY),
            None => {
                call.report_never_recorded(&label, &site);
                Ok(())
            }
        }
    }
}

entry! {
    /// Waits for the work before an event.
    fn cuEventSynchronize(event: u64), Rules::CONTEXT, |call| {
        let site = call.site.clone();
        call.check_event(event, &site)?;
        call.must_not_be_captured(event)?;
        call.forbid_unsafe()?;
        let known = call.events.get(event)?;
        let (recorded, label) = (known.recorded.clone(), known.label.clone());
        match recorded {
            Some(recorded) => call.wait_for(&[recorded]),
            None => call.report_never_recorded(&label, &site),
        }
        Ok(())
    }
}

fn elapsed(call: &mut Call, out: Out<c_float>, start: u64, end: u64) -> CallResult {
    let site = call.site.clone();
    let mut times = [0.0; 2];
    for (time, handle) in times.iter_mut().zip([start, end]) {
        call.check_event(handle, &site)?;
        call.must_not_be_captured(handle)?;
        let event = call.events.get(handle)?;
        if !event.timing || event.recorded.is_none() {
            return fail(CUresult::CUDA_ERROR_INVALID_HANDLE);
        }
        match event.time {
            Some(at) => *time = at,
            None => return fail(CUresult::CUDA_ERROR_NOT_READY),
        }
    }
    out.set((times[1] - times[0]) as c_float)
}

entry! {
    /// The time between two events, in milliseconds of the simulated clock.
    fn cuEventElapsedTime(milliseconds: Out<c_float>, start: u64, end: u64), Rules::CONTEXT, |call| {
        elapsed(call, milliseconds, start, end)
    }
}

entry! {
    /// The time between two events, in milliseconds of the simulated clock.
    fn cuEventElapsedTime_v2(milliseconds: Out<c_float>, start: u64, end: u64), Rules::CONTEXT, |call| {
        elapsed(call, milliseconds, start, end)
    }
}
