//! Whatever call of the driver fails while a program is loaded and run: there is an error or a right
//! answer, nothing is leaked or out of order, and the next call of the same method is right.

use std::fmt::Debug;

use thalweg_core::{DType, DeviceInput, Result, Tensor, TensorView};
use thalweg_cuda::{Device, Driver, PinnedBuffer, Stream};
use thalweg_format::{Program, ScalarType};
use thalweg_runtime::{Method, MethodOptions, RunOptions};
use thalweg_simgpu::{Config, Sim};

use crate::elementwise::session;
use crate::hopping::{load, numbers, run, run_on_device};
use crate::hops::Maker;
use crate::real;

/// Runs a scenario with every call failing once.
fn whatever_fails(scenario: impl Fn(&[Device]) -> Result<()>) {
    if real() {
        println!("skipped: it needs the stand-in, which fails on demand");
        return;
    }
    let sim = session();
    for seed in 0..3 {
        let mut runs = 0;
        let scenario = |_: &Sim| {
            let driver = Driver::open(Some(Sim::path()))?;
            scenario(&[driver.device(0)?])
        };
        sim.for_each_fault(&Config::seeded(seed), scenario, |fault, result, reports| {
            runs += 1;
            if let Err(error) = &result {
                assert!(fault.is_some(), "without a fault: {error}");
            }
            assert!(
                reports.is_empty(),
                "seed {seed}, {fault:?} failed, {result:?}: {reports:#?}"
            );
        });
        assert!(runs > 50, "only {runs} calls");
    }
}

/// Does something with a method whose state holds a total. If that fails, it must work the next
/// time, since only one call fails.
fn twice<T: PartialEq + Debug>(
    method: &mut Method,
    total: f32,
    mut attempt: impl FnMut(&mut Method) -> Result<T>,
    expected: &T,
) {
    let result = attempt(method).or_else(|_| {
        // A call that failed may have written its state in part.
        let bytes: Vec<u8> = [total; 8].iter().flat_map(|x| x.to_ne_bytes()).collect();
        method.state().write("total", &bytes)?;
        attempt(method)
    });
    let answer = result.unwrap_or_else(|error| panic!("not usable again: {error}"));
    assert_eq!(answer, *expected);
}

/// Delegates with an operator of the host between them, and a total that lasts.
fn busy() -> Program<'static> {
    let mut m = Maker::new();
    let x = m.input(4);
    let total = m.forward.state(ScalarType::Float, &[4, 2], 0);
    m.name(total, "total");
    let y = m.hop(x, 4);
    let sum = m.host(4);
    m.forward.call("t::add.out", &[total, y, sum, sum]);
    m.forward.call("t::copy_", &[total, sum, total]);
    let y = m.clone_of(y, 4);
    let y = m.hop(y, 4);
    m.forward.output(y);
    m.forward.output(total);
    m.build()
}

/// What [`busy`] gives for a number and a total.
fn right(x: f32, total: f32) -> Vec<Vec<f32>> {
    vec![vec![x + 2.0; 8], vec![total + x + 1.0; 8]]
}

fn on_host(x: f32) -> impl Fn(&mut Method) -> Result<Vec<Vec<f32>>> {
    move |method| run(method, &[x; 8], &RunOptions::new())
}

#[test]
fn a_method_with_state_is_right_the_next_time() {
    whatever_fails(|devices| {
        let program = load(devices, &busy(), false)?;
        let mut method = program.method("forward")?;
        twice(&mut method, 0.0, on_host(1.0), &right(1.0, 0.0));
        twice(&mut method, 2.0, on_host(5.0), &right(5.0, 2.0));
        // Another instance goes on with the state.
        let state = MethodOptions::new().state(method.state());
        let mut other = program.method_with("forward", &state)?;
        drop(method);
        twice(&mut other, 8.0, on_host(0.0), &right(0.0, 8.0));
        let bytes = other.state().read("total")?;
        assert_eq!(bytes[..4], 9f32.to_ne_bytes());
        Ok(())
    });
}

#[test]
fn a_method_with_every_copy_is_right_the_next_time() {
    whatever_fails(|devices| {
        let mut method = load(devices, &busy(), true)?.method("forward")?;
        twice(&mut method, 0.0, on_host(1.0), &right(1.0, 0.0));
        twice(&mut method, 2.0, on_host(5.0), &right(5.0, 2.0));
        Ok(())
    });
}

#[test]
fn a_method_with_its_inputs_and_outputs_on_the_device_is_right_the_next_time() {
    whatever_fails(|devices| {
        let mut method = load(devices, &busy(), false)?.method("forward")?;
        for (x, total) in [(1.0, 0.0), (5.0, 2.0)] {
            let attempt = |method: &mut Method| {
                let (answer, _) = run_on_device(method, &devices[0], &[x; 8])?;
                Ok(answer)
            };
            twice(&mut method, total, attempt, &right(x, total));
        }
        // And on the host again.
        twice(&mut method, 8.0, on_host(0.0), &right(0.0, 8.0));
        Ok(())
    });
}

#[test]
fn a_method_that_is_given_what_another_left_on_the_device_is_right_the_next_time() {
    whatever_fails(|devices| {
        let program = load(devices, &busy(), false)?;
        let (mut first, mut second) = (program.method("forward")?, program.method("forward")?);
        let x = Tensor::from_slice(&[1f32; 8], &[4, 2])?;
        let attempt = |second: &mut Method| {
            let stream = Stream::new(&devices[0])?;
            let options = RunOptions::new().stream(&stream).device_outputs(true);
            let outputs = first.run_with(&[(&x).into()], &options)?;
            let between = outputs.get(0)?.device_tensor()?;
            // SAFETY: the calls are on one stream, and the second is waited for before the first
            // method runs again or goes.
            let between = unsafe { DeviceInput::of_output(between) };
            let options = RunOptions::new().stream(&stream);
            let result = second
                .run_with(&[between.into()], &options)
                .and_then(numbers);
            if stream.synchronize().is_err() {
                let _ = stream.synchronize();
            }
            result
        };
        twice(&mut second, 0.0, attempt, &right(3.0, 0.0));
        Ok(())
    });
}

#[test]
fn an_input_in_the_callers_pinned_memory_is_the_callers_again_even_if_the_call_fails() {
    let mut m = Maker::new();
    let x = m.forward.unplanned_tensor(ScalarType::Float, &[2, 2]);
    m.forward.input(x);
    let y = m.hop(x, 2);
    m.forward.output(y);
    let program = m.build();
    whatever_fails(|devices| {
        let mut method = load(devices, &program, false)?.method("forward")?;
        let mut pinned = PinnedBuffer::new(&devices[0], 16)?;
        let mut attempt = || {
            let result = pinned.read().and_then(|bytes| {
                let x = TensorView::new(DType::F32, &[2, 2], &bytes)?;
                let options = RunOptions::new().device_outputs(true);
                method.run_with(&[x.into()], &options).map(drop)
            });
            let written = pinned.write().map(|mut bytes| bytes.fill(1));
            result.and(written)
        };
        let result = attempt().or_else(|_| attempt());
        result.unwrap_or_else(|error| panic!("not usable again: {error}"));
        Ok(())
    });
}
