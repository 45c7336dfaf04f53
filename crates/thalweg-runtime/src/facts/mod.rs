//! The facts of a plan that passes need: each is found once for a version of the plan.

mod accesses;
mod disjoint;
mod region;
mod statics;
mod views;
mod written;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use thalweg_core::{Kernel, ValueId};

pub(crate) use accesses::{Accesses, TensorAccess, read_by};
pub(crate) use disjoint::Moving;
pub(crate) use region::Region;
pub(crate) use statics::static_shapes;
pub(crate) use views::device_of;
pub(crate) use written::Written;

use crate::plan::{MethodPlan, Step};

/// A version of a plan, with its kernels, and its facts. Each fact is found when something first needs
/// it. A plan that a pass has changed is another version, with facts of its own.
pub(crate) struct Facts {
    plan: Arc<MethodPlan>,
    kernels: Arc<[Kernel]>,
    jumps: OnceCell<bool>,
    accesses: OnceCell<Accesses>,
    written: OnceCell<Written>,
    views: OnceCell<Vec<ValueId>>,
    replaced: OnceCell<HashSet<ValueId>>,
    fixed_lists: OnceCell<HashMap<ValueId, Arc<[i64]>>>,
}

impl Facts {
    /// The facts of a plan. `kernels` are those of its operators.
    pub(crate) fn new(plan: Arc<MethodPlan>, kernels: Arc<[Kernel]>) -> Self {
        Self {
            plan,
            kernels,
            jumps: OnceCell::new(),
            accesses: OnceCell::new(),
            written: OnceCell::new(),
            views: OnceCell::new(),
            replaced: OnceCell::new(),
            fixed_lists: OnceCell::new(),
        }
    }

    /// The plan.
    pub(crate) fn plan(&self) -> &Arc<MethodPlan> {
        &self.plan
    }

    /// The kernels, by index of the plan's operators.
    pub(crate) fn kernels(&self) -> &Arc<[Kernel]> {
        &self.kernels
    }

    /// The kernel of the plan's operator with an index.
    pub(crate) fn kernel(&self, operator: u32) -> &Kernel {
        &self.kernels[operator as usize]
    }

    /// True if the method jumps. Then it is not known what was written before what is read.
    pub(crate) fn jumps(&self) -> bool {
        let jumps = |step: &Step| matches!(step, Step::JumpIfFalse { .. });
        *self.jumps.get_or_init(|| self.plan.steps.iter().any(jumps))
    }

    /// The tensors that instructions read and write.
    pub(crate) fn accesses(&self) -> &Accesses {
        self.accesses
            .get_or_init(|| Accesses::find(&self.plan, &self.kernels))
    }

    /// The values that instructions may change.
    pub(crate) fn written(&self) -> &Written {
        self.written
            .get_or_init(|| Written::find(&self.plan, &self.kernels))
    }

    /// The values that instructions make views of others.
    pub(crate) fn views(&self) -> &[ValueId] {
        self.views
            .get_or_init(|| views::views(&self.plan, &self.kernels))
    }

    /// The values that are other tensors, or elsewhere, at another time: what is moved to, and views.
    pub(crate) fn replaced(&self) -> &HashSet<ValueId> {
        self.replaced.get_or_init(|| {
            let moved = self.plan.steps.iter().filter_map(|step| match step {
                Step::Move { to, .. } => Some(*to),
                _ => None,
            });
            moved.chain(self.views().iter().copied()).collect()
        })
    }

    /// The lists of integers of which none changes. They are looked up once; others at every use.
    pub(crate) fn fixed_lists(&self) -> &HashMap<ValueId, Arc<[i64]>> {
        self.fixed_lists
            .get_or_init(|| written::fixed_lists(&self.plan, self.written()))
    }
}
