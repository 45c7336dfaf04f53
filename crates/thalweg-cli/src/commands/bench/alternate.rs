//! `thalweg bench alternate`: recorded calls that alternate, beside the same calls repeated.

use std::io::Write;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use thalweg::extend::Device;
use thalweg::info::Schedule;
use thalweg::{Input, LoadOptions, Method, Profile, Program, RunOptions, Runtime};

use super::experiment::{Experiment, Series, Stop};
use super::instance::devices;
use super::location::LocatedInputs;
use super::options::{CallOptions, Options};
use super::report::{Report, Table, micros, statistics};
use super::sample::Sample;
use super::turns::{Turn, Turns};
use crate::commands::times::Times;
use crate::failure::{Failure, Result};
use crate::fixture::RecordedCall;
use crate::program::Source;
use crate::summary::type_and_shape;
use crate::text;

/// The recorded calls to measure.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The recorded calls, by number from 0 on. A profile after `@` is pinned for the call
    #[arg(long, value_name = "CALL[@PROFILE],...", default_value = "all")]
    calls: Turns,
    /// The number of rounds, of which the first is not counted
    #[arg(long, value_name = "N", default_value_t = 6)]
    rounds: usize,
    #[command(flatten)]
    call: CallOptions,
    #[command(flatten)]
    options: Options,
}

/// The order of calls.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// Each call after one of its kind.
    Staying,
    /// Each call after one of another kind.
    Alternating,
    /// Alternating calls on engines that have one context, which switches from profile to profile.
    OneContext,
}

/// The modes of engines that have a context for each profile.
const CONTEXTS: [Mode; 2] = [Mode::Staying, Mode::Alternating];

/// The modes of engines that have one context.
const ONE_CONTEXT: [Mode; 1] = [Mode::OneContext];

/// The times of one program.
struct Measured {
    program: String,
    calls: Vec<MeasuredCall>,
}

/// The times of a recorded call.
struct MeasuredCall {
    what: String,
    modes: Vec<(Mode, Times)>,
}

/// The calls of a program, ready to be made. Series are numbered by mode, and by call within a mode.
struct Calls<'a> {
    turns: &'a [(Turn, &'a RecordedCall)],
    instances: Instances,
    inputs: Vec<Vec<Input<'a>>>,
    options: &'a [RunOptions<'a>],
    /// The devices to wait for after a call.
    devices: Vec<Arc<dyn Device>>,
}

/// Instances of methods, by name.
#[derive(Default)]
struct Instances(Vec<(String, Method)>);

/// Runs the experiment.
pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    if arguments.rounds < 2 {
        return Err(Failure::new(
            "the first round is not counted, so that one round leaves nothing to measure",
        )
        .hint("--rounds 2, or more"));
    }
    let all = arguments
        .options
        .each(|source| measure(arguments, source))?;
    report(arguments, &all).print(arguments.options.json, out)
}

fn measure(arguments: &Arguments, source: &Source) -> Result<Measured> {
    let turns = arguments.calls.find(source.recorded_calls())?;
    let runtime = arguments.options.threads.runtime();
    let profiles = turns
        .iter()
        .map(|(turn, _)| turn.profile.map(Profile::index));
    let profiles: Vec<_> = profiles.collect();
    let options = profiles.iter().map(|profile| {
        let options = arguments.call.run_options();
        match profile {
            Some(profile) => options.profile(profile),
            None => options,
        }
    });
    let options: Vec<_> = options.collect();
    let mut calls: Vec<_> = turns.iter().map(MeasuredCall::new).collect();
    // One after the other, since calls of one program are not to wait for memory of the other.
    for (modes, one_context) in [(&CONTEXTS[..], false), (&ONE_CONTEXT[..], true)] {
        let load = context_options(one_context);
        let load = arguments.options.load_options(load);
        let first = turns.first().map(|(_, call)| &*call.method);
        let program = source.load(&runtime, first, load)?.program;
        let series = measure_modes(arguments, &runtime, &program, &turns, &options, modes)?;
        for (index, series) in series.into_iter().enumerate() {
            let mode = modes[index / turns.len()];
            calls[index % turns.len()]
                .modes
                .push((mode, series.complete));
        }
    }
    Ok(Measured {
        program: source.path.display().to_string(),
        calls,
    })
}

/// Measures the calls in some modes. Returns their series.
fn measure_modes(
    arguments: &Arguments,
    runtime: &Runtime,
    program: &Program,
    turns: &[(Turn, &RecordedCall)],
    options: &[RunOptions<'_>],
    modes: &[Mode],
) -> Result<Vec<Series>> {
    let (mut instances, mut used, mut located) = (Instances::default(), Vec::new(), Vec::new());
    for (_, call) in turns {
        instances.add(&call.method, || program.method(&call.method))?;
        let schedule = program.schedule(&call.method)?;
        located.push(LocatedInputs::new(
            arguments.call.inputs,
            &call.inputs,
            &schedule,
        )?);
        if arguments.call.device_outputs() {
            add_devices(&mut used, runtime, &schedule)?;
        }
    }
    let borrowed = located.iter().map(LocatedInputs::borrow);
    let borrowed = borrowed.collect::<Result<Vec<_>>>()?;
    let inputs = borrowed.iter().zip(turns);
    let inputs = inputs.map(|(borrowed, (_, call))| borrowed.inputs(&call.inputs));
    let mut calls = Calls {
        turns,
        instances,
        inputs: inputs.collect::<Result<_>>()?,
        options,
        devices: used,
    };
    let experiment = Experiment {
        rounds: arguments.rounds,
        uncounted: 1,
        warmup: arguments.options.warmup,
        repeat: arguments.options.repeat,
    };
    let count = turns.len();
    let blocks = modes.iter().enumerate().flat_map(|(index, mode)| {
        let series = index * count..(index + 1) * count;
        match mode {
            Mode::Staying => series.map(|series| vec![series]).collect(),
            Mode::Alternating | Mode::OneContext => vec![series.collect()],
        }
    });
    let blocks: Vec<_> = blocks.collect();
    let series = experiment.measure(&blocks, |series| calls.call(series))?;
    let series = series.into_iter();
    series.map(|series| series.map_err(Failure::new)).collect()
}

impl Calls<'_> {
    /// Makes a call of a series.
    fn call(&mut self, series: usize) -> Result<Sample, Stop> {
        let turn = series % self.turns.len();
        let method = self.instances.get(&self.turns[turn].1.method)?;
        let (inputs, options) = (&self.inputs[turn], &self.options[turn]);
        Ok(Sample::of_method(method, inputs, options, &self.devices)?)
    }
}

impl Instances {
    fn add(&mut self, name: &str, make: impl FnOnce() -> thalweg::Result<Method>) -> Result<()> {
        if self.0.iter().all(|(known, _)| known != name) {
            self.0.push((name.into(), make()?));
        }
        Ok(())
    }

    fn get(&mut self, name: &str) -> Result<&mut Method> {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, method)) => Ok(method),
            None => Err(Failure::new(format!("there is no instance of {name}"))),
        }
    }
}

/// Adds the devices that a method uses, each once.
fn add_devices(
    known: &mut Vec<Arc<dyn Device>>,
    runtime: &Runtime,
    schedule: &Schedule,
) -> Result<()> {
    for device in devices(runtime, schedule)? {
        if known.iter().all(|known| known.id() != device.id()) {
            known.push(device);
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn context_options(single: bool) -> LoadOptions {
    use thalweg::tensorrt::{NAME, SINGLE_CONTEXT};
    LoadOptions::new().backend_option(NAME, SINGLE_CONTEXT, single)
}

/// Other systems have no TensorRT.
#[cfg(not(target_os = "linux"))]
fn context_options(_: bool) -> LoadOptions {
    LoadOptions::new()
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Staying => "staying",
            Self::Alternating => "alternating",
            Self::OneContext => "one context",
        }
    }
}

impl MeasuredCall {
    /// A call without times.
    fn new((turn, call): &(Turn, &RecordedCall)) -> Self {
        let inputs = call.inputs.iter();
        let shapes: Vec<_> = inputs.map(|it| type_and_shape(it.as_output())).collect();
        let mut what = format!("call {}: {} {}", turn.call, call.method, shapes.join(", "));
        if let Some(profile) = turn.profile {
            what += &format!(", profile {profile}");
        }
        Self {
            what,
            modes: Vec::new(),
        }
    }

    /// The microseconds by which the median is longer than that of the first mode, staying.
    fn more(&self, times: &Times) -> f64 {
        let staying = self.modes.first().map(|(_, times)| times.median());
        micros(times.median()) - micros(staying.unwrap_or_default())
    }
}

fn report(arguments: &Arguments, all: &[Measured]) -> Report {
    let options = &arguments.options;
    Report {
        conditions: vec![format!(
            "{} in turn; the first is not counted, and neither are {} before each block",
            text::count(arguments.rounds, "round"),
            text::count(options.warmup, "call"),
        )],
        tables: all.iter().map(Measured::table).collect(),
        notes: vec![
            "`more` is how much longer the median is than where calls of one kind follow each \
             other; with `one context`, engines switch the profile of one, rather than have one for \
             each"
                .into(),
        ],
        json: json!({
            "options": {
                "repeat": options.repeat,
                "warmup": options.warmup,
                "rounds": arguments.rounds,
                "rounds_not_counted": 1,
                "inputs": arguments.call.inputs.name(),
                "outputs": arguments.call.outputs.name(),
            },
            "programs": all.iter().map(Measured::to_json).collect::<Vec<_>>(),
        }),
    }
}

impl Measured {
    fn table(&self) -> Table {
        let heading = ["", "", "calls", "median", "p90", "p99", "best", "more"];
        let mut table = Table::new(Some(self.program.clone()), &heading);
        for call in &self.calls {
            table.rows.extend(call.modes.iter().map(|(mode, times)| {
                vec![
                    text::printable(&call.what),
                    mode.name().into(),
                    times.len().to_string(),
                    text::duration(times.median()),
                    text::duration(times.percentile(90)),
                    text::duration(times.p99()),
                    text::duration(times.best()),
                    match mode {
                        Mode::Staying => String::new(),
                        _ => format!("{:+.1} µs", call.more(times)),
                    },
                ]
            }));
        }
        table
    }

    fn to_json(&self) -> Json {
        let calls = self.calls.iter().map(|call| {
            let modes = call.modes.iter().map(|(mode, times)| {
                let mut json = statistics(times);
                json["mode"] = mode.name().into();
                json["more_us"] = call.more(times).into();
                json
            });
            json!({ "call": call.what, "modes": modes.collect::<Vec<_>>() })
        });
        json!({ "program": self.program, "turns": calls.collect::<Vec<_>>() })
    }
}
