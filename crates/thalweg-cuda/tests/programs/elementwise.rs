//! Backends whose delegates compute something of each element, on the device of their arguments:
//! `3 x + 1` on i32 (`affine`), or `x + 1` on f32 (`increment`).

use std::ffi::c_void;
use std::sync::Arc;

use thalweg_core::{
    Backend, Call, Delegate, DelegateInstance, DelegateSpec, Device as _, DeviceAddress, DeviceId,
    GraphKey, LoadedDelegate, Result, StateBuffers, StreamHandle, bail,
};
use thalweg_cuda::{Argument, Device, Kernel, Launch, Module, Stream};
use thalweg_simgpu::{Config, Sim};

/// A kernel that does something with each element: `%d2` is where it is, `%d1` where the result
/// goes.
macro_rules! kernel {
    ($name:literal, $body:literal) => {
        concat!(
            ".visible .entry ",
            $name,
            "(.param .u64 to, .param .u64 from, .param .u32 n)
{
    .reg .pred %p1;
    .reg .b32 %r<8>;
    .reg .f32 %f<2>;
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
    ",
            $body,
            "
done:
    ret;
}
"
        )
    };
}

const PTX: &str = concat!(
    ".version 7.0\n.target sm_75\n.address_size 64\n",
    kernel!(
        "affine",
        "ld.global.u32 %r7, [%d2]; mad.lo.u32 %r7, %r7, 3, 1; st.global.u32 [%d1], %r7;"
    ),
    kernel!(
        "increment",
        "ld.global.f32 %f1, [%d2]; add.rn.f32 %f1, %f1, 0f3F800000; st.global.f32 [%d1], %f1;"
    ),
    "\0"
);

/// A session with the stand-in, which knows the kernels.
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
    sim.register_kernel("increment", &[8, 8, 4], |launch| {
        let (to, from): (u64, u64) = (launch.argument(0)?, launch.argument(1)?);
        let n = launch.argument::<u32>(2)? as usize;
        if to == from {
            launch
                .update::<f32>(to, n)?
                .iter_mut()
                .for_each(|x| *x += 1.0);
            return Ok(());
        }
        let from = launch.read::<f32>(from, n)?;
        let to = launch.write::<f32>(to, n)?;
        for (to, x) in to.iter_mut().zip(from) {
            *to = x + 1.0;
        }
        Ok(())
    });
    sim
}

/// The backend, its delegates, and their instances.
#[derive(Clone)]
pub(crate) struct Elementwise {
    on: Arc<[(Device, Kernel)]>,
    /// Whether an argument is updated in place.
    in_place: bool,
    /// What was ever prepared: the stamp of each is where it is.
    known: Vec<Prepared>,
    /// The last of them.
    prepared: Option<Prepared>,
}

/// What a call asks for.
#[derive(Clone, Copy, PartialEq)]
struct Prepared {
    on: DeviceId,
    from: DeviceAddress,
    to: DeviceAddress,
    elements: u32,
}

impl Elementwise {
    /// Delegates that run a kernel, on each of some devices.
    pub(crate) fn new(devices: &[Device], kernel: &str) -> Result<Self> {
        let load = |device: &Device| -> Result<_> {
            // SAFETY: PTX that ends with a zero.
            let module = unsafe { Module::load(device, PTX.as_bytes()) }?;
            Ok((device.clone(), module.kernel(kernel)?))
        };
        Ok(Self {
            on: devices.iter().map(load).collect::<Result<_>>()?,
            in_place: false,
            known: Vec::new(),
            prepared: None,
        })
    }

    /// Delegates that update their argument, which is their result.
    pub(crate) fn in_place(self) -> Self {
        Self {
            in_place: true,
            ..self
        }
    }

    fn ask_for(&self, prepared: Prepared, handle: StreamHandle) -> Result<()> {
        let Prepared {
            on,
            mut from,
            to,
            elements,
        } = prepared;
        let Some((device, kernel)) = self.on.iter().find(|(device, _)| device.id() == on) else {
            bail!(MissingDevice, "there is no kernel on {on}");
        };
        // SAFETY: the stream of the call, which lives for as long.
        let stream = unsafe { Stream::borrow(device, handle.0 as *mut c_void) };
        let mut work = stream.work()?;
        if self.in_place && from != to {
            // SAFETY: the core checked both places, and they lie apart.
            unsafe { device.copy(to, from, elements as usize * 4, handle) }?;
            from = to;
        }
        let arguments = [
            Argument::U64(to.0),
            Argument::U64(from.0),
            Argument::U32(elements),
        ];
        // SAFETY: the arguments are those of the kernel, and the core checked both places.
        unsafe { work.launch(kernel, &Launch::for_elements(elements), &arguments) }?;
        work.finish()?;
        Ok(())
    }
}

impl Backend for Elementwise {
    fn load(&self, _: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        Ok(Arc::new(self.clone()).into())
    }
}

impl Delegate for Elementwise {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(self.clone()))
    }

    fn aliases(&self) -> Vec<(usize, usize)> {
        if self.in_place {
            vec![(1, 0)]
        } else {
            Vec::new()
        }
    }
}

impl DelegateInstance for Elementwise {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let prepared = look(call)?;
        let stream = call.stream(prepared.on)?;
        self.ask_for(prepared, stream)
    }

    fn encode(&mut self, call: &mut Call<'_>) -> Result<Option<GraphKey>> {
        let prepared = look(call)?;
        self.prepared = Some(prepared);
        let known = self.known.iter().position(|known| *known == prepared);
        let stamp = known.unwrap_or_else(|| {
            self.known.push(prepared);
            self.known.len() - 1
        });
        Ok(Some(GraphKey(stamp as u64)))
    }

    fn submit(&mut self, stream: StreamHandle, _: bool) -> Result<()> {
        match self.prepared {
            Some(prepared) => self.ask_for(prepared, stream),
            None => bail!(Internal, "nothing was prepared"),
        }
    }
}

fn look(call: &mut Call<'_>) -> Result<Prepared> {
    let x = call.device_tensor(0)?;
    let (on, from, sizes) = (x.device(), x.address(), x.sizes().to_vec());
    let out = call.device_output(1, &sizes)?;
    Ok(Prepared {
        on,
        from,
        to: out.address(),
        elements: (out.len() / 4) as u32,
    })
}
