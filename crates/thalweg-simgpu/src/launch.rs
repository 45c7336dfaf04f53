//! Launches, as registered kernels see them.

use std::cell::RefCell;
use std::fmt;
use std::ops::Range;
use std::slice;

use crate::abi::LaunchView;

/// The failure of a kernel. Its device fails with `CUDA_ERROR_LAUNCH_FAILED`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFault(pub String);

impl fmt::Display for KernelFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KernelFault {}

/// Plain data: any bits are a value.
///
/// # Safety
/// Any bits must be a value, and there must be no padding.
pub unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($type:ty)*) => {$(
        // SAFETY: any bits are one of these numbers.
        unsafe impl Plain for $type {}
    )*};
}
plain!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);

/// A launch of a kernel, while it runs.
///
/// Memory is reached through [`read`](Self::read), [`write`](Self::write) and
/// [`update`](Self::update), which check the order of the access. The slices are valid until the
/// kernel returns. A range that is written cannot be taken twice.
/// [`update`](Self::update), which check that the access is ordered after what it needs. What they
/// give is good until the kernel returns. A range that is written cannot be taken twice.
pub struct Launch<'a> {
    view: &'a LaunchView,
    /// The ranges that were taken, and true for those that are written.
    taken: RefCell<Vec<(Range<u64>, bool)>>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(view: &'a LaunchView) -> Self {
        Self {
            view,
            taken: RefCell::new(Vec::new()),
        }
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        // SAFETY: the view is good while the kernel runs, and names are UTF-8.
        let bytes = unsafe { slice::from_raw_parts(self.view.name, self.view.name_len) };
        std::str::from_utf8(bytes).unwrap_or("?")
    }

    /// The number of blocks, in each dimension.
    pub fn grid(&self) -> [u32; 3] {
        self.view.grid
    }

    /// The number of threads of a block, in each dimension.
    pub fn block(&self) -> [u32; 3] {
        self.view.block
    }

    /// Dynamic shared memory, in bytes.
    pub fn shared_bytes(&self) -> u32 {
        self.view.shared_bytes
    }

    /// The device that it runs on.
    pub fn device(&self) -> u32 {
        self.view.device
    }

    /// All parameters, as they lie in memory.
    pub fn parameters(&self) -> &[u8] {
        if self.view.parameters_len == 0 {
            return &[];
        }
        // SAFETY: the view is good while the kernel runs.
        unsafe { slice::from_raw_parts(self.view.parameters, self.view.parameters_len) }
    }

    /// The value of a parameter.
    ///
    /// # Errors
    /// If there is no such parameter, or it is too small.
    pub fn argument<T: Plain>(&self, index: usize) -> Result<T, KernelFault> {
        let offsets = if self.view.offsets_len == 0 {
            &[]
        } else {
            // SAFETY: the view is good while the kernel runs.
            unsafe { slice::from_raw_parts(self.view.offsets, self.view.offsets_len) }
        };
        let start = offsets.get(index).copied();
        let bytes = start.and_then(|start| self.parameters().get(start..start + size_of::<T>()));
        let Some(bytes) = bytes else {
            return Err(KernelFault(format!(
                "{} has no parameter {index}",
                self.name()
            )));
        };
        // SAFETY: there are as many bytes as the number has, and any bits are one.
        Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }

    /// Memory to read.
    ///
    /// # Errors
    /// If the kernel may not access it, if it is not aligned, or if this kernel writes it.
    pub fn read<T: Plain>(&self, address: u64, len: usize) -> Result<&[T], KernelFault> {
        let start = self.take::<T>(address, len, false)?;
        // SAFETY: the stand-in gave memory of that size, which stays until the kernel returns,
        // and this kernel did not take it to write.
        Ok(unsafe { slice::from_raw_parts(start, len) })
    }

    /// Memory to write. Its content is arbitrary.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and if this kernel took any of it before.
    #[allow(clippy::mut_from_ref, reason = "every call gives another piece")]
    pub fn write<T: Plain>(&self, address: u64, len: usize) -> Result<&mut [T], KernelFault> {
        let start = self.take::<T>(address, len, true)?;
        // SAFETY: the stand-in gave memory of that size, which stays until the kernel returns,
        // and this kernel took it only once.
        Ok(unsafe { slice::from_raw_parts_mut(start, len) })
    }

    /// Memory to read and write.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    #[allow(clippy::mut_from_ref, reason = "every call gives another piece")]
    pub fn update<T: Plain>(&self, address: u64, len: usize) -> Result<&mut [T], KernelFault> {
        let start = self.take::<T>(address, len, true)?;
        // SAFETY: as in `write`.
        Ok(unsafe { slice::from_raw_parts_mut(start, len) })
    }

    fn take<T: Plain>(&self, address: u64, len: usize, write: bool) -> Result<*mut T, KernelFault> {
        if len == 0 {
            return Ok(std::ptr::NonNull::dangling().as_ptr());
        }
        let Some(bytes) = len.checked_mul(size_of::<T>()) else {
            return Err(KernelFault(format!("{len} elements are too many")));
        };
        let range = address..address.saturating_add(bytes as u64);
        let mut taken = self.taken.borrow_mut();
        let clash = taken.iter().any(|(other, other_write)| {
            (write || *other_write) && other.start < range.end && range.start < other.end
        });
        if clash {
            return Err(KernelFault(format!(
                "{} takes {bytes} bytes at {address:#x} twice",
                self.name()
            )));
        }
        // What is both read and written is checked as written, which conflicts with more.
        let write_flag = u32::from(write);
        // SAFETY: the view is good while the kernel runs.
        let start = unsafe { (self.view.access)(self.view.running, address, bytes, write_flag) };
        let start = start.cast::<T>();
        if start.is_null() || !start.is_aligned() {
            return Err(KernelFault(format!(
                "{} cannot reach {bytes} bytes at {address:#x}",
                self.name()
            )));
        }
        taken.push((range, write));
        Ok(start)
    }
}
