//! The virtual tables of every version of TensorRT, as the stand-in has them.

use super::*;
use thalweg_simgpu::nvinfer::{TensorRt as Played, Variant};
use thalweg_tensorrt::Flavor;

fn every_version() -> Vec<Played> {
    let ten = (0..=16).map(|minor| Played::new(10, minor, 0));
    let eleven = (0..=2).map(|minor| Played::new(11, minor, 0));
    let rtx = (0..=2).map(|minor| Played::new(1, minor, 0).variant(Variant::Rtx));
    let others = [
        Played::new(10, 6, 0).variant(Variant::Lean),
        Played::new(11, 0, 0).variant(Variant::Lean),
    ];
    ten.chain(eleven).chain(rtx).chain(others).collect()
}

/// A run that calls every method: dynamic shapes, scratch, two profiles, host values, weights.
fn everything(version: Played) -> Model {
    let profile = |least: i64, most: i64| {
        ProfileSpec::new()
            .shape("x", &[least, 8], &[least, 8], &[most, 8])
            .scratch(512)
            .scratch_per_element("x", 16)
    };
    let mut engine = EngineSpec::new()
        .version(version.major, version.minor, version.patch)
        .input("x", DType::F32, &[-1, 8])
        .output_like("y", "x")
        .profile(profile(1, 4))
        .profile(profile(4, 64))
        .affine("y", &[(3.0, "x")], 1.0);
    engine.resize_by_shape = true;
    engine.name = "the engine".into();
    // The lean runtime takes no others.
    engine.version_compatible = version.kind == Variant::Lean;
    let ios = [
        input("x", &[64, 8]).dynamic(),
        output("y", &[64, 8]).dynamic(),
    ];
    Model::new(engine, &ios)
}

#[test]
fn engines_run_on_every_version() {
    let sim = Sim::session(Config::seeded(0));
    for version in every_version() {
        for seed in 0..10 {
            sim.reset(Config::seeded(seed).with_tensorrt(version));
            let driver = open();
            let mut method = everything(version).method(&driver).unwrap();
            for rows in [2, 3, 3, 64, 4, 1] {
                let x = numbers(rows, &[rows as usize, 8]);
                let outputs = run(&mut method, &[&x]).unwrap();
                assert_eq!(outputs, [(vec![rows as usize, 8], tripled(&x))]);
            }
            drop((method, driver));
            let reports = sim.finish();
            assert!(reports.is_empty(), "{version:?}, seed {seed}: {reports:#?}");
        }
    }
}

#[test]
fn engines_with_weights_on_the_host_are_read_on_every_version() {
    let sim = Sim::session(Config::seeded(0));
    for version in every_version() {
        sim.reset(Config::seeded(1).with_tensorrt(version));
        let mut model = everything(version);
        model.engine.streamable = 1 << 20;
        model.engine.streaming_scratch = 4096;
        model.engine.payload = 100_000;
        let driver = open();
        let mut method = model.method(&driver).unwrap();
        let x = numbers(1, &[5, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
        drop((method, driver));
        let reports = sim.finish();
        assert!(reports.is_empty(), "{version:?}: {reports:#?}");
    }
}

#[test]
fn values_on_the_host_outputs_of_any_size_and_updates_in_place_work_on_every_version() {
    use thalweg_simgpu::nvinfer::{Compute, Dim};
    let sim = Sim::session(Config::seeded(0));
    for version in every_version() {
        let profile = ProfileSpec::new()
            .values("n", &[1], &[8], &[16])
            .scratch(512);
        let mut engine = EngineSpec::new()
            .version(version.major, version.minor, version.patch)
            .input("x", DType::F32, &[64])
            .input("one", DType::F32, &[1])
            .host_input("n", DType::I32, &[1])
            .input("total", DType::F32, &[64])
            .output("y", DType::F32, &[Dim::Value("n".into(), 0)])
            .output("at", DType::I64, &[Dim::Fixed(1), Dim::Data])
            .output_in_place("sum", "total")
            .profile(profile)
            .affine("y", &[(3.0, "one")], 1.0)
            .compute(Compute::NonZero {
                input: "x".into(),
                output: "at".into(),
            })
            .affine("sum", &[(1.0, "x"), (1.0, "total")], 0.0);
        engine.version_compatible = version.kind == Variant::Lean;
        let mut n = input("n", &[1]).of(ScalarType::Int);
        n.on_host = true;
        let ios = [
            input("x", &[64]),
            input("one", &[1]),
            n,
            input("total", &[64]),
            output("y", &[16]).dynamic(),
            output("at", &[1, 64]).of(ScalarType::Long).dynamic(),
            output("sum", &[64]),
        ];
        let model = Model::new(engine, &ios).alias("sum", "total");
        for seed in 0..5 {
            sim.reset(Config::seeded(seed).with_tensorrt(version));
            let driver = open();
            let mut method = model.method(&driver).unwrap();
            let (x, one, total) = (numbers(-3, &[64]), numbers(1, &[1]), numbers(100, &[64]));
            for count in [2, 16, 5] {
                let n = Tensor::from_slice(&[count], &[1]).unwrap();
                let inputs = [&x, &one, &n, &total].map(|tensor| tensor.into());
                let outputs = method.run(&inputs).unwrap();
                let y = outputs.tensor(0).unwrap();
                assert_eq!(y.data::<f32>().unwrap(), vec![4.0; count as usize]);
                let at = outputs.tensor(1).unwrap();
                let expected: Vec<i64> = (0..64).filter(|&i| i != 3).collect();
                assert_eq!(at.data::<i64>().unwrap(), expected);
                let sum = outputs.tensor(2).unwrap();
                let expected: Vec<f32> = (0..64).map(|i| (97 + 2 * i) as f32).collect();
                assert_eq!(sum.data::<f32>().unwrap(), expected);
            }
            let n = Tensor::from_slice(&[17], &[1]).unwrap();
            let error = run(&mut method, &[&x, &one, &n, &total]).unwrap_err();
            assert!(error.to_string().contains("the value 17"), "{error}");
            drop((method, driver));
            let reports = sim.finish();
            assert!(reports.is_empty(), "{version:?}, seed {seed}: {reports:#?}");
        }
    }
}

#[test]
fn what_is_known_of_an_engine_is_told_on_every_version() {
    let sim = Sim::session(Config::seeded(0));
    for version in every_version() {
        sim.reset(Config::seeded(0).with_tensorrt(version));
        let driver = open();
        let tensorrt = tensorrt(&driver).unwrap();
        let (major, minor) = (version.major as u16, version.minor as u16);
        assert_eq!(
            (tensorrt.version().major, tensorrt.version().minor),
            (major, minor)
        );
        if version.kind == Variant::Rtx {
            assert_eq!(tensorrt.flavor(), Flavor::Rtx);
        }
        let info = tensorrt
            .describe(&everything(version).payload(), None)
            .unwrap();
        assert_eq!(info.name, "the engine");
        assert_eq!(info.tensors.len(), 2);
        assert_eq!(info.tensors[0].shape, [-1, 8]);
        assert!(info.tensors[0].is_input && !info.tensors[1].is_input);
        assert_eq!(info.profiles.len(), 2);
        assert_eq!(info.profiles[1].inputs[0].max, [64, 8]);
        assert_eq!(info.profiles[1].inputs[0].to_string(), "[4 to 64, 8]");
        assert!(info.profiles[1].scratch >= 512 + 16 * 64 * 8);
        drop((tensorrt, driver));
        sim.assert_clean();
    }
}

#[test]
fn versions_without_a_known_layout_are_refused() {
    let sim = Sim::session(Config::seeded(0));
    for (major, minor) in [(9, 3), (12, 0)] {
        sim.reset(Config::seeded(0).with_tensorrt(Played::new(major, minor, 0)));
        let error = tensorrt(&open()).err().unwrap();
        let text = error.to_string();
        assert!(text.contains(&format!("{major}.{minor}.0")), "{text}");
        assert!(text.contains("10.x, 11.x"), "{text}");
    }
}
