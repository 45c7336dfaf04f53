//! Inputs that a caller keeps on a device, without a promise of its own.

use thalweg_core::{DType, Tensor};
use thalweg_cuda::{Device, DeviceArray, Rule, Stream, disable};
use thalweg_runtime::RunOptions;
use thalweg_simgpu::{Config, Fault, ReportKind};

use crate::elementwise::session;
use crate::hopping::{load, numbers};
use crate::hops::Maker;
use crate::{on_every_machine, open, real};

/// `x + 1`, computed on the device.
fn increments(device: &Device) -> thalweg_runtime::Method {
    let mut m = Maker::new();
    let x = m.input(2);
    let y = m.hop(x, 2);
    m.forward.output(y);
    let program = load(std::slice::from_ref(device), &m.build(), false).unwrap();
    program.method("forward").unwrap()
}

fn rows(x: [f32; 4]) -> Tensor {
    Tensor::from_slice(&x, &[2, 2]).unwrap()
}

#[test]
fn an_array_is_the_input_of_many_calls_on_any_stream() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let x = rows([1.0, 2.0, 3.0, 4.0]);
        let array = DeviceArray::new(&device, x.view()).unwrap();
        assert_eq!((array.dtype(), array.sizes()), (DType::F32, &[2, 2][..]));
        let expected = {
            let x = [(&x).into()];
            let mut method = increments(&device);
            numbers(method.run(&x).unwrap()).unwrap()
        };
        let mut methods = [increments(&device), increments(&device)];
        for method in &mut methods {
            let stream = Stream::new(&device).unwrap();
            let options = RunOptions::new().stream(&stream);
            let input = array.input().unwrap();
            let outputs = method.run_with(&[input.into()], &options).unwrap();
            assert_eq!(numbers(outputs).unwrap(), expected);
        }
        let same = array.to_tensor().unwrap();
        assert_eq!(same.data::<f32>().unwrap(), x.data::<f32>().unwrap());
    });
}

/// A call that leaves its work in flight, and whose input goes at once.
fn goes_in_flight() {
    let device = open().device(0).unwrap();
    let mut method = increments(&device);
    let array = DeviceArray::new(&device, rows([1.0; 4]).view()).unwrap();
    let options = RunOptions::new().device_outputs(true);
    let input = array.input().unwrap();
    method.run_with(&[input.into()], &options).unwrap();
    drop(array);
}

#[test]
fn an_array_goes_after_all_that_calls_have_left_in_flight() {
    if real() {
        println!("skipped: it needs the stand-in, which sees what is missing");
        return;
    }
    let sim = session();
    let reports = |seed| {
        sim.reset(Config::seeded(seed));
        goes_in_flight();
        sim.finish()
    };
    for seed in 0..50 {
        let found = reports(seed);
        assert!(found.is_empty(), "seed {seed}: {found:#?}");
    }
    let omission = disable(Rule::FreeArrayAfterUse);
    let found: Vec<_> = (0..20).flat_map(reports).collect();
    drop(omission);
    let freed = |kind| kind == ReportKind::FreeWhileInUse || kind == ReportKind::UseAfterFree;
    assert!(
        found.iter().any(|it| freed(it.kind)),
        "nobody misses it: {found:#?}"
    );
}

#[test]
fn an_array_that_cannot_wait_is_never_freed() {
    if real() {
        println!("skipped: it needs the stand-in, whose calls can fail");
        return;
    }
    let sim = session();
    sim.reset(Config::seeded(0));
    let device = open().device(0).unwrap();
    let array = DeviceArray::new(&device, rows([1.0; 4]).view()).unwrap();
    let freed = sim.calls("cuMemFreeAsync");
    sim.faults(&[1, 2].map(|nth| Fault::Call {
        function: "cuCtxSynchronize".into(),
        nth,
        code: 999,
    }));
    drop(array);
    assert_eq!(sim.calls("cuMemFreeAsync"), freed);
    sim.faults(&[]);
    let array = DeviceArray::new(&device, rows([1.0; 4]).view()).unwrap();
    drop(array);
    assert_eq!(sim.calls("cuMemFreeAsync"), freed + 1);
    drop(device);
    // The one that was left.
    let leaked = sim.finish();
    assert!(!leaked.is_empty());
}

#[test]
fn only_row_major_tensors_become_arrays() {
    on_every_machine(1, 1, |driver| {
        let device = driver.device(0).unwrap();
        let columns = Tensor::zeros_in_order(DType::F32, &[2, 3], &[1, 0]).unwrap();
        let error = DeviceArray::new(&device, columns.view()).err().unwrap();
        assert!(error.message().contains("[1, 0]"), "{error}");
    });
}
