//! Memory pools: stream-ordered memory, which is kept when it is freed.

use std::sync::Arc;

use super::arena::Arena;
use crate::clock::{Clock, Epoch};

/// Memory that was freed in the order of a stream and that its pool still has.
#[derive(Clone)]
pub(crate) struct Cached {
    pub(crate) start: u64,
    pub(crate) reserved: u64,
    /// The work that frees it. It may not have run yet.
    pub(crate) freed: Epoch,
}

/// A memory pool of one device.
pub(crate) struct Pool {
    pub(crate) device: usize,
    /// True for the default pool of the device, which cannot be destroyed.
    pub(crate) default: bool,
    pub(crate) cached: Vec<Cached>,
    pub(crate) release_threshold: u64,
    /// The attributes about reuse, in CUDA's order: following event dependencies, opportunistic,
    /// with internal dependencies.
    pub(crate) reuse: [bool; 3],
    pub(crate) used: u64,
    pub(crate) used_high: u64,
    pub(crate) reserved: u64,
    pub(crate) reserved_high: u64,
    pub(crate) label: Arc<str>,
}

impl Pool {
    pub(crate) fn new(device: usize, default: bool) -> Self {
        Self {
            device,
            default,
            cached: Vec::new(),
            release_threshold: 0,
            reuse: [true; 3],
            used: 0,
            used_high: 0,
            reserved: 0,
            reserved_high: 0,
            label: if default {
                "default pool".into()
            } else {
                "pool".into()
            },
        }
    }

    /// Takes freed memory that work with this clock may use: memory that was freed before it in
    /// some order, or whose free is complete. The memory that was freed last goes first.
    pub(crate) fn reuse(
        &mut self,
        len: u64,
        clock: &Clock,
        done: impl Fn(Epoch) -> bool,
    ) -> Option<Cached> {
        let len = Arena::rounded(len)?;
        let index = self.cached.iter().rposition(|cached| {
            let fits = cached.reserved >= len && cached.reserved / 4 <= len;
            fits && (clock.knows(cached.freed) || (self.reuse[1] && done(cached.freed)))
        })?;
        Some(self.cached.remove(index))
    }

    pub(crate) fn grow(&mut self, reserved: u64) {
        self.reserved += reserved;
        self.reserved_high = self.reserved_high.max(self.reserved);
    }

    pub(crate) fn took(&mut self, reserved: u64) {
        self.used += reserved;
        self.used_high = self.used_high.max(self.used);
    }

    /// Takes out freed memory, so that at most `keep` bytes stay reserved. Memory whose free is not
    /// complete stays.
    pub(crate) fn trim(&mut self, keep: u64, done: impl Fn(Epoch) -> bool) -> Vec<Cached> {
        let mut out = Vec::new();
        let mut index = 0;
        while self.reserved > keep && index < self.cached.len() {
            if done(self.cached[index].freed) {
                let cached = self.cached.remove(index);
                self.reserved -= cached.reserved;
                out.push(cached);
            } else {
                index += 1;
            }
        }
        out
    }
}
