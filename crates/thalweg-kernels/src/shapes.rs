//! Moving elements to other places: permuting, slicing, joining.

use thalweg_core::{KernelRegistry, Result};

pub(crate) fn register(_registry: &mut KernelRegistry) -> Result<()> {
    Ok(())
}
