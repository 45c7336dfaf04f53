//! `thalweg run` and `thalweg verify` of programs with engines.

use super::programs::{write_case, write_two_calls};
use crate::gpu::{with_gpu, without_gpu};
use crate::path;

#[test]
fn recorded_answers_of_engines_are_verified_and_else_skipped_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    write_case(folder.path());
    for more in [
        &["--graph=off"][..],
        &["--own-stream", "--graph=on"],
        &["--at-once=4"],
    ] {
        let arguments = ["verify", path(folder.path()), "--repeat=4"];
        let out = with_gpu(&[&arguments[..], more].concat()).ok();
        assert!(out.contains("1 passed, 0 failed"), "{out}");
    }
    let out = with_gpu(&["verify", path(folder.path()), "--repeat", "4"]).ok();
    assert!(out.contains("1 passed, 0 failed, 0 skipped"), "{out}");
    let out = without_gpu(&["verify", path(folder.path())]).ok();
    assert!(out.contains("TensorRTBackend"), "{out}");
    assert!(out.contains("cuda:0: no CUDA driver was found"), "{out}");
    assert!(out.contains("0 passed, 0 failed, 1 skipped"), "{out}");
}

#[test]
fn profiles_are_pinned_for_every_command_that_runs_and_what_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_two_calls(folder.path());
    let case = path(folder.path());
    for spec in ["0", "1", "forward=1", "forward:0=0", ":0=1", ":engine=1"] {
        with_gpu(&["verify", "--profile", spec, case]).ok();
        with_gpu(&["run", "--profile", spec, case]).ok();
        with_gpu(&["bench", "--profile", spec, "--repeat", "2", case]).ok();
    }
    let baseline = ["bench", "baseline", "--profile=1", "--repeat=5", case];
    with_gpu(&baseline).ok();
    for (spec, text) in [
        (
            "2",
            "delegate 0 (TensorRTBackend, `engine`) has profiles 0 to 1",
        ),
        ("decode=1", "method `decode`, which is not there"),
        (":1=1", "delegate 1, which is not there"),
        ("forward:layers=1", "delegate `layers` of method `forward`"),
    ] {
        let message = with_gpu(&["run", "--profile", spec, case]).refused();
        assert!(message.contains(text), "{message}");
    }
    // Profile 0 takes 1 to 4 rows.
    let wide = ["run", "--profile=0", "--input=zeros[5,8]", case];
    let message = with_gpu(&wide).refused();
    assert!(message.contains("profile 0 is pinned"), "{message}");
    assert_eq!(with_gpu(&["run", "--profile", "x", case]).code, 2);
}
