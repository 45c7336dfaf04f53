//! Traces as JSON, in the format of Chrome's traces, which Perfetto reads, too.
//!
//! There is an event on each line. The host is the process 1, with a thread for each thread that was
//! seen; each device is a process, with a thread for each stream. Arrows lead from where work was asked
//! for to where it was done.

use std::io::{self, Write};

use serde_json::{Map, Value, json};
use thalweg_core::{DeviceId, Note};

use super::Inner;
use super::command::Done;
use super::names::InstructionNames;
use super::record::{Event, Kind, Name, Track};

/// The host, as a process of the trace.
const HOST: usize = 1;

/// Threads have the numbers from here on, and streams those from there on: some viewers take threads
/// with the same number for the same, whatever their processes.
const THREADS: usize = 1;
const STREAMS: usize = 1_000_000;

/// Writes a trace. What is still open at a time is shown until then.
pub(super) fn write(inner: &Inner, now: u64, out: &mut impl Write) -> io::Result<()> {
    let mut lines = Lines { out, first: true };
    lines
        .out
        .write_all(b"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    tracks(inner, &mut lines)?;
    for event in &inner.records.events {
        lines.add(&host_event(event, now))?;
    }
    let mut work: Vec<&Done> = inner.resolved.work.iter().collect();
    work.sort_by_key(|done| (done.stream, done.start, done.end));
    // A stream does one thing after the other. Where the distance of its clock was found to be a
    // little less than in the call before, it would not seem so.
    let mut busy = vec![0; inner.resolved.streams.len()];
    for (number, done) in work.into_iter().enumerate() {
        let start = done.start.max(busy[done.stream]);
        let end = done.end.max(start);
        busy[done.stream] = end;
        device_event(inner, done, (start, end), number, &mut lines)?;
    }
    let missing = inner.missing();
    for what in &missing {
        let args = json!({ "what": what });
        let name = "missing from this trace";
        let event = json!({
            "ph": "i", "s": "g", "name": name, "ts": micros(now), "pid": HOST, "tid": THREADS,
            "args": args,
        });
        lines.add(&event)?;
    }
    let other = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "missing": missing,
        "device_times_inexact_us": inner.resolved.inexact.iter().map(|(device, inexact)| {
            (device.to_string(), json!(inexact.round() / 1000.0))
        }).collect::<Map<_, _>>(),
    });
    write!(lines.out, "\n],\"otherData\":{other}}}\n")
}

/// Events of an array, one a line.
struct Lines<'o, W> {
    out: &'o mut W,
    first: bool,
}

impl<W: Write> Lines<'_, W> {
    fn add(&mut self, event: &Value) -> io::Result<()> {
        let separator: &[u8] = if std::mem::take(&mut self.first) {
            b"\n"
        } else {
            b",\n"
        };
        self.out.write_all(separator)?;
        serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from)
    }
}

/// Says what processes and threads are called, and in which order they are shown.
fn tracks(inner: &Inner, lines: &mut Lines<'_, impl Write>) -> io::Result<()> {
    let mut named = |what: &str, key: &str, pid: usize, tid: usize, value: Value| {
        let args = Map::from_iter([(key.to_string(), value)]);
        lines.add(&json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": args}))
    };
    named("process_name", "name", HOST, THREADS, json!("host"))?;
    named("process_sort_index", "sort_index", HOST, THREADS, json!(0))?;
    for (index, track) in inner.records.threads.iter().enumerate() {
        let tid = THREADS + index;
        named(
            "thread_name",
            "name",
            HOST,
            tid,
            json!(thread_name(track, index)),
        )?;
        named("thread_sort_index", "sort_index", HOST, tid, json!(index))?;
    }
    for (index, (device, name)) in inner.resolved.devices.iter().enumerate() {
        let pid = HOST + 1 + index;
        let name = json!(format!("{device}: {name}"));
        named("process_name", "name", pid, STREAMS, name)?;
        named(
            "process_sort_index",
            "sort_index",
            pid,
            STREAMS,
            json!(1 + index),
        )?;
    }
    for (index, (device, key)) in inner.resolved.streams.iter().enumerate() {
        let (pid, tid) = (process_of(inner, device), STREAMS + index);
        named("thread_name", "name", pid, tid, json!(key.in_words()))?;
        named("thread_sort_index", "sort_index", pid, tid, json!(index))?;
    }
    Ok(())
}

fn thread_name(track: &Track, index: usize) -> String {
    match &track.name {
        Some(name) => format!("thread {name}"),
        None => format!("thread {index}"),
    }
}

fn process_of(inner: &Inner, device: &DeviceId) -> usize {
    let mut devices = inner.resolved.devices.iter();
    let index = devices.position(|(other, _)| other == device);
    HOST + 1 + index.unwrap_or(inner.resolved.devices.len())
}

fn host_event(event: &Event, now: u64) -> Value {
    let mut args = args(&event.notes);
    if let Name::Step(names, index) = &event.name {
        add_step(&mut args, names, *index);
    }
    let mut value = json!({
        "name": event.name.text(),
        "cat": event.category.name(),
        "ts": micros(event.start),
        "pid": HOST,
        "tid": THREADS + event.thread,
    });
    match event.kind {
        Kind::Span(end) => {
            if end.is_none() {
                args.insert("not over".into(), json!(true));
            }
            value["ph"] = json!("X");
            value["dur"] = json!(micros(end.unwrap_or(now).saturating_sub(event.start)));
        }
        Kind::Instant => {
            value["ph"] = json!("i");
            value["s"] = json!("t");
        }
        Kind::Counter(number) => {
            value["ph"] = json!("C");
            args.insert("bytes".into(), json!(number));
        }
    }
    value["args"] = Value::Object(args);
    value
}

fn device_event(
    inner: &Inner,
    done: &Done,
    (start, end): (u64, u64),
    number: usize,
    lines: &mut Lines<'_, impl Write>,
) -> io::Result<()> {
    let (device, _) = &inner.resolved.streams[done.stream];
    let (pid, tid) = (process_of(inner, device), STREAMS + done.stream);
    let mut args = args(&done.notes);
    if let Some(Name::Step(names, index)) = &done.step {
        add_step(&mut args, names, *index);
        if !names.is_delegate(*index) {
            args.insert("of".into(), json!(names.step(*index)));
        }
    }
    lines.add(&json!({
        "ph": "X",
        "name": done.name.text(),
        "cat": done.category.name(),
        "ts": micros(start),
        "dur": micros(end - start),
        "pid": pid,
        "tid": tid,
        "args": args,
    }))?;
    let (thread, asked) = done.asked;
    let arrow = |ph: &str, ts: u64, pid: usize, tid: usize| {
        json!({
            "ph": ph, "bp": "e", "id": number, "name": "asked for", "cat": "asked",
            "ts": micros(ts), "pid": pid, "tid": tid,
        })
    };
    lines.add(&arrow("s", asked, HOST, THREADS + thread))?;
    lines.add(&arrow("f", start, pid, tid))
}

/// What there is to say of an instruction.
fn add_step(args: &mut Map<String, Value>, names: &InstructionNames, index: usize) {
    args.insert("method".into(), json!(names.method));
    args.insert("instruction".into(), json!(names.instruction(index)));
    if let Some(how) = names.how(index) {
        args.insert("how".into(), json!(how));
    }
    if let Some(delegate) = names.delegate(index) {
        args.insert("delegate".into(), json!(delegate.0));
        args.insert("backend".into(), json!(delegate.1));
    }
    if let Some((node, delegate, backend)) = names.node(index) {
        args.insert("node".into(), json!(node));
        args.insert("delegate".into(), json!(delegate));
        args.insert("backend".into(), json!(backend));
    }
}

fn args(notes: &[(&'static str, Note)]) -> Map<String, Value> {
    let notes = notes.iter();
    notes
        .map(|(key, note)| ((*key).to_string(), to_json(note)))
        .collect()
}

fn to_json(note: &Note) -> Value {
    match note {
        Note::Number(number) => match i64::try_from(*number) {
            Ok(number) => json!(number),
            Err(_) => json!(number.to_string()),
        },
        Note::Flag(flag) => json!(flag),
        Note::Text(text) => json!(text),
        Note::List(list) => json!(list),
        _ => Value::Null,
    }
}

/// As the format has times: microseconds, with as many digits as there are nanoseconds.
fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}
