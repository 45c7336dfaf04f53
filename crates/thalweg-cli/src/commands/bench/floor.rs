//! `thalweg bench --floor`: a method beside its TensorRT engines by themselves; or, if it has other
//! delegates, beside the same call as one graph.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use thalweg::Value;
use thalweg::cuda::{CallGraph, Driver};
use thalweg::tensorrt::{NAME, Options, TensorRt};
use thalweg::{Device, GraphUse, How, Input, LoadOptions, Method, Output, RunOptions, Runtime};
use thalweg_baseline::{Baseline as Floor, Recorder as Watched, Variant as Around};

use super::place::{InputPlace, Placed};
use super::{Arguments, devices, explained, micros, print_build, print_machine, timed};
use crate::commands::Verdict;
use crate::commands::timing::Times;
use crate::failure::{Failure, Result, with_causes};
use crate::input::Prepared;
use crate::machine::Machine;
use crate::program::{Chosen, Source};
use crate::text;

/// So often the method and the floors take turns, so that a clock that drifts drifts for all.
const ROUNDS: usize = 5;

/// How often the method and its engines are loaded, besides the first time.
const LOADS: usize = 20;

/// The third call of a kind is recorded as a graph, and the one after it is the first that is like
/// those that follow.
const LEAST_WARMUP: usize = 3;

/// Compiled libraries do in their first two runs what later ones do not.
const LEAST_CALLS: usize = LEAST_WARMUP + 2;

/// Where the method has inputs and outputs, and what the engines have around them for that.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    inputs: InputPlace,
    /// Whether outputs stay on the device.
    leaves_outputs: bool,
    graph: GraphUse,
    around: Around,
}

const KINDS: [Kind; 4] = [
    Kind {
        name: "pinned",
        inputs: InputPlace::Pinned,
        leaves_outputs: false,
        graph: GraphUse::Off,
        around: Around::Pinned,
    },
    Kind {
        name: "pinned, graph",
        inputs: InputPlace::Pinned,
        leaves_outputs: false,
        graph: GraphUse::On,
        around: Around::PinnedGraph,
    },
    Kind {
        name: "device",
        inputs: InputPlace::Device,
        leaves_outputs: true,
        graph: GraphUse::Off,
        around: Around::Nothing,
    },
    Kind {
        name: "pageable",
        inputs: InputPlace::Host,
        leaves_outputs: false,
        graph: GraphUse::Off,
        around: Around::Pageable,
    },
];

/// What was measured of one program.
struct Measured {
    program: String,
    method: String,
    engines: usize,
    /// Bytes to the device and from it, in floors with copies.
    copied: (usize, usize),
    /// What the method does beside running engines, in words.
    besides: Vec<String>,
    /// Whether the engines by themselves gave what the method gives.
    same_outputs: bool,
    kinds: Vec<Pair>,
    devices: Vec<String>,
}

/// What was measured of one kind, or of loading; the reason, of what could not be.
struct Pair {
    name: &'static str,
    method: Result<Times, String>,
    floor: Result<Times, String>,
}

/// Runs the command.
pub(super) fn floor(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    let mut all = Vec::new();
    for program in &arguments.programs {
        let source = Source::find(program, &arguments.data)?;
        let measured =
            measure(arguments, &source).map_err(|failure| failure.in_file(&source.path))?;
        all.push(measured);
    }
    let machine = Machine::look();
    if arguments.json {
        print_json(arguments, &machine, &all, out)?;
    } else {
        print_table(arguments, &machine, &all, out)?;
    }
    Ok(Verdict::Right)
}

fn measure(arguments: &Arguments, source: &Source) -> Result<Measured> {
    let load = |runtime: &Runtime| {
        let options = arguments.pinned.load_options(LoadOptions::new());
        source.load(runtime, arguments.method.as_deref(), options)
    };
    // Without TensorRT, this says what is missing in a program without engines, too.
    let chosen = load(&crate::commands::runtime(arguments.threads))?;
    let backends = &chosen.info.backends;
    if backends.is_empty() {
        return Err(Failure::new(format!(
            "method {} has no delegates, so there is no floor to measure",
            chosen.info.name
        ))
        .hint("bench without --floor"));
    }
    if backends.iter().any(|name| name != NAME) {
        return measure_call(arguments, source, &chosen);
    }
    let driver = Driver::open(None)?;
    let tensorrt = TensorRt::find(&driver, &Options::new())?;
    // The engines of both are the same.
    let watched = Watched::new(&tensorrt);
    let builder = || match arguments.threads {
        Some(threads) => Runtime::builder().threads(threads),
        None => Runtime::builder(),
    };
    let runtime: Runtime = builder().backend(NAME, tensorrt).build().into();
    let chosen = load(&runtime)?;
    let prepared = source.inputs(&chosen, &arguments.specs)?;
    let mut instance = chosen.instance()?;

    let watching: Runtime = builder().backend(NAME, watched.clone()).build().into();
    let outputs = call_watched(&load(&watching)?, &prepared)?;
    let outputs: Vec<_> = outputs.iter().filter_map(bytes).collect();
    let inputs: Vec<_> = prepared.values.iter().filter_map(bytes).collect();
    let mut floor = watched.baseline(&inputs, &outputs)?;

    let schedule = chosen.program.schedule(&chosen.info.name)?;
    let devices = devices(&runtime, &schedule)?;
    if devices.is_empty() {
        return Err(Failure::new(
            "the method has all its memory on the host, and its engines copy by themselves; a \
             floor is measured of methods that have memory on a device",
        ));
    }
    let placed = KINDS.map(|kind| Placed::new(kind.inputs, &prepared.values, &schedule));
    let placed: Vec<_> = placed.into_iter().collect::<Result<_>>()?;
    let lent: Vec<_> = placed.iter().map(Placed::lend).collect::<Result<_>>()?;
    let inputs = lent.iter().map(|lent| lent.inputs(&prepared.values));
    let inputs: Vec<_> = inputs.collect::<Result<_>>()?;
    let mut turns = KINDS.map(Turn::of);
    let rounds = ROUNDS.min(arguments.repeat);
    let block = Block {
        warmup: arguments.warmup.max(LEAST_WARMUP),
        repeat: arguments.repeat.div_ceil(rounds),
        devices: &devices,
    };
    for _ in 0..rounds {
        for (turn, inputs) in turns.iter_mut().zip(&inputs) {
            turn.method(&mut instance, inputs, &block)
                .map_err(|error| explained(error, &prepared))?;
            turn.floor(&mut floor, &block)?;
        }
    }
    let same_outputs = floor
        .outputs()?
        .iter()
        .eq(outputs.iter().filter(|output| !output.is_empty()));
    let apart = TensorRt::find(&driver, &Options::new())?;
    let apart: Runtime = builder().backend(NAME, apart).build().into();
    let loading = loading(arguments, source, &apart, &floor)?;
    Ok(Measured {
        program: source.path.display().to_string(),
        method: chosen.info.name.clone(),
        engines: floor.engines(),
        copied: floor.copied(),
        besides: besides(&chosen, &schedule),
        same_outputs,
        kinds: turns.into_iter().map(Turn::pair).chain([loading]).collect(),
        devices: devices.iter().map(|device| device.name()).collect(),
    })
}

/// Measures a method beside the same call as one graph, with delegates of any backend.
fn measure_call(arguments: &Arguments, source: &Source, chosen: &Chosen) -> Result<Measured> {
    let runtime = crate::commands::runtime(arguments.threads);
    let prepared = source.inputs(chosen, &arguments.specs)?;
    let schedule = chosen.program.schedule(&chosen.info.name)?;
    let devices = devices(&runtime, &schedule)?;
    let [device] = &*devices else {
        return Err(Failure::new(format!(
            "the method has memory on {}; a floor is measured on one",
            text::count(devices.len(), "device")
        )));
    };
    let kind = KINDS[1];
    let placed = Placed::new(kind.inputs, &prepared.values, &schedule)?;
    let lent = placed.lend()?;
    let inputs = lent.inputs(&prepared.values)?;
    let mut instance = chosen.instance()?;
    let ordinal = usize::try_from(device.id().index).unwrap_or(0);
    let on = Driver::open(None)?.device(ordinal)?;
    let (program, name) = (&chosen.program, &chosen.info.name);
    let floor = CallGraph::record(&on, program, name, &prepared.values);
    let floor = floor.map_err(|error| with_causes(&error));
    let mut turn = Turn::of(kind);
    let rounds = ROUNDS.min(arguments.repeat);
    let block = Block {
        warmup: arguments.warmup.max(LEAST_CALLS),
        repeat: arguments.repeat.div_ceil(rounds),
        devices: &devices,
    };
    for _ in 0..rounds {
        turn.method(&mut instance, &inputs, &block)
            .map_err(|error| explained(error, &prepared))?;
        turn.floor = match (turn.floor, &floor) {
            (Ok(mut times), Ok(floor)) => {
                for number in 0..block.warmup + block.repeat {
                    let start = Instant::now();
                    floor.launch()?;
                    if number >= block.warmup {
                        times.push(start.elapsed());
                    }
                }
                Ok(times)
            }
            (_, Err(why)) => Err(why.clone()),
            (why, _) => why,
        };
    }
    let outputs = instance
        .run(&inputs)
        .and_then(|outputs| outputs.to_values());
    let outputs = outputs.map_err(|error| explained(error, &prepared))?;
    let outputs: Vec<_> = outputs.iter().filter_map(bytes).collect();
    let same_outputs = match &floor {
        Ok(floor) => floor.outputs()?.iter().eq(outputs.iter()),
        Err(_) => true,
    };
    let mut loads = Vec::new();
    for number in 0..=LOADS.min(arguments.repeat) {
        let start = Instant::now();
        let options = arguments.pinned.load_options(LoadOptions::new());
        let again = source.load(&runtime, arguments.method.as_deref(), options)?;
        let instance = again.instance()?;
        // The first one makes what all share.
        if number > 0 {
            loads.push(start.elapsed());
        }
        drop((instance, again));
    }
    let loading = Pair {
        name: "load",
        method: Ok(Times::new(loads)),
        floor: Err("only engines are loaded by themselves".into()),
    };
    Ok(Measured {
        program: source.path.display().to_string(),
        method: name.clone(),
        engines: 0,
        copied: floor.as_ref().map_or((0, 0), CallGraph::copied),
        besides: Vec::new(),
        same_outputs,
        kinds: vec![turn.pair(), loading],
        devices: devices.iter().map(|device| device.name()).collect(),
    })
}

/// Makes a call whose engines are watched. Gives its outputs.
fn call_watched(chosen: &Chosen, prepared: &Prepared) -> Result<Vec<Value>> {
    let inputs = prepared.values.iter().map(Value::as_input);
    let inputs = inputs.collect::<thalweg::Result<Vec<_>>>()?;
    let mut instance = chosen.instance()?;
    let outputs = instance.run(&inputs);
    let outputs = outputs.and_then(|outputs| outputs.to_values());
    outputs.map_err(|error| explained(error, prepared))
}

/// Loads the program and the method again and again, and lets TensorRT make the engines by
/// themselves, in turn. `runtime` has an own TensorRT, which has no engine yet.
fn loading(
    arguments: &Arguments,
    source: &Source,
    runtime: &Runtime,
    floor: &Floor,
) -> Result<Pair> {
    let (mut method, mut alone) = (Vec::new(), Vec::new());
    for number in 0..=LOADS.min(arguments.repeat) {
        let start = Instant::now();
        let options = arguments.pinned.load_options(LoadOptions::new());
        let chosen = source.load(runtime, arguments.method.as_deref(), options)?;
        let instance = chosen.instance()?;
        let time = start.elapsed();
        drop((instance, chosen));
        let floor = floor.measure_loading(1)?;
        // The first one makes what all share.
        if number > 0 {
            method.push(time);
            alone.extend(floor);
        }
    }
    Ok(Pair {
        name: "load",
        method: Ok(Times::new(method)),
        floor: Ok(Times::new(alone)),
    })
}

fn bytes(value: &Value) -> Option<&[u8]> {
    match value.as_output() {
        Output::Tensor(tensor) => Some(tensor.bytes()),
        _ => None,
    }
}

/// What a method does that is not in a floor.
fn besides(chosen: &Chosen, schedule: &thalweg::Schedule) -> Vec<String> {
    let on_host = schedule.steps.iter().filter(|step| step.how == How::Host);
    let on_host = on_host.count();
    let mut others: Vec<_> = chosen.info.backends.iter().collect();
    others.retain(|name| *name != NAME);
    others.sort_unstable();
    others.dedup();
    let others = others
        .into_iter()
        .map(|name| format!("delegates of {name}"));
    let operators = (on_host > 0).then(|| text::count(on_host, "operator") + " on the host");
    operators.into_iter().chain(others).collect()
}

/// What is done in one turn, of the method as of the floor.
struct Block<'d> {
    warmup: usize,
    repeat: usize,
    devices: &'d [Arc<dyn Device>],
}

/// The times of one kind, as they come in.
struct Turn {
    kind: Kind,
    method: Result<Vec<Duration>, String>,
    floor: Result<Vec<Duration>, String>,
}

impl Turn {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            method: Ok(Vec::new()),
            floor: Ok(Vec::new()),
        }
    }

    fn method(
        &mut self,
        instance: &mut Method,
        inputs: &[Input<'_>],
        block: &Block<'_>,
    ) -> thalweg::Result<()> {
        let Ok(times) = &mut self.method else {
            return Ok(());
        };
        let kind = self.kind;
        let options = RunOptions::new()
            .device_outputs(kind.leaves_outputs)
            .graph(kind.graph);
        let waits = if kind.leaves_outputs {
            block.devices
        } else {
            &[]
        };
        for number in 0..block.warmup.saturating_add(block.repeat) {
            match timed(instance, inputs, &options, waits) {
                Ok((_, time)) if number >= block.warmup => times.push(time),
                Ok(_) => {}
                Err(error) if kind.graph == GraphUse::On => {
                    self.method = Err(with_causes(&error));
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn floor(&mut self, floor: &mut Floor, block: &Block<'_>) -> thalweg::Result<()> {
        let Ok(times) = &mut self.floor else {
            return Ok(());
        };
        match floor.measure(self.kind.around, block.warmup, block.repeat) {
            Ok(more) => times.extend(more),
            // Not every engine can be recorded.
            Err(error) if self.kind.around == Around::PinnedGraph => {
                self.floor = Err(with_causes(&error));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn pair(self) -> Pair {
        Pair {
            name: self.kind.name,
            method: self.method.map(Times::new),
            floor: self.floor.map(Times::new),
        }
    }
}

impl Pair {
    /// How many times the floor the method takes, and how many microseconds more, by medians.
    fn compared(&self) -> Option<(f64, f64)> {
        let (Ok(method), Ok(floor)) = (&self.method, &self.floor) else {
            return None;
        };
        let (method, floor) = (micros(method.median()), micros(floor.median()));
        Some((method / floor, method - floor))
    }

    /// What could not be measured, with the reason.
    fn reasons(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let method = self.method.as_ref().err().map(|why| ("method", why));
        let floor = self.floor.as_ref().err().map(|why| ("floor", why));
        method.into_iter().chain(floor)
    }
}

fn print_table(
    arguments: &Arguments,
    machine: &Machine,
    all: &[Measured],
    out: &mut dyn Write,
) -> Result<()> {
    print_machine(machine, out)?;
    let rounds = ROUNDS.min(arguments.repeat);
    writeln!(
        out,
        "{} of each, in turns of {} after {} of warmup; `floor` is the engines by themselves, or the \
         call as one graph, until one synchronize. `load`: {} of program and method, and of the engines alone",
        text::count(arguments.repeat.div_ceil(rounds) * rounds, "call"),
        arguments.repeat.div_ceil(rounds),
        arguments.warmup.max(LEAST_WARMUP),
        text::count(LOADS.min(arguments.repeat), "load"),
    )?;
    print_build(out)?;
    let heading = [
        "program", "method", "memory", "median", "floor", "ratio", "over",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    for measured in all {
        rows.extend(measured.kinds.iter().map(|pair| {
            let median = |times: &Result<Times, String>| match times {
                Ok(times) => text::duration(times.median()),
                Err(_) => "-".into(),
            };
            let (ratio, over) = match pair.compared() {
                Some((ratio, over)) => (format!("{ratio:.2}"), format!("{over:.1} µs")),
                None => ("-".into(), "-".into()),
            };
            vec![
                measured.program.clone(),
                text::printable(&measured.method),
                pair.name.into(),
                median(&pair.method),
                median(&pair.floor),
                ratio,
                over,
            ]
        }));
    }
    out.write_all(text::columns("", rows).as_bytes())?;
    for measured in all {
        let program = &measured.program;
        let (to, from) = measured.copied;
        let floor = match measured.engines {
            0 => "the floor is the whole call as one graph".into(),
            engines => text::count(engines, "call") + " of engines",
        };
        writeln!(
            out,
            "{program}: {floor}; floors with copies bring {} to the device and {} back",
            text::bytes(to as u64),
            text::bytes(from as u64),
        )?;
        if !measured.besides.is_empty() {
            writeln!(
                out,
                "{program}: the floor is that of the engines alone; the method also runs {}",
                measured.besides.join(" and ")
            )?;
        }
        if !measured.same_outputs {
            writeln!(
                out,
                "{program}: the floor gave other outputs than the method, as it does where delegates \
                 update state or depend on what the host computes between them"
            )?;
        }
        for pair in &measured.kinds {
            for (what, why) in pair.reasons() {
                writeln!(out, "{program}: no {what} for `{}`: {why}", pair.name)?;
            }
        }
        for device in &measured.devices {
            writeln!(out, "{program} uses {device}")?;
        }
    }
    Ok(())
}

fn print_json(
    arguments: &Arguments,
    machine: &Machine,
    all: &[Measured],
    out: &mut dyn Write,
) -> Result<()> {
    let numbers = |times: &Times| {
        json!({
            "calls": times.len(),
            "median_us": micros(times.median()),
            "p99_us": micros(times.p99()),
            "best_us": micros(times.best()),
            "mean_us": micros(times.mean()),
        })
    };
    let times = |times: &Result<Times, String>| match times {
        Ok(times) => numbers(times),
        Err(why) => json!({ "not_measured": why }),
    };
    let programs = all.iter().map(|measured| {
        let kinds = measured.kinds.iter().map(|pair| {
            let (ratio, over) = pair.compared().unzip();
            json!({
                "memory": pair.name,
                "method": times(&pair.method),
                "floor": times(&pair.floor),
                "ratio": ratio,
                "over_us": over,
            })
        });
        json!({
            "program": measured.program,
            "method": measured.method,
            "engine_calls": measured.engines,
            "bytes_to_device": measured.copied.0,
            "bytes_to_host": measured.copied.1,
            "not_in_floor": measured.besides,
            "same_outputs": measured.same_outputs,
            "kinds": kinds.collect::<Vec<_>>(),
            "devices": measured.devices,
        })
    });
    let report = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "debug_assertions": cfg!(debug_assertions),
        "machine": machine,
        "options": {
            "repeat": arguments.repeat,
            "warmup": arguments.warmup.max(LEAST_WARMUP),
            "loads": LOADS.min(arguments.repeat),
            "rounds": ROUNDS.min(arguments.repeat),
        },
        "programs": programs.collect::<Vec<_>>(),
    });
    Ok(writeln!(out, "{report:#}")?)
}
