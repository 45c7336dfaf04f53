//! Events of `tracing`.

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Runs a function. Returns its result, and this project's events meanwhile on this thread: the level, the
/// message, and the fields.
pub(super) fn traced<T>(run: impl FnOnce() -> T) -> (T, Vec<String>) {
    let lines = Lines::default();
    let result = tracing::subscriber::with_default(lines.clone(), run);
    let lines = std::mem::take(&mut *lines.0.lock().unwrap());
    (result, lines)
}

/// The new profiles of all changes, in order.
pub(super) fn profiles(lines: &[String]) -> Vec<usize> {
    let profile = |line: &String| {
        let (_, profile) = line.split_once(" profile=")?;
        profile.split(' ').next()?.parse().ok()
    };
    lines.iter().filter_map(profile).collect()
}

/// The events that are warnings.
pub(super) fn warnings(lines: &[String]) -> Vec<&str> {
    let lines = lines.iter().filter(|line| line.starts_with("WARN"));
    lines.map(|line| &**line).collect()
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("thalweg") && *metadata.level() <= Level::DEBUG
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().level().to_string());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
