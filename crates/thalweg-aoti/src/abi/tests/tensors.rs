//! Functions on tensors.

use std::ptr;

use thalweg_simgpu::{Config, Sim};

use super::super::imports::{accessors, tensors};
use super::*;

#[test]
fn a_tensor_says_what_it_is() {
    in_a_call(|_| {
        let tensor = empty(&[2, 3], &[3, 1], ON_DEVICE);
        assert_eq!(get(accessors::aoti_torch_get_dim, tensor), Ok(2));
        assert_eq!(get(accessors::aoti_torch_get_numel, tensor), Ok(6));
        assert_eq!(get(accessors::aoti_torch_get_storage_size, tensor), Ok(24));
        assert_eq!(get(accessors::aoti_torch_get_dtype, tensor), Ok(F32));
        assert_eq!(get(accessors::aoti_torch_get_device_type, tensor), Ok(1));
        assert_eq!(get(accessors::aoti_torch_get_device_index, tensor), Ok(0));
        let mut sizes = ptr::null_mut::<i64>();
        // SAFETY: the handle is a tensor's; two numbers are there as long as it is.
        unsafe {
            accessors::aoti_torch_get_sizes(tensor, &raw mut sizes);
            assert_eq!(std::slice::from_raw_parts(sizes, 2), [2, 3]);
        }
        let mut size = 0;
        // SAFETY: the handle is a tensor's.
        unsafe {
            assert_eq!(accessors::aoti_torch_get_size(tensor, -1, &raw mut size), 0);
            assert_eq!(size, 3);
            assert_eq!(accessors::aoti_torch_get_size(tensor, 2, &raw mut size), 1);
        }
        delete(&[tensor]);
        assert_eq!(get(accessors::aoti_torch_get_dim, ptr::null_mut()), Err(1));
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
        assert_eq!(get(accessors::aoti_torch_get_storage_offset, view), Ok(5));
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
        let value = |handle: TensorHandle| {
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
        assert_eq!(get(accessors::aoti_torch_item_float32, tensor), Ok(2.5));
        assert_eq!(get(accessors::aoti_torch_item_float32, host), Ok(2.5));
        assert_eq!(get(accessors::aoti_torch_item_bool, tensor), Err(1));
        let two = empty(&[2], &[1], ON_HOST);
        assert_eq!(get(accessors::aoti_torch_item_float32, two), Err(1));
        delete(&[host, tensor, two]);
    });
}
