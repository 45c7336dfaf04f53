//! Injected failures: a call ends with an error, and the next one is right.

use super::*;

fn survives(model: &Model) {
    let sim = session();
    let bytes = model.bytes();
    let x = numbers(1, &[8, 4]);
    let inputs = vec![&x; model.inputs];
    let expected = model.expected(&inputs, 0);
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let backend = CudaBackend::new(&driver)?;
        let program = load(&backend, &driver, bytes.clone())?;
        let mut method = program.method("forward")?;
        let first = run(&mut method, &inputs);
        if let Ok(output) = &first {
            assert_eq!(*output, expected);
        }
        // One call fails, at most, so that if it was in the first run, this one is right.
        let second = run(&mut method, &inputs);
        match (&first, &second) {
            (_, Ok(output)) => assert_eq!(*output, expected),
            (Err(first), Err(second)) => panic!("{first}, and then {second}"),
            (Ok(_), Err(_)) => assert_eq!(run(&mut method, &inputs)?, expected),
        }
        first.and(second).map(drop)
    };
    for seed in [3, 4] {
        sim.for_each_fault(&Config::seeded(seed), scenario, |fault, result, reports| {
            assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
            assert!(fault.is_some() || result.is_ok(), "{result:?}");
        });
    }
}

#[test]
fn with_arguments_on_the_device() {
    survives(&Model::mixed(Form::Named));
}

#[test]
fn with_arguments_on_the_host() {
    let mut model = Model::mixed(Form::Named);
    model.on_host = true;
    survives(&model);
}

#[test]
fn with_constants_in_one_blob() {
    survives(&Model::mixed(Form::Blob));
}
