//! What earlier runs of an instance have shown, by the shapes of their inputs.

use std::sync::Arc;

use thalweg_core::{DType, DeviceTensor, strides_of};

use crate::abi::{Plan, Ran, Tensor};

/// What is known of runs, by the layouts of inputs.
#[derive(Default)]
pub(crate) struct Runs {
    known: Vec<Known>,
    /// Where the last one was found.
    at: usize,
    clock: u64,
}

/// What is known of runs with inputs of some layouts.
pub(crate) struct Known {
    /// What tells it from all others that the instance has known.
    pub(crate) number: u64,
    pub(crate) inputs: Vec<Arc<Layout>>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) plan: Arc<Plan>,
    /// What the library did in its last run that a graph cannot hold.
    pub(crate) not_in_graphs: Option<&'static str>,
    last: u64,
}

/// What is known of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output {
    /// As the program has it.
    pub(crate) layout: Arc<Layout>,
    /// How many bytes it has, if it can be where the program wants it.
    pub(crate) placed: Option<u64>,
}

/// How a tensor of the program lies in its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) dtype: DType,
    sizes: Vec<usize>,
    dim_order: Vec<u8>,
    /// The same as libraries have it.
    pub(crate) signed_sizes: Vec<i64>,
    pub(crate) strides: Vec<i64>,
    bytes: u64,
}

/// So many are known, of those that were used last.
const KEPT: usize = 16;

impl Runs {
    /// What is known of runs with inputs that please, one after the other.
    pub(crate) fn find(
        &mut self,
        mut pleases: impl FnMut(usize, &Arc<Layout>) -> bool,
    ) -> Option<&mut Known> {
        let count = self.known.len();
        let mut fits = |known: &Known| {
            let mut inputs = known.inputs.iter().enumerate();
            inputs.all(|(index, layout)| pleases(index, layout))
        };
        let mut places = (0..count).map(|step| (self.at + step) % count);
        let index = places.find(|&index| fits(&self.known[index]))?;
        self.at = index;
        self.clock += 1;
        let known = &mut self.known[index];
        known.last = self.clock;
        Some(known)
    }

    /// What was found, or learned, last.
    pub(crate) fn last(&mut self) -> Option<&mut Known> {
        self.known.get_mut(self.at)
    }

    /// Learns from a run, in the place of what was known of such inputs.
    pub(crate) fn learn(
        &mut self,
        inputs: Vec<Arc<Layout>>,
        outputs: Vec<Output>,
        plan: Plan,
        ran: &Ran,
    ) {
        self.clock += 1;
        let known = Known {
            number: self.clock,
            inputs,
            outputs,
            plan: Arc::new(plan),
            not_in_graphs: ran.not_in_graphs,
            last: self.clock,
        };
        let same = self
            .known
            .iter()
            .position(|other| other.inputs == known.inputs);
        let oldest = || {
            let known = self.known.iter().enumerate();
            let oldest = known.min_by_key(|(_, known)| known.last);
            oldest.filter(|_| self.known.len() >= KEPT)
        };
        match same.or_else(|| Some(oldest()?.0)) {
            Some(index) => {
                self.known[index] = known;
                self.at = index;
            }
            None => {
                self.at = self.known.len();
                self.known.push(known);
            }
        }
    }

    /// Forgets what was found last.
    pub(crate) fn forget(&mut self) {
        if self.at < self.known.len() {
            self.known.swap_remove(self.at);
            self.at = 0;
        }
    }
}

impl Layout {
    fn new(dtype: DType, sizes: &[usize], dim_order: &[u8]) -> Self {
        let signed = |values: &[usize]| -> Vec<i64> {
            let values = values.iter();
            values
                .map(|&value| i64::try_from(value).unwrap_or(i64::MAX))
                .collect()
        };
        Self {
            dtype,
            sizes: sizes.to_vec(),
            dim_order: dim_order.to_vec(),
            signed_sizes: signed(sizes),
            strides: signed(&strides_of(sizes, dim_order)),
            // It lies without gaps.
            bytes: sizes.iter().fold(dtype.size() as u64, |bytes, &size| {
                bytes.saturating_mul(size as u64)
            }),
        }
    }

    /// How a tensor lies, which may be as another did.
    pub(crate) fn of(
        dtype: DType,
        sizes: &[usize],
        dim_order: &[u8],
        like: Option<&Arc<Self>>,
    ) -> Arc<Self> {
        match like {
            Some(like) if like.is_of(dtype, sizes, dim_order) => like.clone(),
            _ => Arc::new(Self::new(dtype, sizes, dim_order)),
        }
    }

    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// How many bytes it reaches over.
    pub(crate) fn reach(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(crate) fn is_of(&self, dtype: DType, sizes: &[usize], dim_order: &[u8]) -> bool {
        self.dtype == dtype && self.sizes == sizes && self.dim_order == dim_order
    }

    #[inline]
    pub(crate) fn is_of_tensor(&self, tensor: &DeviceTensor<'_>) -> bool {
        self.is_of(tensor.dtype(), tensor.sizes(), tensor.dim_order())
    }

    /// Whether a library's tensor lies like this, if it starts where this does.
    pub(crate) fn is_like(&self, tensor: &Tensor) -> bool {
        self.dtype == tensor.dtype
            && self.signed_sizes == tensor.sizes
            && tensor.lies_by(&self.strides)
    }
}

/// Numbers for what was prepared: the same for the very same.
#[derive(Default)]
pub(crate) struct Stamps {
    /// What was prepared, its number, and when that was asked for last.
    given: Vec<(Vec<u64>, u64, u64)>,
    at: usize,
    clock: u64,
}

/// So many numbers are remembered.
const STAMPS: usize = 64;

impl Stamps {
    pub(crate) fn of(&mut self, prepared: &[u64]) -> u64 {
        self.clock += 1;
        let count = self.given.len();
        let mut places = (0..count).map(|step| (self.at + step) % count);
        if let Some(index) = places.find(|&index| self.given[index].0 == prepared) {
            self.at = index;
            let (_, stamp, last) = &mut self.given[index];
            *last = self.clock;
            return *stamp;
        }
        let new = (prepared.to_vec(), self.clock, self.clock);
        let oldest = self
            .given
            .iter()
            .enumerate()
            .min_by_key(|(_, (.., last))| *last);
        match oldest {
            Some((index, _)) if count >= STAMPS => {
                self.given[index] = new;
                self.at = index;
            }
            _ => {
                self.at = count;
                self.given.push(new);
            }
        }
        self.clock
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_prepared_has_a_number_that_nothing_else_has() {
        let mut stamps = Stamps::default();
        let first = stamps.of(&[1, 2]);
        let second = stamps.of(&[1, 3]);
        assert_ne!(first, second);
        assert_eq!(stamps.of(&[1, 2]), first);
        assert_eq!(stamps.of(&[1, 3]), second);
        // What was not used for long comes back with another number.
        let others: Vec<_> = (10..10 + STAMPS as u64).map(|n| stamps.of(&[n])).collect();
        let again = stamps.of(&[1, 2]);
        assert!(again != first && !others.contains(&again) && again != second);
    }

    #[test]
    fn what_is_known_of_shapes_stays_while_others_come_and_go() {
        let layout = |rows: usize| Arc::new(Layout::new(DType::F32, &[rows, 4], &[0, 1]));
        let mut runs = Runs::default();
        let learn = |runs: &mut Runs, rows| {
            let plan = Plan::new(Vec::new(), &[]);
            runs.learn(vec![layout(rows)], Vec::new(), plan, &Ran::default());
        };
        let find = |runs: &mut Runs, rows: usize| {
            let found = runs.find(|_, layout| layout.is_of(DType::F32, &[rows, 4], &[0, 1]));
            found.map(|known| known.number)
        };
        learn(&mut runs, 1);
        let first = find(&mut runs, 1).unwrap();
        for rows in 2..30 {
            assert_eq!(find(&mut runs, rows), None);
            learn(&mut runs, rows);
            assert_eq!(find(&mut runs, 1), Some(first));
        }
        assert_eq!(find(&mut runs, 2), None);
        assert_eq!(runs.known.len(), KEPT);
        // What is learned anew is something else.
        learn(&mut runs, 1);
        assert_ne!(find(&mut runs, 1), Some(first));
        runs.forget();
        assert_eq!(find(&mut runs, 1), None);
    }
}
