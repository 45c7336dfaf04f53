//! A way to call single functions that libraries import, without a library: for tests.
#![allow(
    unsafe_code,
    reason = "functions are called as libraries call them; each block says why it is right"
)]

use std::ptr;
use std::sync::Arc;

use thalweg_core::{DType, Result};
use thalweg_cuda::{Device, Driver, Pool, Stream};

use super::driver::Table;
use super::modules::Modules;
use super::ops::{Operators, products, random, sort};
use super::properties;
use super::session::Session;
use super::tensor::{Storage, Tensor, Where, row_major_strides};
use super::tensors::{Handle, take};

/// A device, a stream, and what a library's session needs beside them.
///
/// Whoever drops a tensor has waited for the stream, or reads a result that came after it.
pub struct Probe {
    pub device: Device,
    pub stream: Stream,
    table: Table,
    modules: Modules,
    operators: Operators,
    pool: Pool,
}

/// A tensor, as a library has it.
#[derive(Clone, Debug)]
pub struct Probed(Tensor);

/// Which product, by how its weights are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Packed4,
    Plain4,
    Plain5,
    Plain6,
    Plain8,
}

impl Probe {
    pub fn new(driver: &Driver, seed: u64) -> Result<Self> {
        let device = driver.device(0)?;
        Ok(Self {
            stream: Stream::new(&device)?,
            table: Table::of(driver)?,
            modules: Modules::default(),
            operators: Operators::new(seed),
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
    ) -> Result<Probed> {
        let session = self.session()?;
        let all = [bytes.len() as i64];
        let uploaded = session.upload(bytes, DType::U8, &all, &[1])?;
        session.finish()?;
        Tensor::new(uploaded.storage, dtype, sizes, strides, offset).map(Probed)
    }

    /// The same, whose elements lie one after another.
    pub fn dense(&self, dtype: DType, sizes: &[i64], bytes: &[u8]) -> Result<Probed> {
        self.tensor(dtype, sizes, &row_major_strides(sizes), 0, bytes)
    }

    /// A dense tensor of zeros on the host.
    pub fn on_host(&self, dtype: DType, sizes: &[i64]) -> Result<Probed> {
        let elements: i64 = sizes.iter().product();
        let storage = Storage::of_host(elements as u64 * dtype.size() as u64)?;
        let strides = row_major_strides(sizes);
        Tensor::new(Arc::new(storage), dtype, sizes, &strides, 0).map(Probed)
    }

    /// The bytes of a tensor's elements, in the order of its dimensions.
    pub fn bytes(&self, tensor: &Probed) -> Result<Vec<u8>> {
        let tensor = &tensor.0;
        let mut bytes = vec![0; tensor.count() as usize * tensor.dtype.size()];
        if !bytes.is_empty() {
            let session = self.session()?;
            session.download(&mut bytes, tensor, &row_major_strides(&tensor.sizes))?;
            session.finish()?;
        }
        Ok(bytes)
    }

    /// A product of activations and weights, whose other arguments come in the function's order.
    pub fn product(
        &self,
        packing: Packing,
        activations: Option<&Probed>,
        tensors: &[Option<&Probed>],
        group: i64,
    ) -> Result<Probed> {
        let at = |index: usize| handle(tensors.get(index).copied().flatten());
        let a = handle(activations);
        self.made(|out| {
            // SAFETY: the handles are tensors, or null.
            unsafe {
                match packing {
                    Packing::Packed4 => {
                        products::aoti_torch_cuda__weight_int4pack_mm(a, at(0), group, at(1), out)
                    }
                    Packing::Plain4 => products::aoti_torch_cuda_int4_plain_mm(
                        a,
                        at(0),
                        at(1),
                        at(2),
                        at(3),
                        at(4),
                        group,
                        out,
                    ),
                    Packing::Plain5 => products::aoti_torch_cuda_int5_plain_mm(
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
                    Packing::Plain6 => products::aoti_torch_cuda_int6_plain_mm(
                        a,
                        at(0),
                        at(1),
                        at(2),
                        at(3),
                        group,
                        out,
                    ),
                    Packing::Plain8 => {
                        products::aoti_torch_cuda_int8_plain_mm(a, at(0), at(1), at(2), group, out)
                    }
                }
            }
        })
    }

    /// A tensor sorted, and where its elements were.
    pub fn sort(
        &self,
        tensor: Option<&Probed>,
        dimension: i64,
        descending: bool,
    ) -> Result<(Probed, Probed)> {
        let mut indices = ptr::null_mut();
        let sorted = self.made(|out| {
            // SAFETY: the handle is a tensor or null, and the places are for tensors.
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
        // SAFETY: as in `made`.
        let indices = unsafe { take(indices) };
        let indices = indices.map(Probed);
        Ok((
            sorted?,
            indices.expect("a function that succeeds gives both"),
        ))
    }

    /// Random numbers, of PyTorch's number of a type.
    pub fn rand(&self, sizes: &[i64], type_code: Option<i32>) -> Result<Probed> {
        let code = type_code.as_ref().map_or(ptr::null(), ptr::from_ref);
        let none = ptr::null();
        self.made(|out| {
            // SAFETY: the sizes are as many as is said.
            unsafe {
                let (sizes, len) = (sizes.as_ptr(), sizes.len() as i64);
                random::aoti_torch_cuda_rand(sizes, len, code, none, none, 0, none, out)
            }
        })
    }

    /// Fills a tensor with random whole numbers.
    pub fn randint(&self, out: Option<&Probed>, low: i64, high: i64, sizes: &[i64]) -> Result<()> {
        self.call(|| {
            // SAFETY: the handle is a tensor or null; the sizes are as many as is said.
            unsafe {
                let (sizes, len) = (sizes.as_ptr(), sizes.len() as i64);
                random::aoti_torch_cuda_randint_low_out(handle(out), low, high, sizes, len)
            }
        })
    }

    /// What CUDA 12's runtime, or else 13's, says of a device, by its code of an error.
    pub fn properties(&self, device: i32, twelve: bool) -> Result<(i32, Vec<u8>)> {
        let mut bytes = vec![0xaa; 2048];
        let mut code = 0;
        self.call(|| {
            // SAFETY: there is room for any form.
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

    fn made(&self, call: impl FnOnce(*mut Handle) -> i32) -> Result<Probed> {
        let mut out = ptr::null_mut();
        let done = self.call(|| call(&raw mut out));
        // SAFETY: what the function that was called has handed over is ours.
        let tensor = unsafe { take(out) };
        done?;
        Ok(Probed(
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
        let (device, table, modules) = (&self.device, &self.table, &self.modules);
        Session::new(
            device,
            table,
            modules,
            &self.operators,
            &self.pool,
            &self.stream,
        )
    }
}

impl Probed {
    pub fn dtype(&self) -> DType {
        self.0.dtype
    }

    pub fn sizes(&self) -> &[i64] {
        &self.0.sizes
    }

    pub fn is_on_device(&self) -> bool {
        self.0.storage.on != Where::Host
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // What fails once works the second time; a device that is lost has nothing left on it.
        let over = self.stream.synchronize();
        let over = over.or_else(|_| self.stream.synchronize());
        let current = self.device.enter().or_else(|_| self.device.enter());
        if let (Ok(()), Ok(_current)) = (over, current) {
            self.operators.unload(&self.table);
        }
    }
}

fn handle(tensor: Option<&Probed>) -> Handle {
    tensor.map_or(ptr::null_mut(), |tensor| {
        ptr::from_ref(&tensor.0).cast_mut()
    })
}
