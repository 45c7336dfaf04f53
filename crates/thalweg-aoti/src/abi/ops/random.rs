//! Random numbers.
//!
//! The generator is Philox 4 x 32 with 10 rounds. Its key is the backend's seed. Its counter is on the
//! device, and each launch reserves as many values of it as it needs, so that no number comes twice, also
//! where a graph repeats the launch. Upstream's seed is the time, so no program can rely on upstream's
//! numbers, and they are not the same here.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers, and kernels are launched by address; each block \
              says why it is right"
)]

use thalweg_core::{DType, Result, bail, ensure};

use super::super::codes::{CUDA, dtype};
use super::super::handle::{TensorHandle, array, check_out, tensor_of, write_tensor};
use super::super::kernels::{PtxFile, ptx_file};
use super::super::session::{AotiTorchError, Session, torch_function};
use super::super::tensor::{Location, Storage, Tensor, contiguous_strides};
use super::check_device;
use super::launch::LaunchConfig;

static RANDOM: PtxFile = ptx_file!("random.ptx", None);

/// A tensor of uniformly distributed numbers in [0, 1). Layout and pinned memory are ignored, as upstream.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_rand(
    sizes: *const i64,
    dimensions: i64,
    type_code: *const i32,
    _layout: *const i32,
    device_type: *const i32,
    device_index: i32,
    _pin_memory: *const i32,
    result: *mut TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_cuda_rand", |session| {
        // SAFETY: the library's array, optional numbers and out-parameter.
        unsafe {
            let sizes = array(sizes, dimensions)?;
            let dtype = match type_code.as_ref() {
                Some(code) => dtype(*code)?,
                None => DType::F32,
            };
            let here = session.device.ordinal();
            let kind = device_type.as_ref().copied().unwrap_or(CUDA);
            ensure!(
                kind == CUDA && (device_index < 0 || device_index == here),
                Unsupported,
                "random numbers on device {device_index} of kind {kind}, in a call on device {here}"
            );
            check_out(result, "result")?;
            write_tensor(result, rand(session, sizes, dtype)?)
        }
    })
}

/// Fills a tensor with uniformly distributed integers in [`low`, `high`).
pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_randint_low_out(
    out: TensorHandle,
    low: i64,
    high: i64,
    sizes: *const i64,
    dimensions: i64,
) -> AotiTorchError {
    torch_function("aoti_torch_cuda_randint_low_out", |session| {
        // SAFETY: the library's handle and array.
        unsafe {
            randint(
                session,
                tensor_of(out)?,
                low,
                high,
                array(sizes, dimensions)?,
            )
        }
    })
}

fn rand(session: &Session<'_>, sizes: &[i64], dtype: DType) -> Result<Tensor> {
    // The kernel's code of the type, and the numbers for each value of the counter.
    let (kind, each) = match dtype {
        DType::BF16 => (0, 4),
        DType::F16 => (1, 4),
        DType::F32 => (2, 4),
        DType::F64 => (3, 2),
        other => bail!(Unsupported, "random numbers of {other}"),
    };
    let here = Location::Device(session.device.ordinal());
    let out = session.empty_tensor(sizes, &contiguous_strides(sizes), dtype, here)?;
    let count = out.count() as u64;
    if count == 0 {
        return Ok(out);
    }
    let values = count.div_ceil(each);
    let first = reserve(session, values)?;
    let arguments = [
        out.address(),
        kind,
        count,
        session.kernels.seed(),
        first.address,
    ];
    // SAFETY: these are the kernel's arguments; the tensor has so many elements of that type, and all
    // memory is there until the stream has passed the launch.
    unsafe {
        let config = LaunchConfig::grid_stride(values);
        session.launch(&RANDOM, c"random_uniform", config, &arguments)?;
    }
    Ok(out)
}

fn randint(session: &Session<'_>, out: &Tensor, low: i64, high: i64, sizes: &[i64]) -> Result<()> {
    check_device(session, "out", out)?;
    ensure!(
        high > low,
        Delegate,
        "numbers from {low} on and below {high}, of which there are none"
    );
    ensure!(
        out.dtype == DType::I64,
        Unsupported,
        "`out` has elements of {}, where {} is expected",
        out.dtype,
        DType::I64
    );
    ensure!(
        out.sizes == sizes && out.is_contiguous(),
        Delegate,
        "`out` has sizes {:?} and strides {:?}, where {sizes:?} are to be filled, one after another",
        out.sizes,
        out.strides
    );
    let count = out.count() as u64;
    if count == 0 {
        return Ok(());
    }
    let values = count.div_ceil(2);
    let first = reserve(session, values)?;
    let arguments = [
        out.address(),
        count,
        low as u64,
        high.wrapping_sub(low) as u64,
        session.kernels.seed(),
        first.address,
    ];
    // SAFETY: as in `rand`.
    unsafe {
        let config = LaunchConfig::grid_stride(values);
        session.launch(&RANDOM, c"random_between", config, &arguments)
    }
}

/// Reserves values of the generator's counter, on the stream. The memory that is returned holds the first
/// one.
fn reserve(session: &Session<'_>, values: u64) -> Result<Storage> {
    let counter = session.random_counter()?;
    let first = session.allocate(size_of::<u64>() as u64)?;
    let config = LaunchConfig {
        grid: [1, 1],
        threads: 1,
        shared: 0,
    };
    let arguments = [counter, values, first.address];
    // SAFETY: these are the kernel's arguments, and both are there until the stream has passed the launch.
    unsafe { session.launch(&RANDOM, c"random_reserve", config, &arguments)? };
    Ok(first)
}
