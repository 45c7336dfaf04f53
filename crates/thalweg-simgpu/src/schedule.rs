//! The choice of the work that runs next.

/// A small generator of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed ^ 0x7468_616c_7765_6721)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is at least 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// A piece of work that may run now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) slot: usize,
    /// The number of the work, in the order in which all work was enqueued.
    pub(crate) number: u64,
    pub(crate) copy: bool,
    /// True if the current wait needs it.
    pub(crate) needed: bool,
}

/// A scheduling policy.
#[derive(Clone, Copy, Debug)]
enum Policy {
    /// The work that was enqueued last goes first.
    NewestFirst,
    OldestFirst,
    /// Copies run only when nothing else is left.
    CopiesLate,
    /// One stream runs only when nothing else is left.
    Starve(usize),
    AnyOrder,
}

/// The scheduler: its policy, and its random numbers, both from a seed.
pub(crate) struct Schedule {
    random: Random,
    policy: Policy,
    /// The probability that one more piece of work runs after a call.
    eagerness: f64,
    /// The probability that a wait runs only work that it needs.
    focus: f64,
}

impl Schedule {
    pub(crate) fn new(seed: u64, eagerness: Option<f64>) -> Self {
        let mut random = Random::new(seed);
        let policy = match random.below(6) {
            0 | 1 => Policy::NewestFirst,
            2 => Policy::OldestFirst,
            3 => Policy::CopiesLate,
            4 => Policy::Starve(1 + random.below(6)),
            _ => Policy::AnyOrder,
        };
        // Often the host is far ahead: nothing runs until it waits.
        let eager = [0.0, 0.0, 0.02, 0.1, 0.4, 0.8][random.below(6)];
        let focus = [1.0, 0.9, 0.5, 0.0][random.below(4)];
        Self {
            random,
            policy,
            eagerness: eagerness.unwrap_or(eager),
            focus,
        }
    }

    /// Decides if one more piece of work runs after a call.
    pub(crate) fn runs_more(&mut self) -> bool {
        self.eagerness > 0.0 && self.random.chance(self.eagerness)
    }

    /// Decides if a wait runs only work that it needs.
    pub(crate) fn runs_only_needed(&mut self) -> bool {
        self.random.chance(self.focus)
    }

    /// Chooses one of some candidates.
    pub(crate) fn pick(&mut self, candidates: &[Candidate]) -> Option<Candidate> {
        if candidates.is_empty() {
            return None;
        }
        // Policies have exceptions, or one seed would only ever see one order.
        if self.random.chance(0.15) {
            return Some(candidates[self.random.below(candidates.len())]);
        }
        let late = |c: &Candidate| match self.policy {
            Policy::CopiesLate => c.copy,
            Policy::Starve(slot) => c.slot == slot,
            _ => false,
        };
        match self.policy {
            Policy::NewestFirst => candidates.iter().max_by_key(|c| c.number).copied(),
            Policy::OldestFirst => candidates.iter().min_by_key(|c| c.number).copied(),
            Policy::AnyOrder => Some(candidates[self.random.below(candidates.len())]),
            Policy::CopiesLate | Policy::Starve(_) => candidates
                .iter()
                .max_by_key(|c| (!late(c), c.number))
                .copied(),
        }
    }
}
