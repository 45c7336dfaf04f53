//! The operators that Thalweg runs on the CPU.
//!
//! `ops` has the operators, one file or folder per family. An operator is registered in one place, with all
//! that it says of itself: its schema, its function, and, as methods of
//! [`Kernel`](thalweg_core::Kernel), purity, prepacking, epilogues, layouts and data movement. The rest is
//! what families have in common, and knows no operator:
//!
//! | module | for |
//! |---|---|
//! | `operator` | the entry of an operator |
//! | `dtype` | element types: dispatch, conversion, promotion, the fewer types that operators compute in |
//! | `layout` | layouts of tensors: dim orders, broadcasting, walking, copying, indices |
//! | `elementwise` | the loop of all element-by-element operators |
//! | `linalg` | products of matrices: packing and microkernels |
//! | `quantize` | quantization to integers and back |
//! | `epilogue` | work that the operator before can do while it writes |
//! | `movement` | operators that only move memory |
//! | `simd` | vectors: by name, for innermost loops, or found by the compiler |
//! | `parallel` | sharing work among threads |
//!
//! Upstream's names and definitions are followed: the operators are ATen's, in their `out`
//! variants, with PyTorch's results.
#![deny(unsafe_code)]

mod dtype;
mod elementwise;
mod epilogue;
mod layout;
mod linalg;
mod movement;
mod operator;
mod ops;
mod parallel;
mod quantize;
mod simd;
#[cfg(test)]
mod testing;

use thalweg_core::{KernelRegistry, Result};

/// Adds every operator of this crate to a registry.
///
/// The random operators of the registry draw from one generator, which the system seeds when the
/// first of them runs.
///
/// # Errors
/// None that a caller can cause: signatures are fixed, and a test reads them all.
pub fn register(registry: &mut KernelRegistry) -> Result<()> {
    ops::register(registry, None)
}

/// Adds every operator, with a seed for the random ones: the numbers that calls draw, one after another, are
/// the same for every registry with that seed.
///
/// # Errors
/// As for [`register`].
pub fn register_seeded(registry: &mut KernelRegistry, seed: u64) -> Result<()> {
    ops::register(registry, Some(seed))
}
