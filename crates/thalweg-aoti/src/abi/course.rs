//! The course of a run: what a library allocates and frees on the device meanwhile.
//!
//! A library allocates its outputs and temporaries itself, one by one, without saying what will become of
//! them. But it does so in the same order each time. So a first run with some shapes shows what there is to
//! allocate, and a [`Plan`] says where: what becomes an output, in the output's own memory, and the rest in
//! one workspace, in which it shares room as the first run has freed it. Later runs are held against the
//! plan, step by step. As soon as one does something else, it has no more of the workspace, whose room the
//! plan has counted out.
#![forbid(unsafe_code)]

use std::sync::Arc;

use thalweg_core::{Result, bail};

use crate::omit::{Rule, omitted};

/// What a run with some shapes allocates, and where.
#[derive(Debug)]
pub(crate) struct Plan {
    acts: Vec<Act>,
    /// By allocation.
    rooms: Vec<Room>,
    workspace: u64,
}

/// Something that a library does with memory of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// It allocates so many bytes.
    Allocate(u64),
    /// It frees the allocation of this number.
    Free(usize),
}

/// Where an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// Where the program wants the output of this number.
    Output(usize),
    /// So many bytes into the workspace.
    Workspace(u64),
}

/// Rooms start at multiples of this, as memory of a device does.
const ALIGNMENT: u64 = 256;

impl Plan {
    /// A plan for doing the same once more. `outputs`: the allocations that can be where the program wants
    /// an output, and which output that is.
    pub(crate) fn new(acts: Vec<Act>, outputs: &[(usize, usize)]) -> Self {
        let mut rooms = Vec::new();
        // Where there is something, in order: start, end, and which allocation it is.
        let mut taken: Vec<(u64, u64, usize)> = Vec::new();
        let mut workspace = 0;
        for act in &acts {
            match *act {
                Act::Allocate(bytes) => {
                    let number = rooms.len();
                    if let Some((_, output)) = outputs.iter().find(|(of, _)| *of == number) {
                        rooms.push(Room::Output(*output));
                        continue;
                    }
                    let len = bytes.max(1).next_multiple_of(ALIGNMENT);
                    let (index, start) = first_gap(&taken, len);
                    taken.insert(index, (start, start + len, number));
                    workspace = workspace.max(start + len);
                    rooms.push(Room::Workspace(start));
                }
                Act::Free(number) => taken.retain(|(_, _, of)| *of != number),
            }
        }
        Self {
            acts,
            rooms,
            workspace,
        }
    }

    /// How many bytes the workspace has to have.
    pub(crate) fn workspace(&self) -> u64 {
        self.workspace
    }
}

/// The first place for so many bytes: what it comes before, and where it is.
fn first_gap(taken: &[(u64, u64, usize)], len: u64) -> (usize, u64) {
    let mut start = 0;
    for (index, (next, end, _)) in taken.iter().enumerate() {
        if next - start >= len {
            return (index, start);
        }
        start = *end;
    }
    (taken.len(), start)
}

/// How a run goes.
#[derive(Debug, Default)]
pub(crate) struct Course {
    plan: Option<Arc<Plan>>,
    /// Where outputs are wanted, as far as they can be there.
    outputs: Vec<Option<u64>>,
    /// Where the workspace is, if there is one. It is as large as the plan wants it.
    workspace: Option<u64>,
    /// How many acts there were as planned.
    done: usize,
    /// All acts, if there is no plan or they are others.
    acts: Option<Vec<Act>>,
    allocations: usize,
    /// How many allocations were not freed yet.
    live: usize,
}

/// What became of a run.
#[derive(Debug, Default)]
pub(crate) struct Ran {
    /// What it did, unless that was as planned.
    pub(crate) acts: Option<Vec<Act>>,
    /// Whether the library has kept something that it has allocated, beside its outputs.
    pub(crate) keeps: bool,
    /// What it did that a graph cannot hold, the first of it.
    pub(crate) not_in_graphs: Option<&'static str>,
}

impl Course {
    /// A run of which nothing is known.
    pub(crate) fn unknown() -> Self {
        Self {
            acts: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// A run by a plan.
    pub(crate) fn planned(
        plan: Arc<Plan>,
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

    /// The next allocation: its number, and where it is, if that is planned.
    pub(crate) fn allocate(&mut self, bytes: u64) -> (usize, Option<u64>) {
        let number = self.allocations;
        self.allocations += 1;
        self.live += 1;
        if !self.goes_as_planned(Act::Allocate(bytes)) {
            return (number, None);
        }
        let room = self.plan.as_ref().and_then(|plan| plan.rooms.get(number));
        let address = match room {
            Some(Room::Output(output)) => self.outputs.get(*output).copied().flatten(),
            Some(Room::Workspace(offset)) => self.workspace.map(|start| start + offset),
            None => None,
        };
        (number, address)
    }

    pub(crate) fn free(&mut self, number: usize) {
        self.live = self.live.saturating_sub(1);
        self.goes_as_planned(Act::Free(number));
    }

    fn goes_as_planned(&mut self, act: Act) -> bool {
        if let Some(acts) = &mut self.acts {
            acts.push(act);
            return false;
        }
        let planned = self.plan.as_ref().map_or(&[][..], |plan| &plan.acts);
        if planned.get(self.done) == Some(&act) || omitted(Rule::HoldAgainstPlan) {
            self.done += 1;
            return true;
        }
        let before = planned.iter().take(self.done).copied();
        self.acts = Some(before.chain([act]).collect());
        false
    }

    /// The end of the run.
    pub(crate) fn end(self) -> Ran {
        let planned = self.plan.as_ref().map_or(&[][..], |plan| &plan.acts);
        let stopped = self.acts.is_none() && self.done != planned.len();
        Ran {
            acts: match stopped {
                true => Some(planned.iter().take(self.done).copied().collect()),
                false => self.acts,
            },
            keeps: self.live > 0,
            not_in_graphs: None,
        }
    }
}

impl Ran {
    /// Whether it did what was recorded of it, and nothing else.
    ///
    /// # Errors
    /// If not.
    pub(crate) fn check_recorded(&self) -> Result<()> {
        if self.acts.is_some() || self.keeps {
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

    const A: Act = Act::Allocate(1000);
    const B: Act = Act::Allocate(100);

    fn rooms(acts: &[Act], outputs: &[(usize, usize)]) -> (Vec<Room>, u64) {
        let plan = Plan::new(acts.to_vec(), outputs);
        (plan.rooms, plan.workspace)
    }

    #[test]
    fn what_is_there_at_the_same_time_has_room_of_its_own_and_the_rest_shares() {
        use Act::Free;
        use Room::Workspace;
        assert_eq!(rooms(&[], &[]), (vec![], 0));
        assert_eq!(
            rooms(&[A, B, Free(0), B, A, Free(1), B], &[]),
            ([0, 1024, 0, 1280, 256].map(Workspace).to_vec(), 1280 + 1024)
        );
        assert_eq!(
            rooms(&[A, B, Free(1), B, Free(0), A], &[(0, 7)]),
            (
                vec![Room::Output(7), Workspace(0), Workspace(0), Workspace(256)],
                256 + 1024
            )
        );
    }

    #[test]
    fn rooms_never_overlap_while_both_are_in_use() {
        let mut seed = 1u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let (mut acts, mut live, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..60 {
                if live.is_empty() || random(2) == 0 {
                    let bytes = random(3000);
                    live.push(sizes.len());
                    sizes.push(bytes);
                    acts.push(Act::Allocate(bytes));
                } else {
                    let freed = live.swap_remove(random(live.len() as u64) as usize);
                    acts.push(Act::Free(freed));
                }
            }
            let plan = Plan::new(acts.clone(), &[]);
            let range = |number: usize| match plan.rooms[number] {
                Room::Workspace(start) => start..start + sizes[number].max(1),
                Room::Output(_) => unreachable!("there are none"),
            };
            let mut live: Vec<usize> = Vec::new();
            let mut count = 0;
            for act in acts {
                match act {
                    Act::Allocate(_) => {
                        let new = range(count);
                        assert!(new.end <= plan.workspace);
                        for other in live.iter().map(|other| range(*other)) {
                            assert!(new.end <= other.start || other.end <= new.start);
                        }
                        live.push(count);
                        count += 1;
                    }
                    Act::Free(number) => live.retain(|other| *other != number),
                }
            }
        }
    }

    #[test]
    fn a_run_that_does_something_else_has_no_more_of_the_workspace() {
        let acts = vec![A, B, Act::Free(0), B];
        let plan = Arc::new(Plan::new(acts.clone(), &[(3, 0)]));
        let begin = || Course::planned(plan.clone(), vec![Some(0x9000)], Some(0x1000));
        let mut course = begin();
        assert_eq!(course.allocate(1000), (0, Some(0x1000)));
        assert_eq!(course.allocate(100), (1, Some(0x1400)));
        course.free(0);
        assert_eq!(course.allocate(100), (2, Some(0x1000)));
        course.free(1);
        course.free(2);
        // Two more than planned.
        let ran = course.end();
        assert_eq!(ran.acts.as_ref().map(Vec::len), Some(6));
        assert!(!ran.keeps);

        // What the plan puts where the first allocation was is not there while that is in use.
        let mut course = begin();
        course.allocate(1000);
        course.allocate(100);
        assert_eq!(course.allocate(100), (2, None));
        assert_eq!(course.allocate(100), (3, None));
        assert_eq!(course.end().acts, Some(vec![A, B, B, B]));

        let mut course = begin();
        assert_eq!(course.allocate(1001), (0, None));
        course.free(0);
        assert_eq!(
            course.end().acts,
            Some(vec![Act::Allocate(1001), Act::Free(0)])
        );

        // A run that stops early is not as planned either.
        let mut course = begin();
        course.allocate(1000);
        let ran = course.end();
        assert_eq!((ran.acts, ran.keeps), (Some(vec![A]), true));
        assert_eq!(begin().end().acts, Some(vec![]));
    }

    #[test]
    fn an_output_is_where_the_program_wants_it_if_it_can_be() {
        let plan = Arc::new(Plan::new(vec![A, B], &[(1, 0)]));
        for place in [Some(0x9000), None] {
            let mut course = Course::planned(plan.clone(), vec![place], None);
            assert_eq!(course.allocate(1000), (0, None));
            assert_eq!(course.allocate(100), (1, place));
            assert!(course.end().acts.is_none());
        }
    }
}
