//! The subcommands, one file each.

mod bench;
mod doctor;
mod graphs;
mod inspect;
mod run;
mod streams;
mod timing;
mod traced;
mod verify;

use std::io::Write;

use clap::Subcommand;
use thalweg::Runtime;

use crate::failure::Result;

/// What there is to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a method and shows what comes out
    Run(run::Arguments),
    /// Says what is in a program: methods, what they take, return and need, and how it is stored
    Inspect(inspect::Arguments),
    /// Checks recorded answers: runs every call of every case and compares the outputs
    Verify(verify::Arguments),
    /// Measures how long methods take to load and to run
    Bench(bench::Arguments),
    /// Says what this machine and this build have, and what does not work and why
    Doctor(doctor::Arguments),
}

/// How a command ended that did what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing is wrong.
    Right,
    /// A program gave a wrong answer.
    Wrong,
}

impl Command {
    /// Does it.
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

/// Everything that this machine offers, with so many threads.
fn runtime(threads: Option<usize>) -> Runtime {
    let builder = Runtime::builder();
    match threads {
        Some(threads) => builder.threads(threads).build().into(),
        None => builder.build().into(),
    }
}

/// A count that is not 0.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be 1 or more; 0 would do nothing".into()),
        Ok(count) => Ok(count),
        Err(_) => Err("it must be a whole number".into()),
    }
}
