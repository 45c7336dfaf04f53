//! Outputs that alias an input: the engine updates the input in place.

use super::*;
use thalweg_simgpu::nvinfer::Compute;

#[test]
fn an_update_in_place_is_seen_and_does_not_change_the_input() {
    on_every_machine(200, |driver| {
        let mut method = accumulate().method(driver).unwrap();
        let mut total = numbers(0, &[64]);
        for start in 1..5 {
            let x = numbers(start, &[64]);
            let outputs = run(&mut method, &[&x, &total]).unwrap();
            let expected: Vec<f32> = x
                .data::<f32>()
                .unwrap()
                .iter()
                .zip(total.data::<f32>().unwrap())
                .map(|(x, total)| x + total)
                .collect();
            assert_eq!(outputs[0].1, expected);
            total = Tensor::from_slice(&expected, &[64]).unwrap();
        }
    });
}

#[test]
fn a_cache_is_updated_row_by_row() {
    let engine = EngineSpec::new()
        .input("row", DType::F32, &[1, 64])
        .input("at", DType::I64, &[1])
        .input("cache", DType::F32, &[4, 64])
        .output_in_place("new", "cache")
        .profile(ProfileSpec::new().scratch(256))
        .compute(Compute::CacheUpdate {
            cache: "cache".into(),
            update: "row".into(),
            position: "at".into(),
            axis: 0,
            output: "new".into(),
        });
    let ios = [
        input("row", &[1, 64]),
        input("at", &[1]).of(ScalarType::Long),
        input("cache", &[4, 64]),
        output("new", &[4, 64]),
    ];
    let model = Model::new(engine, &ios).alias("new", "cache");
    on_every_machine(100, |driver| {
        let mut method = model.method(driver).unwrap();
        let mut cache = numbers(1000, &[4, 64]);
        for at in [2usize, 0, 3] {
            let row = numbers(at as i32, &[1, 64]);
            let position = Tensor::from_slice(&[at as i64], &[1]).unwrap();
            let outputs = run(&mut method, &[&row, &position, &cache]).unwrap();
            let mut expected = cache.data::<f32>().unwrap().to_vec();
            expected[at * 64..][..64].copy_from_slice(row.data::<f32>().unwrap());
            assert_eq!(outputs[0].1, expected);
            cache = Tensor::from_slice(&expected, &[4, 64]).unwrap();
        }
    });
}

#[test]
fn memory_on_the_host_is_not_updated_in_place() {
    for index in [1, 2] {
        let mut model = accumulate();
        model.ios[index].on_host = true;
        on_every_machine(1, |driver| {
            let mut method = model.method(driver).unwrap();
            let (x, total) = (numbers(0, &[64]), numbers(1, &[64]));
            let error = run(&mut method, &[&x, &total]).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("updated in place"), "{text}");
            assert!(text.contains("on the host"), "{text}");
        });
    }
}

#[test]
fn aliases_must_be_those_of_the_engine_where_it_says_so() {
    use thalweg_simgpu::nvinfer::TensorRt as Played;
    let sim = Sim::session(Config::seeded(0).with_tensorrt(Played::new(10, 15, 0)));
    let mut model = accumulate();
    model.engine = model.engine.version(10, 15, 0);
    drop(model.method(&open()).unwrap());
    model.aliases.clear();
    let error = model.method(&open()).unwrap_err();
    assert!(
        error.to_string().contains("no alias for the metadata"),
        "{error}"
    );
    let mut model = affine().alias("y", "x");
    model.engine = model.engine.version(10, 15, 0);
    let error = model.method(&open()).unwrap_err();
    assert!(
        error.to_string().contains("no alias for the engine"),
        "{error}"
    );
    sim.assert_clean();
}

#[test]
fn aliases_must_have_one_shape() {
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[8])
        .output("y", DType::F32, &[])
        .profile(ProfileSpec::new())
        .compute(Compute::Sum {
            input: "x".into(),
            output: "y".into(),
        });
    let model = Model::new(engine, &[input("x", &[8]), output("y", &[])]).alias("y", "x");
    on_every_machine(1, |driver| {
        let error = model.method(driver).unwrap_err();
        assert!(
            error.to_string().contains("cannot be the memory of `x`"),
            "{error}"
        );
    });
}
