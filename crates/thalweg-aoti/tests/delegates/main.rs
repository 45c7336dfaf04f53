//! Tests of programs with libraries of `thalweg-aoti-sample`, whose kernels the stand-in driver computes.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod answers;
mod faults;
mod graphs;
mod omissions;
mod refusals;
mod sharing;

use std::sync::Arc;

use thalweg_aoti::{CudaBackend, NAME};
use thalweg_aoti_sample::{COUNT, KEEPS, MAGIC, NO_KERNEL, Recipe, TWICE};
use thalweg_aoti_sample::{UNSUPPORTED, VARIES, WAITS, WEIGHT};
use thalweg_core::{DeviceId, DeviceKind, KernelRegistry, Result, Tensor};
use thalweg_cuda::Driver;
use thalweg_format::{DelegateData, ShapeDynamism};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, Value, WriteOptions};
use thalweg_runtime::{LoadOptions, Method, Program, RunOptions, Runtime};
use thalweg_simgpu::{Config, Sim};
use thalweg_testing::sample::{library, named_payload, session};

const UPLOAD: &str = "et_copy::_h2d_copy.out";
const DOWNLOAD: &str = "et_copy::_d2h_copy.out";

/// The form of a delegate's payload.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// That of ExecuTorch 1.4: all constants in one blob.
    Blob,
    /// That of ExecuTorch 1.5: each constant by name.
    Named,
}

/// A step of a program. Values are numbered: the inputs, then the result of each step.
#[derive(Clone, Debug)]
enum Step {
    /// A delegate, by its recipe's number, on values.
    Delegate(usize, Vec<usize>),
    /// An operator of the CPU.
    Relu(usize),
}

/// A program of some steps, on tensors of one shape. The last step's result is the output.
#[derive(Clone)]
struct Model {
    recipes: Vec<Recipe>,
    steps: Vec<Step>,
    form: Form,
    inputs: usize,
    /// The largest sizes.
    sizes: Vec<u32>,
    dynamic: bool,
    /// True if delegates have their arguments on the host.
    on_host: bool,
    methods: Vec<&'static str>,
}

/// A recipe without constants.
fn affine(scale: f32, shift: f32) -> Recipe {
    Recipe {
        magic: MAGIC,
        scale,
        shift,
        inputs: 1,
        parts: 0,
        weight_len: 0,
    }
}

/// The weight of a recipe, which is the same for all delegates.
fn weight(recipe: &Recipe) -> Vec<f32> {
    (0..recipe.weight_len).map(|i| 0.5 * i as f32).collect()
}

/// The initial value of counts.
const START: f32 = 10.0;

impl Model {
    /// One delegate.
    fn new(recipe: Recipe, form: Form) -> Self {
        let inputs = recipe.inputs as usize;
        Self {
            recipes: vec![recipe],
            steps: vec![Step::Delegate(0, (0..inputs).collect())],
            form,
            inputs,
            sizes: vec![8, 4],
            dynamic: false,
            on_host: false,
            methods: vec!["forward"],
        }
    }

    /// Three delegates, one of them twice, two that take the same value, and operators of the CPU in
    /// between.
    fn mixed(form: Form) -> Self {
        let weighted = Recipe {
            parts: WEIGHT,
            weight_len: 4,
            ..affine(2.0, -20.0)
        };
        let sum = Recipe {
            inputs: 2,
            parts: TWICE,
            ..affine(0.5, 1.0)
        };
        Self {
            recipes: vec![weighted, sum, affine(-1.0, 3.0)],
            steps: vec![
                Step::Delegate(0, vec![0]),
                Step::Delegate(2, vec![1]),
                Step::Relu(1),
                Step::Delegate(1, vec![2, 3]),
                Step::Delegate(0, vec![4]),
                Step::Delegate(1, vec![5, 1]),
                Step::Relu(6),
                Step::Delegate(2, vec![7]),
            ],
            ..Self::new(weighted, form)
        }
    }

    /// The expected output for inputs, in the `runs`-th run of an instance.
    fn expected(&self, inputs: &[&Tensor], runs: u32) -> Vec<f32> {
        let mut values: Vec<Vec<f32>> = inputs
            .iter()
            .map(|input| input.data::<f32>().unwrap().to_vec())
            .collect();
        for step in &self.steps {
            let value = match step {
                Step::Relu(value) => values[*value].iter().map(|x| x.max(0.0)).collect(),
                Step::Delegate(recipe, arguments) => {
                    let recipe = &self.recipes[*recipe];
                    let weight = weight(recipe);
                    let of = |i: usize| {
                        let mut y = recipe.scale * values[arguments[0]][i] + recipe.shift;
                        if let Some(second) = arguments.get(1) {
                            y += values[*second][i];
                        }
                        if recipe.parts & WEIGHT != 0 {
                            y += weight[i % weight.len()];
                        }
                        if recipe.parts & COUNT != 0 {
                            y += START + runs as f32;
                        }
                        y
                    };
                    (0..values[0].len()).map(of).collect()
                }
            };
            values.push(value);
        }
        values.pop().unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        self.bytes_with(library)
    }

    fn bytes_with(&self, library: impl Fn(&Recipe) -> Vec<u8>) -> Vec<u8> {
        let mut program = ProgramBuilder::new();
        let payloads = self.add_payloads(&mut program, library);
        for name in &self.methods {
            let method = self.build_method(name, &payloads);
            program.method(method);
        }
        let program = program.build().unwrap();
        program.to_bytes(&WriteOptions::default()).unwrap()
    }

    /// Adds the libraries and constants of all recipes to a program. Returns the delegates' payloads.
    fn add_payloads(
        &self,
        program: &mut ProgramBuilder,
        library: impl Fn(&Recipe) -> Vec<u8>,
    ) -> Vec<DelegateData> {
        let mut payloads = Vec::new();
        let mut has_weight = false;
        for (index, recipe) in self.recipes.iter().enumerate() {
            program.named(format!("library{index}"), library(recipe));
            let mut constants = Vec::new();
            if recipe.parts & WEIGHT != 0 {
                constants.push(("weight", "storage:weight".to_string(), weight(recipe)));
            }
            if recipe.parts & COUNT != 0 {
                constants.push(("count", format!("storage:{index}:count"), vec![START]));
            }
            let payload = match self.form {
                Form::Blob => {
                    let all = constants.iter().flat_map(|constant| &constant.2);
                    let blob: Vec<u8> = all.flat_map(|x| x.to_le_bytes()).collect();
                    if !blob.is_empty() {
                        program.named(format!("blob{index}"), blob);
                    }
                    format!("library{index}\nblob{index}").into_bytes()
                }
                Form::Named => {
                    for (name, storage, values) in &constants {
                        // All weights are the same.
                        if *name != "weight" || !std::mem::replace(&mut has_weight, true) {
                            let bytes: Vec<u8> =
                                values.iter().flat_map(|x| x.to_le_bytes()).collect();
                            program.named(storage.clone(), bytes);
                        }
                    }
                    named_payload(&format!("library{index}"), &constants)
                }
            };
            payloads.push(program.payload(payload));
        }
        payloads
    }

    /// A method that runs all steps. `payloads` are those of the recipes' delegates.
    fn build_method(&self, name: &str, payloads: &[DelegateData]) -> MethodBuilder {
        let mut method = MethodBuilder::new(name);
        let arena = (!self.on_host).then(|| {
            method.arena(DeviceId {
                kind: DeviceKind::Cuda,
                index: 0,
            })
        });
        let specs: [(&str, &[u8]); 2] = [
            ("method_name", name.as_bytes()),
            ("target_device", b"cuda:0"),
        ];
        let delegates: Vec<_> = payloads
            .iter()
            .map(|payload| method.delegate(NAME, *payload, &specs))
            .collect();
        let host = |method: &mut MethodBuilder| match self.dynamic {
            true => method.dynamic_tensor(ScalarType::Float, &self.sizes),
            false => method.tensor(ScalarType::Float, &self.sizes),
        };
        let device = |method: &mut MethodBuilder, arena| {
            let tensor = method.tensor_in(arena, ScalarType::Float, &self.sizes);
            if self.dynamic
                && let Value::Tensor(tensor) = &mut method.edit().values[tensor as usize]
            {
                tensor.dynamism = ShapeDynamism::DynamicBound;
            }
            tensor
        };
        let mut values = Vec::new();
        for _ in 0..self.inputs {
            let input = host(&mut method);
            method.input(input);
            values.push(input);
        }
        for step in &self.steps {
            let result = host(&mut method);
            match step {
                Step::Relu(value) => {
                    method.call("aten::relu.out", &[values[*value], result, result]);
                }
                Step::Delegate(delegate, arguments) => {
                    let mut all = Vec::new();
                    for argument in arguments {
                        all.push(match arena {
                            Some(arena) => {
                                let copy = device(&mut method, arena);
                                method.call(UPLOAD, &[values[*argument], copy, copy]);
                                copy
                            }
                            None => values[*argument],
                        });
                    }
                    let output = arena.map(|arena| device(&mut method, arena));
                    all.push(output.unwrap_or(result));
                    method.call_delegate(delegates[*delegate], &all);
                    if let Some(output) = output {
                        method.call(DOWNLOAD, &[output, result, result]);
                    }
                }
            }
            values.push(result);
        }
        method.output(values.pop().unwrap());
        method
    }

    fn load(&self, driver: &Driver) -> Result<Program> {
        load(&CudaBackend::new(driver)?, driver, self.bytes())
    }

    fn method(&self, driver: &Driver) -> Result<Method> {
        self.load(driver)?.method("forward")
    }
}

fn load(backend: &CudaBackend, driver: &Driver, bytes: Vec<u8>) -> Result<Program> {
    load_with(backend, driver, bytes, &LoadOptions::new())
}

fn load_with(
    backend: &CudaBackend,
    driver: &Driver,
    bytes: Vec<u8>,
    options: &LoadOptions,
) -> Result<Program> {
    let mut kernels = KernelRegistry::new();
    thalweg_kernels::register(&mut kernels)?;
    let mut runtime = Runtime::builder()
        .kernels(&kernels)
        .backend(NAME, backend.clone());
    for ordinal in 0..driver.device_count()? {
        runtime = runtime.device(Arc::new(driver.device(ordinal)?));
    }
    runtime.build().load_bytes(bytes, options)
}

/// Numbers from `start` on.
fn numbers(start: i32, sizes: &[usize]) -> Tensor {
    let count: usize = sizes.iter().product();
    let data: Vec<f32> = (0..count as i32).map(|x| (start + x) as f32).collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

fn run(method: &mut Method, inputs: &[&Tensor]) -> Result<Vec<f32>> {
    run_with(method, inputs, &RunOptions::new())
}

fn run_with(method: &mut Method, inputs: &[&Tensor], options: &RunOptions<'_>) -> Result<Vec<f32>> {
    let sizes = inputs[0].sizes().to_vec();
    let inputs: Vec<_> = inputs.iter().map(|tensor| (*tensor).into()).collect();
    let outputs = method.run_with(&inputs, options)?;
    let output = outputs.tensor(0)?;
    assert_eq!(output.sizes(), sizes);
    Ok(output.data::<f32>()?.to_vec())
}

fn open() -> Driver {
    Driver::open(Some(Sim::path())).unwrap()
}

/// Runs a test once for each seed, each time on a new machine, which must report nothing afterwards.
fn on_every_machine(seeds: u64, test: impl Fn(&Driver)) {
    let sim = session();
    for seed in 0..seeds {
        sim.reset(Config::seeded(seed));
        test(&open());
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}
