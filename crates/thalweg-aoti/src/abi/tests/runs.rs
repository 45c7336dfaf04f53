//! Runs: allocation traces and stream capture.

use std::ptr;
use std::sync::Arc;

use thalweg_simgpu::{Config, Sim};

use super::super::allocation_trace::AllocationEvent;
use super::super::imports::{runtime, tensors};
use super::*;

#[test]
fn memory_of_temporaries_comes_back_at_once() {
    in_a_call(|session| {
        let mut addresses = Vec::new();
        for _ in 0..5 {
            let tensor = empty(&[1000], &[1], ON_DEVICE);
            addresses.push(address(tensor));
            delete(&[tensor]);
        }
        addresses.dedup();
        assert_eq!(addresses.len(), 1);
        assert_eq!(session.pool.statistics().allocations, 1);
    });
}

#[test]
fn an_allocation_that_is_planned_as_an_output_has_the_outputs_address() {
    in_a_call(|session| {
        let events = vec![AllocationEvent::Allocate(400); 3];
        let plan = Arc::new(AllocationPlan::new(events, &[(1, 0)]));
        let trace = AllocationTrace::planned(plan, vec![Some(0x1234_5600)], Some(0x1000));
        session.begin_run(trace, false);
        let tensors = [100, 100, 100, 100].map(|count| empty(&[count], &[1], ON_DEVICE));
        let addresses = tensors.map(address);
        assert_eq!(addresses[..3], [0x1000, 0x1234_5600, 0x1200]);
        // What was not planned is memory of its own.
        assert_eq!(session.pool.statistics().allocations, 1);
        delete(&tensors);
        let outcome = session.end_run(Vec::new());
        assert_eq!(
            (outcome.events.map(|events| events.len()), outcome.keeps),
            (Some(8), false)
        );
        assert_eq!(outcome.not_capturable, None);
    });
}

#[test]
fn a_captured_run_must_be_as_planned_and_do_nothing_that_graphs_cannot_hold() {
    let sim = Sim::session(Config::seeded(0));
    in_a_call_with(&sim, 1, |session| {
        let events = vec![AllocationEvent::Allocate(400), AllocationEvent::Free(0)];
        let plan = Arc::new(AllocationPlan::new(events, &[]));
        let capture = |run: &dyn Fn() -> i32| {
            let trace = AllocationTrace::planned(plan.clone(), Vec::new(), Some(0x1000));
            session.begin_run(trace, true);
            let result = session.call("run", || {
                run();
                // The library ignores errors.
                0
            });
            result.and(session.end_run(Vec::new()).check_captured())
        };
        let planned = || {
            delete(&[empty(&[100], &[1], ON_DEVICE)]);
            0
        };
        capture(&planned).unwrap();
        let more = || {
            planned();
            let mut handle = ptr::null_mut();
            let (sizes, strides) = ([100], [1]);
            let (sizes, strides) = (sizes.as_ptr(), strides.as_ptr());
            let (kind, index) = ON_DEVICE;
            // SAFETY: arrays and an out-parameter.
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
        capture(&more).unwrap_err();
        capture(&|| 0).unwrap_err();
        let (mut event, mut pointer, stream) = (ptr::null_mut(), 0, session.raw_stream);
        let (event, pointer) = (&raw mut event, &raw mut pointer);
        let calls = || {
            let counts = sim.call_counts().into_iter();
            let counts = counts.filter(|(name, _)| !name.starts_with("cuGetError"));
            counts.collect::<Vec<_>>()
        };
        let before = calls();
        // SAFETY: out-parameters, which are not written.
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
                let result = capture(&|| {
                    planned();
                    refused()
                });
                let error = result.unwrap_err().to_string();
                assert!(error.contains("cannot be a part of a graph"), "{error}");
            }
        }
        assert_eq!(calls(), before, "the driver was called");
        capture(&planned).unwrap();
    });
}

#[test]
fn a_library_can_query_stream_capture() {
    in_a_call(|session| {
        let status = || {
            let mut status = 7;
            // SAFETY: the stream is there; an out-parameter.
            let code =
                unsafe { runtime::cudaStreamIsCapturing(session.raw_stream, &raw mut status) };
            (code, status)
        };
        assert_eq!(status(), (0, 0));
        let capture = thalweg_cuda::Capture::begin(session.stream).unwrap();
        session.begin_run(AllocationTrace::recording(), true);
        assert_eq!(status(), (0, 1));
        assert_eq!(runtime::cudaGetLastError(), 0);
        session.end_run(Vec::new());
        capture.end().unwrap();
        assert_eq!(status(), (0, 0));
    });
}

#[test]
fn a_free_during_capture_frees_and_fails_the_call() {
    in_a_call(|session| {
        let mut pointer = 0;
        // SAFETY: an out-parameter.
        assert_eq!(unsafe { runtime::cudaMalloc(&raw mut pointer, 64) }, 0);
        let capture = thalweg_cuda::Capture::begin(session.stream).unwrap();
        session.begin_run(AllocationTrace::recording(), true);
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
