//! Lends the tensors of one instruction to a kernel or delegate.

use std::ptr::NonNull;
use std::slice;

use super::apart::Apart;
use super::storage::{Storage, TensorCopy, TensorId, TensorSlot};
use super::{Scratch, Slot, Values};
use crate::tensor::Dims;
use crate::{DType, Element, Error, ErrorKind, Result, Scalar, Signature, TensorView};
use crate::{TensorViewMut, Use, ValueId, bail, ensure};

/// The arguments of one instruction.
///
/// Arguments are named by position, as the operator's signature lists them; values that the
/// operator returns come after its parameters.
///
/// # Inputs and outputs never overlap
/// Programs may ask an operator to write over one of its own inputs. A kernel need not care: an
/// input that shares memory with an output of the same call is copied before the call, and
/// [`tensor`](Self::tensor) gives the copy. Operators that are defined to work in place have no
/// such input; they read and write through [`in_place`](Self::in_place).
pub struct Arguments<'c> {
    values: &'c Values,
    scratch: &'c Scratch,
    ids: &'c [ValueId],
    /// How many of them, from the start, may be read. What follows are results: new ones, or
    /// outputs once more.
    reads: usize,
    /// Positions of the arguments that are written, in ascending order.
    writes: &'c [u16],
    /// The first 64 of them as bits, for speed.
    write_mask: u64,
    overlap: Overlap,
    signature: Option<&'c Signature>,
}

/// What is known of the arguments of an instruction before it runs.
pub(crate) struct Lending<'c> {
    /// How many arguments, from the start, may be read.
    pub(crate) reads: usize,
    /// Positions of the arguments that are written, in ascending order.
    pub(crate) writes: &'c [u16],
    /// The [`mask`] of `writes`.
    pub(crate) write_mask: u64,
    pub(crate) overlap: Overlap,
    pub(crate) signature: Option<&'c Signature>,
}

impl Lending<'_> {
    /// How the argument at a position is used. A result that was passed in, listed once more, is not.
    pub(crate) fn use_of(&self, position: usize) -> Option<Use> {
        let mut writes = self.writes.iter();
        match writes.any(|&write| usize::from(write) == position) {
            true => Some(Use::Write),
            false => (position < self.reads).then_some(Use::Read),
        }
    }
}

/// A list of tensors, some of which may be absent.
#[derive(Clone, Copy)]
pub struct TensorList<'a> {
    arguments: &'a Arguments<'a>,
    ids: &'a [Option<ValueId>],
}

/// Whether tensors of a call may share memory, and what is done about it.
#[derive(Clone, Copy)]
pub(crate) enum Overlap {
    /// No argument that is written shares memory with another one.
    None(#[allow(dead_code, reason = "it is there to be had")] Apart),
    /// They may: inputs that an output could overwrite are copied first.
    Copied,
    /// They do, from the second call on, for the output is a view of the input. Nothing is
    /// written through it, unless the operator cannot make a view; then the output goes back to
    /// the place that was planned for it, which must be another one.
    View,
}

impl<'c> Arguments<'c> {
    /// Arguments for one call.
    #[inline]
    pub(crate) fn new(
        values: &'c mut Values,
        scratch: &'c mut Scratch,
        ids: &'c [ValueId],
        lending: &Lending<'c>,
    ) -> Result<Self> {
        let arguments = Self::unkept(values, scratch, ids, lending);
        arguments.keep_inputs()?;
        Ok(arguments)
    }

    /// Arguments for one call, whose inputs are still to be [kept](Self::keep_inputs).
    #[inline(always)]
    pub(crate) fn unkept(
        values: &'c mut Values,
        scratch: &'c mut Scratch,
        ids: &'c [ValueId],
        lending: &Lending<'c>,
    ) -> Self {
        values.call += 1;
        scratch.reset();
        Self {
            values,
            scratch,
            ids,
            reads: lending.reads.min(ids.len()),
            writes: lending.writes,
            write_mask: lending.write_mask,
            overlap: lending.overlap,
            signature: lending.signature,
        }
    }

    /// Copies the inputs that the call could overwrite. To be done before anything is lent.
    #[inline(always)]
    pub(crate) fn keep_inputs(&self) -> Result<()> {
        if matches!(self.overlap, Overlap::Copied) {
            self.mark_outputs()?;
            self.copy_overwritten_inputs()?;
        }
        Ok(())
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// A tensor to read.
    #[inline(always)]
    pub fn tensor(&self, position: usize) -> Result<TensorView<'_>> {
        // Views are put together where they are used: a function that is called would leave them in
        // memory, and reading that back at once takes longer than all that is checked here.
        let tensor = self.readable(position)?;
        // SAFETY: `readable` has checked it.
        Ok(unsafe { self.view(tensor) })
    }

    /// A tensor to read, which may be absent.
    #[inline]
    pub fn optional_tensor(&self, position: usize) -> Result<Option<TensorView<'_>>> {
        self.optional(position, Self::tensor)
    }

    /// Tensors to read.
    pub fn tensor_list(&self, position: usize) -> Result<TensorList<'_>> {
        self.check_read(position)?;
        match self.slot(position)? {
            Slot::TensorList(ids) => Ok(TensorList {
                arguments: self,
                ids,
            }),
            other => Err(self.mismatch(position, "a list of tensors", other)),
        }
    }

    /// A number.
    #[inline]
    pub fn scalar(&self, position: usize) -> Result<Scalar> {
        let slot = self.slot(position)?;
        slot.number()
            .ok_or_else(|| self.mismatch(position, "a number", slot))
    }

    /// A number, which may be absent.
    #[inline]
    pub fn optional_scalar(&self, position: usize) -> Result<Option<Scalar>> {
        self.optional(position, Self::scalar)
    }

    /// An integer; booleans count as 0 and 1.
    #[inline]
    pub fn int(&self, position: usize) -> Result<i64> {
        match self.scalar(position)? {
            Scalar::Double(_) => Err(self.mismatch(position, "an integer", self.slot(position)?)),
            other => Ok(other.to_i64()),
        }
    }

    /// An integer, which may be absent.
    #[inline]
    pub fn optional_int(&self, position: usize) -> Result<Option<i64>> {
        self.optional(position, Self::int)
    }

    /// A double; integers are converted.
    #[inline]
    pub fn double(&self, position: usize) -> Result<f64> {
        Ok(self.scalar(position)?.to_f64())
    }

    /// A double, which may be absent.
    #[inline]
    pub fn optional_double(&self, position: usize) -> Result<Option<f64>> {
        self.optional(position, Self::double)
    }

    /// A boolean; integers count as true unless they are 0.
    #[inline]
    pub fn bool(&self, position: usize) -> Result<bool> {
        match self.scalar(position)? {
            Scalar::Double(_) => Err(self.mismatch(position, "a boolean", self.slot(position)?)),
            other => Ok(other.to_bool()),
        }
    }

    /// A boolean, which may be absent.
    #[inline]
    pub fn optional_bool(&self, position: usize) -> Result<Option<bool>> {
        self.optional(position, Self::bool)
    }

    /// A string.
    pub fn string(&self, position: usize) -> Result<&str> {
        match self.slot(position)? {
            Slot::String(value) => Ok(value),
            other => Err(self.mismatch(position, "a string", other)),
        }
    }

    /// A string, which may be absent.
    pub fn optional_string(&self, position: usize) -> Result<Option<&str>> {
        self.optional(position, Self::string)
    }

    /// An element type, given by PyTorch's number.
    pub fn dtype(&self, position: usize) -> Result<DType> {
        let code = self.int(position)?;
        match DType::from_code(code) {
            Some(dtype) => Ok(dtype),
            None => bail!(
                Unsupported,
                "{}: there is no element type {code}",
                self.name(position)
            ),
        }
    }

    /// An element type, which may be absent.
    pub fn optional_dtype(&self, position: usize) -> Result<Option<DType>> {
        self.optional(position, Self::dtype)
    }

    /// Integers. A single integer counts as a list of one.
    #[inline]
    pub fn int_list(&self, position: usize) -> Result<&[i64]> {
        match self.slot(position)? {
            Slot::Ints(ints) => Ok(ints),
            Slot::IntList(ids) => {
                let ints = self.scratch.take::<i64>(ids.len())?;
                for (int, &id) in ints.iter_mut().zip(&**ids) {
                    let slot = self.values.slot(id)?;
                    *int = match slot.number() {
                        Some(value) => value.to_i64(),
                        None => return Err(self.mismatch(position, "a list of integers", slot)),
                    };
                }
                Ok(ints)
            }
            other => match other.number() {
                Some(Scalar::Int(value)) => {
                    let ints = self.scratch.take::<i64>(1)?;
                    ints[0] = value;
                    Ok(ints)
                }
                _ => Err(self.mismatch(position, "a list of integers", other)),
            },
        }
    }

    /// Integers, which may be absent.
    pub fn optional_int_list(&self, position: usize) -> Result<Option<&[i64]>> {
        self.optional(position, Self::int_list)
    }

    /// Doubles.
    pub fn double_list(&self, position: usize) -> Result<&[f64]> {
        match self.slot(position)? {
            Slot::DoubleList(doubles) => Ok(doubles),
            other => Err(self.mismatch(position, "a list of doubles", other)),
        }
    }

    /// Doubles, which may be absent.
    pub fn optional_double_list(&self, position: usize) -> Result<Option<&[f64]>> {
        self.optional(position, Self::double_list)
    }

    /// Booleans.
    pub fn bool_list(&self, position: usize) -> Result<&[bool]> {
        match self.slot(position)? {
            Slot::BoolList(bools) => Ok(bools),
            other => Err(self.mismatch(position, "a list of booleans", other)),
        }
    }

    /// Temporary memory with arbitrary content, for the time of the call.
    ///
    /// # Errors
    /// If memory is out.
    #[allow(clippy::mut_from_ref, reason = "every call gives another piece")]
    pub fn temporary<T: Element>(&self, len: usize) -> Result<&mut [T]> {
        self.scratch.take(len)
    }

    /// The element type of an output, before it is taken.
    pub fn output_dtype(&self, position: usize) -> Result<DType> {
        Ok(self.peek(self.tensor_id(position)?).dtype)
    }

    /// The dim order of an output, before it is taken.
    pub fn output_dim_order(&self, position: usize) -> Result<&[u8]> {
        Ok(&self.peek(self.tensor_id(position)?).dim_order)
    }

    /// The shape that an output has before it is taken: that of the call before, or the largest
    /// that the program planned for.
    pub fn output_sizes(&self, position: usize) -> Result<Dims> {
        Dims::from_slice(self.peek(self.tensor_id(position)?).sizes())
    }

    /// An output, resized to a shape. Its content is arbitrary. It can be taken once a call.
    ///
    /// # Errors
    /// If the program did not plan for that shape.
    #[inline(always)]
    pub fn output(&self, position: usize, sizes: &[usize]) -> Result<TensorViewMut<'_>> {
        let tensor = self.taken(position, Some(sizes))?;
        // SAFETY: it was taken just now.
        Ok(unsafe { self.view_mut(tensor) })
    }

    /// A tensor that the operator reads and writes, as it is. It can be taken once a call.
    #[inline(always)]
    pub fn in_place(&self, position: usize) -> Result<TensorViewMut<'_>> {
        let tensor = self.taken(position, None)?;
        // SAFETY: it was taken just now.
        Ok(unsafe { self.view_mut(tensor) })
    }

    /// A tensor that the operator resizes, keeping its leading bytes, and then reads and writes.
    ///
    /// # Errors
    /// If the program did not plan for that shape.
    pub fn resize_in_place(&self, position: usize, sizes: &[usize]) -> Result<TensorViewMut<'_>> {
        let id = self.tensor_id(position)?;
        ensure!(
            !self.storage(self.peek(id)).grows(),
            Unsupported,
            "{}: a tensor without planned memory cannot be resized in place",
            self.name(position)
        );
        self.output(position, sizes)
    }

    /// How many tensors a list of outputs has.
    pub fn output_list_len(&self, position: usize) -> Result<usize> {
        Ok(self.output_list(position)?.len())
    }

    /// A tensor of a list of outputs, resized to a shape. It can be taken once a call.
    ///
    /// # Errors
    /// If the program did not plan for that shape, or the list is shorter.
    pub fn output_in_list(
        &self,
        position: usize,
        index: usize,
        sizes: &[usize],
    ) -> Result<TensorViewMut<'_>> {
        self.check_written(position)?;
        let ids = self.output_list(position)?;
        let id = match ids.get(index).copied().flatten() {
            Some(id) => match self.values.slot(id)? {
                Slot::Tensor(id) => *id,
                other => return Err(self.mismatch(position, "a list of tensors", other)),
            },
            None => bail!(
                InvalidProgram,
                "{}: there are {} tensors to write, and one more is needed",
                self.name(position),
                ids.len()
            ),
        };
        let tensor = self
            .take(id, Some(sizes))
            .map_err(|error| self.name_output(error, position))?;
        // SAFETY: it was taken just now.
        Ok(unsafe { self.view_mut(tensor) })
    }

    /// Sets a number that the operator returns.
    #[inline]
    pub fn set(&self, position: usize, value: impl Into<Scalar>) -> Result<()> {
        self.check_written(position)?;
        match self.slot(position)? {
            Slot::Scalar(cell) => {
                cell.set(Some(value.into()));
                Ok(())
            }
            other => Err(self.mismatch(position, "a number", other)),
        }
    }

    /// Makes an output share the memory of an input, in another shape with as many elements.
    ///
    /// Both must have the same element type, and both must be row-major.
    pub fn alias(&self, output: usize, input: usize, sizes: &[usize]) -> Result<()> {
        self.check_written(output)?;
        ensure!(
            matches!(self.overlap, Overlap::View),
            Internal,
            "only the operator for views can make its output one"
        );
        let (to, from) = (self.tensor_id(output)?, self.tensor_id(input)?);
        let source = self.peek(from);
        if to == from {
            ensure!(
                *source.sizes() == *sizes,
                Operator,
                "a tensor of shape {:?} cannot be a view of itself as {sizes:?}",
                source.sizes()
            );
            return Ok(());
        }
        // SAFETY: no view of this tensor is out: it is the only output (`Overlap::View` says so),
        // it has not been taken (checked next), and it is not the only input.
        let target = unsafe { &mut *self.values.tensors[to.0 as usize].get() };
        ensure!(
            target.taken_in != self.values.call,
            Internal,
            "an output was taken twice"
        );
        let planned = self.storage(source).is_planned();
        target.become_view(source, sizes, planned)?;
        target.taken_in = self.values.call;
        Ok(())
    }

    /// The name of an argument, for messages.
    pub fn name(&self, position: usize) -> String {
        match self
            .signature
            .and_then(|signature| signature.parameter_name(position))
        {
            Some(name) => format!("argument `{name}`"),
            None => format!("argument {position}"),
        }
    }

    #[inline]
    fn slot(&self, position: usize) -> Result<&Slot> {
        match self.ids.get(position) {
            Some(&id) => self.values.slot(id),
            None => Err(self.missing(position)),
        }
    }

    #[inline]
    fn tensor_id(&self, position: usize) -> Result<TensorId> {
        match self.slot(position)? {
            Slot::Tensor(id) => Ok(*id),
            other => Err(self.mismatch(position, "a tensor", other)),
        }
    }

    fn output_list(&self, position: usize) -> Result<&[Option<ValueId>]> {
        match self.slot(position)? {
            Slot::TensorList(ids) => Ok(ids),
            other => Err(self.mismatch(position, "a list of tensors", other)),
        }
    }

    #[inline]
    fn optional<'a, T>(
        &'a self,
        position: usize,
        get: impl FnOnce(&'a Self, usize) -> Result<T>,
    ) -> Result<Option<T>> {
        if self.slot(position)?.is_none() {
            return Ok(None);
        }
        get(self, position).map(Some)
    }

    /// An error unless the argument is declared as one to read.
    #[inline]
    fn check_read(&self, position: usize) -> Result<()> {
        if position < self.reads && !self.is_written(position) {
            return Ok(());
        }
        Err(self.not_declared(position, "an input"))
    }

    /// An error unless the argument is declared as one to write.
    #[inline]
    fn check_written(&self, position: usize) -> Result<()> {
        if self.is_written(position) {
            return Ok(());
        }
        Err(self.not_declared(position, "an output"))
    }

    #[inline]
    fn is_written(&self, position: usize) -> bool {
        match u32::try_from(position) {
            Ok(position @ 0..64) => self.write_mask >> position & 1 != 0,
            _ => self
                .writes
                .iter()
                .any(|&write| usize::from(write) == position),
        }
    }

    /// Remembers in each tensor that this call writes that it does.
    fn mark_outputs(&self) -> Result<()> {
        for &position in self.writes {
            self.for_each_tensor(usize::from(position), |id| {
                // SAFETY: no view is out yet; this is only called by `keep_inputs`.
                let tensor = unsafe { &mut *self.values.tensors[id.0 as usize].get() };
                tensor.written_in = self.values.call;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Copies every input that the call may overwrite, so that it can be read all the same.
    fn copy_overwritten_inputs(&self) -> Result<()> {
        let mut writes = self.writes.iter().peekable();
        for position in 0..self.reads {
            if writes
                .next_if(|&&write| usize::from(write) == position)
                .is_some()
            {
                continue;
            }
            self.for_each_tensor(position, |id| {
                if self.is_overwritten(id)? {
                    self.copy(id)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn is_overwritten(&self, id: TensorId) -> Result<bool> {
        let tensor = self.peek(id);
        if tensor.written_in == self.values.call {
            return Ok(true);
        }
        let mut overwritten = false;
        for &position in self.writes {
            self.for_each_tensor(usize::from(position), |output| {
                overwritten |= self.overlap(tensor, self.peek(output))?;
                Ok(())
            })?;
        }
        Ok(overwritten)
    }

    /// Whether memory of `tensor` may be written through `output`.
    fn overlap(&self, tensor: &TensorSlot, output: &TensorSlot) -> Result<bool> {
        if tensor.storage != output.storage {
            return Ok(false);
        }
        // Growing moves the whole storage.
        if self.storage(output).grows() {
            return Ok(true);
        }
        let end = |tensor: &TensorSlot, len: usize| tensor.offset.saturating_add(len);
        Ok(
            tensor.offset < end(output, output.capacity.max(output.len()))
                && output.offset < end(tensor, tensor.len()),
        )
    }

    /// Calls `visit` with the tensors of an argument: one, those of a list, or none.
    #[inline]
    fn for_each_tensor(
        &self,
        position: usize,
        mut visit: impl FnMut(TensorId) -> Result<()>,
    ) -> Result<()> {
        match self.slot(position)? {
            Slot::Tensor(id) => visit(*id),
            Slot::TensorList(ids) => {
                for &id in ids.iter().flatten() {
                    if let Slot::Tensor(id) = self.values.slot(id)? {
                        visit(*id)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn copy(&self, id: TensorId) -> Result<()> {
        // SAFETY: no view is out yet; this is only called by `keep_inputs`.
        let tensor = unsafe { &mut *self.values.tensors[id.0 as usize].get() };
        if tensor.copied_in == self.values.call {
            return Ok(());
        }
        let len = tensor.len();
        let storage = self.storage(tensor);
        storage.check(tensor.offset, len)?;
        let sizes = self.scratch.take::<usize>(tensor.sizes().len())?;
        sizes.copy_from_slice(tensor.sizes());
        let data = self.scratch.take::<u8>(len)?;
        // SAFETY: checked, and nobody writes before `keep_inputs` returns.
        data.copy_from_slice(unsafe { storage.bytes(tensor.offset, len) });
        tensor.copy = Some(TensorCopy {
            sizes: NonNull::from(sizes).cast(),
            data: NonNull::from(data).cast(),
            len,
        });
        tensor.copied_in = self.values.call;
        Ok(())
    }

    /// The tensor of an argument to read, which has memory.
    #[inline(never)]
    fn readable(&self, position: usize) -> Result<&TensorSlot> {
        self.check_read(position)?;
        match self.slot(position)? {
            Slot::Tensor(id) => self.with_memory(*id),
            other => Err(self.mismatch(position, "a tensor", other)),
        }
    }

    /// A tensor that has memory: its own, or that of its copy.
    #[inline]
    fn with_memory(&self, id: TensorId) -> Result<&TensorSlot> {
        let tensor = self.peek(id);
        if self.copy_of(tensor).is_none() {
            self.storage(tensor).check(tensor.offset, tensor.len())?;
        }
        Ok(tensor)
    }

    /// A tensor's copy, if this call may overwrite it.
    #[inline(always)]
    fn copy_of<'t>(&self, tensor: &'t TensorSlot) -> Option<&'t TensorCopy> {
        if tensor.copied_in != self.values.call {
            return None;
        }
        tensor.copy.as_ref()
    }

    /// A tensor's content: its copy, if this call may overwrite it.
    ///
    /// # Safety
    /// The tensor belongs to an argument that is read, and [`with_memory`](Self::with_memory) gave it.
    #[inline(always)]
    unsafe fn view<'t>(&'t self, tensor: &'t TensorSlot) -> TensorView<'t> {
        if let Some(copy) = self.copy_of(tensor) {
            // SAFETY: the copy was made in this call's scratch, which lives and is not reset for
            // as long as `self` borrows it, and nobody else has these pieces.
            let (sizes, data) = unsafe {
                (
                    slice::from_raw_parts(copy.sizes.as_ptr(), tensor.sizes().len()),
                    slice::from_raw_parts(copy.data.as_ptr(), copy.len),
                )
            };
            return TensorView::trusted(tensor.dtype, sizes, &tensor.dim_order, data);
        }
        // SAFETY: the place is within the storage (the caller says so). The argument is an input, and
        // shares no memory with an output that is written: either that is known, or it would have a
        // copy, or the output is only written where it does not. So nothing changes the shape or the
        // bytes while `self` is borrowed.
        let data = unsafe { self.storage(tensor).bytes(tensor.offset, tensor.len()) };
        TensorView::trusted(tensor.dtype, tensor.sizes(), &tensor.dim_order, data)
    }

    /// The tensor of an argument that is declared as an output, taken.
    #[inline(never)]
    fn taken(&self, position: usize, sizes: Option<&[usize]>) -> Result<&TensorSlot> {
        self.check_written(position)?;
        let id = self.tensor_id(position)?;
        self.take(id, sizes)
            .map_err(|error| self.name_output(error, position))
    }

    /// Takes an output: from now on it is [`view_mut`](Self::view_mut)'s alone.
    #[inline]
    fn take(&self, id: TensorId, sizes: Option<&[usize]>) -> Result<&TensorSlot> {
        ensure!(
            self.peek(id).taken_in != self.values.call,
            Internal,
            "an output was taken twice"
        );
        match self.overlap {
            Overlap::None(_) => {}
            Overlap::Copied => self.check_apart_from_taken(id)?,
            Overlap::View => self.send_home(id)?,
        }
        // SAFETY: the tensor is an output of this call that has not been taken, so no view of it
        // is out: where it is an input, too, that has a copy.
        let tensor = unsafe { &mut *self.values.tensors[id.0 as usize].get() };
        // SAFETY: a growing storage is reached by this output alone: inputs that share it were
        // copied, and outputs that share it are kept apart above. Others are not changed here.
        let storage = unsafe { &mut *self.values.storages[tensor.storage.0 as usize].get() };
        if let Some(sizes) = sizes {
            tensor.resize(sizes, storage.grows())?;
        }
        let len = tensor.len();
        // What may be lent is what overlaps were looked for in.
        ensure!(
            storage.grows() || len <= tensor.capacity,
            InvalidProgram,
            "a tensor of {len} bytes has room for {}",
            tensor.capacity
        );
        storage.grow(tensor.offset.saturating_add(len))?;
        ensure!(
            storage.is_writable(),
            InvalidProgram,
            "the program writes to a constant, or to an input that the caller only lends"
        );
        storage.check(tensor.offset, len)?;
        tensor.taken_in = self.values.call;
        Ok(tensor)
    }

    /// The memory of an output, to write.
    ///
    /// # Safety
    /// [`take`](Self::take) gave the tensor, and this is asked for once for each time that it did.
    #[inline(always)]
    unsafe fn view_mut<'t>(&'t self, tensor: &'t TensorSlot) -> TensorViewMut<'t> {
        let storage = self.storage(tensor);
        // SAFETY: `take` has checked that the place is within the storage. No other view of these bytes
        // is out, nor will be while this call runs: inputs that overlap were copied, and other outputs
        // that overlap are refused.
        let data = unsafe { storage.bytes_mut(tensor.offset, tensor.len()) };
        TensorViewMut::trusted(tensor.dtype, tensor.sizes(), &tensor.dim_order, data)
    }

    /// Moves an output that was a view back to its planned place.
    #[cold]
    fn send_home(&self, id: TensorId) -> Result<()> {
        // SAFETY: no view of this tensor is out: it has not been taken, and it is not an input
        // (checked next, before anything is written).
        let tensor = unsafe { &mut *self.values.tensors[id.0 as usize].get() };
        tensor.go_home();
        let tensor = self.peek(id);
        for position in (0..self.reads).filter(|&position| !self.is_written(position)) {
            self.for_each_tensor(position, |input| {
                ensure!(
                    input != id && !self.overlap(self.peek(input), tensor)?,
                    InvalidProgram,
                    "a view that has to be a copy shares memory with its source"
                );
                Ok(())
            })?;
        }
        Ok(())
    }

    /// An error if an output that was taken before shares memory with this one.
    fn check_apart_from_taken(&self, id: TensorId) -> Result<()> {
        let tensor = self.peek(id);
        for &position in self.writes {
            self.for_each_tensor(usize::from(position), |other| {
                let output = self.peek(other);
                ensure!(
                    other == id
                        || output.taken_in != self.values.call
                        || !self.capacities_overlap(tensor, output),
                    InvalidProgram,
                    "two outputs of one instruction share memory"
                );
                Ok(())
            })?;
        }
        Ok(())
    }

    fn capacities_overlap(&self, a: &TensorSlot, b: &TensorSlot) -> bool {
        a.storage == b.storage
            && (self.storage(a).grows()
                || (a.offset < b.offset.saturating_add(b.capacity)
                    && b.offset < a.offset.saturating_add(a.capacity)))
    }

    #[inline]
    fn peek(&self, id: TensorId) -> &TensorSlot {
        // SAFETY: a tensor is only changed in `take` and `alias`, which have it for themselves for
        // that moment; shapes that are lent out do not change after that.
        unsafe { &*self.values.tensors[id.0 as usize].get() }
    }

    #[inline]
    fn storage(&self, tensor: &TensorSlot) -> &Storage {
        // SAFETY: a storage is only changed in `take`, for the moment of growing.
        unsafe { &*self.values.storages[tensor.storage.0 as usize].get() }
    }

    // Errors are made apart, so that the functions that may fail are small enough to be inlined.

    #[cold]
    fn missing(&self, position: usize) -> Error {
        let name = self.name(position);
        Error::new(ErrorKind::InvalidProgram, format!("{name} is missing"))
    }

    #[cold]
    fn not_declared(&self, position: usize, what: &str) -> Error {
        let name = self.name(position);
        let message = format!("{name} is not declared as {what}");
        Error::new(ErrorKind::Internal, message)
    }

    #[cold]
    fn mismatch(&self, position: usize, expected: &str, found: &Slot) -> Error {
        let found = match found {
            Slot::Scalar(cell) => cell.get().map_or("none", Scalar::kind_name),
            Slot::String(_) => "a string",
            Slot::Tensor(_) => "a tensor",
            Slot::Ints(_) | Slot::IntList(_) => "a list of integers",
            Slot::DoubleList(_) => "a list of doubles",
            Slot::BoolList(_) => "a list of booleans",
            Slot::TensorList(_) => "a list of tensors",
        };
        let name = self.name(position);
        Error::new(
            ErrorKind::InvalidProgram,
            format!("{name} is {found}, but must be {expected}"),
        )
    }

    #[cold]
    fn name_output(&self, error: Error, position: usize) -> Error {
        Error::new(
            error.kind(),
            format!("{}: {}", self.name(position), error.message()),
        )
    }
}

impl<'a> TensorList<'a> {
    /// How many entries there are, absent ones included.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// An entry, which may be absent.
    #[inline(always)]
    pub fn optional(&self, index: usize) -> Result<Option<TensorView<'a>>> {
        let Some(tensor) = self.entry(index)? else {
            return Ok(None);
        };
        // SAFETY: `with_memory` gave it, and lists of tensors are had for arguments that are read
        // (`Arguments::tensor_list`).
        Ok(Some(unsafe { self.arguments.view(tensor) }))
    }

    /// The tensor of an entry, which has memory.
    #[inline(never)]
    fn entry(&self, index: usize) -> Result<Option<&'a TensorSlot>> {
        let Some(id) = self.ids.get(index).copied().flatten() else {
            return Ok(None);
        };
        match self.arguments.values.slot(id)? {
            Slot::Tensor(id) => self.arguments.with_memory(*id).map(Some),
            slot if slot.is_none() => Ok(None),
            _ => bail!(
                InvalidProgram,
                "entry {index} of a list of tensors is not a tensor"
            ),
        }
    }

    /// An entry.
    ///
    /// # Errors
    /// If it is absent.
    pub fn get(&self, index: usize) -> Result<TensorView<'a>> {
        match self.optional(index)? {
            Some(tensor) => Ok(tensor),
            None => bail!(
                InvalidProgram,
                "entry {index} of a list of tensors is absent"
            ),
        }
    }

    /// The entries, in order. An absent one is an error.
    pub fn iter(&self) -> impl Iterator<Item = Result<TensorView<'a>>> + use<'a> {
        let list = *self;
        (0..list.len()).map(move |index| list.get(index))
    }
}

/// The first 64 positions as bits.
pub(crate) fn mask(positions: &[u16]) -> u64 {
    positions
        .iter()
        .filter(|&&position| position < 64)
        .fold(0, |mask, position| mask | 1 << position)
}
