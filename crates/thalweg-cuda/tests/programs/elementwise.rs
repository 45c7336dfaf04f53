//! A backend whose delegates compute `3 x + 1` on the device, on i32.

use std::ffi::c_void;
use std::sync::Arc;

use thalweg_core::{Backend, Call, Delegate, DelegateInstance, DelegateSpec, Device as _, Result};
use thalweg_cuda::{Argument, Device, Kernel, Launch, Module, Stream};
use thalweg_simgpu::{Config, Sim};

const PTX: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry affine(.param .u64 to, .param .u64 from, .param .u32 n)
{
    .reg .pred %p1;
    .reg .b32 %r<8>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [to];
    ld.param.u64 %d2, [from];
    ld.param.u32 %r1, [n];
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
    mad.lo.u32 %r7, %r7, 3, 1;
    st.global.u32 [%d1], %r7;
done:
    ret;
}
\0";

/// A session with the stand-in, which knows the kernel.
pub(crate) fn session() -> Sim {
    let sim = Sim::session(Config::seeded(0));
    sim.register_kernel("affine", &[8, 8, 4], |launch| {
        let (to, from): (u64, u64) = (launch.argument(0)?, launch.argument(1)?);
        let n = launch.argument::<u32>(2)? as usize;
        let from = launch.read::<u32>(from, n)?;
        let to = launch.write::<u32>(to, n)?;
        for (to, x) in to.iter_mut().zip(from) {
            *to = x.wrapping_mul(3).wrapping_add(1);
        }
        Ok(())
    });
    sim
}

/// The backend, its delegates, and their instances.
#[derive(Clone)]
pub(crate) struct Affine {
    device: Device,
    kernel: Arc<Kernel>,
}

impl Affine {
    pub(crate) fn new(device: &Device) -> Result<Self> {
        // SAFETY: PTX that ends with a zero.
        let module = unsafe { Module::load(device, PTX.as_bytes()) }?;
        Ok(Self {
            device: device.clone(),
            kernel: Arc::new(module.kernel("affine")?),
        })
    }
}

impl Backend for Affine {
    fn load(&self, _: &DelegateSpec<'_>) -> Result<Arc<dyn Delegate>> {
        Ok(Arc::new(self.clone()))
    }
}

impl Delegate for Affine {
    fn instance(&self) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(self.clone()))
    }
}

impl DelegateInstance for Affine {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let x = call.device_tensor(0)?;
        let (from, sizes) = (x.address(), x.sizes().to_vec());
        let out = call.device_output(1, &sizes)?;
        let (to, n) = (out.address(), (out.len() / 4) as u32);
        let handle = call.stream(self.device.id())?;
        // SAFETY: the stream of the call, which lives for as long.
        let stream = unsafe { Stream::borrow(&self.device, handle.0 as *mut c_void) };
        let arguments = [Argument::U64(to.0), Argument::U64(from.0), Argument::U32(n)];
        let mut work = stream.work()?;
        // SAFETY: the arguments are those of the kernel, and the core checked both places.
        unsafe { work.launch(&self.kernel, &Launch::for_elements(n), &arguments) }?;
        work.finish()?;
        Ok(())
    }
}
