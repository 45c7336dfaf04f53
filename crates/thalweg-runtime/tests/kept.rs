//! What lasts from call to call stays on the device, whoever uses it next.

mod hops;
mod late;
mod programs;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hops::{Maker, moving};
use late::{Chosen, Increment, LATE, LateDevice, Shared};
use programs::runtime;
use thalweg_core::{DType, Device, DeviceInput, DeviceMemory, Input, StreamHandle, Tensor};
use thalweg_format::{ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{GraphUse, LoadOptions, Method, MethodOptions, Program, RunOptions, State};

/// A device, and programs on it.
struct Place {
    device: Arc<LateDevice>,
    shared: Arc<Shared>,
}

impl Place {
    fn new() -> Self {
        let (device, shared) = LateDevice::new();
        Self { device, shared }
    }

    fn load(&self, program: ProgramBuilder) -> Program {
        let program = program.build().unwrap();
        let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
        let runtime = runtime()
            .kernels(&moving().unwrap())
            .backend("Increment", Increment::new(&self.shared))
            .backend("Update", Increment::in_place(&self.shared))
            .device(self.device.clone())
            .build();
        runtime.load_bytes(bytes, &LoadOptions::new()).unwrap()
    }

    /// How many copies to the device, and from it, something makes.
    fn copies(&self, of: impl FnOnce()) -> [usize; 2] {
        let counts = [&self.shared.uploads, &self.shared.downloads];
        let before = counts.map(|count| count.load(Ordering::Relaxed));
        of();
        let after = counts.map(|count| count.load(Ordering::Relaxed));
        [after[0] - before[0], after[1] - before[1]]
    }
}

/// A method that adds 1 to a named buffer, on the device, and returns nothing of it.
fn counting(name: &'static str, in_place: bool) -> Maker {
    let mut m = Maker::named(name);
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "total");
    let y = if in_place {
        m.update(total, 2)
    } else {
        m.hop(total, 2)
    };
    m.copy_to(total, y);
    let done = m.forward.int(1);
    m.forward.output(done);
    m
}

/// A method that returns the named buffer, by way of the host alone.
fn reading(name: &'static str) -> Maker {
    let mut m = Maker::named(name);
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "total");
    let out = m.host(2);
    m.forward.call("t::add.out", &[total, total, out, out]);
    m.forward.output(out);
    m
}

/// A method that doubles the named buffer, on the host.
fn doubling(name: &'static str) -> Maker {
    let mut m = Maker::named(name);
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "total");
    m.double(total);
    let done = m.forward.int(1);
    m.forward.output(done);
    m
}

fn together(methods: impl IntoIterator<Item = Maker>) -> ProgramBuilder {
    let mut methods = methods.into_iter();
    let mut program = methods.next().unwrap().into_program();
    for method in methods {
        program.method(method.forward);
    }
    program
}

fn total(state: &State) -> f32 {
    let bytes = state.read("total").unwrap();
    f32::from_ne_bytes(bytes[..4].try_into().unwrap())
}

#[test]
fn a_cache_goes_to_the_device_once_and_comes_back_when_somebody_looks() {
    for in_place in [false, true] {
        let place = Place::new();
        let program = place.load(together([counting("forward", in_place)]));
        let mut method = program.method("forward").unwrap();
        let mut run = || assert_eq!(method.run(&[]).unwrap().len(), 1);
        assert_eq!(place.copies(&mut run), [1, 0], "in place: {in_place}");
        for _ in 0..3 {
            assert_eq!(place.copies(&mut run), [0, 0], "in place: {in_place}");
        }
        let read = || assert_eq!(total(method.state()), 4.0);
        assert_eq!(place.copies(read), [0, 1]);
        assert_eq!(place.copies(read), [0, 0]);
    }
}

#[test]
fn a_cache_without_a_name_stays_on_the_device_too() {
    let place = Place::new();
    let mut m = Maker::new();
    let cache = m.forward.state(ScalarType::Float, &[2, 2], 0);
    let y = m.update(cache, 2);
    m.copy_to(cache, y);
    m.forward.output(y);
    let program = place.load(together([m]));
    let mut method = program.method("forward").unwrap();
    // Launches of graphs are not counted.
    let options = RunOptions::new().graph(GraphUse::Off);
    for count in 1..5 {
        let copies = place.copies(|| {
            let outputs = method.run_with(&[], &options).unwrap();
            let output = outputs.tensor(0).unwrap();
            assert_eq!(output.data::<f32>().unwrap(), [count as f32; 4]);
        });
        assert_eq!(copies, [usize::from(count == 1), 1]);
    }
}

#[test]
fn a_constant_goes_to_the_device_once() {
    let place = Place::new();
    let mut m = Maker::new();
    let x = m.input(2);
    let data = m.constant([1f32, 2.0, 3.0, 4.0]);
    let c = m.forward.constant(ScalarType::Float, &[2, 2], data);
    let y = m.hop(c, 2);
    let x = m.hop(x, 2);
    m.forward.output(x);
    m.forward.output(y);
    let program = place.load(together([m]));
    let mut method = program.method("forward").unwrap();
    for call in 0..3 {
        let x = Tensor::from_slice(&[0f32; 4], &[2, 2]).unwrap();
        let copies = place.copies(|| {
            let outputs = method.run(&[(&x).into()]).unwrap();
            let output = outputs.tensor(1).unwrap();
            assert_eq!(output.data::<f32>().unwrap(), [2.0, 3.0, 4.0, 5.0]);
        });
        assert_eq!(copies, [if call == 0 { 2 } else { 1 }, 2]);
    }
}

#[test]
fn methods_that_share_a_state_see_what_the_others_wrote_wherever_they_did() {
    let place = Place::new();
    let methods = [
        counting("count", false),
        counting("update", true),
        reading("read"),
        doubling("double"),
    ];
    let program = place.load(together(methods));
    let state = State::new();
    let options = MethodOptions::new().state(&state);
    let mut method = |name: &str| program.method_with(name, &options).unwrap();
    let mut methods = ["count", "update", "read", "double"].map(&mut method);
    let streams = [Chosen(11), Chosen(12), Chosen(13)];
    let mut expected = 0f32;
    let mut random = hops::Random::new(7);
    for call in 0..400 {
        let stream = &streams[random.below(3)];
        let options = RunOptions::new().stream(stream);
        match random.below(7) {
            at @ (0 | 1) => {
                methods[at].run_with(&[], &options).unwrap();
                expected += 1.0;
            }
            2 => {
                let outputs = methods[2].run_with(&[], &options).unwrap();
                let output = outputs.tensor(0).unwrap();
                let twice = [expected * 2.0; 4];
                assert_eq!(output.data::<f32>().unwrap(), twice, "call {call}");
            }
            3 => {
                methods[3].run_with(&[], &options).unwrap();
                expected *= 2.0;
            }
            4 => assert_eq!(total(&state), expected, "call {call}"),
            5 => {
                expected = random.below(100) as f32;
                let bytes: Vec<u8> = [expected; 4].iter().flat_map(|x| x.to_ne_bytes()).collect();
                state.write("total", &bytes).unwrap();
            }
            _ => {
                state.reset().unwrap();
                expected = 0.0;
            }
        }
    }
}

#[test]
fn a_state_that_starts_with_other_values_than_a_shared_one_is_refused() {
    let place = Place::new();
    let load = |first: f32| {
        let mut m = Maker::new();
        let data = m.initial([first; 4]);
        let total = m.forward.state(ScalarType::Float, &[2, 2], data);
        m.name(total, "total");
        m.forward.output(total);
        place.load(together([m]))
    };
    let (one, same, two) = (load(1.0), load(1.0), load(2.0));
    let method = one.method("forward").unwrap();
    let options = MethodOptions::new().state(method.state());
    same.method_with("forward", &options).unwrap();
    let error = two.method_with("forward", &options).unwrap_err();
    assert!(
        error.to_string().contains("starts with other values"),
        "{error}"
    );
}

#[test]
fn a_call_that_fails_after_the_device_was_written_leaves_the_state_whole() {
    let place = Place::new();
    let mut m = Maker::new();
    let limit = m.forward.none();
    m.forward.input(limit);
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "total");
    let y = m.hop(total, 2);
    m.copy_to(total, y);
    m.double(total);
    let done = m.forward.int(1);
    m.forward.output(done);
    let program = place.load(together([m]));
    let steps = program.method_info("forward").unwrap().instructions as u64;
    let mut method = program.method("forward").unwrap();
    let mut expected = 0.0;
    for limit in (0..=steps).chain([steps]) {
        let options = RunOptions::new().instruction_limit(limit);
        let ran = method.run_with(&[Input::None], &options).is_ok();
        assert_eq!(ran, limit == steps);
        // The copy to the state is the last but one instruction.
        if limit >= steps - 1 {
            expected += 1.0;
        }
        if limit == steps {
            expected *= 2.0;
        }
        assert_eq!(total_of(&method), expected, "after {limit} instructions");
    }
}

fn total_of(method: &Method) -> f32 {
    total(method.state())
}

#[test]
fn an_input_on_the_device_that_is_updated_in_place_is_the_callers() {
    let place = Place::new();
    let mut m = Maker::new();
    let x = m.input(2);
    let y = m.update(x, 2);
    m.forward.output(y);
    let program = place.load(together([m]));
    let mut method = program.method("forward").unwrap();
    let stream = StreamHandle(40);
    let memory = place.device.allocate(512).unwrap();
    let x = [1f32, 2.0, 3.0, 4.0];
    // SAFETY: both have 16 bytes, and the copy is done before they go.
    unsafe {
        place
            .device
            .upload(memory.address(), x.as_ptr().cast(), 16, stream)
            .unwrap();
    }
    place.device.synchronize(stream).unwrap();
    for call in 1..4 {
        let input = on_device(&*memory, 0);
        let copies = place.copies(|| {
            let outputs = method.run(&[input.into()]).unwrap();
            let output = outputs.tensor(0).unwrap();
            let expected = x.map(|x| x + call as f32);
            assert_eq!(output.data::<f32>().unwrap(), expected);
        });
        assert_eq!(copies, [0, 1]);
    }
    // What is not where the device can update it is refused, rather than updated elsewhere.
    let error = method.run(&[on_device(&*memory, 16).into()]).unwrap_err();
    assert!(error.to_string().contains("in place"), "{error}");
}

/// Four numbers from some bytes of a memory on.
fn on_device(memory: &dyn DeviceMemory, offset: usize) -> DeviceInput<'static> {
    // SAFETY: the test keeps the memory until nothing uses it any more.
    unsafe { DeviceInput::new(LATE, memory.address().offset(offset), DType::F32, &[2, 2]) }.unwrap()
}

#[test]
fn a_large_input_goes_to_the_device_in_parts_from_where_the_caller_has_it() {
    let place = Place::new();
    let rows = 200_000;
    let mut m = Maker::new();
    let x = m.input(rows);
    let y = m.hop(x, rows);
    m.forward.output(y);
    let program = place.load(together([m]));
    let mut method = program.method("forward").unwrap();
    let options = RunOptions::new().device_outputs(true);
    for call in 0..3 {
        let values: Vec<f32> = (0..rows * 2).map(|x| (x + call) as f32).collect();
        let x = Tensor::from_slice(&values, &[rows as usize, 2]).unwrap();
        // The call before may still have to read the place that this one goes through.
        method.run_with(&[(&x).into()], &options).unwrap();
        let outputs = method.run(&[(&x).into()]).unwrap();
        let output = outputs.tensor(0).unwrap();
        let right = output.data::<f32>().unwrap().iter().zip(&values);
        assert!(right.into_iter().all(|(y, x)| *y == x + 1.0));
    }
}

#[test]
fn between_jumps_needless_copies_are_not_made_either() {
    let place = Place::new();
    let mut m = Maker::new();
    let x = m.input(2);
    let condition = m.forward.none();
    m.forward.input(condition);
    let out = m.host(2);
    let jump = m.forward.jump_if_false(condition, 0);
    let y = m.hop(x, 2);
    let y = m.hop(y, 2);
    let y = m.hop(y, 2);
    m.copy_to(out, y);
    let always = m.forward.bool(false);
    let end = m.forward.jump_if_false(always, 0);
    m.forward.land(jump);
    m.copy_to(out, x);
    m.forward.land(end);
    m.forward.output(out);
    let program = place.load(together([m]));
    let mut method = program.method("forward").unwrap();
    let x = Tensor::from_slice(&[1f32; 4], &[2, 2]).unwrap();
    for (condition, expected, most) in [
        (true, 4.0, [1, 2]),
        (false, 1.0, [0, 0]),
        (true, 4.0, [1, 2]),
    ] {
        let copies = place.copies(|| {
            let outputs = method.run(&[(&x).into(), condition.into()]).unwrap();
            let output = outputs.tensor(0).unwrap();
            assert_eq!(output.data::<f32>().unwrap(), [expected; 4]);
        });
        assert!(copies[0] <= most[0] && copies[1] <= most[1], "{copies:?}");
    }
}
