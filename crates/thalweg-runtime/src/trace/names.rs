//! The names of a method's instructions in traces.

/// The names of a method's instructions. They outlive the method: a trace keeps no delegate, nor
/// anything of a device.
pub(crate) struct InstructionNames {
    pub(super) method: String,
    steps: Vec<StepName>,
}

/// The name of an instruction.
pub(crate) struct StepName {
    pub(crate) name: String,
    /// How it runs.
    pub(crate) how: String,
    /// The index and the backend of the delegate that it calls.
    pub(crate) delegate: Option<(usize, String)>,
}

impl InstructionNames {
    pub(crate) fn new(method: &str, steps: Vec<StepName>) -> Self {
        Self {
            method: method.into(),
            steps,
        }
    }

    /// An instruction's operator, or its delegate's name, or its kind.
    pub(super) fn step(&self, index: usize) -> &str {
        let step = self.steps.get(index);
        step.map_or("the end of the call", |step| &step.name)
    }

    /// How an instruction runs.
    pub(super) fn how(&self, index: usize) -> Option<&str> {
        self.steps.get(index).map(|step| &*step.how)
    }

    /// The index and the backend of the delegate that an instruction calls.
    pub(super) fn delegate(&self, index: usize) -> Option<(usize, &str)> {
        let (index, backend) = self.steps.get(index)?.delegate.as_ref()?;
        Some((*index, backend))
    }

    /// True if an instruction calls a delegate.
    pub(super) fn is_delegate(&self, index: usize) -> bool {
        self.delegate(index).is_some()
    }
}
