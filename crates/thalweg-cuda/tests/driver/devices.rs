use super::*;
use std::ffi::c_void;
use thalweg_core::ErrorKind;
use thalweg_cuda::{DeviceBuffer, MemoryKind, Outcome, PinnedBuffer, Stream};

#[test]
fn a_device_tells_what_it_is() {
    on_every_machine(1, 1, |driver| {
        assert!(driver.version() >= (12, 0));
        let device = driver.device(0).unwrap();
        assert!(!device.name().is_empty());
        assert!(device.compute_capability() >= (5, 0));
        assert!(device.multiprocessors() > 0);
        let (free, total) = device.memory().unwrap();
        assert!(free > 0 && free <= total && total <= device.total_memory());
        let line = device.to_string();
        assert!(
            line.contains(device.name()) && line.contains("GPU-"),
            "{line}"
        );
        println!("{line}");
        let found = Driver::search((!real()).then(Sim::path));
        assert!(
            found
                .last()
                .is_some_and(|last| matches!(last.outcome, Outcome::Opened(_))),
            "{found:?}"
        );
    });
}

#[test]
fn the_environment_names_the_driver() {
    let Some(sim) = stand_in("whose file is known") else {
        return;
    };
    let program = std::env::current_exe().unwrap();
    let run = |path: &std::ffi::OsStr| {
        let mut command = std::process::Command::new(&program);
        command.args([
            "--ignored",
            "--exact",
            "--nocapture",
            "devices::opened_by_its_variable",
        ]);
        command.env("THALWEG_CUDA", path).output().unwrap()
    };
    let output = run(sim.library().as_os_str());
    assert!(output.status.success(), "{output:?}");
    let output = run("/nowhere/libcuda.so.1".as_ref());
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("/nowhere/libcuda.so.1 (from THALWEG_CUDA)"),
        "{text}"
    );
}

#[test]
#[ignore = "it is a part of the test above"]
fn opened_by_its_variable() {
    if !real() {
        let driver = Driver::open(None).unwrap_or_else(|error| panic!("{error}"));
        assert!(driver.location().to_string().contains("THALWEG_CUDA"));
        // From now on the process has it.
        let again = Driver::open(None).unwrap();
        assert_eq!(again.symbol("cuInit"), driver.symbol("cuInit"));
        assert!(driver.symbol("cuNothing").is_none());
    }
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    on_every_machine(1, 1, |driver| {
        let count = driver.device_count().unwrap();
        let error = driver.device(count).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::MissingDevice);
        assert!(error.to_string().contains(&count.to_string()), "{error}");
    });
}

#[test]
fn memory_knows_whose_it_is() {
    on_every_machine(2, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let kind = device.memory_kind(buffer.address()).unwrap();
        assert_eq!(kind, MemoryKind::Device { ordinal: 0 });
        let pinned = PinnedBuffer::new(&device, 4096).unwrap();
        assert_eq!(
            device.memory_kind(pinned.address()).unwrap(),
            MemoryKind::Pinned
        );
        let pageable = Box::new(5u64);
        let address = std::ptr::from_ref(&*pageable).addr() as u64;
        assert_eq!(device.memory_kind(address).unwrap(), MemoryKind::Pageable);
        assert_eq!(device.memory_kind(0).unwrap(), MemoryKind::Pageable);
    });
}

#[test]
fn too_large_an_allocation_is_an_error_with_sizes_and_nothing_else_happens() {
    on_every_machine(2, 1, |driver| {
        let device = driver.device(0).unwrap();
        let stream = Stream::new(&device).unwrap();
        let asked = device.total_memory() * 2;
        let error = DeviceBuffer::new(&stream, asked).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
        let text = error.to_string();
        assert!(
            text.contains(&asked.to_string()) && text.contains("free"),
            "{text}"
        );
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let mut work = stream.work().unwrap();
        work.upload(&buffer, &bytes(&numbers(1024))).unwrap();
        assert_eq!(download(&mut work, &buffer), numbers(1024));
    });
}

/// The context that is current on this thread.
fn current(driver: &Driver) -> *mut c_void {
    let function = driver.symbol("cuCtxGetCurrent").unwrap();
    let mut context = std::ptr::null_mut();
    // SAFETY: the function has this signature, and writes the context.
    let answer = unsafe {
        let function: unsafe extern "C" fn(*mut *mut c_void) -> u32 =
            std::mem::transmute(function.as_ptr());
        function(&raw mut context)
    };
    assert_eq!(answer, 0);
    context
}

#[test]
fn a_thread_gets_its_own_context_back() {
    on_every_machine(2, 2, |driver| {
        let (ours, other) = (driver.device(0).unwrap(), driver.device(1).unwrap());
        let stream = Stream::new(&ours).unwrap();
        let entered = other.enter().unwrap();
        assert_eq!(current(driver), other.raw_context());
        let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
        let mut work = stream.work().unwrap();
        assert_eq!(current(driver), ours.raw_context());
        work.fill(&buffer, 1).unwrap();
        drop((work, buffer));
        assert_eq!(current(driver), other.raw_context());
        drop(entered);
    });
}

#[test]
fn a_thread_without_a_context_keeps_the_devices_own() {
    on_every_machine(2, 1, |driver| {
        let device = driver.device(0).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(current(driver).is_null());
                device.memory().unwrap();
                assert_eq!(current(driver), device.raw_context());
            });
        });
    });
}

#[test]
fn a_device_is_given_again_while_it_lives() {
    on_every_machine(1, 1, |driver| {
        let first = driver.device(0).unwrap();
        let second = driver.device(0).unwrap();
        assert_eq!(first.raw_context(), second.raw_context());
        drop((first, second));
        driver.device(0).unwrap().memory().unwrap();
    });
}
