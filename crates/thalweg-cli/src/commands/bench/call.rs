//! `thalweg bench call`: calls of a method.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use thalweg::extend::Device;
use thalweg::{Input, RunOptions, Trace, Value};

use super::experiment::{Experiment, Series, Stop};
use super::instance::Instance;
use super::location::LocatedInputs;
use super::options::{CallOptions, Choice, Options};
use super::report::{Report, Table, micros, statistics};
use super::sample::Sample;
use super::scratch::{ScratchRuntime, ScratchUse, SharedScratch, load_options};
use crate::commands::trace;
use crate::failure::{Failure, Result};
use crate::input::Prepared;
use crate::machine::peak_memory;
use crate::program::Source;
use crate::summary::type_and_shape;
use crate::text;

/// The calls to measure.
#[derive(Debug, clap::Args)]
// The arguments of `bench`, which have these, too, are a group of the same name.
#[group(skip)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    call: CallOptions,
    /// One scratch for all TensorRT engines of a device
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = SharedScratch::Off,
          num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    shared_scratch: SharedScratch,
    /// Writes a trace of one more call of each method, after the measured ones, to this file. Open it
    /// in https://ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    pub(super) options: Options,
}

/// The times of one method.
struct Measured {
    program: String,
    method: String,
    inputs: Vec<String>,
    load: Duration,
    first: Duration,
    times: Series,
    memory: usize,
    devices: Vec<String>,
    shared_scratch: bool,
    /// The shared scratch of the devices, if the method uses it.
    scratch: Option<ScratchUse>,
}

/// Instances of a method, one series of calls each.
struct Calls<'a> {
    instances: Vec<Instance>,
    prepared: &'a Prepared,
    inputs: &'a [Input<'a>],
    options: RunOptions<'a>,
    /// The devices to wait for after a call.
    devices: &'a [Arc<dyn Device>],
}

/// Runs the experiment.
pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let options = &arguments.options;
    let runtime = ScratchRuntime::new(options.threads, arguments.shared_scratch);
    let trace = arguments.trace.as_ref().map(|path| (Trace::new(), path));
    let measured = options.each(|source| {
        let trace = trace.as_ref().map(|(trace, _)| trace);
        measure(arguments, &runtime, source, trace)
    })?;
    let saved = match &trace {
        Some((trace, path)) => trace::save(trace, path)?,
        None => Vec::new(),
    };
    let measured: Vec<_> = measured.into_iter().flatten().collect();
    let mut report = report(arguments, runtime.runtime.threads(), &measured);
    report.notes.extend(saved);
    report.print(options.json, out)
}

/// Measures a program: its method with scratch of its own, with shared scratch, or both.
fn measure(
    arguments: &Arguments,
    runtime: &ScratchRuntime,
    source: &Source,
    trace: Option<&Trace>,
) -> Result<Vec<Measured>> {
    let (options, choice) = (&arguments.options, &arguments.choice);
    let variants = arguments.shared_scratch.variants();
    let chosen = variants.iter().map(|&shared| {
        let load = options.load_options(load_options(shared));
        choice.load(source, &runtime.runtime, load)
    });
    let all = chosen.collect::<Result<Vec<_>>>()?;
    let Some(chosen) = all.first() else {
        return Ok(Vec::new());
    };
    let prepared = choice.inputs(source, chosen)?;
    let instances = all.iter().map(|it| Instance::new(&runtime.runtime, it));
    let instances = instances.collect::<Result<Vec<_>>>()?;
    let Some(first) = instances.first() else {
        return Ok(Vec::new());
    };
    let devices = first.devices.clone();
    let located = LocatedInputs::new(arguments.call.inputs, &prepared.values, &first.schedule)?;
    let borrowed = located.borrow()?;
    let on_device = arguments.call.device_outputs();
    if on_device && devices.is_empty() {
        return Err(Failure::new(
            "the method uses no device, so its outputs can only be on the host",
        )
        .hint("--outputs host"));
    }
    let mut calls = Calls {
        instances,
        prepared: &prepared,
        inputs: &borrowed.inputs(&prepared.values)?,
        options: arguments.call.run_options(),
        devices: if on_device { &devices } else { &[] },
    };
    let (first_calls, series) = calls.measure(options, trace)?;
    let inputs = describe(&prepared, &located);
    let instances = calls.instances.iter().zip(first_calls).zip(series);
    let measured = variants.iter().zip(instances);
    let measured = measured.map(|(&shared_scratch, ((instance, first), times))| Measured {
        program: source.path.display().to_string(),
        method: chosen.info.name.clone(),
        inputs: inputs.clone(),
        load: instance.load,
        first,
        times,
        memory: instance.method.memory_used(),
        devices: instance.device_names(),
        shared_scratch,
        scratch: runtime.scratch(&devices).filter(|_| shared_scratch),
    });
    Ok(measured.collect())
}

/// The inputs in words: type, source and location.
fn describe(prepared: &Prepared, located: &LocatedInputs) -> Vec<String> {
    let describe = |((value, source), location): ((&Value, &String), String)| {
        format!("{} {source}, {location}", type_and_shape(value.as_output()))
    };
    let inputs = prepared.values.iter().zip(&prepared.sources);
    inputs.zip(located.in_words()).map(describe).collect()
}

impl<'a> Calls<'a> {
    /// Makes the first call of each instance, the measured ones, and one more for the trace.
    fn measure(
        &mut self,
        options: &Options,
        trace: Option<&'a Trace>,
    ) -> Result<(Vec<Duration>, Vec<Series>)> {
        let series = 0..self.instances.len();
        let first = series.clone().map(|series| self.call(series));
        let first = first.map(|sample| Ok(sample?.complete));
        let first = first.collect::<Result<_, Stop>>().map_err(Stop::failure)?;
        let mut experiment = Experiment::comparison(options.warmup, options.repeat);
        if series.len() == 1 {
            experiment.rounds = 1;
        }
        let blocks: Vec<_> = series.clone().map(|series| vec![series]).collect();
        let all = experiment
            .measure(&blocks, |series| self.call(series))?
            .into_iter();
        let all = all.map(|series| series.map_err(Failure::new));
        let all = all.collect::<Result<_>>()?;
        if let Some(trace) = trace {
            self.options = self.options.clone().trace(trace);
            for series in series {
                self.call(series).map_err(Stop::failure)?;
            }
        }
        Ok((first, all))
    }

    /// Makes a call of an instance.
    fn call(&mut self, series: usize) -> Result<Sample, Stop> {
        let method = &mut self.instances[series].method;
        let sample = Sample::of_method(method, self.inputs, &self.options, self.devices);
        sample.map_err(|error| self.prepared.explain(error).into())
    }
}

fn report(arguments: &Arguments, threads: usize, all: &[Measured]) -> Report {
    let options = &arguments.options;
    let mut conditions = vec![format!(
        "{}, {} after the first and {} of warmup",
        text::count(threads, "thread"),
        text::count(options.repeat, "call"),
        options.warmup,
    )];
    if arguments.call.device_outputs() {
        conditions.push(
            "outputs stay on the device, whose stream is synchronized once after each call: times \
             are until then; `call` is the median until the call returns"
                .into(),
        );
    }
    Report {
        conditions,
        tables: vec![table(arguments, all)],
        notes: notes(all),
        json: json!({
            "options": {
                "threads": threads,
                "repeat": options.repeat,
                "warmup": options.warmup,
                "inputs": arguments.call.inputs.name(),
                "outputs": arguments.call.outputs.name(),
            },
            "programs": all.iter().map(|it| it.to_json(arguments)).collect::<Vec<_>>(),
            "peak_memory_bytes": peak_memory(),
        }),
    }
}

fn table(arguments: &Arguments, all: &[Measured]) -> Table {
    let on_device = arguments.call.device_outputs();
    let shows_scratch = arguments.shared_scratch != SharedScratch::Off;
    let mut heading = vec![
        "program", "method", "load", "first", "median", "p99", "best", "memory",
    ];
    heading.extend(on_device.then_some("call"));
    heading.extend(shows_scratch.then_some("scratch"));
    let mut table = Table::new(None, &heading);
    for measured in all {
        let times = &measured.times.complete;
        let mut row = vec![
            measured.program.clone(),
            text::printable(&measured.method),
            text::duration(measured.load),
            text::duration(measured.first),
            text::duration(times.median()),
            text::duration(times.p99()),
            text::duration(times.best()),
            text::bytes(measured.memory as u64),
        ];
        let returned = &measured.times.returned;
        row.extend(on_device.then(|| text::duration(returned.median())));
        let scratch = if measured.shared_scratch {
            "shared"
        } else {
            "own"
        };
        row.extend(shows_scratch.then(|| scratch.into()));
        table.rows.push(row);
    }
    table
}

fn notes(all: &[Measured]) -> Vec<String> {
    let mut notes = Vec::new();
    for measured in all {
        let program = &measured.program;
        let inputs = measured.inputs.iter().enumerate();
        notes.extend(inputs.map(|(index, input)| format!("{program} input {index}: {input}")));
        let devices = measured.devices.iter();
        notes.extend(devices.map(|device| format!("{program} uses {device}")));
        let scratch = measured.scratch.iter();
        notes.extend(scratch.map(|scratch| format!("{program} shares scratch: {scratch}")));
    }
    let peak = peak_memory().map(text::bytes);
    notes.extend(peak.map(|bytes| format!("peak memory of the process: {bytes}")));
    notes
}

impl Measured {
    fn to_json(&self, arguments: &Arguments) -> Json {
        let mut json = statistics(&self.times.complete);
        json["program"] = json!(self.program);
        json["method"] = json!(self.method);
        json["inputs"] = json!(self.inputs);
        json["load_us"] = micros(self.load).into();
        json["first_call_us"] = micros(self.first).into();
        json["memory_bytes"] = self.memory.into();
        json["devices"] = json!(self.devices);
        if arguments.shared_scratch != SharedScratch::Off {
            json["shared_scratch"] = self.shared_scratch.into();
            json["scratch"] = json!(self.scratch);
        }
        if arguments.call.device_outputs() {
            let returned = &self.times.returned;
            json["call_alone_median_us"] = micros(returned.median()).into();
            json["call_alone_p99_us"] = micros(returned.p99()).into();
            json["call_alone_best_us"] = micros(returned.best()).into();
            json["call_alone_mean_us"] = micros(returned.mean()).into();
        }
        json
    }
}
