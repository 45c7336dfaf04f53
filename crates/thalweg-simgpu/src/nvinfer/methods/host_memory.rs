//! `nvinfer1::IHostMemory`

use std::ffi::c_void;
use std::sync::Arc;

use crate::nvinfer::class::{Class, methods_of};
use crate::nvinfer::method::methods;
use crate::nvinfer::object::Implementation;
use crate::nvinfer::runtime::Runtime;

/// The bytes of an engine.
pub(super) struct HostMemory {
    pub(super) bytes: Vec<u8>,
    pub(super) runtime: Arc<Runtime>,
}

/// The class, with all methods of all versions.
static CLASS: Class = Class {
    name: "IHostMemory",
    exclusive: false,
    methods: || {
        methods_of! {
            "data" => data;
            "size" => size;
            "type" => data_type;
        }
    },
};

impl Implementation for HostMemory {
    fn class() -> &'static Class {
        &CLASS
    }

    fn logger(&self) -> usize {
        self.runtime.logger
    }
}

methods! { HostMemory:
    /// The address of the bytes.
    fn data = "data" () -> *const c_void, else std::ptr::null(), |_call, this| {
        Ok(this.bytes.as_ptr().cast())
    }
    /// The number of bytes.
    fn size = "size" () -> usize, else 0, |_call, this| { Ok(this.bytes.len()) }
    /// The element type: `kUINT8`.
    fn data_type = "type" () -> i32, else 0, |_call, _this| { Ok(5) }
}
