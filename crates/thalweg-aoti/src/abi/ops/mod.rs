//! Operators that compiled libraries leave to whoever runs them, and that need kernels of ours.
//!
//! A family has its functions as libraries call them, the checks of their arguments, and what is to
//! be launched. [`kernels`] loads and launches. The kernels are CUDA C++ in this crate's folder
//! `kernels`, with the PTX that they compile to beside them.

mod kernels;
pub(super) mod products;
pub(super) mod random;
pub(super) mod sort;

pub(crate) use kernels::Operators;

use thalweg_core::{DType, Result, ensure};

use super::session::Session;
use super::tensor::{Tensor, Where};

/// What an argument has to be: its name in messages, the types that it can have, and its sizes.
fn expect(
    session: &Session<'_>,
    (name, tensor): (&str, &Tensor),
    dtypes: &[DType],
    sizes: &[i64],
) -> Result<()> {
    on_device(session, name, tensor)?;
    ensure!(
        dtypes.contains(&tensor.dtype),
        Delegate,
        "`{name}` has elements of {}, where {} is expected",
        tensor.dtype,
        dtypes
            .iter()
            .map(DType::to_string)
            .collect::<Vec<_>>()
            .join(" or ")
    );
    ensure!(
        tensor.sizes == sizes,
        Delegate,
        "`{name}` has sizes {:?}, where {sizes:?} are expected",
        tensor.sizes
    );
    Ok(())
}

/// The same of one whose elements lie one after another, and begin at a multiple of so many bytes.
fn expect_dense(
    session: &Session<'_>,
    (name, tensor): (&str, &Tensor),
    dtypes: &[DType],
    sizes: &[i64],
    alignment: u64,
) -> Result<()> {
    expect(session, (name, tensor), dtypes, sizes)?;
    ensure!(
        tensor.is_row_major(),
        Unsupported,
        "`{name}` has sizes {sizes:?} and strides {:?}, which are not one after another",
        tensor.strides
    );
    ensure!(
        tensor.address().is_multiple_of(alignment),
        Unsupported,
        "`{name}` begins at {:#x}, which is no multiple of {alignment} bytes",
        tensor.address()
    );
    Ok(())
}

fn on_device(session: &Session<'_>, name: &str, tensor: &Tensor) -> Result<()> {
    let here = Where::Device(session.device.ordinal());
    ensure!(
        tensor.storage.on == here,
        Delegate,
        "`{name}` is on {:?}, and the call on {here:?}",
        tensor.storage.on
    );
    Ok(())
}
