//! Leaks: the report of what was not destroyed, freed or released.

use super::Driver;
use crate::objects::{ContextKind, StreamKind};
use crate::report::{ReportKind, Site};

impl Driver {
    /// Reports the leaks of a context that ends.
    pub(crate) fn report_leaks_of_context(&mut self, context: u64, site: &Site) {
        let leaks = self.leaks_of_contexts(|other| other == context);
        for message in leaks {
            self.report(ReportKind::Leak, message, site);
        }
    }

    /// Reports all leaks, and the captures that were not ended.
    pub(crate) fn report_leaks(&mut self, site: &Site) {
        let mut leaks = self.leaks_of_contexts(|_| true);
        leaks.extend(self.foreign.leaks());
        let open: Vec<String> = self
            .captures
            .iter()
            .map(|capture| format!("a capture was not ended, from {}", capture.site))
            .collect();
        let outside = self.leaks_outside_contexts();
        for message in leaks {
            self.report(ReportKind::Leak, message, site);
        }
        for message in open {
            self.report(ReportKind::CaptureLeftOpen, message, site);
        }
        for message in outside {
            self.report(ReportKind::Leak, message, site);
        }
    }

    /// The messages about objects of contexts.
    fn leaks_of_contexts(&self, filter: impl Fn(u64) -> bool) -> Vec<String> {
        let mut leaks = Vec::new();
        for (_, block) in self.memory.known_blocks() {
            if filter(block.context) {
                let (len, origin) = (block.len, &block.origin);
                let what = if block.is_host() { "host" } else { "device" };
                leaks.push(format!(
                    "{len} bytes of {what} memory were not freed, from {origin}"
                ));
            }
        }
        for (_, stream) in self.streams.iter() {
            if filter(stream.context) && stream.kind == StreamKind::Created {
                leaks.push(format!("{} was not destroyed", stream.label));
            }
        }
        for (_, event) in self.events.iter() {
            if filter(event.context) {
                leaks.push(format!("{} was not destroyed", event.label));
            }
        }
        for (_, exec) in self.execs.iter() {
            if filter(exec.context) {
                let (number, origin) = (exec.number, &exec.site);
                leaks.push(format!("graph {number} was not destroyed, from {origin}"));
            }
        }
        for (_, module) in self.modules.iter() {
            if filter(module.context) {
                let names: Vec<_> = module.functions.keys().map(|name| &**name).collect();
                let names = names.join(", ");
                leaks.push(format!("a module was not unloaded, with {names}"));
            }
        }
        for (_, green) in self.green.iter() {
            if filter(green.context) {
                leaks.push("a green context was not destroyed".into());
            }
        }
        leaks
    }

    /// The messages about objects of no context, and about contexts.
    fn leaks_outside_contexts(&self) -> Vec<String> {
        let mut leaks = Vec::new();
        for (_, graph) in self.graphs.iter().filter(|(_, graph)| !graph.capturing) {
            leaks.push(format!("a graph was not destroyed, from {}", graph.site));
        }
        for (_, object) in self.user_objects.iter() {
            leaks.push(format!(
                "a user object has {} references left",
                object.count
            ));
        }
        for (_, pool) in self.pools.iter().filter(|(_, pool)| !pool.default) {
            leaks.push(format!("{} was not destroyed", pool.label));
        }
        for (_, context) in self.contexts.iter() {
            let device = context.device;
            leaks.push(match context.kind {
                ContextKind::Primary => {
                    format!("the primary context of device {device} was not released")
                }
                ContextKind::Created => format!("a context of device {device} is left"),
                ContextKind::Green { .. } => continue,
            });
        }
        leaks
    }
}
