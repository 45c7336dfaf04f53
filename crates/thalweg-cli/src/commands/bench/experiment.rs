//! An experiment: series of calls, measured in rounds that alternate.
//!
//! The blocks of an experiment run in turn, once in each round, so that a clock that drifts does so for
//! all series.

use super::sample::Sample;
use crate::commands::times::Times;
use crate::failure::Failure;

/// The rounds of an experiment that compares series.
const ROUNDS: usize = 5;

/// The size of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experiment {
    /// The number of rounds.
    pub(super) rounds: usize,
    /// The number of rounds at the beginning that are not counted.
    pub(super) uncounted: usize,
    /// The number of calls of each series before the measured ones of a block.
    pub(super) warmup: usize,
    /// The number of measured calls of each series in all counted rounds together.
    pub(super) repeat: usize,
}

/// The samples of a block, each with the number of its series.
pub(super) type Samples = Vec<(usize, Sample)>;

/// The size of a block: the number of calls of each of its series.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSize {
    /// The calls that are not measured.
    pub(super) warmup: usize,
    /// The measured calls, which follow.
    pub(super) repeat: usize,
}

/// The reason that a block does not go on.
pub(super) enum Stop {
    /// The whole experiment failed.
    Failed(Failure),
    /// The series of this block cannot be measured; others can.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "only baselines have such series")
    )]
    Unmeasurable(String),
}

/// The times of a series.
#[derive(Debug)]
pub(super) struct Series {
    /// The times until calls returned.
    pub(super) returned: Times,
    /// The times until their work on devices was complete.
    pub(super) complete: Times,
}

impl Experiment {
    /// An experiment that compares series in five rounds, or fewer if there are fewer calls.
    pub(super) fn comparison(warmup: usize, repeat: usize) -> Self {
        Self {
            rounds: ROUNDS.min(repeat),
            uncounted: 0,
            warmup,
            repeat,
        }
    }

    /// Measures series by `call`, which makes a call of one. A block is a list of series whose calls
    /// follow each other, again and again. Returns the series by number, or the reason that one cannot
    /// be measured.
    pub(super) fn measure(
        &self,
        blocks: &[Vec<usize>],
        mut call: impl FnMut(usize) -> Result<Sample, Stop>,
    ) -> Result<Vec<Result<Series, String>>, Failure> {
        self.measure_blocks(blocks, |block, size| run_block(block, size, &mut call))
    }

    /// Measures series by `run`, which runs a whole block.
    pub(super) fn measure_blocks(
        &self,
        blocks: &[Vec<usize>],
        mut run: impl FnMut(&[usize], BlockSize) -> Result<Samples, Stop>,
    ) -> Result<Vec<Result<Series, String>>, Failure> {
        let series = blocks.iter().flatten().max().map_or(0, |last| last + 1);
        let mut all: Vec<Result<Vec<Sample>, String>> = vec![Ok(Vec::new()); series];
        for round in 0..self.rounds {
            let size = BlockSize {
                warmup: self.warmup,
                repeat: self.calls_in(round),
            };
            for block in blocks.iter().filter(|_| size.repeat > 0) {
                if block.iter().any(|&series| all[series].is_err()) {
                    continue;
                }
                match run(block, size) {
                    Ok(samples) if round >= self.uncounted => {
                        for (series, sample) in samples {
                            if let Ok(all) = &mut all[series] {
                                all.push(sample);
                            }
                        }
                    }
                    Ok(_) => {}
                    Err(Stop::Failed(failure)) => return Err(failure),
                    Err(Stop::Unmeasurable(why)) => {
                        for &series in block {
                            all[series] = Err(why.clone());
                        }
                    }
                }
            }
        }
        Ok(all
            .into_iter()
            .map(|samples| Ok(Series::of(&samples?)))
            .collect())
    }

    /// The number of measured calls of a series in a round. Those that are counted add up to `repeat`.
    fn calls_in(&self, round: usize) -> usize {
        let counted = self.rounds.saturating_sub(self.uncounted).max(1);
        match round.checked_sub(self.uncounted) {
            Some(round) => (self.repeat + round) / counted,
            None => self.repeat.div_ceil(counted),
        }
    }
}

/// Runs a block call by call.
pub(super) fn run_block(
    block: &[usize],
    size: BlockSize,
    mut call: impl FnMut(usize) -> Result<Sample, Stop>,
) -> Result<Samples, Stop> {
    /// The most samples that memory is reserved for.
    const RESERVED: usize = 1 << 20;
    let samples = size.repeat.saturating_mul(block.len());
    let mut samples = Vec::with_capacity(samples.min(RESERVED));
    for number in 0..size.warmup.saturating_add(size.repeat) {
        for &series in block {
            let sample = call(series)?;
            if number >= size.warmup {
                samples.push((series, sample));
            }
        }
    }
    Ok(samples)
}

impl Stop {
    /// The failure of a call outside of an experiment.
    pub(super) fn failure(self) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Unmeasurable(why) => Failure::new(why),
        }
    }
}

impl Series {
    fn of(samples: &[Sample]) -> Self {
        let times = |time: fn(&Sample) -> std::time::Duration| {
            Times::new(samples.iter().map(time).collect())
        };
        Self {
            returned: times(|sample| sample.returned),
            complete: times(|sample| sample.complete),
        }
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<thalweg::Error> for Stop {
    fn from(error: thalweg::Error) -> Self {
        Self::Failed(error.into())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Measures calls whose time is their number, from 1 on. Series 2 cannot be measured. Returns the
    /// calls in order, and the series.
    fn measure(
        experiment: Experiment,
        blocks: &[Vec<usize>],
    ) -> (Vec<usize>, Vec<Result<Series, String>>) {
        let mut calls = Vec::new();
        let all = experiment.measure(blocks, |series| {
            if series == 2 {
                return Err(Stop::Unmeasurable("not this one".into()));
            }
            calls.push(series);
            Ok(Duration::from_secs(calls.len() as u64).into())
        });
        (calls, all.unwrap())
    }

    #[test]
    fn series_take_turns_and_each_has_as_many_calls_as_requested() {
        let (calls, all) = measure(Experiment::comparison(1, 7), &[vec![0], vec![1]]);
        let round = |repeat: usize| [vec![0; 1 + repeat], vec![1; 1 + repeat]].concat();
        assert_eq!(calls, [1, 1, 1, 2, 2].map(round).concat());
        let counts = all
            .iter()
            .map(|series| series.as_ref().unwrap().complete.len());
        assert_eq!(counts.collect::<Vec<_>>(), [7, 7]);
    }

    #[test]
    fn calls_of_a_block_follow_each_other_and_early_rounds_are_not_counted() {
        let experiment = Experiment {
            rounds: 2,
            uncounted: 1,
            warmup: 0,
            repeat: 2,
        };
        let (calls, all) = measure(experiment, &[vec![0, 1]]);
        assert_eq!(calls, [0, 1, 0, 1, 0, 1, 0, 1]);
        let best = all[0].as_ref().unwrap().complete.best();
        assert_eq!(best, Duration::from_secs(5));
    }

    #[test]
    fn a_series_that_cannot_be_measured_has_its_reason_and_the_others_their_times() {
        let (_, all) = measure(Experiment::comparison(0, 5), &[vec![0], vec![2], vec![1]]);
        assert_eq!(all[2].as_ref().unwrap_err(), "not this one");
        assert_eq!(all[1].as_ref().unwrap().returned.len(), 5);
    }
}
