//! `thalweg verify`

use std::fs::{self, File};
use std::path::Path;

use lzma_rust2::{XzOptions, XzWriter};

use super::{copy_of, copy_with_unknown_operator, path, root, thalweg};

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

#[test]
fn a_folder_with_right_answers_passes() {
    let out = thalweg(&["verify", "fixtures/add"]).ok();
    assert_eq!(out, "ok       add\n1 passed, 0 failed, 0 skipped\n");
}

#[test]
fn several_folders_are_checked_one_after_another() {
    let out = thalweg(&["verify", "fixtures/lists", "fixtures/counter_initial_state"]).ok();
    assert_eq!(
        out,
        "ok       lists\nok       counter_initial_state\n2 passed, 0 failed, 0 skipped\n"
    );
}

#[test]
fn operators_give_the_recorded_answers() {
    let ran = thalweg(&["verify", "fixtures/operators.tar.xz"]);
    let failed = ran.out.lines().filter(|line| !line.starts_with("ok "));
    let failed: Vec<&str> = failed.collect();
    assert_eq!(failed, ["3464 passed, 0 failed, 0 skipped"]);
}

#[test]
fn each_call_is_made_as_often_as_it_is_asked_for() {
    for (case, calls) in [("fixtures/add", 10), ("fixtures/counter_initial_state", 10)] {
        let out = thalweg(&["verify", case, "--repeat", "5"]).ok();
        let end = "; each call of those that passed was made 5 times, with the same bits";
        assert!(last_line(&out).ends_with(end), "{out}");
        let json = thalweg(&["verify", case, "--repeat", "5", "--json"]).json();
        assert_eq!(json["repeat"], 5);
        assert_eq!(json["cases"][0]["calls"], calls);
    }
    thalweg(&["verify", "fixtures/add", "--repeat", "0"]).refused();
}

#[test]
fn a_changed_answer_fails_and_the_first_wrong_element_is_named() {
    let folder = copy_of("cond");
    let answer = folder.path().join("cond/forward0_out0.bin");
    let mut bytes = fs::read(&answer).unwrap();
    // The element at [1, 2] of a tensor of 3 by 4 floats.
    bytes[6 * 4..][..4].copy_from_slice(&100f32.to_le_bytes());
    fs::write(&answer, bytes).unwrap();
    let ran = thalweg(&["verify", path(folder.path())]);
    assert_eq!(ran.code, 1);
    let line = ran.out.lines().next().unwrap();
    assert!(
        line.starts_with(
            "FAILED   cond: forward, run 0, output 0: 1 of 12 elements differ; first at [1, 2]: got "
        ),
        "{line}"
    );
    assert!(line.ends_with("expected 100"), "{line}");
    assert_eq!(last_line(&ran.out), "0 passed, 1 failed, 0 skipped");
}

#[test]
fn a_wrong_second_call_of_a_stateful_program_is_found() {
    let folder = copy_of("counter_initial_state");
    let case = folder.path().join("counter_initial_state");
    fs::copy(
        case.join("forward0_out1.bin"),
        case.join("forward1_out1.bin"),
    )
    .unwrap();
    let ran = thalweg(&["verify", path(&case)]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out
            .contains("forward, run 1, output 1: 1 of 1 element differ"),
        "{}",
        ran.out
    );
}

#[test]
fn a_missing_backend_is_a_reason_to_skip() {
    let out = thalweg(&["verify", "fixtures/xnnpack_inline_delegate"]).ok();
    assert!(
        out.starts_with("skipped  xnnpack_inline_delegate: "),
        "{out}"
    );
    assert!(out.contains("XnnpackBackend"), "{out}");
    assert_eq!(last_line(&out), "0 passed, 0 failed, 1 skipped");
}

#[test]
fn a_missing_operator_is_a_failure_that_names_it() {
    let folder = copy_with_unknown_operator();
    let ran = thalweg(&["verify", path(folder.path())]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out
            .contains("FAILED   add: this build does not have the operator aten::xyz.out"),
        "{}",
        ran.out
    );
}

#[test]
fn a_broken_program_fails_and_the_others_are_still_checked() {
    let folder = copy_of("add");
    let broken = folder.path().join("a_broken");
    fs::create_dir(&broken).unwrap();
    for file in fs::read_dir(folder.path().join("add")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), broken.join(file.file_name())).unwrap();
    }
    fs::write(broken.join("model.pte"), b"nonsense").unwrap();
    let ran = thalweg(&["verify", path(folder.path())]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("FAILED   a_broken: "), "{}", ran.out);
    assert_eq!(last_line(&ran.out), "1 passed, 1 failed, 0 skipped");
}

#[test]
fn the_filter_goes_by_the_name_of_the_case() {
    let out = thalweg(&["verify", "fixtures", "--filter", "counter_initial"]).ok();
    assert_eq!(
        out,
        "ok       counter_initial_state\n1 passed, 0 failed, 0 skipped\n"
    );
    let message = thalweg(&["verify", "fixtures/add", "--filter", "xyz"]).refused();
    assert!(message.contains("xyz"), "{message}");
}

#[test]
fn an_archive_is_checked_like_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("several.tar.xz");
    pack(
        &archive,
        &[("add", "deep/in/it/add"), ("lists", "deep/lists")],
    );
    let out = thalweg(&["verify", path(&archive)]).ok();
    assert_eq!(
        out,
        "ok       deep/in/it/add\nok       deep/lists\n2 passed, 0 failed, 0 skipped\n"
    );
    let out = thalweg(&["verify", path(&archive), "--filter", "lists"]).ok();
    assert_eq!(last_line(&out), "1 passed, 0 failed, 0 skipped");
}

#[test]
fn a_folder_of_archives_is_checked_and_archives_name_their_only_folder() {
    let folder = tempfile::tempdir().unwrap();
    pack(&folder.path().join("v1-add.tar.xz"), &[("add", "add")]);
    pack(&folder.path().join("v2-add.tar.xz"), &[("add", "add")]);
    let out = thalweg(&["verify", path(folder.path())]).ok();
    assert_eq!(
        out,
        "ok       v1-add\nok       v2-add\n2 passed, 0 failed, 0 skipped\n"
    );
}

#[test]
fn a_damaged_archive_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("add.tar.xz");
    pack(&archive, &[("add", "add")]);
    let bytes = fs::read(&archive).unwrap();
    fs::write(&archive, &bytes[..bytes.len() / 2]).unwrap();
    let message = thalweg(&["verify", path(&archive)]).refused();
    assert!(message.contains("add.tar.xz"), "{message}");
}

#[test]
fn what_is_not_there_or_has_no_cases_is_refused() {
    let message = thalweg(&["verify", "no/such/folder"]).refused();
    assert!(message.contains("no/such/folder"), "{message}");
    let message = thalweg(&["verify", "crates"]).refused();
    assert!(message.contains("no cases in crates"), "{message}");
    let message = thalweg(&["verify", "Cargo.toml"]).refused();
    assert!(message.contains("Cargo.toml"), "{message}");
}

#[test]
fn the_json_output_says_the_same() {
    let report = thalweg(&[
        "verify",
        "--json",
        "fixtures/add",
        "fixtures/xnnpack_inline_delegate",
    ])
    .json();
    assert_eq!(report["passed"], 1);
    assert_eq!(report["failed"], 0);
    assert_eq!(report["skipped"], 1);
    assert_eq!(report["cases"][0]["name"], "add");
    assert_eq!(report["cases"][0]["status"], "ok");
    assert_eq!(report["cases"][1]["status"], "skipped");
}

/// Packs fixtures into an archive, each under a path.
fn pack(archive: &Path, fixtures: &[(&str, &str)]) {
    let writer = XzWriter::new(File::create(archive).unwrap(), XzOptions::with_preset(1)).unwrap();
    let mut builder = tar::Builder::new(writer);
    for (fixture, inner) in fixtures {
        builder
            .append_dir_all(inner, root().join("fixtures").join(fixture))
            .unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
}
