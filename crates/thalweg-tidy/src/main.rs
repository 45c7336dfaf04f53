//! Prints the import cycles and the long files and functions of crates.
//!
//! `cargo run -p thalweg-tidy -- thalweg-core`: a crate of this workspace, by its name, or any crate,
//! by its folder; without arguments, all crates of this workspace.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thalweg_tidy::{Error, LIMITS, Sources, crates, cycles, oversized};

fn main() -> ExitCode {
    let known = crates();
    let mut wanted: Vec<PathBuf> = Vec::new();
    for argument in std::env::args().skip(1) {
        match known.get(&argument) {
            Some(directory) => wanted.push(directory.clone()),
            None if Path::new(&argument).join("Cargo.toml").is_file() => {
                wanted.push(argument.into());
            }
            None => {
                let known: Vec<_> = known.keys().map(String::as_str).collect();
                eprintln!(
                    "`{argument}` is neither the folder of a crate nor one of {}",
                    known.join(", ")
                );
                return ExitCode::FAILURE;
            }
        }
    }
    if wanted.is_empty() {
        wanted.extend(known.into_values());
    }
    for directory in wanted {
        if let Err(error) = print(&directory) {
            eprintln!("{}: {error}", directory.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn print(directory: &Path) -> Result<(), Error> {
    let sources = Sources::read(directory)?;
    println!(
        "== {}",
        directory
            .file_name()
            .unwrap_or(directory.as_os_str())
            .display()
    );
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
