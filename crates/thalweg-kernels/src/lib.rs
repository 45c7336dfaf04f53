//! The operators that Thalweg runs on the CPU.
//!
//! One file or folder per family of operators, which says what it registers where it begins. What
//! the families have in common is here once:
//!
//! | mechanism | for |
//! |---|---|
//! | `dispatch` | from element types, known when a program runs, to Rust types |
//! | `elements` | from bytes to elements of a Rust type |
//! | `cast`, `conversion` | the rules by which elements change their type, and changing many |
//! | `compute`, `number`, `float` | the fewer types that operators compute in |
//! | `promotion` | which type that is, given the operands |
//! | `dims` | dimensions, positions and sizes that programs give as numbers |
//! | `layout`, `broadcast` | where the elements of a shape lie, sliced, permuted, repeated |
//! | `ordering` | dim orders: telling them apart, bringing tensors into the one wanted |
//! | `copying` | moving elements between layouts, transpositions in tiles |
//! | `strided` | walking over several tensors at once, in runs |
//! | `parallel` | sharing work among threads |
//! | `pointwise` | the loop of all element-by-element operators |
//! | `reductions` | the loops of all reductions over dimensions |
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
mod gating;
mod indexing;
mod layout;
mod moves;
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
mod upsampling;

use thalweg_core::{KernelRegistry, Result};

/// Adds every operator of this crate to a registry.
///
/// # Errors
/// None that a caller can cause: signatures are fixed, and a test reads them all.
pub fn register(registry: &mut KernelRegistry) -> Result<()> {
    convolution::register(registry)?;
    creation::register(registry)?;
    gating::register(registry)?;
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
    sorting::register(registry)?;
    upsampling::register(registry)?;
    moves::register(registry);
    Ok(())
}
