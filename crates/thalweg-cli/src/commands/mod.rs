//! The subcommands, one module each.

mod bench;
mod doctor;
mod inspect;
mod run;
mod times;
mod trace;
mod verdict;
mod verify;

use std::io::Write;

use clap::Subcommand;

pub(crate) use bench::explain;
pub(crate) use verdict::Verdict;

use crate::failure::Result;

/// A subcommand with its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a method and shows its outputs
    Run(run::Arguments),
    /// Describes a program: its methods, their inputs, outputs and requirements, and its storage
    Inspect(inspect::Arguments),
    /// Checks recorded answers: runs every call of every case and compares the outputs
    Verify(verify::Arguments),
    /// Measures how long methods take to load and to run
    Bench(bench::Arguments),
    /// Describes this machine and this build: what works, what does not, and why
    Doctor(doctor::Arguments),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<Verdict> {
        match self {
            Self::Run(arguments) => run::run(arguments, out),
            Self::Inspect(arguments) => inspect::inspect(arguments, out),
            Self::Verify(arguments) => verify::verify(arguments, out),
            Self::Bench(arguments) => bench::bench(arguments, out),
            Self::Doctor(arguments) => doctor::doctor(arguments, out),
        }
    }
}
