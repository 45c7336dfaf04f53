//! Stretches: all that a call asks a device for between two times that the host has to wait for it.
//!
//! A call that may use graphs does not ask for anything at once. It collects tasks, until it has to
//! wait, or to do something that cannot be put off; then they are asked for, all together. If the
//! very same tasks were asked for often enough before, they are recorded as a graph; and if there is
//! a graph of them, it is launched instead. So whether a graph is still right is no question of what
//! has changed since: it is right if it does what would be asked for now.

use super::{DeviceAddress, DeviceGraph};

/// Something to ask a device for, on the stream of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Upload {
        to: DeviceAddress,
        from: usize,
        len: usize,
    },
    Download {
        to: usize,
        from: DeviceAddress,
        len: usize,
    },
    Copy {
        to: DeviceAddress,
        from: DeviceAddress,
        len: usize,
    },
    /// What a delegate of the method has prepared, for the instruction with a number. With the same
    /// stamp it is the same.
    Delegate {
        index: usize,
        stamp: u64,
        instruction: usize,
    },
}

/// The stretches that calls of an instance have on one device, and their graphs.
#[derive(Default)]
pub(crate) struct Graphs {
    known: Vec<Known>,
    /// How many stretches there have been.
    clock: u64,
    /// Where the last one was found: the next one is likely to be behind it.
    at: usize,
}

/// A stretch that was seen.
struct Known {
    tasks: Vec<Task>,
    /// How often, without a graph.
    seen: u32,
    graph: Option<Box<dyn DeviceGraph>>,
    last: u64,
}

/// What to do with the tasks of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Ask for them one by one.
    Ask,
    /// Record them, as the graph of the stretch with this number.
    Record(usize),
    /// Launch the graph of the stretch with this number.
    Launch(usize),
}

/// So many stretches are remembered. The one that was used longest ago goes when there is another.
const KEPT: usize = 16;

/// The third time that tasks are the same, they are recorded. A delegate may put something off until
/// its work is asked for the first time, and what happens twice may be a coincidence.
const OFTEN: u32 = 2;

/// A stretch that could not be recorded is not tried again.
const NEVER: u32 = u32::MAX;

impl Graphs {
    /// What to do with tasks, and, where one was forgotten for it, a graph that may still run.
    pub(crate) fn choose(&mut self, tasks: &[Task]) -> (Choice, Option<Box<dyn DeviceGraph>>) {
        let has_work = tasks
            .iter()
            .any(|task| matches!(task, Task::Delegate { .. }));
        // A few copies by themselves cost no more than a graph.
        if !has_work {
            return (Choice::Ask, None);
        }
        self.clock += 1;
        let count = self.known.len();
        let mut places = (0..count).map(|step| (self.at + 1 + step) % count);
        if let Some(index) = places.find(|&index| self.known[index].tasks == tasks) {
            self.at = index;
            let known = &mut self.known[index];
            known.last = self.clock;
            let choice = match known.seen {
                _ if known.graph.is_some() => Choice::Launch(index),
                NEVER => Choice::Ask,
                seen if seen >= OFTEN => Choice::Record(index),
                _ => {
                    known.seen += 1;
                    Choice::Ask
                }
            };
            return (choice, None);
        }
        let oldest = self
            .known
            .iter()
            .enumerate()
            .min_by_key(|(_, known)| known.last);
        let index = match oldest {
            Some((index, _)) if count >= KEPT => index,
            _ => {
                self.known.push(Known {
                    tasks: Vec::new(),
                    seen: 0,
                    graph: None,
                    last: 0,
                });
                count
            }
        };
        self.at = index;
        let known = &mut self.known[index];
        known.tasks.clear();
        known.tasks.extend_from_slice(tasks);
        known.seen = 1;
        known.last = self.clock;
        (Choice::Ask, known.graph.take())
    }

    /// Keeps the graph of a stretch.
    pub(crate) fn keep(&mut self, index: usize, graph: Box<dyn DeviceGraph>) {
        self.known[index].graph = Some(graph);
    }

    /// The graph of a stretch, if it has one.
    pub(crate) fn graph(&self, index: usize) -> Option<&dyn DeviceGraph> {
        self.known.get(index)?.graph.as_deref()
    }

    /// Takes note that a stretch could not be recorded where it was, as on the legacy stream.
    pub(crate) fn later(&mut self, index: usize) {
        self.known[index].seen = 0;
    }

    /// Takes note that a stretch cannot be recorded.
    pub(crate) fn never(&mut self, index: usize) {
        self.known[index].seen = NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Result;
    use crate::device::StreamHandle;

    struct Graph;

    #[allow(unsafe_code, reason = "the trait says so")]
    impl DeviceGraph for Graph {
        unsafe fn launch(&self, _: StreamHandle) -> Result<()> {
            Ok(())
        }
    }

    fn stretch(stamp: u64) -> [Task; 2] {
        let copy = Task::Upload {
            to: DeviceAddress(256),
            from: 64,
            len: 8,
        };
        [
            copy,
            Task::Delegate {
                index: 0,
                stamp,
                instruction: 1,
            },
        ]
    }

    #[test]
    fn what_is_the_same_for_the_third_time_is_recorded_and_then_launched() {
        let mut graphs = Graphs::default();
        assert_eq!(graphs.choose(&stretch(1)).0, Choice::Ask);
        assert_eq!(graphs.choose(&stretch(1)).0, Choice::Ask);
        assert_eq!(graphs.choose(&stretch(1)).0, Choice::Record(0));
        graphs.keep(0, Box::new(Graph));
        assert_eq!(graphs.choose(&stretch(1)).0, Choice::Launch(0));
        // Others have graphs of their own, and do not disturb it.
        for _ in 0..2 {
            assert_eq!(graphs.choose(&stretch(2)).0, Choice::Ask);
            assert_eq!(graphs.choose(&stretch(1)).0, Choice::Launch(0));
        }
        assert_eq!(graphs.choose(&stretch(2)).0, Choice::Record(1));
    }

    #[test]
    fn what_cannot_be_recorded_is_not_tried_again() {
        let mut graphs = Graphs::default();
        for _ in 0..2 {
            graphs.choose(&stretch(1));
        }
        assert_eq!(graphs.choose(&stretch(1)).0, Choice::Record(0));
        graphs.never(0);
        for _ in 0..5 {
            assert_eq!(graphs.choose(&stretch(1)).0, Choice::Ask);
        }
    }

    #[test]
    fn copies_alone_are_no_graph() {
        let mut graphs = Graphs::default();
        for _ in 0..5 {
            assert_eq!(graphs.choose(&stretch(1)[..1]).0, Choice::Ask);
        }
    }

    #[test]
    fn the_stretch_that_was_used_longest_ago_goes_with_its_graph() {
        let mut graphs = Graphs::default();
        for _ in 0..3 {
            graphs.choose(&stretch(0));
        }
        graphs.keep(0, Box::new(Graph));
        for stamp in 1..KEPT as u64 {
            assert!(graphs.choose(&stretch(stamp)).1.is_none());
        }
        // This one is used, so that another one goes.
        assert_eq!(graphs.choose(&stretch(0)).0, Choice::Launch(0));
        assert!(graphs.choose(&stretch(100)).1.is_none());
        assert_eq!(graphs.choose(&stretch(0)).0, Choice::Launch(0));
        let gone = (101..100 + KEPT as u64).filter_map(|stamp| graphs.choose(&stretch(stamp)).1);
        assert_eq!(gone.count(), 0);
        assert!(graphs.choose(&stretch(200)).1.is_some());
        assert_eq!(graphs.choose(&stretch(0)).0, Choice::Ask);
        assert_eq!(graphs.known.len(), KEPT);
    }
}
