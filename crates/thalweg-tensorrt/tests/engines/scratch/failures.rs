//! What fails, what the pool is afterwards, and that the next call is right.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use thalweg_core::{
    Call, Delegate, DelegateInstance, DelegateSpec, ErrorKind, LoadedDelegate, StateBuffers,
};
use thalweg_cuda::Stream;
use thalweg_runtime::GraphUse;
use thalweg_simgpu::{Fault, ReportKind};

use super::*;

/// The n-th call of a function from now on.
fn nth(function: &str, nth: u64) -> Fault {
    Fault::Call {
        function: function.into(),
        nth,
        code: 999,
    }
}

/// Runs a call, which leaves its result on the device.
fn leave(method: &mut Method, stream: &Stream) -> Result<()> {
    leave_with(method, stream, GraphUse::Auto)
}

fn leave_with(method: &mut Method, stream: &Stream, graph: GraphUse) -> Result<()> {
    let x = numbers(1, &[8, 8]);
    let options = RunOptions::new().device_outputs(true).stream(stream);
    method
        .run_with(&[(&x).into()], &options.graph(graph))
        .map(drop)
}

#[test]
fn memory_that_is_out_is_an_error_with_sizes_and_empty_stays_empty() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let machine = Machine::new(&driver);
    let links = [doubles(1 << 20), doubles(3 << 20)];
    let mut method = machine.method(&links, &shared());
    // Nothing more.
    let used = sim.used_memory(0);
    sim.faults(&[Fault::MemoryLimit { bytes: used + 4096 }]);
    for _ in 0..2 {
        let error = run(&mut method, &[&numbers(1, &[8, 8])]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        let text = error.to_string();
        assert!(text.contains("1048576"), "{text}");
        assert!(text.contains("0 bytes of it in 0 buffers"), "{text}");
        assert!(text.contains("free"), "{text}");
        assert_eq!(machine.statistics(), ScratchStatistics::default());
    }
    // The first engine's fits, and not the second's.
    sim.faults(&[Fault::MemoryLimit {
        bytes: used + (2 << 20),
    }]);
    let error = run(&mut method, &[&numbers(1, &[8, 8])]).unwrap_err();
    assert!(error.to_string().contains("3145728"), "{error}");
    let statistics = machine.statistics();
    assert_eq!(
        (statistics.buffers, statistics.bytes, statistics.idle),
        (0, 0, 0)
    );
    sim.faults(&[]);
    (0..2).for_each(|_| check(&mut method, 8, 2));
    let statistics = machine.statistics();
    assert_eq!((statistics.buffers, statistics.bytes), (1, 3 << 20));
    drop((method, machine, driver));
    sim.assert_clean();
}

#[test]
fn what_nobody_has_is_freed_before_memory_is_said_to_be_out() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..30 {
        sim.reset(Config::seeded(seed).with_eagerness(0.0));
        let driver = open();
        let device = driver.device(0).unwrap();
        let machine = Machine::new(&driver);
        let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
        let program = machine.load(&[doubles(1 << 20)], &shared());
        let mut methods = [(); 2].map(|()| program.method("forward").unwrap());
        let mut large = machine.method(&[doubles(3 << 20)], &shared());
        for (method, stream) in methods.iter_mut().zip(&streams) {
            leave(method, stream).unwrap();
        }
        assert_eq!(machine.statistics().buffers, 2);
        // For the large one both must go, which work still uses.
        let used = sim.used_memory(0);
        sim.faults(&[Fault::MemoryLimit {
            bytes: used + (1 << 20),
        }]);
        check(&mut large, 8, 1);
        let statistics = machine.statistics();
        assert_eq!(
            (statistics.buffers, statistics.bytes),
            (1, 3 << 20),
            "{statistics:?}"
        );
        sim.faults(&[]);
        for method in &mut methods {
            check(method, 8, 1);
        }
        drop((methods, large, program, streams, machine, device, driver));
        sim.assert_clean();
    }
}

#[test]
fn an_end_that_is_not_recorded_is_waited_for_and_is_the_calls_error() {
    let sim = Sim::session(Config::seeded(0));
    for limit in ["", "1 buffer"] {
        for seed in 0..50 {
            sim.reset(Config::seeded(seed));
            unrecorded(&sim, limit);
            sim.assert_clean();
        }
    }
}

/// Two streams use one piece, and the end of the first use is not recorded.
pub(super) fn unrecorded(sim: &Sim, limit: &str) {
    let driver = open();
    let device = driver.device(0).unwrap();
    let machine = Machine::new(&driver);
    let options = match limit {
        "" => shared(),
        limit => limited(limit),
    };
    let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
    let program = machine.load(&[doubles(1 << 12)], &options);
    let mut methods = [(); 2].map(|()| program.method("forward").unwrap());
    leave(&mut methods[0], &streams[0]).unwrap();
    sim.faults(&[nth("cuEventRecord", 1)]);
    let failed = leave(&mut methods[0], &streams[0]);
    sim.faults(&[]);
    leave(&mut methods[1], &streams[1]).unwrap();
    for method in &mut methods {
        check(method, 8, 1);
    }
    assert!(failed.is_err(), "the record was not the pool's");
    let statistics = machine.statistics();
    assert_eq!(statistics.idle, statistics.bytes);
}

#[test]
fn a_piece_that_cannot_be_waited_for_is_never_used_again_nor_freed() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let device = driver.device(0).unwrap();
    let machine = Machine::new(&driver);
    let stream = Stream::new(&device).unwrap();
    let mut method = machine.method(&[doubles(1 << 12)], &shared());
    leave(&mut method, &stream).unwrap();
    let every = |function: &str| Fault::Every {
        function: function.into(),
        n: 1,
        code: 999,
    };
    sim.faults(&[nth("cuEventRecord", 1), every("cuStreamSynchronize")]);
    leave(&mut method, &stream).unwrap_err();
    sim.faults(&[]);
    assert_eq!(machine.statistics().buffers, 0);
    check(&mut method, 8, 1);
    assert_eq!(machine.statistics().buffers, 1);
    drop((method, stream, machine, device, driver));
    let reports = sim.finish();
    // The piece, and its event.
    let leaks = reports.iter().all(|report| report.kind == ReportKind::Leak);
    assert!(leaks && !reports.is_empty(), "{reports:#?}");
}

#[test]
fn an_engine_that_fails_halfway_hands_on_what_it_has_begun_to_use() {
    let sim = Sim::session(Config::seeded(0));
    for options in [shared(), limited("1 buffer")] {
        for seed in 0..50 {
            sim.reset(Config::seeded(seed));
            let driver = open();
            let device = driver.device(0).unwrap();
            let machine = Machine::new(&driver);
            let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
            let program = machine.load(&[doubles(1 << 12)], &options);
            let mut methods = [(); 2].map(|()| program.method("forward").unwrap());
            leave(&mut methods[0], &streams[0]).unwrap();
            sim.faults(&[nth("cuLaunchKernel", 2)]);
            leave(&mut methods[0], &streams[0]).unwrap_err();
            sim.faults(&[]);
            leave(&mut methods[1], &streams[1]).unwrap();
            let statistics = machine.statistics();
            assert_eq!(statistics.idle, statistics.bytes);
            for method in &mut methods {
                check(method, 8, 1);
            }
            drop((methods, program, streams, machine, device, driver));
            sim.assert_clean();
        }
    }
}

#[test]
fn a_piece_that_cannot_grow_stays_the_calls_until_it_ends() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..40 {
        // The first engine has not run when the piece is to grow for the second.
        sim.reset(Config::seeded(seed).with_eagerness(0.0));
        let driver = open();
        let device = driver.device(0).unwrap();
        let machine = Machine::new(&driver);
        let stream = Stream::new(&device).unwrap();
        let mut method = machine.method(&[doubles(512), doubles(1 << 12)], &shared());
        let before = sim.calls("cuStreamIsCapturing");
        leave(&mut method, &stream).unwrap();
        let asked = sim.calls("cuStreamIsCapturing") - before;
        machine.tensorrt.trim_scratch();
        drop(method);
        // Whatever it is asked for, the third time is about the second engine.
        for time in 3..=asked {
            let mut method = machine.method(&[doubles(512), doubles(1 << 12)], &shared());
            sim.faults(&[nth("cuStreamIsCapturing", time)]);
            leave(&mut method, &stream).unwrap_err();
            sim.faults(&[]);
            let statistics = machine.statistics();
            assert_eq!(statistics.idle, statistics.bytes);
            check(&mut method, 8, 2);
            drop(method);
        }
        drop((stream, machine, device, driver));
        sim.assert_clean();
    }
}

#[test]
fn a_panic_between_engines_gives_the_piece_back() {
    on_every_machine(10, |driver| {
        let machine = Machine::new(driver);
        let panics = Arc::new(AtomicBool::new(true));
        let links = [doubles(1 << 10), Link::Host, doubles(1 << 10)];
        let asked = panics.clone();
        let program = machine.load_with(&links, &shared(), move || {
            assert!(!asked.load(Ordering::Relaxed), "as it was asked to");
        });
        let mut method = program.method("forward").unwrap();
        let x = numbers(1, &[8, 8]);
        for _ in 0..3 {
            let call = || method.run(&[(&x).into()]).map(drop);
            catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            let statistics = machine.statistics();
            assert_eq!((statistics.buffers, statistics.idle), (1, 1 << 10));
        }
        panics.store(false, Ordering::Relaxed);
        check(&mut method, 8, 2);
    });
}

/// A backend around another that does not tell it when calls are over.
struct Forgetful(TensorRt);

struct ForgetfulDelegate(Arc<dyn Delegate>);

struct ForgetfulInstance(Box<dyn DelegateInstance>);

impl Backend for Forgetful {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        match self.0.load(spec)? {
            LoadedDelegate::Opaque(delegate) => Ok(Arc::new(ForgetfulDelegate(delegate)).into()),
            LoadedDelegate::Graph(_) => unreachable!("engines are no graphs"),
        }
    }
}

impl Delegate for ForgetfulDelegate {
    fn instance(&self, state: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(ForgetfulInstance(self.0.instance(state)?)))
    }
}

impl DelegateInstance for ForgetfulInstance {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        self.0.execute(call)
    }
}

#[test]
fn an_instance_that_is_not_told_that_a_call_is_over_finds_out_at_the_next() {
    on_every_machine(30, |driver| {
        let machine = Machine::new(driver);
        let forgetful = Forgetful(machine.tensorrt.clone());
        let bytes = chain(&[doubles(1 << 10), doubles(1 << 11)]);
        let program = load_in(forgetful, driver, bytes, &shared()).unwrap();
        let device = driver.device(0).unwrap();
        let streams = [Stream::new(&device).unwrap(), Stream::new(&device).unwrap()];
        let mut methods = [(); 2].map(|()| program.method("forward").unwrap());
        for _ in 0..4 {
            for (method, stream) in methods.iter_mut().zip(&streams) {
                leave(method, stream).unwrap();
            }
        }
        // Each has one until its next call.
        assert_eq!(machine.statistics().buffers, 2);
        assert_eq!(machine.statistics().idle, 0);
        drop(methods);
        assert_eq!(machine.statistics(), {
            let mut rest = machine.statistics();
            rest.idle = rest.bytes;
            rest
        });
    });
}

/// Whatever call fails, each call ends in an error or a right answer, the pool has nothing that nobody
/// gives back, and the call after it is right.
fn survives(links: &[Link], options: &LoadOptions, times: usize) {
    let bytes = chain(links);
    let sim = Sim::session(Config::seeded(0));
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let device = driver.device(0)?;
        let machine = Machine {
            tensorrt: tensorrt(&driver)?,
            driver: driver.clone(),
        };
        let program = machine.load_bytes(bytes.clone(), options, || {})?;
        let mut methods = vec![program.method("forward")?, program.method("forward")?];
        let streams = [Stream::new(&device)?, Stream::new(&device)?];
        let mut failed = None;
        let mut note = |result: Result<()>| {
            if let Err(error) = result {
                let before = failed.replace(error);
                assert!(before.is_none(), "{before:?}, and then {failed:?}");
            }
        };
        for rows in [8, 64] {
            for (method, stream) in methods.iter_mut().zip(&streams) {
                note(leave(method, stream));
                let x = numbers(rows, &[rows as usize, 8]);
                note(run(method, &[&x]).map(|outputs| {
                    assert_eq!(outputs[0].1, doubled(&x, times));
                }));
                let statistics = machine.tensorrt.scratch_statistics(&device);
                assert_eq!(statistics.idle, statistics.bytes, "{statistics:?}");
                assert!(statistics.buffers <= 3, "{statistics:?}");
            }
        }
        machine.tensorrt.trim_scratch();
        assert_eq!(machine.tensorrt.scratch_statistics(&device).buffers, 0);
        for method in &mut methods {
            let x = numbers(1, &[8, 8]);
            note(run(method, &[&x]).map(|outputs| {
                assert_eq!(outputs[0].1, doubled(&x, times));
            }));
        }
        failed.map_or(Ok(()), Err)
    };
    sim.for_each_fault(&Config::seeded(3), scenario, |fault, result, reports| {
        assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
        assert!(fault.is_some() || result.is_ok(), "{result:?}");
    });
}

#[test]
fn whatever_call_fails_with_a_piece_for_each_call() {
    let links = [doubles(512), doubles_by_shape(8)];
    survives(&links, &shared(), 2);
}

#[test]
fn whatever_call_fails_with_one_piece_for_all() {
    let links = [doubles_by_shape(8), doubles(512)];
    survives(&links, &limited("1 buffer"), 2);
}

#[test]
fn whatever_call_fails_while_graphs_refer_to_a_piece() {
    let bytes = chain(&[doubles(512), doubles(1024)]);
    let sim = Sim::session(Config::seeded(0));
    let scenario = |_: &Sim| -> Result<()> {
        let driver = Driver::open(Some(Sim::path()))?;
        let device = driver.device(0)?;
        let machine = Machine {
            tensorrt: tensorrt(&driver)?,
            driver: driver.clone(),
        };
        let program = machine.load_bytes(bytes.clone(), &limited("1 buffer"), || {})?;
        let mut methods = [program.method("forward")?, program.method("forward")?];
        let streams = [Stream::new(&device)?, Stream::new(&device)?];
        let mut failed = None;
        for _ in 0..4 {
            for (method, stream) in methods.iter_mut().zip(&streams) {
                if let Err(error) = leave_with(method, stream, GraphUse::On) {
                    let before = failed.replace(error);
                    assert!(before.is_none(), "{before:?}, and then {failed:?}");
                }
                let statistics = machine.tensorrt.scratch_statistics(&device);
                assert_eq!(statistics.idle, statistics.bytes, "{statistics:?}");
                assert!(statistics.buffers <= 1, "{statistics:?}");
            }
        }
        for method in &mut methods {
            let x = numbers(1, &[8, 8]);
            match run_with(method, &[&x], &RunOptions::new().graph(GraphUse::On)) {
                Ok(outputs) => assert_eq!(outputs[0].1, doubled(&x, 2)),
                Err(error) => assert!(failed.replace(error).is_none()),
            }
        }
        failed.map_or(Ok(()), Err)
    };
    sim.for_each_fault(&Config::seeded(7), scenario, |fault, result, reports| {
        assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
        assert!(fault.is_some() || result.is_ok(), "{result:?}");
    });
}

#[test]
fn whatever_call_fails_with_a_limit_of_bytes() {
    survives(&[doubles_by_shape(8)], &limited("4096"), 1);
}
