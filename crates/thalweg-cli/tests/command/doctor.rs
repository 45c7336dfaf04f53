//! `thalweg doctor`

use super::thalweg;

#[test]
fn backends_that_this_build_lacks_are_named_with_the_reason() {
    let out = thalweg(&["doctor"]).ok();
    assert!(out.contains("this build has no XnnpackBackend"), "{out}");
}

#[test]
fn what_was_found_is_there_as_json() {
    let report = thalweg(&["doctor", "--json"]).json();
    assert!(report["operators"].as_u64().unwrap() > 100);
    assert!(report["threads"].as_u64().unwrap() > 0);
    assert_eq!(report["machine"]["arch"], std::env::consts::ARCH);
    for library in ["cuda", "tensorrt"] {
        let found = report[library]["version"].is_string();
        assert!(found || report[library]["advice"].is_string(), "{report}");
    }
    let backends = report["backends"].as_array().unwrap();
    assert!(
        backends
            .iter()
            .all(|backend| { backend["works"] == true || backend["why_not"].is_string() })
    );
}
