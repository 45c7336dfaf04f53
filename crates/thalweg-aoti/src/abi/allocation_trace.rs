//! Allocation traces: what a library allocates and frees on the device in one run, in order.
//!
//! A library allocates its outputs and temporaries itself, one by one, but in the same order in each run
//! with the same shapes. So the trace of a first run gives an [`AllocationPlan`]: allocations that become
//! outputs are placed in the outputs' own memory, and all others in one workspace, where allocations that
//! are not live at the same time share memory. The trace of each later run is compared with the plan, event
//! by event. From the first event that differs on, the run gets no more memory of the workspace, since the
//! plan's offsets are right only for the planned order.
#![forbid(unsafe_code)]

use std::sync::Arc;

use thalweg_core::{Result, bail};

use crate::mutation::{Rule, disabled};

/// The allocations of a run with certain shapes, and their placement.
#[derive(Debug)]
pub(crate) struct AllocationPlan {
    events: Vec<AllocationEvent>,
    /// By allocation number.
    placements: Vec<Placement>,
    workspace: u64,
}

/// An event of an allocation trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllocationEvent {
    /// An allocation of so many bytes.
    Allocate(u64),
    /// A free of the allocation of this number.
    Free(usize),
}

/// The memory that a plan gives to an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// The memory of the output of this number.
    Output(usize),
    /// A byte offset in the workspace.
    Workspace(u64),
}

/// The alignment of offsets in a workspace, which is that of the driver's allocations.
const ALIGNMENT: u64 = 256;

impl AllocationPlan {
    /// A plan for runs with the same events. `outputs` are pairs of an allocation and the output whose
    /// memory it can have.
    pub(crate) fn new(events: Vec<AllocationEvent>, outputs: &[(usize, usize)]) -> Self {
        let mut placements = Vec::new();
        // Live ranges of the workspace, in order of address: start, end, allocation.
        let mut live: Vec<(u64, u64, usize)> = Vec::new();
        let mut workspace = 0;
        for event in &events {
            match *event {
                AllocationEvent::Allocate(bytes) => {
                    let number = placements.len();
                    if let Some((_, output)) = outputs.iter().find(|(of, _)| *of == number) {
                        placements.push(Placement::Output(*output));
                        continue;
                    }
                    let len = bytes.max(1).next_multiple_of(ALIGNMENT);
                    let (index, start) = first_fit(&live, len);
                    live.insert(index, (start, start + len, number));
                    workspace = workspace.max(start + len);
                    placements.push(Placement::Workspace(start));
                }
                AllocationEvent::Free(number) => live.retain(|(_, _, of)| *of != number),
            }
        }
        Self {
            events,
            placements,
            workspace,
        }
    }

    /// The size of the workspace, in bytes.
    pub(crate) fn workspace(&self) -> u64 {
        self.workspace
    }
}

/// The first gap between live ranges that holds `len` bytes: the index of the range after it, and its
/// offset.
fn first_fit(live: &[(u64, u64, usize)], len: u64) -> (usize, u64) {
    let mut start = 0;
    for (index, (next, end, _)) in live.iter().enumerate() {
        if next - start >= len {
            return (index, start);
        }
        start = *end;
    }
    (live.len(), start)
}

/// The allocation trace of a run in progress.
#[derive(Debug, Default)]
pub(crate) struct AllocationTrace {
    plan: Option<Arc<AllocationPlan>>,
    /// The addresses of outputs, of those that can be written in place.
    outputs: Vec<Option<u64>>,
    /// The address of the workspace, if there is one. It is as large as the plan requires.
    workspace: Option<u64>,
    /// The number of events that were as planned.
    matched: usize,
    /// All events, if there is no plan or the run differs from it.
    events: Option<Vec<AllocationEvent>>,
    allocations: usize,
    /// The number of allocations that are not freed yet.
    live: usize,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub(crate) struct RunOutcome {
    /// The run's events, unless they were as planned.
    pub(crate) events: Option<Vec<AllocationEvent>>,
    /// True if the library has kept an allocation that is not an output.
    pub(crate) keeps: bool,
    /// The first operation of the run that a graph cannot hold.
    pub(crate) not_capturable: Option<&'static str>,
}

impl AllocationTrace {
    /// A trace that is recorded without a plan.
    pub(crate) fn recording() -> Self {
        Self {
            events: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// A trace that is compared with a plan.
    pub(crate) fn planned(
        plan: Arc<AllocationPlan>,
        outputs: Vec<Option<u64>>,
        workspace: Option<u64>,
    ) -> Self {
        Self {
            plan: Some(plan),
            outputs,
            workspace,
            ..Self::default()
        }
    }

    /// Adds an allocation. Returns its number, and its address if the plan places it.
    pub(crate) fn allocate(&mut self, bytes: u64) -> (usize, Option<u64>) {
        let number = self.allocations;
        self.allocations += 1;
        self.live += 1;
        if !self.matches_plan(AllocationEvent::Allocate(bytes)) {
            return (number, None);
        }
        let plan = self.plan.as_ref();
        let address = match plan.and_then(|plan| plan.placements.get(number)) {
            Some(Placement::Output(output)) => self.outputs.get(*output).copied().flatten(),
            Some(Placement::Workspace(offset)) => self.workspace.map(|start| start + offset),
            None => None,
        };
        (number, address)
    }

    /// Adds a free.
    pub(crate) fn free(&mut self, number: usize) {
        self.live = self.live.saturating_sub(1);
        self.matches_plan(AllocationEvent::Free(number));
    }

    /// Adds an event. Returns true if this and all earlier ones are as planned.
    fn matches_plan(&mut self, event: AllocationEvent) -> bool {
        if let Some(events) = &mut self.events {
            events.push(event);
            return false;
        }
        let planned = self.plan.as_ref().map_or(&[][..], |plan| &plan.events);
        if planned.get(self.matched) == Some(&event) || disabled(Rule::HoldAgainstPlan) {
            self.matched += 1;
            return true;
        }
        let before = planned.iter().take(self.matched).copied();
        self.events = Some(before.chain([event]).collect());
        false
    }

    /// Ends the run.
    pub(crate) fn end(self) -> RunOutcome {
        let planned = self.plan.as_ref().map_or(&[][..], |plan| &plan.events);
        let stopped_early = self.events.is_none() && self.matched != planned.len();
        RunOutcome {
            events: match stopped_early {
                true => Some(planned.iter().take(self.matched).copied().collect()),
                false => self.events,
            },
            keeps: self.live > 0,
            not_capturable: None,
        }
    }
}

impl RunOutcome {
    /// Checks a captured run: a graph is right only if the run allocated as planned.
    ///
    /// # Errors
    /// If it did not.
    pub(crate) fn check_captured(&self) -> Result<()> {
        if self.events.is_some() || self.keeps {
            bail!(
                Unsupported,
                "the compiled library allocates and frees otherwise than in the run before"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: AllocationEvent = AllocationEvent::Allocate(1000);
    const B: AllocationEvent = AllocationEvent::Allocate(100);

    fn placements(events: &[AllocationEvent], outputs: &[(usize, usize)]) -> (Vec<Placement>, u64) {
        let plan = AllocationPlan::new(events.to_vec(), outputs);
        (plan.placements, plan.workspace)
    }

    #[test]
    fn allocations_that_are_live_together_do_not_overlap_and_others_share() {
        use AllocationEvent::Free;
        use Placement::Workspace;
        assert_eq!(placements(&[], &[]), (vec![], 0));
        assert_eq!(
            placements(&[A, B, Free(0), B, A, Free(1), B], &[]),
            ([0, 1024, 0, 1280, 256].map(Workspace).to_vec(), 1280 + 1024)
        );
        assert_eq!(
            placements(&[A, B, Free(1), B, Free(0), A], &[(0, 7)]),
            (
                vec![
                    Placement::Output(7),
                    Workspace(0),
                    Workspace(0),
                    Workspace(256)
                ],
                256 + 1024
            )
        );
    }

    #[test]
    fn placements_never_overlap_while_both_are_live() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let (mut events, mut live, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..60 {
                if live.is_empty() || random(2) == 0 {
                    let bytes = random(3000);
                    live.push(sizes.len());
                    sizes.push(bytes);
                    events.push(AllocationEvent::Allocate(bytes));
                } else {
                    let freed = live.swap_remove(random(live.len() as u64) as usize);
                    events.push(AllocationEvent::Free(freed));
                }
            }
            let plan = AllocationPlan::new(events.clone(), &[]);
            let range = |number: usize| match plan.placements[number] {
                Placement::Workspace(start) => start..start + sizes[number].max(1),
                Placement::Output(_) => unreachable!("there are none"),
            };
            let mut live: Vec<usize> = Vec::new();
            let mut count = 0;
            for event in events {
                match event {
                    AllocationEvent::Allocate(_) => {
                        let new = range(count);
                        assert!(new.end <= plan.workspace);
                        for other in live.iter().map(|other| range(*other)) {
                            assert!(new.end <= other.start || other.end <= new.start);
                        }
                        live.push(count);
                        count += 1;
                    }
                    AllocationEvent::Free(number) => live.retain(|other| *other != number),
                }
            }
        }
    }

    #[test]
    fn a_run_that_differs_from_its_plan_gets_no_more_of_the_workspace() {
        let events = vec![A, B, AllocationEvent::Free(0), B];
        let plan = Arc::new(AllocationPlan::new(events.clone(), &[(3, 0)]));
        let begin = || AllocationTrace::planned(plan.clone(), vec![Some(0x9000)], Some(0x1000));
        let mut trace = begin();
        assert_eq!(trace.allocate(1000), (0, Some(0x1000)));
        assert_eq!(trace.allocate(100), (1, Some(0x1400)));
        trace.free(0);
        assert_eq!(trace.allocate(100), (2, Some(0x1000)));
        trace.free(1);
        trace.free(2);
        // Two more than planned.
        let outcome = trace.end();
        assert_eq!(outcome.events.as_ref().map(Vec::len), Some(6));
        assert!(!outcome.keeps);

        // What the plan puts where the first allocation was is not there while that is in use.
        let mut trace = begin();
        trace.allocate(1000);
        trace.allocate(100);
        assert_eq!(trace.allocate(100), (2, None));
        assert_eq!(trace.allocate(100), (3, None));
        assert_eq!(trace.end().events, Some(vec![A, B, B, B]));

        let mut trace = begin();
        assert_eq!(trace.allocate(1001), (0, None));
        trace.free(0);
        assert_eq!(
            trace.end().events,
            Some(vec![
                AllocationEvent::Allocate(1001),
                AllocationEvent::Free(0)
            ])
        );

        // A run that stops early is not as planned either.
        let mut trace = begin();
        trace.allocate(1000);
        let outcome = trace.end();
        assert_eq!((outcome.events, outcome.keeps), (Some(vec![A]), true));
        assert_eq!(begin().end().events, Some(vec![]));
    }

    #[test]
    fn an_output_is_where_the_program_wants_it_if_it_can_be() {
        let plan = Arc::new(AllocationPlan::new(vec![A, B], &[(1, 0)]));
        for place in [Some(0x9000), None] {
            let mut trace = AllocationTrace::planned(plan.clone(), vec![place], None);
            assert_eq!(trace.allocate(1000), (0, None));
            assert_eq!(trace.allocate(100), (1, place));
            assert!(trace.end().events.is_none());
        }
    }
}
