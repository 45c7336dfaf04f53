//! Streams: their creation, their destruction, and work in them.

use std::sync::Arc;

use super::Driver;
use crate::clock::Timestamp;
use crate::objects::{Stream, StreamKind};
use crate::report::{ReportKind, Site};
use crate::status::CallResult;
use crate::work::Body;

impl Driver {
    /// Enqueues work in a stream, or captures it, and then returns `None`.
    pub(crate) fn submit(
        &mut self,
        stream: u64,
        name: &str,
        body: Body,
    ) -> CallResult<Option<Timestamp>> {
        self.forbid_implicit(stream, true)?;
        match self.valid_capture(stream)? {
            Some(capture) => {
                self.capture_node(capture, stream, name, body)?;
                Ok(None)
            }
            None => Ok(Some(self.enqueue(stream, name, body, &[])?)),
        }
    }

    pub(crate) fn create_stream(
        &mut self,
        context: u64,
        kind: StreamKind,
        flags: u32,
        priority: i32,
    ) -> CallResult<u64> {
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

    /// The default stream of a context: the legacy one, or the one of a thread.
    pub(crate) fn default_stream(&mut self, context: u64, thread: Option<u64>) -> CallResult<u64> {
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

    /// Destroys a stream. The work in it goes on.
    pub(crate) fn destroy_stream(&mut self, handle: u64, site: &Site) -> CallResult {
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

    /// Checks the handle of a stream.
    pub(crate) fn check_stream(&mut self, handle: u64, site: &Site) -> CallResult<&Stream> {
        if let Err(why) = self.streams.get(handle) {
            return Err(self.report_invalid_handle("stream", handle, why, site));
        }
        Ok(self.streams.get(handle)?)
    }
}
