//! Reductions over dimensions, and running sums along one.
//!
//! A reduction is given by what it does with stretches of elements ([`Fold`]); [`reduce`] brings
//! every stretch into the compute type, in an order that suits the memory.

mod arguments;
mod cumulative;
mod extremes;
mod reduce;
mod sums;
mod variance;

#[cfg(test)]
mod tests;

use thalweg_core::{KernelRegistry, Result};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    arguments::register(registry)?;
    cumulative::register(registry)?;
    extremes::register(registry)?;
    sums::register(registry)?;
    variance::register(registry)
}

/// A dimension counted from the end if negative. A tensor without dimensions has dimension 0 all
/// the same, as in PyTorch.
fn dimension(dim: i64, rank: usize) -> Result<usize> {
    let bound = rank.max(1) as i64;
    if !(-bound..bound).contains(&dim) {
        thalweg_core::bail!(
            Operator,
            "dimension {dim} is out of range for a tensor of {rank} dimensions"
        );
    }
    Ok((if dim < 0 { dim + bound } else { dim }) as usize)
}
