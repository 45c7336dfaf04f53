//! The operators, by family: the entry of each, and its function.

mod allclose;
mod attention;
mod cdist;
mod convolution;
mod creation;
mod elementwise;
mod fft;
mod glu;
mod grid_sample;
mod hadamard;
mod indexing;
mod matmul;
mod normalization;
mod pooling;
mod prims;
mod quantized;
mod random;
mod reductions;
mod shapes;
mod softmax;
mod sorting;
mod torchao;
mod upsampling;

use thalweg_core::{KernelRegistry, Result};

/// Adds the operators of a family to a registry.
type Register = fn(&mut KernelRegistry) -> Result<()>;

/// All families but the random one, whose operators share a generator.
const FAMILIES: [Register; 22] = [
    allclose::register,
    attention::register,
    cdist::register,
    convolution::register,
    creation::register,
    elementwise::register,
    fft::register,
    glu::register,
    grid_sample::register,
    hadamard::register,
    indexing::register,
    matmul::register,
    normalization::register,
    pooling::register,
    prims::register,
    quantized::register,
    reductions::register,
    shapes::register,
    softmax::register,
    sorting::register,
    torchao::register,
    upsampling::register,
];

/// Adds all operators to a registry. The seed is that of the random ones; without one, the system seeds them.
pub(crate) fn register(registry: &mut KernelRegistry, seed: Option<u64>) -> Result<()> {
    for family in FAMILIES {
        family(registry)?;
    }
    random::register(registry, seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_is_registered_twice() {
        let (mut all, mut sum) = (KernelRegistry::new(), 0);
        let random: Register = |registry| random::register(registry, None);
        for family in FAMILIES.into_iter().chain([random]) {
            let mut own = KernelRegistry::new();
            family(&mut own).unwrap();
            sum += own.len();
            all.extend(own);
        }
        assert_eq!(all.len(), sum, "two families have an operator of one name");
    }
}
