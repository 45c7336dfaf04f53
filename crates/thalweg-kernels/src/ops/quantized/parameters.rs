//! Choice of scales and zero points for the values of a tensor.

use thalweg_core::{DType, Dims, KernelCall, KernelRegistry, Result, ensure};

use super::floats;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "quantized_decomposed::choose_qparams.Tensor_out(Tensor input, int quant_min, \
         int quant_max, float eps, ScalarType dtype, *, Tensor(a!) scale_out, \
         Tensor(b!) zero_point_out) -> (Tensor(a!), Tensor(b!))",
        choose,
    )?);
    registry.add(pure(
        "quantized_decomposed::choose_qparams_per_token_asymmetric.out(Tensor input, \
         ScalarType dtype, *, Tensor(a!) scale_out, Tensor(b!) zero_point_out) \
         -> (Tensor(a!), Tensor(b!))",
        choose_per_token,
    )?);
    Ok(())
}

fn choose(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (quant_min, quant_max) = (call.int(1)?, call.int(2)?);
    ensure!(
        quant_min < quant_max
            && i32::try_from(quant_min).is_ok()
            && i32::try_from(quant_max).is_ok(),
        InvalidInput,
        "{quant_min} and {quant_max} are not the limits of quantized values"
    );
    ensure!(
        input.numel() > 0,
        InvalidInput,
        "a tensor of shape {:?} has no values to choose a scale for",
        input.sizes()
    );
    let (min, max) = extremes(floats(call, &input, input.dim_order())?);
    let scale = (max - min) / (quant_max - quant_min) as f32;
    let scale = scale.max(call.double(3)? as f32);
    let steps = (min / scale).round_ties_even() as i32;
    let zero_point = (quant_min - i64::from(steps)).clamp(quant_min, quant_max);
    // The program may have planned for one element in any number of dimensions.
    let shape = |output| Dims::filled(1, call.output_dim_order(output)?.len());
    let (scales, zero_points) = (shape(5)?, shape(6)?);
    let mut scales = call.output(5, &scales)?;
    let mut zero_points = call.output(6, &zero_points)?;
    scales.data_mut::<f64>()?.fill(scale.into());
    zero_points.data_mut::<i64>()?.fill(zero_point);
    Ok(())
}

/// The smallest and the largest value, with 0 among them. NaN is passed over.
fn extremes(values: &[f32]) -> (f32, f32) {
    // Several at a time, so that the loop is vectorized.
    let (mut min, mut max) = ([0f32; 16], [0f32; 16]);
    for chunk in values.chunks(16) {
        for ((min, max), &value) in min.iter_mut().zip(&mut max).zip(chunk) {
            *min = if value < *min { value } else { *min };
            *max = if value > *max { value } else { *max };
        }
    }
    (
        min.into_iter().fold(0.0, f32::min),
        max.into_iter().fold(0.0, f32::max),
    )
}

fn choose_per_token(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    ensure!(
        input.rank() > 0 && input.is_row_major(),
        Unsupported,
        "tokens are quantized in row-major tensors with dimensions only"
    );
    ensure!(
        call.dtype(1)? == DType::I8,
        Unsupported,
        "tokens are quantized to i8 only"
    );
    let mut sizes = Dims::from_slice(input.sizes())?;
    let last = sizes.len() - 1;
    let token = std::mem::replace(&mut sizes[last], 1);
    let mut scales = call.output(2, &sizes)?;
    let mut zero_points = call.output(3, &sizes)?;
    ensure!(
        token > 0 || scales.numel() == 0,
        InvalidInput,
        "a token without values has no scale"
    );
    let (quant_min, quant_max) = (-128f32, 127f32);
    let outputs = scales
        .data_mut::<f64>()?
        .iter_mut()
        .zip(zero_points.data_mut::<i64>()?);
    let tokens = floats(call, &input, input.dim_order())?.chunks_exact(token.max(1));
    for ((scale_out, zero_point_out), values) in outputs.zip(tokens) {
        let (min, max) = extremes(values);
        let scale = ((max - min) / (quant_max - quant_min)).max(f32::EPSILON);
        let (low, high) = (min / scale, max / scale);
        let zero_point = if (quant_min + low) + (quant_max + high) > 0.0 {
            quant_min - low
        } else {
            quant_max - high
        };
        let zero_point = zero_point.clamp(quant_min, quant_max);
        *scale_out = scale.into();
        *zero_point_out = zero_point.round_ties_even() as i64;
    }
    Ok(())
}
