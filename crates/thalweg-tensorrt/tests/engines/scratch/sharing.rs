//! Who shares, how much there is, and when it goes.

use super::*;
use std::collections::BTreeMap;
use thalweg_core::OptionValue;
use thalweg_runtime::GraphUse;
use thalweg_tensorrt::SHARED_SCRATCH;

const ALLOCATE: &str = "cuMemAllocAsync";

#[test]
fn all_engines_of_a_program_have_one_scratch_as_large_as_the_largest_needs() {
    on_every_machine(20, |driver| {
        let machine = Machine::new(driver);
        let links = [doubles(73 << 10), doubles(20 << 10), doubles(281 << 10)];
        let mut method = machine.method(&links, &shared());
        assert_eq!(machine.statistics(), ScratchStatistics::default());
        for rows in [8, 64, 1] {
            check(&mut method, rows, 3);
            let statistics = machine.statistics();
            assert_eq!((statistics.buffers, statistics.bytes), (1, 281 << 10));
            assert_eq!(statistics.idle, 281 << 10);
        }
        let statistics = machine.statistics();
        // The first call needed more at its third engine.
        assert_eq!((statistics.allocations, statistics.growths), (2, 1));
        assert_eq!((statistics.hits, statistics.waits), (2, 0));
    });
}

#[test]
fn what_is_saved_is_the_sum_of_the_requirements_without_the_largest() {
    let sim = Sim::session(Config::seeded(0));
    let sizes = [73 << 10, 20 << 10, 281 << 10];
    let links = sizes.map(doubles);
    let used = |options: &LoadOptions| {
        let driver = open();
        let machine = Machine::new(&driver);
        let mut method = machine.method(&links, options);
        check(&mut method, 64, 3);
        sim.drain();
        let used = sim.used_memory(0);
        drop((method, machine, driver));
        sim.assert_clean();
        used
    };
    let (own, one) = (used(&LoadOptions::new()), used(&shared()));
    assert_eq!(own - one, (73 << 10) + (20 << 10));
}

#[test]
fn programs_and_instances_share_one_scratch_where_their_calls_do_not_overlap() {
    on_every_machine(20, |driver| {
        let machine = Machine::new(driver);
        let small = machine.load(&[doubles(1 << 10), doubles(2 << 10)], &shared());
        let large = machine.load(&[doubles(8 << 10)], &shared());
        let mut methods: Vec<_> = [(&small, 2), (&large, 1), (&small, 2)]
            .map(|(program, times)| (program.method("forward").unwrap(), times))
            .into();
        for _ in 0..3 {
            for (method, times) in &mut methods {
                check(method, 8, *times);
            }
        }
        let statistics = machine.statistics();
        assert_eq!((statistics.buffers, statistics.bytes), (1, 8 << 10));
        // 1 KiB, 2 KiB, 8 KiB; and then it is large enough.
        assert_eq!(statistics.allocations, 3);
    });
}

#[test]
fn by_default_nothing_is_shared_and_nothing_is_different() {
    let sim = Sim::session(Config::seeded(0));
    let calls = |options: Option<LoadOptions>| {
        sim.reset(Config::seeded(0));
        let driver = open();
        let machine = Machine::new(&driver);
        let links = [doubles(1 << 10), doubles(2 << 10)];
        let mut method = machine.method(&links, &options.unwrap_or_default());
        // Loading is the work of several threads, each time in another order.
        let before: BTreeMap<_, _> = sim.call_counts().into_iter().collect();
        (0..3).for_each(|_| check(&mut method, 8, 2));
        let mut counts = sim.call_counts();
        for (function, count) in &mut counts {
            *count -= before.get(function).copied().unwrap_or(0);
        }
        counts.retain(|(_, count)| *count > 0);
        assert_eq!(machine.statistics(), ScratchStatistics::default());
        drop((method, machine, driver));
        sim.assert_clean();
        counts
    };
    let default = calls(None);
    assert_eq!(
        calls(Some(LoadOptions::new().shared_scratch(false))),
        default
    );
    let off = LoadOptions::new().backend_option(NAME, SHARED_SCRATCH, false);
    assert_eq!(calls(Some(off)), default);
}

#[test]
fn the_option_of_the_backend_decides_where_it_is_set() {
    on_every_machine(1, |driver| {
        let machine = Machine::new(driver);
        let buffers = |options: &LoadOptions| {
            let mut method = machine.method(&[doubles(1 << 10)], options);
            check(&mut method, 8, 1);
            machine.statistics().buffers
        };
        let option =
            |options: LoadOptions, value: bool| options.backend_option(NAME, SHARED_SCRATCH, value);
        assert_eq!(buffers(&option(LoadOptions::new(), true)), 1);
        assert_eq!(buffers(&option(shared(), true)), 1);
        assert_eq!(buffers(&option(shared(), false)), 0);
        // Those of others, and of nobody, are left alone.
        let foreign = LoadOptions::new()
            .backend_option("CudaBackend", SHARED_SCRATCH, true)
            .backend_option(NAME, "something_else", "whatever");
        assert_eq!(buffers(&foreign), 0);
    });
}

#[test]
fn an_option_of_another_type_is_an_error_that_says_so() {
    on_every_machine(1, |driver| {
        let machine = Machine::new(driver);
        let load = |key: &str, value: OptionValue| {
            let options = shared().backend_option(NAME, key, value);
            let program = machine.load(&[doubles(1 << 10)], &options);
            program.method("forward").unwrap_err().to_string()
        };
        for value in [1.into(), "true".into()] {
            let error = load(SHARED_SCRATCH, value);
            assert!(error.contains(SHARED_SCRATCH), "{error}");
        }
        for value in [
            0.into(),
            (-1).into(),
            true.into(),
            "two".into(),
            "0 buffers".into(),
        ] {
            let error = load(SHARED_SCRATCH_LIMIT, value);
            assert!(error.contains(SHARED_SCRATCH_LIMIT), "{error}");
        }
    });
}

#[test]
fn engines_with_and_without_live_side_by_side_and_are_the_same_engine() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..20 {
        sim.reset(Config::seeded(seed));
        let driver = open();
        let machine = Machine::new(&driver);
        let links = [doubles(4 << 10)];
        let mut with = machine.method(&links, &shared());
        let mut without = machine.method(&links, &LoadOptions::new());
        let mut again = machine.method(&links, &shared());
        for rows in [8, 64] {
            for method in [&mut with, &mut without, &mut again] {
                check(method, rows, 1);
            }
        }
        assert_eq!(sim.calls("nvinfer.IRuntime.deserializeCudaEngine"), 1);
        assert_eq!(machine.statistics().buffers, 1);
        drop((with, without, again, machine, driver));
        sim.assert_clean();
    }
}

#[test]
fn the_scratch_of_a_call_is_what_its_shapes_need() {
    on_every_machine(20, |driver| {
        let machine = Machine::new(driver);
        let mut method = machine.method(&[doubles_by_shape(16)], &shared());
        let bytes = |method: &mut Method, rows: usize| {
            check(method, rows, 1);
            machine.statistics().bytes
        };
        assert_eq!(bytes(&mut method, 4), 16 * 4 * 8);
        assert_eq!(bytes(&mut method, 64), 16 * 64 * 8);
        // It does not shrink by itself.
        assert_eq!(bytes(&mut method, 4), 16 * 64 * 8);
        assert_eq!(machine.tensorrt.trim_scratch(), 16 * 64 * 8);
        assert_eq!(bytes(&mut method, 4), 16 * 4 * 8);
    });
}

#[test]
fn an_engine_that_does_not_follow_its_shapes_gets_what_its_profile_needs() {
    on_every_machine(5, |driver| {
        let machine = Machine::new(driver);
        let fixed = doubles_by_shape(16).with(|engine| engine.resize_by_shape = false);
        let silent = doubles_by_shape(16).with(|engine| engine.answers_no_scratch = true);
        for link in [fixed, silent] {
            let mut method = machine.method(&[link], &shared());
            check(&mut method, 4, 1);
            assert_eq!(machine.statistics().bytes, 16 * 64 * 8);
        }
    });
}

#[test]
fn scratch_for_streamed_weights_is_in_it() {
    on_every_machine(20, |driver| {
        let machine = Machine::new(driver);
        let streams = doubles(4 << 10).with(|engine| {
            engine.streamable = 1 << 16;
            engine.payload = 1 << 16;
            engine.streaming_scratch = 8 << 10;
        });
        let options = shared().backend_option(NAME, "weight_streaming_budget", 0);
        let mut method = machine.method(&[streams], &options);
        (0..2).for_each(|_| check(&mut method, 8, 1));
        assert_eq!(machine.statistics().bytes, 12 << 10);
    });
}

#[test]
fn an_engine_that_needs_no_scratch_claims_none() {
    let sim = Sim::session(Config::seeded(0));
    let driver = open();
    let machine = Machine::new(&driver);
    let mut method = machine.method(&[doubles(0)], &shared());
    let before = sim.calls(ALLOCATE);
    check(&mut method, 8, 1);
    assert_eq!(sim.calls(ALLOCATE), before);
    assert_eq!(machine.statistics(), ScratchStatistics::default());
    drop((method, machine, driver));
    sim.assert_clean();
}

#[test]
fn its_memory_goes_with_the_last_engine_that_shares_it() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..20 {
        sim.reset(Config::seeded(seed));
        let driver = open();
        let device = driver.device(0).unwrap();
        let machine = Machine::new(&driver);
        let links = [doubles(1 << 20)];
        let used = || {
            device.reclaim().unwrap();
            sim.used_memory(0)
        };
        let mut first = machine.method(&links, &shared());
        let empty = used();
        check(&mut first, 8, 1);
        let mut second = machine.method(&links, &shared());
        check(&mut second, 8, 1);
        drop(first);
        assert!(used() >= empty + (1 << 20));
        assert_eq!(machine.statistics().bytes, 1 << 20);
        drop(second);
        assert!(used() <= empty, "{} {empty}", used());
        assert_eq!(machine.statistics(), ScratchStatistics::default());
        drop((machine, device, driver));
        sim.assert_clean();
    }
}

#[test]
fn trimming_frees_what_no_call_has_and_the_next_call_is_right() {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..50 {
        sim.reset(Config::seeded(seed));
        let driver = open();
        let machine = Machine::new(&driver);
        let mut method = machine.method(&[doubles(1 << 12), doubles(1 << 13)], &shared());
        let options = RunOptions::new().device_outputs(true);
        for rows in [8, 64] {
            // The device may still work with it.
            let x = numbers(1, &[rows, 8]);
            method.run_with(&[(&x).into()], &options).unwrap();
            assert_eq!(machine.tensorrt.trim_scratch(), 1 << 13);
            assert_eq!(machine.statistics().buffers, 0);
            check(&mut method, rows, 2);
        }
        assert_eq!(machine.statistics().buffers, 1);
        drop((method, machine, driver));
        sim.assert_clean();
    }
}

#[test]
fn a_steady_call_waits_once_and_records_once_at_most_and_tells_its_contexts_nothing() {
    let sim = Sim::session(Config::seeded(1).with_eagerness(0.0));
    let driver = open();
    let machine = Machine::new(&driver);
    let links = [doubles(1 << 10), doubles(3 << 10), doubles(2 << 10)];
    let counts = |options: &LoadOptions, stays: bool| {
        let mut method = machine.method(&links, options);
        let x = numbers(1, &[8, 8]);
        let options = RunOptions::new().device_outputs(stays).graph(GraphUse::Off);
        let names = [
            "cuStreamWaitEvent",
            "cuEventRecord",
            "nvinfer.",
            ALLOCATE,
            "cuMemFree",
        ];
        let counts = || {
            names.map(|name| {
                let counts = sim.call_counts().into_iter();
                let named = counts.filter(|(function, _)| function.starts_with(name));
                named.map(|(_, count)| count).sum::<u64>()
            })
        };
        for _ in 0..3 {
            method.run_with(&[(&x).into()], &options).unwrap();
        }
        let before = counts();
        for _ in 0..10 {
            method.run_with(&[(&x).into()], &options).unwrap();
        }
        let after = counts();
        std::array::from_fn::<_, 5, _>(|index| after[index] - before[index])
    };
    let [waits, records, ..] = counts(&LoadOptions::new(), true);
    assert_eq!(
        counts(&shared(), true),
        [waits + 10, records + 10, 30, 0, 0]
    );
    // Where nothing but one is left to share, it is handed on after each engine.
    assert_eq!(
        counts(&limited("1 buffer"), true),
        [waits + 30, records + 30, 30, 0, 0]
    );
    // Where the host waits for its results anyway, nobody has to wait for the scratch.
    let own = counts(&LoadOptions::new(), false);
    assert_eq!(counts(&shared(), false), own);
    drop((machine, driver));
    sim.assert_clean();
}

#[test]
fn an_engine_is_known_to_follow_its_shapes_or_not() {
    on_every_machine(1, |driver| {
        let tensorrt = tensorrt(driver).unwrap();
        let mut model = dynamic();
        let of = |model: &Model| {
            let info = tensorrt.describe(&model.payload(), None).unwrap();
            let profile = &info.profiles[0];
            (profile.scratch, profile.scratch_at_least)
        };
        let (least, most) = (512 + 16 * 8, 512 + 16 * 64 * 8);
        let aligned = |bytes: usize| bytes.next_multiple_of(256);
        assert_eq!(of(&model), (aligned(most), Some(aligned(least))));
        model.engine.resize_by_shape = false;
        assert_eq!(of(&model), (aligned(most), Some(aligned(most))));
        // One shape, or no scratch: there is nothing to say.
        assert_eq!(of(&affine()), (4096, None));
        model.engine.profiles = vec![ProfileSpec::new().shape("x", &[1, 8], &[8, 8], &[64, 8])];
        assert_eq!(of(&model), (0, None));
        // Values that shapes depend on are bounds, too.
        let profile = ProfileSpec::new()
            .values("n", &[1], &[8], &[16])
            .scratch(1024);
        let engine = EngineSpec::new()
            .input("x", DType::F32, &[1])
            .host_input("n", DType::I32, &[1])
            .output(
                "y",
                DType::F32,
                &[thalweg_simgpu::nvinfer::Dim::Value("n".into(), 0)],
            )
            .profile(profile)
            .affine("y", &[(3.0, "x")], 1.0);
        let mut n = input("n", &[1]).of(ScalarType::Int);
        n.on_host = true;
        let ios = [input("x", &[1]), n, output("y", &[16]).dynamic()];
        assert_eq!(of(&Model::new(engine, &ios)), (1024, Some(1024)));
    });
}
