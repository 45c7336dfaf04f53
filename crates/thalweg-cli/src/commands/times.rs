//! Times of calls, and their statistics.

use std::time::Duration;

/// The times of calls, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Times(Vec<Duration>);

impl Times {
    /// Times in any order. Without any, all statistics are zero.
    pub(super) fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The number of calls.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The shortest time.
    pub(super) fn best(&self) -> Duration {
        self.0.first().copied().unwrap_or_default()
    }

    /// The median: the time in the middle, or the mean of the two in the middle.
    pub(super) fn median(&self) -> Duration {
        let middle = self.0.len() / 2;
        match (self.0.get(middle.wrapping_sub(1)), self.0.get(middle)) {
            (Some(&a), Some(&b)) if self.0.len().is_multiple_of(2) => (a + b) / 2,
            (_, Some(&only)) => only,
            _ => Duration::ZERO,
        }
    }

    /// The time that 99 of 100 calls do not exceed.
    pub(super) fn p99(&self) -> Duration {
        self.percentile(99)
    }

    /// The time that `percent` of 100 calls do not exceed.
    pub(super) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or_default()
    }

    /// The arithmetic mean.
    pub(super) fn mean(&self) -> Duration {
        let total: Duration = self.0.iter().sum();
        total / (self.0.len().max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(millis: impl IntoIterator<Item = u64>) -> Times {
        Times::new(millis.into_iter().map(Duration::from_millis).collect())
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(times([3, 1, 2]).median(), Duration::from_millis(2));
        assert_eq!(times([4, 1, 2, 8]).median(), Duration::from_millis(3));
        assert_eq!(times([5]).median(), Duration::from_millis(5));
    }

    #[test]
    fn one_of_a_hundred_calls_may_be_slower_than_the_p99() {
        assert_eq!(times(1..=100).p99(), Duration::from_millis(99));
        assert_eq!(times(1..=200).p99(), Duration::from_millis(198));
        assert_eq!(times([7, 9]).p99(), Duration::from_millis(9));
    }
}
