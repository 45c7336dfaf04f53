//! The state of everything, and the queues of work.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::capture::Capture;
use crate::clock::{Clock, HOST, Point};
use crate::config::Config;
use crate::context::{Context, Device};
use crate::event::{Event, Recorded};
use crate::fault::Faults;
use crate::graph::{Exec, Graph};
use crate::green::{GreenContext, ResourceDescription};
use crate::handle::Handles;
use crate::memory::{Memory, Pool};
use crate::module::{Function, Module};
use crate::nvinfer::Alive;
use crate::report::{ReportKind, Reports, Site};
use crate::schedule::{Candidate, Mode, Schedule};
use crate::status::Status;
use crate::stream::{Stream, StreamKind};
use crate::user_object::{Kept, UserObject};
use crate::work::{Body, Done, Op, Queue};

/// After so much work, the log forgets the oldest.
const LOG_LIMIT: usize = 1 << 18;

/// Everything there is.
pub(crate) struct Driver {
    pub(crate) config: Config,
    pub(crate) initialized: bool,
    /// How often everything was reset, so that threads forget their contexts.
    pub(crate) generation: u64,
    pub(crate) schedule: Schedule,
    /// By slot. Slot 0 is the host, whose queue stays empty.
    pub(crate) queues: Vec<Queue>,
    /// Everything that the host has waited for.
    pub(crate) host: Clock,
    pub(crate) memory: Memory,
    pub(crate) devices: Vec<Device>,
    pub(crate) peers: HashSet<(usize, usize)>,
    pub(crate) pools: Handles<Pool>,
    pub(crate) contexts: Handles<Context>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) execs: Handles<Exec>,
    pub(crate) user_objects: Handles<UserObject>,
    /// References to user objects that nobody has but launches that run.
    pub(crate) given_up: Vec<(Option<Recorded>, Vec<Kept>)>,
    pub(crate) green: Handles<GreenContext>,
    pub(crate) descriptions: Handles<ResourceDescription>,
    pub(crate) captures: Vec<Capture>,
    /// Objects of TensorRT's.
    pub(crate) nvinfer: Alive,
    pub(crate) faults: Faults,
    pub(crate) reports: Reports,
    pub(crate) log: VecDeque<Done>,
    /// Work that is claimed, for the worker threads.
    pub(crate) jobs: VecDeque<Op>,
    /// How much work is claimed and not done.
    pub(crate) running: usize,
    /// How much work is not claimed.
    pub(crate) waiting: usize,
    /// Places in the order that other stand-ins asked to remember.
    pub(crate) marks: Vec<Recorded>,
    /// How often the host stood still for work.
    pub(crate) waits: u64,
    calls: u64,
    numbers: u64,
    names: u64,
    /// The stand-in's own time, in milliseconds.
    time: f64,
}

impl Driver {
    pub(crate) fn new(config: Config, generation: u64) -> Self {
        let mut host = Clock::default();
        host.set(HOST, 1);
        let fill = config.mode == Mode::Seeded;
        let mut driver = Self {
            initialized: false,
            generation,
            schedule: Schedule::new(config.seed, config.eagerness),
            queues: vec![Queue::new("host".into(), 0, 0)],
            host,
            memory: Memory::new(config.devices, config.memory, fill),
            devices: Vec::new(),
            peers: HashSet::new(),
            pools: Handles::new(1),
            contexts: Handles::new(2),
            streams: Handles::new(3),
            events: Handles::new(4),
            modules: Handles::new(5),
            functions: Handles::new(6),
            graphs: Handles::new(7),
            execs: Handles::new(8),
            user_objects: Handles::new(11),
            given_up: Vec::new(),
            green: Handles::new(9),
            descriptions: Handles::new(10),
            captures: Vec::new(),
            nvinfer: Alive::default(),
            faults: Faults::default(),
            reports: Reports::default(),
            log: VecDeque::new(),
            jobs: VecDeque::new(),
            running: 0,
            waiting: 0,
            marks: Vec::new(),
            waits: 0,
            calls: 0,
            numbers: 0,
            names: 0,
            time: 0.0,
            config,
        };
        for device in 0..driver.memory.arenas.len() {
            let pool = driver.pools.insert(Pool::new(device, true));
            driver.devices.push(Device {
                primary: None,
                retained: 0,
                primary_flags: 0,
                default_pool: pool,
                current_pool: pool,
                sticky: None,
            });
        }
        driver
    }

    /// A number that no other object has.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    /// A call of the host, for reports.
    pub(crate) fn host_site(&mut self, name: &str) -> Arc<Site> {
        self.calls += 1;
        Arc::new(Site {
            name: name.into(),
            stream: "host".into(),
            sequence: self.calls,
        })
    }

    /// A slot for a new queue. Slots of queues that are gone are used again, but only once the
    /// host has waited for all that was in them: else work of the old queue would seem ordered
    /// before that of the new one.
    pub(crate) fn new_queue(&mut self, label: Arc<str>, device: usize, context: u64) -> usize {
        let free = (1..self.queues.len()).find(|&slot| {
            let queue = &self.queues[slot];
            queue.retired && queue.is_idle() && self.host.get(slot) >= queue.last
        });
        let queue = Queue::new(label, device, context);
        match free {
            Some(slot) => {
                let last = self.queues[slot].last;
                self.queues[slot] = Queue {
                    last,
                    completed: last,
                    ..queue
                };
                slot
            }
            None => {
                self.queues.push(queue);
                self.queues.len() - 1
            }
        }
    }

    /// Whether a piece of work is done.
    pub(crate) fn is_done(&self, point: Point) -> bool {
        self.queues[point.slot].completed >= point.epoch
    }

    /// What is ordered before new work of a stream by the rules of the legacy default stream.
    fn implicit_order(&self, stream: &Stream) -> Vec<Recorded> {
        let slots: Vec<usize> = match stream.kind {
            // Also what streams that are gone left behind.
            StreamKind::Legacy => (1..self.queues.len())
                .filter(|&slot| self.queues[slot].blocking)
                .filter(|&slot| self.queues[slot].context == stream.context)
                .collect(),
            _ if stream.is_blocking() => self
                .contexts
                .get(stream.context)
                .ok()
                .and_then(|context| context.legacy)
                .and_then(|legacy| self.streams.get(legacy).ok())
                .map(|legacy| legacy.queue)
                .into_iter()
                .collect(),
            _ => Vec::new(),
        };
        slots
            .into_iter()
            .filter_map(|slot| self.tail(slot))
            .collect()
    }

    /// The end of all work in a queue, if there ever was any.
    pub(crate) fn tail(&self, slot: usize) -> Option<Recorded> {
        let queue = &self.queues[slot];
        (queue.last > 0).then(|| Recorded {
            point: Point {
                slot,
                epoch: queue.last,
            },
            clock: Arc::new(queue.clock.clone()),
        })
    }

    /// The end of all work in a stream, which includes what the legacy default stream waits for.
    pub(crate) fn stream_tail(&self, stream: &Stream) -> Vec<Recorded> {
        let mut tails: Vec<Recorded> = self.tail(stream.queue).into_iter().collect();
        if stream.kind == StreamKind::Legacy {
            tails.extend(self.implicit_order(stream));
        }
        tails
    }

    /// Enqueues work in a stream that is not being captured.
    pub(crate) fn push(
        &mut self,
        stream: u64,
        name: &str,
        body: Body,
        after: &[Recorded],
    ) -> Result<Recorded, Status> {
        let stream = self.streams.get(stream)?;
        let (slot, device) = (stream.queue, stream.device);
        let mut before = self.implicit_order(stream);
        before.extend_from_slice(after);
        Ok(self.push_to_queue(slot, device, name, body, &before))
    }

    /// Enqueues work in a queue.
    pub(crate) fn push_to_queue(
        &mut self,
        slot: usize,
        device: usize,
        name: &str,
        body: Body,
        before: &[Recorded],
    ) -> Recorded {
        self.numbers += 1;
        self.waiting += 1;
        let after = before
            .iter()
            .map(|recorded| recorded.point)
            .filter(|point| !self.is_done(*point))
            .collect();
        let queue = &mut self.queues[slot];
        queue.last += 1;
        queue.sequence += 1;
        let point = Point {
            slot,
            epoch: queue.last,
        };
        queue.clock.join(&self.host);
        for recorded in before {
            queue.clock.join(&recorded.clock);
        }
        queue.clock.set(slot, point.epoch);
        let clock = Arc::new(queue.clock.clone());
        let site = Arc::new(Site {
            name: name.into(),
            stream: queue.label.clone(),
            sequence: queue.sequence,
        });
        queue.pending.push_back(Op {
            point,
            number: self.numbers,
            site,
            clock: clock.clone(),
            after,
            device,
            body,
        });
        // What the host does from now on is not before this work.
        self.host.set(HOST, self.host.get(HOST) + 1);
        Recorded { point, clock }
    }

    /// Everything that may run now.
    fn candidates(&self, target: Option<&Clock>) -> Vec<Candidate> {
        self.queues
            .iter()
            .enumerate()
            .filter(|(_, queue)| !queue.running)
            .filter_map(|(slot, queue)| {
                let op = queue.pending.front()?;
                let ready = op.after.iter().all(|point| self.is_done(*point));
                ready.then(|| Candidate {
                    slot,
                    number: op.number,
                    copy: op.body.is_copy(),
                    needed: target.is_none_or(|target| target.knows(op.point)),
                })
            })
            .collect()
    }

    /// Claims the piece of work that runs next, if any may run. `target` is what somebody waits
    /// for.
    pub(crate) fn claim(&mut self, target: Option<&Clock>) -> Option<Op> {
        let mut candidates = self.candidates(target);
        let chosen = match self.config.mode {
            Mode::Free => candidates.iter().min_by_key(|c| c.number).copied(),
            Mode::Seeded => {
                if target.is_some() && self.schedule.keep_to_needed() {
                    candidates.retain(|candidate| candidate.needed);
                }
                self.schedule.pick(&candidates)
            }
        }?;
        let queue = &mut self.queues[chosen.slot];
        let op = queue.pending.pop_front()?;
        queue.running = true;
        self.running += 1;
        self.waiting -= 1;
        Some(op)
    }

    /// Ends a piece of work.
    pub(crate) fn complete(&mut self, op: &Op, done: Done, failed: Option<u32>) {
        self.time += 0.001 + done.bytes as f64 * 1e-9;
        if let Body::Record { event, id } = op.body
            && self.events.id(event) == id
            && let Ok(event) = self.events.get_mut(event)
            && event
                .recorded
                .as_ref()
                .is_some_and(|recorded| recorded.point == op.point)
        {
            event.time = Some(self.time);
        }
        let queue = &mut self.queues[op.point.slot];
        queue.completed = op.point.epoch;
        queue.running = false;
        self.running -= 1;
        let mut failed = failed;
        if matches!(op.body, Body::Kernel(_)) {
            failed = failed.or_else(|| self.faults.kernel());
        }
        if let (Some(code), Some(device)) = (failed, self.devices.get_mut(op.device)) {
            device.sticky.get_or_insert(code);
        }
        if self.log.len() >= LOG_LIMIT {
            self.log.pop_front();
        }
        self.log.push_back(done);
    }

    /// The host has waited for something.
    pub(crate) fn host_knows(&mut self, clock: &Clock) {
        self.host.join(clock);
    }

    /// The ends of all queues that a filter lets through.
    pub(crate) fn tails(&self, filter: impl Fn(&Queue) -> bool) -> Vec<Recorded> {
        (1..self.queues.len())
            .filter(|&slot| filter(&self.queues[slot]))
            .filter_map(|slot| self.tail(slot))
            .collect()
    }

    /// Reports what is wrong with how the host uses something.
    pub(crate) fn report(&mut self, kind: ReportKind, message: String, site: &Site) {
        self.reports.add(kind, message, vec![site.clone()]);
    }
}
