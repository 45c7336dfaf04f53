//! Vector instructions, for the loops in which they matter most.
//!
//! A loop is written once, over a [`Vector`], and compiled for each instruction set; which one runs is chosen
//! when the program does. Other loops leave it to the compiler to find vectors (`multiversion`).
#![allow(
    unsafe_code,
    reason = "vector instructions that the machine has to have, and pointers to what they load"
)]

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod multiversion;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::sync::OnceLock;

#[cfg(target_arch = "aarch64")]
pub(crate) use std::arch::aarch64::float32x4_t;
#[cfg(target_arch = "x86_64")]
pub(crate) use std::arch::x86_64::{__m256, __m512};

pub(crate) use multiversion::vectorized;
pub(crate) use portable::Four;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Half;

/// An instruction set with vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// The instructions that every machine has.
    Any,
}

impl Isa {
    /// The best instruction set of this machine.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Self::all()[0])
    }

    /// All instruction sets of this machine, the best first.
    pub(crate) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                all.push(Self::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            all.push(Self::Neon);
        }
        all.push(Self::Any);
        all
    }

    pub(crate) fn is_available(self) -> bool {
        self == Self::best() || Self::all().contains(&self)
    }
}

/// A vector: some floats that one instruction works on.
///
/// # Safety
/// Functions may only be called where the machine has the instructions; pointers must be good for
/// [`LANES`](Vector::LANES) floats, or as many as `count` says.
pub(crate) unsafe trait Vector: Copy {
    const LANES: usize;
    unsafe fn load(from: *const f32) -> Self;
    /// The first `count`, fewer than `LANES`, and zeros.
    unsafe fn load_first(from: *const f32, count: usize) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// The first `count`, fewer than `LANES`.
    unsafe fn store_first(self, to: *mut f32, count: usize);
    unsafe fn splat(value: f32) -> Self;
    /// `self * by + add`.
    unsafe fn mul_add(self, by: Self, add: Self) -> Self;
    /// Numbers lower than `lowest` become that, and then those higher than `highest`. NaN
    /// stays.
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self;
}

/// The lowest and the highest that limits nothing.
pub(crate) const NO_LIMITS: [f32; 2] = [f32::NEG_INFINITY, f32::INFINITY];

#[cfg(test)]
mod tests {
    use super::*;

    /// Holds a kind of vector against numbers one by one.
    unsafe fn check<V: Vector>() {
        let numbers: Vec<f32> = (0..V::LANES).map(|i| i as f32 - 1.5).collect();
        for count in 1..V::LANES {
            let mut to = vec![9.0; V::LANES];
            // SAFETY: there are as many numbers, and the machine has the instructions.
            unsafe {
                let first = V::load_first(numbers.as_ptr(), count);
                first.store(to.as_mut_ptr());
                for (index, &x) in to.iter().enumerate() {
                    assert_eq!(x, if index < count { numbers[index] } else { 0.0 });
                }
                to.fill(9.0);
                V::load(numbers.as_ptr()).store_first(to.as_mut_ptr(), count);
            }
            for (index, &x) in to.iter().enumerate() {
                assert_eq!(x, if index < count { numbers[index] } else { 9.0 });
            }
        }
        let mut to = vec![0.0; V::LANES];
        // SAFETY: as above.
        unsafe {
            let x = V::load(numbers.as_ptr());
            let sum = x.mul_add(V::splat(2.0), V::splat(0.5));
            let [lowest, highest] = [V::splat(-2.0), V::splat(2.0)];
            sum.limited(lowest, highest).store(to.as_mut_ptr());
            for (x, to) in numbers.iter().zip(&to) {
                assert_eq!(*to, (x * 2.0 + 0.5).clamp(-2.0, 2.0));
            }
            V::splat(f32::NAN)
                .limited(lowest, highest)
                .store(to.as_mut_ptr());
        }
        assert!(to.iter().all(|x| x.is_nan()));
    }

    #[test]
    fn vectors_do_what_they_say_on_every_machine() {
        for isa in Isa::all() {
            // SAFETY: the machine has the instructions.
            unsafe {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => {
                        check::<__m512>();
                        check::<Half>();
                    }
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => check::<__m256>(),
                    #[cfg(target_arch = "aarch64")]
                    Isa::Neon => check::<float32x4_t>(),
                    Isa::Any => check::<Four>(),
                }
            }
        }
    }
}
