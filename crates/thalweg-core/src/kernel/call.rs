//! Calls of operators.

use std::any::Any;
use std::ops::Deref;

use super::Prepacked;
use crate::Arguments;

/// One call of an operator: its [`Arguments`], and how it may run.
pub struct KernelCall<'c> {
    arguments: Arguments<'c>,
    context: KernelContext<'c>,
}

/// What an operator is called with, beside its arguments.
#[derive(Clone, Copy, Debug)]
pub struct KernelContext<'c> {
    /// The number of threads that the kernel may use; at least 1.
    pub threads: usize,
    /// What the kernel has prepacked for the instruction.
    pub prepacked: Option<&'c Prepacked>,
    /// The outputs that nothing reads, as bits by position.
    pub unused: u64,
}

impl<'c> KernelCall<'c> {
    #[inline(always)]
    pub(super) fn new(arguments: Arguments<'c>, context: KernelContext<'c>) -> Self {
        Self { arguments, context }
    }

    /// The data that the operator has prepacked, if it has.
    #[inline]
    pub fn prepacked<T: Any>(&self) -> Option<&T> {
        self.context.prepacked?.get()
    }

    /// True if nothing reads an output, so that it need not be computed. It must be given its shape
    /// all the same.
    #[inline]
    pub fn is_unused(&self, position: usize) -> bool {
        position < 64 && self.context.unused >> position & 1 != 0
    }

    /// The number of threads that the kernel may use; at least 1.
    #[inline]
    pub fn threads(&self) -> usize {
        self.context.threads
    }
}

impl<'c> Deref for KernelCall<'c> {
    type Target = Arguments<'c>;

    #[inline]
    fn deref(&self) -> &Arguments<'c> {
        &self.arguments
    }
}

impl KernelContext<'_> {
    /// A call on a number of threads, with nothing prepacked.
    pub fn on_threads(threads: usize) -> Self {
        Self {
            threads: threads.max(1),
            prepacked: None,
            unused: 0,
        }
    }
}
