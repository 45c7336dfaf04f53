//! Errors in functions that libraries call.

use std::ptr;
use std::sync::Arc;

use thalweg_core::{DType, bail};
use thalweg_simgpu::{Config, Sim};

use super::super::driver::error;
use super::super::handle::{self, hand_over};
use super::super::imports::{runtime, tensors, unsupported};
use super::*;

#[test]
fn what_fails_in_a_function_is_the_error_of_the_call() {
    let sim = Sim::session(Config::seeded(1));
    {
        let machine = Machine::new();
        let session = machine.session();
        let call = |f: &dyn Fn() -> i32| session.call("run", f).map_err(|error| error.to_string());
        let fails = || session::torch_function("some_function", |_| bail!(Delegate, "it cannot"));
        let panics = || session::torch_function("another_function", |_| panic!("a mistake"));
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
    let storage = Arc::new(Storage::of_host(4).unwrap());
    let tensor = hand_over(Tensor::new(storage, DType::F32, &[1], &[1], 0).unwrap());
    // SAFETY: the handle is a tensor's, and is taken back once.
    unsafe {
        assert_eq!(tensors::aoti_torch_clone(tensor, &raw mut handle), 1);
        assert!(handle.is_null());
        let mut pointer = 0;
        assert_eq!(
            runtime::cudaMalloc(&raw mut pointer, 4),
            error::DEINITIALIZED
        );
        drop(handle::take(tensor));
    }
}
