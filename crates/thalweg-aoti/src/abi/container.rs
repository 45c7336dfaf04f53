//! AOTInductor's model containers.
//!
//! A container holds one copy of a model: its kernels, and the constants that they use. AOTInductor lets
//! several threads share a container, with an event for each run and a host wait for the run before. Here
//! each method instance has a container of its own, and the single-threaded function runs it.
#![allow(
    unsafe_code,
    reason = "functions of the library are called by address; each block says why it is right"
)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::transmute_copy;
use std::ptr::{self, NonNull};

use thalweg_core::{Error, Result, bail, ensure};

use super::handle::{TensorHandle, hand_over, take};
use super::session::Session;
use super::tensor::Tensor;
use crate::loader::Library;
use crate::mutation::{Rule, disabled};

type Raw = *mut c_void;
type Run =
    unsafe extern "C" fn(Raw, *mut TensorHandle, usize, *mut TensorHandle, usize, Raw, Raw) -> i32;
type Count = unsafe extern "C" fn(Raw, *mut usize) -> i32;
type Text = unsafe extern "C" fn(Raw, usize, *mut *const c_char) -> i32;

/// The functions of a library's model containers, by address.
pub(crate) struct ContainerFunctions {
    create: unsafe extern "C" fn(*mut Raw, usize, *const c_char, *const c_char) -> i32,
    delete: unsafe extern "C" fn(Raw) -> i32,
    run: Run,
    inputs: Count,
    outputs: Count,
    constants: Count,
    constant_name: Text,
    constant_original_name: Text,
    constant_folded: unsafe extern "C" fn(Raw, usize, *mut bool) -> i32,
    constant_kind: unsafe extern "C" fn(Raw, usize, *mut i32) -> i32,
    use_constants: unsafe extern "C" fn(Raw, *const ConstantMapEntry, usize, bool, bool) -> i32,
    load_blob: unsafe extern "C" fn(Raw, *const u8) -> i32,
    blob_size: Option<unsafe extern "C" fn(Raw, *mut u64) -> i32>,
    fold: unsafe extern "C" fn(Raw, bool, Raw, Raw) -> i32,
    last_error: Option<unsafe extern "C" fn(*mut *const c_char) -> i32>,
}

/// A constant by name: AOTInductor's `AOTInductorConstantMapEntry`.
#[repr(C)]
struct ConstantMapEntry {
    name: *const c_char,
    tensor: TensorHandle,
}

/// A handle of a model container. [`Container::delete`] deletes it, in a session.
pub(crate) struct Container(NonNull<c_void>);

// SAFETY: a container belongs to no thread; it is used by one at a time, since whatever changes it
// takes it by `&mut`.
unsafe impl Send for Container {}
// SAFETY: what takes it by `&` only asks for what never changes.
unsafe impl Sync for Container {}

/// A library's description of a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConstantInfo {
    /// Its name in the library.
    pub(crate) name: CString,
    /// Its name in the model.
    pub(crate) original: String,
    /// True if the library computes it from other constants.
    pub(crate) folded: bool,
    /// True if it is a buffer, which the model may change.
    pub(crate) buffer: bool,
}

impl ConstantInfo {
    /// True if the model may change it, so that it belongs to the state of an instance.
    pub(crate) fn is_of_state(&self) -> bool {
        self.buffer && !self.folded && !disabled(Rule::OwnBuffers)
    }
}

impl ContainerFunctions {
    /// The functions of a library.
    ///
    /// # Errors
    /// If one is missing that libraries of PyTorch 2.9 and later have.
    pub(crate) fn of(library: &Library) -> Result<Self> {
        macro_rules! find {
            ($name:expr) => {{
                let address = library.required($name)?;
                // SAFETY: a function of this name has this type, since that is what names stand for
                // between AOTInductor and those who use it. Both are pointers.
                unsafe { transmute_copy(&address) }
            }};
        }
        macro_rules! find_optional {
            ($name:expr) => {
                library.symbol($name).map(|address| {
                    // SAFETY: as above.
                    unsafe { transmute_copy(&address) }
                })
            };
        }
        let run_single_threaded = find_optional!(c"AOTInductorModelContainerRunSingleThreaded");
        Ok(Self {
            create: find!(c"AOTInductorModelContainerCreateWithDevice"),
            delete: find!(c"AOTInductorModelContainerDelete"),
            run: match run_single_threaded {
                Some(run) => run,
                None => find!(c"AOTInductorModelContainerRun"),
            },
            inputs: find!(c"AOTInductorModelContainerGetNumInputs"),
            outputs: find!(c"AOTInductorModelContainerGetNumOutputs"),
            constants: find!(c"AOTInductorModelContainerGetNumConstants"),
            constant_name: find!(c"AOTInductorModelContainerGetConstantName"),
            constant_original_name: find!(c"AOTInductorModelContainerGetConstantOriginalFQN"),
            constant_folded: find!(c"AOTInductorModelContainerGetConstantFromFolded"),
            constant_kind: find!(c"AOTInductorModelContainerGetConstantType"),
            use_constants: find!(c"AOTInductorModelContainerUpdateUserManagedConstantBufferPairs"),
            load_blob: find!(c"AOTInductorModelUpdateConstantsFromBlob"),
            blob_size: find_optional!(c"AOTInductorModelContainerGetConstantsBlobSize"),
            fold: find!(c"AOTInductorModelContainerRunConstantFolding"),
            last_error: find_optional!(c"AOTInductorGetLastError"),
        })
    }

    /// Calls the library. The library's own message of a failure is appended to the session's.
    fn call(&self, session: &Session<'_>, what: &str, call: impl FnOnce() -> i32) -> Result<()> {
        session.call(what, call).map_err(|error| {
            let mut text = ptr::null();
            let said = self.last_error.filter(|function| {
                // SAFETY: the library writes a pointer to text that stays until its next call.
                let code = unsafe { function(&raw mut text) };
                code == 0 && !text.is_null()
            });
            match said {
                Some(_) => {
                    // SAFETY: as said above.
                    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
                    let message = format!("{} (the library: {text})", error.message());
                    Error::new(error.kind(), message)
                }
                None => error,
            }
        })
    }
}

impl Container {
    /// Creates a container on the session's device.
    pub(crate) fn new(functions: &ContainerFunctions, session: &Session<'_>) -> Result<Self> {
        let device = CString::new(format!("cuda:{}", session.device.ordinal()));
        let device = device.unwrap_or_default();
        let mut raw = ptr::null_mut();
        functions.call(session, "make a container", || {
            // SAFETY: the library writes the handle; the device is a string, and code for devices is
            // in the library itself.
            unsafe { (functions.create)(&raw mut raw, 1, device.as_ptr(), ptr::null()) }
        })?;
        match NonNull::new(raw) {
            Some(raw) => Ok(Self(raw)),
            None => bail!(Delegate, "the compiled library made no container"),
        }
    }

    /// The numbers of the model's inputs and outputs.
    pub(crate) fn counts(
        &self,
        functions: &ContainerFunctions,
        session: &Session<'_>,
    ) -> Result<(usize, usize)> {
        let count = |function: Count, what: &str| -> Result<usize> {
            let mut count = 0;
            functions.call(session, what, || {
                // SAFETY: the container is one of this library; the library writes the number.
                unsafe { function(self.0.as_ptr(), &raw mut count) }
            })?;
            Ok(count)
        };
        Ok((
            count(functions.inputs, "say how many inputs it has")?,
            count(functions.outputs, "say how many outputs it has")?,
        ))
    }

    /// The constants of the model.
    pub(crate) fn constants(
        &self,
        functions: &ContainerFunctions,
        session: &Session<'_>,
    ) -> Result<Vec<ConstantInfo>> {
        let raw = self.0.as_ptr();
        let mut count = 0;
        functions.call(session, "say how many constants it has", || {
            // SAFETY: the container is one of this library; the library writes the number.
            unsafe { (functions.constants)(raw, &raw mut count) }
        })?;
        let text = |function: Text, index| {
            let mut text = ptr::null();
            functions.call(session, "say what a constant is called", || {
                // SAFETY: as above; the library writes a pointer to text of its own.
                unsafe { function(raw, index, &raw mut text) }
            })?;
            ensure!(!text.is_null(), Delegate, "constant {index} has no name");
            // SAFETY: the text stays as long as the container.
            Ok(unsafe { CStr::from_ptr(text) }.to_owned())
        };
        (0..count)
            .map(|index| {
                let (mut folded, mut kind) = (false, 0);
                functions.call(session, "say what a constant is", || {
                    // SAFETY: as above; the library writes the answers.
                    unsafe {
                        match (functions.constant_folded)(raw, index, &raw mut folded) {
                            0 => (functions.constant_kind)(raw, index, &raw mut kind),
                            code => code,
                        }
                    }
                })?;
                /// AOTInductor's `ConstantType::Buffer`.
                const BUFFER: i32 = 2;
                let original = text(functions.constant_original_name, index)?;
                Ok(ConstantInfo {
                    name: text(functions.constant_name, index)?,
                    original: original.to_string_lossy().into_owned(),
                    folded,
                    buffer: kind == BUFFER,
                })
            })
            .collect()
    }

    /// Loads all constants from one blob. Returns them in the library's order, without those that it
    /// folds. Their memory belongs to the container.
    pub(crate) fn load_blob(
        &mut self,
        functions: &ContainerFunctions,
        session: &Session<'_>,
        blob: &[u8],
    ) -> Result<Vec<Tensor>> {
        let raw = self.0.as_ptr();
        if let Some(function) = functions.blob_size {
            let mut size = 0;
            functions.call(session, "say how large its constants are", || {
                // SAFETY: the container is one of this library; the library writes the number.
                unsafe { function(raw, &raw mut size) }
            })?;
            ensure!(
                size <= blob.len() as u64,
                InvalidProgram,
                "the library's constants are {size} bytes, and the program has {} for them",
                blob.len()
            );
        }
        let (loaded, tensors) = session.collect_tensors(|| {
            functions.call(session, "load its constants", || {
                // SAFETY: as above. How many bytes it reads, only the library knows.
                unsafe { (functions.load_blob)(raw, blob.as_ptr()) }
            })
        });
        loaded?;
        Ok(tensors)
    }

    /// Sets constants whose memory belongs to the caller, who keeps them until the container is
    /// deleted.
    pub(crate) fn use_constants(
        &mut self,
        functions: &ContainerFunctions,
        session: &Session<'_>,
        constants: &UserManagedConstants,
    ) -> Result<()> {
        let pairs: Vec<_> = constants
            .0
            .iter()
            .map(|(name, tensor)| ConstantMapEntry {
                name: name.as_ptr(),
                tensor: *tensor,
            })
            .collect();
        functions.call(session, "take its constants", || {
            // SAFETY: the container is one of this library; names and tensors stay, as the caller
            // promises, and the list while this runs.
            unsafe {
                (functions.use_constants)(self.0.as_ptr(), pairs.as_ptr(), pairs.len(), false, true)
            }
        })
    }

    /// Folds constants: the library computes some from others, and waits for that.
    pub(crate) fn fold(
        &mut self,
        functions: &ContainerFunctions,
        session: &Session<'_>,
    ) -> Result<()> {
        functions.call(session, "compute constants", || {
            // SAFETY: the container is one of this library.
            unsafe { (functions.fold)(self.0.as_ptr(), false, session.raw_stream, ptr::null_mut()) }
        })
    }

    /// Runs the model, and returns its outputs.
    pub(crate) fn run(
        &mut self,
        functions: &ContainerFunctions,
        session: &Session<'_>,
        inputs: Vec<Tensor>,
        outputs: usize,
    ) -> Result<Vec<Tensor>> {
        let mut inputs: Vec<_> = inputs.into_iter().map(hand_over).collect();
        let mut results = vec![ptr::null_mut(); outputs];
        let ran = functions.call(session, "run", || {
            // SAFETY: the container is one of this library. It takes the inputs over, and leaves
            // null where they were; it writes outputs, which are the caller's then.
            unsafe {
                (functions.run)(
                    self.0.as_ptr(),
                    inputs.as_mut_ptr(),
                    inputs.len(),
                    results.as_mut_ptr(),
                    results.len(),
                    session.raw_stream,
                    ptr::null_mut(),
                )
            }
        });
        // SAFETY: what the library has not taken is still this one's, and what it has written is
        // now.
        let (left, results) = unsafe {
            let left: Vec<_> = inputs
                .into_iter()
                .filter_map(|handle| take(handle))
                .collect();
            let results: Vec<_> = results.into_iter().map(|handle| take(handle)).collect();
            (left, results)
        };
        drop(left);
        ran?;
        let results = results.into_iter().enumerate();
        results
            .map(|(index, result)| match result {
                Some(result) => Ok(result),
                None => bail!(Delegate, "the compiled library gave no output {index}"),
            })
            .collect()
    }

    /// Deletes the container. The work that it has enqueued is complete.
    pub(crate) fn delete(self, functions: &ContainerFunctions, session: Option<&Session<'_>>) {
        // SAFETY: the container is one of this library, and is deleted once.
        let delete = || unsafe { (functions.delete)(self.0.as_ptr()) };
        let deleted = match session {
            Some(session) => functions.call(session, "delete a container", delete),
            // The device is lost. The functions that the library calls fail, and it goes on.
            None => {
                delete();
                Ok(())
            }
        };
        if let Err(error) = deleted {
            tracing::warn!("a container of a compiled library is left behind: {error}");
        }
    }
}

/// Constants that a container borrows. They are dropped with this.
pub(crate) struct UserManagedConstants(Vec<(CString, TensorHandle)>);

// SAFETY: the tensors are owned by this, and only read by the library that borrows them.
unsafe impl Send for UserManagedConstants {}

impl UserManagedConstants {
    pub(crate) fn new(constants: Vec<(CString, Tensor)>) -> Self {
        let constants = constants.into_iter();
        Self(
            constants
                .map(|(name, tensor)| (name, hand_over(tensor)))
                .collect(),
        )
    }
}

impl Drop for UserManagedConstants {
    fn drop(&mut self) {
        for (_, tensor) in self.0.drain(..) {
            // SAFETY: handed over by `new`, and never given up; the container that had it is gone.
            drop(unsafe { take(tensor) });
        }
    }
}
