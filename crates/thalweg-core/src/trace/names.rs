//! What a method's instructions are called in a trace.

use crate::link::LinkedMethod;
use crate::plan::{MethodPlan, Step};

/// The names of a method, which outlive it: a trace keeps no delegate, nor anything of a device.
pub(crate) struct Names {
    pub(super) method: String,
    steps: Vec<StepName>,
}

/// What there is to say of an instruction.
struct StepName {
    name: String,
    /// How it runs.
    how: String,
    delegate: Option<OfDelegate>,
}

/// What there is to say of a delegate.
pub(super) struct OfDelegate {
    pub(super) index: usize,
    pub(super) backend: String,
}

impl Names {
    pub(crate) fn new(linked: &LinkedMethod) -> Self {
        let plan: &MethodPlan = &linked.plan;
        let schedule = linked.schedule();
        let steps = plan.steps.iter().zip(schedule.steps);
        let steps = steps.map(|(step, scheduled)| {
            let delegate = match step {
                Step::Delegate { delegate, .. } => Some(*delegate as usize),
                _ => None,
            };
            let own = delegate.and_then(|index| linked.delegates[index].name());
            StepName {
                name: own.map_or(scheduled.name, String::from),
                how: scheduled.how.to_string(),
                delegate: delegate.map(|index| OfDelegate {
                    index,
                    backend: plan.delegates[index].backend.clone(),
                }),
            }
        });
        Self {
            method: plan.name.clone(),
            steps: steps.collect(),
        }
    }

    /// An instruction's operator, or its delegate's name, or what it is.
    pub(super) fn step(&self, index: usize) -> &str {
        let step = self.steps.get(index);
        step.map_or("the end of the call", |step| &step.name)
    }

    /// How an instruction runs.
    pub(super) fn how(&self, index: usize) -> Option<&str> {
        self.steps.get(index).map(|step| &*step.how)
    }

    /// The delegate that an instruction calls.
    pub(super) fn delegate(&self, index: usize) -> Option<&OfDelegate> {
        self.steps.get(index)?.delegate.as_ref()
    }

    /// Whether an instruction calls a delegate.
    pub(crate) fn is_delegate(&self, index: usize) -> bool {
        self.delegate(index).is_some()
    }
}
