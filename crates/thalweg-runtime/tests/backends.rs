//! Delegates: how a backend is asked to load them and how they take part in a call.

mod programs;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use programs::{runtime, vector};
use thalweg_core::{
    Backend, Call, Delegate, DelegateInstance, DelegateSpec, ErrorKind, LoadedDelegate,
    OptionValue, Result, StateBuffers, bail,
};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::{LoadOptions, Program};

/// Adds the first byte of its payload to its input, and the number of calls before.
struct AddByte {
    loads: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<String>>>,
}

struct Loaded(f32);

struct Instance {
    byte: f32,
    calls: f32,
}

impl Backend for AddByte {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let Some(&byte) = spec.payload().first() else {
            bail!(Delegate, "the payload is empty");
        };
        let spec_value = spec.compile_spec("kind").map(String::from_utf8_lossy);
        let option = spec.options().get(spec.backend(), "mode");
        let data = spec.named_data("weights");
        let data = data.as_deref();
        self.seen.lock().unwrap().push(format!(
            "{} {} {spec_value:?} {option:?} {data:?}",
            spec.method(),
            spec.index()
        ));
        Ok(Arc::new(Loaded(f32::from(byte))).into())
    }
}

impl Delegate for Loaded {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(Instance {
            byte: self.0,
            calls: 0.0,
        }))
    }
}

impl DelegateInstance for Instance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let arguments = call.arguments(&[1])?;
        let x = arguments.tensor(0)?;
        let mut out = arguments.output(1, x.sizes())?;
        for (out, x) in out.data_mut::<f32>()?.iter_mut().zip(x.data::<f32>()?) {
            *out = x + self.byte + self.calls;
        }
        self.calls += 100.0;
        Ok(())
    }
}

fn program(payload: &[u8], backend: AddByte) -> Result<Program> {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(payload.to_vec());
    program.named("weights", vec![1, 2, 3]);
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    let out = forward.tensor(ScalarType::Float, &[2]);
    forward.input(x);
    let delegate = forward.delegate("AddByte", payload, &[("kind", b"test")]);
    forward.call_delegate(delegate, &[x, out]);
    forward.output(out);
    program.method(forward);
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    let options = LoadOptions::new().backend_option("AddByte", "mode", 3);
    runtime()
        .backend("AddByte", backend)
        .build()
        .load_bytes(bytes, &options)
}

fn backend() -> AddByte {
    AddByte {
        loads: Arc::default(),
        seen: Arc::default(),
    }
}

#[test]
fn a_delegate_is_loaded_once_and_every_instance_has_its_own_state() {
    let backend = backend();
    let loads = backend.loads.clone();
    let program = program(&[7], backend).unwrap();
    assert_eq!(loads.load(Ordering::Relaxed), 0);
    let mut methods = [
        program.method("forward").unwrap(),
        program.method("forward").unwrap(),
    ];
    assert_eq!(loads.load(Ordering::Relaxed), 1);
    let x = vector(&[1.0, 2.0]);
    for expected in [[8.0, 9.0], [108.0, 109.0]] {
        for method in &mut methods {
            let outputs = method.run(&[(&x).into()]).unwrap();
            assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap(), expected);
        }
    }
}

#[test]
fn a_backend_is_told_what_the_program_and_the_caller_say_of_a_delegate() {
    let backend = backend();
    let seen = backend.seen.clone();
    program(&[7], backend).unwrap().method("forward").unwrap();
    let option = Some(OptionValue::Int(3));
    assert_eq!(
        *seen.lock().unwrap(),
        [format!(
            "forward 0 {:?} {option:?} {:?}",
            Some("test"),
            Some([1, 2, 3])
        )]
    );
}

#[test]
fn a_delegate_that_cannot_be_loaded_is_named() {
    let error = program(&[], backend())
        .unwrap()
        .method("forward")
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Delegate);
    assert_eq!(
        error.to_string(),
        "method `forward`: delegate 0 (AddByte): the payload is empty"
    );
}

/// Loads only while another one is being loaded.
struct Together {
    loading: Mutex<usize>,
    changed: Condvar,
}

impl Backend for Together {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        let mut loading = self.loading.lock().unwrap();
        *loading += 1;
        self.changed.notify_all();
        let patience = Duration::from_secs(20);
        let alone = |loading: &mut usize| *loading < 2;
        let waited = self.changed.wait_timeout_while(loading, patience, alone);
        if waited.unwrap().1.timed_out() {
            bail!(Delegate, "{} is loaded alone", spec.index());
        }
        Ok(Arc::new(Loaded(spec.index() as f32)).into())
    }
}

#[test]
fn delegates_are_loaded_at_the_same_time_and_stay_in_order() {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        println!("skipped: it needs two processors");
        return;
    }
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2]);
    forward.input(x);
    for _ in 0..5 {
        let out = forward.tensor(ScalarType::Float, &[2]);
        let delegate = forward.delegate("Together", payload, &[]);
        forward.call_delegate(delegate, &[x, out]);
        forward.output(out);
    }
    program.method(forward);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let backend = Together {
        loading: Mutex::new(0),
        changed: Condvar::new(),
    };
    let runtime = runtime().backend("Together", backend).build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    let mut method = program.method("forward").unwrap();
    let x = vector(&[1.0, 2.0]);
    let outputs = method.run(&[(&x).into()]).unwrap();
    for index in 0..5 {
        let sum = 1.0 + index as f32;
        let output = outputs.tensor(index).unwrap();
        assert_eq!(output.data::<f32>().unwrap(), [sum, sum + 1.0]);
    }
}
