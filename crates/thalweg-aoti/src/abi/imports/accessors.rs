//! Functions of PyTorch's C interface that read properties and elements of tensors.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers; each block says why it is right"
)]

use std::ffi::c_void;

use thalweg_core::{DType, bail, ensure};

use super::super::codes::{self, dtype_code};
use super::super::copies::element;
use super::super::handle::{TensorHandle, tensor_of, write_out};
use super::super::session::{AotiTorchError, torch_function};
use super::super::tensor::Location;

macro_rules! getters {
    ($($name:ident: |$tensor:ident| -> $answer:ty { $value:expr })*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(handle: TensorHandle, out: *mut $answer) -> AotiTorchError {
            torch_function(stringify!($name), |_| {
                // SAFETY: the library's handle and out-parameter.
                unsafe {
                    let $tensor = tensor_of(handle)?;
                    write_out(out, $value)
                }
            })
        }
    )*};
}

getters! {
    aoti_torch_get_storage_size: |tensor| -> i64 { tensor.storage.bytes as i64 }
    aoti_torch_get_dim: |tensor| -> i64 { tensor.sizes.len() as i64 }
    aoti_torch_get_numel: |tensor| -> i64 { tensor.count() }
    aoti_torch_get_storage_numel: |tensor| -> i64 {
        (tensor.storage.bytes / tensor.dtype.size() as u64) as i64
    }
    // The library only reads what these point to, while it has the tensor.
    aoti_torch_get_sizes: |tensor| -> *mut i64 { tensor.sizes.as_ptr().cast_mut() }
    aoti_torch_get_strides: |tensor| -> *mut i64 { tensor.strides.as_ptr().cast_mut() }
    aoti_torch_get_dtype: |tensor| -> i32 { dtype_code(tensor.dtype) }
    aoti_torch_get_device_type: |tensor| -> i32 {
        match tensor.storage.location {
            Location::Host => codes::CPU,
            Location::Device(_) => codes::CUDA,
        }
    }
    aoti_torch_get_device_index: |tensor| -> i32 {
        match tensor.storage.location {
            Location::Host => -1,
            Location::Device(index) => index,
        }
    }
    aoti_torch_get_storage_offset: |tensor| -> i64 { tensor.offset }
    aoti_torch_get_layout: |_tensor| -> i32 { codes::STRIDED }
    aoti_torch_is_contiguous: |tensor| -> bool { tensor.is_contiguous() }
    aoti_torch_is_defined: |_tensor| -> bool { true }
}

/// The address of a tensor's elements. A library that asks for one on the host is about to read or write
/// there.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_get_data_ptr(
    handle: TensorHandle,
    out: *mut *mut c_void,
) -> AotiTorchError {
    torch_function("aoti_torch_get_data_ptr", |session| {
        // SAFETY: the library's handle and out-parameter.
        unsafe {
            let tensor = tensor_of(handle)?;
            if tensor.storage.location == Location::Host {
                session.not_capturable("the address of a tensor on the host")?;
            }
            let address = tensor.address() as usize;
            write_out(out, std::ptr::with_exposed_provenance_mut(address))
        }
    })
}

macro_rules! dimension_getters {
    ($($name:ident: $list:ident)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(
            handle: TensorHandle,
            dimension: i64,
            out: *mut i64,
        ) -> AotiTorchError {
            torch_function(stringify!($name), |_| {
                // SAFETY: the library's handle and out-parameter.
                unsafe {
                    let list = &tensor_of(handle)?.$list;
                    let count = list.len() as i64;
                    let index = if dimension < 0 { dimension + count } else { dimension };
                    match usize::try_from(index).ok().and_then(|index| list.get(index)) {
                        Some(value) => write_out(out, *value),
                        None => bail!(Delegate, "dimension {dimension} of {count}"),
                    }
                }
            })
        }
    )*};
}

dimension_getters! {
    aoti_torch_get_size: sizes
    aoti_torch_get_stride: strides
}

macro_rules! items {
    ($($name:ident: $type:ty, $dtype:ident)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(handle: TensorHandle, out: *mut $type) -> AotiTorchError {
            torch_function(stringify!($name), |session| {
                // SAFETY: the library's handle and out-parameter.
                unsafe {
                    let tensor = tensor_of(handle)?;
                    ensure!(
                        tensor.count() == 1 && tensor.dtype == DType::$dtype,
                        Delegate,
                        "a tensor of {} with {} elements",
                        tensor.dtype,
                        tensor.count()
                    );
                    write_out(out, <$type>::read(element(session, tensor)?))
                }
            })
        }
    )*};
}

/// A type that an element can be read as.
trait Item: Sized {
    fn read(bytes: [u8; 8]) -> Self;
}

macro_rules! readable {
    ($($type:ty)*) => {$(
        impl Item for $type {
            fn read(bytes: [u8; 8]) -> Self {
                let (bytes, _) = bytes.split_first_chunk().unwrap_or((&[0; size_of::<Self>()], &[]));
                Self::from_ne_bytes(*bytes)
            }
        }
    )*};
}

readable! { u8 i8 i16 i32 i64 f32 f64 u16 u32 u64 }

impl Item for bool {
    fn read(bytes: [u8; 8]) -> Self {
        bytes[0] != 0
    }
}

items! {
    aoti_torch_item_bool: bool, Bool
    aoti_torch_item_uint8: u8, U8
    aoti_torch_item_int8: i8, I8
    aoti_torch_item_int16: i16, I16
    aoti_torch_item_int32: i32, I32
    aoti_torch_item_int64: i64, I64
    aoti_torch_item_uint16: u16, U16
    aoti_torch_item_uint32: u32, U32
    aoti_torch_item_uint64: u64, U64
    aoti_torch_item_float32: f32, F32
    aoti_torch_item_float64: f64, F64
}
