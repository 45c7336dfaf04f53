//! `thalweg bench call` of programs with engines.

use crate::engines::programs::write_program;
use crate::gpu::with_gpu;
use crate::path;

#[test]
fn inputs_and_outputs_are_measured_in_each_location() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    for (inputs, place) in [
        ("host", "on the host"),
        ("pinned", "pinned on the host"),
        ("device", "on cuda:0"),
    ] {
        for outputs in ["host", "device"] {
            let arguments = [
                "bench",
                path(&program),
                "--inputs",
                inputs,
                "--outputs",
                outputs,
            ];
            let arguments = [&arguments[..], &["--repeat", "3", "--warmup", "1"]].concat();
            let json = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
            assert_eq!(json["options"]["inputs"], inputs);
            assert_eq!(json["options"]["outputs"], outputs);
            let measured = &json["programs"][0];
            assert_eq!(measured["calls"], 3);
            let input = measured["inputs"][0].as_str().unwrap();
            assert!(input.ends_with(&format!(", {place}")), "{input}");
            let device = measured["devices"][0].as_str().unwrap();
            assert!(device.starts_with("device 0: "), "{device}");
            let alone = measured["call_alone_median_us"].as_f64();
            assert_eq!(alone.is_some(), outputs == "device");
            assert!(alone.unwrap_or(0.0) <= measured["p99_us"].as_f64().unwrap());
            let text = with_gpu(&arguments).ok();
            assert!(text.contains(&format!("input 0: {input}\n")), "{text}");
            assert!(text.contains(&format!(" uses {device}")), "{text}");
            let says = text.contains("synchronized once after each call");
            assert_eq!(says, outputs == "device", "{text}");
        }
    }
}

#[test]
fn methods_that_share_scratch_are_measured_beside_those_that_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("model.pte");
    write_program(&program);
    let bench = |flag: &str| {
        let arguments = [
            "bench",
            path(&program),
            flag,
            "--repeat",
            "7",
            "--warmup",
            "1",
        ];
        let json = with_gpu(&[&arguments[..], &["--json"]].concat()).json();
        let text = with_gpu(&arguments).ok();
        (json["programs"].as_array().unwrap().clone(), text)
    };
    let (both, text) = bench("--shared-scratch=both");
    assert_eq!(both.len(), 2);
    assert_eq!(both[0]["shared_scratch"], false);
    assert!(both[0]["scratch"].is_null());
    assert_eq!(both[1]["shared_scratch"], true);
    // Two engines of 4 KiB.
    assert_eq!(both[1]["scratch"]["bytes"], 4096);
    assert_eq!(both[1]["scratch"]["buffers"], 1);
    assert!(both.iter().all(|measured| measured["calls"] == 7));
    assert!(
        text.contains("shares scratch: 4.0 KiB in 1 buffer"),
        "{text}"
    );
    let (on, _) = bench("--shared-scratch");
    assert_eq!(on.len(), 1);
    assert_eq!(on[0]["shared_scratch"], true);
    let (off, text) = bench("--shared-scratch=off");
    assert!(off[0]["shared_scratch"].is_null());
    assert!(!text.contains("scratch"), "{text}");
}
