//! Contexts: their creation, and the destruction of all that is in them.

use std::sync::Arc;

use super::Driver;
use crate::clock::Timestamp;
use crate::memory::BlockId;
use crate::objects::{Context, ContextKind};
use crate::report::Site;
use crate::status::CallResult;

impl Driver {
    pub(crate) fn create_context(&mut self, device: usize, kind: ContextKind, flags: u32) -> u64 {
        let id = self.next_id();
        self.contexts.insert(Context::new(device, kind, flags, id))
    }

    /// The context that owns memory, events and modules that are created in a context. A green
    /// context owns only its streams.
    pub(crate) fn owning_context(&self, context: u64) -> u64 {
        let Ok(known) = self.contexts.get(context) else {
            return context;
        };
        match (known.kind, self.devices[known.device].primary) {
            (ContextKind::Green { .. }, Some(primary)) => primary,
            _ => context,
        }
    }

    /// Destroys a context and all that is in it. All its work must be complete.
    pub(crate) fn destroy_context(&mut self, handle: u64, site: &Arc<Site>) -> CallResult {
        let context = self.contexts.remove(handle)?;
        self.report_leaks_of_context(handle, site);
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

    /// Frees an allocation at once. All work that may use it must be complete.
    pub(crate) fn free_now(
        &mut self,
        address: u64,
        site: &Arc<Site>,
        injected: bool,
    ) -> CallResult {
        let known = self
            .memory
            .free_known(address, site, injected, &mut self.reports);
        let Some(id) = known? else {
            return Ok(());
        };
        self.return_to_pool(id);
        let busy = self.running > 0;
        self.memory.end_lifetime(id, site, busy);
        Ok(())
    }

    /// The ends of all work in a context. Those of a primary context include the green ones of its
    /// device.
    pub(crate) fn context_tails(&self, handle: u64) -> CallResult<Vec<Timestamp>> {
        let context = self.contexts.get(handle)?;
        let primary = context.kind == ContextKind::Primary;
        Ok(self.tails(|queue| {
            let green = |other: u64| {
                self.contexts.get(other).is_ok_and(|other| {
                    other.device == context.device
                        && matches!(other.kind, ContextKind::Green { .. })
                })
            };
            queue.context == handle || (primary && green(queue.context))
        }))
    }
}

/// The handles of the objects that a filter lets through.
fn of<'a, T: 'a>(
    objects: impl Iterator<Item = (u64, &'a T)>,
    filter: impl Fn(&T) -> bool,
) -> Vec<u64> {
    objects
        .filter(|(_, object)| filter(object))
        .map(|(handle, _)| handle)
        .collect()
}
