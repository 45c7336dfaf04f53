//! Mutable buffers that outlive a call, and that methods can share.

mod coherence;
mod shared;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use thalweg_core::{
    DelegateBuffer, Device, DeviceId, Result, SharedBytes, StateBuffers, StreamHandle, bail, ensure,
};

pub(crate) use coherence::Coherence;
pub(crate) use shared::SharedBlock;

use crate::end_event::EndEvent;
use crate::mutation::{Rule, disabled};

/// The named mutable buffers of method instances: a key-value cache, the weights of a model that
/// is being trained.
///
/// Every instance has a state. By default it has one to itself; made with
/// [`MethodOptions::state`](crate::MethodOptions::state), it has the same state as another
/// instance, and both see what either writes: a `prefill` fills the cache that a `decode` goes on
/// with. Calls of methods that share a state wait for each other. Cheap to clone; a clone is the
/// same state.
///
/// Buffers without a name belong to their instance alone.
#[derive(Clone, Default)]
pub struct State(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Held while a method runs, or a buffer is read or written from outside.
    running: Mutex<()>,
    buffers: Mutex<HashMap<String, Buffer>>,
    /// Those of delegates. Where a program has one of the same name, that is meant.
    of_delegates: Mutex<HashMap<String, Arc<dyn DelegateBuffer>>>,
    /// On devices that have buffers, the end of the last call that used one there. Whatever came
    /// before it comes before that.
    in_flight: Mutex<Vec<(DeviceId, EndEvent)>>,
}

struct Buffer {
    block: SharedBlock,
    initial: Option<SharedBytes>,
}

impl State {
    /// A state without buffers; the methods that are made with it add theirs.
    pub fn new() -> Self {
        Self::default()
    }

    /// The names of the buffers, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = lock(&self.0.buffers).keys().cloned().collect();
        names.extend(lock(&self.0.of_delegates).keys().cloned());
        names.sort();
        names.dedup();
        names
    }

    /// A copy of a buffer's bytes. If only a device has them, this waits for it.
    ///
    /// # Errors
    /// If there is no buffer of that name, or its device failed.
    pub fn read(&self, name: &str) -> Result<Vec<u8>> {
        let running = self.lock();
        if let Some(buffer) = lock(&self.0.buffers).get(name) {
            self.bring_to_host(&buffer.block, &running)?;
            return Ok(buffer.block.read(&running));
        }
        let buffer = self.of_delegate(name)?;
        self.wait(&running)?;
        buffer.read()
    }

    /// Replaces a buffer's bytes.
    ///
    /// # Errors
    /// If there is no buffer of that name, it has another size, or its device failed.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let running = self.lock();
        let check = |len: usize| {
            ensure!(
                bytes.len() == len,
                InvalidInput,
                "the mutable buffer `{name}` has {len} bytes, not {}",
                bytes.len()
            );
            Ok(())
        };
        if let Some(buffer) = lock(&self.0.buffers).get(name) {
            check(buffer.block.len())?;
            buffer.block.write(&running, bytes);
            return Ok(());
        }
        let buffer = self.of_delegate(name)?;
        check(buffer.len())?;
        self.wait(&running)?;
        buffer.write(bytes)
    }

    /// Sets every buffer back to what it was at first: its initial value, or zeros.
    ///
    /// # Errors
    /// If a device failed that a delegate has its buffer on. Others are set back all the same.
    pub fn reset(&self) -> Result<()> {
        let running = self.lock();
        for buffer in lock(&self.0.buffers).values() {
            match &buffer.initial {
                Some(initial) => buffer.block.write(&running, initial),
                None => buffer.block.clear(&running),
            }
        }
        let of_delegates = lock(&self.0.of_delegates);
        if of_delegates.is_empty() {
            return Ok(());
        }
        self.wait(&running)?;
        let reset = of_delegates.values().map(|buffer| buffer.reset());
        reset.fold(Ok(()), Result::and)
    }

    fn of_delegate(&self, name: &str) -> Result<Arc<dyn DelegateBuffer>> {
        match lock(&self.0.of_delegates).get(name) {
            Some(buffer) => Ok(buffer.clone()),
            None => bail!(InvalidOption, "there is no mutable buffer `{name}`"),
        }
    }

    /// The block of a buffer, which is made if there is none of that name yet.
    pub(crate) fn buffer(
        &self,
        name: &str,
        bytes: usize,
        initial: Option<&SharedBytes>,
    ) -> Result<SharedBlock> {
        let running = self.lock();
        let mut buffers = lock(&self.0.buffers);
        if let Some(buffer) = buffers.get(name) {
            ensure!(
                buffer.block.len() == bytes,
                InvalidOption,
                "the mutable buffer `{name}` has {bytes} bytes here and {} in the method that \
                 shares it",
                buffer.block.len()
            );
            if let (Some(ours), Some(theirs)) = (&buffer.initial, initial) {
                ensure!(
                    ours.is_same(theirs),
                    InvalidOption,
                    "the mutable buffer `{name}` starts with other values in the method that shares \
                     it"
                );
            }
            return Ok(buffer.block.clone());
        }
        let block = SharedBlock::zeroed(bytes)?;
        if let Some(initial) = initial {
            block.write(&running, initial);
        }
        let buffer = Buffer {
            block: block.clone(),
            initial: initial.cloned(),
        };
        buffers.insert(name.to_string(), buffer);
        Ok(block)
    }

    /// Makes the stream of a call go on after what other calls have left in flight on a device.
    pub(crate) fn begin(&self, device: &dyn Device, stream: StreamHandle) -> Result<()> {
        for (other, end) in &*lock(&self.0.in_flight) {
            if *other == device.id() && !disabled(Rule::StateAfterCall) {
                end.before(device, stream)?;
            }
        }
        Ok(())
    }

    /// Remembers the end of a call that leaves something in flight on a device.
    pub(crate) fn end(&self, device: DeviceId, end: &EndEvent) {
        if disabled(Rule::StateRecord) {
            return;
        }
        let mut in_flight = lock(&self.0.in_flight);
        match in_flight.iter_mut().find(|(other, _)| *other == device) {
            Some((_, known)) => known.clone_from(end),
            None => in_flight.push((device, end.clone())),
        }
    }

    /// Brings a buffer to the host, if it does not have it.
    pub(crate) fn bring_to_host(&self, block: &SharedBlock, turn: &StateGuard<'_>) -> Result<()> {
        if block.coherence().on_host() {
            return Ok(());
        }
        self.wait(turn)?;
        block.bring_to_host(turn)
    }

    /// Waits, on the host, for all that calls have left in flight.
    pub(crate) fn wait(&self, _: &StateGuard<'_>) -> Result<()> {
        let mut in_flight = lock(&self.0.in_flight);
        while let Some((_, end)) = in_flight.last() {
            if !disabled(Rule::StateOnHost) {
                end.wait()?;
            }
            in_flight.pop();
        }
        Ok(())
    }

    /// Keeps every other method that shares the state from running.
    #[inline]
    pub(crate) fn lock(&self) -> StateGuard<'_> {
        StateGuard {
            _guard: lock(&self.0.running),
        }
    }
}

impl StateBuffers for State {
    fn get_or_create(
        &self,
        name: &str,
        create: &mut dyn FnMut() -> Result<Arc<dyn DelegateBuffer>>,
    ) -> Result<Arc<dyn DelegateBuffer>> {
        let _running = self.lock();
        let mut buffers = lock(&self.0.of_delegates);
        if let Some(buffer) = buffers.get(name) {
            return Ok(buffer.clone());
        }
        let buffer = create()?;
        buffers.insert(name.to_string(), buffer.clone());
        Ok(buffer)
    }
}

impl Drop for Inner {
    /// The memory that the buffers have on devices goes next.
    fn drop(&mut self) {
        for (_, end) in &*lock(&self.in_flight) {
            // A device that cannot be waited for is lost, and does nothing any more.
            let _ = end.wait();
        }
    }
}

/// Proof that nobody else uses a state's buffers.
pub(crate) struct StateGuard<'s> {
    _guard: MutexGuard<'s, ()>,
}

/// A panic while a lock was held leaves bytes that may be half written, as an error would.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("State").field(&self.names()).finish()
    }
}
