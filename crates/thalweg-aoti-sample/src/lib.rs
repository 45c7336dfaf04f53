//! A library with the functions of AOTInductor's libraries, whose kernels the stand-in of the
//! driver computes.
//!
//! Tests cannot compile libraries: that needs PyTorch and CUDA. This library has the same exports
//! and imports, and does what those do on the host: it allocates temporaries, loads code, launches
//! kernels on the stream that it is given, and gives its outputs away. A [`Recipe`] says what it
//! computes. Tests write it into the bytes of the library.
//!
//! `y = scale x + shift (+ x2) (+ weight) (+ count)`. The count goes up by one in each run.
#![cfg(target_os = "linux")]

mod container;
mod exports;
mod imports;

/// The recipe of a library: what it computes. It lies in the data of the library, behind [`MAGIC`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Recipe {
    /// [`MAGIC`].
    pub magic: [u8; 16],
    /// The factor of the first input.
    pub scale: f32,
    /// The constant that is added.
    pub shift: f32,
    /// The number of inputs: one, or two of the same sizes.
    pub inputs: u32,
    /// The sum of the parts, such as [`WEIGHT`] and [`COUNT`].
    pub parts: u32,
    /// The number of elements of the weight, which is added to each row of that length.
    pub weight_len: u32,
}

/// The bytes by which a recipe is found in the library.
pub const MAGIC: [u8; 16] = *b"THALWEG RECIPE 1";

/// A part: a weight, the parameter `weight`.
pub const WEIGHT: u32 = 1;

/// A part: a count, the buffer `count`.
pub const COUNT: u32 = 2;

/// A part: the output is a second copy of the result, so that it is not the last allocation.
pub const TWICE: u32 = 4;

/// A part: each run calls a function that is not supported.
pub const UNSUPPORTED: u32 = 8;

/// A part: each run ends with the launch of a kernel that does not exist.
pub const NO_KERNEL: u32 = 16;

/// A part: each run ends with a host wait for its work.
pub const WAITS: u32 = 32;

/// A part: every fourth run allocates and frees in another order than the others.
pub const VARIES: u32 = 64;

/// A part: a temporary is kept until the next run.
pub const KEEPS: u32 = 128;

impl Recipe {
    /// The bytes of a recipe, as they lie in the library.
    #[inline]
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.magic.to_vec();
        bytes.extend(self.scale.to_ne_bytes());
        bytes.extend(self.shift.to_ne_bytes());
        bytes.extend(self.inputs.to_ne_bytes());
        bytes.extend(self.parts.to_ne_bytes());
        bytes.extend(self.weight_len.to_ne_bytes());
        bytes
    }
}
