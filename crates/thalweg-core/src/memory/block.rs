//! A block of host memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::slice;

use crate::{Error, ErrorKind, Result};

/// Alignment of every block: a cache line, and enough for any vector instruction.
const ALIGN: usize = 64;

/// Owned host memory that starts as zeros.
pub struct Block {
    data: NonNull<u8>,
    len: usize,
}

impl Block {
    /// A block of `len` zero bytes. Large blocks cost memory only as they are touched, since the
    /// system hands out zero pages.
    ///
    /// # Errors
    /// If memory is out.
    pub fn zeroed(len: usize) -> Result<Self> {
        if len == 0 {
            return Ok(Self {
                data: Self::dangling(),
                len,
            });
        }
        let out_of_memory = || {
            Error::new(
                ErrorKind::OutOfMemory,
                format!("no memory for a block of {len} bytes"),
            )
        };
        let layout = Layout::from_size_align(len, ALIGN).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a size that is not zero.
        let data = unsafe { alloc_zeroed(layout) };
        let data = NonNull::new(data).ok_or_else(out_of_memory)?;
        Ok(Self { data, len })
    }

    /// A block with a copy of bytes.
    ///
    /// # Errors
    /// If memory is out.
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        let mut block = Self::zeroed(bytes.len())?;
        block.bytes_mut().copy_from_slice(bytes);
        Ok(block)
    }

    /// The size in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The start of the block. It stays where it is for as long as the block lives.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// True if it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the block owns `len` initialized bytes at `data`. Code that takes pointers from
        // `as_ptr` owns the block behind a type that does not call this at the same time.
        unsafe { slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes this the only view.
        unsafe { slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }

    fn dangling() -> NonNull<u8> {
        // Aligned like a real block, so that empty tensors are aligned too.
        NonNull::<Aligned>::dangling().cast()
    }
}

#[repr(align(64))]
struct Aligned(#[allow(dead_code, reason = "only its alignment matters")] u8);

impl Drop for Block {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: `zeroed` allocated with this same layout, which was valid then.
            unsafe {
                let layout = Layout::from_size_align_unchecked(self.len, ALIGN);
                dealloc(self.data.as_ptr(), layout);
            }
        }
    }
}

impl Clone for Block {
    /// A copy. Where memory is out this aborts, as cloning a `Vec` does.
    fn clone(&self) -> Self {
        let mut copy = Self::zeroed(self.len).unwrap_or_else(|_| {
            std::alloc::handle_alloc_error(
                Layout::from_size_align(self.len, ALIGN).unwrap_or(Layout::new::<u8>()),
            )
        });
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

// SAFETY: a block is plain bytes that it owns.
unsafe impl Send for Block {}
// SAFETY: shared access only reads, except through `as_ptr`, whose users see to it themselves.
unsafe impl Sync for Block {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_zeroed_and_aligned() {
        let block = Block::zeroed(100).unwrap();
        assert_eq!(block.bytes(), [0; 100]);
        assert_eq!(block.as_ptr().addr() % ALIGN, 0);
        assert_eq!(Block::zeroed(0).unwrap().as_ptr().addr() % ALIGN, 0);
    }

    #[test]
    fn asking_for_too_much_is_an_error() {
        for len in [usize::MAX, isize::MAX as usize, isize::MAX as usize - ALIGN] {
            let error = Block::zeroed(len).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        }
    }
}
