//! The report of what was not destroyed, freed or released.

use super::Driver;
use crate::objects::{ContextKind, StreamKind};
use crate::report::{ReportKind, Site};

impl Driver {
    /// Reports what is left: of a context that ends, or, for 0, of everything.
    pub(crate) fn report_leaks(&mut self, context: u64, site: &Site) {
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
                self.foreign
                    .leaks()
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
