//! `thalweg run`

use std::fs;
use std::path::Path;

use super::{copy_of, path, root, thalweg};

/// A NumPy file of version 1.0.
fn npy(path: &Path, descr: &str, shape: &str, data: &[u8]) {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    fs::write(path, file).unwrap();
}

fn floats(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[test]
fn inputs_that_are_not_given_are_random_which_is_said() {
    let run = || thalweg(&["run", "fixtures/cond/model.pte"]).ok();
    let out = run();
    assert!(
        out.contains("no --input was given, so inputs are random (seed 0)"),
        "{out}"
    );
    assert!(out.contains("random, seed 0"), "{out}");
    let without_times = |out: &str| out.lines().filter(|l| !l.starts_with("time")).count();
    assert!(without_times(&out) > 4);
    let again = run();
    let answer = |out: &str| -> Vec<String> {
        let lines = out.lines().map(String::from);
        lines.filter(|line| !line.starts_with("time")).collect()
    };
    assert_eq!(answer(&out), answer(&again), "the seed is fixed");
}

#[test]
fn a_folder_is_run_on_its_recorded_inputs_and_compared() {
    let out = thalweg(&["run", "fixtures/add"]).ok();
    assert!(out.contains("recorded, run 0"), "{out}");
    assert!(
        out.contains("this is the recorded answer, exactly"),
        "{out}"
    );

    let folder = copy_of("add");
    let case = folder.path().join("add");
    fs::write(case.join("forward0_out0.bin"), floats(&[0.5])).unwrap();
    let ran = thalweg(&["run", path(&case)]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("WRONG ANSWER: output 0"), "{}", ran.out);
}

#[test]
fn arrays_go_in_and_out_as_npy_files() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("x.npy");
    npy(&input, "<f4", "(1,)", &floats(&[2.5]));
    let output = folder.path().join("out");
    let program = "fixtures/add/model.pte";
    let arguments = ["run", program, "--input", path(&input), "--input", "ones"];
    let out = thalweg(&[&arguments[..], &["--output", path(&output)]].concat()).ok();
    assert!(out.contains("  0  f32[1]\n     3.5\n"), "{out}");
    let written = fs::read(output.join("output0.npy")).unwrap();
    assert_eq!(written[written.len() - 4..], 3.5f32.to_le_bytes());

    let result = output.join("output0.npy");
    let out = thalweg(&[
        "run",
        program,
        "--input",
        path(&result),
        "--input",
        path(&result),
    ])
    .ok();
    assert!(out.contains("  0  f32[1]\n     7\n"), "{out}");
}

#[test]
fn inputs_come_from_safetensors_and_raw_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.safetensors");
    let header = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(floats(&[10.0]));
    fs::write(&file, bytes).unwrap();
    let raw = folder.path().join("x.bin");
    fs::write(&raw, floats(&[0.25])).unwrap();
    let tensor = format!("{}:a", path(&file));
    let raw_tensor = format!("{}:f32[1]", path(&raw));
    let program = "fixtures/add/model.pte";
    let out = thalweg(&["run", program, "--input", &tensor, "--input", &raw_tensor]).ok();
    assert!(out.contains("  0  f32[1]\n     10.25\n"), "{out}");

    let wrong_size = format!("{}:f32[2]", path(&raw));
    let arguments = ["run", program, "--input", "zeros", "--input", &wrong_size];
    let message = thalweg(&arguments).refused();
    assert!(
        message.contains("has 4 bytes, but f32[2] takes 8"),
        "{message}"
    );
}

#[test]
fn none_is_an_input() {
    let program = "fixtures/optional_none/model.pte";
    let inputs = ["--input", "ones", "--input", "none", "--input", "zeros"];
    let out = thalweg(&[&["run", program], &inputs[..]].concat()).ok();
    assert!(out.contains("1  none"), "{out}");
    assert!(!out.contains("note:"), "{out}");
}

#[test]
fn a_wrong_number_of_inputs_is_answered_with_what_the_method_takes() {
    let message = thalweg(&["run", "fixtures/lists", "--input", "zeros"]).refused();
    assert!(
        message.contains("takes 3 inputs, and 1 was given"),
        "{message}"
    );
    assert!(message.contains("args[1].p   f32[3]"), "{message}");
}

#[test]
fn an_input_of_the_wrong_type_is_refused_before_the_call() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("x.npy");
    npy(&input, "<f8", "(1,)", &2.5f64.to_le_bytes());
    let program = "fixtures/add/model.pte";
    let message = thalweg(&["run", program, "--input", path(&input), "--input", "zeros"]).refused();
    assert!(
        message.contains("holds f64, but the program takes f32"),
        "{message}"
    );
}

#[test]
fn repeated_calls_are_timed() {
    let out = thalweg(&["run", "fixtures/add/model.pte", "--repeat", "5"]).ok();
    assert!(out.contains("; of 5 calls: median "), "{out}");
    let message = thalweg(&["run", "fixtures/add/model.pte", "--repeat", "0"]).refused();
    assert!(message.contains("must be 1 or more"), "{message}");
}

#[test]
fn mistakes_are_answered_with_what_to_try() {
    let message = thalweg(&["run", "fixtures/add/model"]).refused();
    assert!(message.contains("try: fixtures/add/model.pte"), "{message}");
    let message = thalweg(&["run", "fixtures/add", "--method", "x"]).refused();
    assert!(message.contains("`forward`"), "{message}");
    let message = thalweg(&["run", "fixtures/add", "--input", "x.bin:float[1]"]).refused();
    assert!(message.contains("f32"), "{message}");
    let message = thalweg(&["run", "fixtures/xnnpack_inline_delegate"]).refused();
    assert!(message.contains("XnnpackBackend"), "{message}");
    assert!(message.contains("try: thalweg doctor"), "{message}");
    let message = thalweg(&["run", "Cargo.toml"]).refused();
    assert!(message.contains("Cargo.toml"), "{message}");
}

#[test]
fn data_files_can_be_named() {
    let folder = copy_of("external_some");
    let case = folder.path().join("external_some");
    let program = case.join("model.pte");
    let elsewhere = folder.path().join("weights.ptd");
    fs::rename(case.join("second.ptd"), &elsewhere).unwrap();
    let message = thalweg(&["run", path(&program)]).refused();
    assert!(message.contains(".ptd"), "{message}");
    thalweg(&["run", path(&program), "--data", path(&elsewhere)]).ok();
    assert!(root().join("fixtures/external_some/second.ptd").is_file());
}
