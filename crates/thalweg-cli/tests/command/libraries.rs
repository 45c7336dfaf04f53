//! Programs with compiled CUDA libraries, whose host code runs, and whose kernels the stand-in of the
//! driver only records.

use std::path::Path;

use thalweg::aoti::NAME;
use thalweg::format::{ProgramBuilder, ScalarType};
use thalweg_aoti_sample::{MAGIC, Recipe};
use thalweg_testing::sample::{library, named_payload};

use super::gpu::with_gpu;
use super::path;
use super::programs::{forward_on_device, save};

/// Writes a program of three libraries, one after the other.
fn write_program(path: &Path) {
    let mut program = ProgramBuilder::new();
    let recipe = Recipe {
        magic: MAGIC,
        scale: 2.0,
        shift: 1.0,
        inputs: 1,
        parts: 0,
        weight_len: 0,
    };
    program.named("library", library(&recipe));
    let payload = program.payload(named_payload("library", &[]));
    let (mut method, arena) = forward_on_device();
    let x = method.tensor(ScalarType::Float, &[8, 8]);
    method.input(x);
    let mut at = method.tensor_in(arena, ScalarType::Float, &[8, 8]);
    method.call("et_copy::_h2d_copy.out", &[x, at, at]);
    for _ in 0..3 {
        let delegate = method.delegate(NAME, payload, &[("method_name", b"forward")]);
        let next = method.tensor_in(arena, ScalarType::Float, &[8, 8]);
        method.call_delegate(delegate, &[at, next]);
        at = next;
    }
    let y = method.tensor(ScalarType::Float, &[8, 8]);
    method.call("et_copy::_d2h_copy.out", &[at, y, y]);
    method.output(y);
    save(program, method, path);
}

#[test]
fn the_baseline_of_a_call_with_libraries_is_the_call_as_one_graph() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let arguments = ["bench", "baseline", "--repeat=5", "--warmup=1"];
    let json = with_gpu(&[&arguments[..], &["--json", path(&program)]].concat()).json();
    let measured = &json["programs"][0];
    assert_eq!(measured["bytes_to_device"], 256);
    assert_eq!(measured["same_outputs"], true);
    let graph = &measured["kinds"][0];
    assert_eq!(graph["memory"], "pinned, graph");
    for what in ["method", "baseline"] {
        assert_eq!(graph[what]["calls"], 5, "{graph}");
    }
    assert!(graph["ratio"].as_f64() > Some(0.0));
    assert!(measured["kinds"][1]["method"]["calls"].as_u64() > Some(0));
    let text = with_gpu(&[&arguments[..], &[path(&program)]].concat()).ok();
    assert!(text.contains("the whole call as one graph"), "{text}");
}

#[test]
fn graphs_can_be_required_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    for graph in ["auto", "on", "off"] {
        let graph = format!("--graph={graph}");
        let text = with_gpu(&["bench", "--repeat=6", &graph, path(&program)]).ok();
        assert!(text.contains("forward"), "{text}");
    }
}
