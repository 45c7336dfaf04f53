//! TensorRT programs on a real device. They run where `THALWEG_TEST_DRIVER` is `real`, with the
//! TensorRT that is found, on the programs that `THALWEG_TEST_PROGRAMS` is the folder of: one folder
//! each, with a `model.pte`.
#![cfg(target_os = "linux")]

mod models;

use std::path::PathBuf;
use std::thread;

use thalweg::cuda::{Device, Driver};
use thalweg::device::{DeviceId, DeviceKind};
use thalweg::format::{MethodBuilder, Program as File, ProgramBuilder, ScalarType, WriteOptions};
use thalweg::tensorrt::{ContainerInfo, EngineInfo, NAME, Options, TensorRt};
use thalweg::{DType, LoadOptions};
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
    assert_eq!(schedule.persistent.len(), 2, "{schedule:?}");
    let copied = |step: &thalweg::info::ScheduledStep| {
        matches!(
            step.execution,
            thalweg::info::StepExecution::ToHost(_) | thalweg::info::StepExecution::OnDevice(_)
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

/// A program's engines: their payloads, and what TensorRT says of them.
type Engines = Vec<(Vec<u8>, EngineInfo)>;

fn engines(bytes: &[u8], tensorrt: &TensorRt) -> Engines {
    let file = File::parse(bytes).unwrap();
    let delegates = file.methods[0].delegates.iter();
    let payloads = delegates.map(|delegate| file.delegate_payload(delegate).unwrap().to_vec());
    payloads
        .map(|payload| {
            let info = tensorrt.describe(&payload, None).unwrap();
            (payload, info)
        })
        .collect()
}

/// What engines need for the largest shapes: in all, and at most.
fn needs(engines: &Engines) -> (usize, usize) {
    let all = engines.iter().map(|(_, info)| info.profiles[0].scratch);
    (all.clone().sum(), all.max().unwrap_or(0))
}

/// Writes a program that runs engines, each on its largest shapes. Those of one payload have the same
/// inputs.
fn write(engines: &Engines) -> Vec<u8> {
    let mut program = ProgramBuilder::new();
    let mut method = MethodBuilder::new("forward");
    let arena = method.arena(DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    });
    // By payload, with the tensors that its inputs are in on the device.
    let mut known: Vec<(&[u8], _, Vec<u32>)> = Vec::new();
    let mut outputs = Vec::new();
    for (payload, info) in engines {
        let range = &info.profiles[0].inputs;
        let inputs = info.tensors.iter().filter(|tensor| tensor.is_input).count();
        let position = match known.iter().position(|(other, ..)| other == payload) {
            Some(position) => position,
            None => {
                let tensors = info.tensors[..inputs].iter().zip(range);
                let tensors = tensors.map(|(tensor, range)| {
                    let (dtype, sizes) = (scalar(tensor.dtype), unsigned(&range.max));
                    let host = method.tensor(dtype, &sizes);
                    method.input(host);
                    let device = method.tensor_in(arena, dtype, &sizes);
                    method.call("et_copy::_h2d_copy.out", &[host, device, device]);
                    device
                });
                let tensors = tensors.collect();
                known.push((payload, program.payload(payload.clone()), tensors));
                known.len() - 1
            }
        };
        let (_, payload, tensors) = &known[position];
        let mut arguments = tensors.clone();
        let delegate = method.delegate(NAME, *payload, &[]);
        let first = &range[0].max;
        let of_engine = info.tensors[inputs..].iter().map(|tensor| {
            // What is not fixed is as it is in the first input, as in all programs that are used here.
            let sizes = tensor.shape.iter().zip(first);
            let sizes: Vec<_> = sizes
                .map(|(&size, &other)| if size < 0 { other } else { size })
                .collect();
            assert_eq!(sizes.len(), tensor.shape.len());
            let (dtype, sizes) = (scalar(tensor.dtype), unsigned(&sizes));
            let device = method.tensor_in(arena, dtype, &sizes);
            (device, method.tensor(dtype, &sizes))
        });
        let of_engine: Vec<_> = of_engine.collect();
        arguments.extend(of_engine.iter().map(|(device, _)| *device));
        method.call_delegate(delegate, &arguments);
        outputs.extend(of_engine);
    }
    for (device, host) in outputs {
        method.call("et_copy::_d2h_copy.out", &[device, host, host]);
        method.output(host);
    }
    program.method(method);
    let program = program.build().unwrap();
    program.to_bytes(&WriteOptions::default()).unwrap()
}

fn unsigned(sizes: &[i64]) -> Vec<u32> {
    sizes
        .iter()
        .map(|&size| u32::try_from(size).unwrap())
        .collect()
}

fn scalar(dtype: DType) -> ScalarType {
    match dtype {
        DType::F32 => ScalarType::Float,
        DType::F16 => ScalarType::Half,
        DType::BF16 => ScalarType::BFloat16,
        DType::I32 => ScalarType::Int,
        DType::I64 => ScalarType::Long,
        other => panic!("an engine with elements of {other}"),
    }
}

/// Bytes of the device that a program takes when it has run, and what came out.
fn taken(
    bytes: &[u8],
    tensorrt: &TensorRt,
    device: &Device,
    shared: bool,
) -> (usize, Vec<Vec<u8>>) {
    let free = || {
        device.synchronize().unwrap();
        device.reclaim().unwrap();
        device.memory().unwrap().0
    };
    let runtime = Runtime::builder().backend(NAME, tensorrt.clone()).build();
    let before = free();
    let options = LoadOptions::new().shared_scratch(shared);
    let program = runtime.load_bytes(bytes.to_vec(), &options).unwrap();
    let mut method = program.method("forward").unwrap();
    let inputs = models::inputs(&program.method_info("forward").unwrap()).unwrap();
    let first = run(&mut method, &inputs);
    assert!(run(&mut method, &inputs) == first);
    let taken = before.saturating_sub(free());
    if shared {
        println!("  {:?}", tensorrt.scratch_statistics(device));
    }
    (taken, first)
}

#[test]
fn shared_scratch_takes_as_much_as_the_largest_engine_and_gives_the_same_bits() {
    let Some(folder) = programs() else { return };
    let driver = Driver::open(None).unwrap();
    let device = driver.device(0).unwrap();
    let tensorrt = TensorRt::find(&driver, &Options::new()).unwrap();
    let read = |name: &str| std::fs::read(folder.join(name).join("model.pte")).unwrap();
    let mut all: Vec<(String, Vec<u8>)> = ["two_layers", "three_layers", "attention_dynamic"]
        .iter()
        .filter(|name| folder.join(name).join("model.pte").is_file())
        .map(|name| ((*name).into(), read(name)))
        .collect();
    let attention = engines(&read("attention"), &tensorrt);
    let same: Engines = attention.iter().cloned().cycle().take(48).collect();
    all.push(("48 times one engine".into(), write(&same)));
    let kinds = all[..all.len() - 1].iter();
    let kinds = kinds.flat_map(|(_, bytes)| engines(bytes, &tensorrt));
    let kinds: Engines = kinds.chain(attention).collect();
    let usable = |(_, info): &&(Vec<u8>, EngineInfo)| {
        info.aliases.is_empty() && !info.tensors.iter().any(|tensor| tensor.on_host)
    };
    let kinds: Engines = kinds.iter().filter(usable).cloned().collect();
    let different: Engines = kinds.iter().cloned().cycle().take(48).collect();
    all.push(("48 engines".into(), write(&different)));
    for (name, bytes) in &all {
        let (sum, largest) = needs(&engines(bytes, &tensorrt));
        // Once to make all that is made once.
        taken(bytes, &tensorrt, &device, true);
        let (own, expected) = taken(bytes, &tensorrt, &device, false);
        let (shared, outputs) = taken(bytes, &tensorrt, &device, true);
        println!(
            "{name}: {own} bytes, and {shared} with shared scratch; engines need {sum} in all and \
             {largest} at most"
        );
        assert!(outputs == expected, "{name}: other bits");
        // The driver's pool has pieces of 32 MiB, and contexts may differ a little.
        let saved = own.saturating_sub(shared);
        assert!(
            saved + (64 << 20) >= sum - largest,
            "{name} saves {saved} bytes"
        );
    }
}
