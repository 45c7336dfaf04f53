//! Programs that are split at random: delegates of both backends in turn, and operators of the CPU.

use thalweg::device::{DeviceId, DeviceKind};
use thalweg::format::{MethodBuilder, ProgramBuilder, ScalarType, WriteOptions};
use thalweg::tensorrt::{Binding, Container, Metadata};
use thalweg_aoti_sample::{COUNT, MAGIC, Recipe, TWICE, WEIGHT};
use thalweg_simgpu::nvinfer::{DType, EngineSpec, ProfileSpec};
use thalweg_testing::SplitMix;
use thalweg_testing::sample::{library, named_payload};

const UPLOAD: &str = "et_copy::_h2d_copy.out";
const DOWNLOAD: &str = "et_copy::_d2h_copy.out";
/// So many bytes that tensors one after the other start where TensorRT takes them.
const SIZES: [u32; 2] = [16, 4];

/// What the sample library's counts start from.
const START: f32 = 10.0;

/// A program, and what it computes: all numbers are small integers, so that every answer is exact.
pub(crate) struct Split {
    steps: Vec<Step>,
}

/// A step, on values by their numbers: 0 is the input, and each step makes the next.
#[derive(Clone, Copy)]
enum Step {
    /// One of the engines.
    Engine(usize, [usize; 2]),
    /// One of the libraries.
    Library(usize, [usize; 2]),
    /// An operator of the CPU.
    Relu(usize),
}

/// What engines and libraries do: `scale x + y + shift`, where libraries also have a weight or a count.
/// The numbers are the scale, the shift, and the parts of the library.
const ENGINES: [(f32, f32); 3] = [(1.0, 2.0), (-1.0, 1.0), (1.0, -3.0)];
const LIBRARIES: [(f32, f32, u32); 4] = [
    (1.0, 1.0, 0),
    (-1.0, 2.0, WEIGHT),
    (1.0, -2.0, TWICE),
    (1.0, 0.0, COUNT),
];

/// The weight of each element of a row.
const WEIGHTS: [f32; 4] = [0.0, 1.0, 2.0, 3.0];

impl Split {
    /// A program with so many delegates.
    pub(crate) fn random(seed: u64, delegates: usize) -> Self {
        let mut random = SplitMix::new(seed);
        let mut steps = Vec::new();
        let first = random.below(2);
        for delegate in 0..delegates {
            if random.below(4) == 0 {
                steps.push(Step::Relu(random.below(steps.len() + 1)));
            }
            // Mostly the last value, so that the program is deep; and one of the first few, so that
            // numbers stay small.
            let last = steps.len();
            let x = match random.below(4) {
                0 => random.below(last + 1),
                _ => last,
            };
            let y = random.below(last.min(3) + 1);
            steps.push(match (delegate + first) % 2 {
                0 => Step::Engine(random.below(ENGINES.len()), [x, y]),
                _ => Step::Library(random.below(LIBRARIES.len()), [x, y]),
            });
        }
        if random.below(2) == 0 {
            steps.push(Step::Relu(steps.len()));
        }
        Self { steps }
    }

    /// What comes out of the `runs`-th run of an instance. Libraries that count share their count, as they
    /// call it by one name.
    pub(crate) fn expected(&self, x: &[f32], runs: u32) -> Vec<f32> {
        let counts = |step: &Step| matches!(*step, Step::Library(library, _) if LIBRARIES[library].2 == COUNT);
        let each = self.steps.iter().filter(|step| counts(step)).count();
        let mut counted = START + ((runs - 1) as usize * each) as f32;
        let mut values = vec![x.to_vec()];
        for step in &self.steps {
            let sum = |scale: f32, shift: f32, [x, y]: [usize; 2]| {
                let terms = values[x].iter().zip(&values[y]);
                terms.map(move |(x, y)| scale * x + y + shift)
            };
            let value: Vec<f32> = match *step {
                Step::Relu(x) => values[x].iter().map(|x| x.max(0.0)).collect(),
                Step::Engine(engine, arguments) => {
                    let (scale, shift) = ENGINES[engine];
                    sum(scale, shift, arguments).collect()
                }
                Step::Library(library, arguments) => {
                    let (scale, shift, parts) = LIBRARIES[library];
                    let mut count = 0.0;
                    if parts == COUNT {
                        counted += 1.0;
                        count = counted;
                    }
                    let weight = if parts == WEIGHT { WEIGHTS } else { [0.0; 4] };
                    let sums = sum(scale, shift, arguments);
                    let weights = weight.iter().cycle();
                    sums.zip(weights)
                        .map(|(sum, weight)| sum + weight + count)
                        .collect()
                }
            };
            values.push(value);
        }
        values.pop().unwrap_or_default()
    }

    /// The program, as exporters write it: each delegate's arguments come from the host, and its result
    /// goes there.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut program = ProgramBuilder::new();
        let engines = ENGINES.map(|(scale, shift)| program.payload(engine(scale, shift)));
        let to_bytes =
            |numbers: &[f32]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_le_bytes()).collect() };
        program.named("storage:weight", to_bytes(&WEIGHTS));
        program.named("storage:count", to_bytes(&[START]));
        let mut index = 0;
        let libraries = LIBRARIES.map(|(scale, shift, parts)| {
            let name = format!("library{index}");
            index += 1;
            let recipe = Recipe {
                magic: MAGIC,
                scale,
                shift,
                inputs: 2,
                parts,
                weight_len: if parts == WEIGHT { 4 } else { 0 },
            };
            program.named(name.clone(), library(&recipe));
            let constants = match parts {
                WEIGHT => vec![("weight", "storage:weight".to_string(), WEIGHTS.to_vec())],
                COUNT => vec![("count", "storage:count".to_string(), vec![START])],
                _ => Vec::new(),
            };
            program.payload(named_payload(&name, &constants))
        });
        let mut method = MethodBuilder::new("forward");
        let arena = method.arena(DeviceId {
            kind: DeviceKind::Cuda,
            index: 0,
        });
        let input = method.tensor(ScalarType::Float, &SIZES);
        method.input(input);
        let mut values = vec![input];
        for step in &self.steps {
            let result = method.tensor(ScalarType::Float, &SIZES);
            let (delegate, arguments) = match *step {
                Step::Relu(x) => {
                    method.call("aten::relu.out", &[values[x], result, result]);
                    values.push(result);
                    continue;
                }
                Step::Engine(engine, arguments) => (
                    method.delegate(thalweg::tensorrt::NAME, engines[engine], &[]),
                    arguments,
                ),
                Step::Library(library, arguments) => {
                    let specs: [(&str, &[u8]); 2] =
                        [("method_name", b"forward"), ("target_device", b"cuda:0")];
                    let payload = libraries[library];
                    (
                        method.delegate(thalweg::aoti::NAME, payload, &specs),
                        arguments,
                    )
                }
            };
            let mut places: Vec<_> = arguments
                .into_iter()
                .map(|argument| {
                    let place = method.tensor_in(arena, ScalarType::Float, &SIZES);
                    method.call(UPLOAD, &[values[argument], place, place]);
                    place
                })
                .collect();
            let output = method.tensor_in(arena, ScalarType::Float, &SIZES);
            places.push(output);
            method.call_delegate(delegate, &places);
            method.call(DOWNLOAD, &[output, result, result]);
            values.push(result);
        }
        method.output(values.pop().unwrap_or(input));
        program.method(method);
        let program = program.build().unwrap();
        program.to_bytes(&WriteOptions::default()).unwrap()
    }
}

/// The payload of an engine that computes `scale x + y + shift`, with scratch.
fn engine(scale: f32, shift: f32) -> Vec<u8> {
    let sizes = SIZES.map(i64::from);
    let engine = EngineSpec::new()
        .input("x", DType::F32, &sizes)
        .input("y", DType::F32, &sizes)
        .output_like("z", "x")
        .profile(ProfileSpec::new().scratch(4096))
        .affine("z", &[(scale.into(), "x"), (1.0, "y")], shift.into())
        .to_bytes();
    let binding = |name: &str, is_input| Binding {
        name: name.into(),
        is_input,
        ..Binding::default()
    };
    let metadata = Metadata {
        io_bindings: vec![binding("x", true), binding("y", true), binding("z", false)],
        ..Metadata::default()
    };
    let engine = &engine;
    Container { metadata, engine }.to_bytes().unwrap()
}
