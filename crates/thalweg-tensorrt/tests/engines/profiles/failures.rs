//! Faults after changes of profile: nothing races, and the next call is right.

use super::*;

/// Calls that change the profile, some of which leave work in flight. At most one call of the driver or of
/// TensorRT fails in all of them.
fn survives(model: &Model, options: &LoadOptions, drops_at: Option<usize>) {
    let bytes = model.bytes();
    let on_host = model.ios.iter().any(|io| io.on_host);
    let sim = Sim::session(Config::seeded(0));
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let tensorrt = tensorrt(&driver)?;
        let stream = Stream::new(&driver.device(0)?)?;
        let program = load(&tensorrt, &driver, bytes.clone(), options)?;
        let mut method = program.method("forward")?;
        let there = There::new(&driver)?;
        let mut failed = None;
        for (call, rows) in [1, 64, 2, 50, 4].into_iter().enumerate() {
            let on_stream = RunOptions::new().stream(&stream);
            let x = numbers(rows as i32, &[rows, 8]);
            let result = match call % 2 {
                0 if !on_host => there.leave(&mut method, rows, on_stream),
                _ => run_with(&mut method, &[&x], &on_stream).map(|outputs| {
                    assert_eq!(outputs[0].1, tripled(&x));
                }),
            };
            if let Err(error) = result {
                let before = failed.replace(error);
                assert!(before.is_none(), "{before:?}, and then {failed:?}");
                // The next call is right, with the profile that has failed and with the other.
                right(&mut method, rows);
                right(&mut method, 65 - rows);
            }
            if drops_at == Some(call) {
                break;
            }
        }
        drop((method, program));
        failed.map_or(Ok(()), Err)
    };
    for seed in [3, 4] {
        sim.for_each_fault(&Config::seeded(seed), scenario, |fault, result, reports| {
            assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
            assert!(fault.is_some() || result.is_ok(), "{result:?}");
        });
    }
}

#[test]
fn with_a_context_for_each_profile() {
    survives(&two_profiles(), &LoadOptions::new(), None);
}

#[test]
fn with_contexts_that_are_made_at_once() {
    let options = LoadOptions::new().prepare_profiles(true);
    survives(&two_profiles(), &options, None);
}

#[test]
fn with_one_context() {
    let options = LoadOptions::new().backend_option(NAME, SINGLE_CONTEXT, true);
    survives(&two_profiles(), &options, None);
    // Dropped while the switch, and what comes after it, may be under way.
    for call in 0..4 {
        survives(&two_profiles(), &options, Some(call));
    }
}

#[test]
fn with_scratch_that_is_shared() {
    let options = LoadOptions::new().shared_scratch(true);
    survives(&two_profiles(), &options, None);
}

#[test]
fn with_arguments_on_the_host() {
    let mut model = two_profiles();
    model.ios.iter_mut().for_each(|io| io.on_host = true);
    for single in [false, true] {
        let options = LoadOptions::new().backend_option(NAME, SINGLE_CONTEXT, single);
        survives(&model, &options, None);
    }
}
