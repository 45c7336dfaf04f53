//! A test harness that calls functions which libraries import, without a library.
#![allow(
    unsafe_code,
    reason = "functions are called as libraries call them; each block says why it is right"
)]

use std::ptr;
use std::sync::Arc;

use thalweg_core::{DType, Result};
use thalweg_cuda::{Device, Driver, Pool, Stream};

use super::driver::DriverTable;
use super::handle::{TensorHandle, take};
use super::imports::properties;
use super::kernels::Kernels;
use super::modules::Modules;
use super::ops::{matmul, random, sort};
use super::session::Session;
use super::tensor::{Location, Storage, Tensor, contiguous_strides};

/// A device with a stream, on which functions are called as libraries call them.
///
/// Before a tensor is dropped, the stream must be synchronized, or a later result read.
pub struct Harness {
    pub device: Device,
    pub stream: Stream,
    driver: DriverTable,
    modules: Modules,
    kernels: Kernels,
    pool: Pool,
}

/// A tensor of the harness.
#[derive(Clone, Debug)]
pub struct HarnessTensor(Tensor);

/// A format of quantized weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightFormat {
    Int4Packed,
    Int4,
    Int5,
    Int6,
    Int8,
}

impl Harness {
    pub fn new(driver: &Driver, seed: u64) -> Result<Self> {
        let device = driver.device(0)?;
        Ok(Self {
            stream: Stream::new(&device)?,
            driver: DriverTable::of(driver)?,
            modules: Modules::default(),
            kernels: Kernels::new(seed),
            pool: Pool::new(&device),
            device,
        })
    }

    /// A tensor on the device, over a storage of these bytes.
    pub fn tensor(
        &self,
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
        offset: i64,
        bytes: &[u8],
    ) -> Result<HarnessTensor> {
        let session = self.session()?;
        let all = [bytes.len() as i64];
        let uploaded = session.upload(bytes, DType::U8, &all, &[1])?;
        session.finish()?;
        Tensor::new(uploaded.storage, dtype, sizes, strides, offset).map(HarnessTensor)
    }

    /// A contiguous tensor on the device.
    pub fn contiguous(&self, dtype: DType, sizes: &[i64], bytes: &[u8]) -> Result<HarnessTensor> {
        self.tensor(dtype, sizes, &contiguous_strides(sizes), 0, bytes)
    }

    /// A contiguous tensor of zeros on the host.
    pub fn on_host(&self, dtype: DType, sizes: &[i64]) -> Result<HarnessTensor> {
        let elements: i64 = sizes.iter().product();
        let storage = Storage::of_host(elements as u64 * dtype.size() as u64)?;
        let strides = contiguous_strides(sizes);
        Tensor::new(Arc::new(storage), dtype, sizes, &strides, 0).map(HarnessTensor)
    }

    /// The bytes of a tensor's elements, in row-major order.
    pub fn bytes(&self, tensor: &HarnessTensor) -> Result<Vec<u8>> {
        let tensor = &tensor.0;
        let mut bytes = vec![0; tensor.count() as usize * tensor.dtype.size()];
        if !bytes.is_empty() {
            let session = self.session()?;
            session.download(&mut bytes, tensor, &contiguous_strides(&tensor.sizes))?;
            session.finish()?;
        }
        Ok(bytes)
    }

    /// A matmul of activations and weights. `tensors` are the weights' tensors, in the function's order.
    pub fn matmul(
        &self,
        format: WeightFormat,
        activations: Option<&HarnessTensor>,
        tensors: &[Option<&HarnessTensor>],
        group: i64,
    ) -> Result<HarnessTensor> {
        let at = |index: usize| handle(tensors.get(index).copied().flatten());
        let a = handle(activations);
        self.result_of(|out| {
            // SAFETY: the handles are tensors, or null.
            unsafe {
                match format {
                    WeightFormat::Int4Packed => {
                        matmul::aoti_torch_cuda__weight_int4pack_mm(a, at(0), group, at(1), out)
                    }
                    WeightFormat::Int4 => matmul::aoti_torch_cuda_int4_plain_mm(
                        a,
                        at(0),
                        at(1),
                        at(2),
                        at(3),
                        at(4),
                        group,
                        out,
                    ),
                    WeightFormat::Int5 => matmul::aoti_torch_cuda_int5_plain_mm(
                        a,
                        at(0),
                        at(1),
                        at(2),
                        at(3),
                        at(4),
                        at(5),
                        group,
                        out,
                    ),
                    WeightFormat::Int6 => matmul::aoti_torch_cuda_int6_plain_mm(
                        a,
                        at(0),
                        at(1),
                        at(2),
                        at(3),
                        group,
                        out,
                    ),
                    WeightFormat::Int8 => {
                        matmul::aoti_torch_cuda_int8_plain_mm(a, at(0), at(1), at(2), group, out)
                    }
                }
            }
        })
    }

    /// A sorted tensor, and the indices of its elements.
    pub fn sort(
        &self,
        tensor: Option<&HarnessTensor>,
        dimension: i64,
        descending: bool,
    ) -> Result<(HarnessTensor, HarnessTensor)> {
        let mut indices = ptr::null_mut();
        let sorted = self.result_of(|out| {
            // SAFETY: the handle is a tensor or null; out-parameters.
            unsafe {
                sort::aoti_torch_cuda_sort_stable(
                    handle(tensor),
                    ptr::null(),
                    dimension,
                    descending.into(),
                    out,
                    &raw mut indices,
                )
            }
        });
        // SAFETY: as in `result_of`.
        let indices = unsafe { take(indices) };
        let indices = indices.map(HarnessTensor);
        Ok((
            sorted?,
            indices.expect("a function that succeeds gives both"),
        ))
    }

    /// A tensor of random numbers, with PyTorch's code of its element type.
    pub fn rand(&self, sizes: &[i64], type_code: Option<i32>) -> Result<HarnessTensor> {
        let code = type_code.as_ref().map_or(ptr::null(), ptr::from_ref);
        let none = ptr::null();
        self.result_of(|out| {
            // SAFETY: the sizes are as many as is said.
            unsafe {
                let (sizes, len) = (sizes.as_ptr(), sizes.len() as i64);
                random::aoti_torch_cuda_rand(sizes, len, code, none, none, 0, none, out)
            }
        })
    }

    /// Fills a tensor with random integers.
    pub fn randint(
        &self,
        out: Option<&HarnessTensor>,
        low: i64,
        high: i64,
        sizes: &[i64],
    ) -> Result<()> {
        self.call(|| {
            // SAFETY: the handle is a tensor or null; the sizes are as many as is said.
            unsafe {
                let (sizes, len) = (sizes.as_ptr(), sizes.len() as i64);
                random::aoti_torch_cuda_randint_low_out(handle(out), low, high, sizes, len)
            }
        })
    }

    /// The error code and the properties of a device in the layout of CUDA 12, or else of CUDA 13.
    pub fn properties(&self, device: i32, twelve: bool) -> Result<(i32, Vec<u8>)> {
        let mut bytes = vec![0xaa; 2048];
        let mut code = 0;
        self.call(|| {
            // SAFETY: the bytes suffice for any layout.
            code = unsafe {
                match twelve {
                    true => properties::cudaGetDeviceProperties_v2(bytes.as_mut_ptr(), device),
                    false => properties::cudaGetDeviceProperties(bytes.as_mut_ptr(), device),
                }
            };
            0
        })?;
        Ok((code, bytes))
    }

    fn result_of(&self, call: impl FnOnce(*mut TensorHandle) -> i32) -> Result<HarnessTensor> {
        let mut out = ptr::null_mut();
        let done = self.call(|| call(&raw mut out));
        // SAFETY: what the function that was called has handed over is ours.
        let tensor = unsafe { take(out) };
        done?;
        Ok(HarnessTensor(
            tensor.expect("a function that succeeds gives a tensor"),
        ))
    }

    fn call(&self, call: impl FnOnce() -> i32) -> Result<()> {
        let session = self.session()?;
        let done = session.call("probe", call);
        let finished = session.finish();
        done.and(finished)
    }

    fn session(&self) -> Result<Session<'_>> {
        Session::new(
            &self.device,
            &self.driver,
            &self.modules,
            &self.kernels,
            &self.pool,
            &self.stream,
        )
    }
}

impl HarnessTensor {
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    pub fn sizes(&self) -> &[i64] {
        &self.0.sizes
    }

    pub fn is_on_device(&self) -> bool {
        self.0.storage.location != Location::Host
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        // What fails once works the second time; a device that is lost has nothing left on it.
        let complete = self.stream.synchronize();
        let complete = complete.or_else(|_| self.stream.synchronize());
        let current = self.device.enter().or_else(|_| self.device.enter());
        if let (Ok(()), Ok(_current)) = (complete, current) {
            self.kernels.unload(&self.driver);
        }
    }
}

fn handle(tensor: Option<&HarnessTensor>) -> TensorHandle {
    tensor.map_or(ptr::null_mut(), |tensor| {
        ptr::from_ref(&tensor.0).cast_mut()
    })
}
