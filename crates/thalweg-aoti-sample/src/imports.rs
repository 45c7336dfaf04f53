//! The imports: a part of those of AOTInductor's libraries.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub(crate) type Tensor = *mut c_void;
pub(crate) type Stream = *mut c_void;

unsafe extern "C" {
    pub(crate) fn aoti_torch_empty_strided(
        dimensions: i64,
        sizes: *const i64,
        strides: *const i64,
        dtype: i32,
        device_type: i32,
        device_index: i32,
        result: *mut Tensor,
    ) -> i32;
    pub(crate) fn aoti_torch_create_tensor_from_blob_v2(
        data: *mut c_void,
        dimensions: i64,
        sizes: *const i64,
        strides: *const i64,
        offset: i64,
        dtype: i32,
        device_type: i32,
        device_index: i32,
        result: *mut Tensor,
        layout: i32,
        opaque: *const u8,
        opaque_len: i64,
    ) -> i32;
    pub(crate) fn aoti_torch_delete_tensor_object(tensor: Tensor) -> i32;
    pub(crate) fn aoti_torch_get_data_ptr(tensor: Tensor, data: *mut *mut c_void) -> i32;
    pub(crate) fn aoti_torch_get_sizes(tensor: Tensor, sizes: *mut *mut i64) -> i32;
    pub(crate) fn aoti_torch_get_strides(tensor: Tensor, strides: *mut *mut i64) -> i32;
    pub(crate) fn aoti_torch_get_dim(tensor: Tensor, dimensions: *mut i64) -> i32;
    pub(crate) fn aoti_torch_get_numel(tensor: Tensor, count: *mut i64) -> i32;
    pub(crate) fn aoti_torch_dtype_float32() -> i32;
    pub(crate) fn aoti_torch_device_type_cuda() -> i32;
    pub(crate) fn aoti_torch_create_cuda_stream_guard(
        stream: Stream,
        device: i32,
        guard: *mut *mut c_void,
    ) -> i32;
    pub(crate) fn aoti_torch_delete_cuda_stream_guard(guard: *mut c_void) -> i32;
    pub(crate) fn aoti_torch_warn(
        function: *const c_char,
        file: *const c_char,
        line: u32,
        message: *const c_char,
    );

    pub(crate) fn cudaMalloc(data: *mut *mut c_void, len: usize) -> c_int;
    pub(crate) fn cudaFree(data: *mut c_void) -> c_int;
    pub(crate) fn cudaMemcpy(
        to: *mut c_void,
        from: *const c_void,
        len: usize,
        kind: c_int,
    ) -> c_int;
    pub(crate) fn cudaGraphLaunch(graph: *mut c_void, stream: Stream) -> c_int;
    pub(crate) fn cudaGetDevice(device: *mut c_int) -> c_int;
    pub(crate) fn cudaEventCreate(event: *mut *mut c_void) -> c_int;
    pub(crate) fn cudaEventRecord(event: *mut c_void, stream: Stream) -> c_int;
    pub(crate) fn cudaEventSynchronize(event: *mut c_void) -> c_int;
    pub(crate) fn cudaEventDestroy(event: *mut c_void) -> c_int;

    pub(crate) fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> c_int;
    pub(crate) fn cuModuleGetFunction(
        function: *mut *mut c_void,
        module: *mut c_void,
        name: *const c_char,
    ) -> c_int;
    pub(crate) fn cuLaunchKernel(
        function: *mut c_void,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: Stream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> c_int;
}
