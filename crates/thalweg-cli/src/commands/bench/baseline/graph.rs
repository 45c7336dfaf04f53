//! A method with delegates of any backend, beside the same call as one CUDA graph.

use thalweg::Runtime;
use thalweg::cuda::Driver;

use super::library::CallGraph;
use super::loading::{self, Loading};
use super::{Arguments, Measured, PINNED_GRAPH, Pair, tensor_bytes};
use crate::commands::bench::experiment::Stop;
use crate::commands::bench::instance::Instance;
use crate::commands::bench::location::LocatedInputs;
use crate::commands::bench::sample::Sample;
use crate::failure::{Failure, Result, with_causes};
use crate::program::{Chosen, Source};
use crate::text;

/// The least number of warmup calls. The first two runs of a compiled library are not like later ones,
/// and the third call after them is captured as a graph.
const LEAST_WARMUP: usize = super::engines::LEAST_WARMUP + 2;

/// The series of the method, and of the graph.
const METHOD: usize = 0;
const GRAPH: usize = 1;

/// Measures a program that `runtime` has loaded.
pub(super) fn measure(
    arguments: &Arguments,
    source: &Source,
    runtime: &Runtime,
    chosen: &Chosen,
) -> Result<Measured> {
    let prepared = arguments.choice.inputs(source, chosen)?;
    let mut instance = Instance::new(runtime, chosen)?;
    let [device] = &*instance.devices else {
        return Err(Failure::new(format!(
            "the method has memory on {}; a baseline is measured on one",
            text::count(instance.devices.len(), "device")
        )));
    };
    let located = LocatedInputs::new(PINNED_GRAPH.inputs, &prepared.values, &instance.schedule)?;
    let borrowed = located.borrow()?;
    let inputs = borrowed.inputs(&prepared.values)?;
    let ordinal = usize::try_from(device.id().index).unwrap_or(0);
    let device = Driver::open(None)?.device(ordinal)?;
    let (program, name) = (&chosen.program, &chosen.info.name);
    let graph = CallGraph::record(&device, program, name, &prepared.values);
    let graph = graph.map_err(|error| with_causes(&error));

    let (method, devices) = (&mut instance.method, &instance.devices);
    let experiment = arguments.experiment(LEAST_WARMUP);
    let blocks = [vec![METHOD], vec![GRAPH]];
    let series = experiment.measure(&blocks, |series| match (series, &graph) {
        (METHOD, _) => PINNED_GRAPH.call(method, &inputs, devices, &prepared),
        (_, Ok(graph)) => Ok(Sample::synchronous(|| graph.launch())?.0),
        (_, Err(why)) => Err(Stop::Unmeasurable(why.clone())),
    });
    let mut pairs = Pair::all([PINNED_GRAPH.name], series?);

    let outputs = instance.method.run(&inputs);
    let outputs = outputs.and_then(|outputs| outputs.to_values());
    let outputs = outputs.map_err(|error| prepared.explain(error))?;
    let same_outputs = match &graph {
        Ok(graph) => graph.outputs()?.iter().eq(tensor_bytes(&outputs)),
        Err(_) => true,
    };
    pairs.push(loading::measure(&Loading {
        arguments,
        source,
        runtime,
        baseline: None,
    })?);
    Ok(Measured {
        program: source.path.display().to_string(),
        method: name.clone(),
        engines: 0,
        copied: graph.as_ref().map_or((0, 0), CallGraph::copied),
        not_in_baseline: Vec::new(),
        same_outputs,
        pairs,
        devices: instance.device_names(),
    })
}
