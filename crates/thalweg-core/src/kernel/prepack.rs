//! Data that kernels make once, when a method is linked, for all of its calls.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::StaticArguments;
use crate::Result;

/// Data that a kernel has made of the constant arguments of an instruction, such as weights in the
/// order in which a matmul reads them. All instances of a method share it.
#[derive(Clone)]
pub struct Prepacked(Arc<dyn Any + Send + Sync>);

/// A description of what an operator does to the result of the one before it, for that one to do
/// while it writes the result: the epilogue of a fused operator.
#[derive(Clone)]
pub struct Epilogue(Arc<dyn Any + Send + Sync>);

/// Prepacks the constant arguments of an instruction; see
/// [`Kernel::with_prepack`](crate::Kernel::with_prepack).
pub type PrepackFn = fn(&StaticArguments<'_>) -> Result<Option<Prepacked>>;

/// Describes an instruction as an epilogue; see
/// [`Kernel::with_epilogue`](crate::Kernel::with_epilogue).
pub type EpilogueFn = fn(&StaticArguments<'_>) -> Result<Option<Epilogue>>;

/// Fuses an instruction with epilogues; see [`Kernel::with_fusion`](crate::Kernel::with_fusion).
pub type FuseFn = fn(&StaticArguments<'_>, &[Epilogue]) -> Result<Option<Prepacked>>;

impl Prepacked {
    /// Data of any type.
    pub fn new<T: Any + Send + Sync>(data: T) -> Self {
        Self(Arc::new(data))
    }

    /// The data, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl Epilogue {
    /// A description of any type, which the kernels that fuse it know.
    pub fn new<T: Any + Send + Sync>(description: T) -> Self {
        Self(Arc::new(description))
    }

    /// The description, if it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Prepacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepacked")
    }
}

impl fmt::Debug for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Epilogue")
    }
}
