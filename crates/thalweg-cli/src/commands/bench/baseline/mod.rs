//! `thalweg bench baseline`: calls of a method beside its baseline, which is its TensorRT engines alone;
//! or, if it has other delegates, the same call as one CUDA graph.

mod engines;
mod graph;
mod library;
mod loading;
mod report;

use std::io::Write;
use std::sync::Arc;

use thalweg::extend::Device;
use thalweg::tensorrt::NAME;
use thalweg::{GraphUse, Input, LoadOptions, Method, Output, RunOptions, Runtime, Value};

use self::report::report;
use super::experiment::{Experiment, Series, Stop};
use super::location::InputLocation;
use super::options::{Choice, Options};
use super::sample::Sample;
use crate::commands::times::Times;
use crate::failure::{Failure, Result, with_causes};
use crate::input::Prepared;
use crate::program::{Chosen, Source};

/// The method to measure beside its baseline.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    options: Options,
}

/// The location of the inputs and outputs of a method, and its use of graphs.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    inputs: InputLocation,
    device_outputs: bool,
    graph: GraphUse,
}

/// Pinned inputs and a graph: the kind that the call as one graph is compared with.
const PINNED_GRAPH: Kind = Kind {
    name: "pinned, graph",
    inputs: InputLocation::Pinned,
    device_outputs: false,
    graph: GraphUse::On,
};

/// The times of one program.
struct Measured {
    program: String,
    method: String,
    /// The number of engine calls in the baseline; 0 if that is a call as one graph.
    engines: usize,
    /// The bytes that a baseline copies to the device, and from it.
    copied: (usize, usize),
    /// The work of the method that is not in the baseline, in words.
    not_in_baseline: Vec<String>,
    /// True if the baseline had the outputs of the method.
    same_outputs: bool,
    pairs: Vec<Pair>,
    devices: Vec<String>,
}

/// The times of a method and of its baseline; or the reason that one cannot be measured.
struct Pair {
    name: &'static str,
    method: Result<Times, String>,
    baseline: Result<Times, String>,
}

/// Runs the experiment.
pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let options = &arguments.options;
    let all = options.each(|source| measure(arguments, source))?;
    report(options, &all).print(options.json, out)
}

fn measure(arguments: &Arguments, source: &Source) -> Result<Measured> {
    let runtime = arguments.options.threads.runtime();
    // Without TensorRT, this says what is missing in a program without engines, too.
    let chosen = arguments.load(source, &runtime)?;
    let backends = &chosen.info.backends;
    if backends.is_empty() {
        return Err(Failure::new(format!(
            "method {} has no delegates, and so no baseline",
            chosen.info.name
        ))
        .hint("thalweg bench call"));
    }
    if backends.iter().all(|name| name == NAME) {
        engines::measure(arguments, source)
    } else {
        graph::measure(arguments, source, &runtime, &chosen)
    }
}

impl Arguments {
    /// Loads a program and chooses the method.
    fn load(&self, source: &Source, runtime: &Runtime) -> Result<Chosen> {
        let options = self.options.load_options(LoadOptions::new());
        self.choice.load(source, runtime, options)
    }

    /// The experiment, with at least `warmup` calls of warmup.
    fn experiment(&self, warmup: usize) -> Experiment {
        Experiment::comparison(self.options.warmup.max(warmup), self.options.repeat)
    }
}

impl Kind {
    /// Makes a call of this kind. A call that cannot be captured as a graph cannot be measured.
    fn call<'m>(
        self,
        method: &'m mut Method,
        inputs: &[Input<'m>],
        devices: &[Arc<dyn Device>],
        prepared: &Prepared,
    ) -> Result<Sample, Stop> {
        let options = RunOptions::new()
            .device_outputs(self.device_outputs)
            .graph(self.graph);
        let devices = if self.device_outputs { devices } else { &[] };
        let sample = Sample::of_method(method, inputs, &options, devices);
        sample.map_err(|error| match self.graph {
            GraphUse::On => Stop::Unmeasurable(with_causes(&error)),
            _ => prepared.explain(error).into(),
        })
    }
}

impl Pair {
    fn new(
        name: &'static str,
        method: Result<Series, String>,
        baseline: Result<Series, String>,
    ) -> Self {
        Self {
            name,
            method: method.map(|series| series.complete),
            baseline: baseline.map(|series| series.complete),
        }
    }

    /// Pairs series, of which there are two for each name, the method's first.
    fn all(
        names: impl IntoIterator<Item = &'static str>,
        series: Vec<Result<Series, String>>,
    ) -> Vec<Self> {
        let mut series = series.into_iter();
        let pairs = names.into_iter();
        let pairs = pairs.map_while(|name| Some(Self::new(name, series.next()?, series.next()?)));
        pairs.collect()
    }
}

/// The bytes of tensors; other values have none.
fn tensor_bytes(values: &[Value]) -> Vec<&[u8]> {
    let bytes = values.iter().filter_map(|value| match value.as_output() {
        Output::Tensor(tensor) => Some(tensor.bytes()),
        _ => None,
    });
    bytes.collect()
}
