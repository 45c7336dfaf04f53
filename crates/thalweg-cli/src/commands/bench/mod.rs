//! `thalweg bench`: measures how long methods take to load and to run.
//!
//! Four experiments, which all have the same parts: they load programs ([`options`], [`instance`]), put
//! inputs where calls take them ([`location`]), measure series of calls in rounds that alternate
//! ([`experiment`], [`sample`]), and print a [`report`].

mod alternate;
#[cfg(target_os = "linux")]
mod baseline;
mod call;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod experiment;
mod instance;
mod location;
mod options;
mod removed;
mod report;
mod sample;
mod scratch;
#[cfg(target_os = "linux")]
mod together;
mod turns;

use std::io::Write;
use std::path::Path;

use clap::Subcommand;

#[cfg(not(target_os = "linux"))]
use self::elsewhere::{baseline, together};
use super::verdict::Verdict;
use crate::failure::{Failure, Result};

pub(crate) use removed::explain;

/// The experiment to make: `call`, unless another one is named.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    experiment: Option<Experiment>,
    #[command(flatten)]
    call: call::Arguments,
}

/// An experiment with its arguments.
#[derive(Debug, Subcommand)]
enum Experiment {
    /// Calls of a method: load time, first call, and the others [default]
    Call(call::Arguments),
    /// Calls of a method beside its TensorRT engines alone, or beside the same call as one CUDA graph
    Baseline(baseline::Arguments),
    /// Calls of several programs in one thread: each alone, all on one stream, each on its own stream
    Together(together::Arguments),
    /// Recorded calls that alternate, beside the same calls repeated
    Alternate(alternate::Arguments),
}

/// Runs the command.
pub(crate) fn bench(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    match &arguments.experiment {
        None => {
            check_order(&arguments.call)?;
            call::run(&arguments.call, out)
        }
        Some(Experiment::Call(arguments)) => call::run(arguments, out),
        Some(Experiment::Baseline(arguments)) => baseline::run(arguments, out),
        Some(Experiment::Together(arguments)) => together::run(arguments, out),
        Some(Experiment::Alternate(arguments)) => alternate::run(arguments, out),
    }?;
    Ok(Verdict::Right)
}

/// Fails if an experiment is named after options, where its name is taken for a program's.
fn check_order(arguments: &call::Arguments) -> Result<()> {
    let programs = arguments.options.programs.iter();
    let mut programs = programs.filter_map(|path| path.to_str());
    let named = |name: &&str| Experiment::has_subcommand(name) && !Path::new(name).exists();
    match programs.find(named) {
        Some(name) => Err(Failure::new(format!(
            "there is no file {name}; an experiment is named before its options"
        ))
        .hint(format!("thalweg bench {name} [OPTIONS] PROGRAM"))),
        None => Ok(()),
    }
}
