//! `thalweg inspect` of programs with engines.

use thalweg::tensorrt::{Alias, AliasKind, Container, Metadata, NAME};

use super::programs::{
    binding, write_broken_program, write_program, write_program_of, write_stateful_program,
};
use crate::gpu::{with_gpu, without_gpu};
use crate::path;

#[test]
fn a_plan_says_which_copies_are_not_made_and_what_a_device_has() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let text = with_gpu(&["inspect", "--plan", path(&program)]).ok();
    assert!(text.contains("method forward: runs here"), "{text}");
    assert!(
        text.contains("plan: 2 of 4 copies between host and devices are not made\n"),
        "{text}"
    );
    assert!(text.contains("delegate 1 (TensorRTBackend)"), "{text}");
    let json = with_gpu(&["inspect", "--plan", "--json", path(&program)]).json();
    let plan = &json["methods"][0]["plan"];
    assert_eq!(plan["copies"], 4);
    assert_eq!(plan["copies_not_made"], 2);
    let runs = plan["instructions"].as_array().unwrap().iter();
    let runs: Vec<_> = runs.map(|it| it["runs"].as_str().unwrap()).collect();
    assert_eq!(
        runs,
        [
            "copied to cuda:0, unless input 0 is there",
            "by its backend",
            "not copied",
            "not copied",
            "by its backend",
            "copied from cuda:0",
        ]
    );
    assert_eq!(plan["device_memory"][0]["device"], "cuda:0");
    assert!(plan["device_memory"][0]["bytes"].as_u64().unwrap() >= 3 * 128);
}

#[test]
fn what_is_missing_is_named_with_the_reason_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let json = without_gpu(&["inspect", "--plan", "--json", path(&program)]).json();
    let method = &json["methods"][0];
    assert_eq!(json["runs_here"], false);
    assert_eq!(method["missing"]["backends"][0], NAME);
    assert_eq!(method["missing"]["devices"][0], "cuda:0");
    let reasons = method["missing"]["reasons"].as_array().unwrap();
    assert!(reasons.iter().all(|reason| {
        let reason = reason.as_str().unwrap();
        reason.contains("/nowhere/lib.so (from THALWEG_CUDA)")
    }));
    assert_eq!(reasons.len(), 2);
    assert_eq!(method["delegates"][0]["available"], true);
    assert_eq!(method["delegates"][0]["works_here"], false);
    assert!(method["plan"]["error"].is_string());

    let why = "  cuda:0: no CUDA driver was found; looked at /nowhere/lib.so (from THALWEG_CUDA)";
    let text = without_gpu(&["inspect", "--plan", path(&program)]).ok();
    assert!(text.contains(&format!("\n{why}")), "{text}");
    assert!(text.contains("does not work here"), "{text}");
    // Not once more below.
    assert_eq!(text.matches(why).count(), 1, "{text}");
    let message = without_gpu(&["run", path(&program)]).refused();
    assert!(message.contains(why), "{message}");
}

#[test]
fn an_engine_is_described_by_its_container_alone() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let json = without_gpu(&["inspect", "--json", path(&program)]).json();
    let engine = &json["methods"][0]["delegates"][0]["engine"];
    assert_eq!(engine["device"], 0);
    assert_eq!(
        engine["platform"],
        format!("linux_{}", std::env::consts::ARCH)
    );
    assert_eq!(engine["hardware_compatible"], false);
    assert_eq!(engine["bindings"][0]["name"], "x");
    assert_eq!(engine["bindings"][0]["is_input"], true);
    assert_eq!(engine["bindings"][1]["dtype"], "float32");
    assert_eq!(engine["bindings"][1]["shape"], serde_json::json!([-1, 8]));
    assert!(engine["engine_bytes"].as_u64().unwrap() > 0);
    assert!(engine["tensorrt"].is_null());
    let reason = engine["not_shown"].as_str().unwrap();
    assert!(reason.contains("/nowhere/lib.so"), "{reason}");
    let text = without_gpu(&["inspect", path(&program)]).ok();
    assert!(text.contains("input   x  float32[?, 8]"), "{text}");
    let why = "profiles and weights are not shown: no CUDA driver was found";
    assert_eq!(text.matches(why).count(), 1, "{text}");
    assert!(text.contains("for the same reason"), "{text}");
}

#[test]
fn tensorrt_says_what_an_engine_takes_where_it_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let json = with_gpu(&["inspect", "--json", path(&program)]).json();
    let engine = &json["methods"][0]["delegates"][1]["engine"];
    assert!(engine["not_shown"].is_null());
    let described = &engine["tensorrt"];
    assert_eq!(described["bindings"][0]["dtype"], "f32");
    assert_eq!(described["bindings"][0]["on_host"], false);
    let profiles = described["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 2);
    assert_eq!(profiles[1]["scratch_bytes"], 4096);
    assert_eq!(profiles[1]["least_scratch_bytes"], 4096);
    let range = &profiles[1]["inputs"][0];
    assert_eq!(range["input"], "x");
    assert_eq!(range["min"], serde_json::json!([1, 8]));
    assert_eq!(range["opt"], serde_json::json!([2, 8]));
    assert_eq!(range["max"], serde_json::json!([64, 8]));
    let text = with_gpu(&["inspect", path(&program)]).ok();
    assert!(
        text.contains("profile 1: up to 4.0 KiB of scratch, whatever the shapes\n"),
        "{text}"
    );
    assert!(text.contains("x  [1 to 64, 8]  best at [2, 8]"), "{text}");
}

#[test]
fn a_broken_engine_has_its_error_and_the_rest_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_broken_program(&program);
    let json = with_gpu(&["inspect", "--json", path(&program)]).json();
    let delegates = &json["methods"][0]["delegates"];
    let error = delegates[0]["engine"]["error"].as_str().unwrap();
    assert!(error.contains("not a TensorRT container"), "{error}");
    assert!(delegates[1]["engine"]["tensorrt"].is_object());
    let text = with_gpu(&["inspect", path(&program)]).ok();
    assert!(
        text.contains("cannot be read: not a TensorRT container"),
        "{text}"
    );
    assert!(text.contains("profile 1"), "{text}");
}

#[test]
fn a_plan_names_what_stays_on_a_device_and_when_it_is_brought_there() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_stateful_program(&program);
    let json = with_gpu(&["inspect", "--plan", "--json", path(&program)]).json();
    let plan = &json["methods"][0]["plan"];
    let kept = serde_json::json!([{"name": "cache", "bytes": 128, "device": "cuda:0"}]);
    assert_eq!(plan["kept"], kept, "{plan:#}");
    let first = serde_json::json!([{"kept": 0, "to": "cuda:0"}]);
    let brought = plan["instructions"].as_array().unwrap().iter();
    assert_eq!(brought.filter(|it| it["first"] == first).count(), 1);
    let text = with_gpu(&["inspect", "--plan", path(&program)]).ok();
    assert!(text.contains("first: cache to cuda:0\n"), "{text}");
    assert!(
        text.contains("  stays on devices from call to call\n    cache  128 B  on cuda:0\n"),
        "{text}"
    );
}

#[test]
fn a_container_says_who_built_the_engine_and_for_what() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    let mut engine = [0; 40];
    engine[..4].copy_from_slice(b"ftrt");
    engine[24..28].copy_from_slice(&[10, 6, 0, 26]);
    let container = Container {
        metadata: Metadata {
            io_bindings: vec![binding("cache", true), binding("cache_out", false)],
            aliased_io: vec![Alias {
                output: "cache_out".into(),
                input: "cache".into(),
                kind: AliasKind::User,
            }],
            hardware_compatible: true,
            device_id: 3,
            ..Metadata::default()
        },
        engine: &engine,
    };
    write_program_of(&program, &[container.to_bytes().unwrap()]);
    let text = without_gpu(&["inspect", path(&program)]).ok();
    let facts =
        "engine of 40 B, built by TensorRT 10.6.0, for device 3, for more than one kind of GPU";
    assert!(text.contains(facts), "{text}");
    assert!(
        text.contains("cache_out is the memory of cache, says the exporter"),
        "{text}"
    );
    // The stand-in has no such device, and says so.
    let json = with_gpu(&["inspect", "--json", path(&program)]).json();
    let engine = &json["methods"][0]["delegates"][0]["engine"];
    assert_eq!(engine["built_by"], "10.6.0");
    assert_eq!(engine["aliases"][0]["said_by"], "exporter");
    assert!(engine["bindings"][0]["dtype"].is_null());
    let reason = engine["not_shown"].as_str().unwrap();
    assert!(reason.contains("device 3"), "{reason}");
}
