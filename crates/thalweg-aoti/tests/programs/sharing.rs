//! Sharing between delegates, methods and instances.

use std::collections::BTreeSet;

use thalweg_simgpu::WorkKind;

use super::*;

/// The number of loaded libraries. Files in memory are told apart by their inodes.
fn loaded_libraries() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let lines = maps
        .lines()
        .filter(|line| line.contains("memfd:thalweg-library"));
    let files: BTreeSet<_> = lines
        .filter_map(|line| line.split_whitespace().nth(4))
        .collect();
    files.len()
}

#[test]
fn delegates_with_the_same_library_share_it_and_the_last_one_unloads_it() {
    let Some(case) = case("et1.4.1-hybrid_cuda_cpu") else {
        return;
    };
    let sim = Sim::session(Config::seeded(0));
    on_machine(&sim, Config::seeded(1), &case.name, |driver| {
        let backend = CudaBackend::new(driver).unwrap();
        let program = case.load_with(driver, &backend).unwrap();
        let inputs = &case.runs("forward")[0];
        let mut first = program.method("forward").unwrap();
        // Eight delegates, four of which are the same.
        assert_eq!(loaded_libraries(), 5);
        let mut second = program.method("forward").unwrap();
        assert_eq!(loaded_libraries(), 5);
        run(&mut first, inputs).unwrap();
        drop(first);
        run(&mut second, inputs).unwrap();
        drop(second);
        assert_eq!(loaded_libraries(), 5);
        drop(program);
        assert_eq!(loaded_libraries(), 0);
    });
}

#[test]
fn constants_are_uploaded_once_and_what_may_change_once_for_each_instance() {
    let sim = Sim::session(Config::seeded(0));
    // The bytes of weights, and those of buffers.
    for (name, weights, buffers) in [
        ("et1.5.1-mlp", 4 * (2 * 256 * 1024 + 1024 + 256), 0),
        ("et1.4.1-mlp", 4 * (2 * 256 * 1024 + 1024 + 256), 0),
        (
            "et1.5.1-kv_decode",
            4 * (192 * 64 + 192 + 64 * 64 + 64),
            2 * 8192,
        ),
    ] {
        let Some(case) = case(name) else {
            return;
        };
        on_machine(&sim, Config::seeded(2), &name, |driver| {
            let program = case.load(driver).unwrap();
            let uploaded = || {
                sim.drain();
                let log = sim.log().into_iter();
                let copies = log.filter(|done| done.kind == WorkKind::HostToDevice);
                copies.map(|done| done.bytes).sum::<u64>()
            };
            let mut instances = Vec::new();
            for count in 1..4 {
                instances.push(program.method("forward").unwrap());
                assert_eq!(uploaded(), weights + count * buffers, "{name}");
            }
        });
    }
}

#[test]
fn methods_share_constants() {
    let Some(case) = case("et1.5.1-two_methods") else {
        return;
    };
    let sim = Sim::session(Config::seeded(0));
    on_machine(&sim, Config::seeded(3), &case.name, |driver| {
        let program = case.load(driver).unwrap();
        let methods: Vec<_> = ["prefill", "decode"]
            .map(|name| program.method(name).unwrap())
            .into();
        sim.drain();
        let copies = sim
            .log()
            .into_iter()
            .filter(|done| done.kind == WorkKind::HostToDevice);
        let bytes: u64 = copies.map(|done| done.bytes).sum();
        assert_eq!(bytes, 4 * (2 * 64 * 128 + 128 + 64));
        drop(methods);
    });
}

#[test]
fn instances_run_at_the_same_time() {
    let sim = Sim::session(Config::free());
    for case in cases() {
        on_machine(&sim, Config::free(), &case.name, |driver| {
            let program = case.load(driver).unwrap();
            for name in case.methods() {
                let inputs = &case.runs(&name)[0];
                std::thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| {
                            let mut method = program.method(&name).unwrap();
                            for _ in 0..5 {
                                run(&mut method, inputs).unwrap();
                            }
                        });
                    }
                });
            }
        });
    }
}
