//! The arguments of one instruction, lent to a kernel or delegate.

mod access;
mod lend;
mod list;

pub use access::{ArgumentAccess, Disjoint, Overlap};
pub use list::TensorList;

use crate::frame::{Frame, Slot, TensorId};
use crate::memory::Scratch;
use crate::tensor::Dims;
use crate::{DType, Element, Error, ErrorKind, Result, Scalar, TensorView};
use crate::{TensorViewMut, ValueId, bail, ensure};

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
    frame: &'c Frame,
    scratch: &'c Scratch,
    ids: &'c [ValueId],
    access: ArgumentAccess<'c>,
}

impl<'c> Arguments<'c> {
    /// Arguments for one call.
    ///
    /// # Errors
    /// If memory is out.
    #[inline]
    pub fn new(
        frame: &'c mut Frame,
        scratch: &'c mut Scratch,
        ids: &'c [ValueId],
        access: &ArgumentAccess<'c>,
    ) -> Result<Self> {
        let arguments = Self::unprotected(frame, scratch, ids, access);
        arguments.protect_inputs()?;
        Ok(arguments)
    }

    /// Arguments for one call, to be [protected](Self::protect_inputs) before anything is lent.
    #[inline(always)]
    pub(crate) fn unprotected(
        frame: &'c mut Frame,
        scratch: &'c mut Scratch,
        ids: &'c [ValueId],
        access: &ArgumentAccess<'c>,
    ) -> Self {
        frame.begin_call();
        scratch.reset();
        let reads = access.reads.min(ids.len());
        Self {
            frame,
            scratch,
            ids,
            access: ArgumentAccess { reads, ..*access },
        }
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
        self.lend(position)
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
            Slot::TensorList(ids) => Ok(TensorList::new(self, ids)),
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
                    let slot = self.frame.slot(id)?;
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
        self.lend_mut(position, Some(sizes))
    }

    /// A tensor that the operator reads and writes, as it is. It can be taken once a call.
    #[inline(always)]
    pub fn in_place(&self, position: usize) -> Result<TensorViewMut<'_>> {
        self.lend_mut(position, None)
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
            Some(id) => match self.frame.slot(id)? {
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
        self.lend_mut_of(id, Some(sizes))
            .map_err(|error| self.name_output(error, position))
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
            matches!(self.access.overlap, Overlap::View),
            Internal,
            "only the operator for views can make its output one"
        );
        self.make_view(self.tensor_id(output)?, self.tensor_id(input)?, sizes)
    }

    /// The name of an argument, for messages.
    pub fn name(&self, position: usize) -> String {
        match self
            .access
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
            Some(&id) => self.frame.slot(id),
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
        if position < self.access.reads && !self.is_written(position) {
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
            Ok(position @ 0..64) => self.access.write_mask >> position & 1 != 0,
            _ => self
                .access
                .writes
                .iter()
                .any(|&write| usize::from(write) == position),
        }
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
