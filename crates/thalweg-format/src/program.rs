//! What a `.pte` file says, as plain Rust values.
//!
//! The types mirror the file: nothing is resolved, renamed or dropped, so that a program which is
//! read and written again is the same program. Large pieces (segments, inline buffers, names) are
//! borrowed from the bytes that were read; a program that is built from scratch owns them.

use std::borrow::Cow;
use std::fmt;

/// A program: methods, and the data they share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program<'a> {
    /// Version of the schema; 0 for every program that upstream has written so far.
    pub version: u32,
    /// The methods, in file order.
    pub methods: Vec<Method<'a>>,
    /// Constants stored in the flatbuffer itself, as old exporters wrote them. Entry 0 is reserved.
    pub constant_buffer: Vec<Cow<'a, [u8]>>,
    /// Delegate payloads stored in the flatbuffer itself.
    pub delegate_data: Vec<Cow<'a, [u8]>>,
    /// The data segments that follow the flatbuffer, each without its padding.
    pub segments: Vec<Cow<'a, [u8]>>,
    /// Where each constant lies, for files that keep constants in a segment. Entry 0 is reserved.
    pub constant_segment: Option<SubsegmentOffsets>,
    /// Where the initial values of mutable tensors lie, by `mutable_data_segments_idx`.
    pub mutable_data_segments: Vec<SubsegmentOffsets>,
    /// Names for segments.
    pub named_data: Vec<NamedData<'a>>,
}

/// Offsets of several pieces of data within one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubsegmentOffsets {
    /// Index into [`Program::segments`].
    pub segment: u32,
    /// Byte offsets from the start of the segment.
    pub offsets: Vec<u64>,
}

/// A name for the data of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedData<'a> {
    /// The unique key.
    pub key: Cow<'a, str>,
    /// Index into [`Program::segments`]. Several names may share a segment.
    pub segment: u32,
}

/// One method (upstream: an execution plan).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Method<'a> {
    /// Its name, such as `forward`.
    pub name: Cow<'a, str>,
    /// How inputs and outputs nest, as the exporter encoded it (a pytree in JSON).
    pub container_meta: Option<ContainerMeta<'a>>,
    /// Every value that the method uses; everything else refers to them by index.
    pub values: Vec<Value<'a>>,
    /// The values that a caller provides, in order.
    pub inputs: Vec<u32>,
    /// The values that a caller gets back, in order.
    pub outputs: Vec<u32>,
    /// Lists of instructions. Upstream writes one chain per method.
    pub chains: Vec<Chain<'a>>,
    /// The operators that kernel calls name by index.
    pub operators: Vec<Operator<'a>>,
    /// The delegates that delegate calls name by index.
    pub delegates: Vec<Delegate<'a>>,
    /// Sizes in bytes of the planned memory arenas. Entry 0 is reserved (for constants) and 0.
    pub arena_sizes: Vec<u64>,
    /// Arenas that do not live on the CPU.
    pub arena_devices: Vec<ArenaDevice>,
}

/// How a method's inputs and outputs nest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerMeta<'a> {
    /// The encoded tree of the inputs.
    pub inputs: Option<Cow<'a, str>>,
    /// The encoded tree of the outputs.
    pub outputs: Option<Cow<'a, str>>,
}

/// Places one arena on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaDevice {
    /// Index into [`Method::arena_sizes`].
    pub arena: u32,
    /// Where the arena lives.
    pub device: Device,
}

/// A kind of device, and which one of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Device {
    /// The kind.
    pub kind: DeviceKind,
    /// Index among the devices of the kind.
    pub index: i8,
}

/// The kinds of devices that programs name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeviceKind {
    /// Host memory.
    #[default]
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

impl fmt::Display for Device {
    /// As in `cuda:0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Cuda => "cuda",
        };
        write!(f, "{kind}:{}", self.index)
    }
}

/// A value of a method.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value<'a> {
    /// No value. Inputs whose kind is known only at run time are stored so, too.
    #[default]
    None,
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    String(Cow<'a, str>),
    /// A tensor.
    Tensor(Box<Tensor<'a>>),
    /// Integers, each the index of an [`Value::Int`], since they may change from call to call.
    IntList(Vec<u32>),
    /// Doubles.
    DoubleList(Vec<f64>),
    /// Booleans.
    BoolList(Vec<bool>),
    /// Tensors, each the index of a [`Value::Tensor`].
    TensorList(Vec<u32>),
    /// Tensors that may be absent, each the index of a [`Value::Tensor`] or [`Value::None`].
    OptionalTensorList(Vec<Option<u32>>),
}

/// A tensor: its type, shape and the place of its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<'a> {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Offset of the first element, in elements. Upstream's runtime supports 0 only.
    pub storage_offset: i32,
    /// Size of each dimension, or its upper bound where the shape is dynamic.
    pub sizes: Vec<u32>,
    /// The dimensions from outermost to innermost in memory.
    pub dim_order: Vec<u8>,
    /// Whether the tensor takes part in training.
    pub requires_grad: bool,
    /// Index of the initial data, or 0 for none. See [`Tensor::allocation`].
    pub data_buffer: u32,
    /// The planned place of a tensor that is written at run time. With `data_buffer` this says
    /// what the tensor is: data only, a constant; place only, an ordinary tensor; both, a mutable
    /// buffer with an initial value; neither, a tensor whose memory comes at run time.
    pub allocation: Option<Allocation>,
    /// Unused by upstream.
    pub layout: i8,
    /// What may change about the shape.
    pub dynamism: ShapeDynamism,
    /// What only few tensors have.
    pub extra: Option<ExtraTensorInfo<'a>>,
}

/// A planned place in an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Index into [`Method::arena_sizes`].
    pub arena: u32,
    /// Byte offset from the start of the arena.
    pub offset: u64,
}

/// What may change about a tensor's shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ShapeDynamism {
    /// The sizes are the shape.
    #[default]
    Static,
    /// The sizes are upper bounds; memory is planned for them.
    DynamicBound,
    /// The sizes say nothing; memory comes at run time.
    DynamicUnbound,
}

/// What only few tensors have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraTensorInfo<'a> {
    /// Index into [`Program::mutable_data_segments`] of the initial value.
    pub mutable_data_segment: u64,
    /// The tensor's name in the source model, such as `layers.0.weight`.
    pub fully_qualified_name: Option<Cow<'a, str>>,
    /// Whether the data lies in this file or in a data file, under the name.
    pub location: DataLocation,
    /// Where the tensor lives at run time.
    pub device: Device,
}

/// Where a tensor's data is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DataLocation {
    /// In the program file.
    #[default]
    Segment,
    /// In a data file, under the tensor's name.
    External,
}

/// A list of instructions, run in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chain<'a> {
    /// Values that go in; unused by upstream's runtime.
    pub inputs: Vec<u32>,
    /// Values that come out; unused by upstream's runtime.
    pub outputs: Vec<u32>,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// For each instruction the source it came from, if the exporter was asked to say.
    pub stacktrace: Option<Vec<Vec<Frame<'a>>>>,
}

/// One step of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Runs an operator.
    KernelCall {
        /// Index into [`Method::operators`].
        operator: u32,
        /// The values it takes, outputs included, then the values it returns.
        args: Vec<u32>,
    },
    /// Runs a delegate.
    DelegateCall {
        /// Index into [`Method::delegates`].
        delegate: u32,
        /// The values it takes, inputs first, then outputs.
        args: Vec<u32>,
    },
    /// Makes one value refer to what another is.
    Move {
        /// The value that is read.
        from: u32,
        /// The value that is replaced.
        to: u32,
    },
    /// Jumps if a boolean is false.
    JumpIfFalse {
        /// The boolean: a [`Value::Bool`] or a boolean tensor of one element.
        condition: u32,
        /// Index of the instruction to go on with.
        destination: u32,
    },
    /// Releases the memory of a tensor that came at run time.
    Free {
        /// The tensor.
        value: u32,
    },
}

/// A place in the source of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The file.
    pub file: Option<Cow<'a, str>>,
    /// The line, from 1.
    pub line: i32,
    /// The function.
    pub function: Option<Cow<'a, str>>,
    /// The text of the line.
    pub context: Option<Cow<'a, str>>,
}

/// An operator's name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Operator<'a> {
    /// Namespace and name, such as `aten::add`.
    pub name: Cow<'a, str>,
    /// Overload, such as `out`; may be empty.
    pub overload: Cow<'a, str>,
}

/// A part of the method that a backend runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegate<'a> {
    /// Name of the backend.
    pub backend: Cow<'a, str>,
    /// Where its payload lies.
    pub data: DelegateData,
    /// Options that the exporter fixed.
    pub compile_specs: Vec<CompileSpec<'a>>,
}

/// Where a delegate's payload lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelegateData {
    /// Index into [`Program::delegate_data`].
    Inline(u32),
    /// Index into [`Program::segments`].
    Segment(u32),
}

/// An option for a delegate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileSpec<'a> {
    /// Its name.
    pub key: Cow<'a, str>,
    /// Its value; what the bytes mean is the backend's affair.
    pub value: Cow<'a, [u8]>,
}

/// Element types, with upstream's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i8)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum ScalarType {
    Byte = 0,
    Char = 1,
    Short = 2,
    Int = 3,
    Long = 4,
    Half = 5,
    Float = 6,
    Double = 7,
    ComplexHalf = 8,
    ComplexFloat = 9,
    ComplexDouble = 10,
    Bool = 11,
    QInt8 = 12,
    QUInt8 = 13,
    QInt32 = 14,
    BFloat16 = 15,
    QUInt4x2 = 16,
    QUInt2x4 = 17,
    Bits1x8 = 18,
    Bits2x4 = 19,
    Bits4x2 = 20,
    Bits8 = 21,
    Bits16 = 22,
    Float8E5M2 = 23,
    Float8E4M3Fn = 24,
    Float8E5M2Fnuz = 25,
    Float8E4M3Fnuz = 26,
    UInt16 = 27,
    UInt32 = 28,
    UInt64 = 29,
}
