//! The `thalweg` command: runs, inspects, verifies and measures ExecuTorch programs.
//!
//! Exit codes: 0 for a right answer, 1 for a wrong one (where answers are recorded), 2 for bad usage
//! or input.
#![forbid(unsafe_code)]

mod commands;
mod compare;
mod failure;
mod fixture;
mod input;
mod machine;
mod npy;
mod numbers;
mod options;
mod program;
mod pytree;
mod repeated;
mod summary;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use commands::{Command, Verdict};

/// Runs, inspects, verifies and measures ExecuTorch programs (.pte)
#[derive(Debug, Parser)]
#[command(name = "thalweg", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let arguments = Arguments::try_parse();
    let arguments = arguments.unwrap_or_else(|error| commands::explain(error).exit());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let result = arguments
        .command
        .run(&mut out)
        .and_then(|verdict| Ok(out.flush().map(|()| verdict)?));
    match result {
        Ok(Verdict::Right) => ExitCode::SUCCESS,
        Ok(Verdict::Wrong) => ExitCode::from(1),
        // The reader of the output has closed it, as in `thalweg inspect model.pte | head`.
        Err(failure) if failure.reader_is_gone() => ExitCode::SUCCESS,
        Err(failure) => {
            // What was printed so far comes before what went wrong. If the output is broken,
            // the failure says so already.
            out.flush().ok();
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}
