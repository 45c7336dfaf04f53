//! The functions of PyTorch's C interface that make, look at, copy and delete tensors.
//!
//! They do what PyTorch's do, which is also what upstream's do, where those are asked for less.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers; each block says why it is right"
)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::Arc;

use thalweg_core::{DType, Result, bail, ensure};
use thalweg_cuda::PinnedBuffer;

use super::copies::{copy, copy_bytes};
use super::session::{Session, answer};
use super::tensor::{Storage, Tensor, Where, code, dtype, reach, row_major_strides};

/// A tensor, as libraries hold it.
pub(crate) type Handle = *mut Tensor;

/// What a function of PyTorch's C interface gives back: 0, or that it failed.
type Answer = i32;

/// More dimensions than this no tensor of PyTorch's has.
const MOST_DIMENSIONS: i64 = 64;

/// Hands a tensor over to a library. It comes back by [`take`], or is deleted by the library.
pub(crate) fn hand_over(tensor: Tensor) -> Handle {
    Box::into_raw(Box::new(tensor))
}

/// Takes a tensor back from a library.
///
/// # Safety
/// The handle is null, or came from [`hand_over`] and belongs to whoever calls this.
pub(crate) unsafe fn take(handle: Handle) -> Option<Tensor> {
    // SAFETY: the caller's.
    (!handle.is_null()).then(|| *unsafe { Box::from_raw(handle) })
}

/// The tensor of a handle.
///
/// # Safety
/// The handle is null, or came from [`hand_over`] and stays while the result is used.
pub(super) unsafe fn look<'t>(handle: Handle) -> Result<&'t Tensor> {
    // SAFETY: the caller's.
    match unsafe { handle.as_ref() } {
        Some(tensor) => Ok(tensor),
        None => bail!(Delegate, "there is no tensor"),
    }
}

/// Writes an answer.
///
/// # Safety
/// The place is null, or one for such a value.
unsafe fn put<T>(place: *mut T, value: T) -> Result<()> {
    ensure!(
        !place.is_null(),
        Delegate,
        "there is no place for the answer"
    );
    // SAFETY: the caller's.
    unsafe { place.write(value) };
    Ok(())
}

/// Writes a new tensor.
///
/// # Safety
/// As for [`put`].
pub(super) unsafe fn put_tensor(place: *mut Handle, tensor: Tensor) -> Result<()> {
    ensure!(
        !place.is_null(),
        Delegate,
        "there is no place for the tensor"
    );
    // SAFETY: the caller's.
    unsafe { place.write(hand_over(tensor)) };
    Ok(())
}

/// Numbers that a library passes.
///
/// # Safety
/// The pointer is null, or one to so many numbers, which stay while the result is used.
pub(super) unsafe fn numbers<'n>(pointer: *const i64, count: i64) -> Result<&'n [i64]> {
    ensure!(
        (0..=MOST_DIMENSIONS).contains(&count) && (count == 0 || !pointer.is_null()),
        Delegate,
        "a tensor of {count} dimensions"
    );
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: the caller's.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count as usize) })
}

/// Text that a library passes, for a message.
///
/// # Safety
/// The pointer is null, or one to text that stays while the result is used.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return "?".into();
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

macro_rules! getters {
    ($($name:ident: |$tensor:ident| -> $answer:ty { $value:expr })*) => {$(
        pub(super) unsafe extern "C" fn $name(handle: Handle, place: *mut $answer) -> Answer {
            answer(stringify!($name), |_| {
                // SAFETY: the library's handle, and its place for the answer.
                unsafe {
                    let $tensor = look(handle)?;
                    put(place, $value)
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
    aoti_torch_get_dtype: |tensor| -> i32 { code(tensor.dtype) }
    aoti_torch_get_device_type: |tensor| -> i32 {
        match tensor.storage.on {
            Where::Host => super::numbers::CPU,
            Where::Device(_) => super::numbers::CUDA,
        }
    }
    aoti_torch_get_device_index: |tensor| -> i32 {
        match tensor.storage.on {
            Where::Host => -1,
            Where::Device(index) => index,
        }
    }
    aoti_torch_get_storage_offset: |tensor| -> i64 { tensor.offset }
    aoti_torch_get_layout: |_tensor| -> i32 { super::numbers::STRIDED }
    aoti_torch_is_contiguous: |tensor| -> bool { tensor.is_row_major() }
    aoti_torch_is_defined: |_tensor| -> bool { true }
}

/// Where a tensor's elements are. What is on the host, the library is about to read or write there.
pub(super) unsafe extern "C" fn aoti_torch_get_data_ptr(
    handle: Handle,
    place: *mut *mut c_void,
) -> Answer {
    answer("aoti_torch_get_data_ptr", |session| {
        // SAFETY: the library's handle, and its place for the answer.
        unsafe {
            let tensor = look(handle)?;
            if tensor.storage.on == Where::Host {
                session.not_in_graphs("the address of a tensor on the host")?;
            }
            let address = tensor.address() as usize;
            put(place, std::ptr::with_exposed_provenance_mut(address))
        }
    })
}

macro_rules! part_getters {
    ($($name:ident: $list:ident)*) => {$(
        pub(super) unsafe extern "C" fn $name(
            handle: Handle,
            dimension: i64,
            place: *mut i64,
        ) -> Answer {
            answer(stringify!($name), |_| {
                // SAFETY: the library's handle, and its place for the answer.
                unsafe {
                    let list = &look(handle)?.$list;
                    let count = list.len() as i64;
                    let index = if dimension < 0 { dimension + count } else { dimension };
                    match usize::try_from(index).ok().and_then(|index| list.get(index)) {
                        Some(value) => put(place, *value),
                        None => bail!(Delegate, "dimension {dimension} of {count}"),
                    }
                }
            })
        }
    )*};
}

part_getters! {
    aoti_torch_get_size: sizes
    aoti_torch_get_stride: strides
}

/// The tensor over memory that a library has.
fn over(
    session: &Session<'_>,
    data: *mut c_void,
    sizes: &[i64],
    strides: Option<&[i64]>,
    offset: i64,
    dtype: DType,
    device: (c_int, c_int),
) -> Result<Tensor> {
    let dense;
    let strides = match strides {
        Some(strides) => strides,
        None => {
            dense = row_major_strides(sizes);
            &dense
        }
    };
    // How long the memory is, the library does not say: as long as the tensor needs it.
    let start = u64::try_from(offset)
        .ok()
        .and_then(|offset| offset.checked_mul(dtype.size() as u64));
    let len = start.and_then(|start| start.checked_add(reach(sizes, strides, dtype).ok()?));
    let Some(len) = len else {
        bail!(
            Delegate,
            "a tensor of {dtype}, sizes {sizes:?}, from element {offset} on"
        );
    };
    let address = data.expose_provenance() as u64;
    let on = place(session, device)?;
    let storage = Arc::new(Storage::lent(address, len, on));
    let tensor = Tensor::new(storage, dtype, sizes, strides, offset)?;
    session.note(&tensor);
    Ok(tensor)
}

/// Where PyTorch's numbers of a device's kind and of a device say.
fn place(session: &Session<'_>, (kind, index): (c_int, c_int)) -> Result<Where> {
    let here = session.device.ordinal();
    match kind {
        super::numbers::CPU => Ok(Where::Host),
        super::numbers::CUDA if index == here || index < 0 => Ok(Where::Device(here)),
        super::numbers::CUDA => bail!(
            Unsupported,
            "a tensor on device {index}, in a library that is on device {here}"
        ),
        other => bail!(Unsupported, "a tensor on a device of kind {other}"),
    }
}

pub(super) unsafe extern "C" fn aoti_torch_create_tensor_from_blob(
    data: *mut c_void,
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    offset: i64,
    type_code: i32,
    device_type: i32,
    device_index: i32,
    place: *mut Handle,
) -> Answer {
    answer("aoti_torch_create_tensor_from_blob", |session| {
        // SAFETY: the library's numbers and its place for the tensor.
        unsafe {
            let strides = match strides.is_null() {
                true => None,
                false => Some(numbers(strides, dimensions)?),
            };
            let sizes = numbers(sizes, dimensions)?;
            let device = (device_type, device_index);
            let dtype = dtype(type_code)?;
            put_tensor(
                place,
                over(session, data, sizes, strides, offset, dtype, device)?,
            )
        }
    })
}

pub(super) unsafe extern "C" fn aoti_torch_create_tensor_from_blob_v2(
    data: *mut c_void,
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    offset: i64,
    type_code: i32,
    device_type: i32,
    device_index: i32,
    place: *mut Handle,
    layout: i32,
    _opaque: *const u8,
    opaque_len: i64,
) -> Answer {
    if layout != super::numbers::STRIDED || opaque_len != 0 {
        return answer("aoti_torch_create_tensor_from_blob_v2", |_| {
            bail!(
                Unsupported,
                "a tensor of layout {layout}, with {opaque_len} bytes that only its maker knows"
            )
        });
    }
    // SAFETY: the library's numbers and its place for the tensor.
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
            place,
        )
    }
}

/// A new tensor, with arbitrary values.
pub(super) fn empty(
    session: &Session<'_>,
    sizes: &[i64],
    strides: &[i64],
    dtype: DType,
    on: Where,
) -> Result<Tensor> {
    let bytes = reach(sizes, strides, dtype)?;
    let storage = match on {
        Where::Host => Storage::of_host(bytes)?,
        Where::Device(_) => session.allocate(bytes)?,
    };
    Tensor::new(Arc::new(storage), dtype, sizes, strides, 0)
}

pub(super) unsafe extern "C" fn aoti_torch_empty_strided(
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    type_code: i32,
    device_type: i32,
    device_index: i32,
    result: *mut Handle,
) -> Answer {
    answer("aoti_torch_empty_strided", |session| {
        // SAFETY: the library's numbers and its place for the tensor.
        unsafe {
            let sizes = numbers(sizes, dimensions)?;
            let dense;
            let strides = if strides.is_null() {
                dense = row_major_strides(sizes);
                &dense
            } else {
                numbers(strides, dimensions)?
            };
            let on = place(session, (device_type, device_index))?;
            put_tensor(
                result,
                empty(session, sizes, strides, dtype(type_code)?, on)?,
            )
        }
    })
}

pub(super) unsafe extern "C" fn aoti_torch_empty_strided_pinned(
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    type_code: i32,
    _device_type: i32,
    _device_index: i32,
    result: *mut Handle,
) -> Answer {
    answer("aoti_torch_empty_strided_pinned", |session| {
        // SAFETY: the library's numbers and its place for the tensor.
        unsafe {
            session.not_in_graphs("aoti_torch_empty_strided_pinned")?;
            let (sizes, strides) = (numbers(sizes, dimensions)?, numbers(strides, dimensions)?);
            let dtype = dtype(type_code)?;
            let bytes = usize::try_from(reach(sizes, strides, dtype)?).unwrap_or(usize::MAX);
            let buffer = PinnedBuffer::new(session.device, bytes.max(1))?;
            let storage = Arc::new(Storage::of_pinned(buffer));
            put_tensor(result, Tensor::new(storage, dtype, sizes, strides, 0)?)
        }
    })
}

pub(super) unsafe extern "C" fn aoti_torch_delete_tensor_object(handle: Handle) -> Answer {
    answer("aoti_torch_delete_tensor_object", |_| {
        // SAFETY: the library gives up its handle.
        drop(unsafe { take(handle) });
        Ok(())
    })
}

macro_rules! same_storage {
    ($($name:ident)*) => {$(
        pub(super) unsafe extern "C" fn $name(handle: Handle, result: *mut Handle) -> Answer {
            answer(stringify!($name), |_| {
                // SAFETY: the library's handle, and its place for the tensor.
                unsafe { put_tensor(result, look(handle)?.clone()) }
            })
        }
    )*};
}

same_storage! {
    aoti_torch_new_tensor_handle
    aoti_torch_assign_tensors_out
}

pub(super) unsafe extern "C" fn aoti_torch_assign_tensors(from: Handle, to: Handle) -> Answer {
    answer("aoti_torch_assign_tensors", |_| {
        // SAFETY: the library's handles; both stay, and nobody looks at the second meanwhile.
        unsafe {
            let from = look(from)?.clone();
            look(to)?;
            *to = from;
        }
        Ok(())
    })
}

macro_rules! clones {
    ($($name:ident)*) => {$(
        pub(super) unsafe extern "C" fn $name(handle: Handle, result: *mut Handle) -> Answer {
            answer(stringify!($name), |session| {
                // SAFETY: the library's handle, and its place for the tensor.
                unsafe {
                    let from = look(handle)?;
                    let to = empty(session, &from.sizes, &from.strides, from.dtype, from.storage.on)?;
                    // Gaps between elements are copied, too.
                    let place = |tensor: &Tensor| (tensor.address(), tensor.storage.on);
                    copy_bytes(session, place(&to), place(from), from.reach())?;
                    put_tensor(result, to)
                }
            })
        }
    )*};
}

clones! {
    aoti_torch_clone
    aoti_torch_clone_preserve_strides
}

/// A view of the same storage, whose offset counts from the tensor's own.
pub(super) unsafe extern "C" fn aoti_torch__reinterpret_tensor(
    handle: Handle,
    dimensions: i64,
    sizes: *const i64,
    strides: *const i64,
    offset: i64,
    result: *mut Handle,
) -> Answer {
    answer("aoti_torch__reinterpret_tensor", |_| {
        // SAFETY: the library's handle, numbers, and its place for the tensor.
        unsafe {
            let tensor = look(handle)?;
            let (sizes, strides) = (numbers(sizes, dimensions)?, numbers(strides, dimensions)?);
            let offset = tensor.offset.saturating_add(offset);
            let storage = tensor.storage.clone();
            put_tensor(
                result,
                Tensor::new(storage, tensor.dtype, sizes, strides, offset)?,
            )
        }
    })
}

pub(super) unsafe extern "C" fn aoti_torch_copy_(
    to: Handle,
    from: Handle,
    _non_blocking: i32,
) -> Answer {
    answer("aoti_torch_copy_", |session| {
        // SAFETY: the library's handles.
        unsafe { copy(session, look(to)?, look(from)?) }
    })
}

pub(super) unsafe extern "C" fn aoti_torch_zero_(handle: Handle) -> Answer {
    answer("aoti_torch_zero_", |session| {
        // SAFETY: the library's handle.
        let tensor = unsafe { look(handle)? };
        ensure!(
            tensor.is_row_major(),
            Unsupported,
            "a tensor of sizes {:?} with strides {:?}",
            tensor.sizes,
            tensor.strides
        );
        super::copies::zero(session, tensor)
    })
}

macro_rules! items {
    ($($name:ident: $type:ty, $dtype:ident)*) => {$(
        pub(super) unsafe extern "C" fn $name(handle: Handle, place: *mut $type) -> Answer {
            answer(stringify!($name), |session| {
                // SAFETY: the library's handle, and its place for the answer.
                unsafe {
                    let tensor = look(handle)?;
                    ensure!(
                        tensor.count() == 1 && tensor.dtype == DType::$dtype,
                        Delegate,
                        "a tensor of {} with {} elements",
                        tensor.dtype,
                        tensor.count()
                    );
                    put(place, <$type>::read(super::copies::value(session, tensor)?))
                }
            })
        }
    )*};
}

/// A number that is read from a tensor.
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

pub(super) unsafe extern "C" fn aoti_torch_warn(
    function: *const c_char,
    file: *const c_char,
    line: u32,
    message: *const c_char,
) {
    // SAFETY: the library's texts.
    let (function, file, message) = unsafe { (text(function), text(file), text(message)) };
    tracing::warn!("a compiled library says: {message} ({function}, {file}:{line})");
}

/// What the library found not to hold. PyTorch throws here, and so the library goes on as if this did
/// not return; all that can be done is to say so, and to let the call fail.
pub(super) unsafe extern "C" fn aoti_torch_check(
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
    answer("aoti_torch_check", |session| {
        session.doom();
        bail!(Delegate, "{message} ({function}, {file}:{line})")
    });
}
