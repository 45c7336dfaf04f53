//! The time to load a method, beside the time that TensorRT takes to make its engines.

use thalweg::Runtime;

use super::library::EngineBaseline;
use super::{Arguments, Pair};
use crate::commands::bench::experiment::{Experiment, Stop};
use crate::commands::bench::sample::Sample;
use crate::failure::{Failure, Result};
use crate::program::Source;

/// The most loads that are measured.
const LOADS: usize = 20;

/// The number of loads that are measured. The first load is not, since it makes what all of them share.
pub(super) fn loads(repeat: usize) -> usize {
    LOADS.min(repeat)
}

/// A program that is loaded again and again.
pub(super) struct Loading<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) source: &'a Source,
    pub(super) runtime: &'a Runtime,
    /// The engines alone, if the method has no other delegates.
    pub(super) baseline: Option<&'a EngineBaseline>,
}

/// Measures loads of the program and its method, and of its engines alone, in turn.
pub(super) fn measure(loading: &Loading<'_>) -> Result<Pair> {
    let experiment = Experiment {
        rounds: 1,
        uncounted: 0,
        warmup: 1,
        repeat: loads(loading.arguments.options.repeat),
    };
    let block = match loading.baseline {
        Some(_) => vec![0, 1],
        None => vec![0],
    };
    let series = experiment.measure(&[block], |series| match (series, loading.baseline) {
        (1, Some(baseline)) => baseline_load(baseline),
        _ => loading.load(),
    });
    let mut series = series?.into_iter();
    let method = series.next().unwrap_or_else(|| Err("no load".into()));
    let baseline = series.next();
    let baseline = baseline.unwrap_or_else(|| Err("only engines are loaded by themselves".into()));
    Ok(Pair::new("load", method, baseline))
}

impl Loading<'_> {
    fn load(&self) -> Result<Sample, Stop> {
        let load = || {
            let chosen = self.arguments.load(self.source, self.runtime)?;
            let instance = chosen.instance()?;
            Ok::<_, Failure>((instance, chosen))
        };
        // Both are dropped after the time is taken.
        let (sample, _) = Sample::synchronous(load)?;
        Ok(sample)
    }
}

/// One load of the engines alone.
fn baseline_load(baseline: &EngineBaseline) -> Result<Sample, Stop> {
    match baseline.measure_loading(1)?.first() {
        Some(&time) => Ok(time.into()),
        None => Err(Stop::Unmeasurable("no engine was loaded".into())),
    }
}
