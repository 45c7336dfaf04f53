//! Each wait and each record is needed: without it, something goes wrong. This test has a file to
//! itself, since what it leaves out is left out in the whole process.

mod hops;
mod late;
mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use late::{Chosen, Increment, LATE, LateDevice, Shared};
use programs::{runtime, vector};
use thalweg_core::Input;
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{
    LoadOptions, Method, MethodOptions, Optimizations, Program, Rule, RunOptions, State, disable,
};

/// Whether everything goes right, where a device does nothing before it must.
type Scenario = fn() -> bool;

#[test]
fn without_any_wait_or_record_something_goes_wrong() {
    let scenarios: [(Rule, Scenario); 15] = [
        (Rule::HostAfterCopies, the_host_computes_with_results),
        (Rule::OutputsAfterCopies, results_are_returned),
        (
            Rule::InputsAfterCopies,
            calls_follow_each_other_without_waiting,
        ),
        (Rule::CallAfterCall, a_count_goes_on_on_another_stream),
        (Rule::CallAfterCall, a_count_goes_on_in_another_thread),
        (Rule::DropAfterUse, nothing_is_in_flight_after_the_drop),
        (Rule::RecordEnd, nothing_is_in_flight_after_the_drop),
        (Rule::DrainWithoutRecord, a_call_without_a_record_has_waited),
        (Rule::UploadsRead, calls_follow_each_other_without_waiting),
        (Rule::DownloadsWrite, the_host_computes_with_results),
        (Rule::StateAfterCall, instances_count_together),
        (
            Rule::StateAfterCall,
            instances_count_together_in_two_threads,
        ),
        (Rule::StateRecord, instances_count_together),
        (Rule::StateOnHost, a_count_is_read),
        (
            Rule::BorrowedUntilCopied,
            what_the_caller_has_pinned_is_copied,
        ),
    ];
    for (rule, scenario) in scenarios {
        assert!(scenario(), "{rule:?} is kept");
        let omission = disable(rule);
        let right = catch_unwind(AssertUnwindSafe(scenario));
        drop(omission);
        assert!(!matches!(right, Ok(true)), "{rule:?} can be left out");
    }
}

/// `(x + 1) * 2`, the sum on the device and the product on the host.
fn the_host_computes_with_results() -> bool {
    let mut m = Maker::new();
    let x = m.input();
    let y = m.hop(x);
    let two = m.forward.double(2.0);
    m.forward.call("t::scale_", &[y, two, y]);
    m.forward.output(y);
    let (mut method, _) = m.load();
    (0..3).all(|x| run(&mut method, x as f32, &RunOptions::new()) == [(x as f32 + 1.0) * 2.0; 4])
}

/// Two instances add to one state, each on a stream of its own.
fn instances_count_together() -> bool {
    let (program, _) = counting();
    let state = State::new();
    let shared = MethodOptions::new().state(&state);
    let mut methods = [7, 8].map(|stream| {
        let method = program.method_with("forward", &shared).unwrap();
        (method, Chosen(stream))
    });
    for (method, stream) in &mut methods {
        let options = RunOptions::new().stream(stream);
        method.run_with(&[], &options).unwrap();
    }
    state.read("total").unwrap()[..4] == 2f32.to_ne_bytes()
}

/// The same, each on the stream of a thread of its own.
fn instances_count_together_in_two_threads() -> bool {
    let (program, _) = counting();
    let state = State::new();
    let shared = MethodOptions::new().state(&state);
    let mut methods = [(); 2].map(|()| program.method_with("forward", &shared).unwrap());
    for method in &mut methods {
        elsewhere(|| {
            method.run(&[]).unwrap();
        });
    }
    state.read("total").unwrap()[..4] == 2f32.to_ne_bytes()
}

/// Does something in a thread that is gone afterwards.
fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn a_count_is_read() -> bool {
    let (program, _) = counting();
    let mut method = program.method("forward").unwrap();
    let options = RunOptions::new().stream(&Chosen(7));
    method.run_with(&[], &options).unwrap();
    method.state().read("total").unwrap()[..4] == 1f32.to_ne_bytes()
}

/// A method that adds 1 to a state that stays on the device.
fn counting() -> (Program, Arc<Shared>) {
    let mut m = hops::Maker::new();
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "total");
    let sum = m.hop(total, 2);
    m.copy_to(total, sum);
    let number = m.forward.int(7);
    m.forward.output(number);
    let bytes = m.build().to_bytes(&WriteOptions::default()).unwrap();
    let (device, shared) = LateDevice::new();
    let runtime = runtime()
        .kernels(&hops::moving().unwrap())
        .backend("Increment", Increment::new(&shared))
        .backend("Update", Increment::in_place(&shared))
        .device(device)
        .build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    (program, shared)
}

fn results_are_returned() -> bool {
    let mut m = Maker::new();
    let x = m.input();
    let y = m.hop(x);
    m.forward.output(y);
    let (mut method, _) = m.load();
    (0..3).all(|x| run(&mut method, x as f32, &RunOptions::new()) == [x as f32 + 1.0; 4])
}

/// What each call adds to on the device is the input of that call.
fn calls_follow_each_other_without_waiting() -> bool {
    let mut m = Maker::new();
    let x = m.input();
    let read = m.forward.none();
    m.forward.input(read);
    let up = m.device();
    m.forward.call(UPLOAD, &[x, up, up]);
    let kept = m.device();
    let skip = m.forward.jump_if_false(read, 0);
    let out = m.forward.tensor(ScalarType::Float, &[4]);
    m.forward.call(DOWNLOAD, &[kept, out, out]);
    m.forward.land(skip);
    m.forward.call_delegate(m.delegate, &[up, kept]);
    m.forward.output(out);
    let (mut method, _) = m.load();
    let mut call = |x: f32, read: bool| {
        let x = vector(&[x; 4]);
        let outputs = method.run(&[Input::from(&x), read.into()]).unwrap();
        outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
    };
    // The first call's copy still has to read its input when the second one comes with its own.
    call(1.0, false);
    call(10.0, true) == [2.0; 4]
}

fn a_count_goes_on_on_another_stream() -> bool {
    let mut method = counting_on_the_device();
    let streams = [Chosen(7), Chosen(8)];
    let mut call = |stream: usize, read: bool| {
        let options = RunOptions::new().stream(&streams[stream]);
        let outputs = method.run_with(&[read.into()], &options).unwrap();
        outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
    };
    call(0, false);
    call(1, true) == [2.0; 4]
}

/// The handle of the stream is the same, and the stream is not.
fn a_count_goes_on_in_another_thread() -> bool {
    let mut method = counting_on_the_device();
    let mut call = |read: bool| {
        let outputs = method.run(&[read.into()]).unwrap();
        outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
    };
    elsewhere(|| call(false));
    call(true) == [2.0; 4]
}

/// A method that adds 1 to what it has on the device, and reads it if it is told to.
fn counting_on_the_device() -> Method {
    let mut m = Maker::new();
    let count = m.device();
    let read = m.forward.none();
    m.forward.input(read);
    let out = m.forward.tensor(ScalarType::Float, &[4]);
    m.forward.call_delegate(m.delegate, &[count, count]);
    let skip = m.forward.jump_if_false(read, 0);
    m.forward.call(DOWNLOAD, &[count, out, out]);
    m.forward.land(skip);
    m.forward.output(out);
    m.load().0
}

fn nothing_is_in_flight_after_the_drop() -> bool {
    let (mut method, shared) = silent();
    let x = vector(&[1.0; 4]);
    method.run(&[(&x).into()]).unwrap();
    drop(method);
    shared.waits.load(Ordering::Relaxed) == 1
}

fn a_call_without_a_record_has_waited() -> bool {
    let (mut method, shared) = silent();
    shared.fail_mark.store(1, Ordering::Relaxed);
    let x = vector(&[1.0; 4]);
    method.run(&[(&x).into()]).is_err() && shared.waits.load(Ordering::Relaxed) == 1
}

fn what_the_caller_has_pinned_is_copied() -> bool {
    let mut m = Maker::new();
    let x = m.forward.unplanned_tensor(ScalarType::Float, &[4]);
    m.forward.input(x);
    m.hop(x);
    let (mut method, shared) = m.load();
    shared.reaches_callers.store(true, Ordering::Relaxed);
    let x = vector(&[1.0; 4]);
    method.run(&[(&x).into()]).unwrap();
    shared.waits.load(Ordering::Relaxed) == 1
}

/// A method that returns nothing that comes from the device.
fn silent() -> (Method, Arc<Shared>) {
    let mut m = Maker::new();
    let x = m.input();
    m.hop(x);
    let number = m.forward.int(7);
    m.forward.output(number);
    m.load()
}

const UPLOAD: &str = "et_copy::_h2d_copy.out";
const DOWNLOAD: &str = "et_copy::_d2h_copy.out";

struct Maker {
    program: ProgramBuilder,
    forward: MethodBuilder,
    arena: u32,
    delegate: u32,
}

impl Maker {
    fn new() -> Self {
        let mut program = ProgramBuilder::new();
        let payload = program.payload(vec![0]);
        let mut forward = MethodBuilder::new("forward");
        Self {
            arena: forward.arena(LATE),
            delegate: forward.delegate("Increment", payload, &[]),
            program,
            forward,
        }
    }

    fn input(&mut self) -> u32 {
        let x = self.forward.tensor(ScalarType::Float, &[4]);
        self.forward.input(x);
        x
    }

    fn device(&mut self) -> u32 {
        self.forward.tensor_in(self.arena, ScalarType::Float, &[4])
    }

    fn hop(&mut self, x: u32) -> u32 {
        let (up, out) = (self.device(), self.device());
        let down = self.forward.tensor(ScalarType::Float, &[4]);
        self.forward.call(UPLOAD, &[x, up, up]);
        self.forward.call_delegate(self.delegate, &[up, out]);
        self.forward.call(DOWNLOAD, &[out, down, down]);
        down
    }

    fn load(mut self) -> (Method, Arc<Shared>) {
        self.program.method(self.forward);
        let program = self.program.build().unwrap();
        let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
        let (device, shared) = LateDevice::new();
        let mut builder = runtime()
            .backend("Increment", Increment::new(&shared))
            .device(device);
        for copy in [UPLOAD, DOWNLOAD] {
            let signature = format!("{copy}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
            builder = builder.kernel(&signature, |_| Ok(())).unwrap();
        }
        // Every copy, so that there is something to wait for.
        let options = LoadOptions::new().optimizations(Optimizations::all().residency(false));
        let program = builder.build().load_bytes(bytes, &options).unwrap();
        (program.method("forward").unwrap(), shared)
    }
}

fn run(method: &mut Method, x: f32, options: &RunOptions<'_>) -> Vec<f32> {
    let x = vector(&[x; 4]);
    let outputs = method.run_with(&[(&x).into()], options).unwrap();
    outputs.tensor(0).unwrap().data::<f32>().unwrap().to_vec()
}
