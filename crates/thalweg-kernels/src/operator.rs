//! The entry of an operator.

use thalweg_core::{Kernel, KernelCall, Result};

/// A pure operator, by its schema and function: the same arguments give the same results, and nothing else
/// happens. All others of its properties follow, with the methods of [`Kernel`].
///
/// # Errors
/// If the text is not a schema.
pub(crate) fn pure(
    schema: &str,
    run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Kernel> {
    Ok(Kernel::new(schema, run)?.pure())
}
