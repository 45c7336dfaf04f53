//! The resources of a device.

use std::sync::Arc;

use thalweg_core::{Device as _, Result};
use thalweg_cuda::{Device, Pool, Stream};

use crate::NAME;
use crate::abi::{DriverTable, Kernels};
use crate::workspace::Workspaces;

/// The resources that all compiled libraries on one device share.
pub(crate) struct DeviceResources {
    pub(crate) device: Device,
    pub(crate) driver: Arc<DriverTable>,
    /// This crate's own kernels.
    pub(crate) kernels: Kernels,
    /// The pool of memory for runs.
    pub(crate) pool: Pool,
    /// The workspaces of calls, leased from the pool.
    pub(crate) workspaces: Workspaces,
    /// A stream that is always idle: an event that is recorded on it is complete at once.
    pub(crate) idle: Stream,
}

impl DeviceResources {
    /// The resources of a device. `seed` is that of its random numbers.
    ///
    /// # Errors
    /// If the driver creates no stream.
    pub(crate) fn new(device: Device, driver: Arc<DriverTable>, seed: u64) -> Result<Self> {
        let pool = Pool::new(&device);
        Ok(Self {
            driver,
            workspaces: Workspaces::new(&pool),
            pool,
            kernels: Kernels::new(seed),
            idle: Stream::new(&device)?,
            device,
        })
    }

    /// The size of the pool in bytes, with its name in traces.
    pub(crate) fn pool_size(&self) -> (String, usize) {
        let name = format!("temporaries of {NAME}, {}", self.device.id());
        (name, self.pool.statistics().held)
    }
}

impl Drop for DeviceResources {
    /// All work that used the kernels is complete: its owners have waited for it.
    fn drop(&mut self) {
        // A call that failed once may succeed the second time.
        match self.device.enter().or_else(|_| self.device.enter()) {
            Ok(_current) => self.kernels.unload(&self.driver),
            // The context is lost, and everything in it.
            Err(error) => tracing::debug!("kernels are not unloaded: {error}"),
        }
    }
}
