//! The results of the driver's functions.

use cudarc::driver::sys::CUresult;

use crate::handle::InvalidHandle;

/// A `CUresult`. A plan of faults may use any number.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u32);

impl Status {
    /// The result of a call without an error.
    pub(crate) const SUCCESS: Self = Self(0);
}

impl From<CUresult> for Status {
    fn from(result: CUresult) -> Self {
        Self(result as u32)
    }
}

impl From<InvalidHandle> for Status {
    fn from(_: InvalidHandle) -> Self {
        CUresult::CUDA_ERROR_INVALID_HANDLE.into()
    }
}

/// The result of a part of a call.
pub(crate) type CallResult<T = ()> = Result<T, Status>;

/// An error with a code.
pub(crate) fn fail<T>(result: CUresult) -> CallResult<T> {
    Err(result.into())
}
