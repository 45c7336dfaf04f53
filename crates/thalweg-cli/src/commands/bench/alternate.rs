//! `thalweg bench --alternate`: recorded calls, each by itself and one after the other.

use std::io::Write;
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value as Json, json};
use thalweg::{Input, LoadOptions, Method, Profile, RunOptions};

use super::place::{OutputPlace, Placed};
use super::{Arguments, devices, micros, print_build, print_machine, timed};
use crate::commands::Verdict;
use crate::commands::timing::Times;
use crate::failure::{Failure, Result};
use crate::fixture::RecordedCall;
use crate::machine::Machine;
use crate::program::Source;
use crate::summary::type_and_shape;
use crate::text;

/// Which recorded calls take turns; all, if none is named.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turns(Vec<Turn>);

/// A recorded call by its number in the record, and the profile that it pins.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Turn {
    call: usize,
    profile: Option<usize>,
}

/// How calls follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    /// Each after one of its kind.
    Staying,
    /// Each after one of another kind.
    Alternating,
    /// The same, where engines have one context that is switched from profile to profile.
    OneContext,
}

const MODES: [Mode; 3] = [Mode::Staying, Mode::Alternating, Mode::OneContext];

/// What was measured of one program.
struct Measured {
    program: String,
    turns: Vec<MeasuredTurn>,
}

/// What was measured of one of the calls that take turns.
struct MeasuredTurn {
    what: String,
    /// By mode.
    times: [Times; MODES.len()],
}

/// Runs the command.
pub(super) fn alternate(
    arguments: &Arguments,
    turns: &Turns,
    out: &mut dyn Write,
) -> Result<Verdict> {
    if arguments.rounds < 2 {
        return Err(Failure::new(
            "the first round is not counted, so that one round leaves nothing to measure",
        )
        .hint("--rounds 2, or more"));
    }
    let mut all = Vec::new();
    for program in &arguments.programs {
        let source = Source::find(program, &arguments.data)?;
        let measured = measure(arguments, turns, &source);
        all.push(measured.map_err(|failure| failure.in_file(&source.path))?);
    }
    let machine = Machine::look();
    if arguments.json {
        print_json(arguments, &machine, &all, out)?;
    } else {
        print_table(arguments, &machine, &all, out)?;
    }
    Ok(Verdict::Right)
}

fn measure(arguments: &Arguments, turns: &Turns, source: &Source) -> Result<Measured> {
    let turns = turns.of(source.recorded_calls())?;
    let runtime = crate::commands::runtime(arguments.threads);
    let profiles: Vec<_> = turns
        .iter()
        .map(|(turn, _)| turn.profile.map(Profile::index))
        .collect();
    let on_device = arguments.outputs == OutputPlace::Device;
    let options = profiles.iter().map(|profile| {
        let options = RunOptions::new()
            .device_outputs(on_device)
            .graph(arguments.graph.into());
        match profile {
            Some(profile) => options.profile(profile),
            None => options,
        }
    });
    let options: Vec<_> = options.collect();
    let mut times = vec![<[Vec<Duration>; MODES.len()]>::default(); turns.len()];
    // One after the other, since calls of one program are not to wait for memory of the other.
    for single in [false, true] {
        let load = arguments.pinned.load_options(context_options(single));
        let first = turns.first().map(|(_, call)| &*call.method);
        let chosen = source.load(&runtime, first, load)?;
        let program = &chosen.program;
        let (mut instances, mut placed, mut used) = (Instances::default(), Vec::new(), Vec::new());
        for (_, call) in &turns {
            instances.add(&call.method, || program.method(&call.method))?;
            let schedule = program.schedule(&call.method)?;
            placed.push(Placed::new(arguments.inputs, &call.inputs, &schedule)?);
            for device in devices(&runtime, &schedule)? {
                if used
                    .iter()
                    .all(|known: &std::sync::Arc<dyn thalweg::Device>| known.id() != device.id())
                {
                    used.push(device);
                }
            }
        }
        let lent: Vec<_> = placed.iter().map(Placed::lend).collect::<Result<_>>()?;
        let inputs = lent.iter().zip(&turns);
        let inputs = inputs.map(|(lent, (_, call))| lent.inputs(&call.inputs));
        let inputs: Vec<Vec<Input<'_>>> = inputs.collect::<Result<_>>()?;
        let waits = if on_device { &*used } else { &[] };
        let mut call = |turn: usize| {
            let method = instances.get(&turns[turn].1.method)?;
            Ok::<_, Failure>(timed(method, &inputs[turn], &options[turn], waits)?.1)
        };
        let block = arguments.repeat.div_ceil(arguments.rounds - 1);
        for round in 0..arguments.rounds {
            let counts = round > 0;
            for mode in MODES {
                if single != (mode == Mode::OneContext) {
                    continue;
                }
                for order in mode.orders(turns.len()) {
                    for repeat in 0..arguments.warmup + block {
                        for &turn in &order {
                            let time = call(turn)?;
                            if counts && repeat >= arguments.warmup {
                                times[turn][mode as usize].push(time);
                            }
                        }
                    }
                }
            }
        }
    }
    let measured = turns.iter().zip(times).map(|((turn, call), times)| {
        let shapes: Vec<_> = call
            .inputs
            .iter()
            .map(|input| type_and_shape(input.as_output()))
            .collect();
        let mut what = format!("call {}: {} {}", turn.call, call.method, shapes.join(", "));
        if let Some(profile) = turn.profile {
            what += &format!(", profile {profile}");
        }
        MeasuredTurn {
            what,
            times: times.map(Times::new),
        }
    });
    Ok(Measured {
        program: source.path.display().to_string(),
        turns: measured.collect(),
    })
}

/// Instances of methods, by their names.
#[derive(Default)]
struct Instances(Vec<(String, Method)>);

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

impl Mode {
    /// Blocks, each with the turns that follow each other in it again and again.
    fn orders(self, turns: usize) -> Vec<Vec<usize>> {
        match self {
            Self::Staying => (0..turns).map(|turn| vec![turn]).collect(),
            Self::Alternating | Self::OneContext => vec![(0..turns).collect()],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Staying => "staying",
            Self::Alternating => "alternating",
            Self::OneContext => "one context",
        }
    }
}

#[cfg(target_os = "linux")]
fn context_options(single: bool) -> LoadOptions {
    use thalweg::tensorrt::{NAME, SINGLE_CONTEXT};
    LoadOptions::new().backend_option(NAME, SINGLE_CONTEXT, single)
}

/// Elsewhere there is no TensorRT.
#[cfg(not(target_os = "linux"))]
fn context_options(_: bool) -> LoadOptions {
    LoadOptions::new()
}

impl Turns {
    /// The recorded calls that take turns.
    fn of<'r>(
        &self,
        recorded: Option<&'r [RecordedCall]>,
    ) -> Result<Vec<(Turn, &'r RecordedCall)>> {
        let Some(recorded) = recorded else {
            return Err(
                Failure::new("there are no recorded calls that could take turns")
                    .hint("a folder with a model.pte and a case.json"),
            );
        };
        let all = (0..recorded.len()).map(|call| Turn {
            call,
            profile: None,
        });
        let turns = match &*self.0 {
            [] => all.collect(),
            some => some.to_vec(),
        };
        if turns.len() < 2 {
            return Err(Failure::new(
                "only one call takes turns, so that there is nothing to alternate with",
            ));
        }
        let of = |turn: Turn| match recorded.get(turn.call) {
            Some(call) => Ok((turn, call)),
            None => Err(Failure::new(format!(
                "there is no call {}; the record has {}, from 0 on",
                turn.call,
                text::count(recorded.len(), "call")
            ))),
        };
        turns.into_iter().map(of).collect()
    }
}

impl FromStr for Turns {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self::default());
        }
        let number = |text: &str| {
            let number = text.parse::<usize>();
            number.map_err(|_| format!("`{text}` is no number of a recorded call or profile"))
        };
        let turn = |text: &str| {
            Ok(match text.split_once('@') {
                None => Turn {
                    call: number(text)?,
                    profile: None,
                },
                Some((call, profile)) => Turn {
                    call: number(call)?,
                    profile: Some(number(profile)?),
                },
            })
        };
        text.split(',')
            .map(turn)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

fn print_table(
    arguments: &Arguments,
    machine: &Machine,
    all: &[Measured],
    out: &mut dyn Write,
) -> Result<()> {
    print_machine(machine, out)?;
    writeln!(
        out,
        "{} in turn; the first is not counted, and neither are {} before each block",
        text::count(arguments.rounds, "round"),
        text::count(arguments.warmup, "call"),
    )?;
    print_build(out)?;
    for measured in all {
        writeln!(out, "{}", measured.program)?;
        let heading = ["", "", "calls", "median", "p90", "p99", "best", "more"];
        let mut rows = vec![heading.map(String::from).to_vec()];
        for turn in &measured.turns {
            for (mode, times) in MODES.iter().zip(&turn.times) {
                rows.push(vec![
                    text::printable(&turn.what),
                    mode.name().into(),
                    times.len().to_string(),
                    text::duration(times.median()),
                    text::duration(times.percentile(90)),
                    text::duration(times.p99()),
                    text::duration(times.best()),
                    match mode {
                        Mode::Staying => String::new(),
                        _ => format!("{:+.1} µs", turn.more(*mode)),
                    },
                ]);
            }
        }
        out.write_all(text::columns("  ", rows).as_bytes())?;
    }
    writeln!(
        out,
        "`more` is how much longer the median is than where calls of one kind follow each other; \
         with `one context`, engines switch the profile of one, rather than have one for each"
    )?;
    Ok(())
}

impl MeasuredTurn {
    /// How many microseconds more than staying.
    fn more(&self, mode: Mode) -> f64 {
        micros(self.times[mode as usize].median())
            - micros(self.times[Mode::Staying as usize].median())
    }
}

fn print_json(
    arguments: &Arguments,
    machine: &Machine,
    all: &[Measured],
    out: &mut dyn Write,
) -> Result<()> {
    let mode = |turn: &MeasuredTurn, mode: Mode| -> Json {
        let times = &turn.times[mode as usize];
        json!({
            "mode": mode.name(),
            "calls": times.len(),
            "median_us": micros(times.median()),
            "p90_us": micros(times.percentile(90)),
            "p99_us": micros(times.p99()),
            "best_us": micros(times.best()),
            "mean_us": micros(times.mean()),
            "more_us": turn.more(mode),
        })
    };
    let turn = |turn: &MeasuredTurn| -> Json {
        let modes = MODES.map(|it| mode(turn, it));
        json!({ "call": turn.what, "modes": modes })
    };
    let programs = all.iter().map(|measured| {
        let turns: Vec<_> = measured.turns.iter().map(turn).collect();
        json!({ "program": measured.program, "turns": turns })
    });
    let report = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "debug_assertions": cfg!(debug_assertions),
        "machine": machine,
        "options": {
            "repeat": arguments.repeat,
            "warmup": arguments.warmup,
            "rounds": arguments.rounds,
            "rounds_not_counted": 1,
            "inputs": arguments.inputs.name(),
            "outputs": arguments.outputs.name(),
        },
        "programs": programs.collect::<Vec<_>>(),
    });
    Ok(writeln!(out, "{report:#}")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_calls_with_or_without_a_profile() {
        let turn = |call, profile| Turn { call, profile };
        assert_eq!("all".parse(), Ok(Turns::default()));
        assert_eq!(
            "0@1,12,3@0".parse(),
            Ok(Turns(vec![
                turn(0, Some(1)),
                turn(12, None),
                turn(3, Some(0))
            ]))
        );
        for wrong in ["", "0@", "@1", "0,,1", "a", "0@1@2", "-1"] {
            wrong.parse::<Turns>().unwrap_err();
        }
    }
}
