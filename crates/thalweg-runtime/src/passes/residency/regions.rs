//! Where values lie, as the program planned it.

use thalweg_core::ValueId;
use thalweg_core::engine::{StorageId, TensorId};
use thalweg_format::ShapeDynamism;

use super::analysis::ResidencyAnalysis;
use super::device_heap::Part;
use crate::facts::Region;
use crate::plan::{PlannedStorage, PlannedTensor, PlannedValue};

impl ResidencyAnalysis<'_> {
    pub(super) fn region(&self, value: ValueId) -> Option<Region> {
        self.region_of(self.tensor(value)?)
    }

    /// The host memory of a tensor, as large as it may become.
    pub(super) fn region_of(&self, id: TensorId) -> Option<Region> {
        match self.regions.get(&id) {
            Some(region) => Some(region.clone()),
            None => self.planned_region(id),
        }
    }

    pub(super) fn planned_region(&self, id: TensorId) -> Option<Region> {
        let tensor = &self.plan.tensors[id.0 as usize];
        // What is not planned is a storage by itself, of any size.
        let bytes = match self.plan.storages[tensor.storage.0 as usize] {
            PlannedStorage::Unplanned => 0..tensor.capacity.max(1),
            _ => tensor.offset..tensor.offset.checked_add(tensor.capacity)?,
        };
        Some(Region {
            storage: tensor.storage,
            bytes,
        })
    }

    pub(super) fn tensor(&self, value: ValueId) -> Option<TensorId> {
        match self.plan.values[value.index()] {
            PlannedValue::Tensor(id) => Some(id),
            _ => None,
        }
    }

    /// The memory of a tensor on a device that was written before.
    pub(super) fn part(&mut self, value: ValueId) -> Option<Part> {
        let id = self.tensor(value)?;
        self.check_fresh(id)?;
        self.tensors.get(&id).copied()
    }

    /// A tensor that is written for the first time. Exported programs write each once.
    pub(super) fn undefined(&mut self, value: ValueId) -> Option<TensorId> {
        let id = self.tensor(value)?;
        self.check_fresh(id)?;
        (!self.tensors.contains_key(&id)).then_some(id)
    }

    pub(super) fn check_fresh(&mut self, id: TensorId) -> Option<()> {
        if let Some((_, blame)) = self.stale.get(&id) {
            self.blame = Some(blame.clone());
            return None;
        }
        Some(())
    }

    /// Whether two tensors have the same type, room, and logical order of dimensions.
    pub(super) fn same_in_order(&self, a: ValueId, b: ValueId) -> Option<bool> {
        let tensor = |value| Some(&self.plan.tensors[self.tensor(value)?.0 as usize]);
        let (a, b) = (tensor(a)?, tensor(b)?);
        let in_order = |order: &[u8]| order.iter().map(|&dim| usize::from(dim)).eq(0..order.len());
        let known = |tensor: &PlannedTensor| tensor.dynamism != ShapeDynamism::DynamicUnbound;
        Some(
            a.dtype == b.dtype
                && a.capacity == b.capacity
                && a.sizes == b.sizes
                && known(a)
                && known(b)
                && in_order(&a.dim_order)
                && in_order(&b.dim_order),
        )
    }

    /// An arena that the program has on a device.
    pub(super) fn arena_on(&self, device: usize) -> Option<StorageId> {
        let id = self.devices[device].id();
        let on_it = |storage: &PlannedStorage| matches!(storage, PlannedStorage::Arena { device, .. } if *device == id);
        let index = self.plan.storages.iter().position(on_it)?;
        Some(StorageId(index as u32))
    }

    pub(super) fn is_static(&self, value: ValueId) -> Option<bool> {
        let tensor = &self.plan.tensors[self.tensor(value)?.0 as usize];
        Some(tensor.dynamism == ShapeDynamism::Static)
    }

    /// Whether a tensor's memory on the host is there before anything is written to it.
    pub(super) fn is_planned(&self, value: ValueId) -> Option<bool> {
        let storage = self.region(value)?.storage;
        let storage = &self.plan.storages[storage.0 as usize];
        Some(!matches!(storage, PlannedStorage::Unplanned))
    }

    pub(super) fn is_moving(&self, region: &Region) -> bool {
        self.moving.iter().any(|moving| moving.overlaps(region))
    }

    /// `None` unless two tensors have the same type, order and room, so that one can stand for the
    /// other.
    pub(super) fn same_layout(&self, a: ValueId, b: ValueId) -> Option<()> {
        let tensor = |value| Some(&self.plan.tensors[self.tensor(value)?.0 as usize]);
        let (a, b) = (tensor(a)?, tensor(b)?);
        // What is not planned has no room of its own yet.
        let room = a.capacity == b.capacity || a.capacity == 0 || b.capacity == 0;
        (a.dtype == b.dtype && a.dim_order == b.dim_order && room).then_some(())
    }
}
