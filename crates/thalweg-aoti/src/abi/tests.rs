//! The functions that libraries import, called as libraries call them, on the stand-in of the driver.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use thalweg_core::{DType, bail};
use thalweg_cuda::{Driver, PinnedBuffer, Pool, Stream};
use thalweg_simgpu::{Config, Sim};

use super::course::Act;
use super::driver::Code;
use super::runtime::PointerAttributes;
use super::tensors::{Handle, hand_over};
use super::*;

/// Calls functions as a library that is called does.
fn in_a_call(test: impl FnOnce(&Session<'_>)) {
    in_a_call_with(&Sim::session(Config::seeded(0)), 1, test);
}

fn in_a_call_with(sim: &Sim, seed: u64, test: impl FnOnce(&Session<'_>)) {
    sim.reset(Config::seeded(seed));
    {
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let (device, table) = (driver.device(0).unwrap(), Table::of(&driver).unwrap());
        let (pool, modules) = (Pool::new(&device), Modules::default());
        let operators = Operators::default();
        let stream = Stream::new(&device).unwrap();
        let session = Session::new(&device, &table, &modules, &operators, &pool, &stream).unwrap();
        session
            .call("test", || {
                test(&session);
                0
            })
            .unwrap();
        session.finish().unwrap();
        stream.synchronize().unwrap();
        modules.unload(&table);
        operators.unload(&table);
    }
    sim.assert_clean();
}

const F32: i32 = 6;
const ON_DEVICE: (i32, i32) = (numbers::CUDA, 0);
const ON_HOST: (i32, i32) = (numbers::CPU, 0);

fn empty(sizes: &[i64], strides: &[i64], (kind, index): (i32, i32)) -> Handle {
    let mut handle = ptr::null_mut();
    // SAFETY: the lists are as long as they are said to be.
    let code = unsafe {
        tensors::aoti_torch_empty_strided(
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

/// A tensor on the host over numbers.
fn over(numbers: &mut [f32], sizes: &[i64], strides: &[i64], offset: i64) -> Handle {
    let mut handle = ptr::null_mut();
    // SAFETY: the lists are as long as they are said to be.
    let code = unsafe {
        tensors::aoti_torch_create_tensor_from_blob(
            numbers.as_mut_ptr().cast(),
            sizes.len() as i64,
            sizes.as_ptr(),
            strides.as_ptr(),
            offset,
            F32,
            numbers::CPU,
            0,
            &raw mut handle,
        )
    };
    assert_eq!(code, 0);
    handle
}

fn copy_to(to: Handle, from: Handle) -> Code {
    // SAFETY: both are tensors.
    unsafe { tensors::aoti_torch_copy_(to, from, 0) }
}

fn delete(handles: &[Handle]) {
    for &handle in handles {
        // SAFETY: the handle is a tensor's, and is not used again.
        let code = unsafe { tensors::aoti_torch_delete_tensor_object(handle) };
        assert_eq!(code, 0);
    }
}

/// Asks a tensor for something.
fn get<T: Default>(
    function: unsafe extern "C" fn(Handle, *mut T) -> i32,
    handle: Handle,
) -> Result<T, i32> {
    let mut value = T::default();
    // SAFETY: the handle is a tensor's, or null.
    match unsafe { function(handle, &raw mut value) } {
        0 => Ok(value),
        code => Err(code),
    }
}

#[test]
fn a_tensor_says_what_it_is() {
    in_a_call(|_| {
        let tensor = empty(&[2, 3], &[3, 1], ON_DEVICE);
        assert_eq!(get(tensors::aoti_torch_get_dim, tensor), Ok(2));
        assert_eq!(get(tensors::aoti_torch_get_numel, tensor), Ok(6));
        assert_eq!(get(tensors::aoti_torch_get_storage_size, tensor), Ok(24));
        assert_eq!(get(tensors::aoti_torch_get_dtype, tensor), Ok(F32));
        assert_eq!(get(tensors::aoti_torch_get_device_type, tensor), Ok(1));
        assert_eq!(get(tensors::aoti_torch_get_device_index, tensor), Ok(0));
        let mut sizes = ptr::null_mut::<i64>();
        // SAFETY: the handle is a tensor's; two numbers are there as long as it is.
        unsafe {
            tensors::aoti_torch_get_sizes(tensor, &raw mut sizes);
            assert_eq!(std::slice::from_raw_parts(sizes, 2), [2, 3]);
        }
        let mut size = 0;
        // SAFETY: the handle is a tensor's.
        unsafe {
            assert_eq!(tensors::aoti_torch_get_size(tensor, -1, &raw mut size), 0);
            assert_eq!(size, 3);
            assert_eq!(tensors::aoti_torch_get_size(tensor, 2, &raw mut size), 1);
        }
        delete(&[tensor]);
        assert_eq!(get(tensors::aoti_torch_get_dim, ptr::null_mut()), Err(1));
    });
}

#[test]
fn numbers_that_are_no_tensor_fail() {
    in_a_call(|_| {
        let mut handle = ptr::null_mut();
        let mut make = |count: i64, sizes: *const i64, code: i32, kind: i32, index: i32| {
            let strides = [1i64; 3];
            // SAFETY: at most three numbers are read.
            unsafe {
                let (strides, place) = (strides.as_ptr(), &raw mut handle);
                tensors::aoti_torch_empty_strided(count, sizes, strides, code, kind, index, place)
            }
        };
        let negative = [-1i64; 3];
        let good = [2i64; 3];
        assert_eq!(make(3, negative.as_ptr(), F32, 1, 0), 1);
        assert_eq!(make(-1, good.as_ptr(), F32, 1, 0), 1);
        assert_eq!(make(100, good.as_ptr(), F32, 1, 0), 1);
        assert_eq!(make(3, ptr::null(), F32, 1, 0), 1);
        assert_eq!(make(3, good.as_ptr(), 12, 1, 0), 1);
        assert_eq!(make(3, good.as_ptr(), F32, 7, 0), 1);
        assert_eq!(make(3, good.as_ptr(), F32, 1, 5), 1);
    });
}

#[test]
fn values_go_to_the_device_and_back_whatever_the_strides() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..50 {
        in_a_call_with(&sim, seed, |_| {
            let mut numbers: Vec<f32> = (0..24).map(|i| i as f32).collect();
            // Columns, in memory one after another.
            let from = over(&mut numbers, &[2, 3, 4], &[1, 2, 6], 0);
            let on_device = empty(&[2, 3, 4], &[12, 4, 1], ON_DEVICE);
            let copied = empty(&[2, 3, 4], &[12, 4, 1], ON_DEVICE);
            let mut result = vec![0.0f32; 24];
            let to = over(&mut result, &[2, 3, 4], &[12, 4, 1], 0);
            assert_eq!(copy_to(on_device, from), 0);
            assert_eq!(copy_to(copied, on_device), 0);
            assert_eq!(copy_to(to, copied), 0);
            let expected: Vec<f32> = (0..24)
                .map(|i| {
                    let (x, y, z) = (i / 12, i / 4 % 3, i % 4);
                    (x + 2 * y + 6 * z) as f32
                })
                .collect();
            assert_eq!(result, expected);
            delete(&[from, on_device, copied, to]);
        });
    }
}

#[test]
fn a_view_starts_where_the_tensor_does() {
    in_a_call(|_| {
        let mut numbers: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let row = over(&mut numbers, &[4], &[1], 4);
        let mut view = ptr::null_mut();
        // SAFETY: the handle is a tensor's, and the lists have one number.
        let code = unsafe {
            let (sizes, strides) = ([2i64], [2i64]);
            let (sizes, strides) = (sizes.as_ptr(), strides.as_ptr());
            tensors::aoti_torch__reinterpret_tensor(row, 1, sizes, strides, 1, &raw mut view)
        };
        assert_eq!(code, 0);
        assert_eq!(get(tensors::aoti_torch_get_storage_offset, view), Ok(5));
        let mut result = [0.0f32; 2];
        let to = over(&mut result, &[2], &[1], 0);
        assert_eq!(copy_to(to, view), 0);
        assert_eq!(result, [5.0, 7.0]);
        delete(&[row, view, to]);
    });
}

#[test]
fn a_clone_is_a_tensor_of_its_own_and_a_handle_is_not() {
    in_a_call(|_| {
        let mut numbers = [1.5f32, 2.5];
        let host = over(&mut numbers, &[2], &[1], 0);
        let tensor = empty(&[2], &[1], ON_DEVICE);
        assert_eq!(copy_to(tensor, host), 0);
        let (mut clone, mut handle) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handle is a tensor's.
        unsafe {
            assert_eq!(tensors::aoti_torch_clone(tensor, &raw mut clone), 0);
            assert_eq!(
                tensors::aoti_torch_new_tensor_handle(tensor, &raw mut handle),
                0
            );
            assert_eq!(tensors::aoti_torch_zero_(tensor), 0);
        }
        delete(&[tensor]);
        let value = |handle: Handle| {
            let mut result = [9.0f32; 2];
            let to = over(&mut result, &[2], &[1], 0);
            assert_eq!(copy_to(to, handle), 0);
            delete(&[to]);
            result
        };
        assert_eq!(value(clone), [1.5, 2.5]);
        assert_eq!(value(handle), [0.0, 0.0]);
        delete(&[host, clone, handle]);
    });
}

#[test]
fn the_only_element_of_a_tensor_is_read_wherever_it_is() {
    in_a_call(|_| {
        let mut numbers = [2.5f32];
        let host = over(&mut numbers, &[1], &[1], 0);
        let tensor = empty(&[1], &[1], ON_DEVICE);
        assert_eq!(copy_to(tensor, host), 0);
        assert_eq!(get(tensors::aoti_torch_item_float32, tensor), Ok(2.5));
        assert_eq!(get(tensors::aoti_torch_item_float32, host), Ok(2.5));
        assert_eq!(get(tensors::aoti_torch_item_bool, tensor), Err(1));
        let two = empty(&[2], &[1], ON_HOST);
        assert_eq!(get(tensors::aoti_torch_item_float32, two), Err(1));
        delete(&[host, tensor, two]);
    });
}

#[test]
fn memory_of_temporaries_comes_back_at_once() {
    in_a_call(|session| {
        let mut addresses = Vec::new();
        for _ in 0..5 {
            let tensor = empty(&[1000], &[1], ON_DEVICE);
            let mut address = ptr::null_mut::<c_void>();
            // SAFETY: the handle is a tensor's.
            unsafe { tensors::aoti_torch_get_data_ptr(tensor, &raw mut address) };
            addresses.push(address);
            delete(&[tensor]);
        }
        addresses.dedup();
        assert_eq!(addresses.len(), 1);
        assert_eq!(session.pool.statistics().allocations, 1);
    });
}

#[test]
fn an_allocation_that_is_planned_to_become_an_output_is_where_that_is() {
    in_a_call(|session| {
        let acts = vec![Act::Allocate(400); 3];
        let plan = Arc::new(Plan::new(acts, &[(1, 0)]));
        let course = Course::planned(plan, vec![Some(0x1234_5600)], Some(0x1000));
        session.begin_run(course, false);
        let tensors = [100, 100, 100, 100].map(|count| empty(&[count], &[1], ON_DEVICE));
        let addresses = tensors.map(|tensor| {
            let mut address = ptr::null_mut::<c_void>();
            // SAFETY: the handle is a tensor's.
            unsafe { tensors::aoti_torch_get_data_ptr(tensor, &raw mut address) };
            address.addr()
        });
        assert_eq!(addresses[..3], [0x1000, 0x1234_5600, 0x1200]);
        // What was not planned is memory of its own.
        assert_eq!(session.pool.statistics().allocations, 1);
        delete(&tensors);
        let ran = session.end_run(Vec::new());
        assert_eq!(
            (ran.acts.map(|acts| acts.len()), ran.keeps),
            (Some(8), false)
        );
        assert_eq!(ran.not_in_graphs, None);
    });
}

#[test]
fn what_is_recorded_must_be_what_was_planned_and_nothing_that_graphs_cannot_hold() {
    let sim = Sim::session(Config::seeded(0));
    in_a_call_with(&sim, 1, |session| {
        let plan = || Arc::new(Plan::new(vec![Act::Allocate(400), Act::Free(0)], &[]));
        let record = |run: &dyn Fn() -> i32| {
            session.begin_run(Course::planned(plan(), Vec::new(), Some(0x1000)), true);
            let result = session.call("run", || {
                run();
                // The library gets over it.
                0
            });
            result.and(session.end_run(Vec::new()).check_recorded())
        };
        let planned = || {
            delete(&[empty(&[100], &[1], ON_DEVICE)]);
            0
        };
        record(&planned).unwrap();
        let more = || {
            planned();
            let mut handle = ptr::null_mut();
            let (sizes, strides) = ([100], [1]);
            let (sizes, strides) = (sizes.as_ptr(), strides.as_ptr());
            let (kind, index) = ON_DEVICE;
            // SAFETY: numbers, and a place for the tensor.
            unsafe {
                tensors::aoti_torch_empty_strided(
                    1,
                    sizes,
                    strides,
                    6,
                    kind,
                    index,
                    &raw mut handle,
                )
            }
        };
        record(&more).unwrap_err();
        record(&|| 0).unwrap_err();
        let (mut event, mut pointer, stream) = (ptr::null_mut(), 0, session.raw_stream);
        let (event, pointer) = (&raw mut event, &raw mut pointer);
        let asked = || {
            let counts = sim.call_counts().into_iter();
            let counts = counts.filter(|(name, _)| !name.starts_with("cuGetError"));
            counts.collect::<Vec<_>>()
        };
        let before = asked();
        // SAFETY: places for what these give, which they do not.
        unsafe {
            let refused: [&dyn Fn() -> i32; 9] = [
                &|| runtime::cudaEventCreate(event),
                &|| runtime::cudaMalloc(pointer, 8),
                &|| runtime::cudaMallocAsync(pointer, 8, stream),
                &|| runtime::cudaStreamSynchronize(stream),
                &|| runtime::cudaDeviceSynchronize(),
                &|| runtime::cudaMemcpy(0x1000, 0x2000, 8, 1),
                &|| runtime::cudaMemcpyAsync(0x1000, 0x2000, 8, 2, stream),
                &|| runtime::cudaMemcpyAsync(0x1000, 0x2000, 8, 3, ptr::null_mut()),
                &|| runtime::cudaMemsetAsync(0x1000, 0, 8, ptr::null_mut()),
            ];
            for refused in refused {
                let result = record(&|| {
                    planned();
                    refused()
                });
                let error = result.unwrap_err().to_string();
                assert!(error.contains("cannot be a part of a graph"), "{error}");
            }
        }
        assert_eq!(asked(), before, "the driver was asked");
        record(&planned).unwrap();
    });
}

#[test]
fn a_library_learns_whether_its_stream_is_captured() {
    in_a_call(|session| {
        let status = || {
            let mut status = 7;
            // SAFETY: the stream is there, and a place for the answer.
            let code =
                unsafe { runtime::cudaStreamIsCapturing(session.raw_stream, &raw mut status) };
            (code, status)
        };
        assert_eq!(status(), (0, 0));
        let capture = thalweg_cuda::Capture::begin(session.stream).unwrap();
        session.begin_run(Course::unknown(), true);
        assert_eq!(status(), (0, 1));
        assert_eq!(runtime::cudaGetLastError(), 0);
        session.end_run(Vec::new());
        capture.end().unwrap();
        assert_eq!(status(), (0, 0));
    });
}

#[test]
fn what_a_library_frees_while_it_is_recorded_is_freed_and_there_is_no_graph() {
    in_a_call(|session| {
        let mut pointer = 0;
        // SAFETY: a place for the address.
        assert_eq!(unsafe { runtime::cudaMalloc(&raw mut pointer, 64) }, 0);
        let capture = thalweg_cuda::Capture::begin(session.stream).unwrap();
        session.begin_run(Course::unknown(), true);
        // SAFETY: what was allocated, once.
        let freed = session.call("run", || unsafe { runtime::cudaFree(pointer) });
        let error = freed.unwrap_err().to_string();
        assert!(error.contains("`cudaFree` cannot be a part"), "{error}");
        session.end_run(Vec::new());
        // The capture itself is whole.
        capture.end().unwrap();
        session.call("run", || 0).unwrap();
    });
}

#[test]
fn the_last_error_of_the_runtime_is_kept_until_it_is_asked_for() {
    in_a_call(|_| {
        let mut pointer = 0;
        // SAFETY: the place is one for an address.
        let failed = unsafe { runtime::cudaMalloc(&raw mut pointer, usize::MAX / 2) };
        assert_eq!(failed, driver::OUT_OF_MEMORY);
        assert_eq!(runtime::cudaPeekAtLastError(), failed);
        // SAFETY: the place is one for an address, and what it gives is freed once.
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
fn an_error_that_costs_the_device_stays_the_last_error() {
    let sim = Sim::session(Config::seeded(1));
    let driver = Driver::open(Some(Sim::path())).unwrap();
    let (device, table) = (driver.device(0).unwrap(), Table::of(&driver).unwrap());
    let (pool, modules) = (Pool::new(&device), Modules::default());
    let operators = Operators::default();
    let stream = Stream::new(&device).unwrap();
    let session = Session::new(&device, &table, &modules, &operators, &pool, &stream).unwrap();
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
fn the_runtime_says_whose_memory_an_address_is() {
    in_a_call(|session| {
        let ask = |pointer: u64| {
            let mut said = PointerAttributes::default();
            // SAFETY: the answer has a place.
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
        // SAFETY: the answer has a place.
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

#[test]
fn what_fails_in_a_function_is_the_error_of_the_call() {
    let sim = Sim::session(Config::seeded(1));
    {
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let (device, table) = (driver.device(0).unwrap(), Table::of(&driver).unwrap());
        let (pool, modules) = (Pool::new(&device), Modules::default());
        let operators = Operators::default();
        let stream = Stream::new(&device).unwrap();
        let session = Session::new(&device, &table, &modules, &operators, &pool, &stream).unwrap();
        let call = |f: &dyn Fn() -> i32| session.call("run", f).map_err(|error| error.to_string());
        let fails = || session::answer("some_function", |_| bail!(Delegate, "it cannot"));
        let panics = || session::answer("another_function", |_| panic!("a mistake"));
        call(&|| 0).unwrap();
        let error = call(&fails).unwrap_err();
        assert!(
            error.contains("failed to run: `some_function`: it cannot"),
            "{error}"
        );
        // What the library gets over is no error.
        call(&|| fails() - 1).unwrap();
        let error = call(&panics).unwrap_err();
        assert!(error.contains("`another_function` panicked"), "{error}");
        let error = call(&|| 1).unwrap_err();
        assert!(
            error.contains("with code 1; why, it says on the standard error"),
            "{error}"
        );
        let unsupported = unsupported::find("cudaGraphLaunch").unwrap();
        let error = call(&|| unsupported()).unwrap_err();
        assert!(
            error.contains("`cudaGraphLaunch`: this function of CUDA's runtime is not"),
            "{error}"
        );
        // What the library claimed and does not hold makes the call fail, whatever it says.
        let error = call(&|| {
            let text = |text: &'static std::ffi::CStr| text.as_ptr();
            // SAFETY: the texts are there.
            unsafe {
                let (function, file) = (text(c"f"), text(c"f.cpp"));
                tensors::aoti_torch_check(true, function, file, 1, text(c"holds"));
                tensors::aoti_torch_check(false, function, file, 2, text(c"does not hold"));
            }
            0
        });
        let error = error.unwrap_err();
        assert!(error.contains("does not hold (f, f.cpp:2)"), "{error}");
        session.finish().unwrap();
    }
    sim.assert_clean();
}

#[test]
fn outside_of_a_call_functions_fail_and_touch_nothing() {
    let mut handle = ptr::null_mut();
    let storage = std::sync::Arc::new(Storage::of_host(4).unwrap());
    let tensor = hand_over(Tensor::new(storage, DType::F32, &[1], &[1], 0).unwrap());
    // SAFETY: the handle is a tensor's, and is taken back once.
    unsafe {
        assert_eq!(tensors::aoti_torch_clone(tensor, &raw mut handle), 1);
        assert!(handle.is_null());
        let mut pointer = 0;
        assert_eq!(
            runtime::cudaMalloc(&raw mut pointer, 4),
            driver::NOBODY_CALLS
        );
        drop(tensors::take(tensor));
    }
}
