//! Floating-point element types, and the types in which operators compute them.

use half::slice::HalfFloatSliceExt;
use thalweg_core::{Element, KernelCall, Result, bf16, f16};

/// What floating-point operators compute in: f32 or f64.
pub(crate) trait Real:
    Float<Compute = Self>
    + num_traits::Float
    + std::iter::Sum
    + std::ops::AddAssign
    + std::ops::MulAssign
{
    /// Rounded from a double.
    fn of(value: f64) -> Self;
    /// As a double.
    fn double(self) -> f64;
}

/// A floating-point element type.
pub(crate) trait Float: Element + PartialOrd {
    /// f32 for itself and the half types, f64 for itself.
    type Compute: Real;

    /// Exactly, to the type of computation.
    fn widen(self) -> Self::Compute;

    /// Rounded to nearest even.
    fn narrow(value: Self::Compute) -> Self;

    /// [`widen`](Self::widen) for as many elements as both slices have.
    fn widen_all(from: &[Self], to: &mut [Self::Compute]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = from.widen();
        }
    }

    /// [`narrow`](Self::narrow) for as many elements as both slices have.
    fn narrow_all(from: &[Self::Compute], to: &mut [Self]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = Self::narrow(*from);
        }
    }
}

/// The elements in the type of computation: themselves, or a copy in temporary memory.
pub(crate) fn widened<'a, T: Float>(
    call: &'a KernelCall<'_>,
    data: &'a [T],
) -> Result<&'a [T::Compute]> {
    if T::DTYPE == <T::Compute as Element>::DTYPE {
        return Ok(bytemuck::cast_slice(data));
    }
    let wide = call.temporary::<T::Compute>(data.len())?;
    T::widen_all(data, wide);
    Ok(wide)
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

macro_rules! real {
    ($($T:ty)*) => {
        $(
            impl Real for $T {
                #[inline(always)]
                fn of(value: f64) -> Self {
                    value as $T
                }

                #[inline(always)]
                fn double(self) -> f64 {
                    f64::from(self)
                }
            }

            impl Float for $T {
                type Compute = $T;

                #[inline(always)]
                fn widen(self) -> $T {
                    self
                }

                #[inline(always)]
                fn narrow(value: $T) -> $T {
                    value
                }
            }
        )*
    };
}

real!(f32 f64);

impl Float for f16 {
    type Compute = f32;

    #[inline]
    fn widen(self) -> f32 {
        self.to_f32()
    }

    #[inline]
    fn narrow(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn widen_all(from: &[Self], to: &mut [f32]) {
        let len = from.len().min(to.len());
        from[..len].convert_to_f32_slice(&mut to[..len]);
    }

    fn narrow_all(from: &[f32], to: &mut [Self]) {
        let len = from.len().min(to.len());
        to[..len].convert_from_f32_slice(&from[..len]);
    }
}

// Written out, without branches, so that loops over them are vectorized.
impl Float for bf16 {
    type Compute = f32;

    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn narrow(value: f32) -> Self {
        let bits = value.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        let quiet = (bits >> 16) | 0x40;
        let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
        Self::from_bits(if is_nan { quiet } else { rounded } as u16)
    }
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
