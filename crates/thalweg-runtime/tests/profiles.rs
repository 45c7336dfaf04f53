//! Profiles that callers pin, as delegates see them.

mod programs;

use std::sync::{Arc, Mutex};

use programs::{runtime, vector};
use thalweg_core::{
    Backend, Call, Delegate, DelegateInstance, DelegateSpec, Error, ErrorKind, LoadedDelegate,
    Result, StateBuffers, bail,
};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, Profile, Program, RunOptions};

/// A backend whose delegates note which profile they are told. The payload is a name, which may be
/// `-` for none, and how many profiles there are.
#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<Option<usize>>>>);

struct Noted {
    name: Option<String>,
    profiles: usize,
    told: Noting,
}

impl Backend for Noting {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        let &[name, profiles] = spec.payload() else {
            bail!(Delegate, "a payload of {} bytes", spec.payload().len());
        };
        let name = char::from(name);
        Ok(Arc::new(Noted {
            name: (name != '-').then(|| name.to_string()),
            profiles: usize::from(profiles - b'0'),
            told: self.clone(),
        })
        .into())
    }
}

impl Delegate for Noted {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(self.told.clone()))
    }

    fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn profile_count(&self) -> usize {
        self.profiles
    }
}

impl DelegateInstance for Noting {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        self.0.lock().unwrap().push(call.profile());
        Ok(())
    }
}

impl Noting {
    fn take(&self) -> Vec<Option<usize>> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// What delegates are told in a call.
    fn call(&self, method: &mut Method, options: &RunOptions<'_>) -> Result<Vec<Option<usize>>> {
        let x = vector(&[1.0, 2.0]);
        method.run_with(&[(&x).into()], options)?;
        Ok(self.take())
    }
}

/// A program whose methods execute delegates one after the other.
fn load(told: &Noting, methods: &[(&str, &[&[u8; 2]])], profile: Profile) -> Result<Program> {
    let mut program = ProgramBuilder::new();
    for (name, delegates) in methods {
        let mut method = MethodBuilder::new(*name);
        let x = method.tensor(ScalarType::Float, &[2]);
        method.input(x);
        for payload in *delegates {
            let payload = program.payload(payload.to_vec());
            let delegate = method.delegate("Noting", payload, &[]);
            method.call_delegate(delegate, &[x]);
        }
        method.output(x);
        program.method(method);
    }
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = runtime().backend("Noting", told.clone()).build();
    runtime.load_bytes(bytes, &LoadOptions::new().profile(profile))
}

const TWO: &[(&str, &[&[u8; 2]])] = &[("prefill", &[b"a2", b"-1"]), ("decode", &[b"b2"])];

fn refused(result: Result<impl Sized>) -> Error {
    let error = result.err().expect("it is refused");
    assert_eq!(error.kind(), ErrorKind::InvalidOption, "{error}");
    error
}

#[test]
fn without_pins_the_inputs_decide() {
    let told = Noting::default();
    let program = load(&told, TWO, Profile::Automatic).unwrap();
    let mut prefill = program.method("prefill").unwrap();
    let seen = told.call(&mut prefill, &RunOptions::new()).unwrap();
    assert_eq!(seen, [None, None]);
}

#[test]
fn what_a_program_is_loaded_with_holds_for_all_calls_that_say_nothing_else() {
    let told = Noting::default();
    let profile = Profile::Automatic
        .for_delegate("a", 1)
        .for_method("decode", 0);
    let program = load(&told, TWO, profile).unwrap();
    let mut prefill = program.method("prefill").unwrap();
    let mut decode = program.method("decode").unwrap();
    let options = RunOptions::new();
    let pinned = RunOptions::new().profile(Profile::index(0));
    let automatic = RunOptions::new().profile(&Profile::Automatic);
    for _ in 0..2 {
        assert_eq!(told.call(&mut prefill, &options).unwrap(), [Some(1), None]);
        assert_eq!(told.call(&mut decode, &options).unwrap(), [Some(0)]);
        let seen = told.call(&mut prefill, &pinned).unwrap();
        assert_eq!(seen, [Some(0), Some(0)]);
        assert_eq!(told.call(&mut decode, &automatic).unwrap(), [None]);
        // A call's word takes the place of all that was said before.
        let narrow = Profile::Automatic.for_delegate(1, 0);
        let narrow = RunOptions::new().profile(&narrow);
        let seen = told.call(&mut prefill, &narrow).unwrap();
        assert_eq!(seen, [None, Some(0)]);
    }
}

#[test]
fn one_profile_serves_the_calls_of_several_methods() {
    let told = Noting::default();
    let program = load(&told, TWO, Profile::Automatic).unwrap();
    let profile = Profile::index(0)
        .for_delegate(("prefill", "a"), 1)
        .for_method("decode", 1);
    let options = RunOptions::new().profile(&profile);
    let mut prefill = program.method("prefill").unwrap();
    let mut decode = program.method("decode").unwrap();
    let seen = told.call(&mut prefill, &options).unwrap();
    assert_eq!(seen, [Some(1), Some(0)]);
    assert_eq!(told.call(&mut decode, &options).unwrap(), [Some(1)]);
}

#[test]
fn a_call_that_pins_what_is_not_there_is_refused_and_the_next_is_right() {
    let told = Noting::default();
    let program = load(&told, TWO, Profile::Automatic).unwrap();
    let mut prefill = program.method("prefill").unwrap();
    for (profile, text) in [
        (
            Profile::index(2),
            "delegate 0 (Noting, `a`) has profiles 0 to 1",
        ),
        (
            Profile::Automatic.for_method("prefill", 1),
            "delegate 1 (Noting) has profile 0 alone",
        ),
        (
            Profile::Automatic.for_method("encode", 1),
            "a profile is pinned for method `encode`, which is not there",
        ),
        (
            Profile::Automatic.for_delegate("b", 1),
            "a profile is pinned for delegate `b`, which is not there: in method `prefill`, \
             delegate 0 (Noting, `a`) has profiles 0 to 1; delegate 1 (Noting) has profile 0 alone",
        ),
        (
            Profile::Automatic.for_delegate(("decode", 1), 1),
            "a profile is pinned for delegate 1 of method `decode`, which is not there",
        ),
    ] {
        let options = RunOptions::new().profile(&profile);
        let error = refused(told.call(&mut prefill, &options));
        assert!(error.message().contains(text), "{error}");
        assert_eq!(error.place().method.as_deref(), Some("prefill"));
        assert_eq!(told.take(), [], "nothing has run");
        let options = RunOptions::new().profile(Profile::index(1));
        let seen = told.call(&mut prefill, &options).unwrap();
        assert_eq!(seen, [Some(1), None]);
    }
}

#[test]
fn a_program_is_not_loaded_with_pins_of_what_it_does_not_have() {
    let told = Noting::default();
    for (profile, text) in [
        (
            Profile::Automatic.for_method("encode", 1),
            "method `encode`",
        ),
        (Profile::Automatic.for_delegate(2, 1), "delegate 2"),
        (
            Profile::Automatic.for_delegate(("decode", 1), 1),
            "delegate 1 of method `decode`",
        ),
    ] {
        let error = refused(load(&told, TWO, profile));
        assert!(error.message().contains(text), "{error}");
        assert!(
            error.message().ends_with(
                "the program has `prefill` with delegates 0 to 1, `decode` with delegate 0"
            ),
            "{error}"
        );
    }
}

#[test]
fn what_is_known_of_loaded_delegates_alone_is_refused_by_the_method() {
    let told = Noting::default();
    let load = |profile| load(&told, TWO, profile).unwrap();
    let error = refused(load(Profile::index(2)).method("decode"));
    assert!(error.message().contains("has profiles 0 to 1"), "{error}");
    assert_eq!(error.place().method.as_deref(), Some("decode"));
    let error = refused(load(Profile::Automatic.for_delegate(("decode", "a"), 0)).method("decode"));
    assert!(error.message().contains("`b`"), "{error}");
    // A name alone may be in a method that is not loaded yet.
    let program = load(Profile::Automatic.for_delegate("b", 1));
    program.method("prefill").unwrap();
    program.method("decode").unwrap();
    let program = load(Profile::Automatic.for_delegate("c", 1));
    program.method("prefill").unwrap();
    for _ in 0..2 {
        let error = refused(program.method("decode"));
        assert!(error.message().contains("no method has one"), "{error}");
    }
}
