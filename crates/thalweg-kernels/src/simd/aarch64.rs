//! Vectors of NEON.

use std::arch::aarch64::*;

use super::Vector;

// SAFETY: what is called is what the trait says.
unsafe impl Vector for float32x4_t {
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { vld1q_f32(from) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        let mut all = [0f32; 4];
        // SAFETY: there are `count`, and room for four.
        unsafe {
            all.as_mut_ptr().copy_from_nonoverlapping(from, count);
            vld1q_f32(all.as_ptr())
        }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as this function is called.
        unsafe { vst1q_f32(to, self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        let mut all = [0f32; 4];
        // SAFETY: there is room for `count`, and there are four.
        unsafe {
            vst1q_f32(all.as_mut_ptr(), self);
            to.copy_from_nonoverlapping(all.as_ptr(), count);
        }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { vdupq_n_f32(value) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, add: Self) -> Self {
        // SAFETY: as this function is called.
        unsafe { vfmaq_f32(add, self, by) }
    }
    #[inline(always)]
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
        // Where one side is not a number, so is what these give.
        // SAFETY: as this function is called.
        unsafe { vminq_f32(highest, vmaxq_f32(lowest, self)) }
    }
}
