//! Copies that are not needed are not made, and nothing else changes.

mod hops;
mod late;
mod programs;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hops::{DOWNLOAD, Maker, UPLOAD, moving, random_program};
use late::{Increment, LATE, LateDevice, Shared};
use programs::runtime;
use thalweg_core::{DType, Device, DeviceInput, Output};
use thalweg_format::{Program, ScalarType, WriteOptions};
use thalweg_runtime::{GraphUse, LoadOptions, Method, Optimizations, RunOptions};

fn load(program: &Program<'_>, every_copy: bool) -> (Method, Arc<Shared>) {
    let (method, _, shared) = load_on_device(program, every_copy);
    (method, shared)
}

fn load_on_device(
    program: &Program<'_>,
    every_copy: bool,
) -> (Method, Arc<LateDevice>, Arc<Shared>) {
    let (device, shared) = LateDevice::new();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = runtime()
        .kernels(&moving().unwrap())
        .backend("Increment", Increment::new(&shared))
        .backend("Update", Increment::in_place(&shared))
        .device(device.clone())
        .build();
    let options = LoadOptions::new().optimizations(Optimizations::all().residency(!every_copy));
    let program = runtime.load_bytes(bytes, &options).unwrap();
    (program.method("forward").unwrap(), device, shared)
}

fn run(method: &mut Method, x: &[f32]) -> Vec<Vec<f32>> {
    run_with(method, x, GraphUse::Auto)
}

fn run_with(method: &mut Method, x: &[f32], graph: GraphUse) -> Vec<Vec<f32>> {
    let x = thalweg_core::Tensor::from_slice(x, &[x.len() / 2, 2]).unwrap();
    let options = RunOptions::new().graph(graph);
    let outputs = method.run_with(&[(&x).into()], &options).unwrap();
    let outputs = outputs
        .iter()
        .map(|output| output.unwrap().tensor().unwrap());
    outputs
        .map(|output| output.data::<f32>().unwrap().to_vec())
        .collect()
}

/// The same, with the input on the device and the outputs left there.
fn run_on_device(method: &mut Method, device: &LateDevice, x: &[f32]) -> Vec<Vec<f32>> {
    let memory = device.allocate(size_of_val(x)).unwrap();
    let stream = device.default_stream();
    let sizes = [x.len() / 2, 2];
    // SAFETY: the memory stays until the copy is done, and until the call's work is.
    let input = unsafe {
        let bytes = size_of_val(x);
        device
            .upload(memory.address(), x.as_ptr().cast(), bytes, stream)
            .unwrap();
        device.synchronize(stream).unwrap();
        DeviceInput::new(LATE, memory.address(), DType::F32, &sizes).unwrap()
    };
    let options = RunOptions::new().device_outputs(true);
    let outputs = method.run_with(&[input.into()], &options).unwrap();
    let outputs = outputs.iter().map(|output| match output.unwrap() {
        Output::Device(tensor) => {
            let mut numbers = vec![0f32; tensor.len() / 4];
            // SAFETY: the numbers are as many, and stay until the copy is done.
            unsafe {
                let to = numbers.as_mut_ptr().cast();
                device
                    .download(to, tensor.address(), tensor.len(), stream)
                    .unwrap();
            }
            device.synchronize(stream).unwrap();
            numbers
        }
        other => other.tensor().unwrap().data::<f32>().unwrap().to_vec(),
    });
    let outputs = outputs.collect();
    device.synchronize(stream).unwrap();
    outputs
}

/// The numbers of copies to and from the device that the second call makes.
fn transfers(program: &Program<'_>, x: &[f32]) -> [usize; 2] {
    let (mut method, shared) = load(program, false);
    run(&mut method, x);
    shared.uploads.store(0, Ordering::Relaxed);
    shared.downloads.store(0, Ordering::Relaxed);
    let answer = run(&mut method, x);
    let counts = [&shared.uploads, &shared.downloads].map(|count| count.load(Ordering::Relaxed));
    let (mut plain, _) = load(program, true);
    run(&mut plain, x);
    assert_eq!(answer, run(&mut plain, x));
    counts
}

#[test]
fn what_only_passes_through_the_host_is_not_copied() {
    let mut m = Maker::new();
    let mut x = m.host(4);
    m.forward.input(x);
    for _ in 0..5 {
        x = m.hop(x, 4);
    }
    m.forward.output(x);
    assert_eq!(transfers(&m.build(), &[1.0; 8]), [1, 1]);
}

#[test]
fn a_value_is_copied_to_the_device_once_however_many_delegates_take_it() {
    let mut m = Maker::new();
    let x = m.host(4);
    m.forward.input(x);
    let outs: Vec<u32> = (0..3).map(|_| m.hop(x, 4)).collect();
    for out in outs {
        m.forward.output(out);
    }
    assert_eq!(transfers(&m.build(), &[1.0; 8]), [1, 3]);
}

#[test]
fn views_clones_and_leading_rows_of_what_the_device_has_are_no_copies() {
    let mut m = Maker::new();
    let x = m.host(6);
    m.forward.input(x);
    let y = m.hop(x, 6);
    let y = m.clone_of(y, 6);
    let y = m.view_of(y, 6);
    let y = m.rows_of(y, 2, 3);
    let y = m.hop(y, 3);
    m.forward.output(y);
    assert_eq!(transfers(&m.build(), &[1.0; 12]), [1, 1]);
}

#[test]
fn what_the_host_reads_is_copied_once_and_stays_on_the_device() {
    let mut m = Maker::new();
    let x = m.host(4);
    m.forward.input(x);
    let y = m.hop(x, 4);
    let sum = m.host(4);
    m.forward.call("t::add.out", &[y, y, sum, sum]);
    m.forward.call("t::add.out", &[sum, y, sum, sum]);
    let z = m.hop(y, 4);
    m.forward.output(z);
    m.forward.output(sum);
    assert_eq!(transfers(&m.build(), &[1.0; 8]), [1, 2]);
}

#[test]
fn parts_of_parts_that_the_host_reads_are_copied_as_one() {
    let mut m = Maker::new();
    let x = m.host(6);
    m.forward.input(x);
    let y = m.hop(x, 6);
    let clone = m.clone_of(y, 6);
    let part = m.rows_of(y, 1, 4);
    let part = m.rows_of(part, 1, 2);
    m.forward.output(clone);
    m.forward.output(part);
    assert_eq!(transfers(&m.build(), &[1.0; 12]), [1, 1]);
}

#[test]
fn another_name_for_an_input_is_the_input() {
    let mut m = Maker::new();
    let x = m.host(4);
    m.forward.input(x);
    let same = m.clone_of(x, 4);
    let same = m.clone_of(same, 4);
    let y = m.hop(same, 4);
    let z = m.hop(x, 4);
    m.forward.output(y);
    m.forward.output(z);
    let program = m.build();
    assert_eq!(transfers(&program, &[1.0; 8]), [1, 2]);
    let (mut method, device, shared) = load_on_device(&program, false);
    for _ in 0..2 {
        let before = shared.downloads.load(Ordering::Relaxed);
        let answers = run_on_device(&mut method, &device, &[1.0; 8]);
        assert_eq!(answers, [[2.0; 8], [2.0; 8]]);
        // Those that the test makes to look at the outputs.
        assert_eq!(shared.downloads.load(Ordering::Relaxed) - before, 2);
    }
}

/// Three layers, each on fewer rows, in memory that is used again and again: so does an exporter plan.
fn shrinking(look_back: bool) -> [usize; 2] {
    let mut m = Maker::new();
    let x = m.host_at(8, 64);
    m.forward.input(x);
    let (mut from, mut offset, mut rows) = (x, 0, 8);
    let mut first = None;
    for _ in 0..3 {
        let up = m.upload(from, rows);
        let out = m.increment(up, rows);
        let down = m.host_at(rows, offset);
        m.forward.call(DOWNLOAD, &[out, down, down]);
        first = first.or(Some(down));
        offset = 64 - offset;
        rows /= 2;
        let start = m.forward.int(0);
        from = m.host_at(rows, offset);
        m.forward.call("t::rows.out", &[down, start, from, from]);
        offset = 64 - offset;
    }
    if look_back {
        // What is left of the first result is looked at after a later one has taken its place.
        let all = m.host_at(8, 128);
        m.forward
            .call("t::add.out", &[first.unwrap(), first.unwrap(), all, all]);
        m.forward.output(all);
    }
    m.forward.output(from);
    transfers(&m.build(), &[1.0; 16])
}

#[test]
fn memory_that_is_used_again_does_not_bring_back_what_nobody_looks_at() {
    assert_eq!(shrinking(false), [1, 1]);
}

#[test]
fn what_is_left_of_a_value_that_is_overwritten_in_part_can_still_be_looked_at() {
    shrinking(true);
}

#[test]
fn what_the_device_has_is_joined_there() {
    let mut m = Maker::new();
    let x = m.host(4);
    m.forward.input(x);
    let y = m.hop(x, 4);
    let first = m.rows_of(y, 1, 3);
    let z = m.hop(y, 4);
    let both = m.join((first, 3), (z, 4));
    let both = m.hop(both, 7);
    m.forward.output(both);
    assert_eq!(transfers(&m.build(), &[1.0; 8]), [1, 1]);
}

#[test]
fn what_is_joined_is_copied_as_one_if_the_host_reads_it() {
    let mut m = Maker::new();
    let x = m.host(4);
    m.forward.input(x);
    let y = m.hop(x, 4);
    let z = m.hop(y, 4);
    let both = m.join((y, 4), (z, 4));
    m.forward.output(both);
    let again = m.hop(both, 8);
    m.forward.output(again);
    assert_eq!(transfers(&m.build(), &[1.0; 8]), [1, 2]);
}

#[test]
fn a_clone_of_any_shape_of_what_the_device_has_is_no_copy() {
    let mut m = Maker::new();
    let x = m.dynamic(6);
    m.forward.input(x);
    let up = m.dynamic_device(6);
    m.forward.call(UPLOAD, &[x, up, up]);
    let sum = m.dynamic_device(6);
    m.increment_to(up, sum);
    let down = m.dynamic(6);
    m.forward.call(DOWNLOAD, &[sum, down, down]);
    let clone = m.dynamic(6);
    m.forward.call("t::clone.out", &[down, clone, clone]);
    let up = m.dynamic_device(6);
    m.forward.call(UPLOAD, &[clone, up, up]);
    let sum = m.dynamic_device(6);
    m.increment_to(up, sum);
    let down = m.dynamic(6);
    m.forward.call(DOWNLOAD, &[sum, down, down]);
    m.forward.output(down);
    let program = m.build();
    let (mut method, shared) = load(&program, false);
    for rows in [6, 1, 3, 6] {
        let x = vec![1.0; rows * 2];
        for count in [&shared.uploads, &shared.downloads] {
            count.store(0, Ordering::Relaxed);
        }
        assert_eq!(run(&mut method, &x), [vec![3.0; rows * 2]]);
        let counts = [&shared.uploads, &shared.downloads].map(|c| c.load(Ordering::Relaxed));
        assert_eq!(counts, [1, 1], "{rows} rows");
    }
}

#[test]
fn a_clone_of_any_shape_has_that_shape_on_the_host() {
    let mut m = Maker::new();
    let x = m.dynamic(6);
    m.forward.input(x);
    let up = m.dynamic_device(6);
    m.forward.call(UPLOAD, &[x, up, up]);
    let sum = m.dynamic_device(6);
    m.increment_to(up, sum);
    let down = m.dynamic(6);
    m.forward.call(DOWNLOAD, &[sum, down, down]);
    let clone = m.dynamic(6);
    m.forward.call("t::clone.out", &[down, clone, clone]);
    m.forward.output(clone);
    let (mut method, device, _) = load_on_device(&m.build(), false);
    for rows in [6, 1, 3, 6] {
        let x = vec![1.0; rows * 2];
        assert_eq!(run(&mut method, &x), [vec![2.0; rows * 2]]);
    }
    for rows in [6, 1, 3, 6] {
        let x = vec![1.0; rows * 2];
        assert_eq!(
            run_on_device(&mut method, &device, &x),
            [vec![2.0; rows * 2]]
        );
    }
}

#[test]
fn a_state_of_any_shape_keeps_what_a_smaller_one_leaves_of_it() {
    let state = |every_copy: bool| {
        let mut m = Maker::new();
        let x = m.dynamic(6);
        m.forward.input(x);
        let up = m.dynamic_device(6);
        m.forward.call(UPLOAD, &[x, up, up]);
        let sum = m.dynamic_device(6);
        m.increment_to(up, sum);
        let down = m.dynamic(6);
        m.forward.call(DOWNLOAD, &[sum, down, down]);
        let total = m.dynamic(6);
        m.name(total, "total");
        m.forward.call("t::clone.out", &[down, total, total]);
        m.forward.output(down);
        let (mut method, _) = load(&m.build(), every_copy);
        run(&mut method, &[6.0; 12]);
        method.state().reset().unwrap();
        run(&mut method, &[2.0; 4]);
        method.state().read("total").unwrap()
    };
    assert_eq!(state(false), state(true));
}

#[test]
fn what_the_host_has_written_is_copied_again() {
    let mut m = Maker::new();
    let x = m.host(4);
    m.forward.input(x);
    let y = m.hop(x, 4);
    m.double(y);
    let z = m.hop(y, 4);
    m.forward.output(z);
    assert_eq!(transfers(&m.build(), &[1.0; 8]), [2, 2]);
}

#[test]
fn what_lasts_from_call_to_call_is_brought_back_to_the_host() {
    let mut m = Maker::new();
    let x = m.host(2);
    m.forward.input(x);
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    let y = m.hop(total, 2);
    m.forward.call("t::copy_", &[total, y, total]);
    m.forward.output(total);
    let (mut method, _) = load(&m.build(), false);
    for count in [1.0, 2.0, 3.0] {
        assert_eq!(run(&mut method, &[0.0; 4]), [[count; 4]]);
    }
}

#[test]
fn what_a_method_writes_to_shared_state_is_there_for_the_next_one() {
    let mut m = Maker::new();
    let x = m.host(2);
    m.forward.input(x);
    let cache = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(cache, "cache");
    let y = m.hop(x, 2);
    m.forward.call("t::copy_", &[cache, y, cache]);
    m.forward.output(x);
    let (mut method, _) = load(&m.build(), false);
    run(&mut method, &[1.0; 4]);
    let cache = method.state().read("cache").unwrap();
    assert_eq!(
        cache,
        [2f32; 4]
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect::<Vec<_>>()
    );
}

#[test]
fn programs_made_at_random_have_the_answers_that_they_have_with_every_copy() {
    let (mut made, mut left, mut launched) = (0, 0, 0);
    for seed in 0..400 {
        let program = random_program(seed, &[LATE]);
        let ((mut all, copies), (mut few, fewer)) = (load(&program, true), load(&program, false));
        let (mut on_device, device, _) = load_on_device(&program, false);
        // From the third call on, what is the same as before is launched as graphs.
        let count = |shared: &Shared| {
            shared.uploads.load(Ordering::Relaxed) + shared.downloads.load(Ordering::Relaxed)
        };
        for call in 0..5 {
            if call == 2 {
                // What graphs copy is not counted.
                made += count(&copies);
                left += count(&fewer);
            }
            let x: Vec<f32> = (0..8).map(|index| (index + call) as f32).collect();
            let expected = run_with(&mut all, &x, GraphUse::Off);
            assert_eq!(expected, run(&mut few, &x), "seed {seed}, call {call}");
            // Reading a state brings it to the host, so not every state is read.
            if seed.is_multiple_of(4) {
                let state = |method: &Method| method.state().read("total").unwrap();
                assert_eq!(state(&all), state(&few), "seed {seed}, call {call}");
            }
            let answer = run_on_device(&mut on_device, &device, &x);
            assert_eq!(expected, answer, "seed {seed}, call {call}, on the device");
        }
        launched += fewer.launches.load(Ordering::Relaxed);
    }
    assert!(launched > 1000, "{launched}");
    assert!(left * 10 < made * 6, "{left} of {made} copies are left");
}
