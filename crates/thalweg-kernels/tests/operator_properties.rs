//! What operators say of themselves beside their schemas, held against a recorded list: purity, prepacking,
//! epilogues, layouts and data movement.

use std::fmt::Write;
use std::path::Path;

use thalweg_core::KernelRegistry;

#[test]
fn every_operator_has_the_properties_that_are_recorded() {
    let mut registry = KernelRegistry::new();
    thalweg_kernels::register(&mut registry).unwrap();
    let mut found = String::new();
    for kernel in registry.iter() {
        let properties = match kernel.properties() {
            none if none.is_empty() => "-".to_string(),
            properties => properties.join(", "),
        };
        writeln!(found, "{}: {properties}", kernel.signature().operator()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/operator_properties.txt");
    if std::env::var_os("THALWEG_WRITE_DOCS").is_some() {
        std::fs::write(&path, found).unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    for (found, recorded) in found.lines().zip(recorded.lines()) {
        assert_eq!(found, recorded, "see CONTRIBUTING.md, Adding an operator");
    }
    assert_eq!(found.lines().count(), recorded.lines().count());
}
