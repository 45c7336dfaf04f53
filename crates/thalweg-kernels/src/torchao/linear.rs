//! Linear layers with inputs of 8 bits.
//!
//! Each row of the input is quantized when the layer runs. The products are those of integers, exact
//! in each group of weights, and become floats there.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, ensure, identity_order};

use super::strips::{COLUMNS, RUN, Strip, Strips};
use super::{header, size, write_strips};
use crate::ordering::laid_out;
use crate::parallel::for_each_chunk_with;
use crate::quantized::round;
use crate::vectors::vectorized;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    for bits in 1..=8 {
        registry.register(
            &format!(
                "torchao::_linear_8bit_act_{bits}bit_weight.out(Tensor activations, \
                 Tensor packed_weights, int group_size, int n, int k, *, Tensor(a!) out) \
                 -> Tensor(a!)"
            ),
            move |call| linear(call, bits),
        )?;
    }
    Ok(())
}

fn linear(call: &KernelCall<'_>, bits: usize) -> Result<()> {
    let (input, packed) = (call.tensor(0)?, call.tensor(1)?);
    let [group, outputs, inputs] = [size(call, 2)?, size(call, 3)?, size(call, 4)?];
    ensure!(
        input.rank() == 2 && input.sizes()[1] == inputs,
        InvalidInput,
        "an input of shape {:?} is not rows of {inputs} elements",
        input.sizes()
    );
    let packed = header::bytes(&packed, DType::I8, 1)?;
    let weights = Strips::new(packed, bits, [outputs, inputs, group])?;
    let rows = input.sizes()[0];
    let mut out = call.output(5, &[rows, outputs])?;
    let input = laid_out::<f32>(call, input, identity_order(2)?)?;
    let input = Quantized::new(call, input, &weights)?;
    let results = call.temporary::<f32>(rows.saturating_mul(weights.count() * COLUMNS))?;
    let scratch = call.temporary::<i8>(weights.scratch_len(call.threads()))?;
    let (work, piece) = (input.values.len().saturating_mul(outputs), rows * COLUMNS);
    for_each_chunk_with(
        call.threads(),
        work,
        results,
        piece,
        scratch,
        |index, out, columns| {
            let strip = weights.strip(index);
            vectorized(
                #[inline(always)]
                || input.multiply(&strip, columns, out),
            );
            Ok(())
        },
    )?;
    write_strips::<COLUMNS>(call, &mut out, results)
}

/// Rows of floats as integers of 8 bits, which stand for `(integer - zero point) * scale`.
struct Quantized<'a> {
    values: &'a [i8],
    inputs: usize,
    group: usize,
    scales: &'a [f32],
    zero_points: &'a [i32],
    /// Of the integers of each group; none where weights have no zero points.
    sums: &'a [i32],
}

impl<'a> Quantized<'a> {
    fn new(call: &'a KernelCall<'_>, data: &[f32], weights: &Strips<'_>) -> Result<Self> {
        let (inputs, group) = (weights.inputs, weights.group);
        let rows = data.len() / inputs;
        let values = call.temporary::<i8>(data.len())?;
        let scales = call.temporary::<f32>(rows)?;
        let zero_points = call.temporary::<i32>(rows)?;
        let sums = if weights.has_zero_points {
            call.temporary::<i32>(data.len() / group)?
        } else {
            &mut []
        };
        let parameters = scales.iter_mut().zip(zero_points.iter_mut());
        let targets = values.chunks_exact_mut(inputs).zip(parameters);
        for (row, (target, (scale, zero_point))) in data.chunks_exact(inputs).zip(targets) {
            (*scale, *zero_point) = vectorized(
                #[inline(always)]
                || quantize(row, target),
            );
        }
        for (sum, values) in sums.iter_mut().zip(values.chunks_exact(group)) {
            *sum = values.iter().copied().map(i32::from).sum();
        }
        Ok(Self {
            values,
            inputs,
            group,
            scales,
            zero_points,
            sums,
        })
    }

    /// The products of all rows with eight columns. `columns` is memory for their integers.
    #[inline(always)]
    fn multiply(&self, strip: &Strip<'_>, columns: &mut [i8], out: &mut [f32]) {
        let (inputs, size) = (self.inputs, self.group);
        strip.for_each_run(
            #[inline(always)]
            |column, row, run| columns[column * inputs + row..][..RUN].copy_from_slice(run),
        );
        let groups = inputs / size;
        let rows = self.values.chunks_exact(inputs);
        for (row, (values, out)) in rows.zip(out.as_chunks_mut::<COLUMNS>().0).enumerate() {
            let (scale, zero_point) = (self.scales[row], i64::from(self.zero_points[row]));
            let columns = columns.chunks_exact(inputs);
            for (column, (out, weights)) in out.iter_mut().zip(columns).enumerate() {
                let mut total = 0.0;
                let parts = values.chunks_exact(size).zip(weights.chunks_exact(size));
                for (group, (values, weights)) in parts.enumerate() {
                    let products = values.iter().zip(weights);
                    let product: i32 = products.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
                    let weight_zero = i64::from(strip.zero_point(group, column));
                    let sum = self.sums.get(row * groups + group).copied().unwrap_or(0);
                    let exact = i64::from(product)
                        - zero_point * i64::from(strip.sum(group, column))
                        - weight_zero * i64::from(sum)
                        + size as i64 * weight_zero * zero_point;
                    total += strip.scale(group, column) * scale * exact as f32;
                }
                *out = total + strip.bias(column);
            }
        }
    }
}

/// Quantizes a row, and returns its scale and its zero point.
///
/// The range has zero in it, as torchao defines it. Its kernel leaves zero out, which overflows the zero
/// point where all elements have the same sign, and makes nothing of a row whose elements are all equal.
#[inline(always)]
fn quantize(row: &[f32], target: &mut [i8]) -> (f32, i32) {
    const LOWEST: f32 = i8::MIN as f32;
    const HIGHEST: f32 = i8::MAX as f32;
    const HIGHEST_STEP: f32 = HIGHEST - LOWEST;
    let (mut min, mut max, mut is_nan) = (0f32, 0f32, false);
    for &x in row {
        min = if x < min { x } else { min };
        max = if x > max { x } else { max };
        is_nan |= x.is_nan();
    }
    let scale = (max - min) / HIGHEST_STEP;
    if scale == 0.0 || is_nan || scale.is_infinite() {
        target.fill(0);
        return (if is_nan { f32::NAN } else { scale }, 0);
    }
    let zero_point = (LOWEST - (min / scale).round()).clamp(LOWEST, HIGHEST);
    let inverse = (1.0 / (f64::from(scale) + 1e-16)) as f32;
    for (target, &x) in target.iter_mut().zip(row) {
        // As one operation that rounds once.
        let value = f64::from(x) * f64::from(inverse) + f64::from(zero_point);
        *target = round(value as f32).clamp(LOWEST, HIGHEST) as i8;
    }
    (scale, zero_point as i32)
}
