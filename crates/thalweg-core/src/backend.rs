//! Backends: what runs the parts of a program that are not operators.
//!
//! A backend is known to a [`Runtime`](crate::Runtime) by its name. It loads each delegate of a
//! program once ([`Delegate`]: engine, code, weights), and gives every method instance something
//! of its own to run it with ([`DelegateInstance`]: contexts, state).

use std::ops::Range;
use std::sync::Arc;

use crate::data::ProgramData;
use crate::memory::{Arguments, FileBytes, Lending, Overlap, Scratch, Values, mask};
use crate::{BackendOptions, Result, RunOptions, ValueId};

/// Something that can load delegates.
pub trait Backend: Send + Sync {
    /// Loads a delegate. What it gives back is shared by all instances of the method.
    ///
    /// # Errors
    /// If the payload is not one of this backend's, or what it needs is missing.
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<Arc<dyn Delegate>>;

    /// Whether the backend can work on this machine, with the reason if it cannot.
    ///
    /// # Errors
    /// The reason.
    fn available(&self) -> Result<()> {
        Ok(())
    }
}

/// A loaded delegate.
pub trait Delegate: Send + Sync {
    /// What one method instance runs the delegate with.
    ///
    /// # Errors
    /// If memory or another resource is out.
    fn instance(&self) -> Result<Box<dyn DelegateInstance>>;
}

/// A delegate of one method instance.
pub trait DelegateInstance: Send {
    /// Runs the delegate once.
    ///
    /// # Errors
    /// If it cannot do what the program asks.
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()>;
}

/// A delegate to load: what the program says about it.
pub struct DelegateSpec<'a> {
    pub(crate) method: &'a str,
    pub(crate) index: usize,
    pub(crate) backend: &'a str,
    pub(crate) file: &'a FileBytes,
    pub(crate) payload: Range<usize>,
    pub(crate) compile_specs: &'a [(String, Vec<u8>)],
    pub(crate) data: &'a ProgramData,
    pub(crate) options: &'a BackendOptions,
}

impl DelegateSpec<'_> {
    /// The method that the delegate belongs to.
    pub fn method(&self) -> &str {
        self.method
    }

    /// Its index among the method's delegates.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name of its backend.
    pub fn backend(&self) -> &str {
        self.backend
    }

    /// The payload, in the program's file.
    pub fn payload(&self) -> &[u8] {
        &self.file.bytes()[self.payload.clone()]
    }

    /// The value of an option that the exporter fixed.
    pub fn compile_spec(&self, key: &str) -> Option<&[u8]> {
        let spec = self.compile_specs.iter().find(|(other, _)| other == key)?;
        Some(&spec.1)
    }

    /// All options that the exporter fixed, in order.
    pub fn compile_specs(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.compile_specs
            .iter()
            .map(|(key, value)| (&**key, &**value))
    }

    /// Named data of the program, or of a data file.
    pub fn named_data(&self, key: &str) -> Option<&[u8]> {
        self.data.get(key)
    }

    /// The options that the caller gave when the program was loaded.
    pub fn options(&self) -> &BackendOptions {
        self.options
    }
}

/// One call of a delegate.
pub struct Call<'c> {
    pub(crate) values: &'c mut Values,
    pub(crate) scratch: &'c mut Scratch,
    pub(crate) arguments: &'c [ValueId],
    pub(crate) options: &'c RunOptions,
}

impl Call<'_> {
    /// How many arguments the instruction has: inputs, then outputs.
    pub fn argument_count(&self) -> usize {
        self.arguments.len()
    }

    /// The arguments, to read and write on the CPU. `writes` names, in ascending order, the
    /// positions that will be written.
    ///
    /// # Errors
    /// If memory is out.
    pub fn arguments<'a>(&'a mut self, writes: &'a [u16]) -> Result<Arguments<'a>> {
        let lending = Lending {
            reads: self.arguments.len(),
            writes,
            write_mask: mask(writes),
            overlap: Overlap::Copied,
            signature: None,
        };
        Arguments::new(self.values, self.scratch, self.arguments, &lending)
    }

    /// The choices that the caller made for this call.
    pub fn options(&self) -> &RunOptions {
        self.options
    }
}
