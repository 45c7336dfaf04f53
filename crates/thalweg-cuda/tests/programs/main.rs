//! Programs with memory on a device, run by the core through this crate, on the stand-in driver or,
//! with `THALWEG_TEST_DRIVER=real`, on the machine's.

mod arrays;
mod callers;
mod elementwise;
mod faults;
mod hopping;
#[path = "../../../thalweg-runtime/tests/hops/mod.rs"]
mod hops;
mod order;
mod pinned;
#[path = "../../../thalweg-runtime/tests/programs/mod.rs"]
mod programs;
mod random;
mod threads;

use std::sync::Arc;

use elementwise::{Elementwise, session};
use thalweg_core::{
    Device as _, DeviceId, DeviceInput, DeviceKind, Kernel, KernelCall, KernelRegistry, Movement,
    Result, Tensor, bail,
};
use thalweg_cuda::{Device, Driver, Stream};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, Optimizations, Program, RunOptions, Runtime};
use thalweg_simgpu::{Config, Sim};

const UPLOAD: &str = "et_copy::_h2d_copy.out";
const DOWNLOAD: &str = "et_copy::_d2h_copy.out";
const ROWS: usize = 8;

fn real() -> bool {
    std::env::var("THALWEG_TEST_DRIVER").is_ok_and(|driver| driver == "real")
}

fn open() -> Driver {
    let path = (!real()).then(Sim::path);
    Driver::open(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a test on the stand-in once for each seed, after which nothing may be reported; on a real
/// driver a few times, if it has as many devices.
fn on_every_machine(seeds: u64, devices: usize, test: impl Fn(&Driver)) {
    if real() {
        let driver = open();
        if driver.device_count().unwrap() < devices {
            println!("skipped: it needs {devices} devices");
            return;
        }
        (0..5).for_each(|_| test(&driver));
        return;
    }
    let sim = session();
    for seed in 0..seeds {
        sim.reset(Config::seeded(seed).with_devices(devices));
        test(&open());
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}

/// Operators of the host, on i32.
fn kernels() -> Result<KernelRegistry> {
    let mut kernels = KernelRegistry::new();
    kernels.register("t::double_(Tensor(a!) self) -> Tensor(a!)", |call| {
        for x in call.in_place(0)?.data_mut::<i32>()? {
            *x = x.wrapping_mul(2);
        }
        Ok(())
    })?;
    let add = "t::add.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)";
    kernels.register(add, |call| {
        let (a, b) = (call.tensor(0)?, call.tensor(1)?);
        let mut out = call.output(2, a.sizes())?;
        let operands = a.data::<i32>()?.iter().zip(b.data::<i32>()?);
        for (out, (a, b)) in out.data_mut::<i32>()?.iter_mut().zip(operands) {
            *out = a.wrapping_add(*b);
        }
        Ok(())
    })?;
    let copy = "t::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)";
    let copied = |call: &KernelCall<'_>| -> Result<()> {
        let src = call.tensor(1)?;
        call.in_place(0)?
            .data_mut::<i32>()?
            .copy_from_slice(src.data()?);
        Ok(())
    };
    kernels.add(
        Kernel::new(copy, copied)?.with_movement(|_| Some(Movement::Range { from: 1, offset: 0 })),
    );
    let clone = "t::clone.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)";
    let cloned = |call: &KernelCall<'_>| -> Result<()> {
        let a = call.tensor(0)?;
        call.output(1, a.sizes())?
            .data_mut::<i32>()?
            .copy_from_slice(a.data()?);
        Ok(())
    };
    kernels.add(Kernel::new(clone, cloned)?.with_movement(|_| Some(Movement::Same { from: 0 })));
    for copy in [UPLOAD, DOWNLOAD] {
        let signature = format!("{copy}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
        kernels.register(&signature, |_| bail!(Internal, "copies between devices"))?;
    }
    Ok(kernels)
}

/// A program on a device, with delegates that run there.
fn load(device: &Device, program: &thalweg_format::Program<'_>, every: bool) -> Result<Program> {
    let bytes = program.to_bytes(&WriteOptions::default())?;
    let runtime = Runtime::builder()
        .kernels(&kernels()?)
        .backend(
            "Affine",
            Elementwise::new(std::slice::from_ref(device), "affine")?,
        )
        .device(Arc::new(device.clone()))
        .build();
    runtime.load_bytes(
        bytes,
        &LoadOptions::new().optimizations(Optimizations::all().residency(!every)),
    )
}

fn run(method: &mut Method, x: i32, options: &RunOptions<'_>) -> Result<Vec<Vec<i32>>> {
    let x = Tensor::from_slice(&[x; ROWS * 4], &[ROWS, 4])?;
    let outputs = method.run_with(&[(&x).into()], options)?;
    let outputs = outputs
        .iter()
        .map(|output| Ok(output?.tensor()?.data::<i32>()?.to_vec()));
    outputs.collect()
}

/// A method under construction.
struct Maker {
    program: ProgramBuilder,
    forward: MethodBuilder,
    arena: u32,
    delegate: u32,
    sizes: [u32; 2],
}

impl Maker {
    fn new() -> Self {
        let mut program = ProgramBuilder::new();
        let payload = program.payload(vec![0]);
        let mut forward = MethodBuilder::new("forward");
        let cuda = DeviceId {
            kind: DeviceKind::Cuda,
            index: 0,
        };
        Self {
            arena: forward.arena(cuda),
            delegate: forward.delegate("Affine", payload, &[]),
            program,
            forward,
            sizes: [ROWS as u32, 4],
        }
    }

    fn host(&mut self) -> u32 {
        self.forward.tensor(ScalarType::Int, &self.sizes)
    }

    fn input(&mut self) -> u32 {
        let x = self.host();
        self.forward.input(x);
        x
    }

    /// Up, three times and plus one, and down again.
    fn hop(&mut self, x: u32) -> u32 {
        let up = self
            .forward
            .tensor_in(self.arena, ScalarType::Int, &self.sizes);
        let out = self
            .forward
            .tensor_in(self.arena, ScalarType::Int, &self.sizes);
        let down = self.host();
        self.forward.call(UPLOAD, &[x, up, up]);
        self.forward.call_delegate(self.delegate, &[up, out]);
        self.forward.call(DOWNLOAD, &[out, down, down]);
        down
    }

    fn build(mut self) -> thalweg_format::Program<'static> {
        self.program.method(self.forward);
        self.program.build().unwrap()
    }
}

/// Delegates, operators of the host between some of them, and a total that lasts.
fn mixed() -> thalweg_format::Program<'static> {
    let mut m = Maker::new();
    let mut x = m.input();
    let total = m.forward.state(ScalarType::Int, &[ROWS as u32, 4], 0);
    for index in 0..6 {
        x = m.hop(x);
        if index % 3 == 1 {
            m.forward.call("t::double_", &[x, x]);
        }
        if index == 4 {
            let clone = m.host();
            m.forward.call("t::clone.out", &[x, clone, clone]);
            x = clone;
        }
    }
    let sum = m.host();
    m.forward.call("t::add.out", &[total, x, sum, sum]);
    m.forward.call("t::copy_", &[total, sum, total]);
    m.forward.output(x);
    m.forward.output(total);
    m.build()
}

/// What [`mixed`] computes of one number.
fn expected(x: i32) -> i32 {
    (0..6).fold(x, |x, index| {
        let x = x.wrapping_mul(3).wrapping_add(1);
        if index % 3 == 1 { x.wrapping_mul(2) } else { x }
    })
}

#[test]
fn programs_on_a_device_are_right_under_every_schedule() {
    let program = mixed();
    on_every_machine(1000, 1, |driver| {
        let device = driver.device(0).unwrap();
        let loaded = load(&device, &program, false).unwrap();
        let mut method = loaded.method("forward").unwrap();
        let mut total = 0i32;
        for x in [1, 5, -3] {
            total = total.wrapping_add(expected(x));
            let outputs = run(&mut method, x, &RunOptions::new()).unwrap();
            assert_eq!(outputs, [[expected(x); ROWS * 4], [total; ROWS * 4]]);
        }
    });
}

#[test]
fn calls_on_streams_of_the_caller_are_right_even_if_the_streams_are_gone_at_once() {
    let program = mixed();
    on_every_machine(300, 1, |driver| {
        let device = driver.device(0).unwrap();
        let mut method = load(&device, &program, false)
            .unwrap()
            .method("forward")
            .unwrap();
        let mut total = 0i32;
        for x in 0..4 {
            let stream = Stream::new(&device).unwrap();
            let options = RunOptions::new().stream(&stream);
            total = total.wrapping_add(expected(x));
            let outputs = run(&mut method, x, &options).unwrap();
            assert_eq!(outputs[1], [total; ROWS * 4]);
        }
    });
}

#[test]
fn values_that_stay_on_the_device_go_from_call_to_call_without_the_host() {
    let mut m = Maker::new();
    let mut x = m.input();
    for _ in 0..3 {
        x = m.hop(x);
    }
    m.forward.output(x);
    let program = m.build();
    on_every_machine(300, 1, |driver| {
        let device = driver.device(0).unwrap();
        let loaded = load(&device, &program, false).unwrap();
        let mut first = loaded.method("forward").unwrap();
        let mut second = loaded.method("forward").unwrap();
        let stream = Stream::new(&device).unwrap();
        let options = RunOptions::new().stream(&stream).device_outputs(true);
        let x = Tensor::from_slice(&[2i32; ROWS * 4], &[ROWS, 4]).unwrap();
        let outputs = first.run_with(&[(&x).into()], &options).unwrap();
        // The same stream, so that the second call comes after the first.
        let between = outputs.get(0).unwrap().device_tensor().unwrap();
        let options = RunOptions::new().stream(&stream);
        // SAFETY: the calls are on one stream, and the second is waited for.
        let between = unsafe { DeviceInput::of_output(between) };
        let outputs = second.run_with(&[between.into()], &options).unwrap();
        let expected = (0..6).fold(2, |x, _| x * 3 + 1);
        let answer = outputs.tensor(0).unwrap();
        assert_eq!(answer.data::<i32>().unwrap(), [expected; ROWS * 4]);
    });
}

#[test]
fn what_only_passes_through_the_host_makes_no_copies() {
    if real() {
        println!("skipped: it needs the stand-in, which counts");
        return;
    }
    let mut m = Maker::new();
    let mut x = m.input();
    for _ in 0..5 {
        x = m.hop(x);
    }
    m.forward.output(x);
    let program = m.build();
    let sim = session();
    let mut counts = Vec::new();
    for every in [true, false] {
        sim.reset(Config::seeded(1));
        let device = open().device(0).unwrap();
        let mut method = load(&device, &program, every)
            .unwrap()
            .method("forward")
            .unwrap();
        let before = [UP, DOWN].map(|name| sim.calls(name));
        run(&mut method, 1, &RunOptions::new()).unwrap();
        let after = [UP, DOWN].map(|name| sim.calls(name));
        counts.push([after[0] - before[0], after[1] - before[1]]);
        drop((method, device));
        sim.assert_clean();
    }
    assert_eq!(counts, [[5, 5], [1, 1]]);
}

const UP: &str = "cuMemcpyHtoDAsync";
const DOWN: &str = "cuMemcpyDtoHAsync";

#[test]
fn a_device_says_which_one_it_is() {
    on_every_machine(1, 1, |driver| {
        let device = driver.device(0).unwrap();
        assert_eq!(device.id().kind, DeviceKind::Cuda);
        assert_eq!(device.id().index, 0);
    });
}
