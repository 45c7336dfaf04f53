//! Handles, contexts, modules, functions by name.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::thread;

use thalweg_simgpu::{Config, ReportKind, Sim, WorkKind};

use super::driver::*;
use super::{buffer, kinds, lazy, stream};

#[test]
fn nothing_works_before_the_start_and_without_a_context() {
    let sim = Sim::session(lazy());
    let mut count = 0;
    let mut pointer = 0;
    assert_eq!(device_count(&mut count), NOT_INITIALIZED);
    assert_eq!(init(1), INVALID_VALUE);
    assert_eq!(init(0), OK);
    assert_eq!(device_count(&mut count), OK);
    assert_eq!(count, 1);
    assert_eq!(alloc(&mut pointer, 8), INVALID_CONTEXT);
    let context = get(|context| retain(context, 0));
    assert_eq!(alloc(&mut pointer, 8), INVALID_CONTEXT);
    assert_eq!(set_current(context), OK);
    assert_eq!(alloc(&mut pointer, 8), OK);
    assert_eq!(free(pointer), OK);
    assert_eq!(release(0), OK);
    assert_eq!(
        alloc(&mut pointer, 8),
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED as u32
    );
    sim.assert_clean();
}

#[test]
fn each_thread_has_its_own_stack_of_contexts() {
    let sim = Sim::session(lazy().with_devices(2));
    let first = start();
    let second = get(|context| retain(context, 1));
    assert_eq!(push_current(second), OK);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(get(get_current), 0);
            assert_eq!(set_current(first), OK);
            assert_eq!(get(get_current), first);
        });
    });
    assert_eq!(get(get_current), second);
    assert_eq!(get(pop_current), second);
    assert_eq!(get(get_current), first);
    assert_eq!((release(0), release(1)), (OK, OK));
    sim.assert_clean();
}

#[test]
fn a_destroyed_handle_is_reported_and_comes_back_for_another_object() {
    let sim = Sim::session(lazy());
    start();
    let first = stream(0);
    let id = get(|id| stream_id(first, id));
    assert_eq!(stream_destroy(first), OK);
    assert_eq!(stream_synchronize(first), INVALID_HANDLE);
    assert_eq!(kinds(&sim), [ReportKind::UseAfterDestroy]);
    let second = stream(0);
    assert_eq!(first, second);
    assert_ne!(get(|id| stream_id(second, id)), id);
    assert_eq!(event_query(0x1234), INVALID_HANDLE);
    assert_eq!(kinds(&sim)[1..], [ReportKind::InvalidHandle]);
}

#[test]
fn kernels_that_nobody_registered_are_recorded() {
    let sim = Sim::session(lazy());
    start();
    let image = *b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0";
    let module = get(|module| module_load(module, image.as_ptr().cast()));
    let function = get(|f| module_function(f, module, c"triton_fused_0".as_ptr()));
    assert_eq!(launch(function, 0, &mut []), OK);
    assert_eq!(synchronize(), OK);
    assert_eq!(sim.launches(), ["triton_fused_0"]);
    assert_eq!(sim.copies(WorkKind::HostToDevice), 0);
    assert_eq!(function_set(function, 8, 100 << 10), OK);
    assert_eq!(function_set(function, 8, 1 << 20), INVALID_VALUE);
    let (module, _) = load(&["known"]);
    let mut function = 0;
    let name = c"unknown".as_ptr();
    assert_eq!(module_function(&mut function, module, name), NOT_FOUND);
}

#[test]
fn variables_of_modules_are_device_memory() {
    let sim = Sim::session(lazy());
    start();
    let image = c"simgpu\ntable: 16";
    let module = get(|module| module_load(module, image.as_ptr().cast()));
    let mut bytes = 0;
    let table = get(|p| module_global(p, &mut bytes, module, c"table".as_ptr()));
    assert_eq!(bytes, 16);
    assert_eq!(fill32(table, 1, 4), OK);
    assert_eq!(module_unload(module), OK);
    assert_eq!(release(0), OK);
    sim.assert_clean();
}

#[test]
fn functions_are_found_by_name_and_version() {
    let sim = Sim::session(lazy());
    let find = |name: &CStr, version, flags| {
        let (mut function, mut status) = (ptr::null_mut(), 7);
        let code = proc_address(name.as_ptr(), &mut function, version, flags, &mut status);
        (code, function, status)
    };
    let found = |symbol_name: &str| (OK, symbol(symbol_name), 0);
    assert_eq!(find(c"cuMemAlloc", 12000, 0), found("cuMemAlloc_v2"));
    assert_eq!(find(c"cuStreamQuery", 12000, 0), found("cuStreamQuery"));
    assert_eq!(
        find(c"cuStreamQuery", 12000, 2),
        found("cuStreamQuery_ptsz")
    );
    assert_eq!(
        find(c"cuMemcpyDtoH", 12000, 2),
        found("cuMemcpyDtoH_v2_ptds")
    );
    assert_eq!(
        find(c"cuStreamGetCaptureInfo", 12000, 0),
        found("cuStreamGetCaptureInfo_v2")
    );
    assert_eq!(
        find(c"cuStreamGetCaptureInfo", 12030, 2),
        found("cuStreamGetCaptureInfo_v3_ptsz")
    );
    assert_eq!(find(c"cuNothing", 12000, 0), (OK, ptr::null_mut(), 1));
    let mut text = ptr::null();
    assert_eq!(error_name(2, &mut text), OK);
    // SAFETY: the driver gave a terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    assert_eq!(text, c"CUDA_ERROR_OUT_OF_MEMORY");
    // What is not there says its name.
    let missing = symbol("cuArrayDestroy");
    // SAFETY: it takes nothing that it looks at.
    let missing: extern "C" fn() -> Code = unsafe { std::mem::transmute(missing) };
    assert_eq!(missing(), NOT_SUPPORTED);
    let reports = sim.reports();
    assert_eq!(reports[0].kind, ReportKind::Unsupported);
    assert!(reports[0].message.contains("cuArrayDestroy"));
}

#[test]
fn other_stand_ins_ask_what_the_host_has_waited_for_and_take_part_in_faults() {
    use thalweg_simgpu::abi::{CountCall, ReportMisuse};
    let sim = Sim::session(Config::seeded(1).with_eagerness(1.0));
    start();
    let (x, own) = (buffer(64), stream(NON_BLOCKING));
    assert_eq!(mark(own), 0, "there is nothing yet");
    assert_eq!(fill32_async(x, 1, 16, own), OK);
    let end = mark(own);
    sim.drain();
    assert!(!is_known(end), "it is done, but nobody waited");
    assert_eq!(stream_query(own), OK);
    assert!(is_known(end));
    sim.faults(&[thalweg_simgpu::Fault::Call {
        function: "enqueueV3".into(),
        nth: 2,
        code: 1,
    }]);
    let count = symbol("simgpu_count_call");
    // SAFETY: that is the function's type.
    let count = unsafe { std::mem::transmute::<*mut c_void, CountCall>(count) };
    let name = "enqueueV3";
    // SAFETY: the name is readable.
    let codes = [(); 3].map(|()| unsafe { count(name.as_ptr(), name.len()) });
    assert_eq!(codes, [0, 1, 0]);
    assert_eq!(sim.calls(name), 3);
    let report = symbol("simgpu_report");
    // SAFETY: that is the function's type.
    let report = unsafe { std::mem::transmute::<*mut c_void, ReportMisuse>(report) };
    // SAFETY: the message is readable.
    unsafe { report(name.as_ptr(), name.len()) };
    assert_eq!(kinds(&sim), [ReportKind::Misuse]);
}
