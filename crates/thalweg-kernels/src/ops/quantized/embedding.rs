//! Rows of quantized tables, as floats.

use thalweg_core::{
    DType, Dims, KernelCall, KernelRegistry, Result, TensorView, bf16, ensure, f16,
};

use super::floats;
use crate::dtype::convert::convert;
use crate::layout::indices::{checked, positions};
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    for (name, bits) in [("byte", 8), ("4bit", 4), ("2bit", 2)] {
        let start = format!("quantized_decomposed::embedding_{name}");
        let arguments = "Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, \
                         int weight_quant_min, int weight_quant_max, Tensor indices";
        registry.add(pure(
            &format!("{start}.out({arguments}, *, Tensor(a!) out) -> Tensor(a!)"),
            move |call| embedding(call, bits, 6),
        )?);
        registry.add(pure(
            &format!(
                "{start}.dtype_out({arguments}, ScalarType? dtype=None, *, Tensor(a!) out) \
                 -> Tensor(a!)"
            ),
            move |call| embedding(call, bits, 7),
        )?);
    }
    Ok(())
}

fn embedding(call: &KernelCall<'_>, bits: usize, out: usize) -> Result<()> {
    let (weight, scales, indices) = (call.tensor(0)?, call.tensor(1)?, call.tensor(5)?);
    let zero_points = call.optional_tensor(2)?;
    ensure!(
        weight.rank() == 2 && weight.is_row_major(),
        InvalidInput,
        "a table of shape {:?} is not a row-major matrix",
        weight.sizes()
    );
    ensure!(
        weight.dtype() == DType::U8 || (bits == 8 && weight.dtype() == DType::I8),
        InvalidInput,
        "a table of {bits} bits cannot have elements of type {}",
        weight.dtype()
    );
    let (rows, bytes) = (weight.sizes()[0], weight.sizes()[1]);
    let columns = bytes.saturating_mul(8 / bits);
    let groups = match scales.sizes() {
        [count] if *count == rows => 1,
        [count, groups] if *count == rows && columns.checked_rem(*groups) == Some(0) => *groups,
        other => thalweg_core::bail!(
            InvalidInput,
            "scales of shape {other:?} do not fit a table of {rows} rows of {columns}"
        ),
    };
    ensure!(
        scales.is_row_major()
            && zero_points.is_none_or(|z| z.sizes() == scales.sizes() && z.is_row_major()),
        InvalidInput,
        "zero points must have the shape {:?} of the scales",
        scales.sizes()
    );
    let mut sizes = Dims::from_slice(indices.sizes())?;
    sizes.push(columns)?;
    let mut out = call.output(out, &sizes)?;
    ensure!(
        out.is_row_major() && out.dtype().is_float(),
        Unsupported,
        "rows of a quantized table can only be put into a row-major tensor of floats"
    );
    let round = match scales.dtype() {
        DType::F16 => |x| f16::from_f32(x).to_f32(),
        DType::BF16 => |x| bf16::from_f32(x).to_f32(),
        _ => |x| x,
    };
    let table = Table {
        weight,
        bits,
        columns,
        groups,
        scales: floats(call, &scales, scales.dim_order())?,
        zero_points: match zero_points {
            Some(zero_points) => floats(call, &zero_points, zero_points.dim_order())?,
            None => &[],
        },
        round,
    };
    let (dtype, positions) = (out.dtype(), positions(call, &indices)?);
    if columns == 0 {
        return Ok(());
    }
    if dtype == DType::F32 {
        let rows_out = out.data_mut::<f32>()?.chunks_exact_mut(columns);
        for (target, &position) in rows_out.zip(positions) {
            table.read(checked(position, rows)?, target);
        }
        return Ok(());
    }
    let row = call.temporary::<f32>(columns)?;
    let rows_out = out.bytes_mut().chunks_exact_mut(columns * dtype.size());
    for (target, &position) in rows_out.zip(positions) {
        table.read(checked(position, rows)?, row);
        convert(target, dtype, bytemuck::cast_slice(row), DType::F32)?;
    }
    Ok(())
}

struct Table<'a> {
    weight: TensorView<'a>,
    bits: usize,
    columns: usize,
    groups: usize,
    scales: &'a [f32],
    /// As many as there are scales, or none.
    zero_points: &'a [f32],
    /// Rounds to the type of the scales, which is the type of computation.
    round: fn(f32) -> f32,
}

impl Table<'_> {
    /// Writes one row.
    fn read(&self, row: usize, target: &mut [f32]) {
        let bytes = self.columns / (8 / self.bits);
        self.unpack(&self.weight.bytes()[row * bytes..][..bytes], target);
        let groups = target.chunks_exact_mut(self.columns / self.groups);
        for (group, target) in groups.enumerate() {
            let group = row * self.groups + group;
            let scale = self.scales[group];
            let zero_point = self.zero_points.get(group).copied();
            let round = self.round;
            match zero_point {
                None => target.iter_mut().for_each(|x| *x = round(*x * scale)),
                Some(zero_point) => target
                    .iter_mut()
                    .for_each(|x| *x = round(round(*x - zero_point) * scale)),
            }
        }
    }

    /// The integers of a row. Of 4 bits, the upper half of a byte comes first; of 2 bits, the
    /// lowest. Both are stored without a sign, from the smallest on.
    fn unpack(&self, bytes: &[u8], target: &mut [f32]) {
        match self.bits {
            4 => {
                for (pair, &byte) in target.chunks_exact_mut(2).zip(bytes) {
                    pair[0] = f32::from(byte >> 4) - 8.0;
                    pair[1] = f32::from(byte & 15) - 8.0;
                }
            }
            2 => {
                for (four, &byte) in target.chunks_exact_mut(4).zip(bytes) {
                    for (i, x) in four.iter_mut().enumerate() {
                        *x = f32::from(byte >> (2 * i) & 3) - 2.0;
                    }
                }
            }
            _ if self.weight.dtype() == DType::I8 => {
                for (x, &byte) in target.iter_mut().zip(bytes) {
                    *x = f32::from(byte as i8);
                }
            }
            _ => {
                for (x, &byte) in target.iter_mut().zip(bytes) {
                    *x = f32::from(byte);
                }
            }
        }
    }
}
