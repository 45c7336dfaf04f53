//! Making programs by hand, for tests and tools.

use std::borrow::Cow;

use crate::error::Error;
use crate::program::*;
use crate::scalar::nbytes;

/// Builds a [`Program`] piece by piece.
///
/// ```
/// use thalweg_format::{MethodBuilder, Program, ProgramBuilder, ScalarType, WriteOptions};
///
/// # fn main() -> Result<(), thalweg_format::Error> {
/// let mut program = ProgramBuilder::new();
/// let one = program.constant(1f32.to_le_bytes());
///
/// let mut forward = MethodBuilder::new("forward");
/// let x = forward.tensor(ScalarType::Float, &[2, 3]);
/// let one = forward.constant(ScalarType::Float, &[1], one);
/// let alpha = forward.int(1);
/// let out = forward.tensor(ScalarType::Float, &[2, 3]);
/// forward.input(x);
/// forward.call("aten::add.out", &[x, one, alpha, out, out]);
/// forward.output(out);
/// program.method(forward);
///
/// let bytes = program.build()?.to_bytes(&WriteOptions::default())?;
/// assert_eq!(Program::parse(&bytes)?.methods[0].operators[0].name, "aten::add");
/// # Ok(())
/// # }
/// ```
///
/// A method is built on its own and then handed over. What a program and its methods share
/// (constants, initial values, payloads) goes to the program, and methods refer to it by what the
/// program's functions return. Nothing is checked until [`ProgramBuilder::build`].
#[derive(Clone, Debug)]
pub struct ProgramBuilder {
    methods: Vec<Method<'static>>,
    constants: Pieces,
    initial_values: Pieces,
    /// Entry 0 is kept for constants, as in upstream's files.
    segments: Vec<Cow<'static, [u8]>>,
    delegate_data: Vec<Cow<'static, [u8]>>,
    named_data: Vec<NamedData<'static>>,
    inline_constants: bool,
}

/// Builds a [`Method`] piece by piece; see [`ProgramBuilder`].
///
/// Functions that add a value return its index, to be used as an argument of calls.
#[derive(Clone, Debug)]
pub struct MethodBuilder {
    method: Method<'static>,
}

/// Data that goes into one segment.
#[derive(Clone, Debug)]
struct Pieces {
    bytes: Vec<u8>,
    /// Entry 0 is reserved.
    offsets: Vec<u64>,
}

/// The alignment of constants within their segment and of tensors within an arena.
const ALIGNMENT: usize = 16;

/// The arena that tensors are planned in unless said otherwise.
const MAIN_ARENA: u32 = 1;

impl Default for ProgramBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ProgramBuilder {
    /// A program without anything.
    pub fn new() -> Self {
        Self {
            methods: Vec::new(),
            constants: Pieces::new(),
            initial_values: Pieces::new(),
            segments: vec![Cow::Borrowed(&[])],
            delegate_data: Vec::new(),
            named_data: Vec::new(),
            inline_constants: false,
        }
    }

    /// Adds the data of a constant, for [`MethodBuilder::constant`].
    pub fn constant(&mut self, data: impl AsRef<[u8]>) -> u32 {
        self.constants.add(data.as_ref())
    }

    /// Stores constants in the flatbuffer and not in a segment, as old exporters did.
    pub fn inline_constants(&mut self) {
        self.inline_constants = true;
    }

    /// Adds an initial value of a mutable tensor, for [`MethodBuilder::state`].
    pub fn initial_value(&mut self, data: impl AsRef<[u8]>) -> u32 {
        self.initial_values.add(data.as_ref())
    }

    /// Adds a segment with the payload of a delegate, for [`MethodBuilder::delegate`].
    pub fn payload(&mut self, data: impl Into<Vec<u8>>) -> DelegateData {
        DelegateData::Segment(self.segment(data))
    }

    /// Adds the payload of a delegate to the flatbuffer, for [`MethodBuilder::delegate`].
    pub fn inline_payload(&mut self, data: impl Into<Vec<u8>>) -> DelegateData {
        self.delegate_data.push(Cow::Owned(data.into()));
        DelegateData::Inline(last(&self.delegate_data))
    }

    /// Adds a segment with data that has a name. Returns the index of the segment.
    pub fn named(&mut self, key: impl Into<String>, data: impl Into<Vec<u8>>) -> u32 {
        let segment = self.segment(data);
        self.named_data.push(NamedData {
            key: Cow::Owned(key.into()),
            segment,
        });
        segment
    }

    /// Adds a segment. Returns its index.
    pub fn segment(&mut self, data: impl Into<Vec<u8>>) -> u32 {
        self.segments.push(Cow::Owned(data.into()));
        last(&self.segments)
    }

    /// Adds a method.
    pub fn method(&mut self, method: MethodBuilder) {
        self.methods.push(method.method);
    }

    /// The program, checked.
    ///
    /// # Errors
    /// As [`Program::check`].
    pub fn build(mut self) -> Result<Program<'static>, Error> {
        let mut program = Program::default();
        if self.inline_constants {
            program.constant_buffer = self.constants.separate();
        } else {
            program.constant_segment = Some(SubsegmentOffsets {
                segment: 0,
                offsets: self.constants.offsets,
            });
            if let Some(segment) = self.segments.first_mut() {
                *segment = Cow::Owned(self.constants.bytes);
            }
        }
        if self.initial_values.offsets.len() > 1 {
            self.segments.push(Cow::Owned(self.initial_values.bytes));
            program.mutable_data_segments = vec![SubsegmentOffsets {
                segment: last(&self.segments),
                offsets: self.initial_values.offsets,
            }];
        }
        program.methods = self.methods;
        program.segments = self.segments;
        program.delegate_data = self.delegate_data;
        program.named_data = self.named_data;
        program.check()?;
        Ok(program)
    }
}

impl MethodBuilder {
    /// A method without anything.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            method: Method {
                name: Cow::Owned(name.into()),
                chains: vec![Chain::default()],
                arena_sizes: vec![0, 0],
                ..Method::default()
            },
        }
    }

    /// Adds a tensor with a place of its own in the main arena. Dimensions are in the usual order.
    pub fn tensor(&mut self, scalar_type: ScalarType, sizes: &[u32]) -> u32 {
        self.tensor_in(MAIN_ARENA, scalar_type, sizes)
    }

    /// Adds a tensor with a place of its own in an arena.
    pub fn tensor_in(&mut self, arena: u32, scalar_type: ScalarType, sizes: &[u32]) -> u32 {
        let tensor = self.planned(arena, scalar_type, sizes);
        self.value(Value::Tensor(Box::new(tensor)))
    }

    /// Adds a tensor whose sizes may be up to those given, with a place for the largest.
    pub fn dynamic_tensor(&mut self, scalar_type: ScalarType, bounds: &[u32]) -> u32 {
        let mut tensor = self.planned(MAIN_ARENA, scalar_type, bounds);
        tensor.dynamism = ShapeDynamism::DynamicBound;
        self.value(Value::Tensor(Box::new(tensor)))
    }

    /// Adds a tensor whose memory comes at run time, such as an input that the caller provides.
    pub fn unplanned_tensor(&mut self, scalar_type: ScalarType, sizes: &[u32]) -> u32 {
        self.value(Value::Tensor(Box::new(plain(scalar_type, sizes))))
    }

    /// Adds a constant tensor with the data from [`ProgramBuilder::constant`].
    pub fn constant(&mut self, scalar_type: ScalarType, sizes: &[u32], data: u32) -> u32 {
        let mut tensor = plain(scalar_type, sizes);
        tensor.data_buffer = data;
        self.value(Value::Tensor(Box::new(tensor)))
    }

    /// Adds a mutable tensor that starts out with the data from [`ProgramBuilder::initial_value`].
    pub fn state(&mut self, scalar_type: ScalarType, sizes: &[u32], data: u32) -> u32 {
        let mut tensor = self.planned(MAIN_ARENA, scalar_type, sizes);
        tensor.data_buffer = data;
        self.value(Value::Tensor(Box::new(tensor)))
    }

    /// Adds a constant tensor whose data lies in a data file under this name.
    pub fn external(
        &mut self,
        name: impl Into<String>,
        scalar_type: ScalarType,
        sizes: &[u32],
    ) -> u32 {
        let mut tensor = plain(scalar_type, sizes);
        tensor.extra = Some(ExtraTensorInfo {
            fully_qualified_name: Some(Cow::Owned(name.into())),
            location: DataLocation::External,
            ..ExtraTensorInfo::default()
        });
        self.value(Value::Tensor(Box::new(tensor)))
    }

    /// Adds nothing, as an argument that is left out.
    pub fn none(&mut self) -> u32 {
        self.value(Value::None)
    }

    /// Adds an integer.
    pub fn int(&mut self, value: i64) -> u32 {
        self.value(Value::Int(value))
    }

    /// Adds a double.
    pub fn double(&mut self, value: f64) -> u32 {
        self.value(Value::Double(value))
    }

    /// Adds a boolean.
    pub fn bool(&mut self, value: bool) -> u32 {
        self.value(Value::Bool(value))
    }

    /// Adds a string.
    pub fn string(&mut self, value: impl Into<String>) -> u32 {
        self.value(Value::String(Cow::Owned(value.into())))
    }

    /// Adds integers and the list of them.
    pub fn int_list(&mut self, items: &[i64]) -> u32 {
        let items = items.iter().map(|&item| self.int(item)).collect();
        self.value(Value::IntList(items))
    }

    /// Adds a list of tensors that were added before.
    pub fn tensor_list(&mut self, items: &[u32]) -> u32 {
        self.value(Value::TensorList(items.to_vec()))
    }

    /// Adds any value.
    pub fn value(&mut self, value: Value<'static>) -> u32 {
        self.method.values.push(value);
        last(&self.method.values)
    }

    /// Makes a value the next input.
    pub fn input(&mut self, value: u32) {
        self.method.inputs.push(value);
    }

    /// Makes a value the next output.
    pub fn output(&mut self, value: u32) {
        self.method.outputs.push(value);
    }

    /// Adds an empty arena on a device, for [`MethodBuilder::tensor_in`]. Returns its index.
    pub fn arena(&mut self, device: Device) -> u32 {
        self.method.arena_sizes.push(0);
        let arena = last(&self.method.arena_sizes);
        if device != Device::default() {
            self.method
                .arena_devices
                .push(ArenaDevice { arena, device });
        }
        arena
    }

    /// Adds a delegate. Returns its index, for [`MethodBuilder::call_delegate`].
    pub fn delegate(
        &mut self,
        backend: impl Into<String>,
        data: DelegateData,
        compile_specs: &[(&str, &[u8])],
    ) -> u32 {
        let compile_specs = compile_specs
            .iter()
            .map(|(key, value)| CompileSpec {
                key: Cow::Owned((*key).to_owned()),
                value: Cow::Owned(value.to_vec()),
            })
            .collect();
        self.method.delegates.push(Delegate {
            backend: Cow::Owned(backend.into()),
            data,
            compile_specs,
        });
        last(&self.method.delegates)
    }

    /// Calls an operator, such as `aten::add.out`, with its arguments, outputs, and what it returns
    /// (for an operator with an output argument that argument again).
    pub fn call(&mut self, operator: &str, args: &[u32]) {
        let operator = self.operator(operator);
        self.instruction(Instruction::KernelCall {
            operator,
            args: args.to_vec(),
        });
    }

    /// Calls a delegate with its inputs and then its outputs.
    pub fn call_delegate(&mut self, delegate: u32, args: &[u32]) {
        self.instruction(Instruction::DelegateCall {
            delegate,
            args: args.to_vec(),
        });
    }

    /// Makes value `to` refer to what `from` is.
    pub fn move_value(&mut self, from: u32, to: u32) {
        self.instruction(Instruction::Move { from, to });
    }

    /// Goes on with instruction `destination` if a boolean is false. Where that is may become known
    /// only later: see [`MethodBuilder::land`].
    pub fn jump_if_false(&mut self, condition: u32, destination: u32) -> u32 {
        self.instruction(Instruction::JumpIfFalse {
            condition,
            destination,
        })
    }

    /// Lets a jump that was added before go to the instruction that is added next.
    pub fn land(&mut self, jump: u32) {
        let here = self.next_instruction();
        let instructions = self
            .method
            .chains
            .iter_mut()
            .flat_map(|c| &mut c.instructions);
        if let Some(Instruction::JumpIfFalse { destination, .. }) =
            instructions.into_iter().nth(jump as usize)
        {
            *destination = here;
        }
    }

    /// Adds any instruction. Returns its index.
    pub fn instruction(&mut self, instruction: Instruction) -> u32 {
        let index = self.next_instruction();
        if let Some(chain) = self.method.chains.last_mut() {
            chain.instructions.push(instruction);
        }
        index
    }

    /// The index that the next instruction will have.
    pub fn next_instruction(&self) -> u32 {
        let chain = self.method.chains.last();
        chain.map_or(0, |chain| chain.instructions.len() as u32)
    }

    /// What has been built so far, to be changed in ways for which there is no function here.
    pub fn edit(&mut self) -> &mut Method<'static> {
        &mut self.method
    }

    fn planned(&mut self, arena: u32, scalar_type: ScalarType, sizes: &[u32]) -> Tensor<'static> {
        let mut tensor = plain(scalar_type, sizes);
        let mut offset = 0;
        if let Some(size) = self.method.arena_sizes.get_mut(arena as usize) {
            offset = size.next_multiple_of(ALIGNMENT as u64);
            *size = offset.saturating_add(nbytes(scalar_type, sizes).unwrap_or(u64::MAX));
        }
        tensor.allocation = Some(Allocation { arena, offset });
        tensor
    }

    fn operator(&mut self, full_name: &str) -> u32 {
        let (name, overload) = full_name.split_once('.').unwrap_or((full_name, ""));
        let operators = &mut self.method.operators;
        let known = operators
            .iter()
            .position(|op| op.name == name && op.overload == overload);
        match known {
            Some(index) => index as u32,
            None => {
                operators.push(Operator {
                    name: Cow::Owned(name.to_owned()),
                    overload: Cow::Owned(overload.to_owned()),
                });
                last(operators)
            }
        }
    }
}

impl Pieces {
    fn new() -> Self {
        Self {
            bytes: Vec::new(),
            offsets: vec![0],
        }
    }

    fn add(&mut self, data: &[u8]) -> u32 {
        let start = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(data);
        self.offsets.push(start as u64);
        last(&self.offsets)
    }

    /// Each piece on its own; those before the last with their padding.
    fn separate(&self) -> Vec<Cow<'static, [u8]>> {
        let mut pieces = vec![Cow::Borrowed(&[][..])];
        let ends = self.offsets.iter().skip(2).copied();
        let ends = ends.chain([self.bytes.len() as u64]);
        for (start, end) in self.offsets.iter().skip(1).zip(ends) {
            let piece = self.bytes.get(*start as usize..end as usize);
            pieces.push(Cow::Owned(piece.unwrap_or_default().to_vec()));
        }
        pieces
    }
}

fn plain(scalar_type: ScalarType, sizes: &[u32]) -> Tensor<'static> {
    Tensor {
        scalar_type,
        storage_offset: 0,
        sizes: sizes.to_vec(),
        dim_order: (0..sizes.len()).map(|dim| dim as u8).collect(),
        requires_grad: false,
        data_buffer: 0,
        allocation: None,
        layout: 0,
        dynamism: ShapeDynamism::Static,
        extra: None,
    }
}

fn last<T>(list: &[T]) -> u32 {
    list.len().saturating_sub(1) as u32
}
