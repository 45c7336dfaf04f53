//! Outputs that nothing looks at.

mod programs;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use programs::{runtime, tensor_mut, vector};
use thalweg_core::{Kernel, KernelRegistry};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg_runtime::LoadOptions;

const BOTH: &str = "t::both.out(Tensor a, *, Tensor(a!) out, Tensor(b!) other) -> ()";

/// What the outputs at positions 1 and 2 of `t::both.out` are said to be, as bits, in a method that
/// `finish` ends. It is given the two, and a tensor for a result.
fn unread(finish: impl FnOnce(&mut MethodBuilder, [u32; 3])) -> usize {
    let seen = Arc::new(AtomicUsize::new(usize::MAX));
    let kernel = {
        let seen = seen.clone();
        Kernel::new(BOTH, move |call| {
            let bit = |position: usize| usize::from(call.is_unused(position));
            seen.store(bit(1) + 2 * bit(2), Ordering::Relaxed);
            for position in [1, 2] {
                let mut out = call.output(position, &[2])?;
                out.data_mut::<f32>()?.fill(position as f32);
            }
            Ok(())
        })
    };
    let mut kernels = KernelRegistry::new();
    kernels.add(kernel.unwrap());
    let mut method = MethodBuilder::new("forward");
    let [x, a, b, c] = [(); 4].map(|()| method.tensor(ScalarType::Float, &[2]));
    method.input(x);
    method.call("t::both.out", &[x, a, b]);
    finish(&mut method, [a, b, c]);
    let mut program = ProgramBuilder::new();
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = runtime().kernels(&kernels).build();
    let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
    let mut method = program.method("forward").unwrap();
    let x = vector(&[1.0, 2.0]);
    method.run(&[(&x).into()]).unwrap();
    seen.load(Ordering::Relaxed)
}

#[test]
fn an_output_that_nothing_reads_is_said_to_be_unread() {
    assert_eq!(unread(|method, [a, _, _]| method.output(a)), 0b10);
    assert_eq!(unread(|method, [_, b, _]| method.output(b)), 0b01);
}

#[test]
fn an_output_that_an_instruction_or_the_caller_reads_is_not() {
    let both = |method: &mut MethodBuilder, [a, b, _]: [u32; 3]| {
        method.output(a);
        method.output(b);
    };
    assert_eq!(unread(both), 0);
    let added = |method: &mut MethodBuilder, [a, b, c]: [u32; 3]| {
        method.call("t::add.out", &[a, b, c, c]);
        method.output(c);
    };
    assert_eq!(unread(added), 0);
}

#[test]
fn an_output_that_is_read_by_another_name_is_not() {
    let viewed = |method: &mut MethodBuilder, [a, b, c]: [u32; 3]| {
        let place = tensor_mut(method, b).allocation;
        tensor_mut(method, c).allocation = place;
        method.output(a);
        method.output(c);
    };
    assert_eq!(unread(viewed), 0);
}

#[test]
fn where_a_method_jumps_all_outputs_are_taken_to_be_read() {
    let jumping = |method: &mut MethodBuilder, [a, ..]: [u32; 3]| {
        let yes = method.bool(true);
        let jump = method.jump_if_false(yes, 0);
        method.land(jump);
        method.output(a);
    };
    assert_eq!(unread(jumping), 0);
}
