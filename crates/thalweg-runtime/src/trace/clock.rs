//! Where a device's times are among those of the host.
//!
//! Both count the same time from different origins. What is known of the offset follows from what
//! happened: a device comes to a point after the host has asked for it, and before a wait for it
//! is over. The offset is in the middle of what that leaves, which is never more than the time from a
//! request until the device does it, and from there until the host knows.

/// What is known of the offset from a device's times to the host's, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClockOffset {
    at_least: Option<f64>,
    at_most: Option<f64>,
}

impl ClockOffset {
    /// A point at this time of the device was asked for at this time of the host.
    pub(super) fn asked(&mut self, on_device: f64, on_host: u64) {
        let offset = on_host as f64 - on_device;
        self.at_least = Some(self.at_least.map_or(offset, |other| other.max(offset)));
    }

    /// A point at this time of the device had been passed at this time of the host.
    pub(super) fn passed(&mut self, on_device: f64, on_host: u64) {
        let offset = on_host as f64 - on_device;
        self.at_most = Some(self.at_most.map_or(offset, |other| other.min(offset)));
    }

    pub(super) fn is_bounded(&self) -> bool {
        self.at_most.is_some()
    }

    /// The offset, and how far it may be off; `None` where nobody knows. What clocks say that do not go
    /// alike may contradict itself: then nothing is shown before it was asked for.
    pub(super) fn value(&self) -> Option<(f64, Option<f64>)> {
        match (self.at_least?, self.at_most) {
            (low, Some(high)) if low <= high => {
                Some((f64::midpoint(low, high), Some((high - low) / 2.0)))
            }
            (low, high) => Some((low, high.map(|high| low - high))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_between_what_requests_and_waits_leave() {
        let mut offset = ClockOffset::default();
        assert_eq!(offset.value(), None);
        offset.asked(0.0, 1000);
        assert_eq!(offset.value(), Some((1000.0, None)));
        // Asked for later than the first, done at once: this says more.
        offset.asked(100.0, 1104);
        offset.passed(200.0, 1300);
        offset.passed(210.0, 1316);
        offset.passed(300.0, 1406);
        assert_eq!(offset.value(), Some((1052.0, Some(48.0))));
    }

    #[test]
    fn clocks_that_do_not_go_alike_show_nothing_before_it_was_asked_for() {
        let mut offset = ClockOffset::default();
        offset.asked(0.0, 1000);
        offset.passed(5000.0, 1100);
        assert_eq!(offset.value(), Some((1000.0, Some(4900.0))));
    }
}
