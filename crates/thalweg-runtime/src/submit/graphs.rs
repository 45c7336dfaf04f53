//! Graphs of batches.
//!
//! If the very same batch was submitted often enough, it is captured as a graph; and if there is a graph
//! of it, that is launched instead. There is no list of what invalidates a graph: it is right if it does
//! what would be submitted now.

use thalweg_core::DeviceGraph;

use super::batch::Command;

/// The batches that calls of an instance have on one device, and their graphs.
#[derive(Default)]
pub(super) struct Graphs {
    known: Vec<SeenBatch>,
    /// The number of batches so far.
    clock: u64,
    /// The index of the last one that was found. The next one is likely to follow it.
    at: usize,
}

/// A batch that was submitted before.
struct SeenBatch {
    commands: Vec<Command>,
    /// The number of submissions without a graph.
    seen: u32,
    graph: Option<Box<dyn DeviceGraph>>,
    last: u64,
}

/// The way to submit a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Submit the commands one by one.
    Submit,
    /// Capture them, as the graph of the batch with this number.
    Capture(usize),
    /// Launch the graph of the batch with this number.
    Launch(usize),
}

/// The number of batches that are remembered. The least recently used one is replaced.
const CAPACITY: usize = 16;

/// The third submission of a batch is captured. A delegate may defer some of its setup to its first
/// submission, and two equal batches may be a coincidence.
const SUBMISSIONS_BEFORE_CAPTURE: u32 = 2;

/// A batch that could not be captured is not tried again.
const NEVER: u32 = u32::MAX;

impl Graphs {
    /// The way to submit commands; and the graph of a batch that was replaced, which may still run.
    pub(super) fn choose(
        &mut self,
        commands: &[Command],
    ) -> (Choice, Option<Box<dyn DeviceGraph>>) {
        let has_work = commands
            .iter()
            .any(|command| matches!(command, Command::Delegate { .. }));
        // A few copies by themselves cost no more than a graph.
        if !has_work {
            return (Choice::Submit, None);
        }
        self.clock += 1;
        let count = self.known.len();
        let mut places = (0..count).map(|step| (self.at + 1 + step) % count);
        if let Some(index) = places.find(|&index| self.known[index].commands == commands) {
            self.at = index;
            let known = &mut self.known[index];
            known.last = self.clock;
            let choice = match known.seen {
                _ if known.graph.is_some() => Choice::Launch(index),
                NEVER => Choice::Submit,
                seen if seen >= SUBMISSIONS_BEFORE_CAPTURE => Choice::Capture(index),
                _ => {
                    known.seen += 1;
                    Choice::Submit
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
            Some((index, _)) if count >= CAPACITY => index,
            _ => {
                self.known.push(SeenBatch {
                    commands: Vec::new(),
                    seen: 0,
                    graph: None,
                    last: 0,
                });
                count
            }
        };
        self.at = index;
        let known = &mut self.known[index];
        known.commands.clear();
        known.commands.extend_from_slice(commands);
        known.seen = 1;
        known.last = self.clock;
        (Choice::Submit, known.graph.take())
    }

    /// Keeps the graph of a batch.
    pub(super) fn keep(&mut self, index: usize, graph: Box<dyn DeviceGraph>) {
        self.known[index].graph = Some(graph);
    }

    /// The graph of a batch, if it has one.
    pub(super) fn graph(&self, index: usize) -> Option<&dyn DeviceGraph> {
        self.known.get(index)?.graph.as_deref()
    }

    /// Takes note that a batch could not be captured on its stream, as on the legacy one.
    pub(super) fn retry_later(&mut self, index: usize) {
        self.known[index].seen = 0;
    }

    /// Takes note that a batch cannot be captured.
    pub(super) fn never_capture(&mut self, index: usize) {
        self.known[index].seen = NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_core::{DeviceAddress, GraphKey, Result, StreamHandle};

    struct Graph;

    #[allow(unsafe_code, reason = "the trait says so")]
    impl DeviceGraph for Graph {
        unsafe fn launch(&self, _: StreamHandle) -> Result<()> {
            Ok(())
        }
    }

    fn batch(key: u64) -> [Command; 2] {
        let copy = Command::Upload {
            to: DeviceAddress(256),
            from: 64,
            len: 8,
        };
        [
            copy,
            Command::Delegate {
                index: 0,
                key: GraphKey(key),
                instruction: 1,
            },
        ]
    }

    #[test]
    fn the_third_equal_batch_is_captured_and_then_launched() {
        let mut graphs = Graphs::default();
        assert_eq!(graphs.choose(&batch(1)).0, Choice::Submit);
        assert_eq!(graphs.choose(&batch(1)).0, Choice::Submit);
        assert_eq!(graphs.choose(&batch(1)).0, Choice::Capture(0));
        graphs.keep(0, Box::new(Graph));
        assert_eq!(graphs.choose(&batch(1)).0, Choice::Launch(0));
        // Others have graphs of their own, and do not disturb it.
        for _ in 0..2 {
            assert_eq!(graphs.choose(&batch(2)).0, Choice::Submit);
            assert_eq!(graphs.choose(&batch(1)).0, Choice::Launch(0));
        }
        assert_eq!(graphs.choose(&batch(2)).0, Choice::Capture(1));
    }

    #[test]
    fn a_batch_that_cannot_be_captured_is_not_tried_again() {
        let mut graphs = Graphs::default();
        for _ in 0..2 {
            graphs.choose(&batch(1));
        }
        assert_eq!(graphs.choose(&batch(1)).0, Choice::Capture(0));
        graphs.never_capture(0);
        for _ in 0..5 {
            assert_eq!(graphs.choose(&batch(1)).0, Choice::Submit);
        }
    }

    #[test]
    fn copies_alone_are_no_graph() {
        let mut graphs = Graphs::default();
        for _ in 0..5 {
            assert_eq!(graphs.choose(&batch(1)[..1]).0, Choice::Submit);
        }
    }

    #[test]
    fn the_least_recently_used_batch_is_replaced_with_its_graph() {
        let mut graphs = Graphs::default();
        for _ in 0..3 {
            graphs.choose(&batch(0));
        }
        graphs.keep(0, Box::new(Graph));
        for key in 1..CAPACITY as u64 {
            assert!(graphs.choose(&batch(key)).1.is_none());
        }
        // This one is used, so that another one goes.
        assert_eq!(graphs.choose(&batch(0)).0, Choice::Launch(0));
        assert!(graphs.choose(&batch(100)).1.is_none());
        assert_eq!(graphs.choose(&batch(0)).0, Choice::Launch(0));
        let gone = (101..100 + CAPACITY as u64).filter_map(|key| graphs.choose(&batch(key)).1);
        assert_eq!(gone.count(), 0);
        assert!(graphs.choose(&batch(200)).1.is_some());
        assert_eq!(graphs.choose(&batch(0)).0, Choice::Submit);
        assert_eq!(graphs.known.len(), CAPACITY);
    }
}
