//! `--trace` of `thalweg run` and `thalweg bench`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::engines::programs::{write_broken_program, write_program};
use super::gpu::with_gpu;
use super::{path, thalweg};

/// The events of a trace.
fn events(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

/// How many spans there are of a name: on the host, and on devices.
fn spans(events: &[Value], name: &str) -> (usize, usize) {
    let named = |event: &&Value| event["name"] == name && event["ph"] == "X";
    let named = events.iter().filter(named);
    let (host, device): (Vec<_>, Vec<_>) = named.partition(|event| event["pid"] == 1);
    (host.len(), device.len())
}

#[test]
fn a_run_on_the_host_has_its_operators_in_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace.json");
    let out = thalweg(&["run", "fixtures/add", "--trace", path(&trace)]).ok();
    let line = format!(
        "trace: {} (open it in https://ui.perfetto.dev)\n",
        trace.display()
    );
    assert!(out.contains(&line), "{out}");
    assert!(out.contains("this is the recorded answer"), "{out}");
    let events = events(&trace);
    for name in [
        "load a program",
        "load a method",
        "make an instance",
        "forward",
        "aten::add.out",
    ] {
        assert_eq!(spans(&events, name), (1, 0), "{name}");
    }
}

#[test]
fn a_run_with_engines_has_copies_and_engines_on_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let (program, trace) = (
        folder.path().join("model.pte"),
        folder.path().join("trace.json"),
    );
    write_program(&program);
    let run = |more: &[&str]| {
        let arguments = [
            "run",
            path(&program),
            "--repeat",
            "4",
            "--trace",
            path(&trace),
        ];
        with_gpu(&[&arguments[..], more].concat()).ok();
        events(&trace)
    };
    let off = run(&["--graph", "off"]);
    assert_eq!(spans(&off, "forward"), (4, 0));
    assert_eq!(spans(&off, "copy to the device"), (0, 4));
    assert_eq!(spans(&off, "copy to the host"), (0, 4));
    let engine = off
        .iter()
        .find(|event| event["args"]["backend"] == "TensorRTBackend");
    assert!(engine.is_some());
    let auto = run(&[]);
    assert_eq!(spans(&auto, "launch a graph"), (2, 0));
    assert_eq!(spans(&auto, "graph"), (0, 2));
}

#[test]
fn what_fails_leaves_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (program, trace) = (
        folder.path().join("model.pte"),
        folder.path().join("trace.json"),
    );
    write_broken_program(&program);
    let message = with_gpu(&["run", path(&program), "--trace", path(&trace)]).refused();
    assert!(message.contains("delegate 0"), "{message}");
    let events = events(&trace);
    let loads = events
        .iter()
        .filter(|event| event["name"] == "load a delegate");
    let errors = loads.filter(|load| load["args"]["error"].is_string());
    assert_eq!(errors.count(), 1);
    assert_eq!(spans(&events, "forward"), (0, 0));
}

#[test]
fn bench_traces_one_call_more_than_it_measures() {
    let folder = tempfile::tempdir().unwrap();
    let (program, trace) = (
        folder.path().join("model.pte"),
        folder.path().join("trace.json"),
    );
    write_program(&program);
    let bench = ["bench", path(&program), "--repeat", "3", "--warmup", "2"];
    let out = with_gpu(&[&bench[..], &["--trace", path(&trace)]].concat()).ok();
    assert!(out.contains("trace: "), "{out}");
    let traced = events(&trace);
    assert_eq!(spans(&traced, "forward"), (1, 0));
    assert_eq!(spans(&traced, "graph"), (0, 1));
    let json = with_gpu(&[&bench[..], &["--json", "--trace", path(&trace)]].concat()).json();
    assert_eq!(json["programs"][0]["calls"], 3);
    for experiment in ["baseline", "together", "alternate"] {
        let refused = with_gpu(&["bench", experiment, path(&program), "--trace", path(&trace)]);
        assert_eq!(refused.code, 2, "{experiment}");
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_said() {
    let message = thalweg(&["run", "fixtures/add", "--trace", "/nowhere/trace.json"]).refused();
    assert!(message.contains("/nowhere/trace.json"), "{message}");
    assert!(message.contains("the trace cannot be written"), "{message}");
}
