//! Floating-point element types, and the types in which operators compute them.

use thalweg_core::{Element, KernelCall, Result, bf16, f16};

use crate::dtype::cast::{CastFrom, CastInto};
use crate::dtype::compute::Compute;
use crate::dtype::convert::converted;

/// A type that floating-point operators compute in: f32 or f64.
pub(crate) trait Real:
    Float<Compute = Self>
    + Compute
    + num_traits::Float
    + std::iter::Sum
    + std::ops::AddAssign
    + std::ops::MulAssign
{
    /// Rounded from a double.
    #[inline(always)]
    fn of(value: f64) -> Self {
        Self::cast_from(value)
    }

    /// As a double.
    #[inline(always)]
    fn double(self) -> f64 {
        self.cast_into()
    }
}

impl Real for f32 {}
impl Real for f64 {}

/// A floating-point element type.
pub(crate) trait Float:
    Element + PartialOrd + CastFrom<Self::Compute> + CastInto<Self::Compute>
{
    /// f32 for itself and the half types, f64 for itself.
    type Compute: Real;

    /// Exactly, to the type of computation.
    #[inline(always)]
    fn widen(self) -> Self::Compute {
        self.cast_into()
    }

    /// Rounded to nearest even.
    #[inline(always)]
    fn narrow(value: Self::Compute) -> Self {
        Self::cast_from(value)
    }

    /// [`widen`](Self::widen) for as many elements as both slices have.
    fn widen_all(from: &[Self], to: &mut [Self::Compute]) {
        Self::cast_into_slice(from, to);
    }

    /// [`narrow`](Self::narrow) for as many elements as both slices have.
    fn narrow_all(from: &[Self::Compute], to: &mut [Self]) {
        Self::cast_slice(from, to);
    }
}

macro_rules! floats {
    ($($float:ty => $compute:ty),*) => {
        $(impl Float for $float {
            type Compute = $compute;
        })*
    };
}

floats!(f16 => f32, bf16 => f32, f32 => f32, f64 => f64);

/// The elements in the type of computation: themselves, or a copy in temporary memory.
pub(crate) fn widened<'a, T: Float>(
    call: &'a KernelCall<'_>,
    data: &'a [T],
) -> Result<&'a [T::Compute]> {
    converted(call, bytemuck::cast_slice(data), T::DTYPE)
}

/// Computes elements in the type of computation, and leaves them in `out`.
pub(crate) fn compute_into<T: Float>(
    call: &KernelCall<'_>,
    out: &mut [T],
    compute: impl FnOnce(&mut [T::Compute]) -> Result<()>,
) -> Result<()> {
    if T::DTYPE == <T::Compute as Element>::DTYPE {
        return compute(bytemuck::cast_slice_mut(out));
    }
    let wide = call.temporary::<T::Compute>(out.len())?;
    compute(wide)?;
    T::narrow_all(wide, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_is_rounded_as_the_crate_half_rounds() {
        let values = [
            0.0,
            -0.0,
            1.0,
            1.003_906_2,
            1.011_718_8,
            3.4e38,
            f32::INFINITY,
            -1e-40,
            0.1,
        ];
        for value in values {
            assert_eq!(<bf16 as Float>::narrow(value), bf16::from_f32(value));
        }
        let nan = <bf16 as Float>::narrow(f32::NAN);
        assert!(nan.is_nan() && Float::widen(nan).is_nan());
    }
}
