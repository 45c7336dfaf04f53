//! The stream of a call, with work that is begun only if a buffer has to know of it.

use std::cell::OnceCell;

use thalweg_core::{Result, StreamHandle};
use thalweg_cuda::{Device, Stream, Work};

use crate::abi;

/// The stream of a call. Most calls use buffers of the program alone, whose order the core keeps. They
/// begin no [`Work`].
pub(super) struct CallStream<'w> {
    pub(super) device: &'w Device,
    pub(super) handle: StreamHandle,
    stream: &'w OnceCell<Stream>,
    work: Option<Work<'w>>,
}

impl<'w> CallStream<'w> {
    /// The stream with a handle. `stream` is empty: it gets the borrowed stream, when that is needed.
    pub(super) fn new(
        device: &'w Device,
        handle: StreamHandle,
        stream: &'w OnceCell<Stream>,
    ) -> Self {
        Self {
            device,
            handle,
            stream,
            work: None,
        }
    }

    /// The borrowed stream.
    pub(super) fn stream(&self) -> &'w Stream {
        self.stream
            .get_or_init(|| abi::borrow_stream(self.device, self.handle))
    }

    /// The work of the call, which is begun the first time.
    pub(super) fn work(&mut self) -> Result<&mut Work<'w>> {
        let stream = self.stream();
        match &mut self.work {
            Some(work) => Ok(work),
            none => Ok(none.insert(stream.work()?)),
        }
    }

    /// Returns true if work was begun.
    pub(super) fn has_work(&self) -> bool {
        self.work.is_some()
    }

    /// Finishes the work, if it was begun.
    pub(super) fn finish_work(&mut self) -> Result<()> {
        match self.work.take() {
            Some(work) => work.finish().map(drop),
            None => Ok(()),
        }
    }
}
