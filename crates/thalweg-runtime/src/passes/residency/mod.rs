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

mod allocate;
mod analysis;
mod device_heap;
mod finish;
mod follow;
mod follow_host;
mod host_shadows;
mod moves;
mod persist;
mod persistent;
mod plan_facts;
mod regions;

use std::collections::HashSet;
use std::sync::Arc;

use thalweg_core::{Device, Kernel, ValueId};

use self::analysis::{Refusal, ResidencyAnalysis};
use self::persistent::Candidate;
use crate::plan::MethodPlan;
use crate::schedule::{Execution, Places};

/// The search is quadratic in the worst case, which no program is that an exporter writes; a file
/// that is made to be slow is left as it is.
const MOST_COPIES: usize = 4_000;
const MOST_STEPS: usize = 100_000;
/// How often the search begins anew without what turned out not to work.
const MOST_ATTEMPTS: usize = 64;

/// What a method is, for the method.
pub(crate) struct MethodFacts<'p> {
    pub(crate) plan: &'p MethodPlan,
    pub(crate) kernels: &'p [Kernel],
    pub(crate) devices: &'p [Arc<dyn Device>],
    /// Values that instructions or callers change.
    pub(crate) changing: &'p HashSet<ValueId>,
    /// For each delegate, the outputs that are inputs updated in place: the positions of both.
    pub(crate) aliases: &'p [Vec<(usize, usize)>],
}

/// Finds the copies of a method that are not needed. `executions` becomes how its instructions run
/// without them; the result is where its tensors on devices then lie.
pub(crate) fn without_needless_copies(
    method: &MethodFacts<'_>,
    executions: &mut Vec<Execution>,
) -> Places {
    let copies =
        |execution: &&Execution| matches!(execution, Execution::Upload(_) | Execution::Download(_));
    let count = executions.iter().filter(copies).count();
    if count == 0 || count > MOST_COPIES || method.plan.steps.len() > MOST_STEPS {
        return Places::default();
    }
    let mut kept: Vec<Candidate> = Vec::new();
    let mut refused: HashSet<Candidate> = HashSet::new();
    let mut unaliased: HashSet<(usize, usize)> = HashSet::new();
    // How many copies there are if nothing is kept.
    let mut most = usize::MAX;
    for _ in 0..MOST_ATTEMPTS {
        let mut follower = ResidencyAnalysis::new(method, executions, &kept, &unaliased);
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
            (None, Some(Refusal::Persistent(candidate))) => {
                kept.retain(|other| *other != candidate);
                refused.insert(candidate);
            }
            (None, Some(Refusal::Alias(alias))) => {
                unaliased.insert(alias);
            }
            // Something is unlike what exporters write.
            (None, None) => return Places::default(),
        }
    }
    Places::default()
}
