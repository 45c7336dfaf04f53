//! Programs of CPU operators that are made at random, against plain loops. All numbers are small
//! integers, so that every answer is exact.
//!
//! The programs share memory as exporters plan it: a place is used again as soon as nothing reads what
//! was there.

use thalweg::format::{Allocation, MethodBuilder, ProgramBuilder, ScalarType, Value, WriteOptions};
use thalweg::info::StepExecution;
use thalweg::{LoadOptions, Optimizations, Program, RunOptions, Runtime, Tensor};
use thalweg_testing::SplitMix;

/// How many programs are made.
const SEEDS: u64 = 400;

/// So many instructions a program has.
const STEPS: usize = 24;

#[test]
fn programs_of_random_operators_have_exact_answers_however_they_are_loaded() {
    let runtime = Runtime::builder().threads(1).build();
    let (mut absorbed, mut folded, mut shared) = (0, 0, 0);
    for seed in 0..SEEDS {
        let recipe = Recipe::random(seed);
        let (bytes, reused) = recipe.program();
        shared += reused;
        let load = |options: LoadOptions| runtime.load_bytes(bytes.clone(), &options).unwrap();
        let programs = [
            load(LoadOptions::new()),
            load(LoadOptions::new().optimizations(Optimizations::all().fusion(false))),
            load(LoadOptions::new().optimizations(Optimizations::all().constant_folding(false))),
        ];
        absorbed += count(&programs[0], StepExecution::Fused);
        folded += count(&programs[0], StepExecution::Folded);
        for (which, program) in programs.iter().enumerate() {
            let mut method = program.method("forward").unwrap();
            for call in 0..3 {
                let input = recipe.input(call);
                let x = Tensor::from_slice(&input.data, &input.sizes).unwrap();
                let options = RunOptions::new().threads(1 + which);
                let outputs = method.run_with(&[(&x).into()], &options).unwrap();
                for (at, expected) in recipe.expected(&input).iter().enumerate() {
                    let output = outputs.tensor(at).unwrap();
                    let what = format!("seed {seed}, load {which}, call {call}, output {at}");
                    assert_eq!(output.sizes(), expected.sizes, "{what}: {recipe:?}");
                    assert_eq!(
                        output.data::<f32>().unwrap(),
                        expected.data,
                        "{what}: {recipe:?}"
                    );
                }
            }
        }
    }
    assert!(absorbed > 200, "only {absorbed} instructions were absorbed");
    assert!(
        folded > 200,
        "only {folded} instructions were computed once"
    );
    assert!(shared > 1000, "only {shared} places were used again");
}

fn count(program: &Program, how: StepExecution) -> usize {
    let steps = program.schedule("forward").unwrap().steps;
    steps.iter().filter(|step| step.execution == how).count()
}

/// A tensor of f32 in the usual order.
#[derive(Clone, Debug)]
struct Array {
    sizes: Vec<usize>,
    data: Vec<f32>,
}

/// A program: value 0 is the input, the next are constants, and each step makes one.
#[derive(Debug)]
struct Recipe {
    input: Vec<usize>,
    constants: Vec<Array>,
    steps: Vec<(Step, Vec<usize>)>,
    outputs: Vec<usize>,
}

/// What makes the values of a step. Where values could grow, they are clamped.
#[derive(Clone, Debug)]
enum Step {
    Add,
    Subtract,
    Multiply,
    Maximum,
    Clamp(f32, f32),
    Relu,
    Negate,
    Permute(Vec<usize>),
    View(Vec<usize>),
    Slice(usize, [usize; 2]),
    Join(usize),
    Sum(usize),
    Highest(usize),
    Product,
    /// Of an image with three channels, with so many zeros around it.
    Convolve(usize),
}

impl Recipe {
    fn random(seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let input = vec![
            1 + random.below(3),
            3,
            4 + random.below(4),
            4 + random.below(4),
        ];
        let constants: Vec<_> = [
            vec![3, 1, 1],
            vec![4, 3, 3, 3],
            vec![5, 3, 1, 1],
            vec![4, 4],
        ]
        .into_iter()
        .map(|sizes| Array::random(&mut random, sizes, 2))
        .collect();
        let mut shapes = vec![input.clone()];
        shapes.extend(constants.iter().map(|array| array.sizes.clone()));
        let mut steps = Vec::new();
        while steps.len() < STEPS {
            let Some((step, arguments)) = Step::random(&mut random, &shapes) else {
                continue;
            };
            let parts: Vec<_> = arguments.iter().map(|&at| &*shapes[at]).collect();
            let Some(sizes) = step.sizes(&parts) else {
                continue;
            };
            if sizes.iter().product::<usize>() > 4096 {
                continue;
            }
            let grows = step.grows();
            steps.push((step, arguments));
            shapes.push(sizes.clone());
            if grows {
                steps.push((Step::Clamp(-7.0, 8.0), vec![shapes.len() - 1]));
                shapes.push(sizes);
            }
        }
        let first = 1 + constants.len();
        let mut outputs: Vec<_> = (0..2).map(|_| first + random.below(steps.len())).collect();
        outputs.push(shapes.len() - 1);
        outputs.sort_unstable();
        outputs.dedup();
        Self {
            input,
            constants,
            steps,
            outputs,
        }
    }

    fn input(&self, call: u64) -> Array {
        Array::random(&mut SplitMix::new(call + 7777), self.input.clone(), 5)
    }

    fn expected(&self, input: &Array) -> Vec<Array> {
        let mut values = vec![input.clone()];
        values.extend(self.constants.iter().cloned());
        for (step, arguments) in &self.steps {
            let arguments: Vec<_> = arguments.iter().map(|&at| &values[at]).collect();
            values.push(step.run(&arguments));
        }
        self.outputs.iter().map(|&at| values[at].clone()).collect()
    }

    /// The program, and how many of its places are used by more than one value.
    fn program(&self) -> (Vec<u8>, usize) {
        let mut program = ProgramBuilder::new();
        let mut method = MethodBuilder::new("forward");
        let sizes = |sizes: &[usize]| sizes.iter().map(|&size| size as u32).collect::<Vec<_>>();
        let input = method.tensor(ScalarType::Float, &sizes(&self.input));
        method.input(input);
        let mut values = vec![(input, self.input.clone())];
        for array in &self.constants {
            let bytes: Vec<u8> = array.data.iter().flat_map(|x| x.to_le_bytes()).collect();
            let data = program.constant(bytes);
            let value = method.constant(ScalarType::Float, &sizes(&array.sizes), data);
            values.push((value, array.sizes.clone()));
        }
        let first = values.len();
        let mut places = Places::default();
        let mut reused = 0;
        for (index, (step, arguments)) in self.steps.iter().enumerate() {
            let parts: Vec<_> = arguments.iter().map(|&at| &*values[at].1).collect();
            let shape = step.sizes(&parts).unwrap();
            let value = method.tensor(ScalarType::Float, &sizes(&shape));
            let arguments: Vec<_> = arguments.iter().map(|&at| values[at].0).collect();
            step.call(&mut method, &arguments, value);
            values.push((value, shape));
            let last = self.last_use(first + index).max(index);
            let bytes = 4 * values[first + index].1.iter().product::<usize>();
            let (offset, is_old) = places.take(index, last, bytes);
            reused += usize::from(is_old);
            if let Value::Tensor(tensor) = &mut method.edit().values[value as usize] {
                let arena = tensor.allocation.unwrap().arena;
                tensor.allocation = Some(Allocation {
                    arena,
                    offset: START + offset,
                });
            }
        }
        for size in method.edit().arena_sizes.iter_mut().skip(1) {
            *size = START + places.end;
        }
        for &output in &self.outputs {
            method.output(values[output].0);
        }
        program.method(method);
        let program = program.build().unwrap();
        (program.to_bytes(&WriteOptions::default()).unwrap(), reused)
    }

    /// The last step that reads a value.
    fn last_use(&self, value: usize) -> usize {
        if self.outputs.contains(&value) {
            return usize::MAX;
        }
        let reads = |(_, (_, arguments)): &(usize, &(Step, Vec<usize>))| arguments.contains(&value);
        let steps = self.steps.iter().enumerate();
        steps.rev().find(reads).map_or(0, |(at, _)| at)
    }
}

/// Where the input ends.
const START: u64 = 1 << 16;

/// Places in an arena, each with the step after which it is free, its start and its size.
#[derive(Default)]
struct Places {
    all: Vec<(usize, u64, u64)>,
    end: u64,
}

impl Places {
    /// A place for a value that is made by a step and last read by another, and whether another value
    /// was there before.
    fn take(&mut self, step: usize, last: usize, bytes: usize) -> (u64, bool) {
        let bytes = (bytes as u64).next_multiple_of(16);
        let free = |place: &&mut (usize, u64, u64)| place.0 < step && place.2 >= bytes;
        if let Some(place) = self.all.iter_mut().find(free) {
            place.0 = last;
            return (place.1, true);
        }
        let offset = self.end;
        self.end += bytes;
        self.all.push((last, offset, bytes));
        (offset, false)
    }
}

impl Step {
    /// Whether values can be larger than those that they are made from.
    fn grows(&self) -> bool {
        use Step::{Add, Convolve, Multiply, Product, Subtract, Sum};
        matches!(
            self,
            Add | Subtract | Multiply | Sum(_) | Product | Convolve(_)
        )
    }

    /// The sizes of the result, if the arguments fit.
    fn sizes(&self, parts: &[&[usize]]) -> Option<Vec<usize>> {
        let mut sizes = parts[0].to_vec();
        match self {
            Self::Add | Self::Subtract | Self::Multiply | Self::Maximum => {
                return broadcast(parts[0], parts[1]);
            }
            Self::Clamp(..) | Self::Relu | Self::Negate => {}
            Self::Permute(order) => sizes = order.iter().map(|&dim| parts[0][dim]).collect(),
            Self::View(view) => sizes.clone_from(view),
            Self::Slice(dim, [begin, end]) => sizes[*dim] = end - begin,
            Self::Join(dim) => {
                let fits = parts[1].len() == sizes.len()
                    && (0..sizes.len()).all(|at| at == *dim || parts[1][at] == sizes[at]);
                sizes[*dim] += fits.then(|| parts[1][*dim])?;
            }
            Self::Sum(dim) | Self::Highest(dim) => sizes[*dim] = 1,
            Self::Product => match (parts[0], parts[1]) {
                (&[m, k], &[k2, n]) if k == k2 => sizes = vec![m, n],
                _ => return None,
            },
            Self::Convolve(padding) => match (parts[0], parts[1]) {
                (&[n, c, h, w], &[o, c2, side, side2])
                    if c == c2
                        && side == side2
                        && h + 2 * padding >= side
                        && w + 2 * padding >= side =>
                {
                    sizes = vec![n, o, h + 2 * padding - side + 1, w + 2 * padding - side + 1];
                }
                _ => return None,
            },
        }
        Some(sizes)
    }

    fn run(&self, parts: &[&Array]) -> Array {
        let x = parts[0];
        let shapes: Vec<_> = parts.iter().map(|part| &*part.sizes).collect();
        let sizes = self.sizes(&shapes).unwrap();
        let pairs = |with: fn(f32, f32) -> f32| {
            move |place: &[usize]| with(x.repeated(place), parts[1].repeated(place))
        };
        let each = |with: &dyn Fn(&[usize]) -> f32| Array::from_fn(&sizes, with);
        match self {
            Self::Add => each(&pairs(|a, b| a + b)),
            Self::Subtract => each(&pairs(|a, b| a - b)),
            Self::Multiply => each(&pairs(|a, b| a * b)),
            Self::Maximum => each(&pairs(f32::max)),
            Self::Clamp(min, max) => each(&|place| x.at(place).clamp(*min, *max)),
            Self::Relu => each(&|place| x.at(place).max(0.0)),
            Self::Negate => each(&|place| -x.at(place)),
            Self::Permute(order) => each(&|place| {
                let mut from = vec![0; place.len()];
                for (&dim, &at) in order.iter().zip(place) {
                    from[dim] = at;
                }
                x.at(&from)
            }),
            Self::View(_) => Array {
                data: x.data.clone(),
                sizes,
            },
            Self::Slice(dim, [begin, _]) => each(&|place| {
                let mut from = place.to_vec();
                from[*dim] += begin;
                x.at(&from)
            }),
            Self::Join(dim) => each(&|place| {
                let mut from = place.to_vec();
                match place[*dim].checked_sub(x.sizes[*dim]) {
                    None => x.at(&from),
                    Some(at) => {
                        from[*dim] = at;
                        parts[1].at(&from)
                    }
                }
            }),
            Self::Sum(dim) => each(&|place| x.line(*dim, place).iter().sum()),
            Self::Highest(dim) => each(&|place| {
                let line = x.line(*dim, place);
                line.into_iter().fold(f32::NEG_INFINITY, f32::max)
            }),
            Self::Product => each(&|place| {
                let terms = 0..x.sizes[1];
                terms
                    .map(|k| x.at(&[place[0], k]) * parts[1].at(&[k, place[1]]))
                    .sum()
            }),
            Self::Convolve(padding) => each(&|place| {
                let (weight, mut sum) = (parts[1], 0.0);
                let side = weight.sizes[2];
                for c in 0..x.sizes[1] {
                    for (row, column) in (0..side).flat_map(|row| (0..side).map(move |c| (row, c)))
                    {
                        let h = (place[2] + row).wrapping_sub(*padding);
                        let w = (place[3] + column).wrapping_sub(*padding);
                        if h < x.sizes[2] && w < x.sizes[3] {
                            sum +=
                                x.at(&[place[0], c, h, w]) * weight.at(&[place[1], c, row, column]);
                        }
                    }
                }
                sum
            }),
        }
    }

    /// Adds the operator to a method.
    fn call(&self, method: &mut MethodBuilder, parts: &[u32], out: u32) {
        let x = parts[0];
        let list = |method: &mut MethodBuilder, list: &[usize]| {
            let list: Vec<_> = list.iter().map(|&item| item as i64).collect();
            method.int_list(&list)
        };
        match self {
            Self::Add | Self::Subtract => {
                let (one, is_sum) = (method.int(1), matches!(self, Self::Add));
                let name = if is_sum {
                    "aten::add.out"
                } else {
                    "aten::sub.out"
                };
                method.call(name, &[x, parts[1], one, out, out]);
            }
            Self::Multiply => method.call("aten::mul.out", &[x, parts[1], out, out]),
            Self::Maximum => method.call("aten::maximum.out", &[x, parts[1], out, out]),
            Self::Clamp(min, max) => {
                let (min, max) = (method.double((*min).into()), method.double((*max).into()));
                method.call("aten::hardtanh.out", &[x, min, max, out, out]);
            }
            Self::Relu => method.call("aten::relu.out", &[x, out, out]),
            Self::Negate => method.call("aten::neg.out", &[x, out, out]),
            Self::Permute(order) => {
                let order = list(method, order);
                method.call("aten::permute_copy.out", &[x, order, out, out]);
            }
            Self::View(sizes) => {
                let sizes = list(method, sizes);
                method.call("aten::view_copy.out", &[x, sizes, out, out]);
            }
            Self::Slice(dim, range) => {
                let [dim, begin, end, step] =
                    [*dim, range[0], range[1], 1].map(|value| method.int(value as i64));
                let arguments = [x, dim, begin, end, step, out, out];
                method.call("aten::slice_copy.Tensor_out", &arguments);
            }
            Self::Join(dim) => {
                let (tensors, dim) = (method.tensor_list(parts), method.int(*dim as i64));
                method.call("aten::cat.out", &[tensors, dim, out, out]);
            }
            Self::Sum(dim) => {
                let (dims, keep, dtype) = (list(method, &[*dim]), method.bool(true), method.none());
                method.call("aten::sum.IntList_out", &[x, dims, keep, dtype, out, out]);
            }
            Self::Highest(dim) => {
                let (dims, keep) = (list(method, &[*dim]), method.bool(true));
                method.call("aten::amax.out", &[x, dims, keep, out, out]);
            }
            Self::Product => method.call("aten::mm.out", &[x, parts[1], out, out]),
            Self::Convolve(padding) => {
                let (bias, transposed, groups) = (method.none(), method.bool(false), method.int(1));
                let [stride, padding, zero] = [1, *padding, 0].map(|n| list(method, &[n, n]));
                let arguments = [
                    x, parts[1], bias, stride, padding, stride, transposed, zero, groups, out, out,
                ];
                method.call("aten::convolution.out", &arguments);
            }
        }
    }
}

fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |sizes: &[usize], at: usize| {
        let missing = rank - sizes.len();
        at.checked_sub(missing).map_or(1, |at| sizes[at])
    };
    let sizes = (0..rank).map(|at| match (size(a, at), size(b, at)) {
        (1, other) | (other, 1) => Some(other),
        (a, b) => (a == b).then_some(a),
    });
    sizes.collect()
}

impl Array {
    fn from_fn(sizes: &[usize], with: &dyn Fn(&[usize]) -> f32) -> Self {
        let count: usize = sizes.iter().product();
        let mut place = vec![0; sizes.len()];
        let data = (0..count).map(|index| {
            let mut rest = index;
            for (at, &size) in place.iter_mut().zip(sizes).rev() {
                *at = rest % size;
                rest /= size;
            }
            with(&place)
        });
        Self {
            data: data.collect(),
            sizes: sizes.to_vec(),
        }
    }

    fn at(&self, place: &[usize]) -> f32 {
        let index = place.iter().zip(&self.sizes);
        self.data[index.fold(0, |index, (&at, &size)| index * size + at)]
    }

    /// The element at a place of a shape that this one is broadcast to.
    fn repeated(&self, place: &[usize]) -> f32 {
        let own = place[place.len() - self.sizes.len()..]
            .iter()
            .zip(&self.sizes);
        let own: Vec<_> = own
            .map(|(&at, &size)| if size == 1 { 0 } else { at })
            .collect();
        self.at(&own)
    }

    /// All elements along a dimension.
    fn line(&self, dim: usize, place: &[usize]) -> Vec<f32> {
        let mut place = place.to_vec();
        let line = (0..self.sizes[dim]).map(|at| {
            place[dim] = at;
            self.at(&place)
        });
        line.collect()
    }
}

impl Array {
    /// Integers from `-most` to `most`.
    fn random(random: &mut SplitMix, sizes: Vec<usize>, most: usize) -> Self {
        let count = sizes.iter().product();
        let data = (0..count).map(|_| random.below(2 * most + 1) as f32 - most as f32);
        Self {
            data: data.collect(),
            sizes,
        }
    }
}

impl Step {
    /// A step on values of these shapes; one that may not fit them.
    fn random(random: &mut SplitMix, shapes: &[Vec<usize>]) -> Option<(Self, Vec<usize>)> {
        // Mostly one of the last values, so that programs are deep.
        let value = |random: &mut SplitMix| match random.below(3) {
            0 => random.below(shapes.len()),
            _ => shapes.len() - 1 - random.below(shapes.len().min(4)),
        };
        let (x, y) = (value(random), value(random));
        let sizes = &shapes[x];
        let dim = random.below(sizes.len());
        let pair = vec![x, y];
        Some(match random.below(18) {
            0 => (Self::Add, pair),
            1 => (Self::Subtract, pair),
            2 => (Self::Multiply, pair),
            3 => (Self::Maximum, pair),
            4 => (Self::Clamp(-3.0, 4.0), vec![x]),
            5 => (Self::Relu, vec![x]),
            6 => (Self::Negate, vec![x]),
            7 => {
                let mut order: Vec<_> = (0..sizes.len()).collect();
                for at in (1..order.len()).rev() {
                    order.swap(at, random.below(at + 1));
                }
                (Self::Permute(order), vec![x])
            }
            8 => {
                let count = sizes.iter().product::<usize>();
                let first = sizes[0];
                (Self::View(vec![first, count / first]), vec![x])
            }
            9 => {
                let begin = random.below(sizes[dim]);
                let end = begin + 1 + random.below(sizes[dim] - begin);
                (Self::Slice(dim, [begin, end]), vec![x])
            }
            10 => (Self::Join(dim), pair),
            11 => (Self::Sum(dim), vec![x]),
            12 => (Self::Highest(dim), vec![x]),
            13 => (Self::Product, pair),
            14 => (
                Self::Permute(vec![1, 0]),
                (sizes.len() == 2).then_some(vec![x])?,
            ),
            _ => {
                // The constants that are weights, and the input or what has its channels.
                let weight = 2 + random.below(2);
                let x = (0..8)
                    .map(|_| value(random))
                    .find(|&x| shapes[x].len() == 4 && shapes[x][1] == 3 && x != 2 && x != 3);
                (
                    Self::Convolve(random.below(2)),
                    vec![x.unwrap_or(0), weight],
                )
            }
        })
    }
}
