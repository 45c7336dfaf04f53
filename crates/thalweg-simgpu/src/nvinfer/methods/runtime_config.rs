//! `nvinfer1::IRuntimeConfig`

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::nvinfer::class::{Class, methods_of};
use crate::nvinfer::error::usage;
use crate::nvinfer::method::methods;
use crate::nvinfer::object::Implementation;
use crate::nvinfer::runtime::Runtime;

/// The settings with which contexts are created.
pub(super) struct RuntimeConfig {
    pub(super) strategy: AtomicI32,
    pub(super) runtime: Arc<Runtime>,
}

/// The class, with all methods of all versions.
static CLASS: Class = Class {
    name: "IRuntimeConfig",
    exclusive: false,
    methods: || {
        methods_of! {
            "getPImpl" => config_p_impl;
            "setExecutionContextAllocationStrategy" => set_strategy;
            "getExecutionContextAllocationStrategy" => get_strategy;
        }
    },
};

impl Implementation for RuntimeConfig {
    fn class() -> &'static Class {
        &CLASS
    }

    fn logger(&self) -> usize {
        self.runtime.logger
    }
}

methods! { RuntimeConfig:
    /// The address of the object that callers hold.
    fn config_p_impl = "getPImpl" () -> usize, else 0, |call, _this| {
        Ok(call.object.outer())
    }
    /// Sets the allocation strategy of contexts.
    fn set_strategy = "setExecutionContextAllocationStrategy" (strategy: i32) -> (), else (), |_call, this| {
        if !(0..=2).contains(&strategy) {
            return usage(format!("there is no allocation strategy {strategy}"));
        }
        this.strategy.store(strategy, Ordering::Relaxed);
        Ok(())
    }
    /// The allocation strategy of contexts.
    fn get_strategy = "getExecutionContextAllocationStrategy" () -> i32, else 0, |_call, this| {
        Ok(this.strategy.load(Ordering::Relaxed))
    }
}
