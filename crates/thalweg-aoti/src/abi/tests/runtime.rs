//! Functions of CUDA's runtime and of the driver.

use std::ffi::c_int;
use std::ptr;

use thalweg_cuda::PinnedBuffer;
use thalweg_simgpu::{Config, Sim};

use super::super::driver::error;
use super::super::imports::driver;
use super::super::imports::runtime::{self, PointerAttributes};
use super::*;

#[test]
fn the_last_error_is_kept_until_it_is_read() {
    in_a_call(|_| {
        let mut pointer = 0;
        // SAFETY: an out-parameter.
        let failed = unsafe { runtime::cudaMalloc(&raw mut pointer, usize::MAX / 2) };
        assert_eq!(failed, error::OUT_OF_MEMORY);
        assert_eq!(runtime::cudaPeekAtLastError(), failed);
        // SAFETY: an out-parameter, and memory that is freed once.
        unsafe {
            assert_eq!(runtime::cudaMalloc(&raw mut pointer, 100), 0);
            assert_eq!(runtime::cudaFree(pointer), 0);
            assert_eq!(runtime::cudaFree(0), 0);
        }
        assert_eq!(runtime::cudaGetLastError(), failed);
        assert_eq!(runtime::cudaGetLastError(), 0);
    });
}

#[test]
fn an_error_that_loses_the_device_stays_the_last_error() {
    let sim = Sim::session(Config::seeded(1));
    let machine = Machine::new();
    let session = machine.session();
    sim.register_kernel("fails", &[], |_| {
        Err(thalweg_simgpu::KernelFault("it fails".into()))
    });
    let done = session.call("test", || {
        let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the image is one of the stand-in's, the kernel takes nothing.
        unsafe {
            let image = c"simgpu\nfails\n";
            assert_eq!(
                driver::load_module(&raw mut module, image.as_ptr().cast()),
                0
            );
            let again = &mut ptr::null_mut();
            assert_eq!(driver::load_module(again, image.as_ptr().cast()), 0);
            assert_eq!(*again, module, "code is loaded once");
            let name = c"fails".as_ptr();
            assert_eq!(driver::module_function(&raw mut function, module, name), 0);
            let (stream, none) = (session.raw_stream, ptr::null_mut());
            driver::launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, none, none);
            let failed = runtime::cudaStreamSynchronize(stream);
            assert_ne!(failed, 0);
            for _ in 0..3 {
                assert_eq!(runtime::cudaGetLastError(), failed);
            }
        }
        1
    });
    let error = done.unwrap_err().to_string();
    assert!(error.contains("`cudaStreamSynchronize` failed"), "{error}");
    session.finish().ok();
    sim.finish();
}

#[test]
fn bytes_are_copied_as_the_runtime_copies_them() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..20 {
        in_a_call_with(&sim, seed, |_| {
            const TO_DEVICE: c_int = 1;
            const TO_HOST: c_int = 2;
            let (mut first, mut second) = (0, 0);
            let from = [7u8; 1000];
            let mut to = [0u8; 1000];
            // SAFETY: all memory is as long as is said.
            unsafe {
                assert_eq!(runtime::cudaMalloc(&raw mut first, 1000), 0);
                assert_eq!(runtime::cudaMalloc(&raw mut second, 1000), 0);
                let place = |bytes: *const u8| bytes.expose_provenance() as u64;
                let (source, target) = (place(from.as_ptr()), place(to.as_mut_ptr()));
                assert_eq!(runtime::cudaMemcpy(first, source, 1000, TO_DEVICE), 0);
                assert_eq!(runtime::cudaMemcpy(second, first, 1000, 3), 0);
                assert_eq!(runtime::cudaMemset(second, 1, 500), 0);
                assert_eq!(runtime::cudaMemcpy(target, second, 1000, TO_HOST), 0);
                runtime::cudaFree(first);
                runtime::cudaFree(second);
            }
            assert_eq!(to[..500], [1; 500]);
            assert_eq!(to[500..], [7; 500]);
        });
    }
}

#[test]
fn pointer_attributes_are_those_of_the_memory() {
    in_a_call(|session| {
        let ask = |pointer: u64| {
            let mut said = PointerAttributes::default();
            // SAFETY: an out-parameter.
            let code = unsafe { runtime::cudaPointerGetAttributes(&raw mut said, pointer) };
            assert_eq!(code, 0);
            said
        };
        let said = |kind, device, device_pointer, host_pointer| PointerAttributes {
            kind,
            device,
            device_pointer,
            host_pointer,
        };
        let here = session.device.ordinal();
        let mut on_device = 0;
        // SAFETY: an out-parameter.
        let code = unsafe { runtime::cudaMalloc(&raw mut on_device, 64) };
        assert_eq!(code, 0);
        assert_eq!(ask(on_device), said(2, here, on_device, 0));
        // SAFETY: nothing uses it.
        unsafe { runtime::cudaFree(on_device) };
        let pinned = PinnedBuffer::new(session.device, 64).unwrap();
        let at = pinned.data().as_ptr().expose_provenance() as u64;
        assert_eq!(ask(at), said(1, here, at, at));
        let pageable = [0_u8; 64];
        let at = pageable.as_ptr().expose_provenance() as u64;
        assert_eq!(ask(at), said(0, -2, 0, at));
    });
}
