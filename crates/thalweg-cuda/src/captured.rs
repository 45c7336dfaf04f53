//! The state of a stream capture: what its graph has to keep alive.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thalweg_core::Result;

use crate::buffer::DeviceBuffer;
use crate::handle::{GraphHandle, StreamId, capture};
use crate::order::{Access, Operand};
use crate::stream::Stream;

/// The things that a graph keeps alive.
#[derive(Default)]
pub(crate) struct Parts {
    /// The memory, and what the graph does with it.
    pub(crate) operands: Vec<(Arc<dyn Operand>, Access)>,
    /// Behind a lock only since it need not be `Sync`; nobody takes it out.
    pub(crate) kept: Mutex<Vec<Box<dyn Send>>>,
    /// Memory from a pool that one part of the graph has released and a later part may use.
    pub(crate) released: Vec<DeviceBuffer>,
}

/// A capture, of ours or a caller's, and what its graph keeps alive.
pub(crate) struct CaptureState {
    stream: StreamId,
    parts: Mutex<Parts>,
}

thread_local! {
    /// The captures that this thread has begun. A capture ends on the thread on which it began.
    static ACTIVE: RefCell<Vec<Arc<CaptureState>>> = const { RefCell::new(Vec::new()) };
}

impl CaptureState {
    /// Begins a capture.
    pub(crate) fn begin(stream: &Stream) -> Result<Arc<Self>> {
        capture::begin(stream.handle())?;
        let state = Arc::new(Self::of(stream));
        ACTIVE.with_borrow_mut(|active| active.push(state.clone()));
        Ok(state)
    }

    fn of(stream: &Stream) -> Self {
        Self {
            stream: stream.id(),
            parts: Mutex::default(),
        }
    }

    /// The capture that a stream is in, which may be somebody else's.
    pub(crate) fn of_stream(stream: &Stream) -> Result<Arc<Self>> {
        let ours = ACTIVE.with_borrow(|active| {
            let found = active.iter().find(|state| state.stream == stream.id());
            found.cloned()
        });
        if let Some(state) = ours {
            return Ok(state);
        }
        let state = Arc::new(Self::of(stream));
        // That is done first, and not when the work is finished, because then it would be too late to
        // fail.
        capture::keep(state.clone(), stream.handle())?;
        Ok(state)
    }

    /// Ends the capture. The stream can be used as before afterwards, also on an error.
    pub(crate) fn end(self: &Arc<Self>, stream: &Stream) -> Result<GraphHandle> {
        ACTIVE.with_borrow_mut(|active| active.retain(|state| !Arc::ptr_eq(state, self)));
        capture::end(stream.handle())
    }

    pub(crate) fn keep(&self, thing: Box<dyn Send>) {
        kept(&mut self.parts()).push(thing);
    }

    pub(crate) fn add(
        &self,
        operands: impl Iterator<Item = (Arc<dyn Operand>, Access)>,
        kept: Vec<Box<dyn Send>>,
    ) {
        let mut parts = self.parts();
        for (operand, access) in operands {
            let known = parts
                .operands
                .iter_mut()
                .find(|(known, _)| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(&operand)));
            match known {
                Some((_, known)) if access == Access::Write => *known = access,
                Some(_) => {}
                None => parts.operands.push((operand, access)),
            }
        }
        self::kept(&mut parts).extend(kept);
    }

    /// Memory that an earlier part of the capture has released.
    pub(crate) fn take_released(
        &self,
        fits: impl Fn(&DeviceBuffer) -> bool,
    ) -> Option<DeviceBuffer> {
        let mut parts = self.parts();
        let index = parts.released.iter().rposition(fits)?;
        Some(parts.released.swap_remove(index))
    }

    pub(crate) fn release(&self, buffer: DeviceBuffer) {
        self.parts().released.push(buffer);
    }

    pub(crate) fn take_parts(&self) -> Parts {
        std::mem::take(&mut *self.parts())
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kept(parts: &mut Parts) -> &mut Vec<Box<dyn Send>> {
    parts.kept.get_mut().unwrap_or_else(PoisonError::into_inner)
}
