//! Faults: whatever call of the driver or of TensorRT fails, the call is an error, and the next is right.

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
    let model = accumulate();
    let (x, total) = (numbers(0, &[64]), numbers(10, &[64]));
    let expected: Vec<f32> = (0..64).map(|i| (10 + 2 * i) as f32).collect();
    survives(&model, &[&x, &total], &expected);
}

#[test]
fn with_values_that_shapes_depend_on_and_sizes_that_depend_on_data() {
    use thalweg_simgpu::nvinfer::{Compute, Dim};
    let profile = ProfileSpec::new()
        .values("n", &[1], &[8], &[16])
        .scratch(1024);
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[64])
        .input("one", DType::F32, &[1])
        .host_input("n", DType::I64, &[1])
        .output("y", DType::F32, &[Dim::Value("n".into(), 0)])
        .output("at", DType::I64, &[Dim::Fixed(1), Dim::Data])
        .profile(profile)
        .affine("y", &[(3.0, "one")], 1.0)
        .compute(Compute::NonZero {
            input: "x".into(),
            output: "at".into(),
        });
    let mut n = input("n", &[1]).of(ScalarType::Long);
    n.on_host = true;
    let model = Model::new(
        engine,
        &[
            input("x", &[64]),
            input("one", &[1]),
            n,
            output("y", &[16]).dynamic(),
            output("at", &[1, 64]).of(ScalarType::Long).dynamic(),
        ],
    );
    let bytes = model.bytes();
    let sim = Sim::session(Config::seeded(0));
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let tensorrt = tensorrt(&driver)?;
        let program = load(&tensorrt, &driver, bytes.clone(), &LoadOptions::new())?;
        let mut method = program.method("forward")?;
        let (x, one) = (numbers(-2, &[64]), numbers(1, &[1]));
        let mut call = |n: i64| -> Result<()> {
            let count = Tensor::from_slice(&[n], &[1])?;
            let outputs = method.run(&[(&x).into(), (&one).into(), (&count).into()])?;
            let (y, at) = (outputs.tensor(0)?, outputs.tensor(1)?);
            assert_eq!(y.data::<f32>()?, vec![4.0; n as usize]);
            let expected: Vec<i64> = (0..64).filter(|&i| i != 2).collect();
            assert_eq!(at.data::<i64>()?, expected);
            Ok(())
        };
        let first = call(3);
        let second = call(16);
        match (first, second) {
            (Err(first), Err(second)) => panic!("{first}, and then {second}"),
            (Ok(()), Err(error)) => {
                call(1)?;
                Err(error)
            }
            (first, Ok(())) => first,
        }
    };
    sim.for_each_fault(&Config::seeded(5), scenario, |fault, result, reports| {
        assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
        assert!(fault.is_some() || result.is_ok(), "{result:?}");
    });
}
