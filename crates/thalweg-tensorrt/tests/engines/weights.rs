//! Weight streaming.

use super::*;
use thalweg_core::OptionValue;

fn streaming(spec: Option<&str>) -> Model {
    let mut model = affine();
    model.engine.streamable = 1 << 20;
    model.engine.streaming_scratch = 8192;
    model.engine.payload = 1 << 20;
    let spec = spec.map(|value| ("weight_streaming_budget", value.as_bytes().to_vec()));
    model.compile_specs.extend(spec);
    model
}

fn load_with(
    driver: &Driver,
    model: &Model,
    option: Option<OptionValue>,
) -> Result<thalweg_runtime::Method> {
    let mut options = LoadOptions::new();
    if let Some(option) = option {
        options = options.backend_option(NAME, "weight_streaming_budget", option);
    }
    model.load_with(driver, options)?.method("forward")
}

#[test]
fn engines_stream_their_weights_and_compute_the_same() {
    for (spec, option) in [
        (None, None),
        (Some("65536"), None),
        (None, Some(OptionValue::Int(0))),
        (Some("65536"), Some("9223372036854775807".into())),
    ] {
        on_every_machine(20, |driver| {
            let mut method = load_with(driver, &streaming(spec), option.clone()).unwrap();
            let x = numbers(0, &[8, 8]);
            for _ in 0..2 {
                assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
            }
        });
    }
}

#[test]
fn a_budget_that_is_no_number_is_refused() {
    on_every_machine(1, |driver| {
        for spec in ["", "-1", "1 MiB", "9223372036854775808"] {
            let error = load_with(driver, &streaming(Some(spec)), None).unwrap_err();
            assert!(
                error.to_string().contains("weight_streaming_budget"),
                "{error}"
            );
        }
        for option in [OptionValue::Int(-1), true.into(), "many".into()] {
            let error = load_with(driver, &streaming(None), Some(option)).unwrap_err();
            assert!(
                error.to_string().contains("weight_streaming_budget"),
                "{error}"
            );
        }
        let mut twice = streaming(Some("1"));
        twice
            .compile_specs
            .push(("weight_streaming_budget", b"2".to_vec()));
        let error = load_with(driver, &twice, None).unwrap_err();
        assert!(error.to_string().contains("twice"), "{error}");
    });
}

#[test]
fn the_callers_budget_wins_and_is_set_before_there_are_contexts() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let used = |budget: i64| {
        let before = sim.used_memory(0);
        let option = Some(OptionValue::Int(budget));
        let method = load_with(&driver, &streaming(Some("1048576")), option).unwrap();
        let used = sim.used_memory(0) - before;
        drop(method);
        used
    };
    let (none, half, all) = (used(0), used(1 << 19), used(1 << 30));
    assert!(none < half && half < all, "{none} {half} {all}");
    drop(driver);
    sim.assert_clean();
}

#[test]
fn a_budget_for_an_engine_without_such_weights_has_no_effect() {
    on_every_machine(1, |driver| {
        let mut method = load_with(driver, &affine(), Some(OptionValue::Int(0))).unwrap();
        let x = numbers(0, &[8, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}

#[test]
fn engines_whose_weights_stay_on_the_host_are_read_piece_by_piece() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let info = tensorrt(&driver)
        .unwrap()
        .describe(&streaming(None).payload(), None)
        .unwrap();
    assert_eq!(info.streamable_weights, 1 << 20);
    assert!(info.weight_budget.is_some());
    // Once to find out, once by reading.
    assert_eq!(sim.calls("nvinfer.IRuntime.deserializeCudaEngine"), 1);
    let read = "nvinfer.IRuntime.deserializeCudaEngine(IStreamReader)";
    assert_eq!(sim.calls(read), 1);
    drop(driver);
    sim.assert_clean();
}

#[test]
fn what_a_budget_comes_to_is_told() {
    on_every_machine(1, |driver| {
        let tensorrt = tensorrt(driver).unwrap();
        let payload = streaming(None).payload();
        let budget = |spec: &[u8]| tensorrt.describe(&payload, Some(spec));
        assert_eq!(budget(b"65536").unwrap().weight_budget, Some(65536));
        // No more than there are.
        assert_eq!(budget(b"9000000").unwrap().weight_budget, Some(1 << 20));
        assert!(budget(b"some").is_err());
    });
}
