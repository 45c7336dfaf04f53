//! A method on its way through the passes.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use thalweg_core::engine::StorageId;
use thalweg_core::{Delegate, Device, Kernel, KernelRegistry, Prepacked, Subgraph, Tracer};

use crate::facts::{Facts, Moving};
use crate::plan::MethodPlan;
use crate::schedule::{Execution, Places};
use crate::sources::Sources;
use crate::storages::LinkedStorage;

/// A method on its way through the passes: the plan of the moment, and what passes have decided.
pub(crate) struct Lowering<'a> {
    pub(crate) resources: Resources<'a>,
    facts: Rc<Facts>,
    /// The number of tensors that have their channels last, though the program plans them first.
    pub(crate) reordered: usize,
    /// By instruction, the prepacked arguments of fused ones.
    pub(crate) fused: HashMap<usize, Prepacked>,
    /// Tensors that may become views of others, and values that may become others.
    pub(crate) moving: Moving,
    /// By instruction, how it runs.
    pub(crate) executions: Vec<Execution>,
    /// The locations of tensors on devices, where they are not as planned.
    pub(crate) places: Places,
    /// For each input, the storage through which the caller's memory is used.
    pub(crate) lends: Vec<Option<StorageId>>,
    /// By [`StorageId`].
    pub(crate) storages: Vec<LinkedStorage>,
    /// By instruction, its prepacked arguments.
    pub(crate) prepacked: Vec<Option<Prepacked>>,
    /// By instruction, the outputs that nothing reads, as bits.
    pub(crate) unread: Vec<u64>,
}

/// The resources of passes. None of them changes any.
#[derive(Clone, Copy)]
pub(crate) struct Resources<'a> {
    pub(crate) sources: &'a Sources<'a>,
    /// The devices that the method has memory on.
    pub(crate) devices: &'a [Arc<dyn Device>],
    /// By index of the plan's delegates.
    pub(crate) delegates: &'a [Arc<dyn Delegate>],
    /// By index of the plan's delegates, those that are graphs.
    pub(crate) graphs: &'a [Option<Subgraph>],
    /// All operators of the runtime.
    pub(crate) registry: &'a KernelRegistry,
    /// The number of threads that operators may use.
    pub(crate) threads: usize,
    /// The bytes of host memory that the plan may ask for.
    pub(crate) memory_limit: usize,
    pub(crate) tracer: Tracer<'a>,
}

impl<'a> Lowering<'a> {
    /// A plan before all passes.
    pub(crate) fn new(facts: Facts, resources: Resources<'a>) -> Self {
        Self {
            resources,
            facts: Rc::new(facts),
            reordered: 0,
            fused: HashMap::new(),
            moving: Moving::default(),
            executions: Vec::new(),
            places: Places::default(),
            lends: Vec::new(),
            storages: Vec::new(),
            prepacked: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// The plan of the moment, with its facts.
    pub(crate) fn facts(&self) -> Rc<Facts> {
        self.facts.clone()
    }

    /// Changes the plan. The facts of the plan before are not those of the changed one.
    pub(crate) fn change(&mut self, plan: MethodPlan) {
        self.change_operators(plan, self.facts.kernels().clone());
    }

    /// Changes the plan to one of more operators.
    pub(crate) fn change_operators(&mut self, plan: MethodPlan, kernels: Arc<[Kernel]>) {
        self.facts = Rc::new(Facts::new(Arc::new(plan), kernels));
    }

    /// The bytes of host memory that a pass may add to the plan.
    pub(crate) fn spare_memory(&self) -> usize {
        let planned = self.facts.plan().arena_bytes();
        self.resources.memory_limit.saturating_sub(planned)
    }
}
