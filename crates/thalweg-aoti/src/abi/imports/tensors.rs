//! Functions of PyTorch's C interface that create, view, copy and delete tensors.
//!
//! They do what PyTorch's do, also where upstream's backend supports fewer cases.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers; each block says why it is right"
)]

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use thalweg_core::{DType, Result, bail, ensure};
use thalweg_cuda::PinnedBuffer;

use super::super::codes::{self, dtype};
use super::super::copies::{copy, copy_bytes, zero};
use super::super::handle::{
    TensorHandle, array, strides_or_contiguous, take, tensor_of, text, write_tensor,
};
use super::super::session::{AotiTorchError, Session, torch_function};
use super::super::tensor::{Location, Storage, Tensor, extent};

/// A tensor over a library's own memory.
fn from_blob(
    session: &Session<'_>,
    data: *mut c_void,
    sizes: &[i64],
    strides: &[i64],
    offset: i64,
    dtype: DType,
    device: (c_int, c_int),
) -> Result<Tensor> {
    // The library does not pass the size of its memory, so it is taken to be the tensor's extent.
    let start = u64::try_from(offset)
        .ok()
        .and_then(|offset| offset.checked_mul(dtype.size() as u64));
    let len = start.and_then(|start| start.checked_add(extent(sizes, strides, dtype).ok()?));
    let Some(len) = len else {
        bail!(
            Delegate,
            "a tensor of {dtype}, sizes {sizes:?}, from element {offset} on"
        );
    };
    let address = data.expose_provenance() as u64;
    let location = location_of(session, device)?;
    let storage = Arc::new(Storage::borrowed(address, len, location));
    let tensor = Tensor::new(storage, dtype, sizes, strides, offset)?;
    session.note_tensor(&tensor);
    Ok(tensor)
}

/// The location that PyTorch's device type and device index stand for.
fn location_of(session: &Session<'_>, (kind, index): (c_int, c_int)) -> Result<Location> {
    let here = session.device.ordinal();
    match kind {
        codes::CPU => Ok(Location::Host),
        codes::CUDA if index == here || index < 0 => Ok(Location::Device(here)),
        codes::CUDA => bail!(
            Unsupported,
            "a tensor on device {index}, in a library that is on device {here}"
        ),
        other => bail!(Unsupported, "a tensor on a device of kind {other}"),
    }
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_create_tensor_from_blob(
    data: *mut c_void,
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    offset: i64,
    type_code: i32,
    device_type: i32,
    device_index: i32,
    out: *mut TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_create_tensor_from_blob", |session| {
        // SAFETY: the library's arrays and out-parameter.
        unsafe {
            let sizes = array(sizes, dimensions)?;
            let strides = strides_or_contiguous(strides, sizes)?;
            let device = (device_type, device_index);
            let dtype = dtype(type_code)?;
            write_tensor(
                out,
                from_blob(session, data, sizes, &strides, offset, dtype, device)?,
            )
        }
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_create_tensor_from_blob_v2(
    data: *mut c_void,
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    offset: i64,
    type_code: i32,
    device_type: i32,
    device_index: i32,
    out: *mut TensorHandle,
    layout: i32,
    _opaque: *const u8,
    opaque_len: i64,
) -> AotiTorchError {
    if layout != codes::STRIDED || opaque_len != 0 {
        return torch_function("aoti_torch_create_tensor_from_blob_v2", |_| {
            bail!(
                Unsupported,
                "a tensor of layout {layout} with {opaque_len} bytes of opaque metadata"
            )
        });
    }
    // SAFETY: the library's arrays and out-parameter.
    unsafe {
        aoti_torch_create_tensor_from_blob(
            data,
            dimensions,
            sizes,
            strides,
            offset,
            type_code,
            device_type,
            device_index,
            out,
        )
    }
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_empty_strided(
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    type_code: i32,
    device_type: i32,
    device_index: i32,
    result: *mut TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_empty_strided", |session| {
        // SAFETY: the library's arrays and out-parameter.
        unsafe {
            let sizes = array(sizes, dimensions)?;
            let strides = strides_or_contiguous(strides, sizes)?;
            let location = location_of(session, (device_type, device_index))?;
            let dtype = dtype(type_code)?;
            write_tensor(
                result,
                session.empty_tensor(sizes, &strides, dtype, location)?,
            )
        }
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_empty_strided_pinned(
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    type_code: i32,
    _device_type: i32,
    _device_index: i32,
    result: *mut TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_empty_strided_pinned", |session| {
        // SAFETY: the library's arrays and out-parameter.
        unsafe {
            session.not_capturable("aoti_torch_empty_strided_pinned")?;
            let (sizes, strides) = (array(sizes, dimensions)?, array(strides, dimensions)?);
            let dtype = dtype(type_code)?;
            let bytes = usize::try_from(extent(sizes, strides, dtype)?).unwrap_or(usize::MAX);
            let buffer = PinnedBuffer::new(session.device, bytes.max(1))?;
            let storage = Arc::new(Storage::of_pinned(buffer));
            write_tensor(result, Tensor::new(storage, dtype, sizes, strides, 0)?)
        }
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_delete_tensor_object(
    handle: TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_delete_tensor_object", |_| {
        // SAFETY: the library gives up its handle.
        drop(unsafe { take(handle) });
        Ok(())
    })
}

macro_rules! same_storage {
    ($($name:ident)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(handle: TensorHandle, result: *mut TensorHandle) -> AotiTorchError {
            torch_function(stringify!($name), |_| {
                // SAFETY: the library's handle and out-parameter.
                unsafe { write_tensor(result, tensor_of(handle)?.clone()) }
            })
        }
    )*};
}

same_storage! {
    aoti_torch_new_tensor_handle
    aoti_torch_assign_tensors_out
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_assign_tensors(
    from: TensorHandle,
    to: TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_assign_tensors", |_| {
        // SAFETY: the library's handles; both stay, and nobody looks at the second meanwhile.
        unsafe {
            let from = tensor_of(from)?.clone();
            tensor_of(to)?;
            *to = from;
        }
        Ok(())
    })
}

macro_rules! clones {
    ($($name:ident)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(handle: TensorHandle, result: *mut TensorHandle) -> AotiTorchError {
            torch_function(stringify!($name), |session| {
                // SAFETY: the library's handle and out-parameter.
                unsafe {
                    let from = tensor_of(handle)?;
                    let location = from.storage.location;
                    let to = session.empty_tensor(&from.sizes, &from.strides, from.dtype, location)?;
                    // Gaps between elements are copied, too.
                    copy_bytes(session, to.start(), from.start(), from.extent())?;
                    write_tensor(result, to)
                }
            })
        }
    )*};
}

clones! {
    aoti_torch_clone
    aoti_torch_clone_preserve_strides
}

/// A view of the same storage. The offset is relative to that of the tensor.
pub(in crate::abi) unsafe extern "C" fn aoti_torch__reinterpret_tensor(
    handle: TensorHandle,
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    offset: i64,
    result: *mut TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch__reinterpret_tensor", |_| {
        // SAFETY: the library's handle, arrays and out-parameter.
        unsafe {
            let tensor = tensor_of(handle)?;
            let (sizes, strides) = (array(sizes, dimensions)?, array(strides, dimensions)?);
            let offset = tensor.offset.saturating_add(offset);
            let storage = tensor.storage.clone();
            write_tensor(
                result,
                Tensor::new(storage, tensor.dtype, sizes, strides, offset)?,
            )
        }
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_copy_(
    to: TensorHandle,
    from: TensorHandle,
    _non_blocking: i32,
) -> AotiTorchError {
    torch_function("aoti_torch_copy_", |session| {
        // SAFETY: the library's handles.
        unsafe { copy(session, tensor_of(to)?, tensor_of(from)?) }
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_zero_(handle: TensorHandle) -> AotiTorchError {
    torch_function("aoti_torch_zero_", |session| {
        // SAFETY: the library's handle.
        let tensor = unsafe { tensor_of(handle)? };
        ensure!(
            tensor.is_contiguous(),
            Unsupported,
            "a tensor of sizes {:?} with strides {:?}",
            tensor.sizes,
            tensor.strides
        );
        zero(session, tensor)
    })
}

pub(in crate::abi) unsafe extern "C" fn aoti_torch_warn(
    function: *const c_char,
    file: *const c_char,
    line: u32,
    message: *const c_char,
) {
    // SAFETY: the library's texts.
    let (function, file, message) = unsafe { (text(function), text(file), text(message)) };
    tracing::warn!("a compiled library says: {message} ({function}, {file}:{line})");
}

/// A check of the library. Where it does not hold, PyTorch throws, and the library is not made to
/// continue; here it does continue, and the call fails in any case.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_check(
    holds: bool,
    function: *const c_char,
    file: *const c_char,
    line: u32,
    message: *const c_char,
) {
    if holds {
        return;
    }
    // SAFETY: the library's texts.
    let (function, file, message) = unsafe { (text(function), text(file), text(message)) };
    torch_function("aoti_torch_check", |session| {
        session.fail_always();
        bail!(Delegate, "{message} ({function}, {file}:{line})")
    });
}
