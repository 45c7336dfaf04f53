//! Method instances, and their calls.

mod deferral;
mod delegate_devices;
mod execute;
mod inputs;
mod instance;
mod outputs;
mod run;
mod traced;

use std::fmt;
use std::sync::Arc;

use thalweg_core::engine::Category;
use thalweg_core::{Input, Result};

pub use outputs::Outputs;

use self::instance::Instance;
use crate::info::MethodInfo;
use crate::link::LinkedMethod;
use crate::options::{MethodOptions, RunOptions};
use crate::state::State;
use crate::trace::Trace;

/// An instance of a method: its memory, its delegates, its mutable buffers.
///
/// # One call at a time
/// [`run`](Method::run) takes `&mut self`, because an instance's memory serves one call at a
/// time, and outputs are borrowed from it. For calls at the same time take several instances from
/// the [`Program`](crate::Program); they share everything that does not change, so an instance
/// costs the memory that its calls compute in and nothing else.
pub struct Method {
    state: State,
    instance: Instance,
}

impl Method {
    pub(crate) fn new(
        linked: Arc<LinkedMethod>,
        options: &MethodOptions,
        threads: usize,
    ) -> Result<Self> {
        let tracer = Trace::tracer_of(options.trace.as_ref());
        let _span = tracer.begin(Category::Load, "make an instance");
        let state = options.state.clone().unwrap_or_default();
        let instance = Instance::new(linked, &state, threads, tracer)?;
        Ok(Self { state, instance })
    }

    /// Runs the method.
    ///
    /// Inputs are given in the program's order, one for each leaf of what the exported module
    /// takes. Outputs are borrowed from the method until its next call; those that the program
    /// passes through unchanged are borrowed from the inputs.
    ///
    /// # Errors
    /// If an input does not fit, or an instruction fails. The method can be called again after
    /// any error; mutable buffers may have been written in part.
    pub fn run<'m>(&'m mut self, inputs: &[Input<'m>]) -> Result<Outputs<'m>> {
        self.run_with(inputs, &RunOptions::default())
    }

    /// Runs the method, with options for this call.
    ///
    /// # Errors
    /// As for [`Method::run`].
    pub fn run_with<'m>(
        &'m mut self,
        inputs: &[Input<'m>],
        options: &RunOptions<'_>,
    ) -> Result<Outputs<'m>> {
        let span = options.trace.map(|trace| {
            let name = self.name().to_string();
            trace.tracer().begin(Category::Call, name)
        });
        let turn = self.instance.linked.has_state.then(|| {
            let _span = options.tracer().wait("wait for the state");
            self.state.lock()
        });
        let state = turn.as_ref().map(|turn| (&self.state, turn));
        let result = self.instance.call(inputs, options, state);
        drop(turn);
        match result {
            Ok(()) => Ok(Outputs::new(&self.instance)),
            Err(error) => {
                let error = error.in_method(self.name());
                if let Some(span) = span {
                    span.note("error", error.to_string());
                }
                Err(error)
            }
        }
    }

    /// The method's name.
    pub fn name(&self) -> &str {
        &self.instance.linked.plan.name
    }

    /// What the method takes and returns.
    pub fn info(&self) -> MethodInfo {
        MethodInfo::new(&self.instance.linked.plan)
    }

    /// The method's named mutable buffers, to read and write them, to share them with another
    /// instance, or to start anew.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Bytes of host memory that this instance holds for itself, temporary memory included.
    /// Delegates and shared things are not counted.
    pub fn memory_used(&self) -> usize {
        self.instance.frame.owned_bytes() + self.instance.scratch.capacity()
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}
