//! A backend whose delegates are graphs of operators, and one whose delegates are opaque.

#![allow(dead_code, reason = "every test file uses some of it")]

use std::sync::Arc;

use thalweg_core::{
    Backend, Call, DType, Delegate, DelegateInstance, DelegateSpec, Kernel, LoadedDelegate, Result,
    StateBuffers, Subgraph, TensorSpec, bail,
};
use thalweg_format::{
    MethodBuilder, Program as FileProgram, ProgramBuilder, ScalarType, WriteOptions,
};
use thalweg_runtime::{LoadOptions, Program, RuntimeBuilder};

use crate::fusing;
use crate::programs::runtime;

/// A backend that makes a graph of each payload.
pub(crate) struct Graphs(fn(u8) -> Subgraph);

impl Backend for Graphs {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        Ok(LoadedDelegate::Graph((self.0)(spec.payload()[0])))
    }
}

/// A backend whose delegates add 100 times their index, and fail on negative input.
pub(crate) struct Opaque;

pub(crate) struct AddIndex(f32);

impl Backend for Opaque {
    fn load(&self, spec: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        Ok(Arc::new(AddIndex(spec.index() as f32 * 100.0)).into())
    }
}

impl Delegate for AddIndex {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(Self(self.0)))
    }

    fn name(&self) -> Option<&str> {
        Some("opaque")
    }

    fn profile_count(&self) -> usize {
        2
    }
}

impl DelegateInstance for AddIndex {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let profile = call.profile().unwrap_or(0) as f32;
        let arguments = call.arguments(&[1])?;
        let x = arguments.tensor(0)?;
        let x = x.data::<f32>()?;
        if x[0] < 0.0 {
            bail!(Delegate, "it is negative");
        }
        let mut out = arguments.output(1, &[2])?;
        for (out, x) in out.data_mut::<f32>()?.iter_mut().zip(x) {
            *out = x + self.0 + profile * 1000.0;
        }
        Ok(())
    }
}

pub(crate) fn spec(sizes: &[usize]) -> TensorSpec {
    TensorSpec::new(DType::F32, sizes).unwrap()
}

pub(crate) fn bytes(data: &[f32]) -> Vec<u8> {
    data.iter()
        .flat_map(|element| element.to_ne_bytes())
        .collect()
}

/// (x + x) + [1, 10].
pub(crate) fn two_adds(_: u8) -> Subgraph {
    let mut graph = Subgraph::new();
    let [x, out] = [0, 1].map(|position| graph.argument(position));
    let sum = graph.intermediate(spec(&[2]));
    let constant = graph.constant(spec(&[2]), bytes(&[1.0, 10.0]).into());
    graph.node("t::add.out", &[x, x, sum, sum]);
    graph.named_node("bias", "t::add.out", &[sum, constant, out, out]);
    graph
}

pub(crate) fn load_built(
    program: FileProgram<'_>,
    graphs: fn(u8) -> Subgraph,
    options: &LoadOptions,
) -> Program {
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = graph_runtime(graphs).build();
    runtime.load_bytes(bytes, options).unwrap()
}

/// A runtime with both backends, and a pure operator.
pub(crate) fn graph_runtime(graphs: fn(u8) -> Subgraph) -> RuntimeBuilder {
    let twice = Kernel::new(
        "t::twice.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let a = call.tensor(0)?;
            let mut out = call.output(1, a.sizes())?;
            for (out, a) in out.data_mut::<f32>()?.iter_mut().zip(a.data::<f32>()?) {
                *out = 2.0 * a;
            }
            Ok(())
        },
    );
    let mut kernels = fusing::kernels(true);
    kernels.add(twice.unwrap().pure());
    runtime()
        .kernels(&kernels)
        .backend("Graphs", Graphs(graphs))
        .backend("Opaque", Opaque)
}

/// A method whose delegate, with the payload 0, computes its output from its input.
pub(crate) fn one_delegate() -> (ProgramBuilder, MethodBuilder) {
    let mut program = ProgramBuilder::new();
    let payload = program.payload(vec![0]);
    let mut method = MethodBuilder::new("forward");
    let [x, out] = [(); 2].map(|()| method.tensor(ScalarType::Float, &[2]));
    method.input(x);
    let delegate = method.delegate("Graphs", payload, &[]);
    method.call_delegate(delegate, &[x, out]);
    method.output(out);
    (program, method)
}

pub(crate) fn load_one(graphs: fn(u8) -> Subgraph, options: &LoadOptions) -> Program {
    let (mut program, method) = one_delegate();
    program.method(method);
    load_built(program.build().unwrap(), graphs, options)
}
