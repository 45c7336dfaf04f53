//! Vectors of AVX-512 and AVX2.

use std::arch::x86_64::*;

use super::Vector;

// SAFETY: what is called is what the trait says.
unsafe impl Vector for __m512 {
    const LANES: usize = 16;
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { _mm512_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: what the mask leaves out is not read.
        unsafe { _mm512_maskz_loadu_ps(first(count), from) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as this function is called.
        unsafe { _mm512_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: what the mask leaves out is not written.
        unsafe { _mm512_mask_storeu_ps(to, first(count), self) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { _mm512_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, add: Self) -> Self {
        // SAFETY: as this function is called.
        unsafe { _mm512_fmadd_ps(self, by, add) }
    }
    #[inline(always)]
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
        // Where one side is not a number, these give the second.
        // SAFETY: as this function is called.
        unsafe { _mm512_min_ps(highest, _mm512_max_ps(lowest, self)) }
    }
}

/// A mask of the first lanes.
#[inline(always)]
fn first(count: usize) -> __mmask16 {
    ((1u32 << count) - 1) as __mmask16
}

// SAFETY: what is called is what the trait says.
unsafe impl Vector for __m256 {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { _mm256_loadu_ps(from) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: what the mask leaves out is not read.
        unsafe { _mm256_maskload_ps(from, eight(count)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as this function is called.
        unsafe { _mm256_storeu_ps(to, self) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // In pieces: stores with a mask take long on some machines.
        // SAFETY: the pieces are as long as the count together.
        unsafe {
            let (mut to, mut rest) = (to, _mm256_castps256_ps128(self));
            if count & 4 != 0 {
                _mm_storeu_ps(to, rest);
                (to, rest) = (to.add(4), _mm256_extractf128_ps(self, 1));
            }
            if count & 2 != 0 {
                _mm_storel_pd(to.cast(), _mm_castps_pd(rest));
                (to, rest) = (to.add(2), _mm_movehl_ps(rest, rest));
            }
            if count & 1 != 0 {
                _mm_store_ss(to, rest);
            }
        }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { _mm256_set1_ps(value) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, add: Self) -> Self {
        // SAFETY: as this function is called.
        unsafe { _mm256_fmadd_ps(self, by, add) }
    }
    #[inline(always)]
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
        // Where one side is not a number, these give the second.
        // SAFETY: as this function is called.
        unsafe { _mm256_min_ps(highest, _mm256_max_ps(lowest, self)) }
    }
}

/// Half a vector of AVX-512.
#[derive(Clone, Copy)]
pub(crate) struct Half(__m256);

// SAFETY: what is called is what the trait says.
unsafe impl Vector for Half {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { Self(_mm256_loadu_ps(from)) }
    }
    #[inline(always)]
    unsafe fn load_first(from: *const f32, count: usize) -> Self {
        // SAFETY: what the mask leaves out is not read.
        unsafe { Self(_mm256_maskz_loadu_ps(first(count) as __mmask8, from)) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: as this function is called.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f32, count: usize) {
        // SAFETY: what the mask leaves out is not written.
        unsafe { _mm256_mask_storeu_ps(to, first(count) as __mmask8, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        // SAFETY: as this function is called.
        unsafe { Self(_mm256_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn mul_add(self, by: Self, add: Self) -> Self {
        // SAFETY: as this function is called.
        unsafe { Self(_mm256_fmadd_ps(self.0, by.0, add.0)) }
    }
    #[inline(always)]
    unsafe fn limited(self, lowest: Self, highest: Self) -> Self {
        // Where one side is not a number, these give the second.
        // SAFETY: as this function is called.
        unsafe { Self(_mm256_min_ps(highest.0, _mm256_max_ps(lowest.0, self.0))) }
    }
}

/// A mask of the first of eight lanes.
///
/// # Safety
/// The machine must have AVX2, and `count` be at most 8.
#[inline(always)]
unsafe fn eight(count: usize) -> __m256i {
    static MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: the eight numbers from here on are there.
    unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(8 - count).cast()) }
}
