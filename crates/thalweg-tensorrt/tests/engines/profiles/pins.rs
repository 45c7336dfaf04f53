//! Profiles that callers pin.

use super::*;
use thalweg_core::ErrorKind;
use thalweg_runtime::Profile;

#[test]
fn a_pinned_profile_runs_though_a_lower_one_fits() {
    for single in [false, true] {
        on_every_machine(20, |driver| {
            let options = LoadOptions::new().backend_option(NAME, SINGLE_CONTEXT, single);
            let program = two_profiles().load_with(driver, options).unwrap();
            let mut method = program.method("forward").unwrap();
            let pinned = |index: usize| RunOptions::new().profile(Profile::index(index));
            let ((), lines) = traced(|| {
                right_with(&mut method, 4, &pinned(1));
                // The same shape, which the other profile has to be told all the same.
                right_with(&mut method, 4, &pinned(0));
                right_with(&mut method, 4, &pinned(1));
                // It was the last one, and fits.
                right(&mut method, 4);
                right(&mut method, 3);
            });
            assert_eq!(profiles(&lines), [1, 0, 1, 0]);
        });
    }
}

#[test]
fn a_pinned_profile_that_does_not_fit_is_refused_with_the_input_and_the_bounds() {
    on_every_machine(5, |driver| {
        let mut method = two_profiles().method(driver).unwrap();
        for (profile, rows, text) in [
            (
                0,
                5,
                "profile 0 is pinned, and the inputs do not fit it: it takes `x` [1 to 4, 8], and \
                 `x` [5, 8] has size 5 in dimension 0, not 1 to 4",
            ),
            (
                1,
                3,
                "profile 1 is pinned, and the inputs do not fit it: it takes `x` [4 to 64, 8], and \
                 `x` [3, 8] has size 3 in dimension 0, not 4 to 64",
            ),
        ] {
            let x = numbers(0, &[rows, 8]);
            let pinned = RunOptions::new().profile(Profile::index(profile));
            let error = run_with(&mut method, &[&x], &pinned).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert_eq!(error.message(), text);
            right(&mut method, rows);
            right_with(&mut method, 4, &pinned);
        }
    });
}

#[test]
fn an_index_that_a_single_profile_lacks_is_said_once_and_one_of_several_is_refused() {
    let static_engine = affine();
    for (model, rows) in [(dynamic(), 5), (static_engine, 8)] {
        on_every_machine(1, |driver| {
            let program = model.load(driver).unwrap();
            let mut method = program.method("forward").unwrap();
            let pinned = RunOptions::new().profile(Profile::index(1));
            let ((), lines) = traced(|| {
                for _ in 0..3 {
                    right_with(&mut method, rows, &pinned);
                }
            });
            let warnings = warnings(&lines);
            assert_eq!(warnings.len(), 1, "{lines:?}");
            assert!(
                warnings[0].contains("has profile 0 alone, so that is used, and not profile 1"),
                "{warnings:?}"
            );
            // As a load option, when it is loaded.
            let options = LoadOptions::new().profile(Profile::index(1));
            let program = model.load_with(driver, options).unwrap();
            let (mut method, lines) = traced(|| program.method("forward").unwrap());
            assert_eq!(super::warnings(&lines).len(), 1, "{lines:?}");
            let ((), lines) = traced(|| right(&mut method, rows));
            assert_eq!(super::warnings(&lines).len(), 0, "{lines:?}");
            // Exactly, it is an error.
            let x = numbers(0, &[rows, 8]);
            for exact in [
                Profile::Automatic.for_method("forward", 1),
                Profile::Automatic.for_delegate(0, 1),
            ] {
                let options = RunOptions::new().profile(&exact);
                let error = run_with(&mut method, &[&x], &options).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidOption, "{error}");
                let options = LoadOptions::new().profile(exact);
                let program = model.load_with(driver, options).unwrap();
                program.method("forward").unwrap_err();
            }
        });
    }
    on_every_machine(1, |driver| {
        let mut method = two_profiles().method(driver).unwrap();
        let x = numbers(0, &[4, 8]);
        let options = RunOptions::new().profile(Profile::index(2));
        let error = run_with(&mut method, &[&x], &options).unwrap_err();
        assert!(error.message().ends_with("has profiles 0 to 1"), "{error}");
        right(&mut method, 4);
    });
}

#[test]
fn methods_and_engines_are_pinned_once_when_a_program_is_loaded() {
    let mut model = two_profiles();
    model.engine = model.engine.name("decoder");
    model.methods = vec!["prefill", "decode"];
    on_every_machine(5, |driver| {
        for profile in [
            Profile::Automatic
                .for_method("prefill", 1)
                .for_method("decode", 0),
            Profile::index(1).for_delegate(("decode", "decoder"), 0),
            Profile::Automatic
                .for_delegate("decoder", 1)
                .for_delegate(("decode", 0), 0),
        ] {
            let options = LoadOptions::new().profile(profile);
            let program = model.load_with(driver, options).unwrap();
            let mut prefill = program.method("prefill").unwrap();
            let mut decode = program.method("decode").unwrap();
            for (method, profile) in [(&mut prefill, 1), (&mut decode, 0)] {
                let ((), lines) = traced(|| right(method, 4));
                assert_eq!(profiles(&lines), [profile]);
                assert!(lines[0].contains("engine=\"decoder\""), "{lines:?}");
            }
            // A call can still say something else.
            let options = RunOptions::new().profile(&Profile::Automatic);
            right_with(&mut prefill, 1, &options);
        }
    });
}

#[test]
fn an_option_that_is_no_boolean_is_refused() {
    on_every_machine(1, |driver| {
        let options = LoadOptions::new().backend_option(NAME, SINGLE_CONTEXT, "yes");
        let program = dynamic().load_with(driver, options).unwrap();
        let error = program.method("forward").unwrap_err();
        assert!(error.message().contains(SINGLE_CONTEXT), "{error}");
    });
}
