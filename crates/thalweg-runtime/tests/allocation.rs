//! A call on static shapes allocates nothing. This test has a file to itself, since it counts the
//! allocations of the whole process.

mod programs;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use programs::{load, vector};
use thalweg_core::Input;
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType};

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_call_on_static_shapes_allocates_nothing() {
    let mut program = ProgramBuilder::new();
    let one = program.constant(1f32.to_le_bytes());
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[4, 2]);
    let one = forward.constant(ScalarType::Float, &[1], one);
    let sum = forward.tensor(ScalarType::Float, &[4, 2]);
    let view = forward.unplanned_tensor(ScalarType::Float, &[8]);
    let sizes = forward.int_list(&[8]);
    let (two, counter) = (forward.double(2.0), forward.int(0));
    let unplanned = forward.unplanned_tensor(ScalarType::Float, &[8]);
    forward.input(x);
    forward.call("t::add.out", &[x, one, sum, sum]);
    forward.call("executorch_prim::et_view.default", &[sum, sizes, view]);
    // In place through a view, over its own input, and into memory that the plan has not.
    forward.call("t::scale_", &[view, two, view]);
    forward.call("t::add.out", &[view, view, view, view]);
    forward.call("t::add.out", &[view, one, unplanned, unplanned]);
    forward.call("t::next", &[counter, counter]);
    forward.output(unplanned);
    let mut method = load(program, forward).unwrap().method("forward").unwrap();

    let x = thalweg_core::Tensor::from_slice(&[1f32; 8], &[4, 2]).unwrap();
    let inputs = [Input::from(&x)];
    // The first call grows what grows.
    method.run(&inputs).unwrap();
    method.run(&inputs).unwrap();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..10 {
        let outputs = method.run(&inputs).unwrap();
        assert_eq!(outputs.tensor(0).unwrap().data::<f32>().unwrap()[0], 9.0);
    }
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    drop(vector(&[1.0]));
    assert!(
        ALLOCATIONS.load(Ordering::Relaxed) > before,
        "the counter counts"
    );
}
