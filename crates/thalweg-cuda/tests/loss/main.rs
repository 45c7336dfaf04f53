//! A device's context is lost in the middle of a method: the call says so, so does every later one,
//! and nothing else is hurt. This test has a binary to itself, since it counts the memory of the
//! whole process.

#[allow(dead_code, reason = "this test uses some of it")]
#[path = "../programs/elementwise.rs"]
mod elementwise;
#[allow(dead_code, reason = "this test uses some of it")]
#[path = "../programs/hopping.rs"]
mod hopping;
#[path = "../../../thalweg-runtime/tests/hops/mod.rs"]
mod hops;
#[path = "../../../thalweg-runtime/tests/programs/mod.rs"]
mod programs;

use std::sync::mpsc;
use std::time::Duration;

use elementwise::session;
use hopping::{load, run, run_on_device};
use hops::{Maker, cuda};
use thalweg_core::{ErrorKind, Result};
use thalweg_cuda::{Device, Driver};
use thalweg_format::ScalarType;
use thalweg_runtime::{Method, Program, RunOptions};
use thalweg_simgpu::{Config, Fault, Sim};
use thalweg_testing::CountingAllocator;

/// Codes that lose a context, and their names.
const CODES: [(u32, &str); 4] = [
    (700, "CUDA_ERROR_ILLEGAL_ADDRESS"),
    (710, "CUDA_ERROR_ASSERT"),
    (716, "CUDA_ERROR_MISALIGNED_ADDRESS"),
    (719, "CUDA_ERROR_LAUNCH_FAILED"),
];

/// How many kernels two calls of [`busy`] run.
const KERNELS: u64 = 6;

#[test]
fn a_context_lost_in_the_middle_of_a_method_is_an_error_of_every_later_call_and_hurts_nobody() {
    if std::env::var("THALWEG_TEST_DRIVER").is_ok_and(|driver| driver == "real") {
        println!("skipped: it needs the stand-in, which loses contexts on demand");
        return;
    }
    let sim = session();
    // What is made once for the process is made before it is counted.
    for seed in 0..3 {
        lose(&sim, seed, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", 1);
    }
    let before = ALLOCATOR.bytes();
    for (code, name) in CODES {
        for kernels in 1..=KERNELS {
            for seed in 0..8 {
                lose(&sim, seed, code, name, kernels);
            }
        }
    }
    let left = ALLOCATOR.bytes() - before;
    assert!(left <= 0, "{left} bytes of the host's memory are left");
    let kept = vec![1u8; 4096];
    assert!(ALLOCATOR.bytes() >= before + 4096, "the counter counts");
    drop(kept);
}

/// Loses a context after a number of kernels, uses everything, and drops it all, in an order that
/// depends on the seed. None of it may hang.
fn lose(sim: &Sim, seed: u64, code: u32, name: &'static str, kernels: u64) {
    sim.reset(Config::seeded(seed).with_devices(2));
    let (send, receive) = mpsc::channel();
    let (ready, go) = (mpsc::channel(), mpsc::channel());
    let worker = std::thread::spawn(move || {
        let bench = Bench::new();
        ready.0.send(()).unwrap();
        go.1.recv().unwrap();
        bench.use_up(seed, name, kernels);
        send.send(()).unwrap();
    });
    let minute = Duration::from_secs(60);
    let started = ready.1.recv_timeout(minute);
    if started.is_ok() {
        sim.faults(&[Fault::Sticky { kernels, code }]);
        go.0.send(()).unwrap();
    }
    let ended = started.and_then(|()| receive.recv_timeout(minute));
    assert_ne!(
        ended,
        Err(mpsc::RecvTimeoutError::Timeout),
        "seed {seed}, {name} after {kernels} kernels: it hangs"
    );
    worker.join().unwrap();
    let reports = sim.finish();
    assert!(
        reports.is_empty(),
        "seed {seed}, {name} after {kernels} kernels: {reports:#?}"
    );
}

/// Things on a device that will be lost, on another, and on none.
struct Bench {
    lost: Device,
    other: Device,
    program: Program,
    method: Method,
    bystander: Method,
    elsewhere: Method,
    on_host: Method,
}

impl Bench {
    fn new() -> Self {
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let (lost, other) = (driver.device(0).unwrap(), driver.device(1).unwrap());
        let devices = [lost.clone(), other.clone()];
        let program = load(&devices, &busy(0), false).unwrap();
        let mut bystander = program.method("forward").unwrap();
        assert_eq!(call(&mut bystander, 1.0).unwrap(), right(1.0, 0.0));
        let elsewhere = load(&devices, &busy(1), false).unwrap();
        let on_host = load(&devices, &without_device(), false).unwrap();
        Self {
            method: program.method("forward").unwrap(),
            elsewhere: elsewhere.method("forward").unwrap(),
            on_host: on_host.method("forward").unwrap(),
            bystander,
            program,
            lost,
            other,
        }
    }

    fn use_up(mut self, seed: u64, name: &str, kernels: u64) {
        // The call in which it happens says so, for its results are waited for.
        let on_device = seed % 2 == 1;
        let mut total = 0.0;
        let calls = (1..=2).map(|x| {
            let result = if on_device {
                run_on_device(&mut self.method, &self.lost, &[x as f32; 8]).map(|(all, _)| all)
            } else {
                call(&mut self.method, x as f32)
            };
            if let Ok(outputs) = &result {
                assert_eq!(*outputs, right(x as f32, total));
                total = outputs[1][0];
            }
            result
        });
        let results: Vec<_> = calls.collect();
        let first = usize::from(kernels > KERNELS / 2);
        for (index, result) in results.iter().enumerate() {
            assert_eq!(result.is_err(), index >= first, "call {index}: {result:?}");
        }
        let error = results[first].as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        for part in [name, "context is lost"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        assert!(
            on_device || error.to_string().contains("method `forward`"),
            "{error}"
        );
        // So does every later call, of whichever instance, and with whatever options.
        let x = [1.0; 8];
        let later = [
            call(&mut self.method, 1.0).unwrap_err(),
            call(&mut self.bystander, 1.0).unwrap_err(),
            run(
                &mut self.method,
                &x,
                &RunOptions::new().device_outputs(true),
            )
            .unwrap_err(),
            run_on_device(&mut self.bystander, &self.lost, &x).unwrap_err(),
            self.program.method("forward").unwrap_err(),
        ];
        for error in later {
            assert_eq!(error.kind(), ErrorKind::Device);
            for part in [name, "context was lost before"] {
                assert!(error.to_string().contains(part), "{error}");
            }
        }
        // State that the loss did not touch is what it was; the other's can be read, whatever it is.
        assert_eq!(state(&self.bystander), [right(1.0, 0.0)[1][0]; 8]);
        assert_eq!(state(&self.method).len(), 8);
        // Other devices, and programs that need none, go on.
        assert_eq!(call(&mut self.elsewhere, 3.0).unwrap(), right(3.0, 0.0));
        assert_eq!(call(&mut self.on_host, 3.0).unwrap(), [[6.0; 8]]);
        match seed % 3 {
            0 => drop(self),
            1 => {
                drop((self.lost, self.program));
                drop((self.bystander, self.method));
            }
            _ => {
                drop((self.method, self.other, self.elsewhere));
                drop((self.on_host, self.program, self.bystander));
            }
        }
    }
}

fn call(method: &mut Method, x: f32) -> Result<Vec<Vec<f32>>> {
    run(method, &[x; 8], &RunOptions::new())
}

fn state(method: &Method) -> Vec<f32> {
    let bytes = method.state().read("total").unwrap();
    let numbers = bytes.chunks_exact(4);
    numbers
        .map(|bytes| f32::from_ne_bytes(bytes.try_into().unwrap()))
        .collect()
}

/// Three delegates with an operator of the host between them, and a total that lasts.
fn busy(device: i8) -> thalweg_format::Program<'static> {
    let mut m = Maker::on(&[cuda(device)]);
    let x = m.input(4);
    let total = m.forward.state(ScalarType::Float, &[4, 2], 0);
    m.name(total, "total");
    let y = m.hop(x, 4);
    m.double(y);
    let z = m.hop(y, 4);
    let z = m.hop(z, 4);
    let sum = m.host(4);
    m.forward.call("t::add.out", &[total, z, sum, sum]);
    m.forward.call("t::copy_", &[total, sum, total]);
    m.forward.output(y);
    m.forward.output(total);
    m.build()
}

/// What [`busy`] gives for a number.
fn right(x: f32, total: f32) -> Vec<Vec<f32>> {
    let y = (x + 1.0) * 2.0;
    vec![vec![y; 8], vec![total + y + 2.0; 8]]
}

fn without_device() -> thalweg_format::Program<'static> {
    let mut m = Maker::on(&[]);
    let x = m.input(4);
    let sum = m.host(4);
    m.forward.call("t::add.out", &[x, x, sum, sum]);
    m.forward.output(sum);
    m.build()
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;
