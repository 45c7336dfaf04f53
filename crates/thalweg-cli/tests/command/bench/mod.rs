//! `thalweg bench`

#[cfg(target_os = "linux")]
mod alternate;
#[cfg(target_os = "linux")]
mod baseline;
#[cfg(target_os = "linux")]
mod call;
#[cfg(target_os = "linux")]
mod together;

use super::thalweg;

#[test]
fn calls_are_measured_unless_another_experiment_is_named() {
    for experiment in [&["bench"][..], &["bench", "call"]] {
        let arguments = ["fixtures/add", "--repeat", "3"];
        let out = thalweg(&[experiment, &arguments].concat()).ok();
        assert!(out.contains("3 calls after the first"), "{out}");
    }
    let help = thalweg(&["bench", "--help"]).ok();
    for experiment in ["call", "baseline", "together", "alternate"] {
        assert!(help.contains(&format!("\n  {experiment} ")), "{help}");
    }
    assert!(help.contains("--shared-scratch"), "{help}");
}

#[test]
fn options_that_became_experiments_are_answered_with_what_to_write() {
    for (option, experiment) in [
        ("--floor", "bench baseline PROGRAM"),
        ("--together", "bench together PROGRAM"),
        ("--alternate=0@1,1@0", "bench alternate PROGRAM --calls"),
        ("--rounds=3", "bench alternate PROGRAM --rounds"),
    ] {
        let message = thalweg(&["bench", "fixtures/add", option]).refused();
        assert!(message.contains("unexpected argument"), "{message}");
        assert!(message.contains(experiment), "{message}");
    }
}

#[test]
fn an_experiment_is_named_before_its_options() {
    let message = thalweg(&["bench", "--repeat=3", "baseline", "fixtures/add"]).refused();
    assert!(
        message.contains("try: thalweg bench baseline [OPTIONS]"),
        "{message}"
    );
}

#[test]
fn what_would_measure_nothing_is_refused() {
    let message = thalweg(&["bench", "fixtures/add", "--repeat", "0"]).refused();
    assert!(message.contains("--repeat"), "{message}");
    assert!(message.contains("must be 1 or more"), "{message}");
}

#[test]
fn several_programs_share_a_table() {
    let out = thalweg(&[
        "bench",
        "fixtures/add/model.pte",
        "fixtures/cond/model.pte",
        "--repeat",
        "3",
        "--warmup",
        "0",
        "--threads",
        "1",
    ])
    .ok();
    assert!(
        out.contains("1 thread, 3 calls after the first and 0 of warmup"),
        "{out}"
    );
    let column = |name: &str| {
        let line = out.lines().find(|line| line.starts_with(name)).unwrap();
        line.find("forward")
            .unwrap_or_else(|| line.find("method").unwrap())
    };
    let heading = column("program");
    assert_eq!(column("fixtures/add/model.pte"), heading, "{out}");
    assert_eq!(column("fixtures/cond/model.pte"), heading, "{out}");
}

#[test]
fn the_json_output_has_all_numbers_with_machine_and_options() {
    let report = thalweg(&["bench", "fixtures/add", "--repeat", "7", "--json"]).json();
    assert_eq!(report["options"]["repeat"], 7);
    assert_eq!(report["options"]["warmup"], 10);
    assert!(report["options"]["threads"].as_u64().unwrap() > 0);
    assert!(report["machine"]["cores"].as_u64().unwrap() > 0);
    let program = &report["programs"][0];
    assert_eq!(program["method"], "forward");
    assert_eq!(program["calls"], 7);
    let number = |name: &str| program[name].as_f64().unwrap();
    for name in ["load_us", "first_call_us", "mean_us", "memory_bytes"] {
        assert!(number(name) > 0.0, "{name}");
    }
    assert!(number("best_us") <= number("median_us"));
    assert!(number("median_us") <= number("p99_us"));
}

#[test]
fn a_program_that_cannot_run_is_named() {
    let message = thalweg(&["bench", "fixtures/add", "fixtures/xnnpack_inline_delegate"]).refused();
    assert!(
        message.contains("xnnpack_inline_delegate/model.pte"),
        "{message}"
    );
    assert!(message.contains("XnnpackBackend"), "{message}");
}

#[test]
fn a_method_without_a_device_has_nothing_there() {
    for (option, place) in [
        ("--inputs", "pinned"),
        ("--inputs", "device"),
        ("--outputs", "device"),
    ] {
        let message = thalweg(&["bench", "fixtures/add", option, place]).refused();
        assert!(message.contains("the method uses no device"), "{message}");
        assert!(
            message.contains(&format!("try: {option} host")),
            "{message}"
        );
    }
    let message = thalweg(&["bench", "fixtures/add", "--inputs", "nowhere"]);
    assert_eq!(message.code, 2);
}
