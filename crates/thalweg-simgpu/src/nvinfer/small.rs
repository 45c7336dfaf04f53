//! Objects with little behind them: the bytes of an engine, and how contexts are to be made.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::object::{Data, Part, methods};
use super::refusal::usage;
use super::runtime::Runtime;

/// `nvinfer1::IHostMemory`
pub(super) struct HostMemory {
    pub(super) bytes: Vec<u8>,
    pub(super) runtime: Arc<Runtime>,
}

/// `nvinfer1::IRuntimeConfig`
pub(super) struct RuntimeConfig {
    pub(super) strategy: AtomicI32,
    pub(super) runtime: Arc<Runtime>,
}

impl Part for HostMemory {
    fn of(data: &Data) -> Option<&Arc<Self>> {
        match data {
            Data::HostMemory(memory) => Some(memory),
            _ => None,
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(&self.runtime)
    }
}

impl Part for RuntimeConfig {
    fn of(data: &Data) -> Option<&Arc<Self>> {
        match data {
            Data::RuntimeConfig(config) => Some(config),
            _ => None,
        }
    }

    fn runtime(&self) -> Option<&Runtime> {
        Some(&self.runtime)
    }
}

methods! { HostMemory:
    /// Where the bytes are.
    fn data = "data" () -> *const c_void, else std::ptr::null(), |_scope, this| {
        Ok(this.bytes.as_ptr().cast())
    }
    /// How many there are.
    fn size = "size" () -> usize, else 0, |_scope, this| { Ok(this.bytes.len()) }
    /// Of which type they are: `kUINT8`.
    fn data_type = "type" () -> i32, else 0, |_scope, _this| { Ok(5) }
}

methods! { RuntimeConfig:
    /// What callers hold.
    fn config_p_impl = "getPImpl" () -> usize, else 0, |scope, _this| { Ok(scope.object.outer()) }
    /// Where contexts get their scratch from.
    fn set_strategy = "setExecutionContextAllocationStrategy" (strategy: i32) -> (), else (), |_scope, this| {
        if !(0..=2).contains(&strategy) {
            return usage(format!("there is no allocation strategy {strategy}"));
        }
        this.strategy.store(strategy, Ordering::Relaxed);
        Ok(())
    }
    /// That.
    fn get_strategy = "getExecutionContextAllocationStrategy" () -> i32, else 0, |_scope, this| {
        Ok(this.strategy.load(Ordering::Relaxed))
    }
}
