//! Sharing between instances: libraries, constants, state.

use thalweg_simgpu::WorkKind;

use thalweg_cuda::Stream;
use thalweg_runtime::{MethodOptions, State};

use super::*;

fn counting(form: Form) -> Model {
    let recipe = Recipe {
        parts: WEIGHT | COUNT,
        weight_len: 4,
        ..affine(1.0, 0.0)
    };
    Model::new(recipe, form)
}

#[test]
fn two_instances_do_not_see_each_others_state() {
    for form in [Form::Blob, Form::Named] {
        let model = counting(form);
        on_every_machine(20, |driver| {
            let program = model.load(driver).unwrap();
            let x = numbers(0, &[8, 4]);
            let mut first = program.method("forward").unwrap();
            for count in 1..4 {
                assert_eq!(
                    run(&mut first, &[&x]).unwrap(),
                    model.expected(&[&x], count)
                );
            }
            let mut second = program.method("forward").unwrap();
            for count in 1..4 {
                assert_eq!(
                    run(&mut second, &[&x]).unwrap(),
                    model.expected(&[&x], count)
                );
                assert_eq!(
                    run(&mut first, &[&x]).unwrap(),
                    model.expected(&[&x], count + 3)
                );
            }
        });
    }
}

/// Instances of two methods, each with the same state.
fn sharing(program: &Program, state: &State) -> [Method; 2] {
    let shared = MethodOptions::new().state(state);
    ["prefill", "decode"].map(|name| program.method_with(name, &shared).unwrap())
}

/// Counts with two methods in turn, each on a stream of its own, without waits in between.
fn count_together(driver: &Driver, form: Form) {
    let mut model = counting(form);
    model.methods = vec!["prefill", "decode"];
    let program = model.load(driver).unwrap();
    let device = driver.device(0).unwrap();
    let streams = [(); 2].map(|()| Stream::new(&device).unwrap());
    let x = numbers(0, &[8, 4]);
    let state = State::new();
    let mut methods = sharing(&program, &state);
    for count in 1..6 {
        let which = count % 2;
        let options = RunOptions::new()
            .stream(&streams[which])
            .device_outputs(count < 5);
        let outputs = methods[which].run_with(&[(&x).into()], &options).unwrap();
        if count == 5 {
            let output = outputs.tensor(0).unwrap();
            let expected = model.expected(&[&x], 5);
            assert_eq!(output.data::<f32>().unwrap(), expected);
        }
    }
}

#[test]
fn methods_with_one_state_share_what_the_model_changes() {
    for form in [Form::Blob, Form::Named] {
        on_every_machine(100, |driver| count_together(driver, form));
    }
}

#[test]
fn a_state_on_the_device_is_used_by_one_call_after_the_other() {
    for rule in [
        thalweg_runtime::Rule::StateAfterCall,
        thalweg_runtime::Rule::StateRecord,
    ] {
        let sim = session();
        let omission = thalweg_runtime::disable(rule);
        let seen = (0..30).any(|seed| {
            sim.reset(Config::seeded(seed));
            let scenario = || count_together(&open(), Form::Named);
            let right = std::panic::catch_unwind(scenario).is_ok();
            !right | !sim.finish().is_empty()
        });
        drop(omission);
        assert!(seen, "nobody misses {rule:?}");
    }
}

#[test]
fn the_state_of_a_library_is_read_and_written_and_starts_anew() {
    for form in [Form::Blob, Form::Named] {
        on_every_machine(20, |driver| {
            let mut model = counting(form);
            model.methods = vec!["prefill", "decode"];
            let program = model.load(driver).unwrap();
            let x = numbers(0, &[8, 4]);
            let state = State::new();
            let [mut prefill, mut decode] = sharing(&program, &state);
            assert_eq!(state.names(), ["count"]);
            let count = || {
                let bytes = state.read("count").unwrap();
                f32::from_ne_bytes(bytes.try_into().unwrap())
            };
            assert_eq!(count(), START);
            let options = RunOptions::new().device_outputs(true);
            prefill.run_with(&[(&x).into()], &options).unwrap();
            assert_eq!(count(), START + 1.0);
            state.write("count", &(START + 6.0).to_ne_bytes()).unwrap();
            assert_eq!(run(&mut decode, &[&x]).unwrap(), model.expected(&[&x], 7));
            state.reset().unwrap();
            assert_eq!(run(&mut prefill, &[&x]).unwrap(), model.expected(&[&x], 1));
            let error = state.write("count", &[0; 3]).unwrap_err().to_string();
            assert!(error.contains("has 4 bytes, not 3"), "{error}");
            // A clone of the method's own is the same.
            assert_eq!(
                decode.state().read("count").unwrap(),
                (START + 1.0).to_ne_bytes()
            );
        });
    }
}

#[test]
fn a_state_that_starts_otherwise_is_another() {
    on_every_machine(1, |driver| {
        let program = |start: f32| {
            let model = counting(Form::Named);
            let mut bytes = model.bytes();
            let (from, to) = (START.to_ne_bytes(), start.to_ne_bytes());
            // The buffer's data lie alone, with nothing behind them.
            let is_start = |part: &[u8]| part[..4] == from && part[4..] == [0; 12];
            let parts: Vec<_> = bytes
                .chunks_exact_mut(16)
                .filter(|part| is_start(part))
                .collect();
            assert_eq!(parts.len(), 1);
            parts
                .into_iter()
                .for_each(|part| part[..4].copy_from_slice(&to));
            load(&CudaBackend::new(driver).unwrap(), driver, bytes).unwrap()
        };
        let (one, other) = (program(START), program(START + 1.0));
        let state = State::new();
        let shared = MethodOptions::new().state(&state);
        let _one = one.method_with("forward", &shared).unwrap();
        let error = other
            .method_with("forward", &shared)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`count` starts with other values"),
            "{error}"
        );
    });
}

#[test]
fn code_is_loaded_once_for_all_instances_and_unloaded_in_the_end() {
    let model = counting(Form::Named);
    let sim = session();
    let x = numbers(0, &[8, 4]);
    {
        let driver = open();
        let program = model.load(&driver).unwrap();
        for _ in 0..3 {
            let mut method = program.method("forward").unwrap();
            run(&mut method, &[&x]).unwrap();
        }
        assert_eq!(sim.calls("cuModuleLoadData"), 1);
        assert_eq!(sim.calls("cuModuleUnload"), 0);
    }
    assert_eq!(sim.calls("cuModuleUnload"), 1);
    sim.assert_clean();
}

#[test]
fn a_weight_is_uploaded_once_whatever_the_number_of_delegates() {
    let mut model = Model::mixed(Form::Named);
    model.methods = vec!["forward", "backward"];
    // Another library with the same weight.
    model.recipes.push(Recipe {
        shift: 0.0,
        ..model.recipes[0]
    });
    model.steps.push(Step::Delegate(3, vec![8]));
    let sim = session();
    {
        let driver = open();
        let program = model.load(&driver).unwrap();
        let methods: Vec<_> = ["forward", "backward", "forward"]
            .map(|name| program.method(name).unwrap())
            .into();
        sim.drain();
        let log = sim.log();
        let uploads = log
            .iter()
            .filter(|done| done.kind == WorkKind::HostToDevice);
        assert_eq!(uploads.map(|done| done.bytes).collect::<Vec<_>>(), [16]);
        drop(methods);
    }
    sim.assert_clean();
}

#[test]
fn a_library_goes_with_the_last_that_uses_it() {
    let loaded = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        maps.contains("memfd:thalweg-library")
    };
    let model = counting(Form::Blob);
    let sim = session();
    {
        let driver = open();
        let program = model.load(&driver).unwrap();
        let mut first = program.method("forward").unwrap();
        let second = program.method("forward").unwrap();
        let x = numbers(0, &[8, 4]);
        drop(second);
        assert_eq!(run(&mut first, &[&x]).unwrap(), model.expected(&[&x], 1));
        drop(first);
        assert!(loaded());
        drop(program);
        assert!(!loaded());
    }
    sim.assert_clean();
}

#[test]
fn a_library_that_was_unloaded_can_be_loaded_again() {
    let model = counting(Form::Blob);
    on_every_machine(5, |driver| {
        let backend = CudaBackend::new(driver).unwrap();
        let x = numbers(0, &[8, 4]);
        for _ in 0..3 {
            let program = load(&backend, driver, model.bytes()).unwrap();
            let mut method = program.method("forward").unwrap();
            assert_eq!(run(&mut method, &[&x]).unwrap(), model.expected(&[&x], 1));
        }
    });
}
