//! Draws one call of a trace as a picture: `trace_picture TRACE.json PICTURE.svg [CALL]`.
//!
//! The trace is one that `thalweg run --trace` or `thalweg bench call --trace` has written. Without a number, the
//! call is the last one. This is for documents; to look at a trace, open it in <https://ui.perfetto.dev>.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::{self, Write};
use std::{env, fs};

use serde_json::Value;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 12.0;
const ROW: f64 = 20.0;
const HEADING: f64 = 22.0;

/// What a character takes, about.
const CHARACTER: f64 = 6.1;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [trace, picture, call @ ..] = &arguments[..] else {
        return Err("trace_picture TRACE.json PICTURE.svg [CALL]".into());
    };
    let trace: Value = serde_json::from_str(&fs::read_to_string(trace)?)?;
    let events = trace["traceEvents"].as_array().ok_or("no trace")?;
    let call = match call.first() {
        Some(number) => Some(number.parse()?),
        None => None,
    };
    fs::write(picture, draw(events, call)?)?;
    Ok(())
}

/// A span within the picture, in microseconds from the call's start.
struct Bar<'e> {
    event: &'e Value,
    start: f64,
    end: f64,
    depth: usize,
}

/// The bars of a call, by process and thread.
type Tracks<'e> = BTreeMap<(u64, u64), Vec<Bar<'e>>>;

/// The bars of the call with a number, or of the last one.
fn bars(events: &[Value], number: Option<usize>) -> Result<Tracks<'_>, Box<dyn Error>> {
    let spans = || events.iter().filter(|event| event["ph"] == "X");
    let calls: Vec<&Value> = spans()
        .filter(|span| span["args"]["call"].is_u64())
        .collect();
    let last = calls.len().checked_sub(1).ok_or("no call in the trace")?;
    let call = calls.get(number.unwrap_or(last)).ok_or("no such call")?;
    let (from, returned) = (start(call), end(call));
    // Work of devices belongs to the call that has asked for it.
    let asked: BTreeMap<u64, f64> = arrows(events, "s")
        .map(|arrow| (id(arrow), start(arrow)))
        .collect();
    let of_call = |arrow: &&Value| {
        let asked = asked.get(&id(arrow)).copied().unwrap_or(f64::NAN);
        (from..=returned).contains(&asked)
    };
    let done: Vec<&Value> = arrows(events, "f").filter(of_call).collect();
    let is_shown = |span: &&Value| match span["pid"] == call["pid"] {
        true => span["tid"] == call["tid"] && (from..=returned).contains(&start(span)),
        false => done
            .iter()
            .any(|arrow| track(arrow) == track(span) && (start(arrow) - start(span)).abs() < 1e-3),
    };
    let mut tracks: Tracks<'_> = BTreeMap::new();
    let mut shown: Vec<&Value> = spans().filter(is_shown).collect();
    shown.sort_by(|a, b| {
        start(a)
            .total_cmp(&start(b))
            .then(end(b).total_cmp(&end(a)))
    });
    for event in shown {
        let bars = tracks.entry(track(event)).or_default();
        let around = bars
            .iter()
            .rev()
            .find(|bar| bar.end > start(event) - from + 5e-4);
        bars.push(Bar {
            event,
            start: start(event) - from,
            end: end(event) - from,
            depth: around.map_or(0, |bar| bar.depth + 1),
        });
    }
    Ok(tracks)
}

fn draw(events: &[Value], number: Option<usize>) -> Result<String, Box<dyn Error>> {
    let tracks = bars(events, number)?;
    let until = tracks
        .values()
        .flatten()
        .map(|bar| bar.end)
        .fold(1.0, f64::max);
    let x = |time: f64| MARGIN + time / until * (WIDTH - 2.0 * MARGIN);
    let mut body = String::new();
    let mut y = MARGIN;
    for (&(pid, tid), bars) in &tracks {
        y += HEADING;
        let process = name(events, pid, None);
        // Of a device, what it is called, and not all that is known of it.
        let process = process.split(',').next().unwrap_or_default();
        let name = format!("{process}, {}", name(events, pid, Some(tid)));
        writeln!(
            body,
            r#"<text x="{MARGIN}" y="{:.1}" class="track">{}</text>"#,
            y - 6.0,
            escaped(&name)
        )?;
        let rows = bars.iter().map(|bar| bar.depth + 1).max().unwrap_or(1);
        for bar in bars {
            draw_bar(&mut body, bar, y, x)?;
        }
        y += rows as f64 * ROW;
    }
    y += HEADING;
    draw_axis(&mut body, until, y, x)?;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\">\n<style>text {{ font: 11px sans-serif }} .track {{ font-weight: bold }}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
        height = y + MARGIN,
    ))
}

fn draw_bar(body: &mut String, bar: &Bar<'_>, y: f64, x: impl Fn(f64) -> f64) -> fmt::Result {
    let (left, right) = (x(bar.start), x(bar.end));
    let top = y + bar.depth as f64 * ROW;
    let text = bar.event["name"].as_str().unwrap_or_default();
    let category = bar.event["cat"].as_str().unwrap_or_default();
    let width = (right - left).max(0.6);
    writeln!(
        body,
        r#"<rect x="{left:.2}" y="{top:.1}" width="{width:.2}" height="{:.1}" fill="{}"><title>{}: {:.2} µs</title></rect>"#,
        ROW - 2.0,
        color(category),
        escaped(text),
        bar.end - bar.start,
    )?;
    let room = ((width - 6.0) / CHARACTER) as usize;
    if room >= 3 {
        let whole = text.chars().count() <= room;
        let mut label: String = text
            .chars()
            .take(if whole { room } else { room - 1 })
            .collect();
        if !whole {
            label.push('…');
        }
        writeln!(
            body,
            r#"<text x="{:.2}" y="{:.1}">{}</text>"#,
            left + 3.0,
            top + 13.0,
            escaped(&label)
        )?;
    }
    Ok(())
}

fn draw_axis(body: &mut String, until: f64, y: f64, x: impl Fn(f64) -> f64) -> fmt::Result {
    writeln!(
        body,
        r#"<path d="M{MARGIN} {0:.1}H{1:.1}" stroke="gray"/>"#,
        y - 14.0,
        WIDTH - MARGIN
    )?;
    for tick in 0..=8 {
        let time = until * f64::from(tick) / 8.0;
        let anchor = ["start", "middle", "end"][usize::from(tick > 0) + usize::from(tick == 8)];
        writeln!(
            body,
            r#"<text x="{:.1}" y="{y:.1}" text-anchor="{anchor}">{time:.1} µs</text>"#,
            x(time)
        )?;
    }
    Ok(())
}

fn color(category: &str) -> &'static str {
    match category {
        "call" => "#d9d9d9",
        "instruction" => "#a6cee3",
        "delegate" => "#b2df8a",
        "copy" => "#fdbf6f",
        "graph" => "#cab2d6",
        "wait" => "#fb9a99",
        _ => "#ffff99",
    }
}

/// What a process or one of its threads is called.
fn name(events: &[Value], pid: u64, tid: Option<u64>) -> String {
    let named = events.iter().find(|event| match tid {
        None => event["name"] == "process_name" && event["pid"] == pid,
        Some(tid) => event["name"] == "thread_name" && track(event) == (pid, tid),
    });
    let name = named.and_then(|event| event["args"]["name"].as_str());
    name.unwrap_or_default().to_string()
}

fn arrows<'e>(events: &'e [Value], phase: &'e str) -> impl Iterator<Item = &'e Value> {
    events.iter().filter(move |event| event["ph"] == phase)
}

fn id(event: &Value) -> u64 {
    event["id"].as_u64().unwrap_or_default()
}

fn track(event: &Value) -> (u64, u64) {
    let number = |key: &str| event[key].as_u64().unwrap_or_default();
    (number("pid"), number("tid"))
}

fn start(event: &Value) -> f64 {
    event["ts"].as_f64().unwrap_or_default()
}

fn end(event: &Value) -> f64 {
    start(event) + event["dur"].as_f64().unwrap_or_default()
}

/// Names come from programs.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
