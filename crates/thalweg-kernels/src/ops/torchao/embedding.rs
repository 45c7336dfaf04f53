//! Rows of packed tables, as floats.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, TensorView, ensure, identity_order};

use super::bits::Packing;
use super::header::{Header, Kind};
use super::strips::{COLUMNS, RUN, Strips};
use super::{header, size};
use crate::layout::indices::{checked, positions};
use crate::layout::order::{fill_in_order, laid_out};
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    for bits in 1..=8 {
        registry.add(pure(
            &format!(
                "torchao::_embedding_{bits}bit.out(Tensor packed_weight_qvals, \
                 int num_embeddings, int embedding_dim, Tensor weight_scales, \
                 Tensor weight_zeros, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)"
            ),
            move |call| embedding(call, bits),
        )?);
        registry.add(pure(
            &format!(
                "torchao::_shared_embedding_{bits}bit.out(Tensor packed_weights, int group_size, \
                 int n, int k, Tensor indices, *, Tensor(a!) out) -> Tensor(a!)"
            ),
            move |call| shared_embedding(call, bits),
        )?);
    }
    Ok(())
}

/// Looks rows up in a table. Their scales and zero points are tensors of their own.
fn embedding(call: &KernelCall<'_>, bits: usize) -> Result<()> {
    let (packed, scales, zero_points) = (call.tensor(0)?, call.tensor(3)?, call.tensor(4)?);
    let [rows, columns] = [size(call, 1)?, size(call, 2)?];
    let packed = header::bytes(&packed, DType::I8, 1)?;
    let header = Header::read(packed)?;
    ensure!(
        header.kind == Kind::Rows && header.parameters[..4] == [1, bits as i32, 32, 128],
        Unsupported,
        "a table of {bits} bits that is packed as {:?} {:?}",
        header.kind,
        &header.parameters[..4]
    );
    let groups = match scales.sizes() {
        &[count, groups] if count == rows && columns.checked_rem(groups) == Some(0) => groups,
        other => thalweg_core::bail!(
            InvalidInput,
            "scales of shape {other:?} do not fit a table of {rows} rows of {columns}"
        ),
    };
    let group = columns / groups;
    ensure!(
        zero_points.sizes() == scales.sizes() && group % SMALLEST == 0,
        InvalidInput,
        "zero points of shape {:?}, scales of shape {:?} and rows of {columns} do not fit together \
         in groups that are multiples of {SMALLEST}",
        zero_points.sizes(),
        scales.sizes()
    );
    let row_bytes = columns / 8 * bits;
    ensure!(
        row_bytes.checked_mul(rows) == Some(header.rest.len()),
        InvalidInput,
        "{} bytes are not a packed table of {rows} rows of {columns} times {bits} bits",
        packed.len()
    );
    let order = identity_order(2)?;
    let (scales, zero_points) = (
        laid_out::<f32>(call, scales, order)?,
        laid_out::<i8>(call, zero_points, order)?,
    );
    let packings = [
        Packing::new(bits, LARGEST)?,
        Packing::new(bits, LARGEST / 2)?,
        Packing::new(bits, SMALLEST)?,
    ];
    gather(call, 5, [rows, columns], |row, target| {
        let mut packed = &header.rest[row * row_bytes..][..row_bytes];
        let mut values = [0; LARGEST];
        let mut first = 0;
        while first < columns {
            // As large as still fit.
            let (packing, block) = match columns - first {
                LARGEST.. => (&packings[0], LARGEST),
                64.. => (&packings[1], LARGEST / 2),
                _ => (&packings[2], SMALLEST),
            };
            let values = &mut values[..block];
            packing.unpack(packed, values);
            packed = &packed[block / 8 * bits..];
            let targets = target[first..].chunks_mut(SMALLEST);
            for (part, (target, values)) in targets.zip(values.chunks(SMALLEST)).enumerate() {
                let group = row * groups + (first + part * SMALLEST) / group;
                let (scale, zero_point) = (scales[group], f32::from(zero_points[group]));
                for (target, &value) in target.iter_mut().zip(values) {
                    *target = (f32::from(packing.signed(value)) - zero_point) * scale;
                }
            }
            first += block;
        }
    })
}

/// Blocks of a row: as many as fit of the largest, then one of half of it and one of the smallest.
const LARGEST: usize = 128;
const SMALLEST: usize = 32;

/// Looks rows up in the weights of a linear layer, whose columns are the rows of the table.
fn shared_embedding(call: &KernelCall<'_>, bits: usize) -> Result<()> {
    let packed = call.tensor(0)?;
    let [group, rows, columns] = [size(call, 1)?, size(call, 2)?, size(call, 3)?];
    let packed = header::bytes(&packed, DType::I8, 1)?;
    let weights = Strips::new(packed, bits, [rows, columns, group])?;
    gather(call, 4, [rows, columns], |row, target| {
        let strip = weights.strip(row / COLUMNS);
        strip.for_each_run(|column, first, run| {
            if column != row % COLUMNS {
                return;
            }
            let (scale, zero_point) = (
                strip.scale(first / group, column),
                strip.zero_point(first / group, column) as f32,
            );
            let target = &mut target[first..][..RUN];
            for (target, &value) in target.iter_mut().zip(run) {
                *target = (f32::from(value) - zero_point) * scale;
            }
        });
    })
}

/// Writes the row of each index with `read`. The indices are the argument at `position`, the output is
/// the one behind it.
fn gather(
    call: &KernelCall<'_>,
    position: usize,
    [rows, columns]: [usize; 2],
    read: impl Fn(usize, &mut [f32]),
) -> Result<()> {
    let indices: TensorView<'_> = call.tensor(position)?;
    ensure!(
        indices.rank() == 1,
        InvalidInput,
        "indices of shape {:?} have more or fewer dimensions than 1",
        indices.sizes()
    );
    let mut out = call.output(position + 1, &[indices.numel(), columns])?;
    let indices = positions(call, &indices)?;
    fill_in_order::<f32>(call, &mut out, identity_order(2)?, |out| {
        for (target, &index) in out.chunks_exact_mut(columns).zip(indices) {
            read(checked(index, rows)?, target);
        }
        Ok(())
    })
}
