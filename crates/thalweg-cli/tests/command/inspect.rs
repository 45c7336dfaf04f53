//! `thalweg inspect`

use std::fs;

use super::{copy_with_unknown_operator, path, root, thalweg};

#[test]
fn every_program_here_is_described_as_text_and_as_json() {
    for folder in fs::read_dir(root().join("fixtures")).unwrap() {
        let program = folder.unwrap().path().join("model.pte");
        if !program.is_file() {
            continue;
        }
        let text = thalweg(&["inspect", path(&program)]).ok();
        assert!(text.contains("method forward"), "{text}");
        let json = thalweg(&["inspect", "--json", path(&program)]).json();
        assert_eq!(json["methods"][0]["name"], "forward");
        assert_eq!(
            json["layout"]["file_bytes"],
            fs::metadata(&program).unwrap().len()
        );
    }
}

#[test]
fn inputs_and_outputs_have_types_shapes_and_names() {
    let json = thalweg(&["inspect", "--json", "fixtures/lists/model.pte"]).json();
    let method = &json["methods"][0];
    assert_eq!(method["inputs"][2]["name"], "args[1].p");
    assert_eq!(method["inputs"][2]["dtype"], "f32");
    assert_eq!(method["inputs"][2]["shape"], serde_json::json!([3]));
    assert_eq!(method["inputs"][2]["sizes"], "static");
    assert_eq!(method["outputs"][0]["name"], "sum");
    assert_eq!(method["outputs"][3]["kind"], "any");
    assert_eq!(json["runs_here"], true);
}

#[test]
fn delegates_are_described_without_their_backend() {
    let program = "fixtures/xnnpack_inline_delegate/model.pte";
    let json = thalweg(&["inspect", "--json", program]).json();
    let method = &json["methods"][0];
    assert_eq!(json["runs_here"], false);
    assert_eq!(method["missing"]["backends"][0], "XnnpackBackend");
    let delegate = &method["delegates"][0];
    assert_eq!(delegate["backend"], "XnnpackBackend");
    assert_eq!(delegate["available"], false);
    assert_eq!(delegate["stored"], "inline 0");
    assert!(delegate["payload_bytes"].as_u64().unwrap() > 0);
    let text = thalweg(&["inspect", program]).ok();
    assert!(
        text.contains("cannot run here: needs the backend XnnpackBackend"),
        "{text}"
    );
}

#[test]
fn mutable_buffers_have_names_and_initial_values() {
    let program = "fixtures/counter_initial_state/model.pte";
    let json = thalweg(&["inspect", "--json", program]).json();
    let buffers = &json["methods"][0]["mutable_buffers"];
    assert_eq!(buffers[0]["name"], "count");
    assert_eq!(buffers[0]["bytes"], 12);
    assert_eq!(buffers[0]["initial"], "stored");
}

#[test]
fn operators_that_this_build_lacks_are_marked() {
    let folder = copy_with_unknown_operator();
    let program = folder.path().join("add/model.pte");
    let text = thalweg(&["inspect", path(&program)]).ok();
    assert!(
        text.contains("aten::xyz.out  1 call  not in this build"),
        "{text}"
    );
}

#[test]
fn a_plan_says_how_each_instruction_runs() {
    let program = "fixtures/cond/model.pte";
    let json = thalweg(&["inspect", "--plan", "--json", program]).json();
    let method = &json["methods"][0];
    let instructions = method["plan"]["instructions"].as_array().unwrap();
    let count = |kind: &str| method["instructions"][kind].as_u64().unwrap();
    let all = ["kernel_calls", "delegate_calls", "moves", "jumps", "frees"];
    let all: u64 = all.map(count).iter().sum();
    assert_eq!(instructions.len() as u64, all);
    assert!(instructions.iter().any(|it| it["runs"] == "on the host"));
    assert!(instructions.iter().any(|it| it["runs"] == "control"));
    let text = thalweg(&["inspect", "--plan", program]).ok();
    assert!(
        text.contains("plan: there are no copies between host and devices\n"),
        "{text}"
    );
    let without = thalweg(&["inspect", "--json", program]).json();
    assert!(without["methods"][0]["plan"].is_null());
}

#[test]
fn where_there_can_be_no_plan_the_reason_is_given() {
    let program = "fixtures/xnnpack_inline_delegate/model.pte";
    let json = thalweg(&["inspect", "--plan", "--json", program]).json();
    let error = json["methods"][0]["plan"]["error"].as_str().unwrap();
    assert!(error.contains("XnnpackBackend"), "{error}");
    let text = thalweg(&["inspect", "--plan", program]).ok();
    assert!(text.contains("plan: cannot be made: "), "{text}");
}

#[test]
fn data_files_are_described_beside_a_program_and_alone() {
    let json = thalweg(&["inspect", "--json", "fixtures/external_some/model.pte"]).json();
    let external = &json["methods"][0]["constants"]["external"];
    assert_eq!(external.as_array().unwrap().len(), 2);
    let entries = json["data_files"][0]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(entries[0]["dtype"], "f32");
    let alone = thalweg(&["inspect", "--json", "fixtures/external_some/second.ptd"]).json();
    assert_eq!(alone["kind"], "data file");
    assert_eq!(alone["entries"], json["data_files"][0]["entries"]);
}

#[test]
fn what_is_no_program_is_refused() {
    let message = thalweg(&["inspect", "Cargo.toml"]).refused();
    assert!(message.contains("Cargo.toml"), "{message}");
    assert!(message.contains("not a program"), "{message}");
    thalweg(&["inspect", "no-such.pte"]).refused();
    let message = thalweg(&["inspect", "docs"]).refused();
    assert!(message.contains("no program (.pte) in docs"), "{message}");
}

#[test]
fn a_folder_stands_for_its_program() {
    let named = thalweg(&["inspect", "fixtures/add/model.pte"]).ok();
    assert_eq!(thalweg(&["inspect", "fixtures/add"]).ok(), named);
}
