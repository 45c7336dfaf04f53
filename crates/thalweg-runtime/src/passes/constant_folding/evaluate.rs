//! Evaluation of a kernel whose arguments are constants.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use thalweg_core::engine::{
    Block, Frame, KernelContext, Overlap, Scratch, Slot, Storage, StorageId, TensorId, TensorSlot,
};
use thalweg_core::{Kernel, Result, ValueId};

use super::Folding;
use crate::plan::{PlannedStorage, PlannedValue};

impl Folding<'_> {
    /// The tensor that a kernel writes. `None` if it fails, which it then does when it is called.
    pub(super) fn evaluate(
        &self,
        kernel: &Kernel,
        arguments: &[ValueId],
        target: TensorId,
    ) -> Result<Option<Block>> {
        let mut call = CallFrame::default();
        let mut ids = Vec::new();
        for &value in arguments {
            ids.push(call.value(self, value, target)?);
        }
        let mut frame = Frame::new(call.slots, call.tensors, call.storages)?;
        let mut scratch = Scratch::new();
        let context = KernelContext::on_threads(self.threads);
        let ran = panic::catch_unwind(AssertUnwindSafe(|| {
            kernel.run(&mut frame, &mut scratch, &ids, Overlap::Possible, context)
        }));
        let (Ok(Ok(())), Some(written)) = (ran, call.target) else {
            return Ok(None);
        };
        let view = frame.view(written)?;
        let planned = &self.plan.tensors[target.0 as usize];
        if *view.sizes() != *planned.sizes {
            return Ok(None);
        }
        Block::copy_of(view.bytes()).map(Some)
    }
}

/// The frame of one call, with values of its own.
#[derive(Default)]
struct CallFrame {
    slots: Vec<Slot>,
    tensors: Vec<TensorSlot>,
    storages: Vec<Storage>,
    target: Option<TensorId>,
}

impl CallFrame {
    fn value(
        &mut self,
        folding: &Folding<'_>,
        value: ValueId,
        target: TensorId,
    ) -> Result<ValueId> {
        let slot = match &folding.plan.values[value.index()] {
            PlannedValue::Scalar(value) => Slot::Scalar(std::cell::Cell::new(*value)),
            PlannedValue::String(value) => Slot::String(value.clone()),
            PlannedValue::DoubleList(list) => Slot::DoubleList(list.clone()),
            PlannedValue::BoolList(list) => Slot::BoolList(list.clone()),
            PlannedValue::IntList(list) => {
                let int = |id: &ValueId| match &folding.plan.values[id.index()] {
                    PlannedValue::Scalar(Some(value)) => Some(value.to_i64()),
                    _ => None,
                };
                match list.iter().map(int).collect::<Option<Vec<_>>>() {
                    Some(ints) => Slot::Ints(ints.into()),
                    None => Slot::Scalar(std::cell::Cell::new(None)),
                }
            }
            PlannedValue::TensorList(list) => {
                let mut ids = Vec::new();
                for entry in list.iter() {
                    ids.push(match entry {
                        Some(value) => Some(self.value(folding, *value, target)?),
                        None => None,
                    });
                }
                Slot::TensorList(ids.into())
            }
            PlannedValue::Tensor(id) => self.tensor(folding, *id, target)?,
        };
        self.slots.push(slot);
        Ok(ValueId::new(self.slots.len() as u32 - 1))
    }

    fn tensor(&mut self, folding: &Folding<'_>, id: TensorId, target: TensorId) -> Result<Slot> {
        if id == target
            && let Some(there) = self.target
        {
            return Ok(Slot::Tensor(there));
        }
        let plan = folding.now();
        let planned = &plan.tensors[id.0 as usize];
        let storage = match &plan.storages[planned.storage.0 as usize] {
            _ if id == target => Storage::planned(Block::zeroed(planned.capacity)?),
            PlannedStorage::Constant { data, bytes, align } => {
                let found = folding.sources.bytes(data, *bytes)?;
                if found.as_ptr().addr().is_multiple_of(*align) {
                    Storage::file(found.file(), &found.range())?
                } else {
                    Storage::constant(Arc::new(Block::copy_of(&found)?))
                }
            }
            // Nothing else is a constant.
            _ => Storage::growing()?,
        };
        self.storages.push(storage);
        let place = StorageId(self.storages.len() as u32 - 1);
        let offset = if id == target { 0 } else { planned.offset };
        let slot = TensorSlot::new(&planned.spec, (place, offset), false)?;
        self.tensors.push(slot);
        let there = TensorId(self.tensors.len() as u32 - 1);
        if id == target {
            self.target = Some(there);
        }
        Ok(Slot::Tensor(there))
    }
}
