//! Each version has the slots that it has.

use thalweg_simgpu::nvinfer::{TensorRt, Variant};
use thalweg_simgpu::{Config, ReportKind, Sim};

use crate::api;
use crate::driver::*;
use crate::{affine, layouts, setup};

#[test]
fn the_version_is_that_of_the_configuration() {
    let sim = Sim::session(Config::default());
    assert_eq!(api::lib_version(), 100_600);
    for version in layouts() {
        sim.reset(Config::default().with_tensorrt(version));
        let number = version.major * 10_000 + version.minor * 100 + version.patch;
        assert_eq!(api::lib_version(), number);
    }
    type Set = unsafe extern "C" fn(i32, i32, i32, u32) -> u32;
    // SAFETY: that is the function's type, and it takes any numbers.
    unsafe {
        let set: Set = std::mem::transmute(symbol("simgpu_nvinfer_version"));
        assert_eq!(set(1, 2, 0, 3), 0);
        assert_eq!(api::lib_version(), 10_200);
        assert_eq!(set(1, 2, 0, 9), 1);
    }
}

#[test]
fn tensorrt_for_rtx_counts_on_its_own() {
    let sim = Sim::session(Config::default());
    let rtx = TensorRt::new(1, 4, 0).variant(Variant::Rtx);
    sim.reset(Config::default().with_tensorrt(rtx));
    assert_eq!(api::lib_version(), 10_400);
    let setup = setup(rtx, &affine("rtx", rtx, 1.0, 0.0));
    assert_eq!(setup.engine.tensors(), ["x", "y"]);
    let other = affine("other", TensorRt::default(), 1.0, 0.0);
    assert!(setup.runtime.deserialize(&other.to_bytes()).is_none());
    setup.end();
    sim.assert_clean();
}

#[test]
fn a_slot_that_a_version_does_not_have_reports_and_gives_zero() {
    let sim = Sim::session(Config::default());
    for (version, slot) in [((10, 6), 23), ((10, 16), 24), ((11, 1), 23)] {
        let version = TensorRt::new(version.0, version.1, 0);
        sim.reset(Config::default().with_tensorrt(version));
        let setup = setup(version, &affine("slots", version, 1.0, 0.0));
        type Method = unsafe extern "C" fn(usize, usize) -> usize;
        let (this, method) = setup.runtime.slot::<Method>(slot);
        // SAFETY: it is there, and does nothing.
        assert_eq!(unsafe { method(this, 0) }, 0);
        setup.end();
        let reports = sim.finish();
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!(reports[0].kind, ReportKind::Misuse);
        let text = format!("slot {slot} of IRuntime does not exist in version {version}");
        assert_eq!(reports[0].message, text);
    }
}

#[test]
fn a_method_that_is_not_modelled_reports_its_name() {
    let sim = Sim::session(Config::default());
    let version = TensorRt::default();
    let setup = setup(version, &affine("unmodelled", version, 1.0, 0.0));
    assert_eq!(setup.runtime.load_runtime(), 0);
    setup.end();
    let reports = sim.finish();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].kind, ReportKind::Unsupported);
    assert!(reports[0].message.contains("IRuntime::loadRuntime"));
}

#[test]
fn smaller_libraries_run_what_was_made_for_them() {
    let sim = Sim::session(Config::default());
    let plain = affine("plain", TensorRt::default(), 1.0, 0.0);
    let mut compatible = plain.clone();
    compatible.version_compatible = true;
    let mut dispatched = compatible.clone();
    dispatched.host_code = true;
    for (kind, runs) in [
        (Variant::Full, [true, true, true]),
        (Variant::Lean, [false, true, true]),
        (Variant::Dispatch, [false, false, true]),
    ] {
        let version = TensorRt::default().variant(kind);
        sim.reset(Config::default().with_tensorrt(version));
        start();
        let logger = api::Logger::new(version);
        let runtime = api::runtime(&logger, version).unwrap();
        runtime.allow_host_code(true);
        for (spec, runs) in [&plain, &compatible, &dispatched].into_iter().zip(runs) {
            let engine = runtime.deserialize(&spec.to_bytes());
            assert_eq!(engine.is_some(), runs, "{kind:?}");
            if let Some(engine) = engine {
                engine.delete();
            }
        }
        runtime.delete();
        assert_eq!(release(0), OK);
        sim.assert_clean();
    }
}
