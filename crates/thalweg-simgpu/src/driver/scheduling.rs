//! The scheduling of work: queues, the work that may run, and the work that runs next.

use std::sync::Arc;

use super::{Driver, LOG_LIMIT};
use crate::clock::{Clock, Epoch, HOST, Timestamp};
use crate::config::Mode;
use crate::objects::{Stream, StreamKind};
use crate::report::Site;
use crate::schedule::Candidate;
use crate::status::Status;
use crate::work::{Body, Done, Op, Queue};

impl Driver {
    /// Enqueues work in a stream that is not being captured.
    pub(crate) fn enqueue(
        &mut self,
        stream: u64,
        name: &str,
        body: Body,
        after: &[Timestamp],
    ) -> Result<Timestamp, Status> {
        let stream = self.streams.get(stream)?;
        let (slot, device) = (stream.queue, stream.device);
        let mut before = self.implicit_order(stream);
        before.extend_from_slice(after);
        Ok(self.enqueue_in_queue(slot, device, name, body, &before))
    }

    /// Enqueues work in a queue.
    pub(crate) fn enqueue_in_queue(
        &mut self,
        slot: usize,
        device: usize,
        name: &str,
        body: Body,
        before: &[Timestamp],
    ) -> Timestamp {
        self.numbers += 1;
        self.waiting += 1;
        let after = before
            .iter()
            .map(|recorded| recorded.epoch)
            .filter(|epoch| !self.is_complete(*epoch))
            .collect();
        let queue = &mut self.queues[slot];
        queue.last += 1;
        queue.sequence += 1;
        let epoch = Epoch {
            slot,
            count: queue.last,
        };
        queue.clock.join(&self.host);
        for recorded in before {
            queue.clock.join(&recorded.clock);
        }
        queue.clock.set(slot, epoch.count);
        let clock = Arc::new(queue.clock.clone());
        let site = Arc::new(Site {
            name: name.into(),
            stream: queue.label.clone(),
            sequence: queue.sequence,
        });
        queue.pending.push_back(Op {
            epoch,
            number: self.numbers,
            site,
            clock: clock.clone(),
            after,
            device,
            body,
        });
        // What the host does from now on is not before this work.
        self.host.set(HOST, self.host.get(HOST) + 1);
        Timestamp { epoch, clock }
    }

    /// All work that may run now.
    fn candidates(&self, target: Option<&Clock>) -> Vec<Candidate> {
        self.queues
            .iter()
            .enumerate()
            .filter(|(_, queue)| !queue.running)
            .filter_map(|(slot, queue)| {
                let op = queue.pending.front()?;
                let ready = op.after.iter().all(|epoch| self.is_complete(*epoch));
                ready.then(|| Candidate {
                    slot,
                    number: op.number,
                    copy: op.body.is_copy(),
                    needed: target.is_none_or(|target| target.knows(op.epoch)),
                })
            })
            .collect()
    }

    /// Claims the work that runs next, if any may run. `target` is the clock that the host waits
    /// for.
    pub(crate) fn claim(&mut self, target: Option<&Clock>) -> Option<Op> {
        let mut candidates = self.candidates(target);
        let chosen = match self.config.mode {
            Mode::Free => candidates.iter().min_by_key(|c| c.number).copied(),
            Mode::Seeded => {
                if target.is_some() && self.schedule.runs_only_needed() {
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

    /// Completes a piece of work.
    pub(crate) fn complete(&mut self, op: &Op, done: Done, failed: Option<u32>) {
        self.time += 0.001 + done.bytes as f64 * 1e-9;
        if let Body::Record { event, id } = op.body
            && self.events.id(event) == id
            && let Ok(event) = self.events.get_mut(event)
            && event
                .recorded
                .as_ref()
                .is_some_and(|recorded| recorded.epoch == op.epoch)
        {
            event.time = Some(self.time);
        }
        let queue = &mut self.queues[op.epoch.slot];
        queue.completed = op.epoch.count;
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

    /// A slot for a new queue. The slot of a retired queue is used again, but only once the host
    /// has waited for all work in it: else that work would seem ordered before the work of the new
    /// queue.
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

    /// Returns true if a piece of work is complete.
    pub(crate) fn is_complete(&self, epoch: Epoch) -> bool {
        self.queues[epoch.slot].completed >= epoch.count
    }

    /// The work that the rules of the legacy default stream order before new work of a stream.
    fn implicit_order(&self, stream: &Stream) -> Vec<Timestamp> {
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
    pub(crate) fn tail(&self, slot: usize) -> Option<Timestamp> {
        let queue = &self.queues[slot];
        (queue.last > 0).then(|| Timestamp {
            epoch: Epoch {
                slot,
                count: queue.last,
            },
            clock: Arc::new(queue.clock.clone()),
        })
    }

    /// The ends of all work in a stream, and of what the legacy default stream waits for.
    pub(crate) fn stream_tail(&self, stream: &Stream) -> Vec<Timestamp> {
        let mut tails: Vec<Timestamp> = self.tail(stream.queue).into_iter().collect();
        if stream.kind == StreamKind::Legacy {
            tails.extend(self.implicit_order(stream));
        }
        tails
    }

    /// The ends of all queues that a filter lets through.
    pub(crate) fn tails(&self, filter: impl Fn(&Queue) -> bool) -> Vec<Timestamp> {
        (1..self.queues.len())
            .filter(|&slot| filter(&self.queues[slot]))
            .filter_map(|slot| self.tail(slot))
            .collect()
    }

    /// Adds work that the host has waited for to its clock.
    pub(crate) fn host_knows(&mut self, clock: &Clock) {
        self.host.join(clock);
    }
}
