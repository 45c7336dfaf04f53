//! Two programs on one device, from one thread: on its own stream they take turns, and on a stream each
//! they overlap.
//!
//! ```text
//! cargo run --release --example two_streams -- detect.pte segment.pte
//! ```
//!
//! Inputs are made up, on the device; outputs stay there. `thalweg bench together` measures the same with
//! more care.

#[cfg(target_os = "linux")]
fn main() -> thalweg::Result<()> {
    let mut paths = std::env::args().skip(1);
    let (Some(left), Some(right)) = (paths.next(), paths.next()) else {
        thalweg::extend::bail!(InvalidOption, "usage: two_streams ONE.pte ANOTHER.pte");
    };
    overlap::run(&left, &right)
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("devices are used on Linux only");
}

#[cfg(target_os = "linux")]
mod overlap {
    use std::time::{Duration, Instant};

    use thalweg::cuda::{Device, Driver, Stream};
    use thalweg::extend::Device as _;
    use thalweg::info::ValueInfo;
    use thalweg::{Input, Method, Result, RunOptions, Runtime, Tensor};

    /// So often both are called; the first calls load code and are not counted.
    const CALLS: usize = 200;
    const WARMUP: usize = 20;

    pub(super) fn run(left: &str, right: &str) -> Result<()> {
        let runtime = Runtime::detect();
        let device = Driver::open(None)?.device(0)?;
        let mut methods = Vec::new();
        for path in [left, right] {
            let program = runtime.load(path)?;
            let name = program
                .method_names()
                .next()
                .unwrap_or("forward")
                .to_string();
            methods.push(program.method(&name)?);
        }
        let inputs = methods.iter().map(inputs).collect::<Result<Vec<_>>>()?;
        let streams = [Stream::new(&device)?, Stream::new(&device)?];
        let here = RunOptions::new().device_outputs(true);
        let one = [here.clone(), here.clone()];
        let each = [here.clone().stream(&streams[0]), here.stream(&streams[1])];
        println!(
            "on one stream: {:?}",
            time(&device, &mut methods, &inputs, &one)?
        );
        println!(
            "on a stream each: {:?}",
            time(&device, &mut methods, &inputs, &each)?
        );
        Ok(())
    }

    /// How long both calls take, in the median.
    fn time(
        device: &Device,
        methods: &mut [Method],
        inputs: &[Vec<Tensor>],
        options: &[RunOptions<'_>; 2],
    ) -> Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..WARMUP + CALLS {
            let start = Instant::now();
            for ((method, inputs), options) in methods.iter_mut().zip(inputs).zip(options) {
                let inputs: Vec<_> = inputs.iter().map(Input::from).collect();
                let outputs = method.run_with(&inputs, options)?;
                // Nobody has waited. What this says later is when the device is done with the call.
                let _ = outputs.completion(device.id())?;
            }
            device.synchronize()?;
            times.push(start.elapsed());
        }
        times.drain(..WARMUP);
        times.sort_unstable();
        Ok(times[CALLS / 2])
    }

    /// Zeros for all inputs of a method, which have to be tensors.
    fn inputs(method: &Method) -> Result<Vec<Tensor>> {
        let infos = method.info().inputs;
        infos
            .iter()
            .map(|info| match info {
                ValueInfo::Tensor(info) => Tensor::zeros(info.dtype, &info.sizes),
                other => {
                    thalweg::extend::bail!(Unsupported, "an input that is no tensor: {other:?}")
                }
            })
            .collect()
    }
}
