//! Graphs of programs: captured work that calls launch again.
#![allow(unsafe_code, reason = "the core vouches for handles and addresses")]

use std::ptr;

use thalweg_core::{DeviceGraph, Result};

use super::stream::stream;
use crate::device::Device;
use crate::graph::GraphExec;
use crate::stream::Stream;

/// A graph of a program.
pub(super) struct Captured {
    pub(super) device: Device,
    pub(super) graph: GraphExec,
}

impl DeviceGraph for Captured {
    unsafe fn launch(&self, handle: thalweg_core::StreamHandle) -> Result<()> {
        // SAFETY: as for the device's `synchronize`.
        let bare = unsafe { stream(self.device.context(), handle) };
        if self.graph.launch_bare(&bare)? {
            return Ok(());
        }
        // SAFETY: as above; it is not kept.
        let stream =
            unsafe { Stream::borrow(&self.device, ptr::with_exposed_provenance_mut(handle.0)) };
        let mut work = stream.work()?;
        self.graph.launch(&mut work)?;
        work.finish().map(drop)
    }
}
