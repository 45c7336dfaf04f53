//! Quantization and dequantization per tensor as epilogues, and quantization that dequantizes at once.

use thalweg_core::{DType, Epilogue, Prepacked, Result, Scalar, StaticArguments};

use crate::epilogue::EpilogueOp;
use crate::quantize::{Dequantize, FakeQuantize, Quantize};

/// The epilogue that `quantize_per_tensor` is.
pub(super) fn quantize(call: &StaticArguments<'_>) -> Result<Option<Epilogue>> {
    Ok(known_quantize(call).map(|how| EpilogueOp::Quantize(how).epilogue()))
}

/// The epilogue that `dequantize_per_tensor` is.
pub(super) fn dequantize(call: &StaticArguments<'_>) -> Result<Option<Epilogue>> {
    Ok(known_dequantize(call).map(|how| EpilogueOp::Dequantize(how).epilogue()))
}

/// Fuses `dequantize_per_tensor` into the quantization before it.
pub(super) fn fuse(
    call: &StaticArguments<'_>,
    epilogues: &[Epilogue],
) -> Result<Option<Prepacked>> {
    let [epilogue] = epilogues else {
        return Ok(None);
    };
    let (Some(to), Some(EpilogueOp::Dequantize(from))) =
        (known_quantize(call), epilogue.get::<EpilogueOp>())
    else {
        return Ok(None);
    };
    Ok(FakeQuantize::new(to, *from).map(Prepacked::new))
}

/// A quantization of f32, if its parameters are constant and valid.
fn known_quantize(call: &StaticArguments<'_>) -> Option<Quantize> {
    let (input, out) = (call.shape(0)?, call.shape(6)?);
    let [zero_point, min, max, dtype] = [2, 3, 4, 5].map(|position| int(call, position));
    let scale = call.scalar(1)?.to_f64();
    if input.dtype != DType::F32 || DType::from_code(dtype?) != Some(out.dtype) {
        return None;
    }
    Quantize::new(scale, zero_point?, [min?, max?], out.dtype)
}

/// A dequantization to f32, if its parameters are constant.
fn known_dequantize(call: &StaticArguments<'_>) -> Option<Dequantize> {
    let (input, out) = (call.shape(0)?, call.shape(7)?);
    if out.dtype != DType::F32 || DType::from_code(int(call, 5)?) != Some(input.dtype) {
        return None;
    }
    let scale = call.scalar(1)?.to_f64();
    Some(Dequantize::new(scale, int(call, 2)?, input.dtype))
}

fn int(call: &StaticArguments<'_>, position: usize) -> Option<i64> {
    match call.scalar(position)? {
        Scalar::Int(value) => Some(value),
        _ => None,
    }
}
