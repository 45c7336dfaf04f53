//! Every call can be made to fail, and says so in its own way.

use thalweg_simgpu::nvinfer::TensorRt;
use thalweg_simgpu::{Config, Fault, Sim};

use crate::api::{self, Logger};
use crate::driver::*;
use crate::{affine, setup};

/// A caller that looks at all that it is given, and leaves nothing behind. It gives the numbers,
/// or why there are none.
fn careful(sim: &Sim) -> Result<Vec<f32>, String> {
    let version = TensorRt::default();
    let logger = Logger::new(version);
    let mut undo: Vec<Box<dyn FnOnce()>> = Vec::new();
    let result = attempt(sim, &logger, &mut undo);
    // Whatever was enqueued is over before anything goes.
    if synchronize() != OK {
        synchronize();
    }
    while let Some(undo) = undo.pop() {
        undo();
    }
    match logger.errors().first() {
        Some(error) if result.is_ok() => Err(error.clone()),
        _ => result,
    }
}

fn attempt(
    sim: &Sim,
    logger: &Logger,
    undo: &mut Vec<Box<dyn FnOnce()>>,
) -> Result<Vec<f32>, String> {
    let check = |code: Code, what: &str| match code {
        OK => Ok(()),
        code => Err(format!("{what} gave {code}")),
    };
    let version = TensorRt::default();
    check(init(0), "init")?;
    let mut context = 0;
    check(retain(&mut context, 0), "retain")?;
    undo.push(Box::new(|| {
        release(0);
    }));
    check(set_current(context), "set_current")?;
    let runtime = api::runtime(logger, version).ok_or("no runtime")?;
    undo.push(Box::new(move || runtime.delete()));
    let mut spec = affine("careful", version, 2.0, 1.0);
    (spec.kernels, spec.weights) = (3, 100);
    let engine = runtime.deserialize(&spec.to_bytes()).ok_or("no engine")?;
    undo.push(Box::new(move || engine.delete()));
    let context = engine.context(2).ok_or("no context")?;
    undo.push(Box::new(move || context.delete()));
    let mut memory = |bytes: usize| {
        let mut address = 0;
        check(alloc(&mut address, bytes), "alloc")?;
        undo.push(Box::new(move || {
            free(address);
        }));
        Ok::<u64, String>(address)
    };
    let (x, y) = (memory(16)?, memory(16)?);
    if engine.tensors() != ["x", "y"] || !context.set_shape("x", &[1, 4]) {
        return Err("no shape".into());
    }
    let bytes = context.update_memory();
    if bytes == 0 || context.shape("y").shape() != Some(&[1, 4]) {
        return Err("no size".into());
    }
    let scratch = memory(bytes)?;
    context.set_memory(scratch, bytes as i64);
    if !context.set_address("x", x) || !context.set_address("y", y) {
        return Err("no address".into());
    }
    let values = [1.0f32, 2.0, 3.0, 4.0];
    check(to_device(x, values.as_ptr().cast(), 16), "copy")?;
    check(stream_synchronize(LEGACY), "synchronize")?;
    if !context.enqueue(PER_THREAD) {
        return Err("not enqueued".into());
    }
    check(stream_synchronize(PER_THREAD), "synchronize")?;
    let mut values = vec![0.0f32; 4];
    check(to_host(values.as_mut_ptr().cast(), y, 16), "copy")?;
    let _ = sim;
    Ok(values)
}

#[test]
fn a_careful_caller_survives_the_failure_of_every_call() {
    let sim = Sim::session(Config::default());
    let mut failed = Vec::new();
    sim.for_each_fault(&Config::default(), careful, |fault, result, mut reports| {
        reports.retain(|report| !report.kind.is_warning());
        assert!(reports.is_empty(), "{fault:?}: {reports:?}");
        match (fault, result) {
            (None, result) => assert_eq!(result, Ok(vec![3.0, 5.0, 7.0, 9.0])),
            (Some(fault), Ok(values)) => {
                assert_eq!(values, [3.0, 5.0, 7.0, 9.0], "{fault:?}");
            }
            (Some(fault), Err(_)) => failed.push(fault.function.clone()),
        }
    });
    for method in [
        "nvinfer.createInferRuntime_INTERNAL",
        "nvinfer.IRuntime.deserializeCudaEngine",
        "nvinfer.ICudaEngine.createExecutionContext",
        "nvinfer.IExecutionContext.setDeviceMemoryV2",
        "nvinfer.IExecutionContext.updateDeviceMemorySizeForShapes",
        "nvinfer.IExecutionContext.enqueueV3",
        "cuLaunchKernel",
    ] {
        let times = failed.iter().filter(|function| *function == method).count();
        assert!(times > 0, "{method} never failed");
    }
    let runtimes = failed
        .iter()
        .filter(|function| function.contains("createInferRuntime"));
    assert_eq!(
        runtimes.count(),
        2,
        "once with null, once with a small number"
    );
}

#[test]
fn a_fault_is_logged_and_gives_what_failure_means() {
    let sim = Sim::session(Config::default());
    let version = TensorRt::default();
    let setup = setup(version, &affine("faults", version, 1.0, 0.0));
    let fault = |function: &str, code: u32| {
        sim.faults(&[Fault::Call {
            function: format!("nvinfer.{function}"),
            nth: 1,
            code,
        }]);
    };
    fault("ICudaEngine.getTensorShape", 999);
    assert_eq!(setup.engine.engine_shape("x").shape(), None);
    assert!(setup.logger.last_error_has("ICudaEngine::getTensorShape"));
    assert_eq!(setup.engine.engine_shape("x").shape().unwrap(), [-1, 4]);
    fault("createInferRuntime_INTERNAL", 42);
    assert_eq!(api::create_runtime(&setup.logger, 100_600), 42);
    assert_eq!(sim.calls("nvinfer.ICudaEngine.getTensorShape"), 2);
    setup.end();
    sim.assert_clean();
}

#[test]
fn a_switch_that_has_come_half_way_is_seen_when_the_context_runs() {
    let version = TensorRt::default();
    let sim = Sim::session(Config::seeded(0));
    // How many of the two copies run before one fails, and whether the switch is tried once more.
    for (copies, again) in [(0, false), (1, false), (1, true), (2, false)] {
        sim.reset(Config::seeded(0));
        let mut spec = affine("half", version, 2.0, 1.0);
        spec.profiles.push(spec.profiles[0].clone());
        let setup = setup(version, &spec);
        let context = setup.engine.context(2).unwrap();
        let size = setup.engine.profile_memory(1);
        let [x, y, scratch] = [16, 16, size as usize].map(crate::device);
        crate::upload(x, &[1.0f32; 4]);
        sim.faults(&[Fault::Call {
            function: "cuMemcpyHtoDAsync".into(),
            nth: copies + 1,
            code: 2,
        }]);
        assert_eq!(context.set_profile(1, PER_THREAD), copies == 2);
        sim.faults(&[]);
        assert!(!again || context.set_profile(1, PER_THREAD));
        assert!(context.set_shape("x", &[1, 4]));
        context.set_memory(scratch, size);
        assert!(context.set_address("x", x) && context.set_address("y", y));
        assert!(context.enqueue(PER_THREAD), "{:?}", setup.logger.errors());
        assert_eq!(crate::download::<f32>(y, 4), [3.0; 4]);
        context.delete();
        for memory in [x, y, scratch] {
            assert_eq!(free(memory), OK);
        }
        setup.end();
        let reports = sim.finish();
        let half = reports.iter().filter(|it| it.message.contains("half way"));
        assert_eq!(
            half.count(),
            usize::from(copies == 1 && !again),
            "{reports:#?}"
        );
        if copies == 2 || again {
            assert!(reports.is_empty(), "{reports:#?}");
        }
    }
}
