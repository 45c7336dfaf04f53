//! The rules that hold between the parts of a program.

use std::collections::HashSet;

use crate::data::DataSource;
use crate::error::{At, Error, chain_place, count, quoted, there_are};
use crate::program::*;
use crate::scalar::nbytes;

/// Tensors have at most this many dimensions, here and in upstream's runtime.
const MAX_RANK: usize = 16;

impl Program<'_> {
    /// Checks that the parts of the program fit together: every index names what exists and is of
    /// the right kind, tensors have sensible shapes, and their data and places lie within the
    /// segments and arenas that they name.
    ///
    /// [`Program::parse`] and [`Program::to_bytes`] do this by themselves.
    ///
    /// # Errors
    /// Names the first part that breaks a rule.
    pub fn check(&self) -> Result<(), Error> {
        self.check_data()?;
        let mut names = HashSet::new();
        for method in &self.methods {
            let place = || format!("method {}", quoted(&method.name));
            if !names.insert(&method.name) {
                return Err(Error::invalid("another method has the same name")).at(place);
            }
            self.check_method(method).at(place)?;
        }
        Ok(())
    }

    fn check_data(&self) -> Result<(), Error> {
        if let Some(constants) = self.constants_in_segment() {
            self.check_subsegments(constants)
                .at(|| "the constant segment")?;
            if !self.constant_buffer.is_empty() {
                return Err(Error::invalid(
                    "constants are stored in a segment and in the flatbuffer; it must be one of them",
                ));
            }
        }
        for (i, subsegments) in self.mutable_data_segments.iter().enumerate() {
            self.check_subsegments(subsegments)
                .at(|| format!("mutable data segment {i}"))?;
        }
        let mut keys = HashSet::new();
        for (i, entry) in self.named_data.iter().enumerate() {
            let place = || format!("named data {i} ({})", quoted(&entry.key));
            if !keys.insert(&entry.key) {
                return Err(Error::invalid("another entry has the same key")).at(place);
            }
            names("it", entry.segment, self.segments.len(), "segment").at(place)?;
        }
        Ok(())
    }

    fn check_subsegments(&self, subsegments: &SubsegmentOffsets) -> Result<(), Error> {
        names("it", subsegments.segment, self.segments.len(), "segment")?;
        let size = self
            .segments
            .get(subsegments.segment as usize)
            .map_or(0, |s| s.len());
        for (i, &offset) in subsegments.offsets.iter().enumerate() {
            if offset > size as u64 {
                return Err(Error::invalid(format!(
                    "entry {i} starts at byte {offset} of segment {}, which has {}",
                    subsegments.segment,
                    count(size, "byte")
                )));
            }
        }
        Ok(())
    }

    fn check_method(&self, method: &Method<'_>) -> Result<(), Error> {
        for (i, mapping) in method.arena_devices.iter().enumerate() {
            names(
                format_args!("device mapping {i}"),
                mapping.arena,
                method.arena_sizes.len(),
                "arena",
            )?;
        }
        for (i, value) in method.values.iter().enumerate() {
            self.check_value(method, value)
                .at(|| format!("value {i}"))?;
        }
        let all = method.values.len();
        names_all("input", &method.inputs, all, "value")?;
        names_all("output", &method.outputs, all, "value")?;
        for (i, delegate) in method.delegates.iter().enumerate() {
            match delegate.data {
                DelegateData::Inline(at) => names(
                    "its payload",
                    at,
                    self.delegate_data.len(),
                    "inline payload",
                ),
                DelegateData::Segment(at) => {
                    names("its payload", at, self.segments.len(), "segment")
                }
            }
            .at(|| format!("delegate {i} ({})", quoted(&delegate.backend)))?;
        }
        for (i, chain) in method.chains.iter().enumerate() {
            check_chain(method, chain).at(|| chain_place(i, method.chains.len()))?;
        }
        Ok(())
    }

    fn check_value(&self, method: &Method<'_>, value: &Value<'_>) -> Result<(), Error> {
        match value {
            Value::Tensor(tensor) => self.check_tensor(method, tensor),
            Value::IntList(items) => check_items(
                method,
                items.iter().copied().map(Some),
                "an integer",
                |item| {
                    // What is an integer at run time may be stored as nothing.
                    matches!(item, Value::Int(_) | Value::None)
                },
            ),
            Value::TensorList(items) => check_items(
                method,
                items.iter().copied().map(Some),
                "a tensor",
                |item| matches!(item, Value::Tensor(_)),
            ),
            Value::OptionalTensorList(items) => check_items(
                method,
                items.iter().copied(),
                "a tensor or nothing",
                |item| matches!(item, Value::Tensor(_) | Value::None),
            ),
            Value::None
            | Value::Int(_)
            | Value::Double(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::DoubleList(_)
            | Value::BoolList(_) => Ok(()),
        }
    }

    fn check_tensor(&self, method: &Method<'_>, tensor: &Tensor<'_>) -> Result<(), Error> {
        check_shape(&tensor.sizes, &tensor.dim_order)?;
        let bytes = nbytes(tensor.scalar_type, &tensor.sizes);
        let bytes = match (tensor.dynamism, bytes) {
            (ShapeDynamism::DynamicUnbound, _) => 0,
            (_, Some(bytes)) => bytes,
            // Such bounds are how exporters say "any size", which is fine for what the caller
            // provides but cannot be planned.
            (ShapeDynamism::DynamicBound, None) if tensor.allocation.is_none() => 0,
            (_, None) => {
                return Err(Error::invalid(
                    "its size in bytes does not fit into 64 bits",
                ));
            }
        };
        if let Some(allocation) = tensor.allocation {
            check_allocation(method, allocation, bytes)?;
        }
        match tensor.data_source() {
            DataSource::None => Ok(()),
            DataSource::Program if tensor.allocation.is_some() => {
                self.initial_data_at(tensor, bytes).map(drop)
            }
            DataSource::Program => self.constant_data_at(tensor, bytes).map(drop),
            DataSource::External("") => Err(Error::invalid(
                "its data lies in a data file, but it has no name to look it up by",
            )),
            DataSource::External(_) => Ok(()),
        }
    }
}

/// Checks sizes and the order of dimensions against each other.
pub(crate) fn check_shape(sizes: &[u32], dim_order: &[u8]) -> Result<(), Error> {
    let rank = sizes.len();
    if rank > MAX_RANK {
        return Err(Error::invalid(format!(
            "it has {}, but at most {MAX_RANK} are possible",
            count(rank, "dimension")
        )));
    }
    if let Some((i, size)) = sizes
        .iter()
        .enumerate()
        .find(|(_, size)| i32::try_from(**size).is_err())
    {
        return Err(Error::invalid(format!(
            "dimension {i} has size {size}, more than the format can store"
        )));
    }
    if dim_order.len() != rank {
        return Err(Error::invalid(format!(
            "it has {}, but its order lists {}",
            count(rank, "dimension"),
            dim_order.len()
        )));
    }
    let mut seen = 0u32;
    for &dim in dim_order {
        if usize::from(dim) >= rank || seen & 1 << dim != 0 {
            return Err(Error::invalid(format!(
                "the order of its dimensions, {dim_order:?}, is not a permutation"
            )));
        }
        seen |= 1 << dim;
    }
    Ok(())
}

fn check_allocation(method: &Method<'_>, allocation: Allocation, bytes: u64) -> Result<(), Error> {
    let Allocation { arena, offset } = allocation;
    if arena == 0 {
        return Err(Error::invalid(
            "its place is in arena 0, which is reserved for constants",
        ));
    }
    let arenas = method.arena_sizes.len();
    names("its place", arena, arenas, "arena")?;
    let size = method
        .arena_sizes
        .get(arena as usize)
        .copied()
        .unwrap_or_default();
    if offset.checked_add(bytes).is_none_or(|end| end > size) {
        return Err(Error::invalid(format!(
            "its place, {bytes} bytes at byte {offset} of arena {arena}, is beyond the end: the \
             arena has {size} bytes"
        )));
    }
    Ok(())
}

/// Checks the items of a list; those that are absent are always right.
fn check_items(
    method: &Method<'_>,
    items: impl Iterator<Item = Option<u32>>,
    wanted: &str,
    fits: impl Fn(&Value<'_>) -> bool,
) -> Result<(), Error> {
    for (i, item) in items.enumerate() {
        let Some(item) = item else {
            continue;
        };
        match method.values.get(item as usize) {
            Some(value) if fits(value) => {}
            Some(value) => {
                return Err(Error::invalid(format!(
                    "item {i} must be {wanted}, but names value {item}, {}",
                    value.kind_name()
                )));
            }
            None => {
                let all = method.values.len();
                names(format_args!("item {i}"), item, all, "value")?;
            }
        }
    }
    Ok(())
}

fn check_chain(method: &Method<'_>, chain: &Chain<'_>) -> Result<(), Error> {
    let all = method.values.len();
    names_all("input", &chain.inputs, all, "value")?;
    names_all("output", &chain.outputs, all, "value")?;
    for (i, instruction) in chain.instructions.iter().enumerate() {
        check_instruction(method, chain, instruction).at(|| format!("instruction {i}"))?;
    }
    Ok(())
}

fn check_instruction(
    method: &Method<'_>,
    chain: &Chain<'_>,
    instruction: &Instruction,
) -> Result<(), Error> {
    let all = method.values.len();
    match instruction {
        Instruction::KernelCall { operator, args } => {
            names("it", *operator, method.operators.len(), "operator")?;
            names_all("argument", args, all, "value")
        }
        Instruction::DelegateCall { delegate, args } => {
            names("it", *delegate, method.delegates.len(), "delegate")?;
            names_all("argument", args, all, "value")
        }
        Instruction::Move { from, to } => {
            names("its source", *from, all, "value")?;
            names("its target", *to, all, "value")
        }
        Instruction::JumpIfFalse {
            condition,
            destination,
        } => {
            names("its condition", *condition, all, "value")?;
            // To jump behind the last instruction is to end the chain.
            let steps = chain.instructions.len();
            if *destination as usize > steps {
                return Err(Error::invalid(format!(
                    "its destination is instruction {destination}, but {}",
                    there_are(steps, "instruction")
                )));
            }
            Ok(())
        }
        Instruction::Free { value } => names("it", *value, all, "value"),
    }
}

fn names_all(what: &str, indices: &[u32], len: usize, noun: &str) -> Result<(), Error> {
    for (i, &index) in indices.iter().enumerate() {
        names(format_args!("{what} {i}"), index, len, noun)?;
    }
    Ok(())
}

/// Checks that an index names one of `len` things.
pub(crate) fn names(
    what: impl std::fmt::Display,
    index: u32,
    len: usize,
    noun: &str,
) -> Result<(), Error> {
    if (index as usize) < len {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{what} names {noun} {index}, but {}",
        there_are(len, noun)
    )))
}
