//! The bytes behind addresses: mappings of memory, and copies between them.
//!
//! All code that reads or writes memory by address is here.

use std::ptr;

/// A piece of memory that the stand-in may read and write.
///
/// Spans come from this module alone: from the mappings that it owns, and from memory of a caller
/// of the driver who promised that it is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: *mut u8,
    len: usize,
}

// SAFETY: a span is an address and a length; what it points to belongs to no thread.
unsafe impl Send for Span {}

impl Span {
    /// Memory of a caller of the driver.
    ///
    /// # Safety
    /// The memory must be readable, and writable if it is written, for as long as the span is used.
    pub(crate) unsafe fn of_caller(address: u64, len: usize) -> Self {
        Self {
            start: address as *mut u8,
            len,
        }
    }

    pub(crate) fn start(self) -> *mut u8 {
        self.start
    }

    pub(crate) fn part(self, offset: usize, len: usize) -> Self {
        assert!(offset <= self.len && len <= self.len - offset);
        Self {
            start: self.start.wrapping_add(offset),
            len,
        }
    }

    /// Copies all bytes of another span of the same length. The spans may overlap.
    pub(crate) fn copy_from(self, source: Self) {
        assert_eq!(self.len, source.len);
        // SAFETY: both spans are valid for their length, as their makers saw to.
        unsafe { ptr::copy(source.start, self.start, self.len) }
    }

    pub(crate) fn copy_from_slice(self, source: &[u8]) {
        assert_eq!(self.len, source.len());
        // SAFETY: the span is valid for its length, and Rust's memory is not the program's.
        unsafe { ptr::copy(source.as_ptr(), self.start, self.len) }
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        let mut bytes = vec![0; self.len];
        // SAFETY: the span is valid for its length, and the vector is new.
        unsafe { ptr::copy_nonoverlapping(self.start, bytes.as_mut_ptr(), self.len) };
        bytes
    }

    /// Fills the span with a pattern, which is repeated.
    pub(crate) fn fill(self, pattern: &[u8]) {
        if pattern.is_empty() || self.len == 0 {
            return;
        }
        if pattern.iter().all(|byte| *byte == pattern[0]) {
            // SAFETY: the span is valid for its length.
            unsafe { ptr::write_bytes(self.start, pattern[0], self.len) };
            return;
        }
        let mut done = pattern.len().min(self.len);
        self.part(0, done).copy_from_slice(&pattern[..done]);
        // What is filled doubles with each step.
        while done < self.len {
            let step = done.min(self.len - done);
            self.part(done, step).copy_from(self.part(0, step));
            done += step;
        }
    }
}

/// Pageable memory of the host, which a caller of the driver named.
pub(crate) fn pageable(address: u64, len: u64) -> Span {
    // SAFETY: a caller of the driver named it in a copy, and so promised that it is there and
    // stays until the copy is complete.
    unsafe { Span::of_caller(address, len as usize) }
}

/// Anonymous memory, which is unmapped when this is dropped.
pub(crate) struct Mapping(Span);

impl Mapping {
    /// Memory of at least `len` bytes, zeroed, taken from the machine only where it is touched.
    pub(crate) fn new(len: usize) -> Option<Self> {
        Self::map(len, libc::PROT_READ | libc::PROT_WRITE)
    }

    /// Reserved addresses, which cannot be read or written.
    pub(crate) fn addresses(len: usize) -> Option<Self> {
        Self::map(len, libc::PROT_NONE)
    }

    fn map(len: usize, protection: libc::c_int) -> Option<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        Some(Self(Span {
            start: start.cast(),
            len,
        }))
    }

    pub(crate) fn span(&self) -> Span {
        self.0
    }

    pub(crate) fn address(&self) -> u64 {
        self.0.start as u64
    }

    /// Returns the memory of a range to the machine. It reads as zeros then.
    pub(crate) fn discard(&self, offset: usize, len: usize) {
        const PAGE: usize = 4096;
        let first = offset.next_multiple_of(PAGE);
        let end = (offset + len) / PAGE * PAGE;
        if first < end && end <= self.0.len {
            let start = self.0.start.wrapping_add(first);
            // SAFETY: the pages are whole and belong to this mapping, which is private.
            unsafe { libc::madvise(start.cast(), end - first, libc::MADV_DONTNEED) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and whoever drops it has made sure that no span is in use.
        unsafe { libc::munmap(self.0.start.cast(), self.0.len) };
    }
}
