//! Memory with its uses: what buffers are made of.

use std::sync::{Arc, Weak};

use thalweg_core::Result;

use super::device::DeviceMemory;
use super::pinned::PinnedMemory;
use crate::handle::Context;
use crate::mutation::{Rule, disabled};
use crate::order::{Operand, Uses};

/// Device memory with its uses. When it is dropped, the memory goes home, or is freed after its last use.
pub(crate) struct DeviceBlock {
    /// There, until it is dropped.
    memory: Option<DeviceMemory>,
    uses: Uses,
    /// The pool that it is of, if it is of one.
    home: Option<Weak<dyn Home>>,
}

/// The owner of blocks that are lent out.
pub(crate) trait Home: Send + Sync {
    /// Takes a block's memory back.
    fn take_back(&self, memory: DeviceMemory, uses: Uses);
}

impl DeviceBlock {
    pub(crate) fn new(memory: DeviceMemory, uses: Uses, home: Option<Weak<dyn Home>>) -> Self {
        Self {
            memory: Some(memory),
            uses,
            home,
        }
    }

    pub(crate) fn address(&self) -> u64 {
        self.memory.as_ref().map_or(0, DeviceMemory::address)
    }

    pub(crate) fn memory(&self) -> Option<&DeviceMemory> {
        self.memory.as_ref()
    }

    /// The number of bytes of the allocation.
    pub(crate) fn capacity(&self) -> usize {
        self.memory.as_ref().map_or(0, DeviceMemory::len)
    }

    /// True if that is its home.
    pub(crate) fn belongs_to<H: Home>(&self, home: &Arc<H>) -> bool {
        self.home
            .as_ref()
            .is_some_and(|own| std::ptr::addr_eq(own.as_ptr(), Arc::as_ptr(home)))
    }

    /// Gives the memory to its home, although unfinished work uses it.
    pub(crate) fn go_home(mut self) {
        if let Some(home) = self.home()
            && let Some(memory) = self.memory.take()
        {
            home.take_back(memory, self.uses.clone());
        }
    }

    /// Takes the memory out, to be freed by others.
    pub(crate) fn take_memory(&mut self) -> Option<DeviceMemory> {
        self.memory.take()
    }

    fn home(&self) -> Option<Arc<dyn Home>> {
        self.home.as_ref().and_then(Weak::upgrade)
    }
}

impl Operand for DeviceBlock {
    fn uses(&self) -> &Uses {
        &self.uses
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        match self.uses.ends() {
            Some(ends) => {
                if let Some(home) = self.home() {
                    let uses = std::mem::replace(&mut self.uses, Uses::new());
                    home.take_back(memory, uses);
                } else {
                    let events: Vec<_> = ends.into_iter().map(|mark| mark.event).collect();
                    memory.free_after(&events);
                }
            }
            None if memory.context().lost().is_some() => memory.free_after(&[]),
            None => {
                tracing::warn!(
                    bytes = memory.len(),
                    "memory whose last use has no known end is never freed"
                );
                std::mem::forget(memory);
            }
        }
    }
}

/// Pinned memory with its uses. Dropping it waits for the last use.
pub(crate) struct PinnedBlock {
    /// There, unless the device may use it forever.
    memory: Option<PinnedMemory>,
    uses: Uses,
}

impl PinnedBlock {
    /// Allocates `len` bytes, which are zero.
    pub(crate) fn new(context: &Arc<Context>, len: usize) -> Result<Self> {
        Ok(Self {
            memory: Some(PinnedMemory::zeroed(context, len)?),
            uses: Uses::new(),
        })
    }

    pub(crate) fn memory(&self) -> &PinnedMemory {
        self.memory.as_ref().expect("there until it is dropped")
    }
}

impl Operand for PinnedBlock {
    fn uses(&self) -> &Uses {
        &self.uses
    }
}

impl Drop for PinnedBlock {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        // What fails once may work the second time.
        let over = disabled(Rule::FreePinnedAfterUse)
            || matches!(self.uses.wait_until_over(), Ok(true))
            || matches!(self.uses.wait_until_over(), Ok(true))
            || memory.context().lost().is_some();
        if over {
            drop(memory);
        } else {
            tracing::warn!(
                bytes = memory.len(),
                "pinned memory that the device may use is never freed"
            );
            std::mem::forget(memory);
        }
    }
}
