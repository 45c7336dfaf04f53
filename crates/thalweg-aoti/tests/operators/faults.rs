//! Injected failures: the operator fails, and the next call is right.

use thalweg_aoti::{Harness, HarnessTensor, WeightFormat};
use thalweg_core::{DType, Result};
use thalweg_cuda::Driver;
use thalweg_simgpu::{Config, Sim};

use super::{bytes, harness, real, standin};

/// Does something twice, with any call failing.
fn survives(
    arguments: impl Fn(&Harness) -> Result<Vec<HarnessTensor>>,
    call: impl Fn(&Harness, &[HarnessTensor]) -> Result<Vec<u8>>,
) {
    if real() {
        println!("skipped: a real driver's calls do not fail");
        return;
    }
    let sim = Sim::session(Config::seeded(0));
    standin::register(&sim);
    let expected = std::cell::OnceCell::new();
    let scenario = |_: &Sim| -> Result<()> {
        let harness = Harness::new(&Driver::open(Some(Sim::path()))?, 1)?;
        let arguments = arguments(&harness)?;
        let first = call(&harness, &arguments);
        let second = call(&harness, &arguments);
        let complete = harness.stream.synchronize();
        complete.or_else(|_| harness.stream.synchronize())?;
        drop(arguments);
        let expected = expected.get_or_init(|| first.as_ref().unwrap().clone());
        match (&first, &second) {
            (Err(first), Err(second)) => panic!("{first}, and then {second}"),
            (Ok(found), _) | (_, Ok(found)) => assert_eq!(found, expected),
        }
        first.and(second).map(drop)
    };
    sim.for_each_fault(&Config::seeded(5), scenario, |fault, result, reports| {
        assert!(reports.is_empty(), "{fault:?} ({result:?}): {reports:#?}");
        assert!(fault.is_some() || result.is_ok(), "{result:?}");
    });
}

#[test]
fn of_matmuls() {
    survives(
        |harness| {
            let ones = bytes(&vec![half::bf16::ONE; 256]);
            let codes: Vec<u8> = (0..16 * 128).map(|at: usize| at as u8).collect();
            let steps = bytes(&[half::f16::from_f32(0.5); 16]);
            Ok(vec![
                harness.contiguous(DType::BF16, &[1, 256], &ones)?,
                harness.contiguous(DType::U8, &[16, 128], &codes)?,
                harness.contiguous(DType::U8, &[16, 8], &codes[..128])?,
                harness.contiguous(DType::F16, &[16, 1], &steps)?,
                harness.contiguous(DType::U8, &[16, 8], &codes[..128])?,
                harness.contiguous(DType::F16, &[16, 1], &steps)?,
            ])
        },
        |harness, arguments| {
            let weights: Vec<_> = arguments[1..].iter().map(Some).collect();
            let product = harness.matmul(WeightFormat::Int4, Some(&arguments[0]), &weights, 32)?;
            harness.bytes(&product)
        },
    );
}

#[test]
fn of_sorting() {
    survives(
        |harness| {
            let numbers: Vec<u8> = (0..3000u32).map(|at| (at * 37) as u8).collect();
            Ok(vec![harness.contiguous(DType::U8, &[3000], &numbers)?])
        },
        |harness, arguments| {
            let (sorted, indices) = harness.sort(Some(&arguments[0]), 0, false)?;
            Ok([harness.bytes(&sorted)?, harness.bytes(&indices)?].concat())
        },
    );
}

#[test]
fn of_random_numbers() {
    survives(
        |_| Ok(Vec::new()),
        |harness, _| {
            // Those of a second call are others; that they are there is enough.
            let drawn = harness.rand(&[100], None)?;
            Ok(vec![u8::from(harness.bytes(&drawn)?.len() == 400)])
        },
    );
}

#[test]
fn an_older_gpu_is_refused_with_what_it_has() {
    if real() {
        return;
    }
    let sim = Sim::session(Config::seeded(0));
    standin::register(&sim);
    let mut config = Config::seeded(0);
    config.capability = (7, 5);
    sim.reset(config);
    let driver = Driver::open(Some(Sim::path())).unwrap();
    {
        let harness = harness(&driver);
        let error = harness.rand(&[4], None).unwrap_err().to_string();
        assert!(
            error.contains("`aoti_torch_cuda_rand`: this needs a GPU of compute capability 8.0")
                && error.contains("has 7.5"),
            "{error}"
        );
    }
    sim.assert_clean();
}

#[test]
fn what_was_loaded_is_not_loaded_again_and_nothing_waits() {
    if real() {
        return;
    }
    let sim = Sim::session(Config::seeded(0));
    standin::register(&sim);
    let driver = Driver::open(Some(Sim::path())).unwrap();
    let harness = harness(&driver);
    let draw = || drop(harness.bytes(&harness.rand(&[4], None).unwrap()).unwrap());
    draw();
    let loads = sim.calls("cuModuleLoadData");
    let (waits, allocations) = (sim.calls("cuStreamSynchronize"), sim.calls("cuMemAlloc"));
    for _ in 0..5 {
        draw();
    }
    assert_eq!(sim.calls("cuModuleLoadData"), loads);
    assert_eq!(sim.calls("cuMemAlloc"), allocations);
    // Only what reads the numbers waits.
    assert_eq!(sim.calls("cuStreamSynchronize"), waits + 5);
}
