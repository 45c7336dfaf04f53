//! TensorRT, as a caller sees it who knows nothing but slots.

use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::Mutex;

use thalweg_simgpu::nvinfer::TensorRt;

use crate::driver::symbol;

/// `Dims64`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dims {
    count: i32,
    dims: [i64; 8],
}

impl Dims {
    pub(crate) fn new(shape: &[i64]) -> Self {
        let mut dims = [0; 8];
        dims[..shape.len()].copy_from_slice(shape);
        Self {
            count: shape.len() as i32,
            dims,
        }
    }

    pub(crate) fn shape(&self) -> Option<&[i64]> {
        usize::try_from(self.count).ok().map(|n| &self.dims[..n])
    }
}

/// Where methods are, by version: 10.0, 10.1 to 10.9 (without a reader that can seek, up to 10.6),
/// 10.16, 11.1.
type Slots = [usize; 4];

macro_rules! slots {
    ($($name:ident = $slots:expr;)*) => {$(
        pub(crate) const $name: Slots = $slots;
    )*};
}

slots! {
    DESERIALIZE = [3; 4];
    LOAD_RUNTIME = [20, 20, 20, 19];
    RUNTIME_RECORDER = [9, 9, 9, 8];
    HOST_CODE = [21, 21, 21, 20];
    DESERIALIZE_V2 = [0, 0, 23, 22];
    CREATE_CONTEXT = [5; 4];
    PROFILE_MEMORY = [41, 53, 53, 45];
    TENSORS = [30, 30, 30, 26];
    TENSOR_NAME = [31, 31, 31, 27];
    ENGINE_SHAPE = [19, 19, 19, 15];
    PROFILE_SHAPE = [29, 29, 29, 25];
    SET_BUDGET = [0, 48, 48, 40];
    STREAMING_SCRATCH = [0, 51, 51, 43];
    SET_PROFILE = [17, 17, 17, 16];
    SET_SHAPE = [21, 21, 21, 20];
    SHAPE = [22, 22, 22, 21];
    SET_ADDRESS = [24, 24, 24, 23];
    INFER_SHAPES = [28, 28, 28, 27];
    SET_CONSUMED = [29, 29, 29, 28];
    SET_ALLOCATOR = [32, 32, 32, 31];
    ENQUEUE = [37, 37, 37, 36];
    UPDATE_MEMORY = [48, 48, 48, 47];
    SET_MEMORY = [10; 4];
    SET_MEMORY_V2 = [0, 49, 49, 48];
}

fn column(version: TensorRt) -> usize {
    match (version.major, version.minor) {
        (11, _) => 3,
        (10, 0) => 0,
        (10, 1..=6) => 1,
        (10, 16) => 2,
        (1, 4) => 2,
        _ => panic!("no slots for {version}"),
    }
}

/// An object as TensorRT gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) address: usize,
    column: usize,
}

impl Object {
    fn implementation(self) -> usize {
        // SAFETY: behind the table there is the pointer to the implementation.
        unsafe { *((self.address + 8) as *const usize) }
    }

    /// The implementation and the function in a slot.
    pub(crate) fn method<F: Copy>(self, slots: Slots) -> (usize, F) {
        self.slot(slots[self.column])
    }

    pub(crate) fn slot<F: Copy>(self, slot: usize) -> (usize, F) {
        assert_ne!(slot, 0, "the version has no such method");
        let implementation = self.implementation();
        // SAFETY: the table has the function there, and the test its type.
        unsafe {
            let table = *(implementation as *const *const F);
            (implementation, *table.add(slot))
        }
    }

    fn wrap(self, address: usize) -> Option<Self> {
        (address != 0).then_some(Self { address, ..self })
    }

    /// As `delete` of C++.
    pub(crate) fn delete(self) {
        // SAFETY: slot 1 is the destructor that frees.
        unsafe {
            let table = *(self.address as *const *const unsafe extern "C" fn(usize));
            (*table.add(1))(self.address);
        }
    }
}

/// Calls a method of an object.
macro_rules! call {
    ($object:expr, $slots:expr, ($($arg:expr => $type:ty),*) -> $result:ty) => {{
        type Method = unsafe extern "C" fn(usize $(, $type)*) -> $result;
        let (this, method) = $object.method::<Method>($slots);
        // SAFETY: the slot has a method of this type.
        unsafe { method(this $(, $arg)*) }
    }};
}

/// A logger, in a layout that both kinds of callers have: it answers in slots 0 and 4.
#[repr(C)]
pub(crate) struct Logger {
    table: *const [usize; 5],
    lines: Mutex<Vec<(i32, String)>>,
}

unsafe extern "C" fn log(this: *const Logger, severity: i32, line: *const c_char) {
    // SAFETY: the logger outlives what logs, and lines are terminated.
    let (this, line) = unsafe { (&*this, CStr::from_ptr(line)) };
    let line = line.to_string_lossy().into_owned();
    this.lines.lock().unwrap().push((severity, line));
}

impl Logger {
    pub(crate) fn new(version: TensorRt) -> Box<Self> {
        let mut table = [0; 5];
        // The other slot would crash.
        table[if version.major >= 11 { 4 } else { 0 }] = log as *const () as usize;
        Box::new(Self {
            table: Box::leak(Box::new(table)),
            lines: Mutex::default(),
        })
    }

    pub(crate) fn errors(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap();
        let errors = lines.iter().filter(|(severity, _)| *severity <= 1);
        errors.map(|(_, line)| line.clone()).collect()
    }

    /// Returns true if the last error has a text.
    pub(crate) fn last_error_has(&self, text: &str) -> bool {
        self.errors().last().is_some_and(|line| line.contains(text))
    }
}

pub(crate) fn lib_version() -> i32 {
    // SAFETY: it takes nothing.
    unsafe {
        let function: unsafe extern "C" fn() -> i32 =
            std::mem::transmute(symbol("getInferLibVersion"));
        function()
    }
}

/// The result of `createInferRuntime`, whatever it is.
pub(crate) fn create_runtime(logger: &Logger, version: i32) -> usize {
    type Create = unsafe extern "C" fn(*const c_void, i32) -> usize;
    let address = symbol("createInferRuntime_INTERNAL");
    // SAFETY: that is the function's type, and the logger outlives the test's objects.
    unsafe {
        let create = std::mem::transmute::<*mut c_void, Create>(address);
        create(std::ptr::from_ref(logger).cast(), version)
    }
}

pub(crate) fn runtime(logger: &Logger, version: TensorRt) -> Option<Object> {
    let address = create_runtime(logger, lib_version());
    // So small a number is no object.
    (address >= 4096).then(|| Object {
        address,
        column: column(version),
    })
}

fn text(name: &str) -> CString {
    CString::new(name).unwrap()
}

impl Object {
    pub(crate) fn deserialize(self, bytes: &[u8]) -> Option<Self> {
        let (start, len) = (bytes.as_ptr(), bytes.len());
        self.wrap(call!(self, DESERIALIZE, (start => *const u8, len => usize) -> usize))
    }

    pub(crate) fn allow_host_code(self, allowed: bool) {
        call!(self, HOST_CODE, (allowed => bool) -> ());
    }

    pub(crate) fn context(self, strategy: i32) -> Option<Self> {
        self.wrap(call!(self, CREATE_CONTEXT, (strategy => i32) -> usize))
    }

    pub(crate) fn profile_memory(self, profile: i32) -> i64 {
        call!(self, PROFILE_MEMORY, (profile => i32) -> i64)
    }

    pub(crate) fn tensors(self) -> Vec<String> {
        let count = call!(self, TENSORS, () -> i32);
        let names =
            (0..count).map(|index| call!(self, TENSOR_NAME, (index => i32) -> *const c_char));
        let names = names.filter(|name| !name.is_null());
        let text = |name| {
            // SAFETY: names stay as long as the engine.
            let name = unsafe { CStr::from_ptr(name) };
            name.to_string_lossy().into_owned()
        };
        names.map(text).collect()
    }

    pub(crate) fn engine_shape(self, name: &str) -> Dims {
        let name = text(name);
        call!(self, ENGINE_SHAPE, (name.as_ptr() => *const c_char) -> Dims)
    }

    pub(crate) fn profile_shape(self, name: &str, profile: i32, select: i32) -> Dims {
        let name = text(name);
        call!(self, PROFILE_SHAPE, (name.as_ptr() => *const c_char, profile => i32, select => i32) -> Dims)
    }

    pub(crate) fn set_budget(self, bytes: i64) -> bool {
        call!(self, SET_BUDGET, (bytes => i64) -> bool)
    }

    pub(crate) fn streaming_scratch(self) -> i64 {
        call!(self, STREAMING_SCRATCH, () -> i64)
    }

    pub(crate) fn set_profile(self, profile: i32, stream: u64) -> bool {
        call!(self, SET_PROFILE, (profile => i32, stream => u64) -> bool)
    }

    pub(crate) fn set_shape(self, name: &str, shape: &[i64]) -> bool {
        let (name, dims) = (text(name), Dims::new(shape));
        call!(self, SET_SHAPE, (name.as_ptr() => *const c_char, &dims => &Dims) -> bool)
    }

    pub(crate) fn shape(self, name: &str) -> Dims {
        let name = text(name);
        call!(self, SHAPE, (name.as_ptr() => *const c_char) -> Dims)
    }

    pub(crate) fn set_address(self, name: &str, address: u64) -> bool {
        let name = text(name);
        call!(self, SET_ADDRESS, (name.as_ptr() => *const c_char, address => u64) -> bool)
    }

    pub(crate) fn infer_shapes(self) -> i32 {
        let none = std::ptr::null_mut::<c_void>();
        call!(self, INFER_SHAPES, (0 => i32, none => *mut c_void) -> i32)
    }

    pub(crate) fn set_consumed(self, event: u64) -> bool {
        call!(self, SET_CONSUMED, (event => u64) -> bool)
    }

    pub(crate) fn set_allocator(self, name: &str, allocator: &Allocator) -> bool {
        let name = text(name);
        call!(self, SET_ALLOCATOR, (name.as_ptr() => *const c_char, allocator => *const Allocator) -> bool)
    }

    pub(crate) fn enqueue(self, stream: u64) -> bool {
        call!(self, ENQUEUE, (stream => u64) -> bool)
    }

    pub(crate) fn update_memory(self) -> usize {
        call!(self, UPDATE_MEMORY, () -> usize)
    }

    /// With the size where the version has a method for it.
    pub(crate) fn set_memory(self, address: u64, size: i64) {
        if SET_MEMORY_V2[self.column] == 0 {
            call!(self, SET_MEMORY, (address => u64) -> ());
        } else {
            call!(self, SET_MEMORY_V2, (address => u64, size => i64) -> ());
        }
    }

    pub(crate) fn set_recorder(self, recorder: &Recorder) {
        call!(self, RUNTIME_RECORDER, (recorder => *const Recorder) -> ());
    }

    pub(crate) fn deserialize_v2(self, reader: &Reader) -> Option<Self> {
        self.wrap(call!(self, DESERIALIZE_V2, (reader => *const Reader) -> usize))
    }

    pub(crate) fn load_runtime(self) -> usize {
        let name = text("x");
        call!(self, LOAD_RUNTIME, (name.as_ptr() => *const c_char) -> usize)
    }
}

/// `IOutputAllocator`, which allocates through the driver.
#[repr(C)]
pub(crate) struct Allocator {
    table: *const [usize; 7],
    pub(crate) given: Mutex<(u64, u64)>,
    pub(crate) shape: Mutex<Option<Vec<i64>>>,
    pub(crate) refuses: bool,
}

unsafe extern "C" fn reallocate(
    this: *const Allocator,
    _name: *const c_char,
    _current: u64,
    size: u64,
    _alignment: u64,
    _stream: u64,
) -> u64 {
    // SAFETY: the allocator outlives its use.
    let this = unsafe { &*this };
    if this.refuses {
        return 0;
    }
    let mut given = this.given.lock().unwrap();
    if given.0 != 0 {
        crate::driver::free(given.0);
    }
    let mut address = 0;
    crate::driver::alloc(&mut address, size as usize);
    *given = (address, size);
    address
}

unsafe extern "C" fn notify(this: *const Allocator, _name: *const c_char, dims: *const Dims) {
    // SAFETY: as above.
    let (this, dims) = unsafe { (&*this, &*dims) };
    *this.shape.lock().unwrap() = dims.shape().map(<[i64]>::to_vec);
}

impl Allocator {
    pub(crate) fn new(refuses: bool) -> Box<Self> {
        let mut table = [0; 7];
        table[5] = reallocate as *const () as usize;
        table[6] = notify as *const () as usize;
        Box::new(Self {
            table: Box::leak(Box::new(table)),
            given: Mutex::default(),
            shape: Mutex::default(),
            refuses,
        })
    }
}

/// `IStreamReaderV2`
#[repr(C)]
pub(crate) struct Reader {
    table: *const [usize; 6],
    bytes: Vec<u8>,
    at: Mutex<usize>,
    /// It gives no more than this.
    limit: usize,
}

unsafe extern "C" fn read(this: *const Reader, to: *mut u8, len: i64, _stream: usize) -> i64 {
    // SAFETY: the reader outlives the call, and there is room for `len` bytes.
    unsafe {
        let this = &*this;
        let mut at = this.at.lock().unwrap();
        let end = this.limit.min(this.bytes.len());
        let count = (len as usize).min(end - *at);
        to.copy_from_nonoverlapping(this.bytes[*at..].as_ptr(), count);
        *at += count;
        count as i64
    }
}

unsafe extern "C" fn seek(this: *const Reader, offset: i64, whence: i32) -> bool {
    // SAFETY: as above.
    let this = unsafe { &*this };
    let mut at = this.at.lock().unwrap();
    *at = match whence {
        0 => offset as usize,
        1 => (*at as i64 + offset) as usize,
        _ => (this.bytes.len() as i64 + offset) as usize,
    };
    true
}

impl Reader {
    pub(crate) fn new(bytes: Vec<u8>, limit: usize) -> Box<Self> {
        let mut table = [0; 6];
        table[4] = read as *const () as usize;
        table[5] = seek as *const () as usize;
        Box::new(Self {
            table: Box::leak(Box::new(table)),
            bytes,
            at: Mutex::default(),
            limit,
        })
    }
}

/// `IErrorRecorder`
#[repr(C)]
pub(crate) struct Recorder {
    table: *const [usize; 12],
    pub(crate) references: Mutex<i32>,
    pub(crate) errors: Mutex<Vec<(i32, String)>>,
}

unsafe extern "C" fn report(this: *const Recorder, code: i32, line: *const c_char) -> bool {
    // SAFETY: the recorder outlives its use, and lines are terminated.
    let (this, line) = unsafe { (&*this, CStr::from_ptr(line)) };
    let line = line.to_string_lossy().into_owned();
    this.errors.lock().unwrap().push((code, line));
    true
}

unsafe extern "C" fn increase(this: *const Recorder) -> i32 {
    // SAFETY: as above.
    let mut references = unsafe { &*this }.references.lock().unwrap();
    *references += 1;
    *references
}

unsafe extern "C" fn decrease(this: *const Recorder) -> i32 {
    // SAFETY: as above.
    let mut references = unsafe { &*this }.references.lock().unwrap();
    *references -= 1;
    *references
}

impl Recorder {
    pub(crate) fn new() -> Box<Self> {
        let mut table = [0; 12];
        table[9] = report as *const () as usize;
        table[10] = increase as *const () as usize;
        table[11] = decrease as *const () as usize;
        Box::new(Self {
            table: Box::leak(Box::new(table)),
            references: Mutex::default(),
            errors: Mutex::default(),
        })
    }
}
