//! The state of an `nvinfer1::IRuntime`.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use super::callback;
use crate::config::TensorRt;
use crate::interface::{ReportKind, Site, report};

/// A runtime.
pub(super) struct Runtime {
    pub(super) version: TensorRt,
    pub(super) logger: usize,
    pub(super) recorder: AtomicUsize,
    pub(super) host_code: AtomicBool,
    pub(super) threads: AtomicI32,
    pub(super) dla: AtomicI32,
    /// The number of its engines.
    pub(super) engines: AtomicUsize,
}

impl Runtime {
    pub(super) fn new(version: TensorRt, logger: usize) -> Self {
        Self {
            version,
            logger,
            recorder: AtomicUsize::new(0),
            host_code: AtomicBool::new(false),
            threads: AtomicI32::new(1),
            dla: AtomicI32::new(-1),
            engines: AtomicUsize::new(0),
        }
    }

    /// Ends the runtime.
    pub(super) fn end(&self, site: &Site) {
        let engines = self.engines.load(Ordering::Relaxed);
        if engines > 0 {
            let message = format!("{site} destroys a runtime with {engines} engines left");
            report(ReportKind::Misuse, message, vec![site.clone()]);
        }
        callback::count_recorder(self.recorder.swap(0, Ordering::Relaxed), false);
    }
}
