//! Tests that call the functions which libraries import, as libraries call them, on the stand-in driver.

mod errors;
mod runs;
mod runtime;
mod tensors;

use std::ffi::c_void;
use std::ptr;

use thalweg_cuda::{Device, Driver, Pool, Stream};
use thalweg_simgpu::{Config, Sim};

use super::driver::CuResult;
use super::handle::TensorHandle;
use super::imports;
use super::*;

/// A device of the stand-in, with all that a session needs.
struct Machine {
    stream: Stream,
    kernels: Kernels,
    modules: Modules,
    pool: Pool,
    driver: DriverTable,
    device: Device,
}

impl Machine {
    fn new() -> Self {
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let device = driver.device(0).unwrap();
        Self {
            driver: DriverTable::of(&driver).unwrap(),
            pool: Pool::new(&device),
            modules: Modules::default(),
            kernels: Kernels::default(),
            stream: Stream::new(&device).unwrap(),
            device,
        }
    }

    fn session(&self) -> Session<'_> {
        let (device, driver) = (&self.device, &self.driver);
        let (modules, kernels) = (&self.modules, &self.kernels);
        Session::new(device, driver, modules, kernels, &self.pool, &self.stream).unwrap()
    }
}

/// Runs a test in a call of a library.
fn in_a_call(test: impl FnOnce(&Session<'_>)) {
    in_a_call_with(&Sim::session(Config::seeded(0)), 1, test);
}

fn in_a_call_with(sim: &Sim, seed: u64, test: impl FnOnce(&Session<'_>)) {
    sim.reset(Config::seeded(seed));
    {
        let machine = Machine::new();
        let session = machine.session();
        session
            .call("test", || {
                test(&session);
                0
            })
            .unwrap();
        session.finish().unwrap();
        machine.stream.synchronize().unwrap();
        machine.modules.unload(&machine.driver);
        machine.kernels.unload(&machine.driver);
    }
    sim.assert_clean();
}

const F32: i32 = 6;
const ON_DEVICE: (i32, i32) = (codes::CUDA, 0);
const ON_HOST: (i32, i32) = (codes::CPU, 0);

fn empty(sizes: &[i64], strides: &[i64], (kind, index): (i32, i32)) -> TensorHandle {
    let mut handle = ptr::null_mut();
    // SAFETY: the lists are as long as they are said to be.
    let code = unsafe {
        imports::tensors::aoti_torch_empty_strided(
            sizes.len() as i64,
            sizes.as_ptr(),
            strides.as_ptr(),
            F32,
            kind,
            index,
            &raw mut handle,
        )
    };
    assert_eq!(code, 0);
    handle
}

/// A tensor on the host over an array.
fn over(numbers: &mut [f32], sizes: &[i64], strides: &[i64], offset: i64) -> TensorHandle {
    let mut handle = ptr::null_mut();
    // SAFETY: the lists are as long as they are said to be.
    let code = unsafe {
        imports::tensors::aoti_torch_create_tensor_from_blob(
            numbers.as_mut_ptr().cast(),
            sizes.len() as i64,
            sizes.as_ptr(),
            strides.as_ptr(),
            offset,
            F32,
            codes::CPU,
            0,
            &raw mut handle,
        )
    };
    assert_eq!(code, 0);
    handle
}

fn copy_to(to: TensorHandle, from: TensorHandle) -> CuResult {
    // SAFETY: both are tensors.
    unsafe { imports::tensors::aoti_torch_copy_(to, from, 0) }
}

fn delete(handles: &[TensorHandle]) {
    for &handle in handles {
        // SAFETY: the handle is a tensor's, and is not used again.
        let code = unsafe { imports::tensors::aoti_torch_delete_tensor_object(handle) };
        assert_eq!(code, 0);
    }
}

/// Calls a getter of a tensor.
fn get<T: Default>(
    function: unsafe extern "C" fn(TensorHandle, *mut T) -> i32,
    handle: TensorHandle,
) -> Result<T, i32> {
    let mut value = T::default();
    // SAFETY: the handle is a tensor's, or null.
    match unsafe { function(handle, &raw mut value) } {
        0 => Ok(value),
        code => Err(code),
    }
}

/// The address of a tensor on the device.
fn address(tensor: TensorHandle) -> usize {
    let mut address = ptr::null_mut::<c_void>();
    // SAFETY: the handle is a tensor's.
    unsafe { imports::accessors::aoti_torch_get_data_ptr(tensor, &raw mut address) };
    address.addr()
}
