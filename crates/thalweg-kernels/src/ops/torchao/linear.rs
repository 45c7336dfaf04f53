//! Linear layers with inputs of 8 bits.
//!
//! Each row of the input is quantized when the layer runs. The products are those of integers, exact
//! in each group of weights, and become floats there.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, identity_order};

use super::strips::{COLUMNS, RUN, Strip, Strips};
use super::{check_rows, header, size, write_strips};
use crate::layout::order::laid_out;
use crate::operator::pure;
use crate::parallel::for_each_chunk_with;
use crate::quantize::round;
use crate::simd::vectorized;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    for bits in 1..=8 {
        registry.add(pure(
            &format!(
                "torchao::_linear_8bit_act_{bits}bit_weight.out(Tensor activations, \
                 Tensor packed_weights, int group_size, int n, int k, *, Tensor(a!) out) \
                 -> Tensor(a!)"
            ),
            move |call| linear(call, bits),
        )?);
    }
    Ok(())
}

fn linear(call: &KernelCall<'_>, bits: usize) -> Result<()> {
    let (input, packed) = (call.tensor(0)?, call.tensor(1)?);
    let [group, outputs, inputs] = [size(call, 2)?, size(call, 3)?, size(call, 4)?];
    check_rows(&input, inputs)?;
    let packed = header::bytes(&packed, DType::I8, 1)?;
    let weights = Strips::new(packed, bits, [outputs, inputs, group])?;
    let rows = input.sizes()[0];
    let mut out = call.output(5, &[rows, outputs])?;
    let input = laid_out::<f32>(call, input, identity_order(2)?)?;
    let input = Quantized::new(call, input, &weights)?;
    let results = call.temporary::<f32>(rows.saturating_mul(weights.count() * COLUMNS))?;
    let scratch = call.temporary::<i16>(weights.scratch_len(call.threads()))?;
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

/// Rows of floats as integers of 8 bits, less a zero point: they are to be multiplied with a scale.
struct Quantized<'a> {
    values: &'a [i16],
    scales: &'a [f32],
    inputs: usize,
    group: usize,
}

impl<'a> Quantized<'a> {
    fn new(call: &'a KernelCall<'_>, data: &[f32], weights: &Strips<'_>) -> Result<Self> {
        let (inputs, group) = (weights.inputs, weights.group);
        let values = call.temporary::<i16>(data.len())?;
        let scales = call.temporary::<f32>(data.len() / inputs)?;
        let targets = values.chunks_exact_mut(inputs).zip(scales.iter_mut());
        for (row, (target, scale)) in data.chunks_exact(inputs).zip(targets) {
            *scale = vectorized(
                #[inline(always)]
                || quantize(row, target),
            );
        }
        Ok(Self {
            values,
            scales,
            inputs,
            group,
        })
    }

    /// The products of all rows with eight columns. `columns` is memory for their integers.
    #[inline(always)]
    fn multiply(&self, strip: &Strip<'_>, columns: &mut [i16], out: &mut [f32]) {
        let (inputs, size) = (self.inputs, self.group);
        strip.for_each_run(
            #[inline(always)]
            |column, row, run| {
                // A number beyond the 8 bits of torchao's zero points wraps.
                let zero_point = strip.zero_point(row / size, column) as i8;
                let target = &mut columns[column * inputs + row..][..RUN];
                for (target, &value) in target.iter_mut().zip(run) {
                    *target = i16::from(value) - i16::from(zero_point);
                }
            },
        );
        let rows = self.values.chunks_exact(inputs).zip(self.scales);
        for ((row, scale), out) in rows.zip(out.as_chunks_mut::<COLUMNS>().0) {
            let mut totals = [[0f32; LANES]; COLUMNS];
            for (group, row) in row.chunks_exact(size).enumerate() {
                let scales = strip.scales(group);
                for (column, totals) in totals.iter_mut().enumerate() {
                    let weights = &columns[column * inputs + group * size..][..size];
                    let products = products(row, weights);
                    for (total, product) in totals.iter_mut().zip(products) {
                        *total += scales[column] * product as f32;
                    }
                }
            }
            for (column, (out, totals)) in out.iter_mut().zip(&totals).enumerate() {
                *out = totals.iter().sum::<f32>() * scale + strip.bias(column);
            }
        }
    }
}

/// Parts of a sum, as many as fill the machine's vectors.
const LANES: usize = 8;

/// Elements of a vector of pairs.
const PAIRS: usize = 2 * LANES;

/// The sum of the products of a group, in parts. Pairs are summed first, which machines do at once.
#[inline(always)]
fn products(a: &[i16], b: &[i16]) -> [i32; LANES] {
    let mut lanes = [0; LANES];
    let (a, b) = (a.as_chunks::<PAIRS>().0, b.as_chunks::<PAIRS>().0);
    for (a, b) in a.iter().zip(b) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            let first = i32::from(a[2 * lane]) * i32::from(b[2 * lane]);
            let second = i32::from(a[2 * lane + 1]) * i32::from(b[2 * lane + 1]);
            *sum += first + second;
        }
    }
    lanes
}

/// Quantizes a row, and returns its scale.
///
/// The range has zero in it, as torchao defines it. Its kernel leaves zero out, which overflows the zero
/// point where all elements have the same sign, and makes nothing of a row whose elements are all equal.
#[inline(always)]
fn quantize(row: &[f32], target: &mut [i16]) -> f32 {
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
        return if is_nan { f32::NAN } else { scale };
    }
    let zero_point = (LOWEST - (min / scale).round()).clamp(LOWEST, HIGHEST);
    let inverse = (1.0 / (f64::from(scale) + 1e-16)) as f32;
    for (target, &x) in target.iter_mut().zip(row) {
        // As one operation that rounds once.
        let value = f64::from(x) * f64::from(inverse) + f64::from(zero_point);
        *target = (round(value as f32).clamp(LOWEST, HIGHEST) - zero_point) as i16;
    }
    scale
}
