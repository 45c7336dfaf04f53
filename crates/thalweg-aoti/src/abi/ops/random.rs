//! Random numbers.
//!
//! They are Philox 4 x 32 with 10 rounds, of a counter that is on the device: each launch takes as many
//! values of it as it needs, so that no number comes twice, also where a graph repeats the launch. The
//! key is the backend's seed. Upstream's seed is the time; so no program can rely on its numbers, and
//! they are not the same here.
#![allow(
    unsafe_code,
    reason = "libraries pass handles and pointers, and kernels are launched by address; each block \
              says why it is right"
)]

use thalweg_core::{DType, Result, bail, ensure};

use super::super::numbers::CUDA;
use super::super::session::{Session, answer};
use super::super::tensor::{Storage, Tensor, Where, dtype, row_major_strides};
use super::super::tensors::{Handle, empty, look, numbers, put_tensor};
use super::kernels::{File, Launch, file};
use super::on_device;

static RANDOM: File = file!("random.ptx");

/// Numbers from 0 on and below 1. Nothing is said of layout and pinned memory, as upstream.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_rand(
    sizes: *const i64,
    dimensions: i64,
    type_code: *const i32,
    _layout: *const i32,
    device_type: *const i32,
    device_index: i32,
    _pin_memory: *const i32,
    result: *mut Handle,
) -> i32 {
    answer("aoti_torch_cuda_rand", |session| {
        // SAFETY: the library's numbers, each of which may be missing, and its place for a tensor.
        unsafe {
            let sizes = numbers(sizes, dimensions)?;
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
            ensure!(
                !result.is_null(),
                Delegate,
                "there is no place for the result"
            );
            put_tensor(result, uniform(session, sizes, dtype)?)
        }
    })
}

/// Fills a tensor with whole numbers from `low` on and below `high`.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_randint_low_out(
    out: Handle,
    low: i64,
    high: i64,
    sizes: *const i64,
    dimensions: i64,
) -> i32 {
    answer("aoti_torch_cuda_randint_low_out", |session| {
        // SAFETY: the library's tensor, and its numbers.
        unsafe { between(session, look(out)?, low, high, numbers(sizes, dimensions)?) }
    })
}

fn uniform(session: &Session<'_>, sizes: &[i64], dtype: DType) -> Result<Tensor> {
    // How the kernel calls the type, and how many numbers come of one value of the counter.
    let (kind, each) = match dtype {
        DType::BF16 => (0, 4),
        DType::F16 => (1, 4),
        DType::F32 => (2, 4),
        DType::F64 => (3, 2),
        other => bail!(Unsupported, "random numbers of {other}"),
    };
    let on = Where::Device(session.device.ordinal());
    let out = empty(session, sizes, &row_major_strides(sizes), dtype, on)?;
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
        session.operators.seed(),
        first.address,
    ];
    // SAFETY: these are the kernel's arguments; the tensor has so many elements of that type, and all
    // memory is there until the stream is past this.
    unsafe {
        let (operators, launch) = (session.operators, Launch::over(values));
        operators.launch(session, &RANDOM, c"random_uniform", launch, &arguments)?;
    }
    Ok(out)
}

fn between(session: &Session<'_>, out: &Tensor, low: i64, high: i64, sizes: &[i64]) -> Result<()> {
    on_device(session, "out", out)?;
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
        out.sizes == sizes && out.is_row_major(),
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
        session.operators.seed(),
        first.address,
    ];
    // SAFETY: as in `uniform`.
    unsafe {
        let (operators, launch) = (session.operators, Launch::over(values));
        operators.launch(session, &RANDOM, c"random_between", launch, &arguments)
    }
}

/// Takes so many values of the counter, on the stream; the first one is in the memory that this gives.
fn reserve(session: &Session<'_>, values: u64) -> Result<Storage> {
    let operators = session.operators;
    let counter = operators.counter(session)?;
    let first = session.allocate(size_of::<u64>() as u64)?;
    let launch = Launch {
        grid: [1, 1],
        threads: 1,
        shared: 0,
    };
    let arguments = [counter, values, first.address];
    // SAFETY: these are the kernel's arguments, and both places are there until the stream is past this.
    unsafe { operators.launch(session, &RANDOM, c"random_reserve", launch, &arguments)? };
    Ok(first)
}
