//! The data that a plan refers to, in its file and in data files.

use thalweg_core::engine::{NamedData, TensorId};
use thalweg_core::{Result, SharedBytes, bail};

use crate::data::ProgramData;
use crate::plan::{DataSource, MethodPlan, PlannedStorage};

/// The files that have the data of a plan, which is all there.
pub(crate) struct Sources<'a>(&'a ProgramData);

impl<'a> Sources<'a> {
    /// An error that names all data that is missing at once.
    pub(crate) fn find(plan: &MethodPlan, data: &'a ProgramData) -> Result<Self> {
        let of_storages = plan.storages.iter().filter_map(|storage| match storage {
            PlannedStorage::Constant { data, .. } => Some(data),
            PlannedStorage::State { initial, .. } => initial.as_ref(),
            _ => None,
        });
        let of_tensors = plan
            .tensors
            .iter()
            .filter_map(|tensor| tensor.initial.as_ref());
        let mut missing: Vec<&str> = of_storages
            .chain(of_tensors)
            .filter_map(|source| match source {
                DataSource::External(name) if data.find(name).is_none() => Some(&**name),
                _ => None,
            })
            .collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            return Err(data.missing(&missing));
        }
        Ok(Self(data))
    }

    pub(crate) fn bytes(&self, source: &DataSource, len: usize) -> Result<SharedBytes> {
        let found = match source {
            DataSource::File(range) => SharedBytes::new(self.0.program(), range.clone()),
            DataSource::External(name) => match self.0.find(name) {
                Some(found) => Some(found),
                None => return Err(self.0.missing(&[name])),
            },
            DataSource::Shared(bytes) => Some(bytes.clone()),
        };
        let size = found.as_ref().map_or(0, |found| found.len());
        match found.and_then(|found| found.first(len)) {
            Some(found) => Ok(found),
            None => bail!(
                InvalidProgram,
                "a tensor needs {len} bytes of data, but {} has {size}",
                match source {
                    DataSource::File(_) | DataSource::Shared(_) => "the program".to_string(),
                    DataSource::External(name) => format!("`{name}` in the data file"),
                }
            ),
        }
    }

    pub(crate) fn initial(&self, plan: &MethodPlan) -> Result<Vec<(TensorId, SharedBytes)>> {
        let mut initial = Vec::new();
        for (index, tensor) in plan.tensors.iter().enumerate() {
            if let Some(source) = &tensor.initial {
                initial.push((TensorId(index as u32), self.bytes(source, tensor.capacity)?));
            }
        }
        Ok(initial)
    }
}
