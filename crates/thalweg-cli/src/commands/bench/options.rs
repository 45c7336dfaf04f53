//! The options that all experiments have.

use std::path::PathBuf;

use thalweg::{LoadOptions, RunOptions, Runtime};

use super::location::{InputLocation, OutputLocation};
use crate::failure::Result;
use crate::input::{HELP, Prepared, Spec};
use crate::options::{Graphs, Profiles, Threads, at_least_one};
use crate::program::{Chosen, Source};

/// The programs to measure, and the number of calls.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Programs (.pte), or folders with one each
    #[arg(required = true, value_name = "PROGRAM")]
    pub(super) programs: Vec<PathBuf>,
    #[command(flatten)]
    profiles: Profiles,
    /// A data file (.ptd) [default: the one beside the program]
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// The number of measured calls
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least_one)]
    pub(super) repeat: usize,
    /// The number of calls before each block of measured ones
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) warmup: usize,
    #[command(flatten)]
    pub(super) threads: Threads,
    /// Prints the report as JSON, with times in microseconds
    #[arg(long)]
    pub(super) json: bool,
}

/// The method to measure, and its inputs.
#[derive(Debug, clap::Args)]
pub(super) struct Choice {
    /// The method [default: forward, or the only one]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    #[arg(long = "input", value_name = "SPEC", help = HELP)]
    specs: Vec<Spec>,
}

/// The locations of inputs and outputs, and the use of graphs.
#[derive(Debug, clap::Args)]
pub(super) struct CallOptions {
    /// The location of inputs when a call begins
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = InputLocation::Host)]
    pub(super) inputs: InputLocation,
    /// The location of outputs when a call ends. With `device`, the device's stream is synchronized
    /// once after each call, and times are until then
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = OutputLocation::Host)]
    pub(super) outputs: OutputLocation,
    /// CUDA graphs for the work that calls submit to a device
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Graphs::Auto)]
    graph: Graphs,
}

impl CallOptions {
    /// Returns true if outputs stay on the device.
    pub(super) fn device_outputs(&self) -> bool {
        self.outputs == OutputLocation::Device
    }

    /// The options of a call.
    pub(super) fn run_options(&self) -> RunOptions<'static> {
        RunOptions::new()
            .device_outputs(self.device_outputs())
            .graph(self.graph.into())
    }
}

impl Options {
    /// Measures the programs one after the other. A failure names its program.
    pub(super) fn each<T>(&self, mut measure: impl FnMut(&Source) -> Result<T>) -> Result<Vec<T>> {
        let one = |path: &PathBuf| {
            let source = Source::find(path, &self.data)?;
            measure(&source).map_err(|failure| failure.in_file(&source.path))
        };
        self.programs.iter().map(one).collect()
    }

    /// Load options with the pinned profiles.
    pub(super) fn load_options(&self, options: LoadOptions) -> LoadOptions {
        self.profiles.load_options(options)
    }
}

impl Choice {
    /// Loads a program and chooses the method.
    pub(super) fn load(
        &self,
        source: &Source,
        runtime: &Runtime,
        options: LoadOptions,
    ) -> Result<Chosen> {
        source.load(runtime, self.method.as_deref(), options)
    }

    /// Makes the inputs of the method.
    pub(super) fn inputs(&self, source: &Source, chosen: &Chosen) -> Result<Prepared> {
        source.inputs(chosen, &self.specs)
    }
}
