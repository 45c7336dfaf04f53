//! A library of the shape of AOTInductor's, whose kernels the stand-in of the driver computes.
//!
//! Compiled libraries cannot be made by tests: that needs PyTorch and CUDA. This one has the same
//! functions and imports, and does what those do on the host: it allocates temporaries in the middle,
//! loads code, launches kernels on the stream that it is given, and gives its outputs away. What it
//! computes, a [`Recipe`] says, which tests write into the library's bytes.
//!
//! `y = scale x + shift (+ x2) (+ weight) (+ count)`, where the count goes up by one in each run.
#![cfg(target_os = "linux")]

mod container;
mod imports;

/// What the library computes. It lies in the library's data, behind [`MAGIC`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Recipe {
    /// [`MAGIC`].
    pub magic: [u8; 16],
    /// What inputs are multiplied with.
    pub scale: f32,
    /// What is added.
    pub shift: f32,
    /// How many inputs there are: one or two, of the same sizes.
    pub inputs: u32,
    /// The sum of [`WEIGHT`], [`COUNT`] and the like.
    pub parts: u32,
    /// How many elements the weight has: it is added to each row of so many.
    pub weight_len: u32,
}

/// What a recipe is found by in the library's bytes.
pub const MAGIC: [u8; 16] = *b"THALWEG RECIPE 1";

/// There is a weight, the parameter `weight`.
pub const WEIGHT: u32 = 1;

/// There is a count, the buffer `count`.
pub const COUNT: u32 = 2;

/// The output is a second copy of what was computed, so that it is not the last allocation.
pub const TWICE: u32 = 4;

/// A function is called that is not supported.
pub const UNSUPPORTED: u32 = 8;

/// In the end, a kernel is launched that is not there.
pub const NO_KERNEL: u32 = 16;

/// Each run waits on the host for what it has launched.
pub const WAITS: u32 = 32;

/// Every fourth run allocates and frees in another order than the others.
pub const VARIES: u32 = 64;

/// A temporary is kept until the next run.
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
