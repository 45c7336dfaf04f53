//! Graphs of operators that are not sound: errors with their places, and no panics.

mod fusing;
mod graph_backend;
#[allow(dead_code, reason = "only the device is used here")]
mod late;
mod programs;

use graph_backend::{bytes, graph_runtime, load_one, one_delegate, spec, two_adds};
use late::{LATE, LateDevice};
use programs::vector;
use thalweg_core::{Error, ErrorKind, Subgraph, TensorSpec};
use thalweg_format::{ScalarType, WriteOptions};
use thalweg_runtime::LoadOptions;

fn error(graphs: fn(u8) -> Subgraph, options: &LoadOptions) -> Error {
    load_one(graphs, options).method("forward").unwrap_err()
}

#[test]
fn a_position_that_the_instruction_does_not_have_is_an_error_with_its_place() {
    fn third(_: u8) -> Subgraph {
        let mut graph = two_adds(0);
        graph.argument(2);
        graph
    }
    let error = error(third, &LoadOptions::new());
    assert_eq!(error.kind(), ErrorKind::InvalidProgram);
    assert_eq!(
        error.to_string(),
        "method `forward`, instruction 0, delegate 0 (Graphs): value 4 of the graph: it is argument \
         2, and the instruction has 2"
    );
}

#[test]
fn a_use_before_the_definition_is_an_error_with_its_place() {
    fn unwritten(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let [x, out] = [0, 1].map(|position| graph.argument(position));
        let sum = graph.intermediate(spec(&[2]));
        graph.named_node("early", "t::add.out", &[sum, x, out, out]);
        graph.node("t::add.out", &[x, x, sum, sum]);
        graph
    }
    let place =
        "method `forward`, instruction 0, t::add.out, node 0 `early` of delegate 0 (Graphs): ";
    let text = error(unwritten, &LoadOptions::new()).to_string();
    assert_eq!(
        text,
        format!("{place}value 2 of the graph is read before a node writes it")
    );
    fn undefined(_: u8) -> Subgraph {
        let mut other = two_adds(0);
        let foreign = other.scalar(1);
        let mut graph = Subgraph::new();
        let [x, out] = [0, 1].map(|position| graph.argument(position));
        graph.named_node("early", "t::add.out", &[x, foreign, out, out]);
        graph
    }
    let text = error(undefined, &LoadOptions::new()).to_string();
    assert_eq!(text, format!("{place}value 4 is used before it is defined"));
    fn list(_: u8) -> Subgraph {
        let mut graph = two_adds(0);
        let foreign = two_adds(0).tensor_list(&[]);
        let foreign = [foreign, two_adds(0).scalar(1)];
        graph.tensor_list(&foreign);
        graph
    }
    let error = error(list, &LoadOptions::new());
    assert_eq!(error.kind(), ErrorKind::InvalidProgram);
}

#[test]
fn arguments_that_do_not_fit_their_operator_are_an_error_with_its_place() {
    fn few(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let [x, out] = [0, 1].map(|position| graph.argument(position));
        let two = graph.scalar(2);
        graph.node("t::add.out", &[x, x, out, out]);
        graph.node("t::add.out", &[x, two, out, out]);
        graph
    }
    let error = error(few, &LoadOptions::new());
    assert_eq!(error.kind(), ErrorKind::InvalidProgram);
    assert_eq!(error.place().instruction, Some(0));
    assert!(
        error.to_string().contains("node 1 of delegate 0"),
        "{error}"
    );
}

#[test]
fn a_constant_of_the_wrong_size_or_that_is_written_is_an_error() {
    fn short(_: u8) -> Subgraph {
        let mut graph = two_adds(0);
        graph.constant(spec(&[3]), bytes(&[1.0, 10.0]).into());
        graph
    }
    let text = error(short, &LoadOptions::new()).to_string();
    assert!(
        text.contains("a constant of 12 bytes has 8 bytes"),
        "{text}"
    );
    fn written(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let x = graph.argument(0);
        let constant = graph.constant(spec(&[2]), bytes(&[1.0, 10.0]).into());
        graph.node("t::add.out", &[x, x, constant, constant]);
        graph
    }
    let text = error(written, &LoadOptions::new()).to_string();
    assert!(
        text.contains("value 1 of the graph is a constant"),
        "{text}"
    );
}

#[test]
fn all_operators_that_the_runtime_lacks_are_named_with_their_nodes() {
    fn unknown(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        graph.named_node("a", "t::unknown.out", &[]);
        graph.node("t::other.out", &[]);
        graph.node("t::unknown.out", &[]);
        graph
    }
    let error = error(unknown, &LoadOptions::new());
    assert_eq!(error.kind(), ErrorKind::Missing);
    assert_eq!(
        error.to_string(),
        "method `forward`: it needs what this runtime does not have: the operators t::other.out, \
         t::unknown.out\n  t::other.out: node 1 of delegate 0 (Graphs)\n  t::unknown.out: node 0 `a` \
         of delegate 0 (Graphs)"
    );
}

#[test]
fn memory_that_a_graph_asks_for_is_limited() {
    fn huge(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let x = graph.argument(0);
        let sum = graph.intermediate(spec(&[1 << 40]));
        graph.node("t::add.out", &[x, x, sum, sum]);
        graph
    }
    let error = error(huge, &LoadOptions::new());
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert_eq!(error.place().instruction, Some(0));
    // Capacities, and dim orders, are the graph's to say, and not believed.
    fn small(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        let x = graph.argument(0);
        let sum = graph.intermediate(TensorSpec {
            capacity: 4,
            ..spec(&[2])
        });
        graph.node("t::add.out", &[x, x, sum, sum]);
        graph
    }
    let options = LoadOptions::new();
    let error = load_one(small, &options).method("forward").unwrap_err();
    assert!(error.to_string().contains("has a capacity of 4"), "{error}");
    fn order(_: u8) -> Subgraph {
        let mut graph = Subgraph::new();
        graph.intermediate(TensorSpec {
            dim_order: [1].into(),
            ..spec(&[2])
        });
        graph
    }
    let error = load_one(order, &options).method("forward").unwrap_err();
    assert!(error.to_string().contains("is not an order"), "{error}");
}

#[test]
fn a_graph_on_arguments_of_a_device_is_refused() {
    let (mut program, mut method) = one_delegate();
    let arena = method.arena(LATE);
    let there = method.tensor_in(arena, ScalarType::Float, &[2]);
    let host = method.tensor(ScalarType::Float, &[2]);
    method.call_delegate(0, &[there, host]);
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let (device, _) = LateDevice::new();
    let runtime = graph_runtime(two_adds).device(device).build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    let error = program.method("forward").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.place().instruction, Some(1));
    assert!(error.to_string().contains("argument 0 is on"), "{error}");
}

#[test]
fn an_error_of_a_node_in_a_call_says_which_it_is() {
    fn fails(_: u8) -> Subgraph {
        let mut graph = two_adds(0);
        let out = graph.argument(1);
        graph.named_node("last", "t::fail", &[out, out]);
        graph
    }
    let mut method = load_one(fails, &LoadOptions::new())
        .method("forward")
        .unwrap();
    let error = method.run(&[(&vector(&[1.0, 2.0])).into()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "method `forward`, instruction 0, t::fail, node 2 `last` of delegate 0 (Graphs): it fails, \
         always"
    );
}
