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
//! | `following` | what can be done to results while they are written |
//! | `parallel` | sharing work among threads |
//! | `vectors` | loops for the vectors that the machine has, found by the compiler |
//! | `machine` | such vectors by name, for the innermost loops of products and convolutions |
//! | `pointwise` | the loop of all element-by-element operators |
//! | `reductions` | the loops of all reductions over dimensions |
//!
//! Upstream's names and definitions are followed: the operators are ATen's, in their `out`
//! variants, with PyTorch's results.
#![deny(unsafe_code)]

mod attention;
mod broadcast;
mod cast;
mod closeness;
mod compute;
mod conversion;
mod convolution;
mod copying;
mod creation;
mod dims;
mod dispatch;
mod distances;
mod elements;
mod float;
mod following;
mod fourier;
mod gating;
mod hadamard;
mod indexing;
mod layout;
mod machine;
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
mod random;
mod reductions;
mod sampling;
mod shapes;
mod softmax;
mod sorting;
mod strided;
#[cfg(test)]
mod testing;
mod torchao;
mod upsampling;
mod vectors;

use thalweg_core::{KernelRegistry, Result};

/// Adds every operator of this crate to a registry.
///
/// The random operators of the registry draw from one generator, which the system seeds when the
/// first of them runs.
///
/// # Errors
/// None that a caller can cause: signatures are fixed, and a test reads them all.
pub fn register(registry: &mut KernelRegistry) -> Result<()> {
    register_all(registry, None)
}

/// The same, with a seed for the random operators: what calls draw, one after another, is the same
/// for every registry with that seed.
///
/// # Errors
/// As for [`register`].
pub fn register_seeded(registry: &mut KernelRegistry, seed: u64) -> Result<()> {
    register_all(registry, Some(seed))
}

fn register_all(registry: &mut KernelRegistry, seed: Option<u64>) -> Result<()> {
    let mut pure = KernelRegistry::new();
    register_pure(&mut pure)?;
    moves::register(&mut pure)?;
    pure.modify_all(thalweg_core::Kernel::pure);
    registry.extend(pure);
    random::register(registry, seed)
}

/// All operators whose results depend on their arguments alone.
fn register_pure(registry: &mut KernelRegistry) -> Result<()> {
    attention::register(registry)?;
    closeness::register(registry)?;
    convolution::register(registry)?;
    creation::register(registry)?;
    distances::register(registry)?;
    fourier::register(registry)?;
    gating::register(registry)?;
    hadamard::register(registry)?;
    indexing::register(registry)?;
    normalization::register(registry)?;
    pointwise::register(registry)?;
    pooling::register(registry)?;
    prims::register(registry)?;
    products::register(registry)?;
    quantized::register(registry)?;
    reductions::register(registry)?;
    sampling::register(registry)?;
    shapes::register(registry)?;
    softmax::register(registry)?;
    sorting::register(registry)?;
    torchao::register(registry)?;
    upsampling::register(registry)
}
