//! The end of a call, as delegates see it.

mod programs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use Event::{Ended, Executed};
use programs::{runtime, vector};
use thalweg_core::{
    Backend, Call, CallEnd, Delegate, DelegateInstance, DelegateSpec, LoadedDelegate, Result,
    StateBuffers, bail,
};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{Method, RunOptions};

/// What happened, in order.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Executed(char, u64),
    Ended(char, u64),
}

/// What a delegate may do when it is executed, and at the end. Its payload is a name and one of these
/// for each, or anything else for nothing.
const FAILS: u8 = b'!';
const PANICS: u8 = b'P';

#[derive(Clone, Default)]
struct Noting(Arc<Mutex<Vec<Event>>>);

struct Noted {
    name: char,
    at_execution: u8,
    at_end: u8,
    events: Noting,
}

impl Backend for Noting {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        let &[name, at_execution, at_end] = spec.payload() else {
            bail!(Delegate, "a payload of {} bytes", spec.payload().len());
        };
        Ok(Arc::new(Noted {
            name: name.into(),
            at_execution,
            at_end,
            events: self.clone(),
        })
        .into())
    }
}

impl Delegate for Noted {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(Self {
            events: self.events.clone(),
            ..*self
        }))
    }
}

impl Noted {
    fn act(&self, what: u8, event: Event) -> Result<()> {
        self.events.0.lock().unwrap().push(event);
        match what {
            FAILS => bail!(Delegate, "{} fails", self.name),
            PANICS => panic!("{} panics", self.name),
            _ => Ok(()),
        }
    }
}

impl DelegateInstance for Noted {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        self.act(self.at_execution, Executed(self.name, call.number()))
    }

    fn end(&mut self, end: &CallEnd<'_>) -> Result<()> {
        self.act(self.at_end, Ended(self.name, end.number()))
    }
}

/// A method that executes delegates one after the other, and the first of them once more at last.
fn method(events: &Noting, delegates: &[&[u8; 3]]) -> Method {
    let mut program = ProgramBuilder::new();
    let payloads: Vec<_> = delegates
        .iter()
        .map(|payload| program.payload(payload.to_vec()))
        .collect();
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    forward.input(x);
    let ids: Vec<_> = payloads
        .iter()
        .map(|&payload| forward.delegate("Noting", payload, &[]))
        .collect();
    for &id in ids.iter().chain(ids.first()) {
        forward.call_delegate(id, &[x]);
    }
    forward.output(x);
    program.method(forward);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = runtime().backend("Noting", events.clone()).build();
    let program = runtime.load_bytes(bytes, &Default::default()).unwrap();
    program.method("forward").unwrap()
}

fn take(events: &Noting) -> Vec<Event> {
    std::mem::take(&mut *events.0.lock().unwrap())
}

/// The events of a call, whose number is taken from the first.
fn expected(seen: &[Event], text: &str) -> Vec<Event> {
    let Some(Executed(_, number)) = seen.first() else {
        panic!("{seen:?}");
    };
    let names = text.chars().filter(|name| !name.is_whitespace());
    names
        .map(|name| match name.is_lowercase() {
            true => Executed(name, *number),
            false => Ended(name.to_ascii_lowercase(), *number),
        })
        .collect()
}

#[test]
fn each_delegate_is_told_once_after_the_last_instruction() {
    let events = Noting::default();
    let mut method = method(&events, &[b"a..", b"b.."]);
    let x = vector(&[1.0, 2.0]);
    let mut numbers = Vec::new();
    for _ in 0..3 {
        method.run(&[(&x).into()]).unwrap();
        let seen = take(&events);
        assert_eq!(seen, expected(&seen, "aba AB"));
        numbers.extend(seen.first().cloned());
    }
    numbers.dedup();
    assert_eq!(numbers.len(), 3, "every call has another number");
}

#[test]
fn delegates_that_were_not_executed_are_not_told() {
    let events = Noting::default();
    let mut method = method(&events, &[b"a..", b"b..", b"c.."]);
    let x = vector(&[1.0, 2.0]);
    let options = RunOptions::new().instruction_limit(2);
    method.run_with(&[(&x).into()], &options).unwrap_err();
    let seen = take(&events);
    assert_eq!(seen, expected(&seen, "ab AB"));
    // An input that does not fit: nothing was executed at all.
    let wrong = vector(&[1.0]);
    method.run(&[(&wrong).into()]).unwrap_err();
    assert_eq!(take(&events), []);
}

#[test]
fn all_are_told_after_an_error() {
    let events = Noting::default();
    let mut method = method(&events, &[b"a..", b"b!.", b"c.."]);
    let x = vector(&[1.0, 2.0]);
    for _ in 0..2 {
        let error = method.run(&[(&x).into()]).unwrap_err();
        assert!(error.to_string().contains("b fails"), "{error}");
        let seen = take(&events);
        assert_eq!(seen, expected(&seen, "ab AB"));
    }
}

#[test]
fn all_are_told_after_a_panic() {
    let events = Noting::default();
    let mut method = method(&events, &[b"a..", b"bP."]);
    let x = vector(&[1.0, 2.0]);
    for _ in 0..2 {
        let call = || method.run(&[(&x).into()]).map(drop);
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(panic.downcast_ref::<String>().unwrap(), "b panics");
        let seen = take(&events);
        assert_eq!(seen, expected(&seen, "ab AB"));
    }
}

#[test]
fn an_error_at_the_end_is_the_calls_and_all_others_are_told() {
    let events = Noting::default();
    let mut method = method(&events, &[b"a.!", b"b..", b"c.!"]);
    let x = vector(&[1.0, 2.0]);
    let error = method.run(&[(&x).into()]).unwrap_err();
    assert!(error.to_string().contains("a fails"), "{error}");
    let seen = take(&events);
    assert_eq!(seen, expected(&seen, "abca ABC"));
}

#[test]
fn an_error_at_the_end_does_not_hide_that_of_the_call() {
    let events = Noting::default();
    let mut method = method(&events, &[b"a.!", b"b!."]);
    let x = vector(&[1.0, 2.0]);
    let error = method.run(&[(&x).into()]).unwrap_err();
    assert!(error.to_string().contains("b fails"), "{error}");
    let seen = take(&events);
    assert_eq!(seen, expected(&seen, "ab AB"));
}

#[test]
fn a_panic_at_the_end_goes_on_after_all_others_were_told() {
    let events = Noting::default();
    let mut method = method(&events, &[b"a.P", b"b..", b"c.P"]);
    let x = vector(&[1.0, 2.0]);
    let call = || method.run(&[(&x).into()]).map(drop);
    let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "a panics");
    let seen = take(&events);
    assert_eq!(seen, expected(&seen, "abca ABC"));
}
