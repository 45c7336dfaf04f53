//! Embedding bags: the sum, the mean, or the largest elements of the rows that a list names.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, bail, ensure, identity_order};

use crate::dtype::cast::CastInto;
use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real, compute_into};
use crate::layout::dims::wrap_index;
use crate::layout::indices::positions;
use crate::layout::order::{fill_in_order, laid_out};
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::_embedding_bag.out(Tensor weight, Tensor indices, Tensor offsets, \
         bool scale_grad_by_freq=False, int mode=0, bool sparse=False, \
         Tensor? per_sample_weights=None, bool include_last_offset=False, \
         int padding_idx=-1, *, Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2, \
         Tensor(d!) out3) -> (Tensor(a!), Tensor(b!), Tensor(c!), Tensor(d!))",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { embedding_bag::<T>(call) }),
    )?);
    Ok(())
}

/// The reduction of the rows of a bag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Sum,
    Mean,
    Largest,
}

impl Mode {
    /// The mode with this number in PyTorch.
    fn of(number: i64) -> Result<Self> {
        Ok(match number {
            0 => Self::Sum,
            1 => Self::Mean,
            2 => Self::Largest,
            other => bail!(Operator, "bags have no mode {other}"),
        })
    }
}

/// Computes bags, and the numbers that the derivative needs: the bag of each index, the number
/// of rows in each bag, and where the largest elements were. As in PyTorch, sums have no such
/// numbers, and the last output is the number of rows once more unless the largest are asked for.
fn embedding_bag<T: Float>(call: &KernelCall<'_>) -> Result<()> {
    let (weight, indices, offsets) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let &[rows, len] = weight.sizes() else {
        bail!(Operator, "{weight:?} is not a table");
    };
    ensure!(
        indices.rank() == 1 && offsets.rank() == 1,
        Operator,
        "{indices:?} and {offsets:?} are not both lists"
    );
    let mode = Mode::of(call.int(4)?)?;
    let scales = match call.optional_tensor(6)? {
        None => None,
        Some(scales) => {
            ensure!(
                mode == Mode::Sum
                    && scales.sizes() == indices.sizes()
                    && scales.dtype() == weight.dtype(),
                Operator,
                "{scales:?} does not scale the rows of a sum over {indices:?}"
            );
            Some(scales.data::<T>()?)
        }
    };
    let padding = call.int(8)?;
    let bags = Bags {
        starts: positions(call, &offsets)?,
        indices: positions(call, &indices)?,
        with_end: call.bool(7)?,
    };
    bags.check(rows)?;
    let count = bags.count();
    let table = Table {
        data: laid_out::<T>(call, weight, identity_order(2)?)?,
        len,
        mode,
        scales,
        padding,
    };

    let mut out = call.output(9, &[count, len])?;
    let sizes = call.temporary::<i64>(count)?;
    let places = call.temporary::<i64>(if mode == Mode::Largest {
        count * len
    } else {
        0
    })?;
    places.fill(0);
    fill_in_order::<T>(call, &mut out, identity_order(2)?, |out| {
        compute_into(call, out, |out| {
            out.fill(num_traits::Zero::zero());
            for (bag, size) in sizes.iter_mut().enumerate() {
                *size = table.reduce(&bags, bag, &mut out[bag * len..][..len], places);
            }
            Ok(())
        })
    })?;

    if mode == Mode::Sum {
        sizes.fill(0);
    }
    // PyTorch sums these types without knowing which bag an index is in.
    let bag_is_unknown = mode == Mode::Sum && padding < 0 && T::DTYPE != DType::F64;
    let known = if bag_is_unknown { 0 } else { indices.numel() };
    write_integers(call, 10, &[known], bags.of_indices())?;
    write_integers(call, 11, &[count], sizes.iter().copied())?;
    match mode {
        Mode::Largest => write_integers(call, 12, &[count, len], places.iter().copied()),
        Mode::Sum | Mode::Mean => write_integers(call, 12, &[count], sizes.iter().copied()),
    }
}

/// The rows that bags consist of, and how they become one.
struct Table<'a, T> {
    data: &'a [T],
    /// Elements of a row.
    len: usize,
    mode: Mode,
    /// A factor for each index of a sum.
    scales: Option<&'a [T]>,
    /// The index of rows that are left out.
    padding: i64,
}

impl<T: Float> Table<'_, T> {
    /// Reduces the rows of a bag into `out`, which is zeros. Returns how many there were. Of the largest
    /// elements, `places` has the rows, for all bags.
    fn reduce(
        &self,
        bags: &Bags<'_>,
        bag: usize,
        out: &mut [T::Compute],
        places: &mut [i64],
    ) -> i64 {
        let (len, mut is_empty, mut size) = (self.len, true, bags.size(bag));
        for at in bags.range(bag) {
            let index = bags.indices[at];
            if index == self.padding {
                size -= 1;
                continue;
            }
            let row = &self.data[index as usize * len..][..len];
            if self.mode == Mode::Largest {
                let places = &mut places[bag * len..][..len];
                for ((out, place), &value) in out.iter_mut().zip(places).zip(row) {
                    let value = value.widen();
                    if is_empty || value > *out {
                        (*out, *place) = (value, index);
                    }
                }
            } else {
                let scale = self.scales;
                let scale = scale.map_or(num_traits::One::one(), |s| s[at].widen());
                for (out, &value) in out.iter_mut().zip(row) {
                    *out += value.widen() * scale;
                }
            }
            is_empty = false;
        }
        if self.mode == Mode::Mean && size > 0 {
            let size = T::Compute::of(size as f64);
            out.iter_mut().for_each(|sum| *sum = *sum / size);
        }
        size
    }
}

/// Indices by bag: a bag begins where the one before ends.
struct Bags<'a> {
    starts: &'a [i64],
    indices: &'a [i64],
    /// True if the last of the starts is the end of the last bag.
    with_end: bool,
}

impl Bags<'_> {
    /// An error unless bags follow one another, and indices name rows.
    fn check(&self, rows: usize) -> Result<()> {
        let in_order = self.starts.first().is_none_or(|&start| start == 0)
            && self.starts.is_sorted()
            && self
                .starts
                .last()
                .is_none_or(|&last| last as usize <= self.indices.len())
            && !(self.with_end && self.starts.is_empty());
        ensure!(
            in_order,
            InvalidInput,
            "bags of {} indices cannot begin at {:?}",
            self.indices.len(),
            self.starts
        );
        for &index in self.indices {
            ensure!(
                index >= 0 && wrap_index(index, rows).is_some(),
                OutOfBounds,
                "index {index} is out of range for {rows} rows"
            );
        }
        Ok(())
    }

    fn count(&self) -> usize {
        self.starts.len() - usize::from(self.with_end)
    }

    fn range(&self, bag: usize) -> std::ops::Range<usize> {
        let end = self.starts.get(bag + 1);
        let end = end.map_or(self.indices.len(), |&end| end as usize);
        self.starts[bag] as usize..end
    }

    /// The number of indices that a bag counts. As in PyTorch, the last bag's is that of all
    /// indices that are left, although those behind its end are not in it.
    fn size(&self, bag: usize) -> i64 {
        let end = if bag + 1 < self.count() {
            self.starts[bag + 1]
        } else {
            self.indices.len() as i64
        };
        end - self.starts[bag]
    }

    /// The bag of each index.
    fn of_indices(&self) -> impl Iterator<Item = i64> {
        let starts = &self.starts[..self.count()];
        (0..self.indices.len())
            .map(|at| starts.partition_point(|&start| start as usize <= at) as i64 - 1)
    }
}

/// Gives an output of integers its shape and elements.
fn write_integers(
    call: &KernelCall<'_>,
    position: usize,
    sizes: &[usize],
    values: impl Iterator<Item = i64>,
) -> Result<()> {
    let mut out = call.output(position, sizes)?;
    let order = identity_order(sizes.len())?;
    dispatch!(out.dtype(), integer => T, {
        fill_in_order::<T>(call, &mut out, order, |out| {
            for (out, value) in out.iter_mut().zip(values) {
                *out = value.cast_into();
            }
            Ok(())
        })
    })
}
