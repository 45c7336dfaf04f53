//! Copies that are not needed are not made, and nothing else changes: on programs made at random,
//! under every schedule, and on programs of which the number of copies is known.

use thalweg_core::DeviceId;
use thalweg_cuda::{Device, Driver, Stream};
use thalweg_format::{Program, ScalarType};
use thalweg_runtime::{Method, RunOptions};
use thalweg_simgpu::{Config, Sim};

use crate::elementwise::session;
use crate::hopping::{load, run, run_on_device, transfers};
use crate::hops::{Maker, cuda, random_program};
use crate::{open, real};

#[test]
fn programs_made_at_random_have_the_answers_that_they_have_with_every_copy() {
    if real() {
        let driver = open();
        for seed in 0..100 {
            compare(&driver, seed, &[cuda(0)], None);
        }
        return;
    }
    let sim = session();
    let mut total = [0; 2];
    for seed in 0..1000 {
        // Every fourth goes to and fro between two devices.
        let ids = if seed % 4 == 3 {
            vec![cuda(0), cuda(1)]
        } else {
            vec![cuda(0)]
        };
        sim.reset(Config::seeded(seed).with_devices(ids.len()));
        let counts = compare(&open(), seed, &ids, Some(&sim));
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
        total = [total[0] + counts[0], total[1] + counts[1]];
    }
    let [every, few] = total;
    assert!(few * 10 < every * 7, "{few} of {every} copies are left");
}

/// Runs a program made at random with every copy, without needless ones, and with its input and
/// outputs on the device. The result is how many copies the first two made.
fn compare(driver: &Driver, seed: u64, ids: &[DeviceId], sim: Option<&Sim>) -> [u64; 2] {
    let program = random_program(seed, ids);
    let devices: Vec<Device> = (0..ids.len())
        .map(|at| driver.device(at).unwrap())
        .collect();
    let method = |every_copy: bool| {
        let program = load(&devices, &program, every_copy).unwrap();
        program.method("forward").unwrap()
    };
    let (mut every, mut few, mut on_device) = (method(true), method(false), method(false));
    let count = || sim.map_or(0, |sim| transfers(sim).iter().sum());
    let mut made = [0; 2];
    for call in 0..3 {
        let x: Vec<f32> = (0..8).map(|index| (index + call) as f32).collect();
        let start = count();
        let expected = run(&mut every, &x, &RunOptions::new()).unwrap();
        let between = count();
        // Half of them have a stream for each call, which is gone after it.
        let stream = (seed % 2 == 1).then(|| Stream::new(&devices[0]).unwrap());
        let options = match &stream {
            Some(stream) => RunOptions::new().stream(stream),
            None => RunOptions::new(),
        };
        let answer = run(&mut few, &x, &options).unwrap();
        drop(stream);
        let end = count();
        assert_eq!(expected, answer, "seed {seed}, call {call}");
        // A state that is read is brought to the host for it.
        same_state(&every, &few);
        let read = count();
        let counts = [between - start, end - between];
        // Where host and device write a state in turn, it may travel once more than it has to: which
        // side it is on is decided before the call.
        let once = 2;
        assert!(
            counts[1] <= counts[0] + once,
            "seed {seed}, call {call}: {counts:?}"
        );
        made = [made[0] + counts[0], made[1] + counts[1]];
        // A program that takes its input to another device than it is on says so.
        if let [device] = &devices[..] {
            let (answer, own) = run_on_device(&mut on_device, device, &x).unwrap();
            let made = count() - read;
            assert_eq!(expected, answer, "seed {seed}, call {call}, on the device");
            same_state(&every, &on_device);
            // The input comes to the host if something looks at it there.
            let most = counts[0] + own + 1 + once;
            assert!(
                sim.is_none() || made <= most,
                "seed {seed}, call {call}: {made} of {most}"
            );
        }
    }
    made
}

fn same_state(a: &Method, b: &Method) {
    for name in a.state().names() {
        let read = |method: &Method| method.state().read(&name).unwrap();
        assert_eq!(read(a), read(b));
    }
}

/// A program, and the numbers of copies to and from the device that its second call makes.
struct Counted {
    name: &'static str,
    program: Program<'static>,
    every: [u64; 2],
    few: [u64; 2],
}

#[test]
fn the_number_of_copies_is_known() {
    if real() {
        println!("skipped: it needs the stand-in, which counts");
        return;
    }
    let sim = session();
    for counted in [
        chain(),
        fan_out(),
        read_between(),
        written_between(),
        state_passes(),
    ] {
        for (every_copy, expected) in [(true, counted.every), (false, counted.few)] {
            for seed in 0..20 {
                sim.reset(Config::seeded(seed));
                let device = open().device(0).unwrap();
                let devices = [device];
                let program = load(&devices, &counted.program, every_copy).unwrap();
                let mut method = program.method("forward").unwrap();
                run(&mut method, &[1.0; 12], &RunOptions::new()).unwrap();
                let before = transfers(&sim);
                run(&mut method, &[1.0; 12], &RunOptions::new()).unwrap();
                let after = transfers(&sim);
                let made = [after[0] - before[0], after[1] - before[1]];
                assert_eq!(made, expected, "{}, every copy: {every_copy}", counted.name);
                drop((method, program, devices));
                sim.assert_clean();
            }
        }
    }
}

/// Delegates with a view, a slice and a clone between them.
fn chain() -> Counted {
    let mut m = Maker::new();
    let x = m.input(6);
    let y = m.hop(x, 6);
    let y = m.view_of(y, 6);
    let y = m.hop(y, 6);
    let y = m.rows_of(y, 2, 3);
    let y = m.hop(y, 3);
    let y = m.clone_of(y, 3);
    let y = m.hop(y, 3);
    m.forward.output(y);
    Counted {
        name: "a chain",
        program: m.build(),
        every: [4, 4],
        few: [1, 1],
    }
}

/// Delegates that all take one value.
fn fan_out() -> Counted {
    let mut m = Maker::new();
    let x = m.input(6);
    for _ in 0..3 {
        let y = m.hop(x, 6);
        m.forward.output(y);
    }
    Counted {
        name: "three delegates with one argument",
        program: m.build(),
        every: [3, 3],
        few: [1, 3],
    }
}

/// An operator of the host that looks at a value which a delegate takes, too.
fn read_between() -> Counted {
    let mut m = Maker::new();
    let x = m.input(6);
    let y = m.hop(x, 6);
    let sum = m.host(6);
    m.forward.call("t::add.out", &[y, y, sum, sum]);
    let z = m.hop(y, 6);
    m.forward.output(z);
    m.forward.output(sum);
    Counted {
        name: "the host reads in between",
        program: m.build(),
        every: [2, 2],
        few: [1, 2],
    }
}

/// An operator of the host that changes a value between two delegates.
fn written_between() -> Counted {
    let mut m = Maker::new();
    let x = m.input(6);
    let y = m.hop(x, 6);
    m.double(y);
    let z = m.hop(y, 6);
    let z = m.hop(z, 6);
    m.forward.output(z);
    Counted {
        name: "the host writes in between",
        program: m.build(),
        every: [3, 3],
        few: [2, 2],
    }
}

/// A named buffer that goes through two delegates in each call.
fn state_passes() -> Counted {
    let mut m = Maker::new();
    let x = m.input(6);
    let total = m.forward.state(ScalarType::Float, &[6, 2], 0);
    m.name(total, "total");
    let y = m.hop(total, 6);
    m.forward.call("t::copy_", &[total, y, total]);
    let y = m.hop(total, 6);
    m.forward.call("t::copy_", &[total, y, total]);
    let x = m.hop(x, 6);
    m.forward.output(x);
    Counted {
        name: "state passes through two delegates",
        program: m.build(),
        every: [3, 3],
        few: [1, 1],
    }
}
