//! Prints the import cycles and the long files and functions of crates of this workspace.
//!
//! `cargo run -p thalweg-tidy -- thalweg-core` (no name: all crates).

use std::path::Path;
use std::process::ExitCode;

use thalweg_tidy::{Error, LIMITS, Sources, crates, cycles, oversized};

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let known = crates();
    if let Some(name) = names.iter().find(|name| !known.contains_key(*name)) {
        let known: Vec<_> = known.keys().map(String::as_str).collect();
        eprintln!("no crate `{name}` here; there are {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    for (name, directory) in known
        .iter()
        .filter(|(name, _)| names.is_empty() || names.contains(name))
    {
        if let Err(error) = print(name, directory) {
            eprintln!("{name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn print(name: &str, directory: &Path) -> Result<(), Error> {
    let sources = Sources::read(directory)?;
    println!("== {name}");
    for knot in cycles(&sources)? {
        print!("{knot}");
        println!("  edges on these cycles, fewest imports first:");
        for (imports, from, to) in knot.edges() {
            println!("    {imports:4} {from} -> {to}");
        }
    }
    for long in oversized(&sources, LIMITS)? {
        println!("{long}");
    }
    Ok(())
}
