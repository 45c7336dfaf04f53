//! Green contexts, and the resources that they have.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::{CUdevResource, CUresult};

use super::argument::{In, Out};
use super::entry;
use crate::objects::ContextKind;
use crate::objects::{GROUP, GreenContext, ResourceDescription};
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

/// `CUdevResource`, with numbers.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Resource {
    kind: u32,
    padding: [u8; 92],
    multiprocessors: u32,
    rest: [u8; size_of::<CUdevResource>() - 100],
}

const _: () = assert!(size_of::<Resource>() == size_of::<CUdevResource>());

/// `CU_DEV_RESOURCE_TYPE_SM`.
const MULTIPROCESSORS: u32 = 1;

fn resource(multiprocessors: u32) -> Resource {
    Resource {
        kind: if multiprocessors == 0 {
            0
        } else {
            MULTIPROCESSORS
        },
        padding: [0; 92],
        multiprocessors,
        rest: [0; size_of::<CUdevResource>() - 100],
    }
}

entry! {
    /// The resource of a device.
    fn cuDeviceGetDevResource(device: c_int, out: Out<Resource>, kind: c_uint), Rules::DRIVER, |call| {
        call.device_index(device)?;
        if kind != MULTIPROCESSORS {
            return fail(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
        }
        out.set(resource(call.config.multiprocessors))
    }
}

entry! {
    /// The resource of a context.
    fn cuCtxGetDevResource(context: u64, out: Out<Resource>, kind: c_uint), Rules::DRIVER, |call| {
        if kind != MULTIPROCESSORS {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let all = call.config.multiprocessors;
        let count = match call.contexts.get(context)?.kind {
            ContextKind::Green { multiprocessors } => multiprocessors,
            _ => all,
        };
        out.set(resource(count))
    }
}

entry! {
    /// Splits multiprocessors into groups of at least `least`. With a null result, only the number
    /// of possible groups is returned.
    fn cuDevSmResourceSplitByCount(
        result: Out<Resource>,
        groups: Out<c_uint>,
        input: In<Resource>,
        remaining: Out<Resource>,
        _flags: c_uint,
        least: c_uint,
    ), Rules::DRIVER, |_call| {
        let input = input.get()?;
        let wanted = In(groups.0.cast_const()).get()?;
        if input.kind != MULTIPROCESSORS {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let size = least.max(1).next_multiple_of(GROUP);
        let possible = input.multiprocessors / size;
        if result.is_null() {
            return groups.set(possible);
        }
        let made = wanted.min(possible);
        if made == 0 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        for index in 0..made as usize {
            result.nth(index).set(resource(size))?;
        }
        remaining.set_if_wanted(resource(input.multiprocessors - made * size));
        groups.set(made)
    }
}

entry! {
    /// Describes the resources of a green context.
    fn cuDevResourceGenerateDesc(description: Out<u64>, resources: In<Resource>, count: c_uint), Rules::DRIVER, |call| {
        if description.is_null() || count == 0 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let mut multiprocessors = 0;
        for index in 0..count as usize {
            let one = resources.nth(index)?;
            if one.kind != MULTIPROCESSORS {
                return fail(CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
            }
            multiprocessors += one.multiprocessors;
        }
        let handle = call.descriptions.insert(ResourceDescription { multiprocessors });
        description.set(handle)
    }
}

/// `CU_GREEN_CTX_DEFAULT_STREAM`, which is required.
const DEFAULT_STREAM: u32 = 1;

entry! {
    /// Creates a green context.
    fn cuGreenCtxCreate(green: Out<u64>, description: u64, device: c_int, flags: c_uint), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        if green.is_null() || flags != DEFAULT_STREAM {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let multiprocessors = call.descriptions.get(description)?.multiprocessors;
        let context = call.create_context(index, ContextKind::Green { multiprocessors }, 0);
        let handle = call.green.insert(GreenContext {
            context,
            multiprocessors,
        });
        green.set(handle)
    }
}

impl Call {
    fn check_green(&mut self, green: u64) -> CallResult<u64> {
        let found = self.green.get(green).map(|green| green.context);
        self.check_handle("green context", green, found)
    }
}

entry! {
    /// Destroys a green context.
    fn cuGreenCtxDestroy(green: u64), Rules::DRIVER.releases(), |call| {
        let context = call.check_green(green)?;
        call.green.remove(green)?;
        call.wait_for_context(context)?;
        let site = call.site.clone();
        call.destroy_context(context, &site)
    }
}

entry! {
    /// The ordinary context behind a green context.
    fn cuCtxFromGreenCtx(context: Out<u64>, green: u64), Rules::DRIVER, |call| {
        let handle = call.check_green(green)?;
        context.set(handle)
    }
}

entry! {
    /// The resource of a green context.
    fn cuGreenCtxGetDevResource(green: u64, out: Out<Resource>, kind: c_uint), Rules::DRIVER, |call| {
        call.check_green(green)?;
        if kind != MULTIPROCESSORS {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let count = call.green.get(green)?.multiprocessors;
        out.set(resource(count))
    }
}

entry! {
    /// Creates a stream whose work stays on the multiprocessors of a green context.
    fn cuGreenCtxStreamCreate(stream: Out<u64>, green: u64, flags: c_uint, priority: c_int), Rules::DRIVER, |call| {
        let context = call.check_green(green)?;
        // It must not order itself with the legacy default stream.
        if flags != 1 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        call.new_stream(context, stream, flags, priority)
    }
}

fn record(call: &mut Call, context: u64, event: u64) -> CallResult {
    let site = call.site.clone();
    call.check_event(event, &site)?;
    // A stream of the context that comes after all others, and into which nothing else goes.
    let all = call.tails(|queue| queue.context == context);
    let stream = call.default_stream(context, Some(0))?;
    call.enqueue(
        stream,
        "all work of a context",
        crate::work::Body::Marker,
        &all,
    )?;
    call.record_event(event, stream, &site.name, false)
}

entry! {
    /// Records an event after all work of a green context.
    fn cuGreenCtxRecordEvent(green: u64, event: u64), Rules::DRIVER, |call| {
        let context = call.check_green(green)?;
        record(call, context, event)
    }
}

entry! {
    /// Records an event after all work of a context.
    fn cuCtxRecordEvent(context: u64, event: u64), Rules::DRIVER, |call| {
        call.contexts.get(context)?;
        record(call, context, event)
    }
}

fn wait(call: &mut Call, context: u64, event: u64) -> CallResult {
    let site = call.site.clone();
    let streams: Vec<u64> = call
        .streams
        .iter()
        .filter(|(_, stream)| stream.context == context)
        .map(|(handle, _)| handle)
        .collect();
    for stream in streams {
        call.wait_event(stream, event, false, &site)?;
    }
    Ok(())
}

entry! {
    /// Has all streams of a green context wait for an event.
    fn cuGreenCtxWaitEvent(green: u64, event: u64), Rules::DRIVER, |call| {
        let context = call.check_green(green)?;
        wait(call, context, event)
    }
}

entry! {
    /// Has all streams of a context wait for an event.
    fn cuCtxWaitEvent(context: u64, event: u64), Rules::DRIVER, |call| {
        call.contexts.get(context)?;
        wait(call, context, event)
    }
}
