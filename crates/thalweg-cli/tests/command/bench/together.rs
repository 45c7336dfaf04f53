//! `thalweg bench together`

use crate::engines::programs::write_program;
use crate::gpu::with_gpu;
use crate::path;

#[test]
fn programs_run_together_on_one_stream_and_on_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let program = path(&program);
    let arguments = ["bench", "together", "--repeat=3", "--inputs=device"];
    let text = with_gpu(&[&arguments[..], &[program, program]].concat()).ok();
    for what in [
        ", alone",
        "all, on one stream",
        "all, each on its own stream",
    ] {
        assert!(text.contains(what), "{text}");
    }
    let arguments = ["bench", "together", "--repeat=3", "--json"];
    let json = with_gpu(&[&arguments[..], &[program, program]].concat()).json();
    let kinds = json["together"].as_array().unwrap();
    assert_eq!(kinds.len(), 4);
    for kind in kinds {
        assert_eq!(kind["calls"], 3);
        assert!(kind["best_us"].as_f64() <= kind["median_us"].as_f64());
    }
}

#[test]
fn what_cannot_overlap_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let message = with_gpu(&["bench", "together", path(&program)]).refused();
    assert!(message.contains("only one program"), "{message}");
    let add = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/add");
    let message = with_gpu(&["bench", "together", add, add]).refused();
    assert!(message.contains("each program has to use one"), "{message}");
}
