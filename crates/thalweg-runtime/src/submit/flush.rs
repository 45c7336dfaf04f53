//! The submission of deferred commands, as they are or as a graph.

use thalweg_core::engine::Category;
use thalweg_core::{Error, Result, bail};

use super::batch::{Command, DelegateStep};
use super::graphs::Choice;
use super::queue::{DeviceQueue, Mode};
use super::submission::{OnDelegate, Submission};
use crate::options::GraphUse;
use crate::trace::{CommandTrace, Trace, WaitReason};

impl DeviceQueue {
    pub(super) fn submit(
        &mut self,
        commands: &[Command],
        on_delegate: &mut OnDelegate<'_>,
        mut traced: Option<&mut CommandTrace>,
    ) -> Result<()> {
        let stream = self.stream();
        let device = self.device.clone();
        let instructions = traced.as_deref_mut().map(CommandTrace::take_deferred);
        let mut submission = Submission {
            device: &*device,
            commands,
            instructions: instructions.as_deref().unwrap_or_default(),
            stream,
            on_delegate,
        };
        if self.is_capture() {
            submission.each(DelegateStep::Capture, None)?;
            return submission.submitted();
        }
        let (choice, replaced) = self.graphs.choose(commands);
        if let Some(graph) = replaced {
            let trace = traced.as_deref().map(CommandTrace::trace);
            let _span = traced.as_deref().map(|traced| {
                traced.wait(Trace::tracer_of(trace.as_ref()), WaitReason::ReplacedGraph)
            });
            // The stream comes after all launches that there were. What fails once may work the second
            // time; a device that is lost does nothing.
            let idle = self.device.synchronize(stream);
            if idle.is_err() {
                let _ = self.device.synchronize(stream);
            }
            drop(graph);
            idle?;
        }
        match choice {
            Choice::Submit => submission.submit(traced)?,
            Choice::Launch(index) => self.launch(index, &submission, traced)?,
            Choice::Capture(index) => self.capture(index, &mut submission, traced)?,
        }
        submission.submitted()
    }

    /// Captures commands as a graph and launches it, or submits them, if that is not possible.
    fn capture(
        &mut self,
        index: usize,
        submission: &mut Submission<'_, '_>,
        traced: Option<&mut CommandTrace>,
    ) -> Result<()> {
        let trace = traced.as_deref().map(CommandTrace::trace);
        let tracer = Trace::tracer_of(trace.as_ref());
        let span = tracer.begin(Category::Graph, "capture a graph");
        let captured = self.device.capture(submission.stream, &mut || {
            submission.each(DelegateStep::Capture, None)
        });
        if let Err(error) = &captured
            && tracer.is_on()
        {
            span.note("error", error.to_string());
        }
        drop(span);
        match captured {
            Ok(Some(graph)) => {
                self.graphs.keep(index, graph);
                self.launch(index, submission, traced)
            }
            Ok(None) => {
                self.graphs.retry_later(index);
                submission.submit(traced)
            }
            Err(error) if self.mode == Mode::Batches(GraphUse::On) => Err(no_graph(error)),
            Err(error) => {
                self.graphs.never_capture(index);
                if !std::mem::replace(&mut self.warned, true) {
                    tracing::warn!("work is not launched as a graph: {error}");
                }
                submission.submit(traced)
            }
        }
    }

    fn launch(
        &self,
        index: usize,
        submission: &Submission<'_, '_>,
        traced: Option<&mut CommandTrace>,
    ) -> Result<()> {
        let Some(graph) = self.graphs.graph(index) else {
            bail!(Internal, "a graph that is gone");
        };
        let launch = || {
            // SAFETY: it was captured from the very commands that are submitted now, whose memory is
            // valid as these need it, and the instance waits before any of it goes.
            unsafe { graph.launch(submission.stream) }
        };
        let Some(traced) = traced else {
            return launch();
        };
        let (trace, contents) = (traced.trace(), submission.contents(traced));
        let span = trace.tracer().begin(Category::Graph, "launch a graph");
        for (key, note) in &contents {
            span.note(key, note.clone());
        }
        traced.begin_graph(contents);
        let launched = launch();
        traced.end();
        launched
    }
}

#[cold]
fn no_graph(error: Error) -> Error {
    let message = format!("no graph of the call's work: {}", error.message());
    Error::new(error.kind(), message).with_source(error)
}
