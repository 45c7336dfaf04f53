//! Asking a device for what was put off: one task after the other, at once or while it is recorded.

use std::ptr;

use super::stretch::Task;
use super::{Device, StreamHandle};
use crate::trace::{Category, Timed};
use crate::{Note, Result};

/// Does something with what a delegate has prepared: which delegate, for which instruction, what, and
/// on which stream.
pub(super) type OfDelegate<'o> =
    dyn FnMut(usize, usize, DelegateTask, StreamHandle) -> Result<()> + 'o;

/// What is to be done with what a delegate has prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelegateTask {
    /// Ask for it.
    Ask,
    /// Ask for it, while that is recorded.
    Record,
    /// Take note that it was asked for, by itself or as a part of a graph.
    Asked,
}

/// Tasks that are asked for.
pub(super) struct Asking<'a, 'o> {
    pub(super) device: &'a dyn Device,
    pub(super) tasks: &'a [Task],
    /// That they are for, if the call is traced.
    pub(super) instructions: &'a [usize],
    pub(super) stream: StreamHandle,
    pub(super) of_delegate: &'a mut OfDelegate<'o>,
}

impl Asking<'_, '_> {
    /// Asks for the tasks, one by one.
    pub(super) fn ask(&mut self, timed: Option<&mut Timed>) -> Result<()> {
        let Some(timed) = timed else {
            return self.one_by_one(DelegateTask::Ask, None);
        };
        let (trace, instruction) = (timed.trace(), timed.instruction());
        let span = trace
            .tracer()
            .begin(Category::Graph, "ask for what was put off");
        span.note("tasks", self.tasks.len());
        let asked = self.one_by_one(DelegateTask::Ask, Some(timed));
        timed.at_instruction(instruction);
        asked
    }

    pub(super) fn one_by_one(
        &mut self,
        how: DelegateTask,
        mut timed: Option<&mut Timed>,
    ) -> Result<()> {
        for (position, task) in self.tasks.iter().enumerate() {
            if let Some(timed) = &mut timed {
                timed.at_instruction(self.instructions.get(position).copied().unwrap_or(0));
                match *task {
                    Task::Upload { len, .. } => timed.begin_copy(UP, len),
                    Task::Download { len, .. } => timed.begin_copy(DOWN, len),
                    Task::Copy { len, .. } => timed.begin_copy(WITHIN, len),
                    Task::Delegate { .. } => timed.begin_delegate(),
                }
            }
            let asked = self.one(task, how);
            if let Some(timed) = &mut timed {
                timed.end();
            }
            asked?;
        }
        Ok(())
    }

    /// Takes note that all of them were asked for.
    pub(super) fn asked(&mut self) -> Result<()> {
        for task in self.tasks {
            if let Task::Delegate {
                index, instruction, ..
            } = *task
            {
                (self.of_delegate)(index, instruction, DelegateTask::Asked, self.stream)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, task: &Task, how: DelegateTask) -> Result<()> {
        let (device, stream) = (self.device, self.stream);
        match *task {
            // SAFETY: whoever added the task has promised what the copy needs.
            Task::Upload { to, from, len } => unsafe {
                device.upload(to, ptr::with_exposed_provenance(from), len, stream)
            },
            // SAFETY: as above.
            Task::Download { to, from, len } => unsafe {
                device.download(ptr::with_exposed_provenance_mut(to), from, len, stream)
            },
            // SAFETY: as above.
            Task::Copy { to, from, len } => unsafe { device.copy(to, from, len, stream) },
            Task::Delegate {
                index, instruction, ..
            } => (self.of_delegate)(index, instruction, how, stream),
        }
    }

    /// What is in a graph of the tasks.
    pub(super) fn contents(&self, timed: &Timed) -> Vec<(&'static str, Note)> {
        let copies = |kind: fn(&Task) -> Option<usize>| {
            let lengths: Vec<usize> = self.tasks.iter().filter_map(kind).collect();
            let bytes = lengths
                .iter()
                .fold(0, |sum: usize, len| sum.saturating_add(*len));
            format!("{} ({bytes} bytes)", lengths.len())
        };
        let up = |task: &Task| match *task {
            Task::Upload { len, .. } => Some(len),
            _ => None,
        };
        let down = |task: &Task| match *task {
            Task::Download { len, .. } => Some(len),
            _ => None,
        };
        let within = |task: &Task| match *task {
            Task::Copy { len, .. } => Some(len),
            _ => None,
        };
        let delegates = self.tasks.iter().filter_map(|task| match *task {
            Task::Delegate { instruction, .. } => Some(format!(
                "{} (instruction {instruction})",
                timed.name_of(instruction)
            )),
            _ => None,
        });
        vec![
            ("tasks", self.tasks.len().into()),
            ("copies to the device", copies(up).into()),
            ("copies to the host", copies(down).into()),
            ("copies within the device", copies(within).into()),
            ("delegates", delegates.collect::<Vec<_>>().into()),
        ]
    }
}

/// Names of what a device copies.
pub(super) const UP: &str = "copy to the device";
pub(super) const DOWN: &str = "copy to the host";
pub(super) const WITHIN: &str = "copy within the device";
