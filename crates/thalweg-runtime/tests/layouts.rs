//! Tensors whose dimensions lie in another order than planned.

mod hops;
mod programs;

use hops::Random;
use programs::{runtime, tensor_mut};
use thalweg_core::{
    Kernel, KernelCall, KernelRegistry, Layout, Result, Tensor, TensorView, strides_of,
};
use thalweg_format::{
    Allocation, MethodBuilder, ProgramBuilder, ScalarType, ShapeDynamism, WriteOptions,
};
use thalweg_runtime::{LoadOptions, Optimizations, Program};

const SIZES: [u32; 4] = [1, 2, 2, 3];
const LAST: [u8; 4] = [0, 2, 3, 1];

/// The elements in the logical order.
fn logical(tensor: &TensorView<'_>) -> Vec<f32> {
    let (sizes, data) = (tensor.sizes(), tensor.data::<f32>().unwrap());
    places(sizes, tensor.dim_order())
        .map(|at| data[at])
        .collect()
}

/// Where each element lies, in the logical order.
fn places(sizes: &[usize], order: &[u8]) -> impl Iterator<Item = usize> {
    let (sizes, strides) = (sizes.to_vec(), strides_of(sizes, order).to_vec());
    (0..sizes.iter().product()).map(move |index: usize| {
        let (mut rest, mut at) = (index, 0);
        for dim in (0..sizes.len()).rev() {
            at += rest % sizes[dim] * strides[dim];
            rest /= sizes[dim];
        }
        at
    })
}

fn write(
    call: &KernelCall<'_>,
    position: usize,
    sizes: &[usize],
    x: impl Fn(usize) -> f32,
) -> Result<()> {
    let mut out = call.output(position, sizes)?;
    let places: Vec<usize> = places(sizes, out.dim_order()).collect();
    let data = out.data_mut::<f32>()?;
    for (index, at) in places.into_iter().enumerate() {
        data[at] = x(index);
    }
    Ok(())
}

/// Each element and the one that is as far from the end. Likes channels last.
fn window(call: &KernelCall<'_>) -> Result<()> {
    let a = call.tensor(0)?;
    let x = logical(&a);
    write(call, 1, a.sizes(), |index| {
        x[index] + 2.0 * x[x.len() - 1 - index]
    })
}

fn double(call: &KernelCall<'_>) -> Result<()> {
    let a = call.tensor(0)?;
    let x = logical(&a);
    write(call, 1, a.sizes(), |index| 2.0 * x[index])
}

fn both(call: &KernelCall<'_>) -> Result<()> {
    let [a, b] = [call.tensor(0)?, call.tensor(1)?];
    let [x, y] = [logical(&a), logical(&b)];
    write(call, 2, a.sizes(), |index| x[index] - y[index % y.len()])
}

/// Looks at memory as it lies, and says nothing of orders.
fn memory(call: &KernelCall<'_>) -> Result<()> {
    let a = call.tensor(0)?;
    let mut out = call.output(1, a.sizes())?;
    let reversed = a.data::<f32>()?.iter().rev();
    let each = out.data_mut::<f32>()?.iter_mut().zip(reversed);
    each.enumerate()
        .for_each(|(index, (out, x))| *out = x + index as f32);
    Ok(())
}

fn load(method: MethodBuilder, options: &LoadOptions) -> Program {
    let mut kernels = KernelRegistry::new();
    let unary = |name: &str| format!("t::{name}.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)");
    let kernel = |name: &str, run: fn(&KernelCall<'_>) -> Result<()>| {
        Kernel::new(&unary(name), run).unwrap()
    };
    kernels.add(kernel("window", window).with_layout(|_| Some(Layout::PrefersChannelsLast)));
    kernels.add(kernel("any", double).with_layout(|_| Some(Layout::Any)));
    kernels.add(kernel("double", double).with_layout(|_| Some(Layout::Elementwise)));
    kernels.add(kernel("memory", memory));
    let signature = "t::both.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)";
    let kernel = Kernel::new(signature, both).unwrap();
    kernels.add(kernel.with_layout(|_| Some(Layout::Elementwise)));
    let mut program = ProgramBuilder::new();
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let runtime = runtime().kernels(&kernels).build();
    runtime.load_bytes(bytes, options).unwrap()
}

fn start() -> (MethodBuilder, u32) {
    let mut method = MethodBuilder::new("forward");
    let x = method.tensor(ScalarType::Float, &SIZES);
    method.input(x);
    (method, x)
}

fn new_tensor(method: &mut MethodBuilder) -> u32 {
    method.tensor(ScalarType::Float, &SIZES)
}

/// Another tensor at the place of this one.
fn at_place_of(method: &mut MethodBuilder, tensor: u32) -> u32 {
    let place: Allocation = tensor_mut(method, tensor).allocation.unwrap();
    let other = new_tensor(method);
    tensor_mut(method, other).allocation = Some(place);
    other
}

fn call(method: &mut MethodBuilder, operator: &str, from: u32) -> u32 {
    let to = new_tensor(method);
    method.call(&format!("t::{operator}.out"), &[from, to, to]);
    to
}

fn outputs(program: &Program, seed: usize) -> Vec<Vec<f32>> {
    let data: Vec<f32> = (0..12).map(|i| ((i * 7 + seed) % 13) as f32).collect();
    let x = Tensor::from_slice(&data, &SIZES.map(|size| size as usize)).unwrap();
    let mut method = program.method("forward").unwrap();
    let outputs = method.run(&[(&x).into()]).unwrap();
    let all = (0..outputs.len()).map(|index| logical(&outputs.tensor(index).unwrap()));
    all.collect()
}

/// How many tensors of a program have another order than planned. The answers are the same.
fn reordered(method: impl Fn() -> MethodBuilder) -> usize {
    let chosen = load(method(), &LoadOptions::new());
    let planned = load(
        method(),
        &LoadOptions::new().optimizations(Optimizations::all().channels_last(false)),
    );
    for seed in 0..3 {
        assert_eq!(outputs(&chosen, seed), outputs(&planned, seed));
    }
    let count = |program: &Program| program.schedule("forward").unwrap().channels_last;
    assert_eq!(count(&planned), 0);
    count(&chosen)
}

#[test]
fn what_only_operators_see_that_do_not_mind_has_channels_last_if_one_of_them_likes_it() {
    let count = reordered(|| {
        let (mut method, x) = start();
        let a = call(&mut method, "window", x);
        let b = call(&mut method, "double", a);
        let c = call(&mut method, "any", b);
        let d = call(&mut method, "memory", c);
        method.output(d);
        method
    });
    // `c` is looked at as memory; nothing ties `b` to it.
    assert_eq!(count, 2);
    let count = reordered(|| {
        let (mut method, x) = start();
        let a = call(&mut method, "any", x);
        let b = call(&mut method, "double", a);
        let c = call(&mut method, "any", b);
        method.output(c);
        method
    });
    assert_eq!(count, 0, "nobody likes it");
}

#[test]
fn operators_on_elements_tie_tensors_to_what_stays_as_it_is() {
    for other in 0..4 {
        let count = reordered(|| {
            let (mut method, x) = start();
            let a = call(&mut method, "window", x);
            let b = match other {
                // The input; a tensor that is looked at as memory; one that is not; the same again.
                0 => x,
                1 => call(&mut method, "memory", x),
                2 => call(&mut method, "any", x),
                _ => a,
            };
            let c = new_tensor(&mut method);
            method.call("t::both.out", &[a, b, c, c]);
            let d = call(&mut method, "any", c);
            method.output(d);
            method
        });
        assert_eq!(count, [0, 0, 3, 2][other]);
    }
}

#[test]
fn an_operand_that_lies_the_same_in_both_orders_ties_nothing() {
    for (sizes, expected) in [([1, 2, 1, 1], 2), ([1, 1, 2, 3], 2), ([1, 2, 2, 1], 0)] {
        let count = reordered(|| {
            let (mut method, x) = start();
            // Nothing writes it.
            let other = method.tensor(ScalarType::Float, &sizes);
            let a = call(&mut method, "window", x);
            let b = new_tensor(&mut method);
            method.call("t::both.out", &[a, other, b, b]);
            let c = call(&mut method, "any", b);
            method.output(c);
            method
        });
        assert_eq!(count, expected, "{sizes:?}");
    }
}

#[test]
fn inputs_outputs_and_shapes_that_change_stay_as_planned() {
    let count = reordered(|| {
        let (mut method, x) = start();
        let a = call(&mut method, "window", x);
        method.output(a);
        method
    });
    assert_eq!(count, 0);
    let count = reordered(|| {
        let (mut method, x) = start();
        let a = call(&mut method, "window", x);
        tensor_mut(&mut method, a).dynamism = ShapeDynamism::DynamicBound;
        let b = call(&mut method, "window", a);
        method.output(b);
        method
    });
    assert_eq!(count, 0);
}

#[test]
fn what_is_read_by_another_name_or_has_another_order_already_stays() {
    let count = reordered(|| {
        let (mut method, x) = start();
        let a = call(&mut method, "window", x);
        let view = at_place_of(&mut method, a);
        let b = call(&mut method, "memory", view);
        let c = call(&mut method, "any", a);
        method.output(b);
        method.output(c);
        method
    });
    assert_eq!(count, 0);
    let count = reordered(|| {
        let (mut method, x) = start();
        let a = call(&mut method, "window", x);
        tensor_mut(&mut method, a).dim_order = LAST.to_vec();
        let b = call(&mut method, "any", a);
        method.output(b);
        method
    });
    assert_eq!(count, 0);
}

#[test]
fn a_method_that_jumps_stays_as_planned() {
    let count = reordered(|| {
        let (mut method, x) = start();
        let a = call(&mut method, "window", x);
        let yes = method.bool(true);
        let jump = method.jump_if_false(yes, 0);
        method.land(jump);
        let b = call(&mut method, "any", a);
        method.output(b);
        method
    });
    assert_eq!(count, 0);
}

/// A value of a random program: its kind, and what it is made of.
type Made = (usize, [Option<usize>; 2]);

fn random_values(random: &mut Random) -> Vec<Made> {
    let count = 4 + random.below(12);
    let mut made: Vec<Made> = Vec::new();
    for index in 0..count {
        let mut pick = || match random.below(4) {
            _ if index == 0 => None,
            0 => Some(random.below(index)),
            1 => None,
            _ => Some(index - 1),
        };
        let from = [pick(), pick()];
        // What looks at memory is rare, or nothing would be left to reorder.
        let kind = match random.below(16) {
            kind if kind < 13 => kind % 5,
            kind => kind - 8,
        };
        let is_view = kind >= 6;
        made.push((
            if is_view && from[0].is_none() {
                0
            } else {
                kind
            },
            from,
        ));
    }
    made
}

/// For each value, the one whose location it has, since views are what they are views of, and the last
/// instruction that reads what is there.
fn owners_and_last_uses(made: &[Made]) -> (Vec<usize>, Vec<usize>) {
    let count = made.len();
    let mut owner: Vec<usize> = (0..count).collect();
    let mut last = owner.clone();
    for index in 0..count {
        let (kind, from) = made[index];
        if let (true, Some(from)) = (kind >= 6, from[0]) {
            owner[index] = owner[from];
        }
        let reads = if kind == 4 { 2 } else { 1 };
        for from in from[..reads].iter().flatten() {
            last[owner[*from]] = index;
        }
        last[owner[index]] = index;
    }
    (owner, last)
}

/// A program whose tensors share few places: one is free once nothing reads what is there, by whatever
/// name.
fn random_program(seed: u64) -> MethodBuilder {
    let mut random = Random::new(seed);
    let (mut method, x) = start();
    let kinds = [
        "window",
        "window",
        "any",
        "double",
        "both",
        "memory",
        "view",
        "same place",
    ];
    let made = random_values(&mut random);
    let count = made.len();
    let (owner, mut last) = owners_and_last_uses(&made);
    let outputs = [random.below(count), count - 1];
    for output in outputs {
        last[owner[output]] = usize::MAX;
    }
    let mut places: Vec<(u32, usize)> = Vec::new();
    let (mut place_of, mut tensors) = (vec![0; count], Vec::new());
    for (index, &(kind, from)) in made.iter().enumerate() {
        let free = places.iter().position(|&(_, until)| until < index);
        place_of[index] = match (kind >= 6, free) {
            (true, _) => place_of[owner[index]],
            (false, Some(place)) => place,
            (false, None) => {
                places.push((new_tensor(&mut method), 0));
                places.len() - 1
            }
        };
        let place = &mut places[place_of[index]];
        if kind < 6 {
            place.1 = last[index];
        }
        let tensor = at_place_of(&mut method, place.0);
        tensors.push(tensor);
        let [a, b] = from.map(|from| from.map_or(x, |from| tensors[from]));
        match kinds[kind] {
            "both" => method.call("t::both.out", &[a, b, tensor, tensor]),
            "view" => {
                let sizes = method.int_list(&SIZES.map(i64::from));
                method.call("executorch_prim::et_view.default", &[a, sizes, tensor]);
            }
            // A view that there is no instruction for.
            "same place" => {}
            name => method.call(&format!("t::{name}.out"), &[a, tensor, tensor]),
        }
    }
    for output in outputs {
        method.output(tensors[output]);
    }
    method
}

#[test]
fn programs_made_at_random_have_the_answers_that_they_have_as_planned() {
    let total: usize = (0..2000)
        .map(|seed| reordered(|| random_program(seed)))
        .sum();
    assert!(total > 1000, "only {total} tensors were reordered");
}
