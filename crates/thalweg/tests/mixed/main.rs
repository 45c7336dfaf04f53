//! Programs that are split over TensorRT engines, compiled libraries and the CPU, on the stand-ins: one
//! answer, whatever the order that the device works in.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod generate;

use std::sync::Arc;

use generate::Split;
use thalweg::aoti::CudaBackend;
use thalweg::cuda::{Driver, Stream};
use thalweg::extend::KernelRegistry;
use thalweg::tensorrt::{Options, TensorRt};
use thalweg::{GraphUse, LoadOptions, Method, Optimizations, Program, Result, RunOptions, Tensor};
use thalweg_simgpu::{Config, Report, Sim};
use thalweg_testing::sample::session;

/// So many delegates a program has.
const DELEGATES: usize = 25;

fn open() -> Result<Driver> {
    Driver::open(Some(Sim::path()))
}

fn load(driver: &Driver, bytes: Vec<u8>, options: &LoadOptions) -> Result<Program> {
    let mut kernels = KernelRegistry::new();
    thalweg_kernels::register(&mut kernels)?;
    let tensorrt = TensorRt::find(driver, &Options::new().library(Sim::path()))?;
    let runtime = thalweg_runtime::Runtime::builder()
        .kernels(&kernels)
        .backend(thalweg::tensorrt::NAME, tensorrt)
        .backend(thalweg::aoti::NAME, CudaBackend::new(driver)?)
        .device(Arc::new(driver.device(0)?))
        .build();
    runtime.load_bytes(bytes, options)
}

/// The input of a call.
fn input(call: u32) -> Tensor {
    let numbers: Vec<f32> = (0..64).map(|x| (x + 3 * call) as f32 - 20.0).collect();
    Tensor::from_slice(&numbers, &[16, 4]).unwrap()
}

fn run(method: &mut Method, x: &Tensor, options: &RunOptions<'_>) -> Result<Vec<f32>> {
    let outputs = method.run_with(&[x.into()], options)?;
    Ok(outputs.tensor(0)?.data::<f32>()?.to_vec())
}

/// So many calls of an instance; whether all are right.
fn is_right(split: &Split, method: &mut Method, calls: u32, options: &RunOptions<'_>) -> bool {
    (1..=calls).all(|call| {
        let x = input(call);
        let expected = split.expected(x.data::<f32>().unwrap(), call);
        run(method, &x, options).unwrap() == expected
    })
}

#[test]
fn programs_split_at_random_have_one_answer_under_every_schedule() {
    let sim = session();
    for seed in 0..1000 {
        sim.reset(Config::seeded(seed));
        let split = Split::random(seed % 250, DELEGATES);
        let driver = open().unwrap();
        let program = load(&driver, split.bytes(), &LoadOptions::new()).unwrap();
        let mut method = program.method("forward").unwrap();
        let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
        let options = match seed % 4 {
            0 => RunOptions::new().graph(GraphUse::Off),
            1 => RunOptions::new().stream(&stream),
            // From the third call on, each stretch is a graph.
            _ => RunOptions::new(),
        };
        assert!(is_right(&split, &mut method, 4, &options), "seed {seed}");
        drop((method, program, stream, driver));
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}

#[test]
fn with_a_stream_for_each_delegate_they_have_not() {
    let sim = session();
    let goes_wrong = |seed| {
        sim.reset(Config::seeded(seed));
        let split = Split::random(seed, DELEGATES);
        let scenario = || {
            let driver = open().unwrap();
            let program = load(&driver, split.bytes(), &LoadOptions::new()).unwrap();
            let mut method = program.method("forward").unwrap();
            let options = RunOptions::new().graph(GraphUse::Off);
            is_right(&split, &mut method, 4, &options)
        };
        let right = std::panic::catch_unwind(std::panic::AssertUnwindSafe(scenario));
        let reports: Vec<Report> = sim.finish();
        !matches!(right, Ok(true)) || !reports.is_empty()
    };
    assert!((0..20).all(|seed| !goes_wrong(seed)));
    let omission = thalweg_tensorrt::disable(thalweg_tensorrt::Rule::OneStream);
    let engines = (0..20).filter(|&seed| goes_wrong(seed)).count();
    drop(omission);
    let omission = thalweg_aoti::disable(thalweg_aoti::Rule::OneStream);
    let libraries = (0..20).filter(|&seed| goes_wrong(seed)).count();
    drop(omission);
    assert!(
        engines > 10 && libraries > 10,
        "{engines} and {libraries} of 20"
    );
}

#[test]
fn with_graphs_and_without_answers_have_the_same_bits() {
    let sim = session();
    for seed in 0..60 {
        sim.reset(Config::seeded(seed));
        let split = Split::random(1000 + seed, DELEGATES);
        let driver = open().unwrap();
        let every_copy = LoadOptions::new().optimizations(Optimizations::all().residency(false));
        let answers = [
            (GraphUse::Auto, LoadOptions::new()),
            (GraphUse::On, LoadOptions::new()),
            (GraphUse::Off, LoadOptions::new()),
            (GraphUse::Off, LoadOptions::new().shared_scratch(true)),
            (GraphUse::Auto, LoadOptions::new().shared_scratch(true)),
            (GraphUse::Auto, every_copy),
        ]
        .map(|(graph, load_options)| {
            let program = load(&driver, split.bytes(), &load_options).unwrap();
            let mut method = program.method("forward").unwrap();
            let options = RunOptions::new().graph(graph);
            let calls = (1..=6).map(|call| run(&mut method, &input(call), &options).unwrap());
            calls.collect::<Vec<_>>()
        });
        let [first, others @ ..] = &answers;
        assert!(others.iter().all(|other| other == first), "seed {seed}");
        drop(driver);
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}

#[test]
fn eight_threads_have_an_instance_each_and_the_same_answers() {
    let sim = session();
    for seed in 0..30 {
        sim.reset(Config::seeded(seed));
        let split = Split::random(seed, DELEGATES);
        let driver = open().unwrap();
        let program = load(&driver, split.bytes(), &LoadOptions::new()).unwrap();
        std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| {
                scope.spawn(|| {
                    let mut method = program.method("forward").unwrap();
                    is_right(&split, &mut method, 5, &RunOptions::new())
                })
            });
            for thread in threads {
                assert!(thread.join().unwrap(), "seed {seed}");
            }
        });
        drop((program, driver));
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}

#[test]
fn whatever_call_fails_the_next_call_is_right_with_graphs_too() {
    let sim = session();
    let split = Split::random(7, 5);
    let bytes = split.bytes();
    let scenario = |_: &Sim| -> Result<()> {
        let driver = open()?;
        let program = load(&driver, bytes.clone(), &LoadOptions::new())?;
        let mut method = program.method("forward")?;
        let mut first = Ok(());
        // How often delegates that count were run is not known after an error.
        for call in 1..=4 {
            let x = input(call);
            match run(&mut method, &x, &RunOptions::new()) {
                Ok(answer) if first.is_ok() => {
                    assert_eq!(answer, split.expected(x.data::<f32>()?, call));
                }
                Ok(_) => {}
                Err(error) if first.is_ok() => first = Err(error),
                // One call fails, at most.
                Err(error) => panic!("{first:?}, and then {error}"),
            }
        }
        let x = input(1);
        let another = program.method("forward");
        let again = another.and_then(|mut another| run(&mut another, &x, &RunOptions::new()));
        match (&first, again) {
            (_, Ok(answer)) => assert_eq!(answer, split.expected(x.data::<f32>()?, 1)),
            (Ok(()), Err(error)) => first = Err(error),
            (Err(first), Err(error)) => panic!("{first}, and then {error}"),
        }
        first
    };
    sim.for_each_fault(&Config::seeded(3), scenario, |fault, result, reports| {
        assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
        assert!(fault.is_some() || result.is_ok(), "{result:?}");
    });
}
