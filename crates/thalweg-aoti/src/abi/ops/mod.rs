//! Operators that AOTInductor does not compile into a library, implemented with this crate's kernels.
//!
//! The file of a family has the functions that libraries call, the checks of their arguments, and the
//! launches. The kernels are CUDA C++ in this crate's folder `kernels`, with their PTX beside them.

mod launch;
pub(super) mod matmul;
pub(super) mod random;
pub(super) mod sort;

use thalweg_core::{DType, Result, ensure};

use super::session::Session;
use super::tensor::{Location, Tensor};

/// An argument with its name in messages.
type NamedTensor<'t> = (&'static str, &'t Tensor);

/// Checks an argument: its device, its element type, and its sizes.
fn check_argument(
    session: &Session<'_>,
    (name, tensor): NamedTensor<'_>,
    dtypes: &[DType],
    sizes: &[i64],
) -> Result<()> {
    check_device(session, name, tensor)?;
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

/// Checks an argument that must be contiguous, too, with this alignment in bytes.
fn check_contiguous(
    session: &Session<'_>,
    (name, tensor): NamedTensor<'_>,
    dtypes: &[DType],
    sizes: &[i64],
    alignment: u64,
) -> Result<()> {
    check_argument(session, (name, tensor), dtypes, sizes)?;
    ensure!(
        tensor.is_contiguous(),
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

/// Checks that an argument is on the device of the call.
fn check_device(session: &Session<'_>, name: &str, tensor: &Tensor) -> Result<()> {
    let here = Location::Device(session.device.ordinal());
    ensure!(
        tensor.storage.location == here,
        Delegate,
        "`{name}` is on {:?}, and the call on {here:?}",
        tensor.storage.location
    );
    Ok(())
}
