//! Operators that are fused.

use thalweg_core::{Epilogue, Kernel, KernelCall, KernelRegistry, Prepacked, Result};

const JOIN: &str = "t::join.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)";
const TIMES: &str = "t::times.out(Tensor a, float by, *, Tensor(a!) out) -> Tensor(a!)";

/// What follows, in its order.
struct Factors(Vec<f32>);

/// `a`, from its end, and `b`, and then the epilogues.
fn join(call: &KernelCall<'_>) -> Result<()> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let mut out = call.output(2, a.sizes())?;
    let (a, b) = (a.data::<f32>()?, b.data::<f32>()?);
    for (index, out) in out.data_mut::<f32>()?.iter_mut().enumerate() {
        *out = a[a.len() - 1 - index] + b[index];
        for factor in call.prepacked::<Factors>().into_iter().flat_map(|f| &f.0) {
            *out *= factor;
        }
    }
    Ok(())
}

fn times(call: &KernelCall<'_>) -> Result<()> {
    let (a, by) = (call.tensor(0)?, call.double(1)? as f32);
    let mut out = call.output(2, a.sizes())?;
    for (out, a) in out.data_mut::<f32>()?.iter_mut().zip(a.data::<f32>()?) {
        *out = a * by;
    }
    Ok(())
}

/// `t::join.out`, which takes factors other than 7, and `t::times.out`, which may be an epilogue.
pub(crate) fn kernels(offers: bool) -> KernelRegistry {
    let join = Kernel::new(JOIN, join).unwrap();
    let times = Kernel::new(TIMES, times).unwrap();
    let mut kernels = KernelRegistry::new();
    kernels.add(join.with_fusion(|_, offers| {
        let factors: Vec<f32> = offers
            .iter()
            .filter_map(|offer| offer.get())
            .copied()
            .collect();
        let takes = factors.len() == offers.len() && !factors.contains(&7.0);
        Ok(takes.then(|| Prepacked::new(Factors(factors))))
    }));
    kernels.add(if offers {
        times.with_epilogue(|call| Ok(call.scalar(1).map(|by| Epilogue::new(by.to_f64() as f32))))
    } else {
        times
    });
    kernels
}
