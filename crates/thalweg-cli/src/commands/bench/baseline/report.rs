//! The report of methods beside their baselines.

use serde_json::{Value as Json, json};

use super::engines::LEAST_WARMUP;
use super::loading::loads;
use super::{Measured, Pair};
use crate::commands::bench::experiment::Experiment;
use crate::commands::bench::options::Options;
use crate::commands::bench::report::{Report, Table, micros, statistics};
use crate::commands::times::Times;
use crate::text;

/// Makes the report.
pub(super) fn report(options: &Options, all: &[Measured]) -> Report {
    let warmup = options.warmup.max(LEAST_WARMUP);
    let rounds = Experiment::comparison(warmup, options.repeat).rounds;
    let loads = loads(options.repeat);
    Report {
        conditions: vec![format!(
            "{} of each, in {} that alternate, each after {} of warmup; `baseline` is the engines \
             alone, or the call as one graph, until one synchronize. `load`: {} of program and method, \
             and of the engines alone",
            text::count(options.repeat, "call"),
            text::count(rounds, "round"),
            warmup,
            text::count(loads, "load"),
        )],
        tables: vec![table(all)],
        notes: all.iter().flat_map(Measured::notes).collect(),
        json: json!({
            "options": {
                "repeat": options.repeat,
                "warmup": warmup,
                "loads": loads,
                "rounds": rounds,
            },
            "programs": all.iter().map(Measured::to_json).collect::<Vec<_>>(),
        }),
    }
}

fn table(all: &[Measured]) -> Table {
    let heading = [
        "program", "method", "memory", "median", "baseline", "ratio", "over",
    ];
    let mut table = Table::new(None, &heading);
    let median = |times: &Result<Times, String>| match times {
        Ok(times) => text::duration(times.median()),
        Err(_) => "-".into(),
    };
    for measured in all {
        table.rows.extend(measured.pairs.iter().map(|pair| {
            let (ratio, over) = match pair.compared() {
                Some((ratio, over)) => (format!("{ratio:.2}"), format!("{over:.1} µs")),
                None => ("-".into(), "-".into()),
            };
            vec![
                measured.program.clone(),
                text::printable(&measured.method),
                pair.name.into(),
                median(&pair.method),
                median(&pair.baseline),
                ratio,
                over,
            ]
        }));
    }
    table
}

impl Measured {
    fn notes(&self) -> Vec<String> {
        let program = &self.program;
        let (to, from) = self.copied;
        let baseline = match self.engines {
            0 => "the baseline is the whole call as one graph".into(),
            engines => format!(
                "the baseline is {} of engines",
                text::count(engines, "call")
            ),
        };
        let mut notes = vec![format!(
            "{program}: {baseline}; baselines with copies copy {} to the device and {} back",
            text::bytes(to as u64),
            text::bytes(from as u64),
        )];
        if !self.not_in_baseline.is_empty() {
            notes.push(format!(
                "{program}: the baseline is the engines alone; the method also runs {}",
                self.not_in_baseline.join(" and ")
            ));
        }
        if !self.same_outputs {
            notes.push(format!(
                "{program}: the baseline gave other outputs than the method, as it does where \
                 delegates update state or depend on what the host computes between them"
            ));
        }
        for pair in &self.pairs {
            let reasons = pair.reasons();
            notes.extend(
                reasons
                    .map(|(what, why)| format!("{program}: no {what} for `{}`: {why}", pair.name)),
            );
        }
        let devices = self.devices.iter();
        notes.extend(devices.map(|device| format!("{program} uses {device}")));
        notes
    }

    fn to_json(&self) -> Json {
        let times = |times: &Result<Times, String>| match times {
            Ok(times) => statistics(times),
            Err(why) => json!({ "not_measured": why }),
        };
        let pairs = self.pairs.iter().map(|pair| {
            let (ratio, over) = pair.compared().unzip();
            json!({
                "memory": pair.name,
                "method": times(&pair.method),
                "baseline": times(&pair.baseline),
                "ratio": ratio,
                "over_us": over,
            })
        });
        json!({
            "program": self.program,
            "method": self.method,
            "engine_calls": self.engines,
            "bytes_to_device": self.copied.0,
            "bytes_to_host": self.copied.1,
            "not_in_baseline": self.not_in_baseline,
            "same_outputs": self.same_outputs,
            "kinds": pairs.collect::<Vec<_>>(),
            "devices": self.devices,
        })
    }
}

impl Pair {
    /// The median of the method divided by that of the baseline, and their difference in microseconds.
    fn compared(&self) -> Option<(f64, f64)> {
        let (Ok(method), Ok(baseline)) = (&self.method, &self.baseline) else {
            return None;
        };
        let (method, baseline) = (micros(method.median()), micros(baseline.median()));
        Some((method / baseline, method - baseline))
    }

    /// The reasons for what is not measured.
    fn reasons(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let method = self.method.as_ref().err().map(|why| ("method", why));
        let baseline = self.baseline.as_ref().err().map(|why| ("baseline", why));
        method.into_iter().chain(baseline)
    }
}
