//! The operators that Thalweg runs on the CPU.
//!
//! One file per family of operators; each ends in a list of what it registers. What the families
//! have in common is here once: [`dispatch`] from element types to Rust types, [`strided`]
//! iteration, broadcasting and promotion.
//!
//! Upstream's names and definitions are followed: the operators are ATen's, in their `out`
//! variants, with PyTorch's results.
#![deny(unsafe_code)]

mod broadcast;
mod cast;
mod compute;
mod conversion;
mod convolution;
mod copying;
mod creation;
mod dims;
mod dispatch;
mod elements;
mod float;
mod indexing;
mod layout;
mod normalization;
mod number;
mod ordering;
mod parallel;
mod pointwise;
mod pooling;
mod prims;
mod products;
mod promotion;
mod quantized;
mod reductions;
mod shapes;
mod softmax;
mod sorting;
mod strided;

use thalweg_core::{KernelRegistry, Result};

/// Adds every operator of this crate to a registry.
///
/// # Errors
/// None that a caller can cause: signatures are fixed, and a test reads them all.
pub fn register(registry: &mut KernelRegistry) -> Result<()> {
    convolution::register(registry)?;
    creation::register(registry)?;
    indexing::register(registry)?;
    normalization::register(registry)?;
    pointwise::register(registry)?;
    pooling::register(registry)?;
    prims::register(registry)?;
    products::register(registry)?;
    quantized::register(registry)?;
    reductions::register(registry)?;
    shapes::register(registry)?;
    softmax::register(registry)?;
    sorting::register(registry)
}
