//! `thalweg bench baseline`

use crate::engines::programs::{write_broken_program, write_mixed_program, write_program};
use crate::gpu::{with_gpu, without_gpu};
use crate::path;

#[test]
fn engines_are_measured_by_themselves_beside_the_method() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let arguments = ["bench", "baseline", path(&program), "--repeat", "12"];
    let report = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(report["options"]["rounds"], 5);
    assert_eq!(report["options"]["warmup"], 10);
    let measured = &report["programs"][0];
    assert_eq!(measured["engine_calls"], 2);
    assert_eq!(measured["bytes_to_device"], 128);
    assert_eq!(measured["bytes_to_host"], 128);
    assert_eq!(measured["same_outputs"], true);
    assert_eq!(measured["not_in_baseline"], serde_json::json!([]));
    let (loading, kinds) = measured["kinds"].as_array().unwrap().split_last().unwrap();
    assert_eq!(loading["memory"], "load");
    for what in ["method", "baseline"] {
        assert_eq!(loading[what]["calls"], 12);
    }
    let names: Vec<_> = kinds
        .iter()
        .map(|it| it["memory"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["pinned", "pinned, graph", "device", "pageable"]);
    for kind in kinds {
        let median = |what: &str| {
            assert_eq!(kind[what]["calls"], 12, "{kind}");
            kind[what]["median_us"].as_f64().unwrap()
        };
        let (method, baseline) = (median("method"), median("baseline"));
        let number = |name: &str| kind[name].as_f64().unwrap();
        assert!((number("ratio") - method / baseline).abs() < 1e-6, "{kind}");
        assert!(
            (number("over_us") - (method - baseline)).abs() < 1e-6,
            "{kind}"
        );
        assert!(baseline > 0.0);
    }
    let text = with_gpu(&arguments).ok();
    assert!(text.contains("12 calls of each, in 5 rounds"), "{text}");
    assert!(text.contains("2 calls of engines"), "{text}");
    for absent in ["the baseline is the engines alone", "other outputs"] {
        assert!(!text.contains(absent), "{text}");
    }
}

#[test]
fn what_is_not_in_a_baseline_and_what_cannot_be_measured_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_mixed_program(&program);
    let arguments = ["bench", "baseline", path(&program), "--repeat", "2"];
    let report = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
    let measured = &report["programs"][0];
    assert_eq!(
        measured["not_in_baseline"],
        serde_json::json!(["1 operator on the host"])
    );
    assert_eq!(measured["same_outputs"], true);
    let graph = &measured["kinds"][1];
    for what in ["method", "baseline"] {
        assert!(graph[what]["not_measured"].is_string(), "{graph}");
    }
    assert!(graph["ratio"].is_null());
    assert_eq!(measured["kinds"][3]["baseline"]["calls"], 2);
    let text = with_gpu(&arguments).ok();
    assert!(
        text.contains("the method also runs 1 operator on the host"),
        "{text}"
    );
    assert!(text.contains("no baseline for `pinned, graph`: "), "{text}");
}

#[test]
fn there_is_no_baseline_without_engines_that_run() {
    let message = with_gpu(&["bench", "baseline", "fixtures/add"]).refused();
    assert!(message.contains("has no delegates"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let message = without_gpu(&["bench", "baseline", path(&program)]).refused();
    assert!(message.contains("/nowhere/lib.so"), "{message}");
    let message = with_gpu(&["bench", "baseline", path(&program), "--inputs", "pinned"]).refused();
    assert!(message.contains("unexpected argument"), "{message}");
    write_broken_program(&program);
    let message = with_gpu(&["bench", "baseline", path(&program)]).refused();
    assert!(message.contains("not a TensorRT container"), "{message}");
}
