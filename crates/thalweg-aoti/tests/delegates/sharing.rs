//! What instances share, and what each has for itself.

use thalweg_simgpu::WorkKind;

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
