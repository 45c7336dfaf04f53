//! Scratch that engines share, in whole programs.

mod failures;
mod graphs;
mod limits;
mod omissions;
mod order;
mod sharing;
mod threads;
mod timelines;

use super::*;
use std::sync::mpsc;
use std::time::Duration;
use thalweg_tensorrt::{SHARED_SCRATCH_LIMIT, ScratchStatistics};

const HOST: &str = "test::host.out";

/// What a chain does at one place.
#[derive(Clone)]
enum Link {
    /// An engine, on a device.
    Engine(Box<EngineSpec>, i8),
    /// An operator of the host.
    Host,
}

/// An engine that makes `2 x + 1` of up to 64 rows of 8 numbers, with so many bytes of scratch.
fn doubles(scratch: u64) -> Link {
    doubles_with(ProfileSpec::new().scratch(scratch))
}

/// The same, with so many bytes of scratch for each number.
fn doubles_by_shape(bytes: u64) -> Link {
    doubles_with(ProfileSpec::new().scratch_per_element("x", bytes))
}

fn doubles_with(profile: ProfileSpec) -> Link {
    let mut engine = EngineSpec::new()
        .input("x", DType::F32, &[-1, 8])
        .output_like("y", "x")
        .profile(profile.shape("x", &[1, 8], &[8, 8], &[64, 8]))
        .affine("y", &[(2.0, "x")], 1.0);
    engine.resize_by_shape = true;
    engine.kernels = 3;
    Link::Engine(Box::new(engine), 0)
}

impl Link {
    fn on(self, device: i8) -> Self {
        match self {
            Self::Engine(engine, _) => Self::Engine(engine, device),
            Self::Host => Self::Host,
        }
    }

    fn with(mut self, change: impl FnOnce(&mut EngineSpec)) -> Self {
        if let Self::Engine(engine, _) = &mut self {
            change(engine);
        }
        self
    }
}

/// The bytes of a program that passes up to 64 rows of 8 numbers through all of its links.
fn chain(links: &[Link]) -> Vec<u8> {
    let mut program = ProgramBuilder::new();
    let mut method = MethodBuilder::new("forward");
    let mut arenas = Vec::new();
    let host = |method: &mut MethodBuilder| method.dynamic_tensor(ScalarType::Float, &[64, 8]);
    let mut on_host = Some(host(&mut method));
    method.input(on_host.unwrap());
    // Where the numbers are on a device.
    let mut there: Option<(i8, u32)> = None;
    let bring_back = |method: &mut MethodBuilder, there: Option<(i8, u32)>| {
        let (_, device) = there.unwrap();
        let to = method.dynamic_tensor(ScalarType::Float, &[64, 8]);
        method.call(DOWNLOAD, &[device, to, to]);
        to
    };
    for (index, link) in links.iter().enumerate() {
        match link {
            Link::Host => {
                let from = on_host.unwrap_or_else(|| bring_back(&mut method, there));
                let to = host(&mut method);
                method.call(HOST, &[from, to, to]);
                (on_host, there) = (Some(to), None);
            }
            Link::Engine(engine, device) => {
                let arena = match arenas.iter().find(|(of, _)| of == device) {
                    Some((_, arena)) => *arena,
                    None => {
                        let kind = DeviceKind::Cuda;
                        let arena = method.arena(DeviceId {
                            kind,
                            index: *device,
                        });
                        arenas.push((*device, arena));
                        arena
                    }
                };
                let place = |method: &mut MethodBuilder| {
                    let tensor = method.tensor_in(arena, ScalarType::Float, &[64, 8]);
                    if let Value::Tensor(tensor) = &mut method.edit().values[tensor as usize] {
                        tensor.dynamism = ShapeDynamism::DynamicBound;
                    }
                    tensor
                };
                let from = match there {
                    Some((on, tensor)) if on == *device => tensor,
                    _ => {
                        let from = on_host.unwrap_or_else(|| bring_back(&mut method, there));
                        let to = place(&mut method);
                        method.call(UPLOAD, &[from, to, to]);
                        to
                    }
                };
                let to = place(&mut method);
                let binding = |name: &str, is_input| Binding {
                    name: name.into(),
                    is_input,
                    ..Binding::default()
                };
                let metadata = Metadata {
                    io_bindings: vec![binding("x", true), binding("y", false)],
                    device_id: (*device).into(),
                    ..Metadata::default()
                };
                // Each is another engine.
                let engine = engine.clone().name(&format!("engine {index}")).to_bytes();
                let engine = &engine;
                let payload = Container { metadata, engine }.to_bytes().unwrap();
                let payload = program.payload(payload);
                let delegate = method.delegate(NAME, payload, &[]);
                method.call_delegate(delegate, &[from, to]);
                (on_host, there) = (None, Some((*device, to)));
            }
        }
    }
    let result = on_host.unwrap_or_else(|| bring_back(&mut method, there));
    method.output(result);
    program.method(method);
    let program = program.build().unwrap();
    program.to_bytes(&WriteOptions::default()).unwrap()
}

/// What a chain of so many engines makes of numbers.
fn doubled(x: &Tensor, times: usize) -> Vec<f32> {
    let data = x.data::<f32>().unwrap().iter();
    data.map(|x| (0..times).fold(*x, |x, _| 2.0 * x + 1.0))
        .collect()
}

fn shared() -> LoadOptions {
    LoadOptions::new().shared_scratch(true)
}

fn limited(limit: &str) -> LoadOptions {
    shared().backend_option(NAME, SHARED_SCRATCH_LIMIT, limit)
}

/// A machine's TensorRT, and programs loaded with it.
struct Machine {
    driver: Driver,
    tensorrt: TensorRt,
}

impl Machine {
    fn new(driver: &Driver) -> Self {
        Self {
            driver: driver.clone(),
            tensorrt: tensorrt(driver).unwrap(),
        }
    }

    fn load(&self, links: &[Link], options: &LoadOptions) -> Program {
        self.load_with(links, options, || {})
    }

    /// `host` is called by each operator of the host.
    fn load_with(
        &self,
        links: &[Link],
        options: &LoadOptions,
        host: impl Fn() + Send + Sync + 'static,
    ) -> Program {
        self.load_bytes(chain(links), options, host).unwrap()
    }

    fn load_bytes(
        &self,
        bytes: Vec<u8>,
        options: &LoadOptions,
        host: impl Fn() + Send + Sync + 'static,
    ) -> Result<Program> {
        let mut kernels = KernelRegistry::new();
        for copy in [UPLOAD, DOWNLOAD] {
            let signature = format!("{copy}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
            kernels.register(&signature, |_| bail!(Internal, "copies between devices"))?;
        }
        let signature = format!("{HOST}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
        kernels.register(&signature, move |call| {
            host();
            let x = call.tensor(0)?;
            let mut out = call.output(1, x.sizes())?;
            out.data_mut::<f32>()?.copy_from_slice(x.data::<f32>()?);
            Ok(())
        })?;
        let mut runtime = Runtime::builder()
            .kernels(&kernels)
            .backend(NAME, self.tensorrt.clone());
        for ordinal in 0..self.driver.device_count()? {
            runtime = runtime.device(Arc::new(self.driver.device(ordinal)?));
        }
        runtime.build().load_bytes(bytes, options)
    }

    fn method(&self, links: &[Link], options: &LoadOptions) -> Method {
        self.load(links, options).method("forward").unwrap()
    }

    fn statistics(&self) -> ScratchStatistics {
        self.statistics_of(0)
    }

    fn statistics_of(&self, device: usize) -> ScratchStatistics {
        let device = self.driver.device(device).unwrap();
        self.tensorrt.scratch_statistics(&device)
    }
}

/// Runs a chain on rows, and looks at what comes out.
fn check(method: &mut Method, rows: usize, times: usize) {
    check_with(method, rows, times, &RunOptions::new());
}

fn check_with(method: &mut Method, rows: usize, times: usize, options: &RunOptions<'_>) {
    let x = numbers(rows as i32, &[rows, 8]);
    let outputs = run_with(method, &[&x], options).unwrap();
    assert_eq!(outputs, [(vec![rows, 8], doubled(&x, times))]);
}

/// Runs something that must end.
fn ends(what: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel();
        scope.spawn(move || {
            what();
            let _ = done.send(());
        });
        if is_done.recv_timeout(Duration::from_secs(300)) == Err(mpsc::RecvTimeoutError::Timeout) {
            // There is no way to end the threads that wait.
            eprintln!("a call waits for ever");
            std::process::abort();
        }
    });
}
