//! `thalweg doctor` with and without a GPU.

use thalweg::tensorrt::NAME;
use thalweg_simgpu::Sim;

use crate::gpu::{with_gpu, without_gpu};
use crate::thalweg_in;

#[test]
fn the_doctor_says_which_devices_there_are_and_that_tensorrt_works_there() {
    let report = with_gpu(&["doctor", "--json"]).json();
    let cuda = &report["cuda"];
    assert_eq!(cuda["search"][0]["found"], true);
    assert_eq!(cuda["version"], "13.0");
    let device = &cuda["devices"][0];
    assert_eq!(device["device"], "cuda:0");
    assert_eq!(device["compute_capability"], "9.0");
    assert_eq!(device["memory_bytes"], 8u64 << 30);
    assert!(device["free_bytes"].as_u64().unwrap() <= 8 << 30);
    assert!(!device["name"].as_str().unwrap().is_empty());
    let tensorrt = &report["tensorrt"];
    assert_eq!(tensorrt["search"][0]["found"], true);
    assert!(tensorrt["version"].as_str().unwrap().starts_with("10."));
    assert_eq!(tensorrt["flavor"], "TensorRT");
    assert_eq!(tensorrt["works_on"], "cuda:0");
    let mut backends = report["backends"].as_array().unwrap().iter();
    let backend = backends.find(|backend| backend["name"] == NAME).unwrap();
    assert_eq!(
        (&backend["name"], &backend["works"]),
        (&NAME.into(), &true.into())
    );
    let text = with_gpu(&["doctor"]).ok();
    assert!(text.contains("CUDA driver: for CUDA 13.0\n"), "{text}");
    assert!(text.contains("  works on cuda:0\n"), "{text}");
    assert!(text.contains("TensorRTBackend: works\n"), "{text}");
}

#[test]
fn the_doctor_names_every_place_and_says_how_to_get_what_is_missing() {
    let report = without_gpu(&["doctor", "--json"]).json();
    for library in ["cuda", "tensorrt"] {
        let attempts = report[library]["search"].as_array().unwrap();
        assert_eq!(attempts.len(), 1, "a file that is named is the only place");
        assert_eq!(attempts[0]["found"], false);
        let place = attempts[0]["place"].as_str().unwrap();
        assert!(place.contains("/nowhere/lib.so"), "{place}");
        let advice = report[library]["advice"].as_str().unwrap();
        assert!(advice.contains("install"), "{advice}");
    }
    let mut backends = report["backends"].as_array().unwrap().iter();
    let backend = backends.find(|backend| backend["name"] == NAME).unwrap();
    assert_eq!(
        (&backend["name"], &backend["works"]),
        (&NAME.into(), &false.into())
    );
    assert!(
        backend["why_not"]
            .as_str()
            .unwrap()
            .contains("/nowhere/lib.so")
    );
    let text = without_gpu(&["doctor"]).ok();
    assert!(
        text.contains("TensorRT: none that can be used\n  failed /nowhere/lib.so"),
        "{text}"
    );
    assert!(text.contains("  try: install TensorRT"), "{text}");
}

#[test]
fn the_doctor_looks_for_tensorrt_also_without_a_device() {
    let nowhere = "/nowhere/lib.so".as_ref();
    let library = Sim::path().as_os_str();
    let environment = [("THALWEG_CUDA", nowhere), ("THALWEG_TENSORRT", library)];
    let report = thalweg_in(&environment, &["doctor", "--json"]).json();
    let tensorrt = &report["tensorrt"];
    assert_eq!(tensorrt["search"][0]["found"], true);
    assert!(tensorrt["works_on"].is_null());
    assert_eq!(tensorrt["why_not"], "there is no device to try it on");
}
