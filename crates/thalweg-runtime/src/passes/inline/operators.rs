//! The operators of a method and of the graphs in it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use thalweg_core::{Kernel, KernelRegistry, Result, Subgraph, bail};

use crate::missing::Missing;
use crate::plan::{MethodPlan, NodeOrigin};

/// The operators of a method and of the graphs in it, with their kernels.
pub(super) struct Operators {
    names: Vec<String>,
    kernels: Vec<Kernel>,
    indices: HashMap<String, u32>,
}

impl Operators {
    /// Finds the kernels of all nodes. The plan's own operators keep their indices.
    ///
    /// # Errors
    /// Names all operators at once that the runtime lacks, and a node of each.
    pub(super) fn find(
        plan: &MethodPlan,
        kernels: &[Kernel],
        graphs: &[Option<Subgraph>],
        registry: &KernelRegistry,
    ) -> Result<Self> {
        let indices = plan.operators.iter().cloned().zip(0..);
        let mut operators = Self {
            names: plan.operators.clone(),
            kernels: kernels.to_vec(),
            indices: indices.collect(),
        };
        let mut missing: BTreeMap<&str, String> = BTreeMap::new();
        for (delegate, graph) in (0..).zip(graphs) {
            let nodes = graph.iter().flat_map(Subgraph::nodes);
            for (index, node) in (0..).zip(nodes) {
                if operators.indices.contains_key(&node.operator) {
                    continue;
                }
                let Some(kernel) = registry.get(&node.operator) else {
                    let name = node.name.as_deref().map(Into::into);
                    let origin = NodeOrigin {
                        delegate,
                        node: index,
                        name,
                    };
                    let delegate = plan.delegate_name(delegate);
                    let reason = format!("{}: {} of {delegate}", node.operator, origin.describe());
                    missing.entry(&node.operator).or_insert(reason);
                    continue;
                };
                operators.add(&node.operator, kernel);
            }
        }
        if missing.is_empty() {
            return Ok(operators);
        }
        let names = missing.keys().map(|&name| name.to_string()).collect();
        let reasons = missing.into_values().collect();
        Err(Missing::operators(names, reasons).into_error())
    }

    fn add(&mut self, name: &str, kernel: &Kernel) {
        let index = self.names.len() as u32;
        self.indices.insert(name.to_string(), index);
        self.names.push(name.to_string());
        self.kernels.push(kernel.clone());
    }

    /// The index of an operator.
    pub(super) fn index(&self, name: &str) -> Result<u32> {
        match self.indices.get(name) {
            Some(&index) => Ok(index),
            None => bail!(Internal, "the operator {name} was not looked up"),
        }
    }

    /// The kernel of an operator.
    pub(super) fn kernel(&self, index: u32) -> &Kernel {
        &self.kernels[index as usize]
    }

    /// All kernels, by index.
    pub(super) fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// All names and all kernels, by index.
    pub(super) fn finish(self) -> (Vec<String>, Arc<[Kernel]>) {
        (self.names, self.kernels.into())
    }
}
