//! Regions of storages.

use std::ops::Range;

use thalweg_core::engine::{StorageId, TensorId};

use crate::plan::{MethodPlan, PlannedTensor};

/// A range of bytes of a storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Region {
    pub(crate) storage: StorageId,
    pub(crate) bytes: Range<usize>,
}

impl Region {
    /// The planned region of a tensor, as large as it may become.
    pub(crate) fn of(tensor: &PlannedTensor) -> Self {
        Self {
            storage: tensor.storage,
            bytes: tensor.offset..tensor.offset.saturating_add(tensor.capacity),
        }
    }

    /// The planned region of the tensor with this id.
    pub(crate) fn planned(plan: &MethodPlan, id: TensorId) -> Self {
        Self::of(&plan.tensors[id.0 as usize])
    }

    /// Returns true if the two share memory. An empty region overlaps one that it lies inside of.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.storage == other.storage
            && self.bytes.start < other.bytes.end
            && other.bytes.start < self.bytes.end
    }

    /// Returns true if all of the other region is a part of this one.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.storage == other.storage
            && self.bytes.start <= other.bytes.start
            && other.bytes.end <= self.bytes.end
    }

    /// The part that this region has in common with one that it overlaps.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        Self {
            storage: self.storage,
            bytes: self.bytes.start.max(other.bytes.start)..self.bytes.end.min(other.bytes.end),
        }
    }
}
