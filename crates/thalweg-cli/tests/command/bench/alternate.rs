//! `thalweg bench alternate`

use crate::engines::programs::write_two_calls;
use crate::gpu::with_gpu;
use crate::path;

#[test]
fn recorded_calls_take_turns_and_the_first_round_is_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    write_two_calls(folder.path());
    let case = path(folder.path());
    let json = with_gpu(&[
        "bench",
        "alternate",
        "--calls=0@1,1@0",
        "--repeat=10",
        "--warmup=1",
        "--rounds=3",
        "--json",
        case,
    ])
    .json();
    assert_eq!(json["options"]["rounds_not_counted"], 1);
    let turns = json["programs"][0]["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["call"], "call 0: forward f32[4, 8], profile 1");
    assert_eq!(turns[1]["call"], "call 1: forward f32[1, 8], profile 0");
    for turn in turns {
        let modes = turn["modes"].as_array().unwrap();
        let names: Vec<_> = modes.iter().map(|mode| mode["mode"].clone()).collect();
        assert_eq!(names, ["staying", "alternating", "one context"]);
        for mode in modes {
            assert_eq!(mode["calls"], 10);
            let number = |name: &str| mode[name].as_f64().unwrap();
            assert!(number("best_us") <= number("median_us"));
            assert!(number("median_us") <= number("p90_us"));
            assert!(number("p90_us") <= number("p99_us"));
        }
        assert_eq!(modes[0]["more_us"], 0.0);
    }
    let text = with_gpu(&[
        "bench",
        "alternate",
        "--repeat=2",
        "--inputs=device",
        "--outputs=device",
        case,
    ])
    .ok();
    assert!(text.contains("the first is not counted"), "{text}");
    assert!(text.contains("call 1: forward f32[1, 8]"), "{text}");
}

#[test]
fn turns_that_would_leave_nothing_to_measure_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_two_calls(folder.path());
    let case = path(folder.path());
    for (argument, text) in [
        ("--rounds=1", "one round leaves nothing to measure"),
        ("--calls=0@1", "nothing to alternate with"),
        ("--calls=0,2", "there is no call 2; the record has 2 calls"),
        ("--calls=0@7,1@0", "has profiles 0 to 1"),
    ] {
        let message = with_gpu(&["bench", "alternate", argument, case]).refused();
        assert!(message.contains(text), "{message}");
    }
    let program = folder.path().join("model.pte");
    let message = with_gpu(&["bench", "alternate", path(&program)]).refused();
    assert!(message.contains("no recorded calls"), "{message}");
    for conflict in ["--shared-scratch", "--method=forward", "--repeat=0"] {
        let ran = with_gpu(&["bench", "alternate", conflict, case]);
        assert_eq!(ran.code, 2, "{}", ran.err);
    }
}
