//! Delegates that are graphs of operators.

mod fusing;
mod graph_backend;
mod programs;
#[path = "traces/read.rs"]
mod read;

use graph_backend::{bytes, load_built, load_one, one_delegate, spec, two_adds};
use programs::vector;
use read::Read;
use thalweg_core::{ErrorKind, Subgraph};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType};
use thalweg_runtime::{
    LoadOptions, Method, Optimizations, Profile, Program, RunOptions, StepExecution, Trace,
};

fn run(method: &mut Method, x: [f32; 2]) -> Vec<f32> {
    let x = vector(&x);
    let outputs = method.run(&[(&x).into()]).unwrap();
    let output = outputs.tensor(0).unwrap();
    output.data::<f32>().unwrap().to_vec()
}

fn hows(program: &Program) -> Vec<StepExecution> {
    let schedule = program.schedule("forward").unwrap();
    schedule.steps.iter().map(|step| step.execution).collect()
}

#[test]
fn a_graph_of_two_operators_answers_as_the_operators_in_the_program_do() {
    let mut plain = MethodBuilder::new("forward");
    let mut program = ProgramBuilder::new();
    let [x, sum, out] = [(); 3].map(|()| plain.tensor(ScalarType::Float, &[2]));
    let data = program.constant(bytes(&[1.0, 10.0]));
    let constant = plain.constant(ScalarType::Float, &[2], data);
    plain.input(x);
    plain.call("t::add.out", &[x, x, sum, sum]);
    plain.call("t::add.out", &[sum, constant, out, out]);
    plain.output(out);
    program.method(plain);
    for optimizations in [Optimizations::all(), Optimizations::none()] {
        let options = LoadOptions::new().optimizations(optimizations);
        let plain = load_built(program.clone().build().unwrap(), two_adds, &options);
        let graph = load_one(two_adds, &options);
        let mut methods = [plain, graph].map(|program| program.method("forward").unwrap());
        for x in [[1.0, 2.0], [-3.0, 0.5]] {
            let [expected, found] = methods.each_mut().map(|method| run(method, x));
            assert_eq!(expected, found);
            assert_eq!(found, [2.0 * x[0] + 1.0, 2.0 * x[1] + 10.0]);
        }
    }
}

#[test]
fn constants_fold_across_the_border_of_a_graph() {
    // A constant of the program, doubled in the graph, and once more in the program.
    fn twice(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let [from, to] = [0, 1].map(|position| graph.argument(position));
        let middle = graph.intermediate(spec(&[2]));
        graph.node("t::twice.out", &[from, middle, middle]);
        graph.node("t::twice.out", &[middle, to, to]);
        graph
    }
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let data = program.constant(bytes(&[1.0, 10.0]));
    let mut method = MethodBuilder::new("forward");
    let [x, a, b, out] = [(); 4].map(|()| method.tensor(ScalarType::Float, &[2]));
    let constant = method.constant(ScalarType::Float, &[2], data);
    method.input(x);
    let delegate = method.delegate("Graphs", payload, &[]);
    method.call_delegate(delegate, &[constant, a]);
    method.call("t::twice.out", &[a, b, b]);
    method.call("t::add.out", &[x, b, out, out]);
    method.output(out);
    program.method(method);
    let program = load_built(program.build().unwrap(), twice, &LoadOptions::new());
    let folded = [
        StepExecution::Folded,
        StepExecution::Folded,
        StepExecution::Folded,
        StepExecution::Host,
    ];
    assert_eq!(hows(&program), folded);
    let mut method = program.method("forward").unwrap();
    assert_eq!(run(&mut method, [1.0, 2.0]), [9.0, 82.0]);
}

#[test]
fn epilogues_fuse_across_the_border_of_a_graph() {
    fn join(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let [x, out] = [0, 1].map(|position| graph.argument(position));
        let joined = graph.intermediate(spec(&[2]));
        let by = graph.scalar(2.0);
        graph.node("t::join.out", &[x, x, joined, joined]);
        graph.node("t::times.out", &[joined, by, out, out]);
        graph
    }
    let (mut program, mut method) = one_delegate();
    let out = method.tensor(ScalarType::Float, &[2]);
    let by = method.double(3.0);
    let before = method.edit().outputs.pop().unwrap();
    method.call("t::times.out", &[before, by, out, out]);
    method.output(out);
    program.method(method);
    let program = program.build().unwrap();
    let loaded = load_built(program.clone(), join, &LoadOptions::new());
    assert_eq!(
        hows(&loaded),
        [
            StepExecution::Host,
            StepExecution::Fused,
            StepExecution::Fused
        ]
    );
    let separate = LoadOptions::new().optimizations(Optimizations::none());
    let separate = load_built(program, join, &separate);
    assert_eq!(hows(&separate), [StepExecution::Host; 3]);
    for program in [loaded, separate] {
        let mut method = program.method("forward").unwrap();
        assert_eq!(run(&mut method, [1.0, 10.0]), [66.0, 66.0]);
    }
}

#[test]
fn intermediates_share_memory_when_they_are_not_used_together() {
    fn chain(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let [x, out] = [0, 1].map(|position| graph.argument(position));
        let mut last = x;
        for _ in 0..10 {
            let next = graph.intermediate(spec(&[2]));
            graph.node("t::add.out", &[last, x, next, next]);
            last = next;
        }
        graph.node("t::add.out", &[last, x, out, out]);
        graph
    }
    // The tensors of the program, and two intermediates at a time.
    let fits = LoadOptions::new().memory_limit(24 + 128);
    let mut method = load_one(chain, &fits).method("forward").unwrap();
    assert_eq!(run(&mut method, [1.0, 2.0]), [12.0, 24.0]);
    let program = load_one(chain, &LoadOptions::new().memory_limit(24 + 127));
    let error = program.method("forward").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}

#[test]
fn a_view_in_a_graph_keeps_the_memory_of_what_it_is_a_view_of() {
    fn views(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let [x, out] = [0, 1].map(|position| graph.argument(position));
        let [first, other] = [(); 2].map(|()| graph.intermediate(spec(&[2])));
        let view = graph.intermediate(spec(&[1, 2]));
        let again = graph.intermediate(spec(&[2]));
        let (flat, row) = (graph.int_list(&[2]), graph.int_list(&[1, 2]));
        graph.node("t::add.out", &[x, x, first, first]);
        graph.node("executorch_prim::et_view.default", &[first, row, view]);
        graph.node("executorch_prim::et_view.default", &[view, flat, again]);
        graph.node("t::add.out", &[x, x, other, other]);
        graph.node("t::add.out", &[other, x, other, other]);
        graph.node("t::add.out", &[again, other, out, out]);
        graph
    }
    let mut method = load_one(views, &LoadOptions::new())
        .method("forward")
        .unwrap();
    for _ in 0..2 {
        assert_eq!(run(&mut method, [1.0, 10.0]), [5.0, 50.0]);
    }
}

#[test]
fn an_output_that_is_a_view_of_an_intermediate_keeps_its_value() {
    // The view is of what is computed first; the second call of the graph comes before it is read.
    fn view(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let [x, out] = [0, 1].map(|position| graph.argument(position));
        let sum = graph.intermediate(spec(&[2]));
        let flat = graph.int_list(&[2]);
        graph.node("t::add.out", &[x, x, sum, sum]);
        graph.node("executorch_prim::et_view.default", &[sum, flat, out]);
        graph
    }
    let (mut program, mut method) = one_delegate();
    let first = method.edit().outputs.pop().unwrap();
    let [second, out] = [(); 2].map(|()| method.tensor(ScalarType::Float, &[2]));
    method.call_delegate(0, &[first, second]);
    method.call("t::add.out", &[first, second, out, out]);
    method.output(out);
    program.method(method);
    let program = load_built(program.build().unwrap(), view, &LoadOptions::new());
    let mut method = program.method("forward").unwrap();
    assert_eq!(run(&mut method, [1.0, 10.0]), [6.0, 60.0]);
}

#[test]
fn instances_and_methods_share_a_graph() {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    for name in ["forward", "other"] {
        let mut method = MethodBuilder::new(name);
        let [x, middle, out] = [(); 3].map(|()| method.tensor(ScalarType::Float, &[2]));
        method.input(x);
        let delegate = method.delegate("Graphs", payload, &[]);
        method.call_delegate(delegate, &[x, middle]);
        method.call_delegate(delegate, &[middle, out]);
        method.output(out);
        program.method(method);
    }
    let program = load_built(program.build().unwrap(), two_adds, &LoadOptions::new());
    let mut methods = ["forward", "forward", "other"].map(|name| program.method(name).unwrap());
    for x in [[1.0, 2.0], [0.0, 0.0]] {
        for method in &mut methods {
            let twice = |x: f32, add: f32| 2.0 * (2.0 * x + add) + add;
            assert_eq!(run(method, x), [twice(x[0], 1.0), twice(x[1], 10.0)]);
        }
    }
}

#[test]
fn jumps_over_graphs_and_back_to_them_land_where_the_program_says() {
    // A loop that calls the graph three times, and a jump over one that is never called.
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let mut method = MethodBuilder::new("forward");
    let [x, out] = [(); 2].map(|()| method.tensor(ScalarType::Float, &[2]));
    let [count, zero, three] = [0, 0, 3].map(|int| method.int(int));
    let [more, never] = [(); 2].map(|()| method.bool(false));
    method.input(x);
    let delegate = method.delegate("Graphs", payload, &[]);
    let over = method.jump_if_false(never, 0);
    method.call_delegate(delegate, &[x, x]);
    method.land(over);
    let start = method.next_instruction();
    method.call_delegate(delegate, &[x, out]);
    method.call("t::copy_", &[x, out, x]);
    method.call("t::next", &[count, count]);
    method.call("t::less", &[three, count, more]);
    method.jump_if_false(more, start);
    method.call_delegate(delegate, &[x, out]);
    method.move_value(zero, count);
    method.output(out);
    program.method(method);
    let program = load_built(program.build().unwrap(), two_adds, &LoadOptions::new());
    let schedule = program.schedule("forward").unwrap();
    let instructions: Vec<usize> = schedule.steps.iter().map(|step| step.instruction).collect();
    assert_eq!(instructions, [0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8]);
    let mut method = program.method("forward").unwrap();
    let mut expected = [1.0f32, 2.0];
    for _ in 0..5 {
        expected = [2.0 * expected[0] + 1.0, 2.0 * expected[1] + 10.0];
    }
    for _ in 0..2 {
        assert_eq!(run(&mut method, [1.0, 2.0]), expected);
    }
}

/// Delegate 0 is a graph, 1 is opaque, 2 is a graph, and 3 is opaque.
fn mixed() -> Program {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let mut method = MethodBuilder::new("forward");
    let mut last = method.tensor(ScalarType::Float, &[2]);
    method.input(last);
    for backend in ["Graphs", "Opaque", "Graphs", "Opaque"] {
        let next = method.tensor(ScalarType::Float, &[2]);
        let delegate = method.delegate(backend, payload, &[]);
        method.call_delegate(delegate, &[last, next]);
        last = next;
    }
    method.output(last);
    method.call("t::fail", &[last, last]);
    program.method(method);
    load_built(program.build().unwrap(), two_adds, &LoadOptions::new())
}

#[test]
fn opaque_delegates_beside_graphs_keep_their_numbers() {
    let program = mixed();
    let schedule = program.schedule("forward").unwrap();
    let steps = schedule.steps.iter();
    let steps: Vec<_> = steps.map(|step| (step.instruction, &*step.name)).collect();
    assert_eq!(
        steps,
        [
            (0, "t::add.out"),
            (0, "t::add.out"),
            (1, "delegate 1 (Opaque)"),
            (2, "t::add.out"),
            (2, "t::add.out"),
            (3, "delegate 3 (Opaque)"),
            (4, "t::fail"),
        ]
    );
    let mut method = program.method("forward").unwrap();
    let mut run = |x: f32, options: &RunOptions<'_>| {
        let x = vector(&[x, 1.0]);
        method.run_with(&[(&x).into()], options).unwrap_err()
    };
    let error = run(1.0, &RunOptions::new());
    assert_eq!(error.place().instruction, Some(4));
    let error = run(-1.0, &RunOptions::new());
    assert_eq!(error.place().instruction, Some(1));
    assert_eq!(
        error.place().operator.as_deref(),
        Some("delegate 1 (Opaque)")
    );
    // Its number is the program's, and it has two profiles.
    let profile = Profile::Automatic.for_delegate(3, 2);
    let error = run(1.0, &RunOptions::new().profile(profile));
    let text = "delegate 3 (Opaque, `opaque`) has profiles 0 to 1";
    assert!(error.to_string().contains(text), "{error}");
    let profile = Profile::Automatic.for_delegate(2, 0);
    let error = run(1.0, &RunOptions::new().profile(profile));
    let text = "delegate 2 (Graphs) has no profiles";
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn traces_show_nodes_with_the_numbers_of_the_program() {
    let mut method = mixed().method("forward").unwrap();
    let trace = Trace::new();
    let x = vector(&[1.0, 2.0]);
    let options = RunOptions::new().trace(&trace);
    method.run_with(&[(&x).into()], &options).unwrap_err();
    let read = Read::of(&trace);
    let nodes: Vec<(u64, u64, &str)> = read
        .all("t::add.out")
        .iter()
        .map(|event| {
            let args = &event["args"];
            assert_eq!(args["backend"], "Graphs");
            let number = |key: &str| args[key].as_u64().unwrap();
            let node = args["node"].as_str().unwrap();
            (number("instruction"), number("delegate"), node)
        })
        .collect();
    let bias = "node 1 `bias`";
    assert_eq!(
        nodes,
        [
            (0, 0, "node 0"),
            (0, 0, bias),
            (2, 2, "node 0"),
            (2, 2, bias)
        ]
    );
    let opaque = read.all("opaque");
    let instructions: Vec<_> = opaque
        .iter()
        .map(|event| &event["args"]["instruction"])
        .collect();
    assert_eq!(instructions, [1, 3]);
}
