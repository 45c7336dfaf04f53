//! The lending of tensors to kernels: why it is sound.
//!
//! A program decides at will which tensors share memory, and a program is untrusted. What keeps
//! this sound is one rule, enforced at every call: while a mutable view of some memory is lent out,
//! no other view of any part of it is.
//!
//! - Before anything is lent, inputs that an output could overwrite are copied, and are read from the
//!   copy ([`protect_inputs`](Arguments::protect_inputs)). It is known of most instructions that there
//!   are none ([`Disjoint`](super::Disjoint)).
//! - An output is taken once ([`take`](Arguments::take)), and not if one that was taken overlaps it.
//! - Shapes and storages change only in the moment in which an output is taken.
#![allow(unsafe_code, reason = "see above")]

use std::ptr::NonNull;
use std::slice;

use super::{Arguments, Overlap};
use crate::frame::{InputCopy, Slot, Storage, TensorId, TensorSlot};
use crate::{Result, TensorView, TensorViewMut, ensure};

impl Arguments<'_> {
    /// Copies the inputs that the call could overwrite. To be done before anything is lent.
    #[inline(always)]
    pub(crate) fn protect_inputs(&self) -> Result<()> {
        if matches!(self.access.overlap, Overlap::Possible) {
            self.mark_outputs()?;
            self.copy_overwritten_inputs()?;
        }
        Ok(())
    }

    /// A tensor to read.
    #[inline(always)]
    pub(super) fn lend(&self, position: usize) -> Result<TensorView<'_>> {
        // Views are put together where they are used: a function that is called would leave them in
        // memory, and reading that back at once takes longer than all that is checked here.
        let tensor = self.readable(position)?;
        // SAFETY: `readable` has checked it.
        Ok(unsafe { self.view(tensor) })
    }

    /// A tensor of a list to read. The argument must be one that is read.
    #[inline(always)]
    pub(super) fn lend_of_list(&self, id: TensorId) -> Result<TensorView<'_>> {
        let tensor = self.with_memory_outlined(id)?;
        // SAFETY: `with_memory` gave it, and lists of tensors are had for arguments that are read
        // (`Arguments::tensor_list`).
        Ok(unsafe { self.view(tensor) })
    }

    /// An output to write, resized to a shape, if one is given.
    #[inline(always)]
    pub(super) fn lend_mut(
        &self,
        position: usize,
        sizes: Option<&[usize]>,
    ) -> Result<TensorViewMut<'_>> {
        let tensor = self.taken(position, sizes)?;
        // SAFETY: it was taken just now.
        Ok(unsafe { self.view_mut(tensor) })
    }

    /// A tensor of an argument that is declared as an output, to write.
    pub(super) fn lend_mut_of(
        &self,
        id: TensorId,
        sizes: Option<&[usize]>,
    ) -> Result<TensorViewMut<'_>> {
        let tensor = self.take(id, sizes)?;
        // SAFETY: it was taken just now.
        Ok(unsafe { self.view_mut(tensor) })
    }

    /// Makes an output a view of an input, in another shape with as many elements. The caller has
    /// checked that the call is one of the operator for views ([`Overlap::View`]).
    pub(super) fn make_view(&self, to: TensorId, from: TensorId, sizes: &[usize]) -> Result<()> {
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
        let target = unsafe { &mut *self.frame.tensor_cell(to).get() };
        ensure!(
            target.taken_in != self.frame.call(),
            Internal,
            "an output was taken twice"
        );
        let planned = self.storage(source).is_planned();
        target.become_view(source, sizes, planned)?;
        target.taken_in = self.frame.call();
        Ok(())
    }

    /// Remembers in each tensor that this call writes that it does.
    fn mark_outputs(&self) -> Result<()> {
        for &position in self.access.writes {
            self.for_each_tensor(usize::from(position), |id| {
                // SAFETY: no view is out yet; this is only called by `protect_inputs`.
                let tensor = unsafe { &mut *self.frame.tensor_cell(id).get() };
                tensor.written_in = self.frame.call();
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Copies every input that the call may overwrite, so that it can be read all the same.
    fn copy_overwritten_inputs(&self) -> Result<()> {
        let mut writes = self.access.writes.iter().peekable();
        for position in 0..self.access.reads {
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
        if tensor.written_in == self.frame.call() {
            return Ok(true);
        }
        let mut overwritten = false;
        for &position in self.access.writes {
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
                    if let Slot::Tensor(id) = self.frame.slot(id)? {
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
        // SAFETY: no view is out yet; this is only called by `protect_inputs`.
        let tensor = unsafe { &mut *self.frame.tensor_cell(id).get() };
        if tensor.copied_in == self.frame.call() {
            return Ok(());
        }
        let len = tensor.len();
        let host = self.storage(tensor).host(len)?;
        host.check(tensor.offset, len)?;
        let sizes = self.scratch.take::<usize>(tensor.sizes().len())?;
        sizes.copy_from_slice(tensor.sizes());
        let data = self.scratch.take::<u8>(len)?;
        // SAFETY: checked, and nobody writes before `protect_inputs` returns.
        data.copy_from_slice(unsafe { host.bytes(tensor.offset, len) });
        tensor.copy = Some(InputCopy {
            sizes: NonNull::from(sizes).cast(),
            data: NonNull::from(data).cast(),
            len,
        });
        tensor.copied_in = self.frame.call();
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
            let host = self.storage(tensor).host(tensor.len())?;
            host.check(tensor.offset, tensor.len())?;
        }
        Ok(tensor)
    }

    #[inline(never)]
    fn with_memory_outlined(&self, id: TensorId) -> Result<&TensorSlot> {
        self.with_memory(id)
    }

    /// A tensor's copy, if this call may overwrite it.
    #[inline(always)]
    fn copy_of<'t>(&self, tensor: &'t TensorSlot) -> Option<&'t InputCopy> {
        if tensor.copied_in != self.frame.call() {
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
        // SAFETY: the location is within the storage (the caller says so). The argument is an input, and
        // shares no memory with an output that is written: either that is known, or it would have a
        // copy, or the output is only written where it does not. So nothing changes the shape or the
        // bytes while `self` is borrowed.
        let data = unsafe {
            match self.storage(tensor) {
                Storage::Host(host) => host.bytes(tensor.offset, tensor.len()),
                // `with_memory` has refused it.
                Storage::Device(_) => std::hint::unreachable_unchecked(),
            }
        };
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
            self.peek(id).taken_in != self.frame.call(),
            Internal,
            "an output was taken twice"
        );
        match self.access.overlap {
            Overlap::None(_) => {}
            Overlap::Possible => self.check_apart_from_taken(id)?,
            Overlap::View => self.send_home(id)?,
        }
        // SAFETY: the tensor is an output of this call that has not been taken, so no view of it
        // is out: where it is an input, too, that has a copy.
        let tensor = unsafe { &mut *self.frame.tensor_cell(id).get() };
        // SAFETY: a growing storage is reached by this output alone: inputs that share it were
        // copied, and outputs that share it are kept apart above. Others are not changed here.
        let storage = unsafe { &mut *self.frame.storage_cell(tensor.storage).get() };
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
        let host = storage.host(len)?;
        ensure!(
            host.is_writable(),
            InvalidProgram,
            "the program writes to a constant, or to an input that the caller only lends"
        );
        host.check(tensor.offset, len)?;
        tensor.taken_in = self.frame.call();
        Ok(tensor)
    }

    /// The memory of an output, to write.
    ///
    /// # Safety
    /// [`take`](Self::take) gave the tensor, and this is asked for once for each time that it did.
    #[inline(always)]
    unsafe fn view_mut<'t>(&'t self, tensor: &'t TensorSlot) -> TensorViewMut<'t> {
        let storage = self.storage(tensor);
        // SAFETY: `take` has checked that the location is within the storage. No other view of these bytes
        // is out, nor will be while this call runs: inputs that overlap were copied, and other outputs
        // that overlap are refused.
        let data = unsafe {
            match storage {
                Storage::Host(host) => host.bytes_mut(tensor.offset, tensor.len()),
                // `take` has refused it.
                Storage::Device(_) => std::hint::unreachable_unchecked(),
            }
        };
        TensorViewMut::trusted(tensor.dtype, tensor.sizes(), &tensor.dim_order, data)
    }

    /// Moves an output that was a view back to its planned location.
    #[cold]
    fn send_home(&self, id: TensorId) -> Result<()> {
        // SAFETY: no view of this tensor is out: it has not been taken, and it is not an input
        // (checked next, before anything is written).
        let tensor = unsafe { &mut *self.frame.tensor_cell(id).get() };
        tensor.go_home();
        let tensor = self.peek(id);
        for position in (0..self.access.reads).filter(|&position| !self.is_written(position)) {
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
        for &position in self.access.writes {
            self.for_each_tensor(usize::from(position), |other| {
                let output = self.peek(other);
                ensure!(
                    other == id
                        || output.taken_in != self.frame.call()
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
    pub(super) fn peek(&self, id: TensorId) -> &TensorSlot {
        // SAFETY: a tensor is only changed in `take` and `alias`, which have it for themselves for
        // that moment; shapes that are lent out do not change after that.
        unsafe { &*self.frame.tensor_cell(id).get() }
    }

    #[inline]
    pub(super) fn storage(&self, tensor: &TensorSlot) -> &Storage {
        // SAFETY: a storage is only changed in `take`, for the moment of growing.
        unsafe { &*self.frame.storage_cell(tensor.storage).get() }
    }
}
