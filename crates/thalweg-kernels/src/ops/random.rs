//! Random numbers.
//!
//! A registry has one generator (xoshiro256++) for its random operators, seeded by the operating
//! system, or by the caller, for reproducible results. Each call takes a generator of its
//! own from it, so calls at the same time do not wait for one another; their order
//! decides which has which numbers. The numbers are not PyTorch's.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::{SysRng, Xoshiro256PlusPlus};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use thalweg_core::{
    Bool, DType, Element, Kernel, KernelCall, KernelRegistry, Result, TensorViewMut, bail, ensure,
    identity_order,
};

use crate::dtype::cast::CastInto;
use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real};
use crate::layout::dims::{size_from, sizes_from};
use crate::layout::order::{fill_in_order, laid_out};

pub(crate) fn register(registry: &mut KernelRegistry, seed: Option<u64>) -> Result<()> {
    let generator = Arc::new(Generator::new(seed));
    let (uniform, normal) = (generator.clone(), generator.clone());
    let (order, dropout) = (generator.clone(), generator);
    registry.add(Kernel::new(
        "aten::rand.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        move |call| {
            let out = call.output(1, &sizes_from(call.int_list(0)?)?)?;
            dispatch!(out.dtype(), float => T, {
                let digits = digits(T::DTYPE);
                let draw = |bits: &mut Bits| T::narrow(Real::of(fraction(bits, digits)));
                fill::<T>(out, &uniform, draw)
            })
        },
    )?);
    registry.add(Kernel::new(
        "aten::randn.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        move |call| {
            let out = call.output(1, &sizes_from(call.int_list(0)?)?)?;
            dispatch!(out.dtype(), float => T, {
                let draw = |bits: &mut Bits| T::narrow(Real::of(StandardNormal.sample(bits)));
                fill::<T>(out, &normal, draw)
            })
        },
    )?);
    registry.add(Kernel::new(
        "aten::randperm.out(SymInt n, *, Tensor(a!) out) -> Tensor(a!)",
        move |call| {
            let mut out = call.output(1, &[size_from(call.int(0)?)?])?;
            dispatch!(out.dtype(), real => T, {
                let elements = out.data_mut::<T>()?;
                for (at, element) in elements.iter_mut().enumerate() {
                    *element = (at as i64).cast_into();
                }
                elements.shuffle(&mut order.split()?);
            });
            Ok(())
        },
    )?);
    registry.add(Kernel::new(
        "aten::native_dropout.out(Tensor input, float p, bool? train, *, Tensor(a!) out0, \
         Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
        move |call| {
            dispatch!(call.tensor(0)?.dtype(), float => T, {
                native_dropout::<T>(call, &dropout)
            })
        },
    )?);
    Ok(())
}

type Bits = Xoshiro256PlusPlus;

/// The generator that all random operators of a registry draw from. Empty before the first call if the seed is
/// the system's.
struct Generator(Mutex<Option<Bits>>);

impl Generator {
    fn new(seed: Option<u64>) -> Self {
        Self(Mutex::new(seed.map(Bits::seed_from_u64)))
    }

    /// A generator for one call.
    fn split(&self) -> Result<Bits> {
        // A panic while the lock was held leaves a generator that is as good as before.
        let mut bits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bits = match &mut *bits {
            Some(bits) => bits,
            none => match Bits::try_from_rng(&mut SysRng) {
                Ok(bits) => none.insert(bits),
                Err(why) => bail!(Io, "the system gives no random seed: {why}"),
            },
        };
        Ok(Bits::from_rng(bits))
    }
}

fn fill<T: Element>(
    mut out: TensorViewMut<'_>,
    generator: &Generator,
    draw: impl Fn(&mut Bits) -> T,
) -> Result<()> {
    let mut bits = generator.split()?;
    let elements = out.data_mut::<T>()?;
    elements.iter_mut().for_each(|out| *out = draw(&mut bits));
    Ok(())
}

/// A number from 0 to below 1, with so many binary digits: one that the element type holds exactly,
/// since rounding could make it 1.
fn fraction(bits: &mut Bits, digits: u32) -> f64 {
    let number = bits.next_u64() >> (u64::BITS - digits);
    number as f64 / (1u64 << digits) as f64
}

/// The binary digits that all fractions of an element type can have.
fn digits(dtype: DType) -> u32 {
    match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        _ => 53,
    }
}

/// Dropout: zeros in the place of elements, each with probability `p`; the others are scaled so that the
/// mean stays, and the second output says what is left. Without `train`, which counts as true if
/// it is absent, everything is.
fn native_dropout<T: Float>(call: &KernelCall<'_>, generator: &Generator) -> Result<()> {
    let input = call.tensor(0)?;
    let p = call.double(1)?;
    ensure!(
        (0.0..=1.0).contains(&p),
        Operator,
        "{p} is not a probability"
    );
    let drops = call.optional_bool(2)?.unwrap_or(true);
    let scale = match 1.0 - p {
        0.0 => 0.0,
        kept => kept.recip(),
    };
    let scale = T::Compute::of(scale);
    let order = identity_order(input.rank())?;
    let data = laid_out::<T>(call, input, order)?;
    let mut out = call.output(3, input.sizes())?;
    let mut mask = call.output(4, input.sizes())?;
    let mut bits = generator.split()?;
    fill_in_order::<T>(call, &mut out, order, |out| {
        fill_in_order::<Bool>(call, &mut mask, order, |mask| {
            if !drops {
                mask.fill(true.into());
                out.copy_from_slice(data);
                return Ok(());
            }
            for ((out, mask), &value) in out.iter_mut().zip(mask).zip(data) {
                let kept = fraction(&mut bits, 53) >= p;
                *mask = Bool::from(kept);
                // A product, so that what is not finite does not become 0, as in PyTorch.
                let factor = if kept {
                    scale
                } else {
                    num_traits::Zero::zero()
                };
                *out = T::narrow(value.widen() * factor);
            }
            Ok(())
        })
    })
}

#[cfg(test)]
mod tests {
    use thalweg_core::{Argument, Kernel, Tensor, bf16, f16};

    use super::*;

    fn kernel(operator: &str, seed: Option<u64>) -> Kernel {
        let mut registry = KernelRegistry::new();
        register(&mut registry, seed).unwrap();
        registry.get(operator).unwrap().clone()
    }

    fn drawn<T: Element>(operator: &str, count: usize, seed: Option<u64>) -> Vec<T> {
        let out = Tensor::zeros(T::DTYPE, &[0]).unwrap();
        let arguments = vec![(&[count as i64][..]).into(), out.into()];
        let results = kernel(operator, seed).invoke(arguments).unwrap();
        results[1].tensor().unwrap().data::<T>().unwrap().to_vec()
    }

    #[test]
    fn a_permutation_has_every_number_once_in_another_order() {
        let out = Tensor::zeros(DType::I64, &[0]).unwrap();
        let arguments = vec![100.into(), out.into()];
        let results = kernel("aten::randperm.out", Some(1)).invoke(arguments);
        let mut numbers = crate::testing::integers(&results.unwrap()[1]);
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100));
    }

    /// Mean and variance.
    fn moments(values: &[f64]) -> [f64; 2] {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        [mean, variance]
    }

    fn check_moments(values: &[f64], expected: [f64; 2]) {
        let moments = moments(values);
        for (moment, expected) in moments.into_iter().zip(expected) {
            assert!((moment - expected).abs() < 0.02, "{moments:?}");
        }
    }

    #[test]
    fn uniform_numbers_are_spread_from_0_to_below_1() {
        let values = drawn::<f32>("aten::rand.out", 40_000, Some(1));
        assert!(values.iter().all(|x| (0.0..1.0).contains(x)));
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        check_moments(&values, [0.5, 1.0 / 12.0]);
    }

    #[test]
    fn no_half_precision_number_is_rounded_up_to_1() {
        let values = drawn::<bf16>("aten::rand.out", 40_000, Some(1));
        assert!(values.iter().all(|&x| x < bf16::ONE));
        assert!(values.iter().any(|&x| x > bf16::from_f32(0.99)));
        let values = drawn::<f16>("aten::rand.out", 40_000, Some(1));
        assert!(values.iter().all(|&x| x < f16::ONE));
        assert!(values.iter().any(|&x| x > f16::from_f32(0.999)));
    }

    #[test]
    fn normal_numbers_have_mean_0_and_variance_1() {
        let values = drawn::<f64>("aten::randn.out", 40_000, Some(1));
        check_moments(&values, [0.0, 1.0]);
        let within = values.iter().filter(|x| x.abs() < 1.0).count() as f64 / 40_000.0;
        assert!((within - 0.6827).abs() < 0.01, "{within}");
    }

    #[test]
    fn a_seed_gives_the_same_numbers_again_and_the_system_others() {
        let of = |seed| drawn::<f32>("aten::rand.out", 8, seed);
        assert_eq!(of(Some(7)), of(Some(7)));
        assert_ne!(of(Some(7)), of(Some(8)));
        assert_ne!(of(None), of(None));
    }

    #[test]
    fn one_call_does_not_repeat_another() {
        let rand = kernel("aten::rand.out", Some(1));
        let call = || {
            let out = Tensor::zeros(DType::F32, &[0]).unwrap();
            let results = rand.invoke(vec![(&[8][..]).into(), out.into()]).unwrap();
            results[1].tensor().unwrap().data::<f32>().unwrap().to_vec()
        };
        assert_ne!(call(), call());
    }

    fn dropout(p: f64, train: Option<bool>) -> (Vec<f32>, Vec<bool>) {
        let x = Tensor::from_slice(&[1f32; 10_000], &[100, 100]).unwrap();
        let train = train.map_or(Argument::None, Argument::from);
        let [out, mask] =
            [DType::F32, DType::Bool].map(|dtype| Tensor::zeros(dtype, &[0, 0]).unwrap().into());
        let kernel = kernel("aten::native_dropout.out", Some(1));
        let results = kernel.invoke(vec![(&x).into(), p.into(), train, out, mask]);
        let results = results.unwrap();
        let mask = results[4].tensor().unwrap();
        let mask = mask.data::<Bool>().unwrap().iter().map(|x| x.get());
        let out = results[3].tensor().unwrap().data().unwrap().to_vec();
        (out, mask.collect())
    }

    #[test]
    fn what_dropout_leaves_is_scaled_and_marked() {
        for train in [None, Some(true)] {
            let (out, mask) = dropout(0.25, train);
            for (&out, &mask) in out.iter().zip(&mask) {
                assert_eq!(out, if mask { 1.0 / 0.75 } else { 0.0 });
            }
            let kept = mask.iter().filter(|&&kept| kept).count();
            assert!((7_300..7_700).contains(&kept), "{kept}");
        }
    }

    #[test]
    fn dropout_leaves_all_when_not_training_and_nothing_for_certain() {
        let (out, mask) = dropout(0.25, Some(false));
        assert!(out.iter().all(|&x| x == 1.0) && mask.iter().all(|&kept| kept));
        let (out, mask) = dropout(1.0, Some(true));
        assert!(out.iter().all(|&x| x == 0.0) && !mask.iter().any(|&kept| kept));
    }
}
