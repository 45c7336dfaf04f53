//! A method whose delegates are all TensorRT engines, beside these engines alone.

use std::sync::Arc;

use thalweg::cuda::Driver;
use thalweg::extend::Device;
use thalweg::info::{Schedule, StepExecution};
use thalweg::tensorrt::{NAME, Options, TensorRt};
use thalweg::{GraphUse, Input, Method, Value};

use super::library::{EngineBaseline, Recorder, Variant};
use super::loading::{self, Loading};
use super::{Arguments, Kind, Measured, PINNED_GRAPH, Pair, tensor_bytes};
use crate::commands::bench::experiment::{BlockSize, Samples, Stop, run_block};
use crate::commands::bench::instance::Instance;
use crate::commands::bench::location::{InputLocation, LocatedInputs};
use crate::failure::{Failure, Result, with_causes};
use crate::input::Prepared;
use crate::program::{Chosen, Source};
use crate::text;

/// The least number of warmup calls. The third call of a kind is captured as a graph, and the next is
/// the first that is like all others.
pub(super) const LEAST_WARMUP: usize = 3;

/// The kinds of calls, each with the work around the engines in its baseline.
const KINDS: [(Kind, Variant); 4] = [
    (
        Kind {
            name: "pinned",
            inputs: InputLocation::Pinned,
            device_outputs: false,
            graph: GraphUse::Off,
        },
        Variant::Pinned,
    ),
    (PINNED_GRAPH, Variant::PinnedGraph),
    (
        Kind {
            name: "device",
            inputs: InputLocation::Device,
            device_outputs: true,
            graph: GraphUse::Off,
        },
        Variant::Nothing,
    ),
    (
        Kind {
            name: "pageable",
            inputs: InputLocation::Host,
            device_outputs: false,
            graph: GraphUse::Off,
        },
        Variant::Pageable,
    ),
];

/// Calls of the method and of the engines alone. Each kind has two series, the method's first.
struct Calls<'a> {
    method: &'a mut Method,
    baseline: &'a mut EngineBaseline,
    /// The inputs of the method, by kind.
    inputs: Vec<Vec<Input<'a>>>,
    prepared: &'a Prepared,
    devices: &'a [Arc<dyn Device>],
}

/// Measures a program.
pub(super) fn measure(arguments: &Arguments, source: &Source) -> Result<Measured> {
    let threads = arguments.options.threads;
    let driver = Driver::open(None)?;
    let tensorrt = TensorRt::find(&driver, &Options::new())?;
    // The engines of both are the same objects.
    let recorder = Recorder::new(&tensorrt);
    let runtime = threads.runtime_with(|builder| builder.backend(NAME, tensorrt));
    let chosen = arguments.load(source, &runtime)?;
    let prepared = arguments.choice.inputs(source, &chosen)?;
    let mut instance = Instance::new(&runtime, &chosen)?;
    if instance.devices.is_empty() {
        return Err(Failure::new(
            "the method has all its memory on the host, and its engines copy by themselves; a \
             baseline is measured of methods that have memory on a device",
        ));
    }

    let recording = recorder.clone();
    let recording = threads.runtime_with(|builder| builder.backend(NAME, recording));
    let outputs = call(&arguments.load(source, &recording)?, &prepared)?;
    let outputs = tensor_bytes(&outputs);
    let mut baseline = recorder.baseline(&tensor_bytes(&prepared.values), &outputs)?;

    let located = KINDS
        .map(|(kind, _)| LocatedInputs::new(kind.inputs, &prepared.values, &instance.schedule));
    let located = located.into_iter().collect::<Result<Vec<_>>>()?;
    let borrowed = located.iter().map(LocatedInputs::borrow);
    let borrowed = borrowed.collect::<Result<Vec<_>>>()?;
    let inputs = borrowed.iter().map(|it| it.inputs(&prepared.values));
    let mut calls = Calls {
        method: &mut instance.method,
        baseline: &mut baseline,
        inputs: inputs.collect::<Result<_>>()?,
        prepared: &prepared,
        devices: &instance.devices,
    };
    let blocks: Vec<_> = (0..2 * KINDS.len()).map(|series| vec![series]).collect();
    let experiment = arguments.experiment(LEAST_WARMUP);
    let series = experiment.measure_blocks(&blocks, |block, size| calls.run(block, size))?;
    let mut pairs = Pair::all(KINDS.map(|(kind, _)| kind.name), series);
    let same_outputs = baseline
        .outputs()?
        .iter()
        .eq(outputs.iter().filter(|output| !output.is_empty()));
    // A TensorRT of its own, which has no engine yet.
    let tensorrt = TensorRt::find(&driver, &Options::new())?;
    let runtime = threads.runtime_with(|builder| builder.backend(NAME, tensorrt));
    pairs.push(loading::measure(&Loading {
        arguments,
        source,
        runtime: &runtime,
        baseline: Some(&baseline),
    })?);
    Ok(Measured {
        program: source.path.display().to_string(),
        method: chosen.info.name.clone(),
        engines: baseline.engines(),
        copied: baseline.copied(),
        not_in_baseline: not_in_baseline(&instance.schedule),
        same_outputs,
        pairs,
        devices: instance.device_names(),
    })
}

/// Makes one call. Returns its outputs.
fn call(chosen: &Chosen, prepared: &Prepared) -> Result<Vec<Value>> {
    let inputs = prepared.inputs()?;
    let mut method = chosen.instance()?;
    let outputs = method.run(&inputs);
    let outputs = outputs.and_then(|outputs| outputs.to_values());
    outputs.map_err(|error| prepared.explain(error))
}

/// The work of a method that is not in its baseline.
fn not_in_baseline(schedule: &Schedule) -> Vec<String> {
    let on_host = schedule
        .steps
        .iter()
        .filter(|step| step.execution == StepExecution::Host);
    let operators = match on_host.count() {
        0 => None,
        count => Some(text::count(count, "operator") + " on the host"),
    };
    operators.into_iter().collect()
}

impl Calls<'_> {
    /// Runs a block, which is one series.
    fn run(&mut self, block: &[usize], size: BlockSize) -> Result<Samples, Stop> {
        let series = block[0];
        let (kind, around) = KINDS[series / 2];
        if series.is_multiple_of(2) {
            let inputs = &self.inputs[series / 2];
            return run_block(block, size, |_| {
                kind.call(self.method, inputs, self.devices, self.prepared)
            });
        }
        match self.baseline.measure(around, size.warmup, size.repeat) {
            Ok(times) => Ok(times.into_iter().map(|it| (series, it.into())).collect()),
            // Not every engine can be captured.
            Err(error) if around == Variant::PinnedGraph => {
                Err(Stop::Unmeasurable(with_causes(&error)))
            }
            Err(error) => Err(error.into()),
        }
    }
}
