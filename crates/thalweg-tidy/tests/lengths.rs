//! Long files and functions in small crates.

use std::path::Path;

use thalweg_tidy::{Limits, Sources, oversized};

const LIMITS: Limits = Limits {
    file: 6,
    function: 3,
};

fn found(file: &str, text: &str) -> Vec<String> {
    let sources: Sources = [(file, text)].into_iter().collect();
    let found = oversized(&sources, LIMITS).unwrap();
    assert!(found.iter().all(|long| long.file == Path::new(file)));
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_may_have_as_many_lines_as_the_limit_says() {
    assert!(found("src/lib.rs", "\n\n\n\n\n//\n").is_empty());
    assert_eq!(
        found("src/lib.rs", "\n\n\n\n\n//\n//\n"),
        ["src/lib.rs has 7 lines"]
    );
}

#[test]
fn a_function_is_measured_from_its_signature_to_its_end() {
    assert!(
        found(
            "src/lib.rs",
            "/// Docs.\n/// Docs.\n#[inline]\nfn f() {\n\n}\n"
        )
        .is_empty()
    );
    let long = "struct S;\nimpl S {\npub fn f(\n) {\n\n}}";
    assert_eq!(found("tests/a.rs", long), ["tests/a.rs:3: `f` has 4 lines"]);
    let in_a_trait = "trait T { fn f() {\n\n\n}\nfn g(); }";
    assert_eq!(
        found("benches/a.rs", in_a_trait),
        ["benches/a.rs:1: `f` has 4 lines"]
    );
}

#[test]
fn functions_in_functions_and_in_macros_are_measured() {
    let inner = "fn f() {\nfn g() {\n\n\n}}";
    assert_eq!(
        found("src/a.rs", inner),
        ["src/a.rs:1: `f` has 5 lines", "src/a.rs:2: `g` has 4 lines"]
    );
    let made = "proptest! { fn f(x in 0..2) {\n\n\n} }";
    assert_eq!(found("tests/a.rs", made), ["tests/a.rs:1: `f` has 4 lines"]);
}
