//! Contexts, streams and events: finding them, making them, and their ends.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use crate::context::{Context, ContextKind};
use crate::driver::Driver;
use crate::event::{Event, Recorded};
use crate::handle::Missing;
use crate::memory::BlockId;
use crate::report::{ReportKind, Site};
use crate::status::{Answer, Status, fail};
use crate::stream::{Stream, StreamKind};
use crate::work::Body;

impl Driver {
    /// Reports a handle that names nothing, and gives the code for it.
    pub(crate) fn missing(&mut self, what: &str, handle: u64, why: Missing, site: &Site) -> Status {
        let (kind, message) = match why {
            Missing::Destroyed => (
                ReportKind::UseAfterDestroy,
                format!("{site} uses {what} {handle:#x}, which was destroyed"),
            ),
            Missing::Never => (
                ReportKind::InvalidHandle,
                format!("{site} uses {handle:#x}, which never was {what}"),
            ),
        };
        self.report(kind, message, site);
        why.into()
    }

    /// Checks the handle of a stream.
    pub(crate) fn check_stream(&mut self, handle: u64, site: &Site) -> Answer<&Stream> {
        if let Err(why) = self.streams.get(handle) {
            return Err(self.missing("stream", handle, why, site));
        }
        Ok(self.streams.get(handle)?)
    }

    /// Checks the handle of an event.
    pub(crate) fn check_event(&mut self, handle: u64, site: &Site) -> Answer<&mut Event> {
        if let Err(why) = self.events.get(handle) {
            return Err(self.missing("event", handle, why, site));
        }
        Ok(self.events.get_mut(handle)?)
    }

    pub(crate) fn create_stream(
        &mut self,
        context: u64,
        kind: StreamKind,
        flags: u32,
        priority: i32,
    ) -> Answer<u64> {
        let device = self.contexts.get(context)?.device;
        let id = self.next_id();
        let label: Arc<str> = match kind {
            StreamKind::Created => format!("stream {id}"),
            StreamKind::Legacy => format!("legacy stream {id}"),
            StreamKind::PerThread => format!("thread's stream {id}"),
        }
        .into();
        let queue = self.new_queue(label.clone(), device, context);
        self.queues[queue].blocking = kind != StreamKind::Legacy && flags & 1 == 0;
        Ok(self.streams.insert(Stream {
            label,
            queue,
            context,
            device,
            kind,
            flags,
            priority,
            id,
            capture: None,
        }))
    }

    /// The default stream of a context: the legacy one, or that of a thread.
    pub(crate) fn default_stream(&mut self, context: u64, thread: Option<u64>) -> Answer<u64> {
        let known = self.contexts.get(context)?;
        let known = match thread {
            None => known.legacy,
            Some(thread) => known.per_thread.get(&thread).copied(),
        };
        if let Some(stream) = known {
            return Ok(stream);
        }
        let kind = match thread {
            None => StreamKind::Legacy,
            Some(_) => StreamKind::PerThread,
        };
        let stream = self.create_stream(context, kind, 0, 0)?;
        let context = self.contexts.get_mut(context)?;
        match thread {
            None => context.legacy = Some(stream),
            Some(thread) => {
                context.per_thread.insert(thread, stream);
            }
        }
        Ok(stream)
    }

    /// Forgets a stream; the work in it goes on.
    pub(crate) fn destroy_stream(&mut self, handle: u64, site: &Site) -> Answer {
        let stream = self.streams.remove(handle)?;
        self.queues[stream.queue].retired = true;
        if let Some(id) = stream.capture {
            let label = &stream.label;
            let message = format!("{site} destroys {label} while it is being captured");
            self.report(ReportKind::CaptureLeftOpen, message, site);
            if let Some(index) = self.captures.iter().position(|c| c.id == id) {
                let capture = self.abandon_capture(index);
                self.graphs.remove(capture.graph)?;
            }
        }
        Ok(())
    }

    /// Enqueues work in a stream, or captures it; the result is `None` then.
    pub(crate) fn submit(
        &mut self,
        stream: u64,
        name: &str,
        body: Body,
    ) -> Answer<Option<Recorded>> {
        self.forbid_implicit(stream, true)?;
        match self.valid_capture(stream)? {
            Some(capture) => {
                self.capture_node(capture, stream, name, body)?;
                Ok(None)
            }
            None => Ok(Some(self.push(stream, name, body, &[])?)),
        }
    }

    pub(crate) fn create_context(&mut self, device: usize, kind: ContextKind, flags: u32) -> u64 {
        let id = self.next_id();
        self.contexts.insert(Context::new(device, kind, flags, id))
    }

    /// The context to which memory, events and modules of a context belong: a green context has
    /// only its streams.
    pub(crate) fn owner(&self, context: u64) -> u64 {
        let Ok(known) = self.contexts.get(context) else {
            return context;
        };
        match (known.kind, self.devices[known.device].primary) {
            (ContextKind::Green { .. }, Some(primary)) => primary,
            _ => context,
        }
    }

    /// Ends a context and all that is in it. Nothing of it runs any more.
    pub(crate) fn destroy_context(&mut self, handle: u64, site: &Arc<Site>) -> Answer {
        let context = self.contexts.remove(handle)?;
        self.report_left(handle, site);
        for index in (0..self.captures.len()).rev() {
            let origin = self.captures[index].graph;
            let inside = self
                .streams
                .iter()
                .any(|(_, s)| s.context == handle && s.capture == Some(self.captures[index].id));
            if inside {
                self.abandon_capture(index);
                self.graphs.remove(origin)?;
            }
        }
        let streams: Vec<u64> = of(self.streams.iter(), |s| s.context == handle);
        for stream in streams {
            self.destroy_stream(stream, site)?;
        }
        for event in of(self.events.iter(), |e| e.context == handle) {
            self.events.remove(event)?;
        }
        for exec in of(self.execs.iter(), |e| e.context == handle) {
            self.destroy_exec(exec)?;
        }
        for module in of(self.modules.iter(), |m| m.context == handle && !m.library) {
            self.unload(module, site)?;
        }
        let blocks: Vec<(BlockId, u64)> = self
            .memory
            .known_blocks()
            .filter(|(_, block)| block.context == handle)
            .map(|(id, block)| (id, block.start))
            .collect();
        for (_, start) in blocks {
            self.free_now(start, site, false)?;
        }
        if context.kind == ContextKind::Primary {
            let device = &mut self.devices[context.device];
            device.primary = None;
            device.retained = 0;
            device.sticky = None;
        }
        Ok(())
    }

    /// Frees an allocation at once, after all work that may use it.
    pub(crate) fn free_now(&mut self, address: u64, site: &Arc<Site>, disputed: bool) -> Answer {
        let known = self
            .memory
            .forget_known(address, site, disputed, &mut self.reports);
        let Some(id) = known? else {
            return Ok(());
        };
        self.return_to_pool(id);
        let busy = self.running > 0;
        self.memory.bury(id, site, busy);
        Ok(())
    }

    /// Waits for an event on behalf of a stream.
    pub(crate) fn wait_event(
        &mut self,
        stream: u64,
        event: u64,
        external: bool,
        site: &Site,
    ) -> Answer {
        let waited = self.check_event(event, site)?;
        let (captured, recorded) = (waited.captured.clone(), waited.recorded.clone());
        let label = waited.label.clone();
        self.forbid_implicit(stream, true)?;
        if let Some(captured) = captured {
            return self.wait_captured(stream, &captured);
        }
        if external && let Some(capture) = self.valid_capture(stream)? {
            let id = self.events.id(event);
            return self.capture_node(capture, stream, &site.name, Body::Wait { event, id });
        }
        let Some(recorded) = recorded else {
            self.never_recorded(&label, site);
            return Ok(());
        };
        if let Some(capture) = self.valid_capture(stream)? {
            self.captures[capture].invalid = true;
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        }
        self.push(stream, "cuStreamWaitEvent", Body::Marker, &[recorded])?;
        Ok(())
    }

    pub(crate) fn never_recorded(&mut self, label: &str, site: &Site) {
        let message = format!("{site} waits for {label}, which was never recorded");
        self.report(ReportKind::EventNeverRecorded, message, site);
    }

    /// Reports what is left: of a context that ends, or, for 0, of everything.
    pub(crate) fn report_left(&mut self, context: u64, site: &Site) {
        let mut left: Vec<(ReportKind, String)> = Vec::new();
        let concerns = |other: u64| context == 0 || context == other;
        for (_, block) in self.memory.known_blocks() {
            if concerns(block.context) {
                let (len, origin) = (block.len, &block.origin);
                let what = if block.is_host() { "host" } else { "device" };
                left.push((
                    ReportKind::Leak,
                    format!("{len} bytes of {what} memory were not freed, from {origin}"),
                ));
            }
        }
        for (_, stream) in self.streams.iter() {
            if concerns(stream.context) && stream.kind == StreamKind::Created {
                left.push((
                    ReportKind::Leak,
                    format!("{} was not destroyed", stream.label),
                ));
            }
        }
        for (_, event) in self.events.iter() {
            if concerns(event.context) {
                left.push((
                    ReportKind::Leak,
                    format!("{} was not destroyed", event.label),
                ));
            }
        }
        for (_, exec) in self.execs.iter() {
            if concerns(exec.context) {
                let (number, origin) = (exec.number, &exec.site);
                let message = format!("graph {number} was not destroyed, from {origin}");
                left.push((ReportKind::Leak, message));
            }
        }
        for (_, module) in self.modules.iter() {
            if concerns(module.context) {
                let names: Vec<_> = module.functions.keys().map(|name| &**name).collect();
                let message = format!("a module was not unloaded, with {}", names.join(", "));
                left.push((ReportKind::Leak, message));
            }
        }
        for (_, green) in self.green.iter() {
            if concerns(green.context) {
                left.push((ReportKind::Leak, "a green context was not destroyed".into()));
            }
        }
        if context == 0 {
            left.extend(
                self.nvinfer
                    .left()
                    .map(|message| (ReportKind::Leak, message)),
            );
            for capture in &self.captures {
                let message = format!("a capture was not ended, from {}", capture.site);
                left.push((ReportKind::CaptureLeftOpen, message));
            }
            for (_, graph) in self.graphs.iter().filter(|(_, graph)| !graph.capturing) {
                let message = format!("a graph was not destroyed, from {}", graph.site);
                left.push((ReportKind::Leak, message));
            }
            for (_, object) in self.user_objects.iter() {
                let message = format!("a user object has {} references left", object.count);
                left.push((ReportKind::Leak, message));
            }
            for (_, pool) in self.pools.iter().filter(|(_, pool)| !pool.default) {
                left.push((
                    ReportKind::Leak,
                    format!("{} was not destroyed", pool.label),
                ));
            }
            for (_, context) in self.contexts.iter() {
                let device = context.device;
                let message = match context.kind {
                    ContextKind::Primary => {
                        format!("the primary context of device {device} was not released")
                    }
                    ContextKind::Created => format!("a context of device {device} is left"),
                    ContextKind::Green { .. } => continue,
                };
                left.push((ReportKind::Leak, message));
            }
        }
        for (kind, message) in left {
            self.report(kind, message, site);
        }
    }
}

/// The handles of some objects.
fn of<'a, T: 'a>(
    objects: impl Iterator<Item = (u64, &'a T)>,
    filter: impl Fn(&T) -> bool,
) -> Vec<u64> {
    objects
        .filter(|(_, object)| filter(object))
        .map(|(handle, _)| handle)
        .collect()
}
