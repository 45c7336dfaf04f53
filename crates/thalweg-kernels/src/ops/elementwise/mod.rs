//! Operators that work element by element, and copies that convert.

mod arithmetic;
#[cfg(test)]
mod arithmetic_tests;
mod comparison;
mod copies;
mod selection;
#[cfg(test)]
mod tests;
mod unary;

use thalweg_core::{KernelRegistry, Result};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    arithmetic::register(registry)?;
    comparison::register(registry)?;
    selection::register(registry)?;
    unary::register(registry)?;
    copies::register(registry)
}
