//! The submission of a batch: one command after the other, in a capture or not.

use std::ptr;

use thalweg_core::engine::Category;
use thalweg_core::{Device, Note, Result, StreamHandle};

use super::batch::{Command, DelegateStep};
use crate::trace::{CommandTrace, CopyKind};

/// Does a step for what a delegate has encoded: which delegate, for which instruction, which step, and
/// on which stream.
pub(super) type OnDelegate<'o> =
    dyn FnMut(usize, usize, DelegateStep, StreamHandle) -> Result<()> + 'o;

/// Commands that are submitted.
pub(super) struct Submission<'a, 'o> {
    pub(super) device: &'a dyn Device,
    pub(super) commands: &'a [Command],
    /// The instruction of each command, if the call is traced.
    pub(super) instructions: &'a [usize],
    pub(super) stream: StreamHandle,
    pub(super) on_delegate: &'a mut OnDelegate<'o>,
}

impl Submission<'_, '_> {
    /// Submits the commands, one by one.
    pub(super) fn submit(&mut self, traced: Option<&mut CommandTrace>) -> Result<()> {
        let Some(traced) = traced else {
            return self.each(DelegateStep::Submit, None);
        };
        let (trace, instruction) = (traced.trace(), traced.instruction());
        let span = trace.tracer().begin(Category::Graph, "submit a batch");
        span.note("commands", self.commands.len());
        let submitted = self.each(DelegateStep::Submit, Some(traced));
        traced.at_instruction(instruction);
        submitted
    }

    /// Submits each command; `step` is for those of delegates.
    pub(super) fn each(
        &mut self,
        step: DelegateStep,
        mut traced: Option<&mut CommandTrace>,
    ) -> Result<()> {
        for (position, command) in self.commands.iter().enumerate() {
            if let Some(traced) = &mut traced {
                traced.at_instruction(self.instructions.get(position).copied().unwrap_or(0));
                match *command {
                    Command::Upload { len, .. } => traced.begin_copy(CopyKind::Upload, len),
                    Command::Download { len, .. } => traced.begin_copy(CopyKind::Download, len),
                    Command::Copy { len, .. } => traced.begin_copy(CopyKind::OnDevice, len),
                    Command::Delegate { .. } => traced.begin_delegate(),
                }
            }
            let submitted = self.one(command, step);
            if let Some(traced) = &mut traced {
                traced.end();
            }
            submitted?;
        }
        Ok(())
    }

    /// Tells delegates that their commands were submitted.
    pub(super) fn submitted(&mut self) -> Result<()> {
        for command in self.commands {
            if let Command::Delegate {
                index, instruction, ..
            } = *command
            {
                (self.on_delegate)(index, instruction, DelegateStep::Submitted, self.stream)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, command: &Command, step: DelegateStep) -> Result<()> {
        let (device, stream) = (self.device, self.stream);
        match *command {
            // SAFETY: whoever added the command has promised what the copy needs.
            Command::Upload { to, from, len } => unsafe {
                device.upload(to, ptr::with_exposed_provenance(from), len, stream)
            },
            // SAFETY: as above.
            Command::Download { to, from, len } => unsafe {
                device.download(ptr::with_exposed_provenance_mut(to), from, len, stream)
            },
            // SAFETY: as above.
            Command::Copy { to, from, len } => unsafe { device.copy(to, from, len, stream) },
            Command::Delegate {
                index, instruction, ..
            } => (self.on_delegate)(index, instruction, step, stream),
        }
    }

    /// The contents of a graph of the commands, for traces.
    pub(super) fn contents(&self, traced: &CommandTrace) -> Vec<(&'static str, Note)> {
        let copies = |kind: fn(&Command) -> Option<usize>| {
            let lengths: Vec<usize> = self.commands.iter().filter_map(kind).collect();
            let bytes = lengths
                .iter()
                .fold(0, |sum: usize, len| sum.saturating_add(*len));
            format!("{} ({bytes} bytes)", lengths.len())
        };
        let upload = |command: &Command| match *command {
            Command::Upload { len, .. } => Some(len),
            _ => None,
        };
        let download = |command: &Command| match *command {
            Command::Download { len, .. } => Some(len),
            _ => None,
        };
        let on_device = |command: &Command| match *command {
            Command::Copy { len, .. } => Some(len),
            _ => None,
        };
        let delegates = self.commands.iter().filter_map(|command| match *command {
            Command::Delegate { instruction, .. } => Some(traced.name_of(instruction)),
            _ => None,
        });
        vec![
            ("commands", self.commands.len().into()),
            ("copies to the device", copies(upload).into()),
            ("copies to the host", copies(download).into()),
            ("copies within the device", copies(on_device).into()),
            ("delegates", delegates.collect::<Vec<_>>().into()),
        ]
    }
}
