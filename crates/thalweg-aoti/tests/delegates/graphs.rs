//! Delegates as a part of graphs.

use thalweg_core::GraphUse;
use thalweg_cuda::Stream;

use super::*;

fn as_graph<'s>() -> RunOptions<'s> {
    RunOptions::new().graph(GraphUse::On)
}

/// One delegate with a weight, whose output is not its last allocation.
fn one() -> Model {
    let recipe = Recipe {
        parts: WEIGHT | TWICE,
        weight_len: 4,
        ..affine(3.0, 1.0)
    };
    Model::new(recipe, Form::Named)
}

/// Delegates one after the other, without operators of the CPU.
fn chain(len: usize) -> Model {
    let mut model = one();
    model.recipes.push(Recipe {
        parts: TWICE,
        ..affine(-1.0, 2.0)
    });
    model.steps = (0..len)
        .map(|step| Step::Delegate(step % 2, vec![step]))
        .collect();
    // Each step is a delegate of its own, as in exported programs.
    model.recipes = (0..len).map(|step| model.recipes[step % 2]).collect();
    for (step, what) in model.steps.iter_mut().enumerate() {
        *what = Step::Delegate(step, vec![step]);
    }
    model
}

#[test]
fn what_is_launched_as_a_graph_is_right_under_every_schedule() {
    let counting = Recipe {
        parts: WEIGHT | COUNT | TWICE,
        weight_len: 4,
        ..affine(2.0, 1.0)
    };
    for model in [
        one(),
        chain(5),
        Model::mixed(Form::Named),
        Model::mixed(Form::Blob),
        Model::new(counting, Form::Named),
    ] {
        on_every_machine(100, |driver| {
            let mut method = model.method(driver).unwrap();
            let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
            for call in 0..10 {
                let x = numbers(call, &[8, 4]);
                let options = match call % 5 {
                    0..3 => as_graph(),
                    3 => as_graph().stream(&stream),
                    _ => RunOptions::new().graph(GraphUse::Off),
                };
                let output = run_with(&mut method, &[&x], &options).unwrap();
                assert_eq!(
                    output,
                    model.expected(&[&x], call as u32 + 1),
                    "call {call}"
                );
            }
        });
    }
}

#[test]
fn the_third_call_after_the_first_is_recorded_and_launched_from_then_on() {
    let sim = session();
    let driver = open();
    let model = chain(3);
    let mut method = model.method(&driver).unwrap();
    let mut call = || {
        let x = numbers(1, &[8, 4]);
        let output = run_with(&mut method, &[&x], &as_graph()).unwrap();
        assert_eq!(output, model.expected(&[&x], 1));
        (sim.calls("cuLaunchKernel"), sim.calls("cuGraphLaunch"))
    };
    let launches = call().0;
    // The first run waits, and so is no example of the others.
    for calls in 2..5 {
        assert_eq!(call(), (calls * launches, 0));
    }
    assert_eq!(call(), (5 * launches, 1));
    for graphs in 2..5 {
        assert_eq!(call(), (5 * launches, graphs));
    }
    drop((method, driver));
    sim.assert_clean();
}

#[test]
fn of_shapes_that_change() {
    let mut model = chain(3);
    model.sizes = vec![64, 4];
    model.dynamic = true;
    on_every_machine(50, |driver| {
        let mut method = model.method(driver).unwrap();
        for rows in [3, 64, 3, 64, 3, 64, 3, 64, 3, 64, 1, 3, 64, 3, 64, 17, 3] {
            let x = numbers(rows, &[rows as usize, 4]);
            let output = run_with(&mut method, &[&x], &as_graph()).unwrap();
            assert_eq!(output, model.expected(&[&x], 0));
        }
    });
}

#[test]
fn whatever_call_fails_while_graphs_are_used_the_next_is_right() {
    let sim = session();
    for model in [chain(2), Model::mixed(Form::Named)] {
        let bytes = model.bytes();
        let x = numbers(3, &[8, 4]);
        let expected = model.expected(&[&x], 0);
        for graph in [GraphUse::On, GraphUse::Auto] {
            let scenario = |_: &Sim| -> Result<()> {
                let driver = Driver::open(Some(Sim::path()))?;
                let backend = CudaBackend::new(&driver)?;
                let program = load(&backend, &driver, bytes.clone())?;
                let mut method = program.method("forward")?;
                let mut failed = None;
                for _ in 0..7 {
                    let options = RunOptions::new().graph(graph);
                    match run_with(&mut method, &[&x], &options) {
                        Ok(output) => assert_eq!(output, expected),
                        Err(error) => {
                            let before = failed.replace(error);
                            assert!(before.is_none(), "{before:?}, and then {failed:?}");
                        }
                    }
                }
                failed.map_or(Ok(()), Err)
            };
            sim.for_each_fault(&Config::seeded(6), scenario, |fault, result, reports| {
                assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
                assert!(fault.is_some() || result.is_ok(), "{result:?}");
            });
        }
    }
}
