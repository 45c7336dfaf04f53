use super::*;

/// Delegates by name and number of profiles; without a name if that is empty.
fn method(method: &str, delegates: &[(&str, usize)]) -> Profiled {
    let known = |&(name, profiles): &(&str, usize)| Known {
        backend: "B".into(),
        name: Some(name.to_string()).filter(|name| !name.is_empty()),
        profiles,
    };
    Profiled {
        method: method.into(),
        delegates: delegates.iter().map(known).collect(),
    }
}

/// What each delegate uses in a call; the error's text.
fn resolve(profile: &Profile, of: &Profiled) -> Result<Vec<Option<usize>>, String> {
    let pins = profile.pins().unwrap();
    let check = of.check(pins, true);
    let all = (0..of.delegates.len()).map(|index| Ok(of.resolve(pins, index)?.profile));
    check
        .and_then(|()| all.collect())
        .map_err(|error| error.message().to_string())
}

#[test]
fn a_pin_for_everything_is_for_all_that_have_several_profiles() {
    let of = method("forward", &[("a", 2), ("b", 0), ("", 1), ("c", 3)]);
    let resolved = resolve(&Profile::index(1), &of).unwrap();
    assert_eq!(resolved, [Some(1), None, None, Some(1)]);
    let resolved = resolve(&Profile::index(0), &of).unwrap();
    assert_eq!(resolved, [Some(0), None, Some(0), Some(0)]);
    assert_eq!(
        resolve(&Profile::index(2), &of).unwrap_err(),
        "profile 2 is pinned for a delegate that does not have it: delegate 0 (B, `a`) has \
         profiles 0 to 1"
    );
}

#[test]
fn only_profiles_that_take_the_place_of_another_are_replaced() {
    let of = method("forward", &[("a", 2), ("", 1)]);
    for (index, replaced) in [(0, false), (1, true)] {
        let profile = Profile::index(index);
        let resolved = of.resolve(profile.pins().unwrap(), 1).unwrap();
        assert_eq!(resolved.replaced, replaced);
    }
}

#[test]
fn the_narrower_pin_wins_and_of_two_the_later() {
    let of = method("decode", &[("a", 9), ("b", 9), ("c", 9), ("d", 9)]);
    let profile = Profile::index(1);
    assert_eq!(resolve(&profile, &of).unwrap(), [Some(1); 4]);
    let profile = profile.for_method("prefill", 7).for_method("decode", 2);
    assert_eq!(resolve(&profile, &of).unwrap(), [Some(2); 4]);
    let profile = profile.for_delegate(("decode", 0), 3);
    let profile = profile.for_delegate("a", 4).for_delegate(1, 4);
    let profile = profile.for_delegate("c", 5).for_delegate(2, 6);
    let profile = profile
        .for_delegate(("prefill", 3), 8)
        .for_delegate(("prefill", "d"), 8);
    assert_eq!(
        resolve(&profile, &of).unwrap(),
        [Some(3), Some(4), Some(6), Some(2)]
    );
    let profile = profile.for_delegate(("decode", "c"), 0);
    assert_eq!(resolve(&profile, &of).unwrap()[2], Some(0));
    assert_eq!(
        Profile::index(1).for_method("m", 2).for_method("m", 3),
        Profile::index(1).for_method("m", 3)
    );
    // What nothing pins is left to the inputs.
    let profile = Profile::Automatic.for_delegate(3, 1);
    assert_eq!(resolve(&profile, &of).unwrap(), [None, None, None, Some(1)]);
}

#[test]
fn an_exact_pin_that_a_delegate_cannot_follow_is_refused_also_by_one_with_a_single_profile() {
    let of = method("forward", &[("a", 2), ("b", 1), ("c", 0)]);
    for (profile, text) in [
        (
            Profile::Automatic.for_delegate(1, 1),
            "profile 1 is pinned for a delegate that does not have it: delegate 1 (B, `b`) has \
             profile 0 alone",
        ),
        (
            Profile::index(1).for_method("forward", 1),
            "profile 1 is pinned for a delegate that does not have it: delegate 1 (B, `b`) has \
             profile 0 alone",
        ),
        (
            Profile::Automatic.for_delegate("a", 2),
            "profile 2 is pinned for a delegate that does not have it: delegate 0 (B, `a`) has \
             profiles 0 to 1",
        ),
        (
            Profile::index(0).for_delegate(2, 0),
            "profile 0 is pinned for a delegate that does not have it: delegate 2 (B, `c`) has \
             no profiles",
        ),
        (
            Profile::index(0).for_delegate(3, 0),
            "a profile is pinned for delegate 3, which is not there: in method `forward`, \
             delegate 0 (B, `a`) has profiles 0 to 1; delegate 1 (B, `b`) has profile 0 alone; \
             delegate 2 (B, `c`) has no profiles",
        ),
    ] {
        assert_eq!(resolve(&profile, &of).unwrap_err(), text);
    }
    // The same profile is no matter where all have it, and those without any are left alone.
    let profile = Profile::Automatic.for_method("forward", 0);
    assert_eq!(resolve(&profile, &of).unwrap(), [Some(0), Some(0), None]);
    let of = method("forward", &[("a", 0)]);
    let text = resolve(&profile, &of).unwrap_err();
    assert!(text.contains("where nothing has profiles"), "{text}");
}

#[test]
fn delegates_of_one_name_are_pinned_by_index() {
    let of = method("forward", &[("a", 2), ("b", 2), ("a", 2)]);
    let text = resolve(&Profile::Automatic.for_delegate("a", 1), &of).unwrap_err();
    assert_eq!(
        text,
        "a profile is pinned for delegate `a`, and delegates 0 and 2 of method `forward` are \
         called so; pin one by its index"
    );
    let text = resolve(&Profile::Automatic.for_delegate("c", 1), &of).unwrap_err();
    assert!(text.contains("delegate `c`, which is not there"), "{text}");
    // Whether another method has it is not this one's to say.
    let profile = Profile::Automatic.for_delegate("c", 1);
    of.check(profile.pins().unwrap(), false).unwrap();
}

#[test]
fn what_a_program_does_not_have_is_known_before_its_delegates_are_loaded() {
    let outline = Outline(vec![
        ("prefill".into(), 2),
        ("decode".into(), 1),
        ("reset".into(), 0),
    ]);
    let check = |profile: Profile| {
        let result = outline.check(profile.pins().unwrap());
        result.map_err(|error| error.message().to_string())
    };
    let automatic = || Profile::Automatic;
    for right in [
        Profile::index(99),
        automatic().for_method("decode", 3),
        automatic().for_delegate(1, 3),
        automatic().for_delegate("engine", 3),
        automatic().for_delegate(("prefill", 1), 3),
        automatic().for_delegate(("decode", "engine"), 3),
    ] {
        check(right).unwrap();
    }
    let all = "the program has `prefill` with delegates 0 to 1, `decode` with delegate 0, \
               `reset` without delegates";
    for (wrong, what) in [
        (automatic().for_method("encode", 0), "method `encode`"),
        (
            automatic().for_delegate(("encode", 0), 0),
            "method `encode`",
        ),
        (automatic().for_delegate(2, 0), "delegate 2"),
        (
            automatic().for_delegate(("decode", 1), 0),
            "delegate 1 of method `decode`",
        ),
        (
            automatic().for_delegate(("reset", "engine"), 0),
            "delegate `engine` of method `reset`",
        ),
    ] {
        assert_eq!(
            check(wrong).unwrap_err(),
            format!("a profile is pinned for {what}, which is not there: {all}")
        );
    }
}
