//! Writes `src/schema.rs` of `thalweg-format` anew from the schemas beside this folder:
//!
//! `cargo run --manifest-path crates/thalweg-format/schema/generate/Cargo.toml`
//!
//! With `-- --check` it writes nothing, and fails if the file is not what it would write.

use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Paths of schemas are in the code.
    env::set_current_dir(&crate_folder).expect("the crate's folder is there");
    let code = formatted(&generated());
    let target = Path::new("src/schema.rs");
    if env::args().nth(1).as_deref() != Some("--check") {
        fs::write(target, code).expect("src/schema.rs can be written");
        return ExitCode::SUCCESS;
    }
    let found = fs::read_to_string(target).unwrap_or_default();
    if found == code {
        return ExitCode::SUCCESS;
    }
    let line = found
        .lines()
        .zip(code.lines())
        .take_while(|(found, code)| found == code)
        .count()
        + 1;
    eprintln!(
        "crates/thalweg-format/src/schema.rs:{line}: this is not what its schemas give; generate it anew with"
    );
    eprintln!("cargo run --manifest-path crates/thalweg-format/schema/generate/Cargo.toml");
    ExitCode::FAILURE
}

/// The code that planus makes of the schemas, without serde's traits, which it derives for its owned
/// types: those are used for nothing but their builders.
fn generated() -> String {
    let schemas = ["schema/program.fbs", "schema/flat_tensor.fbs"];
    let declarations =
        planus_translation::translate_files(&schemas).expect("the schemas are understood");
    let code = planus_codegen::generate_rust(&declarations, true).expect("code is generated");
    let lines = code.lines().filter(|line| {
        let line = line.trim_start();
        line != "::serde::Serialize," && line != "::serde::Deserialize,"
    });
    lines
        .map(|line| line.replace(", ::serde::Serialize, ::serde::Deserialize", "") + "\n")
        .collect()
}

/// The code as `rustfmt` writes it.
fn formatted(code: &str) -> String {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rustfmt is installed");
    let mut input = rustfmt.stdin.take().expect("it reads code");
    input
        .write_all(code.as_bytes())
        .expect("rustfmt reads the code");
    drop(input);
    let output = rustfmt.wait_with_output().expect("rustfmt ends");
    assert!(output.status.success(), "rustfmt refuses the code");
    String::from_utf8(output.stdout).expect("code is text")
}
