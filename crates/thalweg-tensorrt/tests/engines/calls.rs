//! Calls: shapes, types, and locations of arguments.

use super::*;
use thalweg_cuda::Stream;
use thalweg_runtime::GraphUse;
use thalweg_simgpu::nvinfer::{Compute, Dim};

#[test]
fn an_engine_computes_on_the_stream_of_the_call_under_every_schedule() {
    on_every_machine(300, |driver| {
        let mut method = affine().method(driver).unwrap();
        let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
        for start in 0..4 {
            let x = numbers(start, &[8, 8]);
            let options = match start % 2 {
                0 => RunOptions::new(),
                _ => RunOptions::new().stream(&stream),
            };
            let outputs = run_with(&mut method, &[&x], &options).unwrap();
            assert_eq!(outputs, [(vec![8, 8], tripled(&x))]);
        }
    });
}

#[test]
fn shapes_change_from_call_to_call() {
    on_every_machine(200, |driver| {
        let mut method = dynamic().method(driver).unwrap();
        for rows in [8, 64, 1, 1, 37, 64] {
            let x = numbers(rows, &[rows as usize, 8]);
            let outputs = run(&mut method, &[&x]).unwrap();
            assert_eq!(outputs, [(vec![rows as usize, 8], tripled(&x))]);
        }
    });
}

#[test]
fn calls_that_leave_results_on_the_device_do_not_disturb_the_next() {
    on_every_machine(200, |driver| {
        let mut method = dynamic().method(driver).unwrap();
        for rows in [8, 64, 1, 2] {
            let x = numbers(rows, &[rows as usize, 8]);
            let options = RunOptions::new().device_outputs(true);
            method.run_with(&[(&x).into()], &options).unwrap();
        }
        let x = numbers(5, &[5, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}

#[test]
fn an_engine_that_needs_no_scratch_gets_none() {
    on_every_machine(20, |driver| {
        let mut model = affine();
        model.engine.profiles = vec![ProfileSpec::new()];
        let mut method = model.method(driver).unwrap();
        let x = numbers(0, &[8, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}

#[test]
fn an_engine_that_says_nothing_of_its_shapes_gets_what_its_profile_asks_for() {
    on_every_machine(20, |driver| {
        let mut model = affine();
        model.engine.answers_no_scratch = true;
        let mut method = model.method(driver).unwrap();
        let x = numbers(0, &[8, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}

#[test]
fn arguments_on_the_host_pass_through_memory_that_is_kept() {
    // All on the host, so that the method has no memory on the device; and one of each kind.
    for (x_on_host, y_on_host) in [(true, true), (true, false), (false, true)] {
        let mut model = dynamic();
        model.ios[0].on_host = x_on_host;
        model.ios[1].on_host = y_on_host;
        on_every_machine(100, |driver| {
            let mut method = model.method(driver).unwrap();
            for rows in [8, 64, 1, 2, 63] {
                let x = numbers(rows, &[rows as usize, 8]);
                let outputs = run(&mut method, &[&x]).unwrap();
                assert_eq!(outputs, [(vec![rows as usize, 8], tripled(&x))]);
            }
        });
    }
}

#[test]
fn a_method_without_memory_on_the_device_uses_the_callers_stream() {
    let mut model = affine();
    model.ios.iter_mut().for_each(|io| io.on_host = true);
    on_every_machine(50, |driver| {
        let mut method = model.method(driver).unwrap();
        for start in 0..3 {
            // Gone at once after the call.
            let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
            let x = numbers(start, &[8, 8]);
            let options = RunOptions::new().stream(&stream);
            let outputs = run_with(&mut method, &[&x], &options).unwrap();
            assert_eq!(outputs[0].1, tripled(&x));
        }
    });
}

#[test]
fn tensors_without_elements_have_an_address_all_the_same() {
    for on_host in [false, true] {
        let mut model = dynamic();
        model.engine.profiles = vec![
            ProfileSpec::new()
                .shape("x", &[0, 8], &[8, 8], &[64, 8])
                .scratch(256),
        ];
        model.ios.iter_mut().for_each(|io| io.on_host = on_host);
        on_every_machine(20, |driver| {
            let mut method = model.method(driver).unwrap();
            for rows in [0, 4, 0] {
                let x = numbers(1, &[rows, 8]);
                let outputs = run(&mut method, &[&x]).unwrap();
                assert_eq!(outputs, [(vec![rows, 8], tripled(&x))]);
            }
        });
    }
}

#[test]
fn scalars_are_tensors_with_no_dimension_or_with_one() {
    let sum = |dims: &[Dim]| {
        let engine = EngineSpec::new()
            .input("x", DType::F32, &[4])
            .output("s", DType::F32, dims)
            .profile(ProfileSpec::new());
        let compute = Compute::Sum {
            input: "x".into(),
            output: "s".into(),
        };
        engine.compute(compute)
    };
    // The engine and the program may see it either way.
    for (dims, sizes) in [
        (vec![], vec![]),
        (vec![], vec![1]),
        (vec![Dim::Fixed(1)], vec![1]),
    ] {
        let model = Model::new(sum(&dims), &[input("x", &[4]), output("s", &sizes)]);
        on_every_machine(10, |driver| {
            let mut method = model.method(driver).unwrap();
            let x = numbers(1, &[4]);
            let outputs = run(&mut method, &[&x]).unwrap();
            let sizes: Vec<_> = sizes.iter().map(|&size| size as usize).collect();
            assert_eq!(outputs, [(sizes, vec![10.0])]);
        });
    }
    // And as an input: `y = x * 1`.
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[1])
        .output_like("y", "x")
        .profile(ProfileSpec::new())
        .affine("y", &[(1.0, "x")], 0.0);
    let model = Model::new(engine, &[input("x", &[]), output("y", &[])]);
    on_every_machine(10, |driver| {
        let mut method = model.method(driver).unwrap();
        let x = numbers(7, &[]);
        assert_eq!(run(&mut method, &[&x]).unwrap(), [(vec![], vec![7.0])]);
    });
}

#[test]
fn elements_are_of_every_type_that_both_have() {
    let types = [
        (DType::F32, ScalarType::Float),
        (DType::F16, ScalarType::Half),
        (DType::BF16, ScalarType::BFloat16),
        (DType::I8, ScalarType::Char),
        (DType::U8, ScalarType::Byte),
        (DType::I32, ScalarType::Int),
        (DType::I64, ScalarType::Long),
        (DType::Bool, ScalarType::Bool),
    ];
    for (engine_type, program_type) in types {
        let engine = EngineSpec::new()
            .input("x", engine_type, &[6])
            .output_like("y", "x")
            .profile(ProfileSpec::new())
            .affine("y", &[(1.0, "x")], 0.0);
        let ios = [
            input("x", &[6]).of(program_type),
            output("y", &[6]).of(program_type),
        ];
        let model = Model::new(engine, &ios);
        on_every_machine(3, |driver| {
            let mut method = model.method(driver).unwrap();
            let dtype = thalweg_core::DType::from_scalar_type(program_type).unwrap();
            let bytes = vec![1u8; 6 * dtype.size()];
            let order = thalweg_core::identity_order(1).unwrap();
            let x = Tensor::from_bytes(dtype, &[6], order, &bytes).unwrap();
            let outputs = method.run(&[(&x).into()]).unwrap();
            let y = outputs.tensor(0).unwrap();
            assert_eq!(y.dtype(), dtype);
            // Numbers that these types can have come back as they are.
            if engine_type != DType::F32 {
                assert_eq!(y.bytes(), x.view().bytes(), "{engine_type:?}");
            }
        });
    }
}

#[test]
fn outputs_whose_size_depends_on_data_get_their_memory_while_the_engine_runs() {
    for on_host in [false, true] {
        let engine = EngineSpec::new()
            .input("x", DType::F32, &[64])
            .output("at", DType::I64, &[Dim::Fixed(1), Dim::Data])
            .output_like("y", "x")
            .profile(ProfileSpec::new().scratch(1024))
            .affine("y", &[(3.0, "x")], 1.0)
            .compute(Compute::NonZero {
                input: "x".into(),
                output: "at".into(),
            });
        let mut at = output("at", &[1, 64]).of(ScalarType::Long).dynamic();
        at.on_host = on_host;
        let model = Model::new(engine, &[input("x", &[64]), at, output("y", &[64])]);
        on_every_machine(100, |driver| {
            let mut method = model.method(driver).unwrap();
            for step in [9, 2, 64, 1] {
                let data: Vec<f32> = (0..64).map(|i| f32::from(i % step == 0)).collect();
                let x = Tensor::from_slice(&data, &[64]).unwrap();
                let outputs = method.run(&[(&x).into()]).unwrap();
                let at = outputs.tensor(0).unwrap();
                let expected: Vec<i64> = (0..64).filter(|i| i % step == 0).collect();
                assert_eq!(at.sizes(), [1, expected.len()]);
                assert_eq!(at.data::<i64>().unwrap(), expected);
                assert_eq!(
                    outputs.tensor(1).unwrap().data::<f32>().unwrap(),
                    tripled(&x)
                );
            }
        });
    }
}

#[test]
fn values_that_shapes_depend_on_are_on_the_host() {
    for (on_host, dtype) in [(true, DType::I64), (false, DType::I64), (true, DType::I32)] {
        let profile = ProfileSpec::new()
            .values("n", &[1], &[8], &[16])
            .scratch(1024);
        let engine = EngineSpec::new()
            .input("x", DType::F32, &[1])
            .host_input("n", dtype, &[1])
            .output("y", DType::F32, &[Dim::Value("n".into(), 0)])
            .profile(profile)
            .affine("y", &[(3.0, "x")], 1.0);
        let scalar_type = match dtype {
            DType::I64 => ScalarType::Long,
            _ => ScalarType::Int,
        };
        let mut n = input("n", &[1]).of(scalar_type);
        n.on_host = on_host;
        let ios = [input("x", &[1]), n, output("y", &[16]).dynamic()];
        let model = Model::new(engine, &ios);
        on_every_machine(50, |driver| {
            let mut method = model.method(driver).unwrap();
            let x = numbers(2, &[1]);
            let of = |n: i64| match dtype {
                DType::I64 => Tensor::from_slice(&[n], &[1]).unwrap(),
                _ => Tensor::from_slice(&[n as i32], &[1]).unwrap(),
            };
            for n in [3, 16, 16, 1] {
                let outputs = run(&mut method, &[&x, &of(n)]).unwrap();
                assert_eq!(outputs, [(vec![n as usize], vec![7.0; n as usize])]);
            }
            let error = run(&mut method, &[&x, &of(17)]).unwrap_err();
            assert!(
                error.to_string().contains("the value 17 at 0, not 1 to 16"),
                "{error}"
            );
            assert_eq!(run(&mut method, &[&x, &of(2)]).unwrap()[0].1, [7.0; 2]);
        });
    }
}

#[test]
fn steady_calls_ask_the_driver_and_tensorrt_for_the_enqueue_and_nothing_else() {
    let sim = Sim::session(Config::seeded(1).with_eagerness(0.0));
    let driver = open();
    let mut method = affine().method(&driver).unwrap();
    let x = numbers(1, &[8, 8]);
    let options = RunOptions::new().device_outputs(true).graph(GraphUse::Off);
    let counts = || {
        let counts = sim.call_counts();
        let of = |name: &str| -> u64 {
            let named = counts
                .iter()
                .filter(|(function, _)| function.starts_with(name));
            named.map(|(_, count)| count).sum()
        };
        (
            of("nvinfer."),
            of("cuMemAlloc"),
            of("cuEventRecord"),
            of("cuStreamWaitEvent"),
            sim.host_waits(),
        )
    };
    for _ in 0..3 {
        method.run_with(&[(&x).into()], &options).unwrap();
    }
    let before = counts();
    for _ in 0..10 {
        method.run_with(&[(&x).into()], &options).unwrap();
    }
    let after = counts();
    assert_eq!(after.0 - before.0, 10, "calls of TensorRT");
    assert_eq!(after.1 - before.1, 0, "allocations");
    // The core's, at the end of each call.
    assert_eq!(after.2 - before.2, 10, "records");
    // All calls are on the thread's own stream, where one comes after the other anyway.
    assert_eq!(after.3 - before.3, 0, "waits on the device");
    // The core waits before it writes the input anew.
    assert!(after.4 - before.4 <= 10, "waits");
    drop((method, driver));
    sim.assert_clean();
}

#[test]
fn an_engine_runs_on_the_device_that_it_was_built_for() {
    let mut model = affine();
    model.metadata.device_id = 1;
    with_config(20, &|config| config.with_devices(2), |driver| {
        let x = numbers(0, &[8, 8]);
        let mut elsewhere = model.method(driver).unwrap();
        let error = run(&mut elsewhere, &[&x]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("lies on cuda:0, and the engine is on cuda:1"),
            "{text}"
        );
        let mut model = model.clone();
        model.device = 1;
        let mut method = model.method(driver).unwrap();
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}
