//! Tests of the device layer on the stand-in driver, or on a real one.
//!
//! With `THALWEG_TEST_DRIVER=real` they run on the driver of the machine; those that need the
//! stand-in's powers (seeds, reports, failing calls) say that they are skipped. The program needs
//! nothing but the driver then.

mod copies;
mod costs;
mod devices;
mod faults;
mod graphs;
mod handing;
mod leases;
mod loss;
mod omissions;
mod order;
mod pool;
mod streams;
mod threads;
mod tokens;

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use thalweg_cuda::{Argument, Device, DeviceBuffer, Driver, Kernel, Launch, Module, Work};
use thalweg_simgpu::{Config, KernelFault, Sim};

/// `to[i] = from[i] * a + b` for `n` numbers.
const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry affine(
    .param .u64 to, .param .u64 from, .param .u32 n, .param .u32 a, .param .u32 b
)
{
    .reg .pred %p1;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [to];
    ld.param.u64 %d2, [from];
    ld.param.u32 %r1, [n];
    ld.param.u32 %r2, [a];
    ld.param.u32 %r3, [b];
    cvta.to.global.u64 %d1, %d1;
    cvta.to.global.u64 %d2, %d2;
    mov.u32 %r4, %ctaid.x;
    mov.u32 %r5, %ntid.x;
    mov.u32 %r6, %tid.x;
    mad.lo.u32 %r4, %r4, %r5, %r6;
    setp.ge.u32 %p1, %r4, %r1;
    @%p1 bra done;
    mul.wide.u32 %d3, %r4, 4;
    add.u64 %d1, %d1, %d3;
    add.u64 %d2, %d2, %d3;
    ld.global.u32 %r7, [%d2];
    mad.lo.u32 %r7, %r7, %r2, %r3;
    st.global.u32 [%d1], %r7;
done:
    ret;
}
.visible .entry crash()
{
    trap;
    ret;
}
\0";

fn real() -> bool {
    std::env::var("THALWEG_TEST_DRIVER").is_ok_and(|driver| driver == "real")
}

/// Opens the driver that is tested.
fn open() -> Driver {
    open_with(None)
}

fn open_with(path: Option<&Path>) -> Driver {
    let path = path.or_else(|| (!real()).then(Sim::path));
    Driver::open(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a test: on the stand-in once for each seed, each time as a new machine, after which
/// nothing may be reported; on a real driver a few times.
fn on_every_machine(seeds: u64, devices: usize, test: impl Fn(&Driver)) {
    let _shared = REAL.read().unwrap_or_else(PoisonError::into_inner);
    every_machine(seeds, devices, test);
}

fn every_machine(seeds: u64, devices: usize, test: impl Fn(&Driver)) {
    if real() {
        let driver = open();
        if driver.device_count().unwrap() < devices {
            println!("skipped: it needs {devices} devices");
            return;
        }
        for _ in 0..3 {
            test(&driver);
        }
        return;
    }
    let sim = session();
    for seed in 0..seeds {
        run_seed(&sim, &Config::seeded(seed).with_devices(devices), &test);
        let reports = sim.finish();
        assert!(reports.is_empty(), "seed {seed}: {reports:#?}");
    }
}

/// As [`on_every_machine`], for a test that others would disturb on a real driver: what one thread
/// captures in the strictest mode, or enqueues on the legacy default stream, concerns all threads.
fn alone_on_every_machine(seeds: u64, devices: usize, test: impl Fn(&Driver)) {
    let _alone = REAL.write().unwrap_or_else(PoisonError::into_inner);
    every_machine(seeds, devices, test);
}

/// Tests on a real driver share it, except those that are alone.
static REAL: RwLock<()> = RwLock::new(());

/// A session with the stand-in, or `None` where the driver is real.
fn stand_in(reason: &str) -> Option<Sim> {
    if real() {
        println!("skipped: it needs the stand-in, {reason}");
        return None;
    }
    Some(session())
}

fn session() -> Sim {
    let sim = Sim::session(Config::seeded(0));
    sim.register_kernel("affine", &[8, 8, 4, 4, 4], |launch| {
        let (to, from): (u64, u64) = (launch.argument(0)?, launch.argument(1)?);
        let n = launch.argument::<u32>(2)? as usize;
        let (a, b): (u32, u32) = (launch.argument(3)?, launch.argument(4)?);
        let affine = |x: u32| x.wrapping_mul(a).wrapping_add(b);
        if to == from {
            let data = launch.update::<u32>(to, n)?;
            data.iter_mut().for_each(|x| *x = affine(*x));
        } else {
            let from = launch.read::<u32>(from, n)?;
            let to = launch.write::<u32>(to, n)?;
            to.iter_mut().zip(from).for_each(|(to, &x)| *to = affine(x));
        }
        Ok(())
    });
    sim.register_kernel("crash", &[], |_| Err(KernelFault("it was asked to".into())));
    sim
}

/// Runs a test on a new machine.
fn run_seed<T>(sim: &Sim, config: &Config, test: impl Fn(&Driver) -> T) -> T {
    sim.reset(config.clone());
    test(&open())
}

/// The kernels.
struct Code {
    affine: Kernel,
    crash: Kernel,
}

impl Code {
    fn load(device: &Device) -> Self {
        Self::try_load(device).unwrap()
    }

    fn try_load(device: &Device) -> thalweg_core::Result<Self> {
        // SAFETY: PTX that ends with a zero.
        let module = unsafe { Module::load(device, PTX.as_bytes()) }?;
        Ok(Self {
            affine: module.kernel("affine")?,
            crash: module.kernel("crash")?,
        })
    }

    /// `to = from * a + b` for all numbers of `to`.
    fn affine(
        &self,
        work: &mut Work<'_>,
        to: &DeviceBuffer,
        from: &DeviceBuffer,
        (a, b): (u32, u32),
    ) -> thalweg_core::Result<()> {
        assert!(from.len() >= to.len());
        let n = (to.len() / 4) as u32;
        // A kernel with a buffer of its own as its source only writes.
        let arguments = [
            Argument::Write(to.into()),
            Argument::Read(from.into()),
            Argument::U32(n),
            Argument::U32(a),
            Argument::U32(b),
        ];
        // SAFETY: the arguments are those of the kernel above, and it stays within `n` numbers.
        unsafe { work.launch(&self.affine, &Launch::for_elements(n), &arguments) }
    }

    /// Loses the context.
    fn crash(&self, work: &mut Work<'_>) -> thalweg_core::Result<()> {
        // SAFETY: it has no arguments, and touches no memory.
        unsafe { work.launch(&self.crash, &Launch::for_elements(1), &[]) }
    }
}

fn numbers(n: usize) -> Vec<u32> {
    (0..n as u32)
        .map(|x| x.wrapping_mul(2_654_435_761))
        .collect()
}

fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<u32> {
    let chunks = bytes.chunks_exact(4);
    chunks
        .map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap()))
        .collect()
}

/// Everything of a buffer, as numbers.
fn download(work: &mut Work<'_>, buffer: &DeviceBuffer) -> Vec<u32> {
    let mut result = vec![0; buffer.len()];
    work.download(&mut result, buffer).unwrap();
    from_bytes(&result)
}
