//! A pool of device memory for temporaries.

mod lease;

pub use lease::Lease;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_core::{Error, ErrorKind, Result};

use crate::buffer::{DeviceBuffer, allocate};
use crate::device::Device;
use crate::handle::StreamId;
use crate::memory::{DeviceMemory, Home};
use crate::omit::{Rule, omitted};
use crate::order::{Access, Mark, Operand, Tenant, Uses};
use crate::stream::Stream;
use crate::work::Work;

/// A pool of memory of one device, for buffers that come and go: in a steady state it asks the
/// driver for nothing. Clones are the same pool.
///
/// A buffer goes back to its pool when it is dropped or [released](Work::release), and can be had
/// again at once: by the same stream as it is, since the device does one after the other; by
/// another stream, if the last use is over or, rather than exceed the limit, after waiting for it
/// on the device. No lock is held while the driver is called.
///
/// The pool's memory is freed, in order, when the last clone and the last buffer are gone.
#[derive(Clone)]
pub struct Pool {
    shelf: Arc<Shelf>,
}

/// What a pool has done and has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// Bytes that the pool has from the driver.
    pub held: usize,
    /// Bytes of these that are not lent out.
    pub idle: usize,
    /// Blocks that the pool has.
    pub blocks: usize,
    /// How often a block was lent again without anything to wait for.
    pub hits: u64,
    /// How often a stream was made to wait for another's last use.
    pub waits: u64,
    /// How often the driver was asked for memory.
    pub allocations: u64,
    /// How often unused blocks were given back to get other memory.
    pub trims: u64,
}

/// Where a pool keeps blocks that nobody has.
pub(crate) struct Shelf {
    device: Device,
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By size; the last one was used last.
    idle: BTreeMap<usize, Vec<Block>>,
    statistics: PoolStatistics,
}

struct Block {
    memory: DeviceMemory,
    uses: Uses,
}

/// A block may be larger than what was asked for by so much: two steps of [`class`].
const SLACK: usize = 2;

/// So many blocks are examined before another is made.
const EXAMINED: usize = 4;

impl Pool {
    /// A pool that may hold any amount of memory.
    pub fn new(device: &Device) -> Self {
        Self::with_limit(device, usize::MAX)
    }

    /// A pool that rather makes streams wait than hold more than `limit` bytes. More are taken
    /// only when all blocks are in use by the host, or too small.
    pub fn with_limit(device: &Device, limit: usize) -> Self {
        Self {
            shelf: Arc::new(Shelf {
                device: device.clone(),
                limit,
                state: Mutex::default(),
            }),
        }
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.shelf.device
    }

    /// What the pool has done and has.
    pub fn statistics(&self) -> PoolStatistics {
        let state = self.shelf.lock();
        let mut statistics = state.statistics;
        statistics.idle = state.idle_bytes();
        statistics
    }

    /// Frees what is not lent out, in order.
    pub fn trim(&self) {
        self.shelf.trim();
    }

    /// A buffer for use on a stream, once the stream has waited for the uses that the buffer knows of.
    pub(crate) fn take(
        &self,
        stream: &Stream,
        len: usize,
        tenant: Option<&Tenant>,
    ) -> Result<DeviceBuffer> {
        let block = self.shelf.take(stream, class(len), tenant)?;
        let home: Arc<dyn Home> = self.shelf.clone();
        let home = Some(Arc::downgrade(&home));
        Ok(DeviceBuffer::of(block.memory, block.uses, home, len))
    }
}

impl Work<'_> {
    /// Takes memory of a pool, for this work and what follows on its stream, with arbitrary
    /// values at first. It counts as written by this work.
    ///
    /// # Errors
    /// [`ErrorKind::OutOfMemory`](thalweg_core::ErrorKind::OutOfMemory) if memory is out even
    /// after the pool has given back what it does not use.
    pub fn allocate(&mut self, pool: &Pool, len: usize) -> Result<DeviceBuffer> {
        let size = class(len);
        if let Some(capture) = self.capture() {
            let fits = |buffer: &DeviceBuffer| {
                let block = buffer.block();
                block.belongs_to(&pool.shelf) && block.capacity() == size
            };
            if let Some(buffer) = capture.take_released(fits) {
                return Ok(buffer.with_len(len));
            }
        }
        let buffer = pool.take(self.stream(), len, None)?;
        // Here the stream is made to wait for another's last use, if there is one.
        self.touch(buffer.block(), Access::Write)?;
        Ok(buffer)
    }

    /// Gives a buffer back that this work was the last to use. Later work on this stream, this
    /// work included, can have the memory at once. For a buffer that is of no pool, or that other
    /// work still uses, this is the same as dropping it.
    pub fn release(&mut self, buffer: DeviceBuffer) {
        if let Some(capture) = self.capture() {
            capture.release(buffer);
            return;
        }
        self.let_go(buffer.block().uses());
        buffer.give_back();
    }
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A block for use on a stream, once the stream has waited for the block's uses. A tenant rather has
    /// another block than waits for somebody else.
    fn take(&self, stream: &Stream, size: usize, tenant: Option<&Tenant>) -> Result<Block> {
        let mut largest = size;
        for _ in 0..SLACK {
            largest = class(largest + 1);
        }
        let at_once = |block: &Block| {
            block.uses.only_on(stream.id())
                || tenant.is_some_and(|tenant| block.uses.were_of(tenant))
        };
        let wish = tenant.and_then(|tenant| tenant.wish);
        let wished = wish.and_then(|wish| self.take_wished(size..=largest, wish, at_once));
        if let Some(block) = wished {
            return Ok(block);
        }
        let mut state = self.lock();
        if let Some(block) = state.find(size..=largest, at_once) {
            state.statistics.hits += 1;
            return Ok(block);
        }
        let mut examined = Vec::new();
        while examined.len() < EXAMINED
            && let Some(block) = state.find_first(size..=largest)
        {
            examined.push(block);
        }
        let room = state.statistics.held.saturating_add(size) <= self.limit;
        drop(state);
        // From here on without the lock, since the driver is called.
        let chosen = examined
            .iter()
            .position(Block::is_over)
            .map(|index| (index, true));
        let chosen = chosen.or_else(|| {
            let waits =
                |block: &Block| !room || (tenant.is_none() && block.may_be_only_on(stream.id()));
            examined.iter().position(waits).map(|index| (index, false))
        });
        let block = chosen.map(|(index, hit)| (examined.remove(index), hit));
        let mut state = self.lock();
        for block in examined {
            state.put_first(block);
        }
        if let Some((block, hit)) = block {
            if hit {
                state.statistics.hits += 1;
            } else {
                state.statistics.waits += 1;
            }
            return Ok(block);
        }
        drop(state);
        self.make(stream, size)
    }

    /// The block at an address, if its last use is over or it can be had at once.
    fn take_wished(
        &self,
        sizes: std::ops::RangeInclusive<usize>,
        wish: u64,
        at_once: impl Fn(&Block) -> bool,
    ) -> Option<Block> {
        let mut state = self.lock();
        let block = state.find(sizes, |block| block.memory.address() == wish)?;
        if at_once(&block) {
            state.statistics.hits += 1;
            return Some(block);
        }
        // Without the lock, since the driver is called.
        drop(state);
        let over = block.is_over();
        let mut state = self.lock();
        if over {
            state.statistics.hits += 1;
            return Some(block);
        }
        state.put_first(block);
        None
    }

    /// A block from the driver.
    fn make(&self, stream: &Stream, size: usize) -> Result<Block> {
        let made = allocate(stream, size).or_else(|error| {
            if error.kind() != ErrorKind::OutOfMemory || !self.trim() {
                return Err(error);
            }
            self.lock().statistics.trims += 1;
            // What was freed may be behind work of any stream. This is the one place where the host
            // waits for that, instead of failing.
            self.device.context().finish_releases()?;
            let trimmed = self.device.trim();
            allocate(stream, size).map_err(|error| trimmed.err().unwrap_or(error))
        });
        let (memory, uses) = made.map_err(|error| self.explain(&error))?;
        let mut state = self.lock();
        state.statistics.allocations += 1;
        state.statistics.blocks += 1;
        state.statistics.held += size;
        drop(state);
        Ok(Block { memory, uses })
    }

    fn explain(&self, error: &Error) -> Error {
        let held = self.lock().statistics.held;
        Error::new(
            error.kind(),
            format!("{}; the pool holds {held} bytes", error.message()),
        )
    }

    /// Frees what is idle. Whether there was anything.
    fn trim(&self) -> bool {
        let mut trimmed = Vec::new();
        let mut state = self.lock();
        for blocks in state.idle.values_mut() {
            // Unfinished work still uses some.
            trimmed.extend(blocks.extract_if(.., |block| block.uses.ends().is_some()));
        }
        state.idle.retain(|_, blocks| !blocks.is_empty());
        state.statistics.blocks -= trimmed.len();
        state.statistics.held -= trimmed
            .iter()
            .map(|block| block.memory.len())
            .sum::<usize>();
        drop(state);
        let any = !trimmed.is_empty();
        for block in trimmed {
            block.free();
        }
        any
    }
}

impl Home for Shelf {
    fn take_back(&self, memory: DeviceMemory, uses: Uses) {
        let uses = if omitted(Rule::ReuseAfterUse) {
            Uses::new()
        } else {
            uses
        };
        let mut state = self.lock();
        state
            .idle
            .entry(memory.len())
            .or_default()
            .push(Block { memory, uses });
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for block in std::mem::take(&mut state.idle).into_values().flatten() {
            block.free();
        }
    }
}

impl State {
    fn idle_bytes(&self) -> usize {
        let sizes = self.idle.iter();
        sizes.map(|(size, blocks)| size * blocks.len()).sum()
    }

    /// The block that was used last among those that please.
    fn find(
        &mut self,
        sizes: std::ops::RangeInclusive<usize>,
        pleases: impl Fn(&Block) -> bool,
    ) -> Option<Block> {
        self.idle.range_mut(sizes).find_map(|(_, blocks)| {
            let index = blocks.iter().rposition(&pleases)?;
            Some(blocks.remove(index))
        })
    }

    /// Puts a block back that stays the one to be taken next of those that any stream can have.
    fn put_first(&mut self, block: Block) {
        let blocks = self.idle.entry(block.memory.len()).or_default();
        blocks.insert(0, block);
    }

    /// The block that was used longest ago, unless unfinished work uses it.
    fn find_first(&mut self, sizes: std::ops::RangeInclusive<usize>) -> Option<Block> {
        self.idle.range_mut(sizes).find_map(|(_, blocks)| {
            let index = blocks
                .iter()
                .position(|block| block.uses.ends().is_some())?;
            Some(blocks.remove(index))
        })
    }
}

impl Block {
    fn is_over(&self) -> bool {
        let Some(ends) = self.uses.ends() else {
            return false;
        };
        let over = ends.iter().all(|mark| mark.event.query().unwrap_or(false));
        if over {
            self.uses.forget_ends(&ends);
        }
        over
    }

    /// Whether all uses were on a stream that may be this one, so that waiting costs nothing: a
    /// caller's stream cannot be told from another call's.
    fn may_be_only_on(&self, stream: StreamId) -> bool {
        self.uses
            .ends()
            .is_some_and(|ends| ends.iter().all(|mark: &Mark| mark.stream.may_be(stream)))
    }

    fn free(self) {
        match self.uses.ends() {
            Some(ends) => {
                let events: Vec<_> = ends.into_iter().map(|mark| mark.event).collect();
                self.memory.free_after(&events);
            }
            None if self.memory.context().lost().is_some() => self.memory.free_after(&[]),
            None => {
                tracing::warn!(
                    bytes = self.memory.len(),
                    "memory of a pool whose last use has no known end is never freed"
                );
                std::mem::forget(self.memory);
            }
        }
    }
}

/// The size of the block for so many bytes: eight sizes for each power of two, so that at most an
/// eighth is wasted, and at least 512.
fn class(len: usize) -> usize {
    const SMALLEST: usize = 512;
    if len <= SMALLEST {
        return SMALLEST;
    }
    let step = (1usize << (len - 1).ilog2()) / 8;
    len.checked_next_multiple_of(step.max(SMALLEST))
        .unwrap_or(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_few_and_waste_little() {
        assert_eq!(class(0), 512);
        assert_eq!(class(513), 1024);
        for len in [1000, 5000, 100_000, 1 << 20, (1 << 20) + 1, 123_456_789] {
            let size = class(len);
            assert!(
                size >= len && size - len <= (len / 8).max(512),
                "{len} {size}"
            );
            assert_eq!(class(size), size);
        }
        assert_eq!(class(usize::MAX), usize::MAX);
        let sizes: std::collections::BTreeSet<_> =
            (1 << 20..2 << 20).step_by(997).map(class).collect();
        assert!(sizes.len() <= 9);
    }
}
