//! Which piece of work runs next.

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

    /// Below `end`, which is at least 1.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// Something that is allowed to run now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) slot: usize,
    /// Counts all work, in the order in which it was enqueued.
    pub(crate) number: u64,
    pub(crate) copy: bool,
    /// Whether what is being waited for needs it.
    pub(crate) needed: bool,
}

/// How one seed surprises.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// What was enqueued last goes first.
    NewestFirst,
    OldestFirst,
    /// Copies only when nothing else is left.
    CopiesLate,
    /// One stream only when nothing else is left.
    Starve(usize),
    AnyOrder,
}

/// Chooses, from a seed.
pub(crate) struct Schedule {
    random: Random,
    habit: Habit,
    /// How likely one more piece of work runs after a call.
    eagerness: f64,
    /// How likely a wait runs nothing that it does not need.
    selfish: f64,
}

impl Schedule {
    pub(crate) fn new(seed: u64, eagerness: Option<f64>) -> Self {
        let mut random = Random::new(seed);
        let habit = match random.below(6) {
            0 | 1 => Habit::NewestFirst,
            2 => Habit::OldestFirst,
            3 => Habit::CopiesLate,
            4 => Habit::Starve(1 + random.below(6)),
            _ => Habit::AnyOrder,
        };
        // Often the host is far ahead: nothing runs until it waits.
        let eager = [0.0, 0.0, 0.02, 0.1, 0.4, 0.8][random.below(6)];
        let selfish = [1.0, 0.9, 0.5, 0.0][random.below(4)];
        Self {
            random,
            habit,
            eagerness: eagerness.unwrap_or(eager),
            selfish,
        }
    }

    /// Whether one more piece of work is to run after a call.
    pub(crate) fn go_on(&mut self) -> bool {
        self.eagerness > 0.0 && self.random.chance(self.eagerness)
    }

    /// Whether a wait keeps to what it needs.
    pub(crate) fn keep_to_needed(&mut self) -> bool {
        self.random.chance(self.selfish)
    }

    /// The one of some candidates that runs next.
    pub(crate) fn pick(&mut self, candidates: &[Candidate]) -> Option<Candidate> {
        if candidates.is_empty() {
            return None;
        }
        // Habits are not laws, or one seed would only ever see one order.
        if self.random.chance(0.15) {
            return Some(candidates[self.random.below(candidates.len())]);
        }
        let late = |c: &Candidate| match self.habit {
            Habit::CopiesLate => c.copy,
            Habit::Starve(slot) => c.slot == slot,
            _ => false,
        };
        match self.habit {
            Habit::NewestFirst => candidates.iter().max_by_key(|c| c.number).copied(),
            Habit::OldestFirst => candidates.iter().min_by_key(|c| c.number).copied(),
            Habit::AnyOrder => Some(candidates[self.random.below(candidates.len())]),
            Habit::CopiesLate | Habit::Starve(_) => candidates
                .iter()
                .max_by_key(|c| (!late(c), c.number))
                .copied(),
        }
    }
}
