//! TensorRT programs on a real device. They run where `THALWEG_TEST_DRIVER` is `real`, with the
//! TensorRT that is found, on the programs that `THALWEG_TEST_PROGRAMS` is the folder of: one folder
//! each, with a `model.pte`.
#![cfg(target_os = "linux")]

mod models;

use std::path::PathBuf;
use std::thread;

use thalweg::cuda::Driver;
use thalweg::tensorrt::{ContainerInfo, Options, TensorRt};
use thalweg::{Method, Program, RunOptions, Runtime, Value};

/// The folder of the programs; nothing where there is none, or no device.
fn programs() -> Option<PathBuf> {
    let real = std::env::var("THALWEG_TEST_DRIVER").is_ok_and(|driver| driver == "real");
    let folder = std::env::var_os("THALWEG_TEST_PROGRAMS").filter(|_| real);
    if folder.is_none() {
        println!("skipped: it needs THALWEG_TEST_DRIVER=real and THALWEG_TEST_PROGRAMS");
    }
    folder.map(PathBuf::from)
}

fn load(name: &str) -> Option<Program> {
    let file = programs()?.join(name).join("model.pte");
    Some(Runtime::detect().load(file).unwrap())
}

/// The bytes of a call's outputs.
fn run(method: &mut Method, inputs: &[Value]) -> Vec<Vec<u8>> {
    let inputs = models::borrowed(inputs);
    let outputs = method.run(&inputs).unwrap();
    let bytes = outputs
        .iter()
        .map(|output| output.unwrap().tensor().unwrap().bytes().to_vec());
    bytes.collect()
}

#[test]
fn eight_threads_with_an_instance_each_have_the_same_bits() {
    for name in [
        "mlp",
        "mlp_dynamic",
        "kv_cache",
        "two_layers",
        "attention_dynamic",
    ] {
        let Some(program) = load(name) else { return };
        let inputs = models::inputs(&program.method_info("forward").unwrap()).unwrap();
        let calls = if name == "kv_cache" { 6 } else { 30 };
        let answers = |program: &Program| {
            let mut method = program.method("forward").unwrap();
            let answers: Vec<_> = (0..calls).map(|_| run(&mut method, &inputs)).collect();
            answers
        };
        let expected = answers(&program);
        thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| answers(&program))).collect();
            for thread in threads {
                assert!(thread.join().unwrap() == expected, "{name}");
            }
        });
    }
}

#[test]
fn a_second_instance_takes_no_more_memory_of_the_device_than_its_scratch() {
    let Some(program) = load("attention") else {
        return;
    };
    let driver = Driver::open(None).unwrap();
    let device = driver.device(0).unwrap();
    let tensorrt = TensorRt::find(&driver, &Options::new()).unwrap();
    let file = std::fs::read(programs().unwrap().join("attention/model.pte")).unwrap();
    let parsed = thalweg::format::Program::parse(&file).unwrap();
    let delegate = &parsed.methods[0].delegates[0];
    let payload = parsed.delegate_payload(delegate).unwrap();
    assert!(ContainerInfo::of(payload).is_ok());
    let scratch = tensorrt.describe(payload, None).unwrap().profiles[0].scratch;
    let inputs = models::inputs(&program.method_info("forward").unwrap()).unwrap();
    let mut first = program.method("forward").unwrap();
    run(&mut first, &inputs);
    let (before, _) = device.memory().unwrap();
    let mut second = program.method("forward").unwrap();
    run(&mut second, &inputs);
    let (after, _) = device.memory().unwrap();
    let taken = before - after;
    println!("a second instance takes {taken} bytes, and its scratch is {scratch}");
    // Its own input and output are on the device, too, and the driver's pool grows by 32 MiB.
    let arguments = 2 * 4 * 2048 * 512;
    let room = (scratch + arguments).next_multiple_of(32 << 20) + (4 << 20);
    assert!(taken <= room, "{taken} bytes for a scratch of {scratch}");
}

#[test]
fn a_cache_stays_on_the_device_and_is_updated_where_it_is() {
    let Some(program) = load("kv_cache") else {
        return;
    };
    let schedule = program.schedule("forward").unwrap();
    assert_eq!(schedule.kept.len(), 2, "{schedule:?}");
    let copied = |step: &thalweg::ScheduledStep| {
        matches!(
            step.how,
            thalweg::How::ToHost(_) | thalweg::How::OnDevice(_)
        )
    };
    let copies = schedule.steps.iter().filter(|step| copied(step)).count();
    assert_eq!(copies, 1, "the output alone: {schedule:?}");
}

#[test]
fn values_stay_on_the_device_from_call_to_call() {
    let Some(program) = load("mlp") else { return };
    let inputs = models::inputs(&program.method_info("forward").unwrap()).unwrap();
    let mut method = program.method("forward").unwrap();
    let expected = run(&mut method, &inputs);
    let options = RunOptions::new().device_outputs(true);
    for _ in 0..100 {
        let inputs = models::borrowed(&inputs);
        method.run_with(&inputs, &options).unwrap();
    }
    assert_eq!(run(&mut method, &inputs), expected);
}
