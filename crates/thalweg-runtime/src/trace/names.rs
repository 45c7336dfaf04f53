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
    /// Its index among the program's instructions.
    pub(crate) instruction: usize,
    /// The node of a delegate that it is, and that delegate's index and backend.
    pub(crate) node: Option<(String, usize, String)>,
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

    /// The index among the program's instructions.
    pub(super) fn instruction(&self, index: usize) -> usize {
        let step = self.steps.get(index).map(|step| step.instruction);
        // The end of the call comes after the last one.
        step.unwrap_or_else(|| self.steps.last().map_or(0, |last| last.instruction + 1))
    }

    /// The node of a delegate that an instruction is, and the index and the backend of that delegate.
    pub(super) fn node(&self, index: usize) -> Option<(&str, usize, &str)> {
        let (node, delegate, backend) = self.steps.get(index)?.node.as_ref()?;
        Some((node, *delegate, backend))
    }

    /// True if an instruction calls a delegate.
    pub(super) fn is_delegate(&self, index: usize) -> bool {
        self.delegate(index).is_some()
    }
}
