//! ExecuTorch's own primitives: views, symbolic sizes, arithmetic on numbers.

use thalweg_core::{KernelRegistry, Result};

pub(crate) fn register(_registry: &mut KernelRegistry) -> Result<()> {
    Ok(())
}
