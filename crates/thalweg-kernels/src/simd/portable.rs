//! Vectors without instructions of their own, for every machine.

use super::Vector;

/// Four floats without instructions of their own: the compiler finds what there is.
#[derive(Clone, Copy)]
pub(crate) struct Four([f32; 4]);

// SAFETY: what is called is what the trait says.
unsafe impl Vector for Four {
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { Self(from.cast::<[f32; 4]>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut all = [0f32; 4];
        // SAFETY: there are `count`, and room for four.
        unsafe { all.as_mut_ptr().copy_from_nonoverlapping(from, count) };
        Self(all)
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as this function is called.
        unsafe { to.cast::<[f32; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: there is room for `count`, and there are four.
        unsafe { to.copy_from_nonoverlapping(self.0.as_ptr(), count) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, add: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] * by.0[i] + add.0[i]))
    }
    #[inline(always)]
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
        Self(std::array::from_fn(|i| {
            limited(self.0[i], lowest.0[i], highest.0[i])
        }))
    }
}

/// A limited number. NaN stays.
#[inline(always)]
fn limited(x: f32, lowest: f32, highest: f32) -> f32 {
    let x = if x < lowest { lowest } else { x };
    if x > highest { highest } else { x }
}
