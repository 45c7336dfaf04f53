//! Outputs where the program wants them.
//!
//! A library allocates its outputs itself, in the midst of its temporaries, and so they would have to
//! be copied to where the program has planned them. But it allocates in the same order each time. So
//! the first call shows which allocation becomes which output, and in later calls that allocation is
//! given the output's own memory. Whether that was right is seen when the call is over: an output that
//! is elsewhere is copied, as at first.
#![forbid(unsafe_code)]

/// The memory of outputs, by the allocation that is expected to become each.
#[derive(Debug, Default)]
pub(crate) struct Places {
    expected: Vec<Place>,
    /// How many allocations there were in this call.
    allocations: usize,
}

/// Memory for an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Which allocation of the call is expected to become the output.
    pub(crate) allocation: usize,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
}

impl Places {
    /// Begins a call.
    pub(crate) fn expect(&mut self, places: impl Iterator<Item = Place>) {
        self.expected.clear();
        self.expected.extend(places);
        self.allocations = 0;
    }

    /// The next allocation: its number, and memory for it, if it is expected to become an output.
    pub(crate) fn next(&mut self, bytes: u64) -> (usize, Option<u64>) {
        let number = self.allocations;
        self.allocations += 1;
        let mut expected = self.expected.iter();
        let place = expected.find(|place| place.allocation == number && place.bytes == bytes);
        (number, place.map(|place| place.address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocation_that_becomes_an_output_gets_its_memory_if_it_is_as_large() {
        let mut places = Places::default();
        let place = Place {
            allocation: 1,
            address: 0x1000,
            bytes: 64,
        };
        for bytes in [64, 128] {
            places.expect([place].into_iter());
            assert_eq!(places.next(64), (0, None));
            assert_eq!(places.next(bytes), (1, (bytes == 64).then_some(0x1000)));
            assert_eq!(places.next(64), (2, None));
        }
    }
}
