//! The devices of an instance, as its delegates see them.

use thalweg_core::engine::{ArgumentAccess, CallDevices, Frame};
use thalweg_core::{DeviceId, Result, StreamHandle, ValueId};

use crate::options::RunOptions;
use crate::submit::DeviceQueue;
use crate::transfer::wait_for_host;

/// The devices of an instance, as its delegates see them.
pub(super) struct DelegateDevices<'d> {
    pub(super) queues: &'d mut [DeviceQueue],
    pub(super) options: &'d RunOptions<'d>,
}

impl DelegateDevices<'_> {
    fn queue(&self, device: DeviceId) -> Option<&DeviceQueue> {
        self.queues.iter().find(|queue| queue.id() == device)
    }
}

impl CallDevices for DelegateDevices<'_> {
    fn id(&self, index: usize) -> Option<DeviceId> {
        Some(self.queues.get(index)?.id())
    }

    fn lend_stream(&mut self, device: DeviceId) -> Option<StreamHandle> {
        let mut queues = self.queues.iter_mut();
        let queue = queues.find(|queue| queue.id() == device)?;
        Some(queue.lend_stream())
    }

    fn stream(&self, device: DeviceId) -> Option<StreamHandle> {
        Some(self.queue(device)?.event_stream())
    }

    fn caller_stream(&self, device: DeviceId) -> Option<StreamHandle> {
        self.options.stream_on(device)
    }

    fn is_idle(&self, device: DeviceId) -> bool {
        self.queue(device).is_some_and(DeviceQueue::is_idle)
    }

    fn wait_for_host(
        &mut self,
        frame: &Frame,
        arguments: &[ValueId],
        access: &ArgumentAccess<'_>,
    ) -> Result<()> {
        wait_for_host(frame, self.queues, arguments, access)
    }
}
