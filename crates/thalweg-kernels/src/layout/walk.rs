//! Walks over several tensors at once, each with strides of its own.
//!
//! A walk goes through the positions of a common shape in row-major order. It is cut into runs
//! along the innermost dimension, so that what happens inside of a run is a plain loop. Dimensions
//! that lie one after another in all of the tensors are merged first: contiguous tensors make one
//! run, whatever their rank.

use thalweg_core::{Dims, MAX_RANK, Result, ensure};

/// A walk over `N` tensors.
#[derive(Clone, Debug)]
pub(crate) struct Walk<const N: usize> {
    /// Sizes of the merged dimensions but the innermost, outermost first.
    outer: Dims,
    /// Strides of each tensor along those, in elements.
    strides: [[usize; MAX_RANK]; N],
    /// Length of a run.
    run: usize,
    /// Strides of each tensor within a run; 0 where one element serves the whole run.
    steps: [usize; N],
}

/// A run of a walk, by the start of each tensor's part in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<const N: usize> {
    /// Offset of the first element in each tensor.
    pub(crate) offsets: [usize; N],
}

impl<const N: usize> Walk<N> {
    /// A walk over `sizes`. `strides[t][d]` is how far tensor `t` moves along dimension `d`; 0
    /// repeats it.
    pub(crate) fn new(sizes: &[usize], strides: [&[usize]; N]) -> Result<Self> {
        ensure!(
            strides.iter().all(|strides| strides.len() == sizes.len()),
            Internal,
            "a walk over {} dimensions needs as many strides",
            sizes.len()
        );
        let mut merged = Dims::new();
        let mut merged_strides = [[0; MAX_RANK]; N];
        for (dim, &size) in sizes.iter().enumerate() {
            if size == 1 {
                continue;
            }
            let last = merged.len();
            let continues = last > 0
                && (0..N)
                    .all(|t| merged_strides[t][last - 1] == strides[t][dim].saturating_mul(size));
            let at = if continues { last - 1 } else { last };
            if continues {
                // Saturating, since a later size of 0 makes even the largest product nothing.
                merged[at] = merged[at].saturating_mul(size);
            } else {
                merged.push(size)?;
            }
            for t in 0..N {
                merged_strides[t][at] = strides[t][dim];
            }
        }
        let (run, steps) = match merged.len().checked_sub(1) {
            Some(inner) => {
                let run = merged[inner];
                merged.remove(inner);
                (run, std::array::from_fn(|t| merged_strides[t][inner]))
            }
            None => (1, [0; N]),
        };
        Ok(Self {
            outer: merged,
            strides: merged_strides,
            run,
            steps,
        })
    }

    /// Length of each run.
    pub(crate) fn run_len(&self) -> usize {
        self.run
    }

    /// The step of each tensor from one element of a run to the next.
    pub(crate) fn steps(&self) -> [usize; N] {
        self.steps
    }

    /// The number of runs.
    pub(crate) fn run_count(&self) -> usize {
        if self.run == 0 {
            return 0;
        }
        let product = |count: usize, &size: &usize| count.saturating_mul(size);
        self.outer.iter().fold(1, product)
    }

    /// The runs in order.
    pub(crate) fn runs(&self) -> Runs<'_, N> {
        self.runs_from(0)
    }

    /// The runs from the `first` on, so that several threads can share a walk.
    pub(crate) fn runs_from(&self, first: usize) -> Runs<'_, N> {
        let mut index = [0; MAX_RANK];
        let mut rest = first;
        for (dim, &size) in self.outer.iter().enumerate().rev() {
            if size != 0 {
                index[dim] = rest % size;
                rest /= size;
            }
        }
        Runs {
            walk: self,
            index,
            left: self.run_count().saturating_sub(first),
        }
    }
}

/// Iterator over the runs of a walk.
pub(crate) struct Runs<'w, const N: usize> {
    walk: &'w Walk<N>,
    index: [usize; MAX_RANK],
    left: usize,
}

impl<const N: usize> Iterator for Runs<'_, N> {
    type Item = Run<N>;

    fn next(&mut self) -> Option<Run<N>> {
        self.left = self.left.checked_sub(1)?;
        let outer = &*self.walk.outer;
        let offsets = std::array::from_fn(|t| {
            let strides = &self.walk.strides[t];
            self.index
                .iter()
                .zip(strides)
                .take(outer.len())
                .map(|(i, s)| i * s)
                .sum()
        });
        for dim in (0..outer.len()).rev() {
            self.index[dim] += 1;
            if self.index[dim] < outer[dim] {
                break;
            }
            self.index[dim] = 0;
        }
        Some(Run { offsets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(walk: &Walk<2>) -> Vec<[usize; 2]> {
        let [a, b] = walk.steps();
        walk.runs()
            .flat_map(|run| {
                let [x, y] = run.offsets;
                (0..walk.run_len()).map(move |i| [x + i * a, y + i * b])
            })
            .collect()
    }

    #[test]
    fn contiguous_tensors_are_one_run() {
        let walk = Walk::new(&[2, 3, 4], [&[12, 4, 1], &[12, 4, 1]]).unwrap();
        assert_eq!(
            (walk.run_count(), walk.run_len(), walk.steps()),
            (1, 24, [1, 1])
        );
    }

    #[test]
    fn a_walk_visits_every_position_in_row_major_order() {
        // A [2, 3] tensor and the transpose of a [3, 2] one.
        let walk = Walk::new(&[2, 3], [&[3, 1], &[1, 2]]).unwrap();
        let expected = [[0, 0], [1, 2], [2, 4], [3, 1], [4, 3], [5, 5]];
        assert_eq!(offsets(&walk), expected);
        let rest: Vec<_> = walk.runs_from(1).map(|run| run.offsets).collect();
        assert_eq!(rest, [[3, 1]]);
    }

    #[test]
    fn a_stride_of_zero_repeats() {
        let walk = Walk::new(&[2, 2], [&[2, 1], &[0, 1]]).unwrap();
        assert_eq!(offsets(&walk), [[0, 0], [1, 1], [2, 0], [3, 1]]);
    }

    #[test]
    fn a_scalar_is_one_run_of_one_and_nothing_is_no_run() {
        let scalar = Walk::<2>::new(&[], [&[], &[]]).unwrap();
        assert_eq!(offsets(&scalar), [[0, 0]]);
        let huge = usize::MAX / 2;
        let nothing = Walk::new(&[huge, huge, 0], [&[huge, 1, 1], &[huge, 1, 1]]).unwrap();
        assert_eq!(offsets(&nothing), [] as [[usize; 2]; 0]);
        for sizes in [[0, 3], [3, 0]] {
            let nothing = Walk::new(&sizes, [&[3, 1], &[3, 1]]).unwrap();
            assert_eq!(offsets(&nothing), [] as [[usize; 2]; 0]);
        }
    }
}
