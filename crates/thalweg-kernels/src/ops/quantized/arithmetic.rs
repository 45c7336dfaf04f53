//! Sums and products of quantized tensors.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, ensure};

use super::{floats, quantized};
use crate::dtype::convert::convert;
use crate::layout::order::in_order;
use crate::operator::pure;
use crate::quantize::{integer_range, round};

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "quantized_decomposed::add.out(Tensor a, float a_scale, int a_zero_point, \
         int a_quant_min, int a_quant_max, Tensor b, float b_scale, int b_zero_point, \
         int b_quant_min, int b_quant_max, float out_scale, int out_zero_point, \
         int out_quant_min, int out_quant_max, *, Tensor(a!) out) -> Tensor(a!)",
        add,
    )?);
    registry.add(pure(
        "quantized_decomposed::mixed_linear.out(Tensor input, Tensor weight, \
         Tensor weight_scales, Tensor? weight_zero_points, ScalarType? dtype=None, *, \
         Tensor(a!) out) -> Tensor(a!)",
        mixed_linear,
    )?);
    registry.add(pure(
        "quantized_decomposed::mixed_mm.out(Tensor input, Tensor weight, \
         Tensor weight_scales, Tensor? weight_zero_points, *, Tensor(a!) out) -> Tensor(a!)",
        mixed_mm,
    )?);
    Ok(())
}

fn add(call: &KernelCall<'_>) -> Result<()> {
    let (a, b) = (call.tensor(0)?, call.tensor(5)?);
    let mut out = call.output(14, a.sizes())?;
    ensure!(
        a.sizes() == b.sizes() && a.dtype() == b.dtype() && a.dtype() == out.dtype(),
        InvalidInput,
        "quantized tensors of {} {:?} and {} {:?} cannot be added to one of {}",
        a.dtype(),
        a.sizes(),
        b.dtype(),
        b.sizes(),
        out.dtype()
    );
    let (min, max) = (call.int(12)?, call.int(13)?);
    let (lowest, highest) = integer_range(a.dtype())?;
    ensure!(
        lowest <= min && min <= max && max <= highest,
        InvalidInput,
        "elements of type {} cannot be limited to {min} and {max}",
        a.dtype()
    );
    let (min, max) = (min as f32, max as f32);
    let [a_scale, b_scale] = [call.double(1)? as f32, call.double(6)? as f32];
    let [a_zero, b_zero, out_zero] = [
        call.int(2)? as f32,
        call.int(7)? as f32,
        call.int(11)? as f32,
    ];
    let inverse = 1.0 / call.double(10)? as f32;
    let order = out.dim_order();
    let (a, b) = (in_order(call, a, order)?, in_order(call, b, order)?);
    quantized!(a.dtype() => Q, {
        let inputs = a.data::<Q>()?.iter().zip(b.data::<Q>()?);
        for (out, (&a, &b)) in out.data_mut::<Q>()?.iter_mut().zip(inputs) {
            let sum = (a as f32 - a_zero) * a_scale + (b as f32 - b_zero) * b_scale;
            let quantized = round(sum * inverse) + out_zero;
            *out = quantized.clamp(min, max) as i32 as Q;
        }
    });
    Ok(())
}

/// The operands of a product of floats with quantized weights, as slices.
struct Mixed<'a> {
    input: &'a [f32],
    weight: &'a [i8],
    scales: &'a [f32],
    rows: usize,
    inner: usize,
}

impl<'a> Mixed<'a> {
    fn new(call: &'a KernelCall<'_>) -> Result<Self> {
        let (input, weight, scales) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
        ensure!(
            input.rank() == 2 && weight.rank() == 2 && (1..=2).contains(&scales.rank()),
            InvalidInput,
            "tensors of shapes {:?}, {:?} and scales of shape {:?} have no product",
            input.sizes(),
            weight.sizes(),
            scales.sizes()
        );
        ensure!(
            weight.is_row_major() && scales.is_row_major(),
            Unsupported,
            "quantized weights must be row-major"
        );
        ensure!(
            call.optional_tensor(3)?.is_none(),
            Unsupported,
            "products with weights that have zero points"
        );
        Ok(Self {
            input: floats(call, &input, &[0, 1])?,
            weight: weight.data()?,
            scales: floats(call, &scales, scales.dim_order())?,
            rows: input.sizes()[0],
            inner: input.sizes()[1],
        })
    }

    /// Calls `row` with each row of the input and of the result.
    fn write(
        &self,
        call: &KernelCall<'_>,
        out: usize,
        columns: usize,
        row: impl Fn(&[f32], &mut [f32]),
    ) -> Result<()> {
        let mut out = call.output(out, &[self.rows, columns])?;
        ensure!(
            out.is_row_major() && out.dtype().is_float(),
            Unsupported,
            "the product must be a row-major tensor of floats"
        );
        let (dtype, results) = (out.dtype(), call.temporary::<f32>(columns)?);
        if columns == 0 {
            return Ok(());
        }
        let targets = out.bytes_mut().chunks_exact_mut(columns * dtype.size());
        for (index, target) in targets.enumerate() {
            results.fill(0.0);
            row(&self.input[index * self.inner..][..self.inner], results);
            convert(target, dtype, bytemuck::cast_slice(results), DType::F32)?;
        }
        Ok(())
    }
}

/// The weights are rows of [out, in], each with a scale for every group of columns.
fn mixed_linear(call: &KernelCall<'_>) -> Result<()> {
    let mixed = Mixed::new(call)?;
    let (weight, scales) = (call.tensor(1)?, call.tensor(2)?);
    let (columns, inner) = (weight.sizes()[0], mixed.inner);
    let groups = scales.sizes().get(1).copied().unwrap_or(1);
    ensure!(
        weight.sizes()[1] == inner && scales.sizes()[0] == columns && groups > 0,
        InvalidInput,
        "an input with {inner} columns does not fit weights of shape {:?} with scales of {:?}",
        weight.sizes(),
        scales.sizes()
    );
    let group = inner.div_ceil(groups).max(1);
    mixed.write(call, 5, columns, |input, results| {
        for (column, result) in results.iter_mut().enumerate() {
            let weights = &mixed.weight[column * inner..][..inner];
            let parts = input.chunks(group).zip(weights.chunks(group));
            for ((input, weights), scale) in parts.zip(&mixed.scales[column * groups..]) {
                let products = input.iter().zip(weights).map(|(&x, &w)| x * f32::from(w));
                *result += products.sum::<f32>() * scale;
            }
        }
    })
}

/// The weights are columns of [in, out], with a scale for each row.
fn mixed_mm(call: &KernelCall<'_>) -> Result<()> {
    let mixed = Mixed::new(call)?;
    let (weight, scales) = (call.tensor(1)?, call.tensor(2)?);
    let columns = weight.sizes()[1];
    ensure!(
        weight.sizes()[0] == mixed.inner && scales.numel() == mixed.inner,
        InvalidInput,
        "an input with {} columns does not fit weights of shape {:?} with scales of {:?}",
        mixed.inner,
        weight.sizes(),
        scales.sizes()
    );
    mixed.write(call, 4, columns, |input, results| {
        for (row, (&x, &scale)) in input.iter().zip(mixed.scales).enumerate() {
            let weights = &mixed.weight[row * columns..][..columns];
            for (result, &w) in results.iter_mut().zip(weights) {
                *result += x * (f32::from(w) * scale);
            }
        }
    })
}
