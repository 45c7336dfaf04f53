//! Whatever call fails, the call ends with an error, and the next is right.

use super::*;

fn survives(model: &Model, inputs: &[&Tensor], expected: &[f32]) {
    let sim = Sim::session(Config::seeded(0));
    let bytes = model.bytes();
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let tensorrt = tensorrt(&driver)?;
        let program = load(&tensorrt, &driver, bytes.clone(), &LoadOptions::new())?;
        let mut method = program.method("forward")?;
        let first = run(&mut method, inputs);
        if let Ok(outputs) = &first {
            assert_eq!(outputs[0].1, expected);
        }
        // One call fails, at most, so that if it was in the first run, this one is right.
        let second = run(&mut method, inputs);
        match (&first, &second) {
            (_, Ok(outputs)) => assert_eq!(outputs[0].1, expected),
            (Err(first), Err(second)) => panic!("{first}, and then {second}"),
            (Ok(_), Err(_)) => {
                let third = run(&mut method, inputs)?;
                assert_eq!(third[0].1, expected);
            }
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
    let x = numbers(2, &[5, 8]);
    survives(&dynamic(), &[&x], &tripled(&x));
}

#[test]
fn with_arguments_on_the_host() {
    let mut model = dynamic();
    model.ios.iter_mut().for_each(|io| io.on_host = true);
    let x = numbers(2, &[5, 8]);
    survives(&model, &[&x], &tripled(&x));
}

#[test]
fn with_weights_on_the_host() {
    let mut model = affine();
    model.engine.streamable = 4096;
    model.engine.payload = 4096;
    let x = numbers(2, &[8, 8]);
    survives(&model, &[&x], &tripled(&x));
}

#[test]
fn with_updates_in_place() {
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[64])
        .input("total", DType::F32, &[64])
        .output_in_place("new", "total")
        .profile(ProfileSpec::new().scratch(512))
        .affine("new", &[(1.0, "x"), (1.0, "total")], 0.0);
    let ios = [
        input("x", &[64]),
        input("total", &[64]),
        output("new", &[64]),
    ];
    let model = Model::new(engine, &ios).alias("new", "total");
    let (x, total) = (numbers(0, &[64]), numbers(10, &[64]));
    let expected: Vec<f32> = (0..64).map(|i| (10 + 2 * i) as f32).collect();
    survives(&model, &[&x, &total], &expected);
}
