//! Several profiles of one engine.

use super::*;

fn two_profiles() -> Model {
    let mut model = dynamic();
    let profile = |least: i64, most: i64| {
        ProfileSpec::new()
            .shape("x", &[least, 8], &[least, 8], &[most, 8])
            .scratch(512)
            .scratch_per_element("x", 16)
    };
    model.engine.profiles = vec![profile(1, 4), profile(4, 64)];
    model
}

#[test]
fn calls_go_from_profile_to_profile_without_waiting_for_each_other() {
    on_every_machine(200, |driver| {
        let mut method = two_profiles().method(driver).unwrap();
        let options = RunOptions::new().device_outputs(true);
        for rows in [1, 64, 2, 4, 50, 1] {
            let x = numbers(rows, &[rows as usize, 8]);
            method.run_with(&[(&x).into()], &options).unwrap();
        }
        for rows in [1, 64, 4] {
            let x = numbers(rows, &[rows as usize, 8]);
            assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
        }
    });
}

#[test]
fn a_context_is_made_for_a_profile_when_it_is_first_used() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let mut method = two_profiles().method(&driver).unwrap();
    let made = || sim.calls("nvinfer.ICudaEngine.createExecutionContext");
    assert_eq!(made(), 0);
    for (rows, contexts) in [(1, 1), (2, 1), (4, 1), (5, 2), (4, 2), (1, 2)] {
        let x = numbers(rows, &[rows as usize, 8]);
        run(&mut method, &[&x]).unwrap();
        assert_eq!(made(), contexts, "{rows} rows");
    }
    drop((method, driver));
    sim.assert_clean();
}

#[test]
fn a_shape_that_no_profile_takes_is_refused_before_tensorrt_sees_it() {
    on_every_machine(1, |driver| {
        let mut model = two_profiles();
        model.ios[0].sizes = vec![100, 8];
        model.ios[1].sizes = vec![100, 8];
        let mut method = model.method(driver).unwrap();
        let x = numbers(1, &[65, 8]);
        let error = run(&mut method, &[&x]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("given `x` [65, 8]"), "{text}");
        assert!(text.contains("profile 0 takes `x` [1 to 4, 8]"), "{text}");
        assert!(text.contains("profile 1 takes `x` [4 to 64, 8]"), "{text}");
        let x = numbers(1, &[64, 8]);
        assert_eq!(run(&mut method, &[&x]).unwrap()[0].1, tripled(&x));
    });
}
