//! The values of a graph as values of the plan.

use std::collections::{HashMap, HashSet};

use thalweg_core::engine::{StorageId, TensorId};
use thalweg_core::{
    Error, NodeValue, NodeValueId, Result, Scalar, SharedBytes, Subgraph, TensorSpec, ValueId,
    bail, ensure,
};
use thalweg_format::ShapeDynamism;

use super::GraphCall;
use crate::facts::device_of;
use crate::plan::{DataSource, MethodPlan, PlannedStorage, PlannedTensor, PlannedValue};

/// The number of values of the plan that a graph has at most.
pub(super) fn count(graph: &Subgraph) -> usize {
    let count = |value: &NodeValue| match value {
        NodeValue::IntList(list) => list.len() + 1,
        NodeValue::DoubleList(list) => list.len() + 1,
        NodeValue::BoolList(list) => list.len() + 1,
        NodeValue::TensorList(list) => list.len() + 1,
        _ => 1,
    };
    graph.values().iter().map(count).sum()
}

/// The values of a graph as values of the plan, for one instruction that calls it.
pub(super) struct GraphValues<'g> {
    graph: &'g Subgraph,
    /// By [`NodeValueId`].
    values: Vec<ValueId>,
    /// Tensors of the graph, with their indices among its values.
    intermediates: HashMap<TensorId, usize>,
    constants: HashMap<TensorId, usize>,
    /// Intermediates that nodes so far have written.
    written: HashSet<TensorId>,
}

impl<'g> GraphValues<'g> {
    /// Adds the values to the plan. `shared` are those of another instruction that calls the graph.
    ///
    /// # Errors
    /// If a value is not sound.
    pub(super) fn add(
        plan: &mut MethodPlan,
        call: &GraphCall<'g>,
        shared: Vec<Option<ValueId>>,
    ) -> Result<Self> {
        let mut values = Self {
            graph: call.graph,
            values: Vec::new(),
            intermediates: HashMap::new(),
            constants: HashMap::new(),
            written: HashSet::new(),
        };
        for (index, value) in call.graph.values().iter().enumerate() {
            let before = shared.get(index).copied().flatten();
            let added = match before {
                Some(id) => Ok(id),
                None => values.value(plan, call, value),
            };
            let added = added.map_err(|error| {
                let message = format!("value {index} of the graph: {}", error.message());
                Error::new(error.kind(), message)
            })?;
            if let PlannedValue::Tensor(id) = plan.values[added.index()] {
                match value {
                    NodeValue::Intermediate(_) => values.intermediates.insert(id, index),
                    NodeValue::Constant(..) => values.constants.insert(id, index),
                    _ => None,
                };
            }
            values.values.push(added);
        }
        Ok(values)
    }

    fn value(
        &self,
        plan: &mut MethodPlan,
        call: &GraphCall<'_>,
        value: &NodeValue,
    ) -> Result<ValueId> {
        let planned = match value {
            NodeValue::Argument(position) => return argument(plan, call, *position),
            NodeValue::Intermediate(spec) => {
                let storage = plan.add_storage(PlannedStorage::Unplanned);
                tensor(plan, spec, storage)?
            }
            NodeValue::Constant(spec, data) => constant(plan, spec, data)?,
            NodeValue::Scalar(value) => PlannedValue::Scalar(*value),
            NodeValue::String(value) => PlannedValue::String(value.clone()),
            NodeValue::IntList(list) => {
                let ints = list
                    .iter()
                    .map(|&int| add(plan, PlannedValue::Scalar(Some(Scalar::Int(int)))));
                PlannedValue::IntList(ints.collect())
            }
            NodeValue::DoubleList(list) => PlannedValue::DoubleList(list.clone()),
            NodeValue::BoolList(list) => PlannedValue::BoolList(list.clone()),
            NodeValue::TensorList(list) => {
                let entry =
                    |id: &Option<NodeValueId>| id.map(|id| self.entry(plan, id)).transpose();
                let entries = list.iter().map(entry);
                PlannedValue::TensorList(entries.collect::<Result<_>>()?)
            }
            _ => bail!(
                Unsupported,
                "a kind of value that this runtime does not know"
            ),
        };
        Ok(add(plan, planned))
    }

    /// An entry of a list of tensors.
    fn entry(&self, plan: &MethodPlan, id: NodeValueId) -> Result<ValueId> {
        let value = self.get(id)?;
        ensure!(
            matches!(plan.values[value.index()], PlannedValue::Tensor(_)),
            InvalidProgram,
            "value {} in a list of tensors is no tensor",
            id.index()
        );
        Ok(value)
    }

    /// The value of the plan with this id in the graph.
    ///
    /// # Errors
    /// If it is not there yet.
    pub(super) fn get(&self, id: NodeValueId) -> Result<ValueId> {
        match self.values.get(id.index()) {
            Some(&value) => Ok(value),
            None => bail!(
                InvalidProgram,
                "value {} is used before it is defined",
                id.index()
            ),
        }
    }

    /// Checks that a tensor that a node reads has a value.
    ///
    /// # Errors
    /// If it is an intermediate that no node has written.
    pub(super) fn check_read(&self, id: TensorId) -> Result<()> {
        match self.intermediates.get(&id) {
            Some(index) if !self.written.contains(&id) => bail!(
                InvalidProgram,
                "value {index} of the graph is read before a node writes it"
            ),
            _ => Ok(()),
        }
    }

    /// Notes that a node writes a tensor.
    ///
    /// # Errors
    /// If it is a constant.
    pub(super) fn write(&mut self, id: TensorId) -> Result<()> {
        if let Some(index) = self.constants.get(&id) {
            bail!(
                InvalidProgram,
                "value {index} of the graph is a constant, and a node writes it"
            );
        }
        self.written.insert(id);
        Ok(())
    }

    /// Returns true if a tensor is an intermediate of the graph.
    pub(super) fn is_intermediate(&self, id: TensorId) -> bool {
        self.intermediates.contains_key(&id)
    }

    /// The values that another instruction can have in common with this one: those that are nothing
    /// of one call.
    pub(super) fn into_shared(self) -> Vec<Option<ValueId>> {
        let values = self.graph.values().iter().zip(self.values);
        let shared = values.map(|(value, id)| match value {
            NodeValue::Argument(_) | NodeValue::Intermediate(_) | NodeValue::TensorList(_) => None,
            _ => Some(id),
        });
        shared.collect()
    }
}

fn add(plan: &mut MethodPlan, value: PlannedValue) -> ValueId {
    plan.values.push(value);
    ValueId::new(plan.values.len() as u32 - 1)
}

/// An argument of the instruction, which has to be on the host.
fn argument(plan: &MethodPlan, call: &GraphCall<'_>, position: usize) -> Result<ValueId> {
    let Some(&value) = call.arguments.get(position) else {
        bail!(
            InvalidProgram,
            "it is argument {position}, and the instruction has {}",
            call.arguments.len()
        );
    };
    let entries = match &plan.values[value.index()] {
        PlannedValue::TensorList(list) => &list[..],
        _ => &[],
    };
    let mut values = entries.iter().flatten().copied().chain([value]);
    if let Some(device) = values.find_map(|value| device_of(plan, value)) {
        bail!(
            Unsupported,
            "argument {position} is on {device}, and graphs of operators run on the host"
        );
    }
    Ok(value)
}

fn tensor(plan: &mut MethodPlan, spec: &TensorSpec, storage: StorageId) -> Result<PlannedValue> {
    spec.check()?;
    plan.tensors.push(PlannedTensor {
        spec: spec.clone(),
        storage,
        offset: 0,
        initial: None,
    });
    Ok(PlannedValue::Tensor(TensorId(
        plan.tensors.len() as u32 - 1,
    )))
}

fn constant(plan: &mut MethodPlan, spec: &TensorSpec, data: &SharedBytes) -> Result<PlannedValue> {
    ensure!(
        spec.dynamism == ShapeDynamism::Static,
        InvalidProgram,
        "a constant has a shape that changes"
    );
    ensure!(
        data.len() == spec.capacity,
        InvalidProgram,
        "a constant of {} bytes has {} bytes of data",
        spec.capacity,
        data.len()
    );
    let storage = plan.add_storage(PlannedStorage::Constant {
        data: DataSource::Shared(data.clone()),
        bytes: spec.capacity,
        align: spec.dtype.align(),
    });
    tensor(plan, spec, storage)
}
