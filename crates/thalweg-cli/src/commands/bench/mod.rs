//! `thalweg bench`: measures how long methods take.

mod alternate;
#[cfg(target_os = "linux")]
mod floor;
mod place;
mod scratch;
#[cfg(target_os = "linux")]
mod together;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use thalweg::{Device, Input, Method, RunOptions, Runtime, Schedule, Trace, Value};

use self::alternate::{Turns, alternate};
#[cfg(target_os = "linux")]
use self::floor::floor;
use self::place::{InputPlace, OutputPlace, Placed};
use self::scratch::{Held, Looked, SharedScratch};
#[cfg(target_os = "linux")]
use self::together::together;
use super::Verdict;
use super::graphs::Graphs;
use super::timing::Times;
use super::traced::{self, save};
use crate::failure::{Failure, Result};
use crate::input::{HELP, Prepared, Spec};
use crate::machine::{Machine, peak_memory};
use crate::profiles::Pinned;
use crate::program::Source;
use crate::summary::type_and_shape;
use crate::text;

/// What to measure, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Programs (.pte), or folders with one each
    #[arg(required = true, value_name = "PROGRAM")]
    programs: Vec<PathBuf>,
    /// The method [default: forward, or the only one]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    #[arg(long = "input", value_name = "SPEC", help = HELP)]
    specs: Vec<Spec>,
    /// Where inputs are when a call begins
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = InputPlace::Host)]
    inputs: InputPlace,
    /// Where outputs are when a call ends. On a device, its stream is synchronized once after each
    /// call, and times are until then; the time until the call returns is given, too
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = OutputPlace::Host)]
    outputs: OutputPlace,
    /// Whether what calls ask a device for is launched as graphs
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Graphs::Auto, conflicts_with = "floor")]
    graph: Graphs,
    /// Measures the method and its TensorRT engines by themselves in turn, in one process: what they
    /// take with as little around them as possible is the floor of what the method can take. If it has
    /// other delegates, the floor is the same call, recorded as one graph
    #[arg(long, conflicts_with_all = ["inputs", "outputs", "shared_scratch"])]
    floor: bool,
    /// Measures the programs, two at least, in one thread: each alone, all on one stream, and each on a
    /// stream of its own, where they can overlap. Outputs stay on the device
    #[arg(long, conflicts_with_all = ["floor", "alternate", "outputs", "shared_scratch"])]
    together: bool,
    /// Measures recorded calls of each program, each by itself and one after the other, in one process:
    /// all of them, or those with these numbers, from 0 on, each with the profile that follows an @
    #[arg(long, value_name = "CALL[@PROFILE],...", num_args = 0..=1, require_equals = true,
          default_missing_value = "all",
          conflicts_with_all = ["floor", "shared_scratch", "specs", "method"])]
    alternate: Option<Turns>,
    /// In how many rounds what alternates is measured; the first is not counted
    #[arg(long, value_name = "N", default_value_t = 6, requires = "alternate")]
    rounds: usize,
    #[command(flatten)]
    pinned: Pinned,
    /// Whether TensorRT engines share one scratch for each device
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = SharedScratch::Off,
          num_args = 0..=1, require_equals = true, default_missing_value = "on")]
    shared_scratch: SharedScratch,
    /// A data file (.ptd) [default: the one beside the program]
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// How many calls to measure
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = super::at_least_one)]
    repeat: usize,
    /// How many calls to make before that, besides the first
    #[arg(long, value_name = "N", default_value_t = 10)]
    warmup: usize,
    /// How many threads operators may use [default: all]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    threads: Option<usize>,
    /// Makes one more call of each after all others, which is not measured, and writes to this file what
    /// happens in it, to be opened in https://ui.perfetto.dev
    #[arg(long, value_name = "FILE", conflicts_with_all = ["floor", "alternate"])]
    trace: Option<PathBuf>,
    /// Prints the numbers as JSON, times in microseconds
    #[arg(long)]
    json: bool,
}

/// What was measured of one program.
#[derive(Debug)]
struct Measured {
    program: String,
    method: String,
    inputs: Vec<String>,
    load: Duration,
    first: Duration,
    times: Times,
    /// Until the call returned, where the device may not have finished then.
    alone: Option<Times>,
    memory: usize,
    /// The devices that the method uses.
    devices: Vec<String>,
    /// Whether engines share their scratch, and what there is of it then.
    shared_scratch: bool,
    held: Option<Held>,
}

/// A method that is measured, and what was.
struct Subject {
    shared_scratch: bool,
    method: Method,
    load: Duration,
    first: Duration,
    alone: Vec<Duration>,
    times: Vec<Duration>,
}

/// So often methods that are compared take turns, so that a clock that drifts drifts for all.
const ROUNDS: usize = 5;

/// Runs the command.
pub(crate) fn bench(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    if arguments.floor {
        return floor(arguments, out);
    }
    if arguments.together {
        return together(arguments, out);
    }
    if let Some(turns) = &arguments.alternate {
        return alternate(arguments, turns, out);
    }
    let looked = Looked::new(arguments.threads, arguments.shared_scratch);
    let trace = arguments.trace.as_ref().map(|_| Trace::new());
    let mut all = Vec::new();
    for program in &arguments.programs {
        let source = Source::find(program, &arguments.data)?;
        let measured = measure(arguments, &looked, &source, trace.as_ref())
            .map_err(|failure| failure.in_file(&source.path))?;
        all.extend(measured);
    }
    let saved = match (&trace, &arguments.trace) {
        (Some(trace), Some(path)) => save(trace, path)?,
        _ => Vec::new(),
    };
    let runtime = &looked.runtime;
    let machine = Machine::look();
    if arguments.json {
        print_json(arguments, runtime, &machine, &all, out)?;
    } else {
        print_table(arguments, runtime, &machine, &all, out)?;
        traced::print(&saved, out)?;
    }
    Ok(Verdict::Right)
}

fn measure(
    arguments: &Arguments,
    looked: &Looked,
    source: &Source,
    trace: Option<&Trace>,
) -> Result<Vec<Measured>> {
    let runtime = &looked.runtime;
    let load = |shared| {
        let method = arguments.method.as_deref();
        let options = arguments.pinned.load_options(scratch::options(shared));
        source.load(runtime, method, options)
    };
    let variants = arguments.shared_scratch.variants();
    let chosen = variants.iter().map(|&shared| load(shared));
    let all: Vec<_> = chosen.collect::<Result<_>>()?;
    let Some(chosen) = all.first() else {
        return Ok(Vec::new());
    };
    let prepared = source.inputs(chosen, &arguments.specs)?;
    let subjects = variants.iter().zip(&all).map(|(&shared_scratch, chosen)| {
        let start = Instant::now();
        let method = chosen.instance()?;
        Ok(Subject {
            shared_scratch,
            method,
            load: start.elapsed(),
            first: Duration::ZERO,
            alone: Vec::with_capacity(arguments.repeat.min(1 << 20)),
            times: Vec::with_capacity(arguments.repeat.min(1 << 20)),
        })
    });
    let mut subjects: Vec<_> = subjects.collect::<Result<_>>()?;
    let schedule = chosen.program.schedule(&chosen.info.name)?;
    let devices = devices(runtime, &schedule)?;
    let placed = Placed::new(arguments.inputs, &prepared.values, &schedule)?;
    let lent = placed.lend()?;
    let inputs = lent.inputs(&prepared.values)?;
    let on_device = arguments.outputs == OutputPlace::Device;
    if on_device && devices.is_empty() {
        return Err(Failure::new(
            "the method uses no device, so its outputs can only be on the host",
        )
        .hint("--outputs host"));
    }
    let options = RunOptions::new()
        .device_outputs(on_device)
        .graph(arguments.graph.into());
    let waits = if on_device { &*devices } else { &[] };
    let call = |method: &mut Method| {
        timed(method, &inputs, &options, waits).map_err(|error| explained(error, &prepared))
    };
    for subject in &mut subjects {
        (_, subject.first) = call(&mut subject.method)?;
    }
    let rounds = match subjects.len() {
        1 => 1,
        _ => ROUNDS.min(arguments.repeat),
    };
    for round in 0..rounds {
        let repeat = (arguments.repeat + round) / rounds;
        for subject in &mut subjects {
            for _ in 0..arguments.warmup {
                call(&mut subject.method)?;
            }
            for _ in 0..repeat {
                let (returned, finished) = call(&mut subject.method)?;
                subject.alone.push(returned);
                subject.times.push(finished);
            }
        }
    }
    if let Some(trace) = trace {
        let options = options.clone().trace(trace);
        for subject in &mut subjects {
            let traced = timed(&mut subject.method, &inputs, &options, waits);
            traced.map_err(|error| explained(error, &prepared))?;
        }
    }
    let describe = |((value, source), place): ((&Value, &String), String)| {
        format!("{} {source}, {place}", type_and_shape(value.as_output()))
    };
    let inputs = prepared.values.iter().zip(&prepared.sources);
    let inputs = inputs.zip(placed.in_words());
    let inputs: Vec<_> = inputs.map(describe).collect();
    let measured = subjects.into_iter().map(|subject| Measured {
        program: source.path.display().to_string(),
        method: chosen.info.name.clone(),
        inputs: inputs.clone(),
        load: subject.load,
        first: subject.first,
        times: Times::new(subject.times),
        alone: on_device.then(|| Times::new(subject.alone)),
        memory: subject.method.memory_used(),
        devices: devices.iter().map(|device| device.name()).collect(),
        shared_scratch: subject.shared_scratch,
        held: looked.held(&devices).filter(|_| subject.shared_scratch),
    });
    Ok(measured.collect())
}

/// Elsewhere there is no TensorRT.
#[cfg(not(target_os = "linux"))]
fn floor(_: &Arguments, _: &mut dyn Write) -> Result<Verdict> {
    Err(Failure::new(
        "floors are those of TensorRT engines, which run on Linux only",
    ))
}

/// Elsewhere no method uses a device.
#[cfg(not(target_os = "linux"))]
fn together(_: &Arguments, _: &mut dyn Write) -> Result<Verdict> {
    Err(Failure::new(
        "programs overlap on streams of a device, and devices are used on Linux only",
    ))
}

/// Makes one call. Gives the time until it returned, and until the devices to wait for had finished.
fn timed<'m>(
    method: &'m mut Method,
    inputs: &[Input<'m>],
    options: &RunOptions<'_>,
    waits: &[Arc<dyn Device>],
) -> thalweg::Result<(Duration, Duration)> {
    let start = Instant::now();
    method.run_with(inputs, options)?;
    let alone = start.elapsed();
    if waits.is_empty() {
        return Ok((alone, alone));
    }
    for device in waits {
        device.synchronize(device.default_stream())?;
    }
    Ok((alone, start.elapsed()))
}

/// What has failed in a call, and what to try if its inputs were made up.
fn explained(error: thalweg::Error, prepared: &Prepared) -> Failure {
    let failure = Failure::from(error);
    if prepared.made_up() {
        failure.hint(crate::input::MADE_UP)
    } else {
        failure
    }
}

/// The devices that a method uses.
fn devices(runtime: &Runtime, schedule: &Schedule) -> Result<Vec<Arc<dyn Device>>> {
    let devices = schedule.device_bytes.iter();
    let devices = devices.map(|&(id, _)| runtime.device(id));
    Ok(devices.collect::<thalweg::Result<_>>()?)
}

fn print_table(
    arguments: &Arguments,
    runtime: &Runtime,
    machine: &Machine,
    all: &[Measured],
    out: &mut dyn Write,
) -> Result<()> {
    print_machine(machine, out)?;
    writeln!(
        out,
        "{}, {} after the first and {} of warmup",
        text::count(runtime.threads(), "thread"),
        text::count(arguments.repeat, "call"),
        arguments.warmup,
    )?;
    print_build(out)?;
    let on_device = arguments.outputs == OutputPlace::Device;
    if on_device {
        writeln!(
            out,
            "outputs stay on the device, whose stream is synchronized once after each call: times \
             are until then; `call` is the median until the call returns"
        )?;
    }
    let heading = [
        "program", "method", "load", "first", "median", "p99", "best", "memory",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    if on_device {
        rows[0].push("call".into());
    }
    let tells_scratch = arguments.shared_scratch != SharedScratch::Off;
    if tells_scratch {
        rows[0].push("scratch".into());
    }
    rows.extend(all.iter().map(|measured| {
        let times = &measured.times;
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
        let alone = measured.alone.as_ref();
        row.extend(alone.map(|alone| text::duration(alone.median())));
        let scratch = if measured.shared_scratch {
            "shared"
        } else {
            "own"
        };
        row.extend(tells_scratch.then(|| scratch.into()));
        row
    }));
    out.write_all(text::columns("", rows).as_bytes())?;
    for measured in all {
        for (index, input) in measured.inputs.iter().enumerate() {
            writeln!(out, "{} input {index}: {input}", measured.program)?;
        }
        for device in &measured.devices {
            writeln!(out, "{} uses {device}", measured.program)?;
        }
        if let Some(held) = &measured.held {
            writeln!(
                out,
                "{} shares scratch: {}",
                measured.program,
                held.in_words()
            )?;
        }
    }
    if let Some(bytes) = peak_memory() {
        writeln!(out, "peak memory of the process: {}", text::bytes(bytes))?;
    }
    Ok(())
}

fn print_machine(machine: &Machine, out: &mut dyn Write) -> Result<()> {
    Ok(writeln!(
        out,
        "{}, {}, {} {}; thalweg {}",
        machine.cpu_or_arch(),
        text::count(machine.cores, "core"),
        machine.os,
        machine.arch,
        env!("CARGO_PKG_VERSION"),
    )?)
}

fn print_build(out: &mut dyn Write) -> Result<()> {
    if cfg!(debug_assertions) {
        writeln!(
            out,
            "note: this build has debug assertions; measure with --release"
        )?;
    }
    Ok(())
}

/// As numbers are in JSON.
fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn print_json(
    arguments: &Arguments,
    runtime: &Runtime,
    machine: &Machine,
    all: &[Measured],
    out: &mut dyn Write,
) -> Result<()> {
    let programs: Vec<_> = all
        .iter()
        .map(|measured| {
            let times = &measured.times;
            let mut numbers = json!({
                "program": measured.program,
                "method": measured.method,
                "inputs": measured.inputs,
                "calls": times.len(),
                "load_us": micros(measured.load),
                "first_call_us": micros(measured.first),
                "median_us": micros(times.median()),
                "p99_us": micros(times.p99()),
                "best_us": micros(times.best()),
                "mean_us": micros(times.mean()),
                "memory_bytes": measured.memory,
                "devices": measured.devices,
            });
            if arguments.shared_scratch != SharedScratch::Off {
                numbers["shared_scratch"] = measured.shared_scratch.into();
                numbers["scratch"] = json!(measured.held);
            }
            if let Some(alone) = &measured.alone {
                numbers["call_alone_median_us"] = micros(alone.median()).into();
                numbers["call_alone_p99_us"] = micros(alone.p99()).into();
                numbers["call_alone_best_us"] = micros(alone.best()).into();
                numbers["call_alone_mean_us"] = micros(alone.mean()).into();
            }
            numbers
        })
        .collect();
    let report = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "debug_assertions": cfg!(debug_assertions),
        "machine": machine,
        "options": {
            "threads": runtime.threads(),
            "repeat": arguments.repeat,
            "warmup": arguments.warmup,
            "inputs": arguments.inputs.name(),
            "outputs": arguments.outputs.name(),
        },
        "programs": programs,
        "peak_memory_bytes": peak_memory(),
    });
    Ok(writeln!(out, "{report:#}")?)
}
