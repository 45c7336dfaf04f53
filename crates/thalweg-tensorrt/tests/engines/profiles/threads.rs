//! Several threads with instances of one program.

use super::*;
use thalweg_runtime::Profile;

/// Each thread has an instance of its own, and profiles that are chosen and pinned in turn.
fn threads(driver: &Driver, options: &LoadOptions) {
    let program = two_profiles().load_with(driver, options.clone()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let program = &program;
            scope.spawn(move || {
                let mut method = program.method("forward").unwrap();
                let stream = Stream::new(&driver.device(0).unwrap()).unwrap();
                let there = There::new(driver).unwrap();
                let pins = [Profile::index(0), Profile::index(1)];
                for call in 0..6 {
                    let which = (thread + call / (1 + thread % 3)) % 2;
                    let rows = [[1, 2, 4], [4, 64, 50]][which][call % 3];
                    let mut options = RunOptions::new();
                    if thread % 2 == 0 {
                        options = options.profile(&pins[which]);
                    }
                    if thread % 3 == 0 {
                        options = options.stream(&stream);
                    }
                    if call % 3 == 2 {
                        there.leave(&mut method, rows, options).unwrap();
                    } else {
                        right_with(&mut method, rows, &options);
                    }
                }
                drop(method);
            });
        }
    });
}

#[test]
fn threads_use_different_profiles_of_one_program_at_the_same_time() {
    let own = LoadOptions::new();
    for options in [
        own.clone(),
        own.clone().prepare_profiles(true),
        own.clone().shared_scratch(true),
        own.backend_option(NAME, SINGLE_CONTEXT, true),
    ] {
        on_every_machine(15, |driver| threads(driver, &options));
        let sim = Sim::session(Config::free());
        threads(&open(), &options);
        sim.assert_clean();
    }
}
