//! Results of delegates.

use thalweg_cuda::Stream;

use super::*;

const FORMS: [Form; 2] = [Form::Blob, Form::Named];

fn recipes() -> Vec<Recipe> {
    let parts = [0, WEIGHT, COUNT, TWICE, WEIGHT | COUNT | TWICE];
    let recipe = |parts: u32, inputs| Recipe {
        parts,
        inputs,
        weight_len: if parts & WEIGHT != 0 { 4 } else { 0 },
        ..affine(3.0, 1.0)
    };
    parts
        .into_iter()
        .flat_map(|parts| [recipe(parts, 1), recipe(parts, 2)])
        .collect()
}

/// Checks three runs of a model.
fn three_runs(model: &Model, driver: &Driver) {
    let mut method = model.method(driver).unwrap();
    for run_number in 1..4 {
        let inputs: Vec<_> = (0..model.inputs)
            .map(|input| numbers(10 * input as i32 + run_number, &[8, 4]))
            .collect();
        let inputs: Vec<_> = inputs.iter().collect();
        let outputs = run(&mut method, &inputs).unwrap();
        assert_eq!(outputs, model.expected(&inputs, run_number as u32));
    }
}

#[test]
fn with_arguments_on_the_device() {
    for form in FORMS {
        for recipe in recipes() {
            let model = Model::new(recipe, form);
            on_every_machine(10, |driver| three_runs(&model, driver));
        }
    }
}

#[test]
fn with_arguments_on_the_host() {
    for form in FORMS {
        for recipe in recipes() {
            let mut model = Model::new(recipe, form);
            model.on_host = true;
            on_every_machine(10, |driver| three_runs(&model, driver));
        }
    }
}

#[test]
fn chains_and_forks_mixed_with_operators_of_the_cpu() {
    let model = Model::mixed(Form::Named);
    on_every_machine(1000, |driver| {
        let mut method = model.method(driver).unwrap();
        for start in 0..2 {
            let x = numbers(start, &[8, 4]);
            assert_eq!(run(&mut method, &[&x]).unwrap(), model.expected(&[&x], 0));
        }
    });
}

#[test]
fn of_shapes_that_change() {
    for on_host in [false, true] {
        let mut model = Model::mixed(Form::Blob);
        model.sizes = vec![64, 4];
        model.dynamic = true;
        model.on_host = on_host;
        on_every_machine(20, |driver| {
            let mut method = model.method(driver).unwrap();
            for rows in [3, 64, 64, 1, 3, 17] {
                let x = numbers(rows, &[rows as usize, 4]);
                assert_eq!(run(&mut method, &[&x]).unwrap(), model.expected(&[&x], 0));
            }
        });
    }
}

#[test]
fn on_any_stream_and_from_several_threads() {
    let model = Model::mixed(Form::Named);
    on_every_machine(20, |driver| {
        let program = model.load(driver).unwrap();
        let device = driver.device(0).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..3 {
                let (program, device, model) = (&program, &device, &model);
                scope.spawn(move || {
                    let mut method = program.method("forward").unwrap();
                    for start in 0..3 {
                        let stream = Stream::new(device).unwrap();
                        let x = numbers(100 * thread + start, &[8, 4]);
                        let options = RunOptions::new().stream(&stream);
                        let output = run_with(&mut method, &[&x], &options).unwrap();
                        assert_eq!(output, model.expected(&[&x], 0));
                    }
                });
            }
        });
    });
}
