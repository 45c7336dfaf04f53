//! Which copies between the host and a device are not needed.
//!
//! Programs copy the result of every delegate to the host, and every argument of a delegate to the
//! device, also where nothing on the host looks at the value in between. Here the instructions are
//! followed in their order, with what is known of each value: whether the host has it, and which
//! memory of a device has it. From that it follows that
//! - a copy to a device of something that the device has already is none;
//! - a copy from a device is made only if the host reads the value later;
//! - an operator that only moves a whole range (a view, a slice of leading rows, a clone) of
//!   something that only the device has runs nowhere: its result is a part of the same memory;
//! - an input goes to the device straight from the caller, or is used where it is, if that is there;
//! - what lasts from call to call (a cache, a constant) stays on the device, and comes to the host
//!   when something there looks at it.
//!
//! A value that the device keeps for longer than its program planned needs memory of its own for
//! as long, so device memory is planned anew, too.
//!
//! Nothing is known of what another path through the method may have done: where paths meet or
//! part, the host has everything.

mod buffers;
mod finish;
mod follow;
mod kept;
mod known;
mod moves;
mod paths;
mod regions;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use self::follow::{Blame, Follower};
use self::kept::Candidate;
pub(crate) use self::kept::{Kept, KeptAction, StepBefore, What};
use super::steps::Execution;
use crate::memory::{StorageId, TensorId};
use crate::plan::{MethodPlan, Step};
use crate::{Device, Kernel, ValueId};

/// The search is quadratic in the worst case, which no program is that an exporter writes; a file
/// that is made to be slow is left as it is.
const MOST_COPIES: usize = 4_000;
const MOST_STEPS: usize = 100_000;
/// How often the search begins anew without what turned out not to work.
const MOST_ATTEMPTS: usize = 64;

/// What a method is, for the search.
pub(super) struct Search<'p> {
    pub(super) plan: &'p MethodPlan,
    pub(super) kernels: &'p [Kernel],
    pub(super) devices: &'p [Arc<dyn Device>],
    /// Values that instructions or callers change.
    pub(super) changing: &'p HashSet<ValueId>,
    /// For each delegate, the outputs that are inputs updated in place: the positions of both.
    pub(super) aliases: &'p [Vec<(usize, usize)>],
}

/// Where tensors lie that are on devices, and what is copied when.
#[derive(Default)]
pub(crate) struct Places {
    /// For each output that a device has: where.
    outputs: Vec<Option<OutputPlace>>,
    tensors: HashMap<TensorId, (StorageId, usize)>,
    /// How large each arena on a device has to be; `None` if as planned.
    arenas: Option<HashMap<StorageId, usize>>,
    /// For each input, whether something looks at it on the host. All are, if this is empty.
    inputs_on_host: Vec<bool>,
    /// For each input, where it goes if it goes to a device by itself.
    inputs: Vec<Option<PlacedInput>>,
    /// What stays on a device from call to call.
    pub(crate) kept: Vec<Kept>,
    /// What is done before instructions, in their order, and where in that each instruction's
    /// begins; nothing if nothing is done at all.
    steps_before: Vec<StepBefore>,
    before_starts: Vec<u32>,
    /// Copies within devices, by the number that the instructions, and what is before them, name.
    pub(crate) copies: Vec<DeviceCopy>,
    /// Storages beside the plan's, which come after those.
    pub(crate) storages: Vec<PlacedStorage>,
}

/// A storage that no program plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlacedStorage {
    /// Where a device has the input with this number: at home, or where the caller has it.
    Input(usize),
    /// The caller's memory of an input that is copied from there to a device.
    Lent,
    /// What stays on a device, by its number.
    Kept(usize),
}

/// An input that goes to a device from where the caller has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedInput {
    pub(crate) device: usize,
    /// Its memory on the device.
    pub(crate) storage: StorageId,
    /// Its place in an arena there, for callers who do not have it on the device.
    pub(crate) home: (StorageId, usize),
    pub(crate) bytes: usize,
    /// The caller's memory, if that is on the host.
    pub(crate) lent: StorageId,
    /// Whether a delegate updates it in place.
    pub(crate) updated: bool,
}

/// A copy within a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceCopy {
    pub(crate) device: usize,
    pub(crate) from: (StorageId, usize),
    pub(crate) to: (StorageId, usize),
    pub(crate) bytes: usize,
}

/// Where a device has an output.
#[derive(Clone, Copy)]
pub(crate) struct OutputPlace {
    pub(crate) device: usize,
    pub(crate) storage: StorageId,
    pub(crate) offset: usize,
    /// The instruction that copies it to the host, if that does nothing else.
    fetch: Option<usize>,
}

impl Places {
    /// What is done before an instruction, or, by the number of them all, after the last.
    #[inline]
    pub(crate) fn before(&self, index: usize) -> &[StepBefore] {
        match self.before_starts.get(index..index + 2) {
            Some(&[start, end]) => &self.steps_before[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Where a device has an output, if one has it.
    pub(crate) fn output(&self, index: usize) -> Option<OutputPlace> {
        self.outputs.get(index).copied().flatten()
    }

    /// The instructions that only copy outputs to the host.
    pub(super) fn output_copies(&self) -> impl Iterator<Item = usize> {
        self.outputs
            .iter()
            .flatten()
            .filter_map(|output| output.fetch)
    }

    /// Whether something looks at an input on the host.
    #[inline]
    pub(crate) fn input_on_host(&self, index: usize) -> bool {
        self.inputs_on_host
            .get(index)
            .is_none_or(|&on_host| on_host)
    }

    /// An input that goes to a device by itself.
    #[inline]
    pub(crate) fn input(&self, index: usize) -> Option<&PlacedInput> {
        self.inputs.get(index)?.as_ref()
    }

    /// The storage and offset of a tensor.
    pub(crate) fn of(&self, id: TensorId) -> Option<(StorageId, usize)> {
        self.tensors.get(&id).copied()
    }

    /// The size of an arena on a device, if that is not as planned.
    pub(super) fn arena_bytes(&self, id: StorageId) -> Option<usize> {
        let arenas = self.arenas.as_ref()?;
        Some(arenas.get(&id).copied().unwrap_or(0))
    }

    /// Whether a storage of the plan is looked after by the kept steps.
    pub(crate) fn keeps(&self, storage: StorageId) -> bool {
        self.kept.iter().any(|kept| kept.host.0 == storage)
    }
}

/// Finds the copies of a method that are not needed. `executions` becomes how its instructions run
/// without them; the result is where its tensors on devices then lie.
pub(super) fn without_needless_copies(
    search: &Search<'_>,
    executions: &mut Vec<Execution>,
) -> Places {
    let copies =
        |execution: &&Execution| matches!(execution, Execution::Upload(_) | Execution::Download(_));
    let count = executions.iter().filter(copies).count();
    if count == 0 || count > MOST_COPIES || search.plan.steps.len() > MOST_STEPS {
        return Places::default();
    }
    let mut kept: Vec<Candidate> = Vec::new();
    let mut refused: HashSet<Candidate> = HashSet::new();
    let mut unaliased: HashSet<(usize, usize)> = HashSet::new();
    // How many copies there are if nothing is kept.
    let mut most = usize::MAX;
    for _ in 0..MOST_ATTEMPTS {
        let mut follower = Follower::new(search, executions, &kept, &unaliased);
        let followed = follower.follow();
        match (followed, follower.blame.take()) {
            (Some(()), _) => {
                // What lasts is known only at the end of the first pass.
                let found = follower.candidates(&refused);
                let traffic = follower.kept_traffic();
                let copies = follower.copies_made() + traffic.iter().sum::<usize>();
                if kept.is_empty() {
                    most = copies;
                }
                if found.iter().any(|candidate| !kept.contains(candidate)) {
                    kept = found;
                    continue;
                }
                // What goes to and fro between host and device is better left on the host.
                let worst = traffic
                    .iter()
                    .enumerate()
                    .max_by_key(|(_, traffic)| **traffic);
                match worst {
                    Some((k, &traffic)) if copies > most && traffic > 0 => {
                        refused.insert(kept.remove(k));
                    }
                    _ => return follower.finish(executions).unwrap_or_default(),
                }
            }
            (None, Some(Blame::Kept(candidate))) => {
                kept.retain(|other| *other != candidate);
                refused.insert(candidate);
            }
            (None, Some(Blame::Alias(alias))) => {
                unaliased.insert(alias);
            }
            // Something is unlike what exporters write.
            (None, None) => return Places::default(),
        }
    }
    Places::default()
}

/// Whether instructions follow each other in one order only.
fn is_straight(plan: &MethodPlan) -> bool {
    let jumps = |step: &Step| matches!(step, Step::JumpIfFalse { .. } | Step::Move { .. });
    !plan.steps.iter().any(jumps)
}
