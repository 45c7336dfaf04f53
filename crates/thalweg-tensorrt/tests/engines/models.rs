//! Programs with one engine of the stand-in, and the runtimes and machines that run them.

use std::sync::Arc;

use thalweg_core::{Backend, DeviceId, DeviceKind, KernelRegistry, Result, Tensor, bail};
use thalweg_cuda::{Device, Driver};
use thalweg_format::{
    MethodBuilder, ProgramBuilder, ScalarType, ShapeDynamism, Value, WriteOptions,
};
use thalweg_runtime::{LoadOptions, Method, Program, RunOptions, Runtime};
use thalweg_simgpu::nvinfer::{DType, EngineSpec, ProfileSpec};
use thalweg_simgpu::{Config, Sim};
use thalweg_tensorrt::{Alias, AliasKind, Binding, Container, Metadata, NAME, Options, TensorRt};

pub(crate) const UPLOAD: &str = "et_copy::_h2d_copy.out";
pub(crate) const DOWNLOAD: &str = "et_copy::_d2h_copy.out";

/// An input or output of a program with one engine.
#[derive(Clone)]
pub(crate) struct Io {
    pub(crate) name: &'static str,
    pub(crate) dtype: ScalarType,
    /// The largest sizes.
    pub(crate) sizes: Vec<u32>,
    pub(crate) is_input: bool,
    pub(crate) dynamic: bool,
    pub(crate) on_host: bool,
}

pub(crate) fn input(name: &'static str, sizes: &[u32]) -> Io {
    Io {
        name,
        dtype: ScalarType::Float,
        sizes: sizes.to_vec(),
        is_input: true,
        dynamic: false,
        on_host: false,
    }
}

pub(crate) fn output(name: &'static str, sizes: &[u32]) -> Io {
    Io {
        is_input: false,
        ..input(name, sizes)
    }
}

impl Io {
    pub(crate) fn of(self, dtype: ScalarType) -> Self {
        Self { dtype, ..self }
    }

    pub(crate) fn dynamic(self) -> Self {
        Self {
            dynamic: true,
            ..self
        }
    }
}

/// A program with one method, which runs one engine.
#[derive(Clone)]
pub(crate) struct Model {
    pub(crate) engine: EngineSpec,
    pub(crate) ios: Vec<Io>,
    pub(crate) aliases: Vec<(&'static str, &'static str)>,
    pub(crate) compile_specs: Vec<(&'static str, Vec<u8>)>,
    pub(crate) metadata: Metadata,
    pub(crate) methods: Vec<&'static str>,
    /// The device of the program's memory.
    pub(crate) device: i8,
}

impl Model {
    pub(crate) fn new(engine: EngineSpec, ios: &[Io]) -> Self {
        Self {
            engine,
            ios: ios.to_vec(),
            aliases: Vec::new(),
            compile_specs: Vec::new(),
            metadata: Metadata::default(),
            methods: vec!["forward"],
            device: 0,
        }
    }

    pub(crate) fn alias(mut self, output: &'static str, input: &'static str) -> Self {
        self.aliases.push((output, input));
        self
    }

    pub(crate) fn payload(&self) -> Vec<u8> {
        let engine = self.engine.to_bytes();
        let bindings = self.ios.iter().map(|io| Binding {
            name: io.name.into(),
            is_input: io.is_input,
            ..Binding::default()
        });
        let aliases = self.aliases.iter().map(|(output, input)| Alias {
            output: (*output).into(),
            input: (*input).into(),
            kind: AliasKind::KvCacheUpdate,
        });
        let metadata = Metadata {
            io_bindings: bindings.collect(),
            aliased_io: aliases.collect(),
            ..self.metadata.clone()
        };
        let engine = &engine;
        Container { metadata, engine }.to_bytes().unwrap()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut program = ProgramBuilder::new();
        let payload = program.payload(self.payload());
        for name in &self.methods {
            let mut method = MethodBuilder::new(*name);
            let arena = self.ios.iter().any(|io| !io.on_host).then(|| {
                method.arena(DeviceId {
                    kind: DeviceKind::Cuda,
                    index: self.device,
                })
            });
            let specs: Vec<_> = self
                .compile_specs
                .iter()
                .map(|(key, value)| (*key, &**value))
                .collect();
            let delegate = method.delegate(NAME, payload, &specs);
            let mut arguments = Vec::new();
            let mut downloads = Vec::new();
            for io in &self.ios {
                let host = match io.dynamic {
                    true => method.dynamic_tensor(io.dtype, &io.sizes),
                    false => method.tensor(io.dtype, &io.sizes),
                };
                if io.is_input {
                    method.input(host);
                }
                let Some(arena) = arena.filter(|_| !io.on_host) else {
                    arguments.push(host);
                    downloads.push((None, host, io.is_input));
                    continue;
                };
                let device = method.tensor_in(arena, io.dtype, &io.sizes);
                if io.dynamic
                    && let Value::Tensor(tensor) = &mut method.edit().values[device as usize]
                {
                    tensor.dynamism = ShapeDynamism::DynamicBound;
                }
                if io.is_input {
                    method.call(UPLOAD, &[host, device, device]);
                }
                arguments.push(device);
                downloads.push((Some(device), host, io.is_input));
            }
            method.call_delegate(delegate, &arguments);
            for (device, host, is_input) in downloads {
                if is_input {
                    continue;
                }
                if let Some(device) = device {
                    method.call(DOWNLOAD, &[device, host, host]);
                }
                method.output(host);
            }
            program.method(method);
        }
        let program = program.build().unwrap();
        program.to_bytes(&WriteOptions::default()).unwrap()
    }

    pub(crate) fn load(&self, driver: &Driver) -> Result<Program> {
        self.load_with(driver, LoadOptions::new())
    }

    pub(crate) fn load_with(&self, driver: &Driver, options: LoadOptions) -> Result<Program> {
        load(&tensorrt(driver)?, driver, self.bytes(), &options)
    }

    pub(crate) fn method(&self, driver: &Driver) -> Result<Method> {
        self.load(driver)?.method("forward")
    }
}

pub(crate) fn tensorrt(driver: &Driver) -> Result<TensorRt> {
    TensorRt::find(driver, &Options::new().library(Sim::path()))
}

pub(crate) fn load(
    tensorrt: &TensorRt,
    driver: &Driver,
    bytes: Vec<u8>,
    options: &LoadOptions,
) -> Result<Program> {
    load_in(tensorrt.clone(), driver, bytes, options)
}

pub(crate) fn load_in(
    backend: impl Backend + 'static,
    driver: &Driver,
    bytes: Vec<u8>,
    options: &LoadOptions,
) -> Result<Program> {
    let mut kernels = KernelRegistry::new();
    for copy in [UPLOAD, DOWNLOAD] {
        let signature = format!("{copy}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
        kernels.register(&signature, |_| bail!(Internal, "copies between devices"))?;
    }
    let mut runtime = Runtime::builder().kernels(&kernels).backend(NAME, backend);
    for ordinal in 0..driver.device_count()? {
        let device: Device = driver.device(ordinal)?;
        runtime = runtime.device(Arc::new(device));
    }
    runtime.build().load_bytes(bytes, options)
}

/// `y = 3 x + 1` on eight by eight numbers, with scratch.
pub(crate) fn affine() -> Model {
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[8, 8])
        .output_like("y", "x")
        .profile(ProfileSpec::new().scratch(4096))
        .affine("y", &[(3.0, "x")], 1.0);
    Model::new(engine, &[input("x", &[8, 8]), output("y", &[8, 8])])
}

/// `y = 3 x + 1` on up to 64 rows of 8 numbers, with scratch for each number.
pub(crate) fn dynamic() -> Model {
    let profile = ProfileSpec::new()
        .shape("x", &[1, 8], &[8, 8], &[64, 8])
        .scratch(512)
        .scratch_per_element("x", 16);
    let mut engine = EngineSpec::new()
        .input("x", DType::F32, &[-1, 8])
        .output_like("y", "x")
        .profile(profile)
        .affine("y", &[(3.0, "x")], 1.0);
    engine.resize_by_shape = true;
    let ios = [
        input("x", &[64, 8]).dynamic(),
        output("y", &[64, 8]).dynamic(),
    ];
    Model::new(engine, &ios)
}

/// Adds `x` to a total, in place.
pub(crate) fn accumulate() -> Model {
    let engine = EngineSpec::new()
        .input("x", DType::F32, &[64])
        .input("total", DType::F32, &[64])
        .output_in_place("new_total", "total")
        .profile(ProfileSpec::new().scratch(512))
        .affine("new_total", &[(1.0, "x"), (1.0, "total")], 0.0);
    let ios = [
        input("x", &[64]),
        input("total", &[64]),
        output("new_total", &[64]),
    ];
    Model::new(engine, &ios).alias("new_total", "total")
}

/// Numbers from `start` on.
pub(crate) fn numbers(start: i32, sizes: &[usize]) -> Tensor {
    let count: usize = sizes.iter().product();
    let data: Vec<f32> = (0..count as i32).map(|x| (start + x) as f32).collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

/// Runs a method on inputs. Returns the shapes and the numbers of the outputs.
pub(crate) fn run(method: &mut Method, inputs: &[&Tensor]) -> Result<Vec<(Vec<usize>, Vec<f32>)>> {
    run_with(method, inputs, &RunOptions::new())
}

pub(crate) fn run_with(
    method: &mut Method,
    inputs: &[&Tensor],
    options: &RunOptions<'_>,
) -> Result<Vec<(Vec<usize>, Vec<f32>)>> {
    let inputs: Vec<_> = inputs.iter().map(|tensor| (*tensor).into()).collect();
    let outputs = method.run_with(&inputs, options)?;
    let outputs = outputs.iter().map(|output| {
        let output = output?.tensor()?;
        Ok((output.sizes().to_vec(), output.data::<f32>()?.to_vec()))
    });
    outputs.collect()
}

/// The results of [`affine`] and [`dynamic`].
pub(crate) fn tripled(x: &Tensor) -> Vec<f32> {
    let data = x.data::<f32>().unwrap();
    data.iter().map(|x| 3.0 * x + 1.0).collect()
}

pub(crate) fn open() -> Driver {
    Driver::open(Some(Sim::path())).unwrap()
}

/// Runs a test once for each seed, each time on a new machine of the stand-in, which must report nothing.
pub(crate) fn on_every_machine(seeds: u64, test: impl Fn(&Driver)) {
    with_config(seeds, &|config| config, test);
}

pub(crate) fn with_config(seeds: u64, change: &dyn Fn(Config) -> Config, test: impl Fn(&Driver)) {
    let sim = Sim::session(Config::seeded(0));
    for seed in 0..seeds {
        sim.reset(change(Config::seeded(seed)));
        test(&open());
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}
