//! Devices.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use thalweg_core::Result;

use crate::handle::capture::drop_left_behind;
use crate::handle::{Attribute, Context, DeviceHandle, Entered};
use crate::memory::{KeptPinned, Staging};
use crate::sys::Table;

/// A GPU, with its primary context, which is the one that CUDA's runtime and other libraries use,
/// too. It is retained until the last clone of this, and the last thing made from it, is gone.
///
/// # The current context
/// The driver works on the context that is current on the calling thread. Everything in this crate
/// makes the device's own current and afterwards gives the thread back what it had; a thread that
/// had none keeps the device's. [`Device::enter`] does so for a longer time, for code that calls
/// the driver itself, and makes everything in between a little cheaper.
///
/// # A lost context
/// After some errors of work on the device (an illegal address, a failed assertion, a hardware
/// error) the driver refuses everything on the context. Then every operation is an error that says
/// what happened first, and dropping things neither fails nor waits. Once all things made from the
/// device are dropped, [`Driver::device`](crate::Driver::device) asks the driver for a new context,
/// which it may refuse: after an exception in a kernel, the driver of an H200 (580) does so until
/// the process ends.
#[derive(Clone)]
pub struct Device(Arc<DeviceInner>);

pub(crate) struct DeviceInner {
    context: Arc<Context>,
    name: String,
    compute_capability: (i32, i32),
    uuid: [u8; 16],
    total_memory: usize,
    multiprocessors: i32,
    integrated: bool,
    staging: Staging,
    kept_pinned: KeptPinned,
}

impl DeviceInner {
    pub(crate) fn new(table: &'static Table, ordinal: usize) -> Result<Self> {
        let device = DeviceHandle::get(table, ordinal)?;
        Ok(Self {
            name: device.name(table)?,
            compute_capability: (
                device.attribute(table, Attribute::ComputeMajor)?,
                device.attribute(table, Attribute::ComputeMinor)?,
            ),
            uuid: device.uuid(table)?,
            total_memory: device.total_memory(table)?,
            multiprocessors: device.attribute(table, Attribute::Multiprocessors)?,
            integrated: device.attribute(table, Attribute::Integrated)? != 0,
            context: Arc::new(Context::retain(table, device)?),
            staging: Staging::new(),
            kept_pinned: KeptPinned::default(),
        })
    }
}

impl Drop for DeviceInner {
    fn drop(&mut self) {
        drop_left_behind();
    }
}

impl Device {
    pub(crate) fn of(inner: Arc<DeviceInner>) -> Self {
        Self(inner)
    }

    /// Its number, as the driver counts.
    pub fn ordinal(&self) -> i32 {
        self.0.context.ordinal()
    }

    /// Its name, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Its compute capability: major and minor.
    pub fn compute_capability(&self) -> (i32, i32) {
        self.0.compute_capability
    }

    /// Its identifier in this and other processes, whatever its number.
    pub fn uuid(&self) -> [u8; 16] {
        self.0.uuid
    }

    /// The number of its multiprocessors.
    pub fn multiprocessors(&self) -> i32 {
        self.0.multiprocessors
    }

    /// True if it shares its memory with the host.
    pub fn is_integrated(&self) -> bool {
        self.0.integrated
    }

    /// True if it allocates and frees memory in stream order.
    pub fn has_memory_pools(&self) -> bool {
        self.0.context.has_pools()
    }

    /// All its memory, in bytes.
    pub fn total_memory(&self) -> usize {
        self.0.total_memory
    }

    /// Its free memory of the moment, and all that the driver lets be used, in bytes.
    ///
    /// # Errors
    /// If the driver does not say.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.0.context.memory()
    }

    /// The lowest and the highest priority of streams; numbers fall as priority rises.
    ///
    /// # Errors
    /// If the driver does not say.
    pub fn stream_priorities(&self) -> Result<(i32, i32)> {
        self.0.context.priorities()
    }

    /// Waits on the host for everything on the device, other libraries' work included. Nothing in
    /// this crate does that by itself.
    ///
    /// # Errors
    /// If work on the device has failed.
    pub fn synchronize(&self) -> Result<()> {
        self.0.context.synchronize()
    }

    /// Gives memory that is kept for later back: pinned memory of staging and of programs, and what the driver keeps
    /// for allocations in stream order.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn trim(&self) -> Result<()> {
        self.0.staging.trim();
        self.0.kept_pinned.trim();
        self.0.context.trim_driver_pool()
    }

    /// As [`Device::trim`], after the host has waited for the freeing of all memory that this crate has
    /// let go: for those whose allocation has failed, and who try once more.
    ///
    /// # Errors
    /// If work that used such memory has failed, or the driver refuses.
    pub fn reclaim(&self) -> Result<()> {
        self.0.context.finish_releases()?;
        self.trim()
    }

    /// Lets this device read and write the memory of another directly. Copies between devices work
    /// without it, by way of the host where there is no direct way.
    ///
    /// # Errors
    /// If there is no direct way between the two.
    pub fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        self.0.context.enable_peer(&peer.0.context)
    }

    /// An error that says so if the context was lost; see [`Device`].
    ///
    /// # Errors
    /// That error.
    pub fn alive(&self) -> Result<()> {
        self.0.context.alive()
    }

    /// Makes the device's context current on this thread until the result is dropped, for code
    /// that calls the driver itself.
    ///
    /// # Errors
    /// If the context is lost.
    pub fn enter(&self) -> Result<CurrentDevice<'_>> {
        Ok(CurrentDevice {
            _entered: self.0.context.enter()?,
        })
    }

    /// The handle of the primary context (a `CUcontext`), for code that calls the driver itself.
    /// It is valid for as long as a clone of this.
    pub fn raw_context(&self) -> *mut c_void {
        self.0.context.address()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    pub(crate) fn kept_pinned(&self) -> &KeptPinned {
        &self.0.kept_pinned
    }

    pub(crate) fn staging(&self) -> &Staging {
        &self.0.staging
    }
}

/// One line of facts, for people.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.compute_capability();
        write!(
            f,
            "device {}: {}, compute capability {major}.{minor}, {} multiprocessors, {:.1} GiB",
            self.ordinal(),
            self.name(),
            self.multiprocessors(),
            self.total_memory() as f64 / f64::from(1 << 30),
        )?;
        if let Ok((free, _)) = self.memory() {
            write!(f, " ({:.1} GiB free)", free as f64 / f64::from(1 << 30))?;
        }
        if !self.has_memory_pools() {
            f.write_str(", no memory pools")?;
        }
        f.write_str(", GPU-")?;
        for (index, byte) in self.uuid().iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        if let Err(error) = self.alive() {
            write!(f, "; {error}")?;
        }
        Ok(())
    }
}

/// A device whose context is current on this thread; see [`Device::enter`].
pub struct CurrentDevice<'d> {
    _entered: Entered<'d>,
}
