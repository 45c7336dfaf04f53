//! What callers do on streams of their own: they go on after calls, and record them.

use std::thread;

use thalweg_baseline::CallGraph;
use thalweg_core::{
    Device as _, DeviceInput, ErrorKind, Input, Output, StreamHandle, Tensor, Value,
};
use thalweg_cuda::{Capture, Device, DeviceArray, GraphExec, Stream};
use thalweg_runtime::{Method, Rule, RunOptions, disable};
use thalweg_simgpu::Config;

use crate::elementwise::session;
use crate::hopping::{load, numbers, run};
use crate::hops::{Maker, cuda};
use crate::{on_every_machine, open, real};

/// A method that adds 1 so many times, on the device.
fn adds(device: &Device, times: usize) -> Method {
    let mut m = Maker::new();
    let x = m.input(2);
    let mut y = m.upload(x, 2);
    for _ in 0..times {
        y = m.increment(y, 2);
    }
    let y = m.download(y, 2);
    m.forward.output(y);
    method(device, m)
}

fn method(device: &Device, m: Maker) -> Method {
    let program = load(std::slice::from_ref(device), &m.build(), false).unwrap();
    program.method("forward").unwrap()
}

fn rows(x: f32) -> Tensor {
    Tensor::from_slice(&[x; 4], &[2, 2]).unwrap()
}

/// An output that is on the device, as another method's input.
fn passed_on<'o>(output: &'o Output<'_>) -> Input<'o> {
    let Output::Device(tensor) = output else {
        panic!("it is on the host");
    };
    // SAFETY: the calls are told to go on after one another, and the methods stay for longer.
    unsafe { DeviceInput::of_output(*tensor) }.into()
}

/// What one method leaves on the device is another one's input, on another stream, again and again.
fn is_passed_on(device: &Device) -> Vec<Vec<f32>> {
    let (mut first, mut second) = (adds(device, 3), adds(device, 4));
    let streams = [(); 2].map(|()| Stream::new(device).unwrap());
    let mut read = None;
    let mut answers = Vec::new();
    for call in 0..5 {
        let x = rows(call as f32);
        let mut options = RunOptions::new().device_outputs(true).stream(&streams[0]);
        if let Some(read) = &read {
            // The second method has to have read what is written anew now.
            options = options.after(read);
        }
        let outputs = first.run_with(&[(&x).into()], &options).unwrap();
        let done = outputs.completion(cuda(0)).unwrap();
        let output = outputs.get(0).unwrap();
        let last = call == 4;
        let options = RunOptions::new()
            .device_outputs(!last)
            .stream(&streams[1])
            .after(&done);
        let outputs = second.run_with(&[passed_on(&output)], &options).unwrap();
        read = Some(outputs.completion(cuda(0)).unwrap());
        if last {
            answers = numbers(outputs).unwrap();
        }
    }
    answers
}

#[test]
fn a_call_goes_on_after_another_on_another_stream() {
    on_every_machine(200, 1, |driver| {
        let device = driver.device(0).unwrap();
        assert_eq!(is_passed_on(&device), [vec![11.0; 4]]);
    });
}

#[test]
fn nobody_goes_on_after_a_call_unless_told_to() {
    if real() {
        println!("skipped: it needs the stand-in, which sees what is missing");
        return;
    }
    let sim = session();
    let omission = disable(Rule::AfterCompletion);
    let found = (0..20).flat_map(|seed| {
        sim.reset(Config::seeded(seed));
        is_passed_on(&open().device(0).unwrap());
        sim.finish()
    });
    let found: Vec<_> = found.collect();
    drop(omission);
    assert!(!found.is_empty(), "nobody misses it");
}

#[test]
fn threads_hand_each_other_what_is_on_the_device() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let (mut first, mut second) = (adds(&device, 3), adds(&device, 4));
        let x = rows(1.0);
        let options = RunOptions::new().device_outputs(true);
        let outputs = first.run_with(&[(&x).into()], &options).unwrap();
        let done = outputs.completion(cuda(0)).unwrap();
        let output = outputs.get(0).unwrap();
        thread::scope(|scope| {
            let (input, second) = (passed_on(&output), &mut second);
            let work = scope.spawn(move || {
                let options = RunOptions::new().after(&done);
                numbers(second.run_with(&[input], &options).unwrap()).unwrap()
            });
            assert_eq!(work.join().unwrap(), [vec![8.0; 4]]);
        });
    });
}

#[test]
fn the_host_and_other_work_go_on_after_a_call() {
    on_every_machine(100, 1, |driver| {
        let device = driver.device(0).unwrap();
        let mut method = adds(&device, 3);
        let x = rows(1.0);
        let (own, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let options = RunOptions::new().device_outputs(true).stream(&own);
        for by_host in [false, true] {
            let outputs = method.run_with(&[(&x).into()], &options).unwrap();
            let done = outputs.completion(cuda(0)).unwrap();
            let Output::Device(tensor) = outputs.get(0).unwrap() else {
                panic!("it is on the host");
            };
            match by_host {
                true => done.wait().unwrap(),
                false => done.before(&other).unwrap(),
            }
            let mut numbers = [0f32; 4];
            let handle = StreamHandle(other.raw().unwrap().expose_provenance());
            // SAFETY: there is room for as many bytes in ordinary memory, which the driver has written
            // when this returns.
            unsafe {
                let to = numbers.as_mut_ptr().cast();
                device.download(to, tensor.address(), 16, handle).unwrap();
            }
            assert_eq!(numbers, [4.0; 4]);
        }
    });
}

#[test]
fn a_completion_is_one_of_a_device_of_the_method() {
    on_every_machine(1, 1, |driver| {
        let device = driver.device(0).unwrap();
        let mut method = adds(&device, 1);
        let x = rows(1.0);
        let outputs = method.run(&[(&x).into()]).unwrap();
        let error = outputs.completion(cuda(3)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::MissingDevice);
        // It outlives the method.
        let done = outputs.completion(cuda(0)).unwrap();
        drop(method);
        done.wait().unwrap();
    });
}

/// Records a call whose input and output are on the device.
fn record(method: &mut Method, array: &DeviceArray, stream: &Stream) -> (GraphExec, u64) {
    let options = RunOptions::new().device_outputs(true).stream(stream);
    let capture = Capture::begin(stream).unwrap();
    let input = array.input().unwrap();
    let outputs = method.run_with(&[input.into()], &options).unwrap();
    let error = outputs.completion(cuda(0)).unwrap_err();
    assert!(error.to_string().contains("knows when it runs"), "{error}");
    let Output::Device(output) = outputs.get(0).unwrap() else {
        panic!("it is on the host");
    };
    let address = output.address().0;
    (capture.end().unwrap().instantiate().unwrap(), address)
}

/// A call becomes a part of the caller's graph, before and after other calls.
fn is_recorded(device: &Device) -> bool {
    let mut method = adds(device, 3);
    let stream = Stream::new(device).unwrap();
    let array = DeviceArray::new(device, rows(1.0).view()).unwrap();
    // Leaves something in flight, on another stream.
    let options = RunOptions::new().device_outputs(true);
    let input = array.input().unwrap();
    method.run_with(&[input.into()], &options).unwrap();
    let (graph, address) = record(&mut method, &array, &stream);
    let mut right = true;
    for _ in 0..3 {
        let mut work = stream.work().unwrap();
        graph.launch(&mut work).unwrap();
        work.finish().unwrap().synchronize().unwrap();
        let mut numbers = [0f32; 4];
        let handle = StreamHandle(stream.raw().unwrap().expose_provenance());
        let from = thalweg_core::DeviceAddress(address);
        // SAFETY: as above; the output's memory is the method's.
        unsafe {
            let to = numbers.as_mut_ptr().cast();
            device.download(to, from, 16, handle).unwrap();
        }
        right &= numbers == [4.0; 4];
        // Calls go on as ever.
        right &= run(&mut method, &[5.0; 4], &RunOptions::new()).unwrap() == [vec![8.0; 4]];
    }
    right
}

#[test]
fn a_call_on_a_stream_that_the_caller_records_is_a_part_of_their_graph() {
    on_every_machine(100, 1, |driver| {
        assert!(is_recorded(&driver.device(0).unwrap()));
    });
}

#[test]
fn a_recorded_call_comes_after_what_came_before_and_is_not_waited_for() {
    if real() {
        println!("skipped: it needs the stand-in, which sees what is missing");
        return;
    }
    let sim = session();
    for rule in [Rule::CaptureAfterCall, Rule::NoEndInCapture] {
        let omission = disable(rule);
        let seen = (0..20).any(|seed| {
            sim.reset(Config::seeded(seed));
            let scenario = || is_recorded(&open().device(0).unwrap());
            let right = std::panic::catch_unwind(scenario).is_ok_and(|right| right);
            !right | !sim.finish().is_empty()
        });
        drop(omission);
        assert!(seen, "nobody misses {rule:?}");
    }
}

#[test]
fn what_no_graph_can_have_is_refused_while_the_caller_records() {
    let x = rows(1.0);
    on_every_machine(5, 1, |driver| {
        let device = driver.device(0).unwrap();
        let array = DeviceArray::new(&device, x.view()).unwrap();
        let stream = Stream::new(&device).unwrap();
        let refused =
            |method: &mut Method, input: Input<'_>, options: &RunOptions<'_>, why: &str| {
                for _ in 0..2 {
                    let capture = Capture::begin(&stream).unwrap();
                    let error = method.run_with(&[input], options).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                    let text = error.to_string();
                    assert!(
                        text.contains("captures the stream") && text.contains(why),
                        "{text}"
                    );
                    drop(capture);
                    // The stream and the method are as before.
                    let options = RunOptions::new().stream(&stream);
                    run(method, &[1.0; 4], &options).unwrap();
                }
            };
        let here = RunOptions::new().device_outputs(true).stream(&stream);
        let mut method = adds(&device, 1);
        run(&mut method, &[1.0; 4], &RunOptions::new()).unwrap();
        refused(
            &mut method,
            (&x).into(),
            &here,
            "copies an input from the host",
        );
        let to_host = RunOptions::new().stream(&stream);
        let input = array.input().unwrap();
        refused(&mut method, input.into(), &to_host, "copies to the host");

        let mut m = Maker::new();
        let x = m.input(2);
        let y = m.hop(x, 2);
        m.double(y);
        let z = m.hop(y, 2);
        m.forward.output(z);
        let mut method = self::method(&device, m);
        let input = array.input().unwrap();
        refused(&mut method, input.into(), &here, "copies to the host");

        // A constant, or a state, that comes to the device when it is first used.
        let mut m = Maker::new();
        let total = m
            .forward
            .state(thalweg_format::ScalarType::Float, &[2, 2], 0);
        m.name(total, "total");
        let x = m.input(2);
        let sum = m.hop(total, 2);
        m.copy_to(total, sum);
        let y = m.hop(x, 2);
        m.forward.output(y);
        let mut method = self::method(&device, m);
        let capture = Capture::begin(&stream).unwrap();
        let input = array.input().unwrap();
        let error = method.run_with(&[input.into()], &here).unwrap_err();
        assert!(
            error.to_string().contains("a call has to come before"),
            "{error}"
        );
        drop(capture);
        assert_eq!(
            numbers(method.run(&[(&rows(1.0)).into()]).unwrap()).unwrap(),
            [vec![2.0; 4]]
        );
    });
}

#[test]
fn a_whole_call_is_one_graph_with_its_copies() {
    on_every_machine(50, 1, |driver| {
        let device = driver.device(0).unwrap();
        let mut m = Maker::new();
        let x = m.input(2);
        let y = m.hop(x, 2);
        m.forward.output(y);
        let program = load(std::slice::from_ref(&device), &m.build(), false).unwrap();
        let call =
            CallGraph::record(&device, &program, "forward", &[Value::Tensor(rows(4.0))]).unwrap();
        assert_eq!(call.copied(), (16, 16));
        for _ in 0..3 {
            call.launch().unwrap();
            let expected: Vec<u8> = [5f32; 4].iter().flat_map(|x| x.to_ne_bytes()).collect();
            assert_eq!(call.outputs().unwrap(), [expected]);
        }
    });
}

#[test]
fn a_call_with_operators_of_the_host_is_no_graph() {
    on_every_machine(1, 1, |driver| {
        let device = driver.device(0).unwrap();
        let mut m = Maker::new();
        let x = m.input(2);
        let y = m.hop(x, 2);
        m.double(y);
        let z = m.hop(y, 2);
        m.forward.output(z);
        let program = load(std::slice::from_ref(&device), &m.build(), false).unwrap();
        let call = CallGraph::record(&device, &program, "forward", &[Value::Tensor(rows(4.0))]);
        let error = call.err().unwrap().to_string();
        assert!(error.contains("copies to the host"), "{error}");
    });
}
