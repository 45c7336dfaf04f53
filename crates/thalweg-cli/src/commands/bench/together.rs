//! `thalweg bench together`: programs that one thread runs, on one stream and on a stream each.

use std::io::Write;
use std::sync::Arc;

use serde_json::json;
use thalweg::cuda::{Driver, Stream};
use thalweg::extend::Device;
use thalweg::{Input, LoadOptions, Method, RunOptions, Runtime};

use super::experiment::{Experiment, Stop};
use super::instance::Instance;
use super::location::{InputLocation, LocatedInputs};
use super::options::{Choice, Options};
use super::report::{Report, Table, statistics};
use super::sample::Sample;
use crate::commands::times::Times;
use crate::failure::{Failure, Result};
use crate::input::Prepared;
use crate::options::Graphs;
use crate::program::Source;
use crate::text;

/// The programs to measure together: at least two. Their outputs stay on the device.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// The location of inputs when a call begins
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = InputLocation::Host)]
    inputs: InputLocation,
    /// CUDA graphs for the work that calls submit to a device
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Graphs::Auto)]
    graph: Graphs,
    #[command(flatten)]
    options: Options,
}

/// The calls of one sample. The host waits once, after all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// One program, and nothing else.
    Alone(usize),
    /// All programs on the thread's own stream, so that they take turns.
    OneStream,
    /// All programs, each on a stream of its own.
    OwnStreams,
}

/// A program of the experiment.
struct Member {
    program: String,
    prepared: Prepared,
    located: LocatedInputs,
    device: Arc<dyn Device>,
    stream: Stream,
}

/// The calls of all programs. Series are numbered as the kinds are.
struct Calls<'a> {
    kinds: &'a [Kind],
    members: &'a [Member],
    methods: Vec<Method>,
    inputs: Vec<Vec<Input<'a>>>,
    options: RunOptions<'a>,
}

/// Runs the experiment.
pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<()> {
    let options = &arguments.options;
    if options.programs.len() < 2 {
        return Err(
            Failure::new("there is only one program, and nothing to run it together with")
                .hint("the same one twice, or another one"),
        );
    }
    let runtime = options.threads.runtime();
    let loaded = options.each(|source| Member::load(arguments, &runtime, source))?;
    let (members, methods): (Vec<_>, Vec<_>) = loaded.into_iter().unzip();
    let measured = measure(arguments, &members, methods)?;
    report(&members, &measured).print(options.json, out)
}

impl Member {
    /// Loads a program and makes an instance of its method.
    fn load(arguments: &Arguments, runtime: &Runtime, source: &Source) -> Result<(Self, Method)> {
        let options = arguments.options.load_options(LoadOptions::new());
        let chosen = arguments.choice.load(source, runtime, options)?;
        let prepared = arguments.choice.inputs(source, &chosen)?;
        let instance = Instance::new(runtime, &chosen)?;
        let [device] = &*instance.devices else {
            return Err(Failure::new(format!(
                "method {} uses {}, where each program has to use one",
                chosen.info.name,
                text::count(instance.devices.len(), "device")
            )));
        };
        let ordinal = usize::try_from(device.id().index).unwrap_or(0);
        let (values, schedule) = (&prepared.values, &instance.schedule);
        let member = Self {
            program: source.path.display().to_string(),
            located: LocatedInputs::new(arguments.inputs, values, schedule)?,
            prepared,
            stream: Stream::new(&Driver::open(None)?.device(ordinal)?)?,
            device: device.clone(),
        };
        Ok((member, instance.method))
    }
}

fn measure(
    arguments: &Arguments,
    members: &[Member],
    methods: Vec<Method>,
) -> Result<Vec<(Kind, Times)>> {
    let alone = (0..members.len()).map(Kind::Alone);
    let kinds: Vec<_> = alone.chain([Kind::OneStream, Kind::OwnStreams]).collect();
    let borrowed = members.iter().map(|member| member.located.borrow());
    let borrowed = borrowed.collect::<Result<Vec<_>>>()?;
    let inputs = borrowed.iter().zip(members);
    let inputs = inputs.map(|(borrowed, member)| borrowed.inputs(&member.prepared.values));
    let mut calls = Calls {
        kinds: &kinds,
        members,
        methods,
        inputs: inputs.collect::<Result<_>>()?,
        options: RunOptions::new()
            .device_outputs(true)
            .graph(arguments.graph.into()),
    };
    let options = &arguments.options;
    let experiment = Experiment::comparison(options.warmup, options.repeat);
    let blocks: Vec<_> = (0..kinds.len()).map(|series| vec![series]).collect();
    let series = experiment
        .measure(&blocks, |series| calls.call(series))?
        .into_iter();
    let measured = kinds.iter().zip(series);
    let measured = measured.map(|(&kind, series)| match series {
        Ok(series) => Ok((kind, series.complete)),
        Err(why) => Err(Failure::new(why)),
    });
    measured.collect()
}

impl Calls<'_> {
    /// Makes the calls of one sample.
    fn call(&mut self, series: usize) -> Result<Sample, Stop> {
        let kind = self.kinds[series];
        let (members, methods, inputs) = (self.members, &mut self.methods, &self.inputs);
        let call = || {
            for (index, method) in methods.iter_mut().enumerate() {
                let member = &members[index];
                let options = match kind {
                    Kind::Alone(only) if only != index => continue,
                    Kind::Alone(_) | Kind::OneStream => self.options.clone(),
                    Kind::OwnStreams => self.options.clone().stream(&member.stream),
                };
                let called = method.run_with(&inputs[index], &options);
                called.map_err(|error| member.prepared.explain(error))?;
            }
            Ok(())
        };
        let wait = || {
            for (index, member) in members.iter().enumerate() {
                let device = &member.device;
                match kind {
                    Kind::Alone(only) if only != index => {}
                    Kind::OwnStreams => member.stream.synchronize()?,
                    _ => device.synchronize(device.default_stream())?,
                }
            }
            Ok(())
        };
        Sample::submitted(call, wait).map_err(Stop::Failed)
    }
}

impl Kind {
    fn name(self, members: &[Member]) -> String {
        match self {
            Self::Alone(index) => format!("{}, alone", members[index].program),
            Self::OneStream => "all, on one stream".into(),
            Self::OwnStreams => "all, each on its own stream".into(),
        }
    }
}

fn report(members: &[Member], measured: &[(Kind, Times)]) -> Report {
    let mut table = Table::new(None, &["what", "median", "p99", "best"]);
    table.rows.extend(measured.iter().map(|(kind, times)| {
        vec![
            kind.name(members),
            text::duration(times.median()),
            text::duration(times.p99()),
            text::duration(times.best()),
        ]
    }));
    let kinds = measured.iter().map(|(kind, times)| {
        let mut json = statistics(times);
        json["kind"] = kind.name(members).into();
        json
    });
    Report {
        conditions: vec![
            "one thread; outputs stay on the device, and the host waits once, after all calls"
                .into(),
        ],
        tables: vec![table],
        notes: Vec::new(),
        json: json!({ "together": kinds.collect::<Vec<_>>() }),
    }
}
