//! The results of engines, and how they run.

use thalweg_simgpu::nvinfer::{Compute, DType, Dim, EngineSpec, ProfileSpec, TensorRt};
use thalweg_simgpu::{Config, ReportKind, Sim};

use crate::api::{Allocator, Reader};
use crate::driver::*;
use crate::{affine, device, download, setup, upload};

/// Sets the address of each tensor.
fn bind(context: crate::Object, addresses: &[(&str, u64)]) {
    for (name, address) in addresses {
        assert!(context.set_address(name, *address), "{name}");
    }
}

#[test]
fn products_gathers_and_sums_are_exact() {
    let sim = Sim::session(Config::default());
    let spec = EngineSpec::new()
        .input("x", DType::F32, &[2, 3])
        .input("rows", DType::I64, &[4])
        .output("product", DType::F32, &[2.into(), 2.into()])
        .output("gathered", DType::F32, &[4.into(), 3.into()])
        .output("sum", DType::I64, &[2.into()])
        .compute(Compute::Matmul {
            input: "x".into(),
            seed: 5,
            output: "product".into(),
        })
        .compute(Compute::Gather {
            input: "x".into(),
            indices: "rows".into(),
            output: "gathered".into(),
        })
        .compute(Compute::Sum {
            input: "x".into(),
            output: "sum".into(),
        })
        .profile(ProfileSpec::new());
    let setup = setup(TensorRt::default(), &spec);
    let context = setup.engine.context(0).unwrap();
    let [x, rows, product, gathered, sum] = [0; 5].map(|_: u8| device(256));
    let values = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    upload(x, &values);
    upload(rows, &[1i64, 0, -1, 1]);
    bind(
        context,
        &[
            ("x", x),
            ("rows", rows),
            ("product", product),
            ("gathered", gathered),
            ("sum", sum),
        ],
    );
    assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
    let product_values = download::<f32>(product, 4);
    for (index, value) in product_values.iter().enumerate() {
        let (i, j) = (index / 2, index % 2);
        let expected: f64 = (0..3)
            .map(|k| f64::from(values[i * 3 + k]) * EngineSpec::weight(5, k, j))
            .sum();
        assert_eq!(f64::from(*value), expected);
    }
    let rows_values = download::<f32>(gathered, 12);
    assert_eq!(rows_values[..6], [4.0, 5.0, 6.0, 1.0, 2.0, 3.0]);
    assert_eq!(rows_values[6..], [4.0, 5.0, 6.0, 4.0, 5.0, 6.0]);
    assert_eq!(download::<i64>(sum, 2), [6, 15]);
    context.delete();
    for pointer in [x, rows, product, gathered, sum] {
        assert_eq!(free(pointer), OK);
    }
    setup.end();
    sim.assert_clean();
}

#[test]
fn every_element_type_is_computed_in() {
    let sim = Sim::session(Config::default());
    let types: [(DType, [u8; 2], [u8; 2]); 8] = [
        (DType::F32, [0x80, 0x3f], [0x40, 0x40]),
        (DType::F16, [0x00, 0x3c], [0x00, 0x42]),
        (DType::BF16, [0x80, 0x3f], [0x40, 0x40]),
        (DType::I8, [1, 0], [3, 0]),
        (DType::U8, [1, 0], [3, 0]),
        (DType::I32, [1, 0], [3, 0]),
        (DType::I64, [1, 0], [3, 0]),
        (DType::Bool, [1, 0], [1, 0]),
    ];
    for (dtype, one, three) in types {
        let spec = EngineSpec::new()
            .input("x", dtype, &[1])
            .output_like("y", "x")
            .affine("y", &[(2.0, "x")], 1.0)
            .profile(ProfileSpec::new());
        let setup = setup(TensorRt::default(), &spec);
        let context = setup.engine.context(0).unwrap();
        let (x, y) = (device(8), device(8));
        // The bytes that are not zero are the last of floats and the first of whole numbers.
        let place = if dtype == DType::F32 { 2 } else { 0 };
        let mut bytes = [0u8; 8];
        bytes[place..place + 2].copy_from_slice(&one);
        upload(x, &bytes[..dtype.size()]);
        bind(context, &[("x", x), ("y", y)]);
        assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
        bytes[place..place + 2].copy_from_slice(&three);
        let found = download::<u8>(y, dtype.size());
        assert_eq!(found, bytes[..dtype.size()], "{dtype:?}");
        context.delete();
        assert_eq!(free(x), OK);
        assert_eq!(free(y), OK);
        setup.end();
        sim.assert_clean();
    }
}

fn cache(version: TensorRt) -> EngineSpec {
    EngineSpec::new()
        .version(version.major, version.minor, version.patch)
        .input("cache", DType::I32, &[2, 4, 2])
        .input("update", DType::I32, &[2, 1, 2])
        .input("position", DType::I64, &[1])
        .output_in_place("out", "cache")
        .compute(Compute::CacheUpdate {
            cache: "cache".into(),
            update: "update".into(),
            position: "position".into(),
            axis: 1,
            output: "out".into(),
        })
        .profile(ProfileSpec::new().scratch(100))
}

#[test]
fn a_cache_is_updated_in_place_and_elsewhere_only_by_libraries_that_do_not_mind() {
    let sim = Sim::session(Config::default());
    for (version, insists) in [((10, 6), false), ((10, 16), true), ((11, 1), true)] {
        let version = TensorRt::new(version.0, version.1, 0);
        sim.reset(Config::default().with_tensorrt(version));
        let setup = setup(version, &cache(version));
        let context = setup.engine.context(0).unwrap();
        let [cache, update, position, elsewhere] = [0; 4].map(|_: u8| device(256));
        upload(cache, &[0i32; 16]);
        bind(
            context,
            &[("cache", cache), ("update", update), ("position", position)],
        );
        assert!(context.set_address("out", cache));
        for step in 0..3i64 {
            upload(update, &[step as i32 + 1, 1, step as i32 + 1, 2]);
            upload(position, &[step]);
            assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
            assert_eq!(synchronize(), OK);
        }
        let mut expected = [1, 1, 2, 1, 3, 1, 0, 0, 1, 2, 2, 2, 3, 2, 0, 0];
        assert_eq!(download::<i32>(cache, 16), expected);
        assert!(context.set_address("out", elsewhere));
        upload(position, &[3i64]);
        assert_eq!(context.enqueue(PER_THREAD), !insists);
        if insists {
            assert!(setup.logger.last_error_has("share the memory of cache"));
        } else {
            assert_eq!(download::<i32>(cache, 16), expected);
            expected[6..8].copy_from_slice(&[3, 1]);
            expected[14..16].copy_from_slice(&[3, 2]);
            assert_eq!(download::<i32>(elsewhere, 16), expected);
        }
        context.delete();
        for pointer in [cache, update, position, elsewhere] {
            assert_eq!(free(pointer), OK);
        }
        setup.end();
        sim.assert_clean();
    }
}

fn nonzero() -> EngineSpec {
    EngineSpec::new()
        .input("x", DType::Bool, &[2, 4])
        .output("found", DType::I64, &[2.into(), Dim::Data])
        .compute(Compute::NonZero {
            input: "x".into(),
            output: "found".into(),
        })
        .profile(ProfileSpec::new().scratch(300))
}

#[test]
fn an_output_that_depends_on_data_comes_through_its_allocator() {
    let sim = Sim::session(Config::default());
    let setup = setup(TensorRt::default(), &nonzero());
    let context = setup.engine.context(0).unwrap();
    let x = device(8);
    upload(x, &[0u8, 1, 0, 0, 1, 0, 0, 1]);
    bind(context, &[("x", x)]);
    assert_eq!(context.shape("found").shape().unwrap(), [2, -1]);
    assert!(!context.enqueue(PER_THREAD));
    assert!(setup.logger.last_error_has("address of found"));
    let refusing = Allocator::new(true);
    assert!(context.set_allocator("found", &refusing));
    assert!(!context.enqueue(PER_THREAD));
    assert!(setup.logger.last_error_has("allocator of found"));
    let allocator = Allocator::new(false);
    assert!(context.set_allocator("found", &allocator));
    assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
    assert_eq!(*allocator.shape.lock().unwrap(), Some(vec![2, 3]));
    let (address, bytes) = *allocator.given.lock().unwrap();
    assert_eq!(bytes, 2 * 3 * 8);
    assert_eq!(download::<i64>(address, 6), [0, 1, 1, 1, 0, 3]);
    // It waits for the device, which a capture does not survive.
    let stream: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    assert_eq!(begin_capture(stream, 2), OK);
    assert!(!context.enqueue(stream));
    let mut graph = 0;
    assert_eq!(end_capture(stream, &mut graph), CAPTURE_INVALIDATED);
    context.delete();
    assert_eq!(free(x), OK);
    assert_eq!(free(address), OK);
    assert_eq!(stream_destroy(stream), OK);
    setup.end();
    sim.assert_clean();
}

#[test]
fn a_captured_enqueue_runs_with_each_launch_of_its_graph() {
    let sim = Sim::session(Config::default());
    for seed in 0..20 {
        sim.reset(Config::seeded(seed));
        let mut spec = affine("captured", TensorRt::default(), 2.0, 0.0);
        (spec.kernels, spec.aux_streams) = (4, 2);
        let setup = setup(TensorRt::default(), &spec);
        let context = setup.engine.context(0).unwrap();
        let [x, y] = [0; 2].map(|_: u8| device(16));
        assert!(context.set_shape("x", &[1, 4]));
        bind(context, &[("x", x), ("y", y)]);
        let stream: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
        assert_eq!(begin_capture(stream, 2), OK);
        assert!(context.enqueue(stream), "{:?}", setup.logger.errors());
        let graph = get(|graph| end_capture(stream, graph));
        let mut count = 0;
        assert_eq!(graph_nodes(graph, std::ptr::null_mut(), &mut count), OK);
        assert_eq!(
            count, 7,
            "one kernel in each of two more streams, and five in one"
        );
        let exec = get(|exec| instantiate(exec, graph, 0));
        for round in 1..3 {
            upload(x, &[round as f32; 4]);
            assert_eq!(graph_launch(exec, stream), OK);
            assert_eq!(download::<f32>(y, 4), [2.0 * round as f32; 4]);
        }
        context.delete();
        assert_eq!(exec_destroy(exec), OK);
        assert_eq!(graph_destroy(graph), OK);
        assert_eq!(stream_destroy(stream), OK);
        assert_eq!(free(x), OK);
        assert_eq!(free(y), OK);
        setup.end();
        sim.assert_clean();
    }
}

#[test]
fn a_graph_that_outlives_its_context_is_reported() {
    let sim = Sim::session(Config::default());
    let setup = setup(
        TensorRt::default(),
        &affine("gone", TensorRt::default(), 2.0, 0.0),
    );
    let context = setup.engine.context(0).unwrap();
    let [x, y] = [0; 2].map(|_: u8| device(16));
    upload(x, &[1.0f32; 4]);
    assert!(context.set_shape("x", &[1, 4]));
    bind(context, &[("x", x), ("y", y)]);
    let stream: u64 = get(|stream| stream_create(stream, NON_BLOCKING));
    assert_eq!(begin_capture(stream, 2), OK);
    assert!(context.enqueue(stream));
    let graph = get(|graph| end_capture(stream, graph));
    let exec = get(|exec| instantiate(exec, graph, 0));
    context.delete();
    assert_eq!(graph_launch(exec, stream), OK);
    synchronize();
    let reports = sim.finish();
    assert!(
        reports
            .iter()
            .any(|report| report.kind == ReportKind::UseAfterDestroy),
        "{reports:?}"
    );
}

#[test]
fn streamed_weights_cost_scratch_and_make_every_enqueue_wait() {
    let sim = Sim::session(Config::default().with_eagerness(0.0));
    let mut spec = affine("streaming", TensorRt::default(), 2.0, 0.0);
    (spec.weights, spec.streamable, spec.streaming_scratch) = (1000, 1 << 20, 700);
    let setup = setup(TensorRt::default(), &spec);
    let engine = setup.engine;
    let (all, used) = (engine.profile_memory(0), sim.used_memory(0));
    assert!(!engine.set_budget(-1));
    assert!(engine.set_budget(4096));
    assert!(sim.used_memory(0) + (1 << 20) - 4096 <= used + 256);
    assert_eq!(engine.streaming_scratch(), 768);
    assert_eq!(engine.profile_memory(0), all + 768);
    let context = engine.context(0).unwrap();
    assert!(!engine.set_budget(1 << 20), "there is a context");
    let [x, y] = [0; 2].map(|_: u8| device(16));
    upload(x, &[1.0f32; 4]);
    assert!(context.set_shape("x", &[1, 4]));
    bind(context, &[("x", x), ("y", y)]);
    let waits = sim.host_waits();
    assert!(context.enqueue(PER_THREAD));
    assert_eq!(sim.host_waits(), waits + 1);
    assert_eq!(download::<f32>(y, 4), [2.0; 4]);
    context.delete();
    assert_eq!(free(x), OK);
    assert_eq!(free(y), OK);
    setup.end();
    sim.assert_clean();
}

#[test]
fn shapes_that_follow_values_on_the_host_are_checked_against_the_profile() {
    let sim = Sim::session(Config::default());
    let spec = EngineSpec::new()
        .host_input("n", DType::I64, &[1])
        .output("y", DType::F16, &[Dim::Value("n".into(), 0)])
        .affine("y", &[], 3.0)
        .profile(ProfileSpec::new().values("n", &[1], &[2], &[5]));
    let setup = setup(TensorRt::default(), &spec);
    let context = setup.engine.context(0).unwrap();
    assert_eq!(context.infer_shapes(), 1);
    let (few, many) = ([4i64], [6i64]);
    assert!(context.set_address("n", many.as_ptr() as u64));
    assert_eq!(context.infer_shapes(), -1);
    assert!(setup.logger.last_error_has("the value 6 of n[0]"));
    assert!(!context.enqueue(PER_THREAD));
    assert!(setup.logger.last_error_has("the value 6 of n[0]"));
    assert!(context.set_address("n", few.as_ptr() as u64));
    assert_eq!(context.infer_shapes(), 0);
    assert_eq!(context.shape("y").shape().unwrap(), [4]);
    let y = device(8);
    bind(context, &[("y", y)]);
    assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
    assert_eq!(download::<u16>(y, 4), [0x4200; 4]);
    context.delete();
    assert_eq!(free(y), OK);
    setup.end();
    sim.assert_clean();
}

#[test]
fn scratch_can_follow_the_shapes_where_the_engine_allows_it() {
    let sim = Sim::session(Config::default());
    for (resize, expected) in [(false, 1536), (true, 1280)] {
        let mut spec = affine("resized", TensorRt::default(), 1.0, 0.0);
        spec.resize_by_shape = resize;
        let setup = setup(TensorRt::default(), &spec);
        let context = setup.engine.context(2).unwrap();
        assert_eq!(context.update_memory(), 0, "no shape is set");
        assert!(context.set_shape("x", &[2, 4]));
        assert_eq!(context.update_memory(), expected);
        context.delete();
        setup.end();
        sim.assert_clean();
    }
}

#[test]
fn a_reader_that_seeks_gives_the_same_engine() {
    let sim = Sim::session(Config::default());
    let version = TensorRt::new(10, 16, 0);
    sim.reset(Config::default().with_tensorrt(version));
    let mut spec = affine("read", version, 1.0, 0.0);
    spec.payload = 200_000;
    let setup = setup(version, &spec);
    let bytes = spec.to_bytes();
    let cut = Reader::new(bytes.clone(), bytes.len() - 1);
    assert!(setup.runtime.deserialize_v2(&cut).is_none());
    assert!(setup.logger.last_error_has("the reader gave"));
    let whole = Reader::new(bytes, usize::MAX);
    let engine = setup.runtime.deserialize_v2(&whole).unwrap();
    assert_eq!(engine.tensors(), ["x", "y"]);
    engine.delete();
    setup.end();
    sim.assert_clean();
}

#[test]
fn inputs_are_free_again_at_the_event_for_them() {
    let sim = Sim::session(Config::default());
    for (wait, clean) in [(true, true), (false, false)] {
        sim.reset(Config::default());
        let setup = setup(
            TensorRt::default(),
            &affine("consumed", TensorRt::default(), 2.0, 0.0),
        );
        let context = setup.engine.context(0).unwrap();
        let [x, y] = [0; 2].map(|_: u8| device(16));
        upload(x, &[1.0f32; 4]);
        assert!(context.set_shape("x", &[1, 4]));
        bind(context, &[("x", x), ("y", y)]);
        let [main, side]: [u64; 2] =
            [0; 2].map(|_: u8| get(|stream| stream_create(stream, NON_BLOCKING)));
        let event = get(|event| event_create(event, 2));
        assert!(context.set_consumed(event));
        assert!(context.enqueue(main));
        if wait {
            assert_eq!(stream_wait(side, event, 0), OK);
        }
        assert_eq!(fill32_async(x, 0, 4, side), OK);
        assert_eq!(synchronize(), OK);
        context.delete();
        assert_eq!(free(x), OK);
        assert_eq!(free(y), OK);
        for stream in [main, side] {
            assert_eq!(stream_destroy(stream), OK);
        }
        assert_eq!(event_destroy(event), OK);
        setup.end();
        assert_eq!(sim.finish().is_empty(), clean);
    }
}
