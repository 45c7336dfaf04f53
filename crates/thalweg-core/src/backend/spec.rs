//! Delegates to load.

use crate::memory::SharedBytes;
use crate::options::BackendOptions;
use crate::trace::Tracer;

/// A delegate to load: what the program says about it.
#[derive(Clone, Copy)]
pub struct DelegateSpec<'a> {
    #[doc(hidden)]
    pub method: &'a str,
    #[doc(hidden)]
    pub index: usize,
    #[doc(hidden)]
    pub backend: &'a str,
    #[doc(hidden)]
    pub payload: &'a SharedBytes,
    #[doc(hidden)]
    pub compile_specs: &'a [(String, Vec<u8>)],
    #[doc(hidden)]
    pub data: &'a dyn NamedData,
    #[doc(hidden)]
    pub options: &'a BackendOptions,
    #[doc(hidden)]
    pub tracer: Tracer<'a>,
}

/// The named data of a program and of its data files.
pub trait NamedData: Sync {
    /// The data of a name.
    fn find(&self, key: &str) -> Option<SharedBytes>;
}

impl<'a> DelegateSpec<'a> {
    /// The name of the method that the delegate belongs to.
    pub fn method(&self) -> &str {
        self.method
    }

    /// The delegate's index among the method's delegates.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name of its backend.
    pub fn backend(&self) -> &str {
        self.backend
    }

    /// The payload, in the program's file.
    pub fn payload(&self) -> &[u8] {
        self.payload
    }

    /// The payload, to be kept for longer than the load: it keeps the program's file.
    pub fn shared_payload(&self) -> SharedBytes {
        self.payload.clone()
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

    /// Named data of the program, or of a data file. It keeps the file that the data is in.
    pub fn named_data(&self, key: &str) -> Option<SharedBytes> {
        self.data.find(key)
    }

    /// The options that the caller gave when the program was loaded.
    pub fn options(&self) -> &BackendOptions {
        self.options
    }

    /// The tracer of the load, which has a span of it.
    pub fn tracer(&self) -> Tracer<'a> {
        self.tracer
    }
}
