//! A trace says what happened, in order, and changes nothing of it.

mod hops;
mod late;
mod programs;
#[path = "traces/read.rs"]
mod read;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hops::{Maker, moving};
use late::{Chosen, Increment, LateDevice, Shared};
use programs::runtime;
use read::Read;
use thalweg_core::{KernelRegistry, Result, Tensor, bail};
use thalweg_format::{ScalarType, WriteOptions};
use thalweg_runtime::{GraphUse, LoadOptions, Method, MethodOptions, Program, RunOptions, Trace};

fn load(m: Maker, options: &LoadOptions) -> (Program, Arc<Shared>) {
    let bytes = m.build().to_bytes(&WriteOptions::default()).unwrap();
    let (device, shared) = LateDevice::new();
    let mut failing = KernelRegistry::new();
    failing
        .register("t::fail_(Tensor(a!) self) -> Tensor(a!)", |_| {
            bail!(Internal, "as it was asked to: \"quotes\"\n")
        })
        .unwrap();
    failing
        .register("t::panic_(Tensor(a!) self) -> Tensor(a!)", |_| {
            panic!("as it was asked to")
        })
        .unwrap();
    let runtime = runtime()
        .kernels(&moving().unwrap())
        .kernels(&failing)
        .backend("Increment", Increment::new(&shared))
        .backend("Update", Increment::in_place(&shared))
        .device(device)
        .build();
    (runtime.load_bytes(bytes, options).unwrap(), shared)
}

fn method(m: Maker) -> (Method, Arc<Shared>) {
    let (program, shared) = load(m, &LoadOptions::new());
    (program.method("forward").unwrap(), shared)
}

fn run(method: &mut Method, x: f32, options: &RunOptions<'_>) -> Result<Vec<f32>> {
    let x = Tensor::from_slice(&[x; 4], &[2, 2])?;
    let outputs = method.run_with(&[(&x).into()], options)?;
    Ok(outputs.tensor(0)?.data::<f32>()?.to_vec())
}

/// `2 (x + 1) + 1`: to the device and back, to an operator of the host, and there again.
fn two_hops() -> Maker {
    let mut m = Maker::new();
    let x = m.input(2);
    let y = m.hop(x, 2);
    m.double(y);
    let z = m.hop(y, 2);
    m.forward.output(z);
    m
}

const WITHOUT_GRAPHS: &str = "\
host / thread
  forward
    inputs
    et_copy::_h2d_copy.out
    delegate 0 (Increment)
    et_copy::_d2h_copy.out
    t::scale_
      wait for a device
    et_copy::_h2d_copy.out
    delegate 0 (Increment)
    et_copy::_d2h_copy.out
    outputs
      wait for a device
    end of the call
cuda:0: late / stream of thread
  copy to the device
  delegate 0 (Increment)
  copy to the host
  copy to the device
  delegate 0 (Increment)
  copy to the host
";

#[test]
fn a_call_has_each_of_its_instructions_copies_and_delegates_once_and_in_order() {
    let (mut method, _) = method(two_hops());
    let trace = Trace::new();
    let options = RunOptions::new().trace(&trace).graph(GraphUse::Off);
    assert_eq!(run(&mut method, 1.0, &options).unwrap(), [5.0; 4]);
    let read = Read::of(&trace);
    assert_eq!(read.shape(), WITHOUT_GRAPHS);
    assert_eq!(trace.missing(), [""; 0]);

    let wait = &read.all("wait for a device")[0]["args"];
    assert_eq!(wait["why"], "the host writes 16 bytes that a copy uses");
    assert_eq!(wait["device"], "cuda:0");
    assert_eq!(wait["commands since the last wait"], 3);
    assert_eq!(
        wait["last command"],
        "copy to the host of et_copy::_d2h_copy.out (instruction 2)"
    );
    let wait = &read.all("wait for a device")[1]["args"];
    assert_eq!(wait["why"], "the host reads 16 bytes that a copy writes");

    let up = &read.all("copy to the device")[1]["args"];
    assert_eq!(up["bytes"], 16);
    assert_eq!(up["instruction"], 4);
    assert_eq!(up["of"], "et_copy::_h2d_copy.out");
    assert_eq!(up["how"], "copied to cuda:0");
    let delegates = read.all("delegate 0 (Increment)");
    for delegate in delegates {
        assert_eq!(delegate["args"]["backend"], "Increment");
        assert_eq!(delegate["args"]["delegate"], 0);
        assert_eq!(delegate["args"]["method"], "forward");
    }
    let bytes = |name: &str| read.all(name)[0]["args"]["bytes"].as_u64().unwrap();
    assert!(bytes("memory of `forward`, host") >= 16);
    assert!(bytes("memory of `forward`, cuda:0") >= 16);
}

const WITH_GRAPHS: &str = "\
host / thread
  forward
    inputs
    et_copy::_h2d_copy.out
    delegate 0 (Increment)
    et_copy::_d2h_copy.out
    t::scale_
      launch a graph
      wait for a device
    et_copy::_h2d_copy.out
    delegate 0 (Increment)
    et_copy::_d2h_copy.out
    launch a graph
    outputs
      wait for a device
    end of the call
cuda:0: late / stream of thread
  graph
  graph
";

#[test]
fn a_graph_is_one_piece_of_work_and_says_what_is_in_it() {
    let (mut method, shared) = method(two_hops());
    let traces: Vec<Trace> = (0..5).map(|_| Trace::new()).collect();
    for trace in &traces {
        let options = RunOptions::new().trace(trace);
        assert_eq!(run(&mut method, 1.0, &options).unwrap(), [5.0; 4]);
    }
    assert_eq!(shared.launches.load(Ordering::Relaxed), 6);
    // Deferred, and submitted one by one: each command is there.
    let first = Read::of(&traces[0]);
    assert_eq!(first.all("submit a batch").len(), 2);
    let on_device = |shape: &str| shape[shape.find("cuda:0").unwrap()..].to_string();
    assert_eq!(on_device(&first.shape()), on_device(WITHOUT_GRAPHS));
    let second_up = &first.all("copy to the device")[1]["args"];
    assert_eq!(second_up["instruction"], 4);
    let deferred = &first.all("delegate 0 (Increment)")[0]["args"];
    assert_eq!(deferred["deferred commands"], 2);

    let recorded = Read::of(&traces[2]);
    assert_eq!(recorded.all("capture a graph").len(), 2);
    assert_eq!(Read::of(&traces[4]).shape(), WITH_GRAPHS);
    for graph in Read::of(&traces[4]).all("graph") {
        let args = &graph["args"];
        assert_eq!(args["commands"], 3);
        assert_eq!(args["copies to the device"], "1 (16 bytes)");
        assert_eq!(args["copies to the host"], "1 (16 bytes)");
        assert_eq!(args["copies within the device"], "0 (0 bytes)");
        let delegate = args["delegates"][0].as_str().unwrap();
        assert!(
            delegate.starts_with("delegate 0 (Increment) (instruction "),
            "{delegate}"
        );
    }
}

#[test]
fn nothing_is_waited_for_that_would_not_be_and_answers_are_the_same() {
    for graph in [GraphUse::Auto, GraphUse::Off] {
        let mut seen = Vec::new();
        for traced in [false, true] {
            let (mut method, shared) = method(two_hops());
            let traces: Vec<Trace> = (0..5).map(|_| Trace::new()).collect();
            let mut answers = Vec::new();
            for (call, trace) in traces.iter().enumerate() {
                let options = RunOptions::new().graph(graph);
                let options = if traced {
                    options.trace(trace)
                } else {
                    options
                };
                answers.push(run(&mut method, call as f32, &options).unwrap());
            }
            let count = |counter: &std::sync::atomic::AtomicUsize| counter.load(Ordering::Relaxed);
            seen.push((
                answers,
                count(&shared.waits),
                count(&shared.uploads),
                count(&shared.downloads),
                count(&shared.launches),
            ));
            assert_eq!(count(&shared.points) > 0, traced);
        }
        assert_eq!(seen[0], seen[1], "{graph:?}");
    }
}

#[test]
fn outputs_that_stay_on_the_device_are_waited_for_by_whoever_reads_the_trace() {
    let (mut method, shared) = method(two_hops());
    let trace = Trace::new();
    let options = RunOptions::new().trace(&trace).device_outputs(true);
    let x = Tensor::from_slice(&[1f32; 4], &[2, 2]).unwrap();
    method.run_with(&[(&x).into()], &options).unwrap();
    let waits = shared.waits.load(Ordering::Relaxed);
    // That before the operator of the host.
    assert_eq!(waits, 1);
    let read = Read::of(&trace);
    assert_eq!(read.all("delegate 0 (Increment)").len(), 4);
    assert_eq!(read.all("copy to the host").len(), 1);
    let left = read.all("et_copy::_d2h_copy.out");
    assert_eq!(left[1]["args"]["left on the device"], true);
}

#[test]
fn device_work_is_shown_after_it_was_asked_for_and_before_it_was_waited_for() {
    let (mut method, _) = method(two_hops());
    let trace = Trace::new();
    for graph in [GraphUse::Off, GraphUse::Auto] {
        for _ in 0..4 {
            let options = RunOptions::new().trace(&trace).graph(graph);
            run(&mut method, 1.0, &options).unwrap();
        }
    }
    let read = Read::of(&trace);
    let arrows = |ph: &str| -> Vec<(u64, f64)> {
        let arrows = read.events.iter().filter(|event| event["ph"] == ph);
        let mut arrows: Vec<_> = arrows
            .map(|event| (event["id"].as_u64().unwrap(), event["ts"].as_f64().unwrap()))
            .collect();
        arrows.sort_by_key(|(id, _)| *id);
        arrows
    };
    let (asked, done) = (arrows("s"), arrows("f"));
    assert!(asked.len() > 8 * 2, "{}", asked.len());
    assert_eq!(asked.len(), done.len());
    for ((id, asked), (other, done)) in asked.into_iter().zip(done) {
        assert_eq!(id, other);
        assert!(asked <= done, "{asked} {done}");
    }
}

#[test]
fn a_call_that_fails_half_way_gives_what_there_was() {
    let failing = |operator: &str| {
        let mut m = Maker::new();
        let x = m.input(2);
        let y = m.hop(x, 2);
        m.forward.call(operator, &[y, y]);
        let z = m.hop(y, 2);
        m.forward.output(z);
        method(m).0
    };
    for graph in [GraphUse::Auto, GraphUse::Off] {
        let trace = Trace::new();
        let options = RunOptions::new().trace(&trace).graph(graph);
        let mut method = failing("t::fail_");
        run(&mut method, 1.0, &options).unwrap_err();
        let read = Read::of(&trace);
        assert_eq!(read.all("copy to the host").len(), 1);
        let call = &read.all("forward")[0]["args"];
        let error = call["error"].as_str().unwrap();
        assert!(error.contains("instruction 3, t::fail_: as it was asked to: \"quotes\"\n"));
        assert_eq!(read.all("et_copy::_h2d_copy.out").len(), 1);
        assert!(read.all("t::fail_")[0]["args"]["error"].is_string());

        let trace = Trace::new();
        let options = RunOptions::new().trace(&trace).graph(graph);
        let mut method = failing("t::panic_");
        let panicked = std::panic::AssertUnwindSafe(|| run(&mut method, 1.0, &options));
        std::panic::catch_unwind(panicked).unwrap_err();
        let read = Read::of(&trace);
        assert_eq!(read.all("copy to the host").len(), 1);
        // All spans are over, and the next call nests in none of them.
        assert!(!read.text.contains("not over"), "{}", read.text);
    }
}

#[test]
fn times_that_cannot_be_had_are_lacking_and_are_no_errors() {
    let answers = |fail: &dyn Fn(&Shared), trace: &Trace| {
        let (mut method, shared) = method(two_hops());
        fail(&shared);
        let options = RunOptions::new().trace(trace).graph(GraphUse::Off);
        let answer = run(&mut method, 1.0, &options).unwrap();
        assert_eq!(answer, [5.0; 4]);
        shared.points.load(Ordering::Relaxed)
    };
    let trace = Trace::new();
    let points = answers(&|_| (), &trace);
    assert_eq!(points, 12);
    for point in 1..=points {
        let trace = Trace::new();
        let fail = |shared: &Shared| shared.fail_point.store(point, Ordering::Relaxed);
        answers(&fail, &trace);
        let read = Read::of(&trace);
        assert_eq!(trace.missing(), ["a time on cuda:0: there can be no point"]);
        assert!(
            read.text.contains("missing from this trace"),
            "{}",
            read.text
        );
        let work = read.events.iter().filter(|event| event["ph"] == "f");
        assert_eq!(work.count(), 5, "the others are there");
    }
    let trace = Trace::new();
    answers(
        &|shared| shared.fail_times.store(true, Ordering::Relaxed),
        &trace,
    );
    assert_eq!(trace.missing(), ["times on cuda:0: it does not tell"]);
    let read = Read::of(&trace);
    assert_eq!(read.all("t::scale_").len(), 1);
}

#[test]
fn several_calls_are_one_trace_and_each_stream_is_a_track() {
    let (mut method, _) = method(two_hops());
    let trace = Trace::new();
    let stream = Chosen(7);
    let options = RunOptions::new().trace(&trace).graph(GraphUse::Off);
    run(&mut method, 1.0, &options).unwrap();
    // It can be looked at in between.
    assert_eq!(Read::of(&trace).all("forward").len(), 1);
    run(&mut method, 2.0, &options.clone().stream(&stream)).unwrap();
    let read = Read::of(&trace);
    let calls = read.all("forward");
    assert_eq!(calls.len(), 2);
    let number = |call: usize| calls[call]["args"]["call"].as_u64().unwrap();
    assert!(number(0) < number(1));
    let shape = read.shape();
    assert!(shape.contains("late / stream 0x7 of the caller"), "{shape}");
    assert_eq!(shape.matches("copy to the device").count(), 4, "{shape}");
}

#[test]
fn threads_have_tracks_in_a_trace_they_share_and_traces_of_their_own_are_apart() {
    let (program, _) = load(two_hops(), &LoadOptions::new());
    let (shared, own) = (Trace::new(), [Trace::new(), Trace::new()]);
    std::thread::scope(|scope| {
        for (index, own) in own.iter().enumerate() {
            let (program, shared) = (program.clone(), &shared);
            let run_both = move || {
                let mut method = program.method("forward").unwrap();
                for trace in [own, shared] {
                    for _ in 0..=index {
                        let options = RunOptions::new().trace(trace).graph(GraphUse::Off);
                        assert_eq!(run(&mut method, 1.0, &options).unwrap(), [5.0; 4]);
                    }
                }
            };
            let name = format!("worker {index}");
            let thread = std::thread::Builder::new().name(name);
            thread.spawn_scoped(scope, run_both).unwrap();
        }
    });
    for (index, own) in own.iter().enumerate() {
        let read = Read::of(own);
        assert_eq!(read.all("forward").len(), index + 1);
        assert_eq!(read.tracks().len(), 2);
    }
    let read = Read::of(&shared);
    assert_eq!(read.all("forward").len(), 3);
    let tracks = read.tracks();
    for name in ["thread worker 0", "thread worker 1"] {
        assert!(tracks.contains(&format!("host / {name}")), "{tracks:?}");
        let stream = format!("cuda:0: late / stream of {name}");
        assert!(tracks.contains(&stream), "{tracks:?}");
    }
}

const LOADING: &str = "\
host / thread
  read and check
  find data
  load a method
    find devices
    load delegates
      load a delegate
      load a delegate
    plan copies
    make an instance
      memory of the instance
      instance of a delegate
      instance of a delegate
";

#[test]
fn loading_says_where_its_time_goes_and_keeps_no_trace() {
    let trace = Trace::new();
    let (program, _) = load(two_hops(), &LoadOptions::new().trace(&trace));
    let options = MethodOptions::new().trace(&trace);
    program.method_with("forward", &options).unwrap();
    let read = Read::of(&trace);
    // Delegates are loaded by several threads.
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim().to_string());
        let mut lines: Vec<_> = lines.filter(|line| !line.starts_with("host")).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&read.shape()), lines(LOADING), "{}", read.shape());
    let loads = read.all("load a delegate");
    let mut backends: Vec<_> = loads
        .iter()
        .map(|load| load["args"]["backend"].clone())
        .collect();
    backends.sort_by_key(ToString::to_string);
    assert_eq!(backends, ["Increment", "Update"]);
    // What is loaded is there, and another instance says only what it takes.
    let second = Trace::new();
    program
        .method_with("forward", &MethodOptions::new().trace(&second))
        .unwrap();
    let before = read.events.len();
    assert!(Read::of(&second).all("load a delegate").is_empty());
    assert_eq!(Read::of(&trace).events.len(), before);
}

#[test]
fn what_lasts_on_a_device_is_brought_there_once_and_that_is_said() {
    let mut m = Maker::new();
    let x = m.input(2);
    let total = m.forward.state(ScalarType::Float, &[2, 2], 0);
    m.name(total, "a \"cache\"");
    let sum = m.update(total, 2);
    m.copy_to(total, sum);
    let y = m.hop(x, 2);
    m.forward.output(y);
    let (mut method, _) = method(m);
    let trace = Trace::new();
    let options = RunOptions::new().trace(&trace);
    for _ in 0..2 {
        run(&mut method, 1.0, &options).unwrap();
    }
    let read = Read::of(&trace);
    let brought = read.all("copy a persistent buffer");
    assert_eq!(brought.len(), 1);
    assert_eq!(brought[0]["args"]["name"], "a \"cache\"");
    assert_eq!(brought[0]["args"]["to"], "cuda:0");
}

#[test]
fn a_trace_has_a_limit_and_says_how_much_is_not_there() {
    let (mut method, _) = method(two_hops());
    let trace = Trace::with_limit(10);
    let options = RunOptions::new().trace(&trace).graph(GraphUse::Off);
    for _ in 0..3 {
        assert_eq!(run(&mut method, 1.0, &options).unwrap(), [5.0; 4]);
    }
    let read = Read::of(&trace);
    let kept = read
        .events
        .iter()
        .filter(|event| event["ph"] == "X")
        .count();
    assert!(kept <= 10, "{kept}");
    let [missing] = &trace.missing()[..] else {
        panic!("{:?}", trace.missing());
    };
    assert!(
        missing.ends_with("events that came after the limit of the trace"),
        "{missing}"
    );
}

#[test]
fn a_trace_is_saved_or_the_file_is_named() {
    let trace = Trace::new();
    trace.tracer().span("mine").note("key", "value");
    let folder = std::env::temp_dir().join(format!("thalweg-trace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("trace.json");
    trace.save(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let read = Read::of_text(text);
    assert_eq!(read.all("mine")[0]["args"]["key"], "value");
    let error = trace
        .save(folder.join("none").join("trace.json"))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("trace.json: the trace cannot be written"),
        "{error}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}
