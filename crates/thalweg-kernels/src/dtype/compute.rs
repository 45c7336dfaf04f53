//! Compute types: the types in which operators compute, and conversion of elements to them and back.
//!
//! There are 15 element types, but operators compute in eight: the small integers in a larger
//! one that wraps alike once it is stored, f16 and bf16 in f32. So an operator's inner loop is
//! built once per compute type, and conversion is built once for all operators.

use thalweg_core::{Bool, Complex32, Complex64, DType, Element, Result, Scalar, TensorView};
use thalweg_core::{TensorViewMut, bf16, f16};

use crate::dtype::cast::{CastFrom, CastInto, cast_scalar};
use crate::dtype::dispatch::dispatch;
use crate::dtype::elements::elements_mut;

macro_rules! compute_trait {
    ($($element:ty),*) => {
        /// A type to compute in: every element type converts to it and back.
        pub(crate) trait Compute:
            Element $(+ CastFrom<$element> + CastInto<$element>)*
        {
        }
    };
}

compute_trait!(
    u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64, Bool, Complex32, Complex64
);

impl Compute for u8 {}
impl Compute for i32 {}
impl Compute for i64 {}
impl Compute for u64 {}
impl Compute for f32 {}
impl Compute for f64 {}
impl Compute for Bool {}
impl Compute for Complex32 {}
impl Compute for Complex64 {}

/// `dispatch_compute!(dtype, group => C, { ... })` runs the block with `C` standing for the type
/// in which elements of `dtype` are computed. Groups: `integer` (booleans are 0 and 1 there),
/// `float`, `real` (both), `complex`, `float_complex` and `number` (all). `C` has element type
/// `C::DTYPE`, and it is `dtype` unless that is a small integer, a boolean, f16 or bf16.
macro_rules! dispatch_compute {
    ($dtype:expr, integer => $C:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $C, $body,
            [U8 Bool: u8] [I8 I16 U16 I32: i32] [U32 I64: i64] [U64: u64])
    };
    ($dtype:expr, float => $C:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $C, $body,
            [F16 BF16 F32: f32] [F64: f64])
    };
    ($dtype:expr, real => $C:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $C, $body,
            [U8 Bool: u8] [I8 I16 U16 I32: i32] [U32 I64: i64] [U64: u64]
            [F16 BF16 F32: f32] [F64: f64])
    };
    ($dtype:expr, complex => $C:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $C, $body,
            [ComplexF32: ::thalweg_core::Complex32] [ComplexF64: ::thalweg_core::Complex64])
    };
    ($dtype:expr, float_complex => $C:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $C, $body,
            [F16 BF16 F32: f32] [F64: f64]
            [ComplexF32: ::thalweg_core::Complex32] [ComplexF64: ::thalweg_core::Complex64])
    };
    ($dtype:expr, number => $C:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $C, $body,
            [U8 Bool: u8] [I8 I16 U16 I32: i32] [U32 I64: i64] [U64: u64]
            [F16 BF16 F32: f32] [F64: f64]
            [ComplexF32: ::thalweg_core::Complex32] [ComplexF64: ::thalweg_core::Complex64])
    };
}

pub(crate) use dispatch_compute;

/// A number as an element of type `common`, in its compute type.
pub(crate) fn constant<C: Compute>(value: Scalar, common: DType) -> Result<C> {
    dispatch!(common, all => S, {
        Ok(C::cast_from(cast_scalar::<S>(value)))
    })
}

/// A value after a round trip through an element of type `dtype`.
pub(crate) fn through<C: Compute>(value: C, dtype: DType) -> Result<C> {
    dispatch!(dtype, all => S, {
        let stored: S = value.cast_into();
        Ok(C::cast_from(stored))
    })
}

/// [`through`] for many values.
pub(crate) fn through_all<C: Compute>(values: &mut [C], dtype: DType) -> Result<()> {
    dispatch!(dtype, all => S, {
        for value in values {
            let stored: S = (*value).cast_into();
            *value = C::cast_from(stored);
        }
    });
    Ok(())
}

/// `len` elements of a tensor from `offset` on, `step` apart in memory, in a compute type: the
/// tensor's own memory where that is possible, else converted into `buffer`.
#[inline]
pub(crate) fn load<'b, C: Compute>(
    tensor: &TensorView<'b>,
    offset: usize,
    step: usize,
    buffer: &'b mut [C],
) -> Result<&'b [C]> {
    if tensor.dtype() == C::DTYPE
        && step == 1
        && let Some(values) = tensor
            .data::<C>()?
            .get(offset..offset.saturating_add(buffer.len()))
    {
        return Ok(values);
    }
    dispatch!(tensor.dtype(), all => S, {
        gather(tensor.data::<S>()?, offset, step, buffer);
    });
    Ok(buffer)
}

/// Fills `to` with elements of `from`, `step` apart, converted.
#[inline]
pub(crate) fn gather<S: Element, C: CastFrom<S>>(
    from: &[S],
    offset: usize,
    step: usize,
    to: &mut [C],
) {
    // What would lie beyond the tensor does not exist, since steps come from its own shape.
    let from = from.get(offset..).unwrap_or_default();
    match step {
        0 => {
            if let Some(&value) = from.first() {
                to.fill(C::cast_from(value));
            }
        }
        1 => C::cast_slice(from, to),
        step => {
            for (to, &from) in to.iter_mut().zip(from.iter().step_by(step)) {
                *to = C::cast_from(from);
            }
        }
    }
}

/// Stores values as elements of a tensor from `offset` on, `step` apart in memory.
#[inline]
pub(crate) fn store<C: Compute>(
    tensor: &mut TensorViewMut<'_>,
    offset: usize,
    step: usize,
    values: &[C],
) -> Result<()> {
    dispatch!(tensor.dtype(), all => S, {
        let to = tensor.data_mut::<S>()?.get_mut(offset..).unwrap_or_default();
        if step == 1 {
            C::cast_into_slice(values, to);
        } else {
            for (to, &value) in to.iter_mut().step_by(step.max(1)).zip(values) {
                *to = value.cast_into();
            }
        }
    });
    Ok(())
}

/// Stores values as the elements of type `dtype` that `bytes` holds.
#[inline]
pub(crate) fn store_bytes<C: Compute>(dtype: DType, bytes: &mut [u8], values: &[C]) -> Result<()> {
    dispatch!(dtype, all => S, {
        C::cast_into_slice(values, elements_mut::<S>(bytes)?);
    });
    Ok(())
}
