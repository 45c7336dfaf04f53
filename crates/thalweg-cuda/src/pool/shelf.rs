//! The blocks of a pool: how they are taken, made, replaced and put back.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use thalweg_core::{Error, ErrorKind, Result, ensure};

use super::block::{Block, forget_complete};
use super::request::{PoolObserver, Request};
use super::sizes::Sizes;
use super::state::{Choice, Loan, Looked, Policy, State};
use super::statistics::PoolStatistics;
use crate::buffer::allocate;
use crate::device::Device;
use crate::handle::StreamId;
use crate::memory::{DeviceMemory, Home};
use crate::mutation::{Rule, disabled};
use crate::order::Uses;
use crate::stream::{CaptureStatus, Stream};

/// All that a pool has. The lock is never held while the driver is called.
pub(super) struct Shelf {
    device: Device,
    policy: Policy,
    state: Mutex<State>,
    /// Something that somebody waits for may be there.
    turn: Condvar,
}

/// A block that was taken.
pub(super) struct Taken {
    pub(super) block: Block,
    pub(super) loan: Loan,
    /// True if nobody else's last use has to be waited for.
    pub(super) is_hit: bool,
    /// True if it was allocated on the stream that it was taken for.
    pub(super) is_new: bool,
}

impl Shelf {
    pub(super) fn new(device: &Device, policy: Policy) -> Self {
        Self {
            device: device.clone(),
            policy,
            state: Mutex::default(),
            turn: Condvar::new(),
        }
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn policy(&self) -> Policy {
        self.policy
    }

    pub(super) fn statistics(&self) -> PoolStatistics {
        let state = self.lock();
        PoolStatistics {
            idle: state.idle_bytes(),
            ..state.statistics
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a block for use on a stream, once the stream has waited for the block's uses. `id` is the
    /// stream's, for those who may know it.
    pub(super) fn take(
        &self,
        stream: &Stream,
        id: StreamId,
        request: &Request<'_>,
    ) -> Result<Taken> {
        let mut looked = Looked::None;
        let mut ticket = None;
        let mut state = self.lock();
        loop {
            let loan = match request.tenant {
                None => Loan::Buffer,
                Some(_) if request.may_last && self.policy.limit.leaves_one(state.calls) => {
                    Loan::Call
                }
                Some(_) => Loan::Enqueue,
            };
            let others_first =
                loan != Loan::Buffer && state.first.is_some() && state.first != ticket;
            let choice = match others_first {
                true => Choice::Wait,
                false => state.choose(self.policy, request, id, looked),
            };
            match choice {
                Choice::Wait => {
                    state = self.wait(state, &mut ticket, request.observer);
                    // All may be different.
                    looked = Looked::None;
                }
                Choice::Look(next, uses) => {
                    drop(state);
                    uses.iter().flatten().for_each(forget_complete);
                    looked = next;
                    state = self.lock();
                }
                Choice::Take { block, is_hit } => {
                    self.has_gone_first(&mut state, ticket);
                    state.lend(loan);
                    return Ok(Taken {
                        block,
                        loan,
                        is_hit,
                        is_new: false,
                    });
                }
                Choice::Replace(old) => {
                    self.has_gone_first(&mut state, ticket);
                    state.lend(loan);
                    drop(state);
                    let replaced = match self.check_capture(stream) {
                        Ok(()) => self.replace(old, stream, request),
                        Err(error) => {
                            self.lock().put_as_it_was(old);
                            Err(error)
                        }
                    };
                    return self.taken(replaced, loan);
                }
                Choice::Make { size, victims } => {
                    self.has_gone_first(&mut state, ticket);
                    state.lend(loan);
                    state.add(size);
                    drop(state);
                    let made = self.make_after(size, victims, stream, request);
                    return self.taken(made, loan);
                }
            }
        }
    }

    /// What was made for a loan, which ends if that has failed.
    fn taken(&self, made: Result<Block>, loan: Loan) -> Result<Taken> {
        match made {
            Ok(block) => Ok(Taken::new(block, loan)),
            Err(error) => {
                self.end_loan(loan);
                Err(error)
            }
        }
    }

    /// Makes a larger block in the place of one that nobody else has, which is freed.
    pub(super) fn replace(
        &self,
        old: Block,
        stream: &Stream,
        request: &Request<'_>,
    ) -> Result<Block> {
        let mut state = self.lock();
        // The old one counts no more.
        state.subtract(old.len());
        let size = state.new_size(self.policy, request.len);
        state.add(size);
        drop(state);
        tracing::debug!(
            device = self.device.ordinal(),
            from = old.len(),
            to = size,
            "a block of a pool grows"
        );
        request.observer.grows(old.len(), size);
        // It goes first, so that the new one can have its memory.
        let made = self
            .free(vec![old], stream)
            .and_then(|()| self.make(stream, size, request));
        let mut state = self.lock();
        match made {
            Ok(block) => {
                state.statistics.growths += 1;
                Ok(block)
            }
            Err(error) => {
                state.subtract(size);
                Err(self.explain(state, error))
            }
        }
    }

    /// Makes a block, which is counted already, after others were freed. Before anything was freed, an
    /// error puts these back.
    fn make_after(
        &self,
        size: usize,
        victims: Vec<Block>,
        stream: &Stream,
        request: &Request<'_>,
    ) -> Result<Block> {
        let count = victims.len() as u64;
        let (made, left) = match self.check_capture(stream) {
            Err(error) => (Err(error), victims),
            Ok(()) => {
                let freed = self.free(victims, stream);
                let made = freed.and_then(|()| self.make(stream, size, request));
                (made, Vec::new())
            }
        };
        let mut state = self.lock();
        state.statistics.trimmed += count - left.len() as u64;
        for block in left {
            state.add(block.len());
            state.put_as_it_was(block);
        }
        made.map_err(|error| {
            state.subtract(size);
            self.explain(state, error)
        })
    }

    /// A block from the driver, which is counted already.
    fn make(&self, stream: &Stream, size: usize, request: &Request<'_>) -> Result<Block> {
        let made = allocate(stream, size).or_else(|error| {
            if error.kind() != ErrorKind::OutOfMemory {
                return Err(error);
            }
            self.make_again(error, stream, size, request)
        });
        let (memory, uses) = made?;
        self.lock().statistics.allocations += 1;
        request.observer.allocated(memory.len());
        Ok(Block {
            memory,
            uses,
            since: 0,
        })
    }

    /// Frees what nobody has, and tries once more.
    #[cold]
    fn make_again(
        &self,
        error: Error,
        stream: &Stream,
        size: usize,
        request: &Request<'_>,
    ) -> Result<(DeviceMemory, Uses)> {
        let mut state = self.lock();
        let unused = state.take_unused();
        state.statistics.trims += u64::from(!unused.is_empty());
        drop(state);
        let is_shared = self.policy.sizes == Sizes::Largest;
        if unused.is_empty() && !is_shared {
            return Err(error);
        }
        let bytes = unused.iter().map(Block::len).sum();
        tracing::debug!(
            device = self.device.ordinal(),
            blocks = unused.len(),
            bytes,
            "memory is out; what nobody has of a pool is freed"
        );
        request.observer.trimmed(unused.len(), bytes);
        self.free(unused, stream)?;
        // Memory comes back when what used it is complete: here on this stream, elsewhere on others. This
        // is the one place where the host waits for that, instead of failing.
        let reclaimed = match is_shared {
            true => {
                stream.synchronize()?;
                self.device.reclaim()
            }
            false => {
                self.device.context().finish_releases()?;
                self.device.trim()
            }
        };
        // What is larger than needed is not worth an error.
        let least = if is_shared { request.len } else { size };
        let made = allocate(stream, least).map_err(|error| reclaimed.err().unwrap_or(error))?;
        let mut state = self.lock();
        state.subtract(size);
        state.add(least);
        Ok(made)
    }

    /// Adds to an error what the pool has.
    #[cold]
    fn explain(&self, state: MutexGuard<'_, State>, error: Error) -> Error {
        let (blocks, held) = (state.statistics.blocks, state.statistics.held);
        drop(state);
        if error.kind() == ErrorKind::Unsupported {
            return error;
        }
        let message = format!(
            "{}; the pool holds {held} bytes of it in {blocks} buffers",
            error.message()
        );
        Error::new(error.kind(), message)
    }

    /// Puts a block back.
    pub(super) fn put(&self, block: Block, loan: Loan) {
        let uses = match disabled(Rule::ReuseAfterUse) {
            true => Uses::new(),
            false => block.uses,
        };
        let mut state = self.lock();
        state.put(Block { uses, ..block });
        state.end_loan(loan);
        self.notify(state);
    }

    /// Takes note that a block of so many bytes never comes back.
    pub(super) fn lose(&self, bytes: usize, loan: Loan) {
        let mut state = self.lock();
        state.subtract(bytes);
        state.end_loan(loan);
        self.notify(state);
    }

    /// Takes note that a lease is over, whose block is a buffer from now on.
    pub(super) fn end_loan(&self, loan: Loan) {
        let mut state = self.lock();
        state.end_loan(loan);
        self.notify(state);
    }

    /// Frees what nobody has, in order. Gives the number of bytes.
    pub(super) fn trim(&self) -> usize {
        let mut state = self.lock();
        let trimmed = state.take_unused();
        state.largest = 0;
        drop(state);
        let bytes = trimmed.iter().map(Block::len).sum();
        tracing::debug!(
            device = self.device.ordinal(),
            blocks = trimmed.len(),
            bytes,
            "a pool is trimmed"
        );
        trimmed.into_iter().for_each(Block::free);
        bytes
    }

    /// Frees blocks, all of them whatever happens. Those of a shared size are freed in the order of the
    /// stream, so that what is allocated there next can have their memory.
    fn free(&self, blocks: Vec<Block>, stream: &Stream) -> Result<()> {
        let mut freed = Ok(());
        for block in blocks {
            match self.policy.sizes {
                Sizes::Classes => block.free(),
                Sizes::Largest => freed = freed.and(block.free_on(stream)),
            }
        }
        freed
    }

    /// Refuses a stream that is being captured, where blocks are shared by those that know nothing of
    /// graphs: an event would be recorded there that nobody else can wait for.
    pub(super) fn check_capture(&self, stream: &Stream) -> Result<()> {
        ensure!(
            self.policy.sizes == Sizes::Classes || stream.capture_status()? == CaptureStatus::None,
            Unsupported,
            "the stream is being captured, and a graph cannot take its turn with memory that is shared"
        );
        Ok(())
    }

    /// Lets those go on that wait, if there are any.
    fn notify(&self, state: MutexGuard<'_, State>) {
        let waiting = state.waiting;
        drop(state);
        if waiting > 0 {
            self.turn.notify_all();
        }
    }

    /// Waits until somebody has put something back. The first that waits goes first, so that small
    /// requests do not pass by somebody who needs a large block.
    fn wait<'s>(
        &'s self,
        mut state: MutexGuard<'s, State>,
        ticket: &mut Option<u64>,
        observer: &dyn PoolObserver,
    ) -> MutexGuard<'s, State> {
        let number = *ticket.get_or_insert_with(|| {
            state.tickets += 1;
            state.statistics.turns += 1;
            state.tickets
        });
        state.first.get_or_insert(number);
        state.waiting += 1;
        tracing::debug!(
            device = self.device.ordinal(),
            "the host waits for a block of a pool"
        );
        let mut held = Some(state);
        observer.host_waits(&mut || {
            if let Some(state) = held.take() {
                let waited = self.turn.wait(state);
                held = Some(waited.unwrap_or_else(PoisonError::into_inner));
            }
        });
        let mut state = held.unwrap_or_else(|| self.lock());
        state.waiting -= 1;
        state
    }

    /// Lets the next that waits go first.
    fn has_gone_first(&self, state: &mut State, ticket: Option<u64>) {
        if ticket.is_some() {
            state.first = None;
            if state.waiting > 0 {
                self.turn.notify_all();
            }
        }
    }
}

impl Taken {
    pub(super) fn new(block: Block, loan: Loan) -> Self {
        Self {
            block,
            loan,
            is_hit: true,
            is_new: true,
        }
    }
}

impl Home for Shelf {
    fn take_back(&self, memory: DeviceMemory, uses: Uses) {
        let block = Block {
            memory,
            uses,
            since: 0,
        };
        self.put(block, Loan::Buffer);
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.take_all().for_each(Block::free);
    }
}
