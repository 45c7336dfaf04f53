//! The residency analysis of a method: its state while the instructions are followed.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use thalweg_core::engine::{StorageId, TensorId};
use thalweg_core::{Device, Kernel, ValueId};

use super::MethodFacts;
use super::device_heap::{Buffer, Part};
use super::host_shadows::{Move, Shadow, Source};
use super::persistent::{Candidate, Keeping};
use super::plan_facts::{is_straight, mentions, stretches, uses};
use crate::facts::Region;
use crate::plan::MethodPlan;
use crate::schedule::{Execution, StepBefore};

/// The state of the analysis while the instructions are followed.
///
/// It has four parts: facts of the plan, the device heap (buffers, and the memory of each tensor there),
/// host shadows, and persistent buffers.
pub(super) struct ResidencyAnalysis<'p> {
    pub(super) plan: &'p MethodPlan,
    pub(super) kernels: &'p [Kernel],
    pub(super) devices: &'p [Arc<dyn Device>],
    /// Values that instructions or callers change.
    pub(super) changing: &'p HashSet<ValueId>,
    pub(super) aliases: &'p [Vec<(usize, usize)>],
    /// Outputs of delegates, by instruction and position, that are not their inputs after all.
    pub(super) unaliased: &'p HashSet<(usize, usize)>,
    pub(super) straight: bool,
    /// For each instruction, and the end, the stretch without jumps that it is in.
    pub(super) stretches: Vec<usize>,
    /// The tensors that instructions have to do with, and outputs, with the stretch.
    pub(super) mentions: Vec<(usize, TensorId)>,
    /// The first and the last instruction that has to do with each tensor, in methods that run
    /// straight on. Inputs come first, outputs last.
    pub(super) uses: Vec<(TensorId, (usize, usize))>,
    pub(super) executions: Vec<Execution>,
    pub(super) buffers: Vec<Buffer>,
    /// The memory that each tensor on a device has.
    pub(super) tensors: HashMap<TensorId, Part>,
    /// Tensors on a device whose memory was written since.
    pub(super) stale: HashMap<TensorId, (Part, Refusal)>,
    /// Host memory of tensors that became views.
    pub(super) regions: HashMap<TensorId, Region>,
    pub(super) shadows: Vec<Shadow>,
    /// Instructions that only move, in order.
    pub(super) moves: Vec<Move>,
    /// What has been written on the host so far, by storage.
    pub(super) written: HashMap<StorageId, Vec<Range<usize>>>,
    /// What was read before it was written: it lasts from call to call.
    pub(super) lasting: Vec<Region>,
    /// What lasts and a device takes, or gives.
    pub(super) taken: Vec<Candidate>,
    pub(super) keeping: Vec<Keeping>,
    pub(super) steps_before: Vec<StepBefore>,
    /// Memory of values that others may become: nothing about it is certain.
    pub(super) moving: Vec<Region>,
    /// For each input, whether the host needs it in its place.
    pub(super) inputs_on_host: Vec<bool>,
    /// For each input, its buffer on a device.
    pub(super) input_buffers: HashMap<usize, usize>,
    /// Inputs that a delegate updates in place.
    pub(super) updated_inputs: HashSet<usize>,
    pub(super) copies: Vec<PartCopy>,
    /// Where a device has each output at the end, and how the host gets it.
    pub(super) outputs: Vec<Option<(Part, usize, Option<Source>)>>,
    /// The instruction that is followed.
    pub(super) now: usize,
    /// What has to be given up for the instructions to be followed.
    pub(super) blame: Option<Refusal>,
}

/// A copy within a device.
pub(super) struct PartCopy {
    pub(super) device: usize,
    pub(super) from: Part,
    pub(super) to: Part,
    pub(super) bytes: usize,
}

/// An assumption that does not hold for the program.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// This buffer cannot persist on a device.
    Persistent(Candidate),
    /// This output of this instruction cannot alias its input.
    Alias((usize, usize)),
}

impl<'p> ResidencyAnalysis<'p> {
    pub(super) fn new(
        method: &MethodFacts<'p>,
        executions: &[Execution],
        kept: &[Candidate],
        unaliased: &'p HashSet<(usize, usize)>,
    ) -> Self {
        let mut follower = Self {
            plan: method.plan,
            kernels: method.kernels,
            devices: method.devices,
            changing: method.changing,
            aliases: method.aliases,
            unaliased,
            straight: is_straight(method.plan),
            mentions: mentions(method.plan),
            uses: uses(method.plan),
            stretches: stretches(method.plan),
            executions: executions.to_vec(),
            buffers: Vec::new(),
            tensors: HashMap::new(),
            stale: HashMap::new(),
            regions: HashMap::new(),
            shadows: Vec::new(),
            moves: Vec::new(),
            written: HashMap::new(),
            lasting: Vec::new(),
            taken: Vec::new(),
            keeping: Vec::new(),
            steps_before: Vec::new(),
            moving: Vec::new(),
            inputs_on_host: vec![false; method.plan.inputs.len()],
            input_buffers: HashMap::new(),
            updated_inputs: HashSet::new(),
            copies: Vec::new(),
            outputs: Vec::new(),
            now: 0,
            blame: None,
        };
        for candidate in kept {
            follower.keep(candidate);
        }
        follower
    }
}
