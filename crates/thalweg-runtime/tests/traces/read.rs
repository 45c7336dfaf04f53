//! Traces as a viewer reads them.
//!
//! Tests of other crates that look at traces include this file, too.
#![allow(dead_code, reason = "every test file uses some of it")]

use std::collections::BTreeMap;

use serde_json::Value;
use thalweg_runtime::Trace;

/// A trace that has all that viewers need.
pub(crate) struct Read {
    pub(crate) text: String,
    pub(crate) events: Vec<Value>,
}

/// Half a nanosecond: times are whole ones, but their sums are not quite.
const HALF: f64 = 0.5e-3;

/// The numbers of a process and a thread.
type Track = (u64, u64);

impl Read {
    pub(crate) fn of(trace: &Trace) -> Self {
        let mut text = Vec::new();
        trace.write(&mut text).unwrap();
        Self::of_text(String::from_utf8(text).unwrap())
    }

    pub(crate) fn of_text(text: String) -> Self {
        let json: Value = serde_json::from_str(&text).unwrap();
        let events = json["traceEvents"].as_array().unwrap().clone();
        let read = Self { text, events };
        read.check();
        read
    }

    /// The events of a name, in the order of time.
    pub(crate) fn all(&self, name: &str) -> Vec<&Value> {
        let named = self.events.iter().filter(|event| event["name"] == name);
        let mut named: Vec<_> = named.collect();
        named.sort_by(|a, b| ts(a).total_cmp(&ts(b)));
        named
    }

    /// The names of the tracks that have spans.
    pub(crate) fn tracks(&self) -> Vec<String> {
        self.spans().keys().map(|&track| self.name(track)).collect()
    }

    /// What happened, without times: for each track the spans, as they nest. What threads are called is
    /// left out.
    pub(crate) fn shape(&self) -> String {
        let mut shape = String::new();
        for (track, spans) in self.spans() {
            let name = self.name(track);
            let name = name.split(" thread ").next().unwrap_or_default();
            let name = match name.strip_suffix(" of") {
                Some(start) => format!("{start} of thread"),
                None if name.ends_with('/') => format!("{name} thread"),
                None => name.to_string(),
            };
            shape += &format!("{name}\n");
            let mut open: Vec<f64> = Vec::new();
            for span in spans {
                while open.last().is_some_and(|&end| ts(span) >= end - HALF) {
                    open.pop();
                }
                let depth = 2 * (open.len() + 1);
                shape += &format!("{:depth$}{}\n", "", span["name"].as_str().unwrap());
                open.push(end(span));
            }
        }
        shape
    }

    /// All that viewers need is there, and spans of a track nest.
    fn check(&self) {
        for event in &self.events {
            let phase = event["ph"].as_str().unwrap();
            assert!(["X", "i", "C", "M", "s", "f"].contains(&phase), "{event}");
            assert!(ts(event) >= 0.0, "{event}");
            assert!(event["name"].is_string(), "{event}");
            if phase == "X" {
                assert!(event["dur"].as_f64().unwrap() >= 0.0, "{event}");
            }
            self.name(track(event));
        }
        for spans in self.spans().values() {
            let mut open: Vec<f64> = Vec::new();
            for span in spans {
                while open.last().is_some_and(|&end| ts(span) >= end - HALF) {
                    open.pop();
                }
                let within = open.last().copied().unwrap_or(f64::INFINITY);
                assert!(end(span) <= within + HALF, "{span} ends after {within}");
                open.push(end(span));
            }
        }
    }

    /// Spans by track, by their start, the longer one first.
    fn spans(&self) -> BTreeMap<Track, Vec<&Value>> {
        let mut spans: BTreeMap<Track, Vec<&Value>> = BTreeMap::new();
        for event in self.events.iter().filter(|event| event["ph"] == "X") {
            spans.entry(track(event)).or_default().push(event);
        }
        for spans in spans.values_mut() {
            let duration = |event: &Value| event["dur"].as_f64().unwrap();
            spans.sort_by(|a, b| {
                let start = ts(a).total_cmp(&ts(b));
                start.then(duration(b).total_cmp(&duration(a)))
            });
        }
        spans
    }

    /// What a track is called. Each has a name.
    fn name(&self, (pid, tid): Track) -> String {
        let named = |what: &str, matches: &dyn Fn(&Value) -> bool| {
            let mut events = self.events.iter();
            let event = events.find(|event| event["name"] == what && matches(event));
            let event = event.unwrap_or_else(|| panic!("{pid} {tid} has no {what}"));
            event["args"]["name"].as_str().unwrap().to_string()
        };
        let process = named("process_name", &|event| event["pid"] == pid);
        if self.is_process_alone((pid, tid)) {
            return process;
        }
        let thread = named("thread_name", &|event| {
            event["pid"] == pid && event["tid"] == tid
        });
        format!("{process} / {thread}")
    }

    /// Whether only the process is meant: where nothing happened on any of its threads.
    fn is_process_alone(&self, of: Track) -> bool {
        let mut events = self.events.iter();
        !events.any(|event| event["ph"] == "X" && track(event) == of)
    }
}

fn ts(event: &Value) -> f64 {
    event["ts"].as_f64().unwrap()
}

fn end(event: &Value) -> f64 {
    ts(event) + event["dur"].as_f64().unwrap()
}

fn track(event: &Value) -> Track {
    (
        event["pid"].as_u64().unwrap(),
        event["tid"].as_u64().unwrap(),
    )
}
