//! Operators and programs for tests.

#![allow(dead_code, reason = "every test file uses some of it")]

use thalweg_core::{Dims, KernelCall, Result, Tensor};
use thalweg_format::{MethodBuilder, ProgramBuilder, Tensor as FileTensor, Value, WriteOptions};
use thalweg_runtime::{LoadOptions, Program, Runtime, RuntimeBuilder};

/// A runtime with a handful of operators on f32.
pub(crate) fn runtime() -> RuntimeBuilder {
    build(Runtime::builder()).unwrap()
}

fn build(builder: RuntimeBuilder) -> Result<RuntimeBuilder> {
    builder
        .kernel(
            "t::add.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)",
            add,
        )?
        .kernel("t::scale_(Tensor(a!) self, float by) -> Tensor(a!)", scale)?
        .kernel("t::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)", copy)?
        .kernel("t::panic_if(bool it) -> ()", |call| {
            assert!(!call.bool(0)?, "it was asked to");
            Ok(())
        })?
        .kernel("t::next(int a) -> int", |call| {
            call.set(1, call.int(0)? + 1)
        })?
        .kernel("t::less(int a, int b) -> bool", |call| {
            call.set(2, call.int(0)? < call.int(1)?)
        })?
        .kernel(
            "t::sum.out(Tensor[] list, *, Tensor(a!) out) -> Tensor(a!)",
            sum,
        )?
        .kernel("t::split(Tensor a, *, Tensor(a!)[] out) -> ()", split)?
        .kernel(
            "t::fill.out(int[] size, float value, *, Tensor(a!) out) -> Tensor(a!)",
            fill,
        )?
        .kernel("t::fail(Tensor(a!) self) -> Tensor(a!)", |_| {
            thalweg_core::bail!(Operator, "it fails, always")
        })?
        .kernel(
            "executorch_prim::et_view.default(Tensor a, int[] size, *, Tensor(a!) out) -> ()",
            view,
        )
}

fn add(call: &KernelCall<'_>) -> Result<()> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let mut out = call.output(2, a.sizes())?;
    let operands = a.data::<f32>()?.iter().zip(b.data::<f32>()?.iter().cycle());
    for (out, (a, b)) in out.data_mut::<f32>()?.iter_mut().zip(operands) {
        *out = a + b;
    }
    Ok(())
}

fn scale(call: &KernelCall<'_>) -> Result<()> {
    let by = call.double(1)? as f32;
    for element in call.in_place(0)?.data_mut::<f32>()? {
        *element *= by;
    }
    Ok(())
}

fn copy(call: &KernelCall<'_>) -> Result<()> {
    let src = call.tensor(1)?;
    call.in_place(0)?
        .data_mut::<f32>()?
        .copy_from_slice(src.data()?);
    Ok(())
}

fn sum(call: &KernelCall<'_>) -> Result<()> {
    let list = call.tensor_list(0)?;
    let first = list.get(0)?;
    let mut out = call.output(1, first.sizes())?;
    let out = out.data_mut::<f32>()?;
    out.fill(0.0);
    for tensor in list.iter() {
        for (out, element) in out.iter_mut().zip(tensor?.data::<f32>()?) {
            *out += element;
        }
    }
    Ok(())
}

/// Each output gets one element.
fn split(call: &KernelCall<'_>) -> Result<()> {
    let a = call.tensor(0)?;
    for (index, &element) in a.data::<f32>()?.iter().enumerate() {
        call.output_in_list(1, index, &[1])?.data_mut::<f32>()?[0] = element;
    }
    Ok(())
}

fn fill(call: &KernelCall<'_>) -> Result<()> {
    let sizes = sizes(call.int_list(0)?)?;
    let value = call.double(1)? as f32;
    call.output(2, &sizes)?.data_mut::<f32>()?.fill(value);
    Ok(())
}

fn view(call: &KernelCall<'_>) -> Result<()> {
    call.alias(2, 0, &sizes(call.int_list(1)?)?)
}

fn sizes(list: &[i64]) -> Result<Dims> {
    let mut sizes = Dims::new();
    for &size in list {
        sizes.push(size as usize)?;
    }
    Ok(sizes)
}

/// A program with one method, loaded.
pub(crate) fn load(program: ProgramBuilder, method: MethodBuilder) -> Result<Program> {
    load_methods(program, [method])
}

/// A program, loaded.
pub(crate) fn load_methods(
    mut program: ProgramBuilder,
    methods: impl IntoIterator<Item = MethodBuilder>,
) -> Result<Program> {
    for method in methods {
        program.method(method);
    }
    let bytes = program
        .build()
        .unwrap()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    runtime().build().load_bytes(bytes, &LoadOptions::new())
}

/// The tensor behind a value, to change what the builder has no function for.
pub(crate) fn tensor_mut(method: &mut MethodBuilder, value: u32) -> &mut FileTensor<'static> {
    match &mut method.edit().values[value as usize] {
        Value::Tensor(tensor) => tensor,
        other => panic!("{other:?} is not a tensor"),
    }
}

/// A tensor of one dimension.
pub(crate) fn vector(data: &[f32]) -> Tensor {
    Tensor::from_slice(data, &[data.len()]).unwrap()
}
