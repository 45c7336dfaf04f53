use super::*;
use std::sync::Arc;
use thalweg_core::ErrorKind;
use thalweg_cuda::{Capture, DeviceBuffer, PinnedBuffer, Pool, Stream};

/// Uses everything, loses the context meanwhile, and drops everything.
fn lose(driver: &Driver) {
    let device = driver.device(0).unwrap();
    let code = Code::load(&device);
    let stream = Stream::new(&device).unwrap();
    let pool = Pool::new(&device);
    let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
    let pinned = PinnedBuffer::new(&device, 4096).unwrap();
    let capture = Capture::begin(&stream).unwrap();
    let mut work = stream.work().unwrap();
    work.fill(&buffer, 1).unwrap();
    work.finish().unwrap();
    let exec = capture.end().unwrap().instantiate().unwrap();
    let mut work = stream.work().unwrap();
    let temporary = work.allocate(&pool, 4096).unwrap();
    work.fill(&temporary, 1).unwrap();
    exec.launch(&mut work).unwrap();
    code.crash(&mut work).unwrap();
    work.copy_to_host(&pinned, &buffer).ok();
    let kept = Arc::new(5);
    let token = work.finish_with(kept.clone());
    // Whoever looks first learns what has happened, and everybody else does from then on.
    let first = pinned.read().err().map(|error| error.to_string());
    let first = first.unwrap_or_else(|| stream.synchronize().unwrap_err().to_string());
    assert!(first.contains("lost"), "{first}");
    let later = [
        stream.synchronize().unwrap_err(),
        stream.work().err().unwrap(),
        DeviceBuffer::new(&stream, 64).err().unwrap(),
        PinnedBuffer::new(&device, 64).err().unwrap(),
        Stream::new(&device).err().unwrap(),
        device.memory().unwrap_err(),
        device.alive().unwrap_err(),
    ];
    for error in later {
        assert_eq!(error.kind(), ErrorKind::Device);
        assert!(
            error.to_string().contains("context was lost before"),
            "{error}"
        );
    }
    assert!(device.to_string().contains("lost"));
    drop(token);
    drop((exec, temporary, buffer, pinned, pool, code, stream, device));
    assert_eq!(Arc::strong_count(&kept), 1, "what was kept is not leaked");
}

#[test]
fn a_lost_context_says_so_and_hurts_nobody_and_the_next_one_works() {
    let Some(sim) = stand_in("since other tests run on the same device") else {
        return;
    };
    for seed in 0..100 {
        run_seed(&sim, &Config::seeded(seed), |driver| {
            lose(driver);
            works_again(driver);
        });
        let mut reports = sim.finish();
        reports.retain(|report| report.kind != thalweg_simgpu::ReportKind::KernelFailed);
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}

fn works_again(driver: &Driver) {
    let device = driver.device(0).unwrap();
    let stream = Stream::new(&device).unwrap();
    let buffer = DeviceBuffer::new(&stream, 4096).unwrap();
    let mut work = stream.work().unwrap();
    work.upload(&buffer, &[1; 4096]).unwrap();
    assert_eq!(download(&mut work, &buffer), vec![0x0101_0101; 1024]);
}

/// On a real driver, to be run by itself: `--ignored --exact` with this name.
#[test]
#[ignore = "it loses the device's context, which all tests of the process have"]
fn a_real_lost_context_says_so_and_hurts_nobody() {
    if real() {
        let driver = open();
        lose(&driver);
        // The driver decides whether there is another; if not, it says why.
        match driver.device(0) {
            Ok(_) => works_again(&driver),
            Err(error) => {
                println!("no new context: {error}");
                assert_eq!(error.kind(), ErrorKind::Device);
            }
        }
    }
}
