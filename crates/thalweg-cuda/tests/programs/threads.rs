//! Eight threads with an instance each, on one device and on two, under every schedule.

use std::sync::Barrier;

use thalweg_core::Result;
use thalweg_cuda::Device;
use thalweg_format::ScalarType;
use thalweg_runtime::{MethodOptions, Program, RunOptions, State};
use thalweg_simgpu::Config;

use crate::elementwise::session;
use crate::hopping::{load, run};
use crate::hops::{Maker, cuda};
use crate::{on_every_machine, open, real};

const THREADS: usize = 8;

#[test]
fn eight_instances_of_one_program_do_not_disturb_each_other() {
    let program = busy(0);
    on_every_machine(1000, 1, |driver| {
        let device = driver.device(0).unwrap();
        let loaded = load(&[device], &program, false).unwrap();
        at_once(|thread| adds_up(&[&loaded], thread));
    });
}

#[test]
fn nor_do_instances_on_two_devices_that_every_thread_uses_in_turn() {
    let programs = [busy(0), busy(1)];
    on_every_machine(300, 2, |driver| {
        let devices: Vec<Device> = (0..2).map(|at| driver.device(at).unwrap()).collect();
        let loaded: Vec<Program> = programs
            .iter()
            .map(|program| load(&devices, program, false).unwrap())
            .collect();
        at_once(|thread| {
            let (first, second) = (&loaded[thread % 2], &loaded[(thread + 1) % 2]);
            adds_up(&[first, second], thread);
        });
    });
}

#[test]
fn what_eight_instances_add_to_one_state_is_all_there() {
    let program = counting();
    on_every_machine(300, 1, |driver| {
        let device = driver.device(0).unwrap();
        let loaded = load(&[device], &program, false).unwrap();
        let state = State::new();
        at_once(|_| {
            let options = MethodOptions::new().state(&state);
            let mut method = loaded.method_with("forward", &options).unwrap();
            for _ in 0..3 {
                method.run(&[]).unwrap();
            }
        });
        let expected = (3 * THREADS) as f32;
        let expected: Vec<u8> = [expected; 4].iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(state.read("total").unwrap(), expected);
    });
}

#[test]
fn calls_on_a_threads_own_stream_that_share_a_state_only_record_their_ends() {
    if real() {
        println!("skipped: it needs the stand-in, which counts");
        return;
    }
    let sim = session();
    sim.reset(Config::seeded(1));
    let device = open().device(0).unwrap();
    let loaded = load(&[device], &counting(), false).unwrap();
    let options = MethodOptions::new().state(&State::new());
    let mut methods = [(); 2].map(|()| loaded.method_with("forward", &options).unwrap());
    let counts = || ["cuEventRecord", "cuStreamWaitEvent"].map(|name| sim.calls(name));
    // The first call brings the state there.
    methods[0].run(&[]).unwrap();
    let before = counts();
    for method in &mut methods {
        for _ in 0..3 {
            method.run(&[]).unwrap();
        }
    }
    // One record is the delegate's, and one is the call's, for the instance and the state.
    assert_eq!(counts(), [before[0] + 12, before[1]]);
    // Another thread's own stream is another one, although its handle is the same.
    std::thread::scope(|scope| {
        scope
            .spawn(|| methods[0].run(&[]).map(drop))
            .join()
            .unwrap()
            .unwrap();
    });
    let [_, waits] = counts();
    assert!(waits > before[1]);
    assert_eq!(
        methods[0].state().read("total").unwrap()[..4],
        8f32.to_ne_bytes()
    );
    drop((methods, options, loaded));
    sim.assert_clean();
}

/// A state that stays on the device, and grows by 1.
fn counting() -> thalweg_format::Program<'static> {
    let mut m = Maker::new();
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "total");
    let more = m.hop(total, 2);
    m.forward.call("t::copy_", &[total, more, total]);
    m.build()
}

/// Delegates with moves, an operator of the host and a total that lasts between them.
fn busy(device: i8) -> thalweg_format::Program<'static> {
    let mut m = Maker::on(&[cuda(device)]);
    let x = m.input(4);
    let total = m.forward.state(ScalarType::Float, &[4, 2], 0);
    let y = m.hop(x, 4);
    let y = m.clone_of(y, 4);
    let y = m.hop(y, 4);
    m.double(y);
    let z = m.hop(y, 4);
    let z = m.view_of(z, 4);
    let sum = m.host(4);
    m.forward.call("t::add.out", &[total, z, sum, sum]);
    m.forward.call("t::copy_", &[total, sum, total]);
    m.forward.output(y);
    m.forward.output(total);
    m.build()
}

/// Two calls of an instance of each of some programs like [`busy`], in turn.
fn adds_up(programs: &[&Program], thread: usize) {
    let methods = programs.iter().map(|program| program.method("forward"));
    let mut methods: Vec<_> = methods.collect::<Result<_>>().unwrap();
    let mut total = 0.0;
    for call in 0..2 {
        let x = (thread * 10 + call) as f32;
        let y = (x + 2.0) * 2.0;
        total += y + 1.0;
        for method in &mut methods {
            let outputs = run(method, &[x; 8], &RunOptions::new()).unwrap();
            assert_eq!(
                outputs,
                [[y; 8], [total; 8]],
                "thread {thread}, call {call}"
            );
        }
    }
}

/// Runs something on all threads, which start together.
fn at_once(work: impl Fn(usize) + Sync) {
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(thread);
            });
        }
    });
}
