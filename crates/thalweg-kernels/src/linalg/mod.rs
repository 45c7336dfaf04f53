//! Products of matrices.
//!
//! [`MatmulElement`] chooses the way by element type and shape: f32 goes to the microkernels of this crate
//! (`microkernel`), over panels of a packed right side (`packed`), or reads the right side where it lies
//! (`few_rows`); f16 and bf16 are brought into f32 block by block (`half`); f64 and complex numbers go to
//! the crate `gemm`.

mod few_rows;
mod gemm;
mod half;
mod matrix;
mod microkernel;
mod multiply;
mod operands;
mod packed;

pub(crate) use gemm::PARALLEL_WORK;
pub(crate) use matrix::{Matrix, MatrixMut};
pub(crate) use microkernel::PARALLEL_SUMS;
pub(crate) use multiply::{MatmulElement, dispatch_matmul, workspace_within};
pub(crate) use operands::{Addend, Addressing, Epilogue, Lhs, Scale};
pub(crate) use packed::PackedRhs;
