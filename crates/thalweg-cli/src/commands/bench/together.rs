//! `thalweg bench --together`: programs that one thread runs, on one stream and on a stream each.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use thalweg::cuda::{Driver, Stream};
use thalweg::{Device, Input, LoadOptions, Method, RunOptions};

use super::place::Placed;
use super::{Arguments, devices, explained, micros, print_build, print_machine};
use crate::commands::Verdict;
use crate::commands::timing::Times;
use crate::failure::{Failure, Result};
use crate::input::Prepared;
use crate::machine::Machine;
use crate::program::Source;
use crate::text;

/// So often the kinds take turns, so that a clock that drifts drifts for all.
const ROUNDS: usize = 5;

/// How the programs are run in one sample. All outputs stay on the device, and the host waits once, at
/// the end.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// One of them, and nothing else.
    Alone(usize),
    /// All, on the thread's own stream, so that they take turns.
    OneStream,
    /// All, on a stream each.
    OwnStreams,
}

/// A program that is measured.
struct Subject {
    program: String,
    prepared: Prepared,
    placed: Placed,
    device: Arc<dyn Device>,
    stream: Stream,
}

/// Runs the command.
pub(super) fn together(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    if arguments.programs.len() < 2 {
        return Err(
            Failure::new("there is only one program, and nothing to run it together with")
                .hint("the same one twice, or another one"),
        );
    }
    let runtime = crate::commands::runtime(arguments.threads);
    let (mut subjects, mut methods) = (Vec::new(), Vec::new());
    for program in &arguments.programs {
        let source = Source::find(program, &arguments.data)?;
        let subject = subject(arguments, &runtime, &source);
        let (subject, method) = subject.map_err(|failure| failure.in_file(&source.path))?;
        subjects.push(subject);
        methods.push(method);
    }
    let measured = measure(arguments, &subjects, &mut methods)?;
    let machine = Machine::look();
    if arguments.json {
        let numbers = measured.iter().map(|(kind, times)| {
            json!({
                "kind": kind.name(&subjects),
                "calls": times.len(),
                "median_us": micros(times.median()),
                "p99_us": micros(times.p99()),
                "best_us": micros(times.best()),
            })
        });
        let report = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "debug_assertions": cfg!(debug_assertions),
            "machine": machine,
            "together": numbers.collect::<Vec<_>>(),
        });
        writeln!(out, "{report:#}")?;
        return Ok(Verdict::Right);
    }
    print_machine(&machine, out)?;
    writeln!(
        out,
        "one thread; outputs stay on the device, and the host waits once, after all calls"
    )?;
    print_build(out)?;
    let mut rows = vec![["what", "median", "p99", "best"].map(String::from).to_vec()];
    rows.extend(measured.iter().map(|(kind, times)| {
        vec![
            kind.name(&subjects),
            text::duration(times.median()),
            text::duration(times.p99()),
            text::duration(times.best()),
        ]
    }));
    out.write_all(text::columns("", rows).as_bytes())?;
    Ok(Verdict::Right)
}

fn subject(
    arguments: &Arguments,
    runtime: &thalweg::Runtime,
    source: &Source,
) -> Result<(Subject, Method)> {
    let options = arguments.pinned.load_options(LoadOptions::new());
    let chosen = source.load(runtime, arguments.method.as_deref(), options)?;
    let prepared = source.inputs(&chosen, &arguments.specs)?;
    let schedule = chosen.program.schedule(&chosen.info.name)?;
    let devices = devices(runtime, &schedule)?;
    let [device] = &*devices else {
        return Err(Failure::new(format!(
            "method {} uses {}, where each program has to use one",
            chosen.info.name,
            text::count(devices.len(), "device")
        )));
    };
    let ordinal = usize::try_from(device.id().index).unwrap_or(0);
    let method = chosen.instance()?;
    let subject = Subject {
        program: source.path.display().to_string(),
        placed: Placed::new(arguments.inputs, &prepared.values, &schedule)?,
        prepared,
        stream: Stream::new(&Driver::open(None)?.device(ordinal)?)?,
        device: device.clone(),
    };
    Ok((subject, method))
}

fn measure(
    arguments: &Arguments,
    subjects: &[Subject],
    methods: &mut [Method],
) -> Result<Vec<(Kind, Times)>> {
    let alone = (0..subjects.len()).map(Kind::Alone);
    let kinds: Vec<_> = alone.chain([Kind::OneStream, Kind::OwnStreams]).collect();
    let mut times = vec![Vec::new(); kinds.len()];
    let lent = subjects.iter().map(|subject| subject.placed.lend());
    let lent: Vec<_> = lent.collect::<Result<_>>()?;
    let inputs = lent.iter().zip(subjects);
    let inputs = inputs.map(|(lent, subject)| lent.inputs(&subject.prepared.values));
    let inputs: Vec<Vec<Input<'_>>> = inputs.collect::<Result<_>>()?;
    let options = RunOptions::new()
        .device_outputs(true)
        .graph(arguments.graph.into());
    let mut sample = |kind: Kind| -> Result<Duration> {
        let start = Instant::now();
        for (index, method) in methods.iter_mut().enumerate() {
            let subject = &subjects[index];
            let options = match kind {
                Kind::Alone(only) if only != index => continue,
                Kind::Alone(_) | Kind::OneStream => options.clone(),
                Kind::OwnStreams => options.clone().stream(&subject.stream),
            };
            let called = method.run_with(&inputs[index], &options);
            called.map_err(|error| explained(error, &subject.prepared))?;
        }
        for (index, subject) in subjects.iter().enumerate() {
            match kind {
                Kind::Alone(only) if only != index => {}
                Kind::OwnStreams => subject.stream.synchronize()?,
                _ => subject
                    .device
                    .synchronize(subject.device.default_stream())?,
            }
        }
        Ok(start.elapsed())
    };
    let rounds = ROUNDS.min(arguments.repeat);
    let block = arguments.repeat.div_ceil(rounds);
    for _ in 0..rounds {
        for (kind, times) in kinds.iter().zip(&mut times) {
            for call in 0..arguments.warmup + block {
                let time = sample(*kind)?;
                if call >= arguments.warmup {
                    times.push(time);
                }
            }
        }
    }
    let times = times.into_iter().map(Times::new);
    Ok(kinds.into_iter().zip(times).collect())
}

impl Kind {
    fn name(self, subjects: &[Subject]) -> String {
        match self {
            Self::Alone(index) => format!("{}, alone", subjects[index].program),
            Self::OneStream => "all, on one stream".into(),
            Self::OwnStreams => "all, each on its own stream".into(),
        }
    }
}
