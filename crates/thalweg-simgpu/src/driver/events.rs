//! Events: recording them, and waiting for them in a stream.

use cudarc::driver::sys::CUresult;

use super::Driver;
use crate::objects::{Captured, Event};
use crate::report::{ReportKind, Site};
use crate::status::{CallResult, fail};
use crate::work::Body;

impl Driver {
    pub(crate) fn record_event(
        &mut self,
        event: u64,
        stream: u64,
        name: &str,
        external: bool,
    ) -> CallResult {
        self.forbid_implicit(stream, true)?;
        let id = self.events.id(event);
        if let Some(capture) = self.valid_capture(stream)? {
            if external {
                self.capture_node(capture, stream, name, Body::Record { event, id })?;
                return Ok(());
            }
            let nodes = self.capture_dependencies(capture, stream);
            let capture = self.captures[capture].id;
            let event = self.events.get_mut(event)?;
            event.captured = Some(Captured { capture, nodes });
            event.recorded = None;
            event.time = None;
            return Ok(());
        }
        let recorded = self.enqueue(stream, name, Body::Record { event, id }, &[])?;
        let event = self.events.get_mut(event)?;
        event.captured = None;
        event.recorded = Some(recorded);
        event.time = None;
        Ok(())
    }

    /// Has a stream wait for an event.
    pub(crate) fn wait_event(
        &mut self,
        stream: u64,
        event: u64,
        external: bool,
        site: &Site,
    ) -> CallResult {
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
            self.report_never_recorded(&label, site);
            return Ok(());
        };
        if let Some(capture) = self.valid_capture(stream)? {
            self.captures[capture].invalid = true;
            return fail(CUresult::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        }
        self.enqueue(stream, "cuStreamWaitEvent", Body::Marker, &[recorded])?;
        Ok(())
    }

    pub(crate) fn report_never_recorded(&mut self, label: &str, site: &Site) {
        let message = format!("{site} waits for {label}, which was never recorded");
        self.report(ReportKind::EventNeverRecorded, message, site);
    }

    /// Checks the handle of an event.
    pub(crate) fn check_event(&mut self, handle: u64, site: &Site) -> CallResult<&mut Event> {
        if let Err(why) = self.events.get(handle) {
            return Err(self.report_invalid_handle("event", handle, why, site));
        }
        Ok(self.events.get_mut(handle)?)
    }
}
