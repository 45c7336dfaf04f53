//! The kernels of an enqueue.
//!
//! The first kernel reads all inputs and fills the whole scratch with a pattern. Those in between
//! check the pattern and replace it by another. The last one checks it once more, reads the inputs
//! again, and writes the outputs. So other work that uses the scratch, changes an input or frees
//! weights in between is detected, by the order of accesses and by the numbers: the outputs are
//! poison then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::compute::{Computation, Values};
use super::spec::{Compute, EngineSpec, TensorSpec};
use crate::interface::{DeviceMemory, ReportKind, Site, report};

/// The byte that outputs are filled with after an error.
const POISON: u8 = 0xff;

/// The lifetime of a context, as its kernels see it.
#[derive(Default)]
pub(super) struct ContextLifetime {
    /// The call that destroyed the context.
    pub(super) destroyed: Mutex<Option<Arc<Site>>>,
}

/// The plan of one enqueue, which its kernels share.
pub(super) struct Plan {
    pub(super) spec: Arc<EngineSpec>,
    pub(super) lifetime: Arc<ContextLifetime>,
    pub(super) label: String,
    /// The shapes of all tensors. Dimensions that depend on data are -1.
    pub(super) shapes: BTreeMap<String, Vec<i64>>,
    /// The addresses of all tensors. Those of outputs that depend on data may be set late.
    pub(super) addresses: Mutex<BTreeMap<String, u64>>,
    /// The start and the length of the scratch, and those of the weights.
    pub(super) scratch: (u64, u64),
    pub(super) weights: (u64, u64),
    /// The start and the length of the context's profile memory.
    pub(super) profile_memory: (u64, u64),
    /// The profile that the profile memory must hold, if it was ever switched.
    pub(super) profile: Option<u8>,
    /// The number of the enqueue, from which its pattern follows.
    pub(super) tag: u64,
    /// The shapes that the device has computed.
    pub(super) found: Mutex<BTreeMap<String, Vec<i64>>>,
}

/// The work of one kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Reads the inputs, and writes the pattern.
    Begin,
    /// Checks one generation of the pattern in a part of the scratch, and writes the next. The part
    /// is given by numerator and denominator.
    Middle(u64, u64, u64),
    /// Computes the shapes that depend on data.
    Count,
    /// Checks a generation of the pattern, and writes the outputs.
    End(u64),
}

impl Plan {
    /// Runs one kernel; false is a failure.
    pub(super) fn run_kernel(&self, step: Step, device: &DeviceMemory<'_>) -> bool {
        match self.run(step, device) {
            Ok(()) => true,
            Err(why) => {
                eprintln!("{} {step:?}: {why}", self.label);
                false
            }
        }
    }

    fn run(&self, step: Step, device: &DeviceMemory<'_>) -> Result<(), String> {
        self.check_lifetime(step);
        match step {
            Step::Begin => {
                let bytes = device.read(self.profile_memory.0, self.profile_memory.1)?;
                if self
                    .profile
                    .is_some_and(|it| bytes.iter().any(|byte| *byte != it))
                {
                    let message = format!(
                        "{} runs, although a switch to another profile has come only half way",
                        self.label
                    );
                    report(ReportKind::Misuse, message, Vec::new());
                }
                let inputs = self.read_inputs(device)?;
                let mut scratch = self.pattern(0, 0, self.scratch.1);
                let digest = digest(&inputs);
                if let Some(start) = scratch.get_mut(..8) {
                    start.copy_from_slice(&digest.to_le_bytes());
                }
                device.write(self.scratch.0, &scratch)
            }
            Step::Middle(generation, part, parts) => self.middle(device, generation, part, parts),
            Step::Count => {
                let inputs = self.read_inputs(device)?;
                for compute in &self.spec.compute {
                    if self.depends_on_data(compute.output()) {
                        let made = self.compute(compute, &inputs)?;
                        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                        found.insert(compute.output().to_owned(), made.shape);
                    }
                }
                Ok(())
            }
            Step::End(generation) => self.end(device, generation),
        }
    }

    /// Returns true if the shape of an output is known only once it is computed.
    pub(super) fn depends_on_data(&self, output: &str) -> bool {
        self.shapes.get(output).is_some_and(|s| s.contains(&-1))
    }

    fn check_lifetime(&self, step: Step) {
        let mut destroyed = self
            .lifetime
            .destroyed
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(by) = destroyed.take() {
            let label = &self.label;
            let message = format!("{label} {step:?} runs, although {by} destroyed its context");
            report(ReportKind::UseAfterDestroy, message, vec![(*by).clone()]);
        }
    }

    fn address(&self, tensor: &str) -> u64 {
        let addresses = self
            .addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        addresses.get(tensor).copied().unwrap_or(0)
    }

    fn bytes(&self, tensor: &TensorSpec) -> u64 {
        let shape = self.shapes.get(&tensor.name);
        shape.map_or(0, |shape| {
            super::shape::elements(shape) * tensor.dtype.size() as u64
        })
    }

    fn read_inputs(&self, device: &DeviceMemory<'_>) -> Result<BTreeMap<String, Vec<u8>>, String> {
        let inputs = self.spec.tensors.iter().filter(|t| t.input && !t.on_host);
        inputs
            .map(|input| {
                let bytes = device.read(self.address(&input.name), self.bytes(input))?;
                Ok((input.name.clone(), bytes))
            })
            .collect()
    }

    /// A part of the pattern of a generation.
    fn pattern(&self, generation: u64, start: u64, end: u64) -> Vec<u8> {
        let seed = self
            .tag
            .wrapping_mul(0x9e37_79b9)
            .wrapping_add(generation * 0x51);
        (start..end)
            .map(|index| (index.wrapping_mul(31).wrapping_add(seed) ^ (index >> 8)) as u8)
            .collect()
    }

    fn middle(
        &self,
        device: &DeviceMemory<'_>,
        generation: u64,
        part: u64,
        parts: u64,
    ) -> Result<(), String> {
        let len = self.scratch.1;
        // The start holds the digest.
        let start = (len * part / parts).max(8.min(len));
        let end = len * (part + 1) / parts;
        if start >= end {
            return Ok(());
        }
        let address = self.scratch.0 + start;
        let bytes = device.read(address, end - start)?;
        let fine = bytes == self.pattern(generation, start, end);
        let next = match fine {
            true => self.pattern(generation + 1, start, end),
            false => vec![POISON; bytes.len()],
        };
        device.write(address, &next)
    }

    fn end(&self, device: &DeviceMemory<'_>, generation: u64) -> Result<(), String> {
        let (start, len) = self.scratch;
        let scratch = device.read(start, len)?;
        let inputs = self.read_inputs(device)?;
        device.read(self.weights.0, self.weights.1.min(4096))?;
        let mut fine = scratch
            .get(8..)
            .is_none_or(|rest| rest == self.pattern(generation, 8, len));
        if let Some(before) = scratch.get(..8) {
            fine &= before == digest(&inputs).to_le_bytes();
        }
        for compute in &self.spec.compute {
            let made = self.compute(compute, &inputs)?;
            let address = self.address(compute.output());
            for (offset, mut piece) in made.pieces {
                if !fine {
                    piece.fill(POISON);
                }
                device.write(address + offset, &piece)?;
            }
        }
        Ok(())
    }

    fn compute(
        &self,
        compute: &Compute,
        inputs: &BTreeMap<String, Vec<u8>>,
    ) -> Result<super::compute::Made, String> {
        let output = self.spec.tensor(compute.output());
        let output = output.ok_or_else(|| format!("there is no {}", compute.output()))?;
        let read = |name: &str| {
            let tensor = self.spec.tensor(name)?;
            let values = Values {
                shape: self.shapes.get(name)?.clone(),
                dtype: tensor.dtype,
                bytes: inputs.get(name)?.clone(),
            };
            Some((name.to_owned(), values))
        };
        Computation {
            compute,
            inputs: compute.inputs().into_iter().filter_map(read).collect(),
            shape: self.shapes.get(&output.name).cloned().unwrap_or_default(),
            dtype: output.dtype,
            in_place: output
                .alias
                .as_ref()
                .is_some_and(|alias| self.address(alias) == self.address(&output.name)),
        }
        .run()
    }
}

/// A hash of the inputs.
fn digest(inputs: &BTreeMap<String, Vec<u8>>) -> u64 {
    let bytes = inputs.values().flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
