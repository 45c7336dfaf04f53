//! Operators that work element by element.
//!
//! An operator names its operands and its output ([`Pointwise`]), and gives a function of one
//! element of each for every type to compute in. [`chunks`] has the loop, and
//! [`compute`](crate::compute) the types. A function of whole slices, such as a hand-vectorized
//! one, can be given in place of one of elements.

mod arithmetic;
mod chunks;
mod comparison;
mod copies;
mod functions;
mod selection;
mod unary;

#[cfg(test)]
mod tests;

use thalweg_core::TensorViewMut;
use thalweg_core::{DType, Dims, KernelCall, KernelRegistry, Order, Result, Scalar, TensorView};

use crate::broadcast::broadcast_shapes;
use crate::cast::cast_scalar;
use crate::compute::{Compute, constant};
use crate::ordering::in_order;
use crate::promotion::{Promotion, check_cast};
use crate::vectors::vectorized;
use chunks::{ChunkFn, Plain, Source, map, map_plain};

pub(crate) use copies::copy_converted;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    let mut own = KernelRegistry::new();
    arithmetic::register(&mut own)?;
    comparison::register(&mut own)?;
    selection::register(&mut own)?;
    unary::register(&mut own)?;
    own.set_all_orders(|_| Some(Order::Alike));
    registry.extend(own);
    copies::register(registry)
}

/// An operand: a tensor, or a number that stands for one without dimensions.
#[derive(Clone, Copy)]
enum Operand<'a> {
    Tensor(TensorView<'a>),
    Scalar(Scalar),
}

impl<'a> Operand<'a> {
    fn as_tensor(&self) -> Option<&TensorView<'a>> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Scalar(_) => None,
        }
    }
}

/// The operands of a call, its output, and the element type in which it computes.
struct Pointwise<'a, const N: usize> {
    operands: [Operand<'a>; N],
    out: TensorViewMut<'a>,
    common: DType,
    threads: usize,
    precise_scalars: bool,
}

impl<'a, const N: usize> Pointwise<'a, N> {
    /// Computes in what the operands promote to.
    fn promoted(call: &'a KernelCall<'_>, operands: [Operand<'a>; N], out: usize) -> Result<Self> {
        let common = promote(&operands)?;
        Self::of_type(call, operands, out, common)
    }

    /// Computes in a given element type.
    fn of_type(
        call: &'a KernelCall<'_>,
        mut operands: [Operand<'a>; N],
        out: usize,
        common: DType,
    ) -> Result<Self> {
        let mut sizes = Dims::new();
        let mut tensors = operands.iter().filter_map(Operand::as_tensor);
        if let Some(first) = tensors.next()
            && tensors.all(|tensor| tensor.sizes() == first.sizes())
        {
            // Most operands need no broadcasting.
            let out = call.output(out, first.sizes())?;
            for operand in &mut operands {
                if let Operand::Tensor(tensor) = operand
                    && tensor.dim_order() != out.dim_order()
                {
                    *tensor = in_order(call, *tensor, out.dim_order())?;
                }
            }
            return Ok(Self {
                operands,
                out,
                common,
                threads: call.threads(),
                precise_scalars: false,
            });
        }
        for operand in &operands {
            if let Operand::Tensor(tensor) = operand {
                sizes = broadcast_shapes(&sizes, tensor.sizes())?;
            }
        }
        let out = call.output(out, &sizes)?;
        // What only lies in another order is moved in tiles here, faster than the loop gathers.
        for operand in &mut operands {
            if let Operand::Tensor(tensor) = operand
                && *tensor.sizes() == *sizes
            {
                *tensor = in_order(call, *tensor, out.dim_order())?;
            }
        }
        Ok(Self {
            operands,
            out,
            common,
            threads: call.threads(),
            precise_scalars: false,
        })
    }

    /// Numbers keep their precision next to f16 and bf16, as they do in PyTorch's products and
    /// quotients, but not elsewhere.
    fn with_precise_scalars(mut self) -> Self {
        self.precise_scalars = true;
        self
    }

    /// Computes in `C`, which must be the compute type of `common`. Results are of type `common`,
    /// or of `P` if that is another type.
    fn run<C: Compute, P: Compute>(mut self, f: &ChunkFn<'_, C, P, N>) -> Result<()> {
        let result = if P::DTYPE == C::DTYPE {
            self.common
        } else {
            P::DTYPE
        };
        check_cast(result, self.out.dtype())?;
        if P::DTYPE == self.out.dtype()
            && let Some(operands) = self.plain::<C>()?
        {
            return map_plain(self.out.data_mut()?, self.threads, operands, f);
        }
        let mut sources = [const { None }; N];
        for (source, operand) in sources.iter_mut().zip(&self.operands) {
            *source = Some(self.source(operand)?);
        }
        // Every one was set just now.
        let sources = sources.map(|source| source.unwrap_or(Source::Constant(C::default())));
        map(&mut self.out, self.threads, sources, f)
    }

    /// The operands, if each is a number or has elements of type `C` in the order of the output.
    fn plain<C: Compute>(&self) -> Result<Option<[Plain<'a, C>; N]>> {
        let mut plain = [Plain::All(C::default()); N];
        for (plain, operand) in plain.iter_mut().zip(&self.operands) {
            *plain = match operand {
                Operand::Tensor(tensor)
                    if tensor.dtype() == C::DTYPE
                        && (self.common == C::DTYPE || !is_half(self.common))
                        && *tensor.sizes() == *self.out.sizes()
                        && *tensor.dim_order() == *self.out.dim_order() =>
                {
                    Plain::Each(tensor.data()?)
                }
                Operand::Tensor(_) => return Ok(None),
                Operand::Scalar(value) if self.precise_scalars && self.common.is_float() => {
                    Plain::All(cast_scalar(*value))
                }
                Operand::Scalar(value) => Plain::All(constant(*value, self.common)?),
            };
        }
        Ok(Some(plain))
    }

    fn source<C: Compute>(&self, operand: &Operand<'a>) -> Result<Source<'a, C>> {
        match operand {
            Operand::Tensor(tensor) if self.precise_scalars && tensor.rank() == 0 => {
                Source::precise_tensor(*tensor, &self.out, self.common)
            }
            Operand::Tensor(tensor) => Source::tensor(*tensor, &self.out, self.common),
            Operand::Scalar(value) if self.precise_scalars => {
                Source::precise_scalar(*value, self.common)
            }
            Operand::Scalar(value) => Source::scalar(*value, self.common),
        }
    }
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// What operands promote to.
fn promote(operands: &[Operand<'_>]) -> Result<DType> {
    let mut promotion = Promotion::new();
    for operand in operands {
        promotion = match operand {
            Operand::Tensor(tensor) => promotion.tensor(tensor),
            Operand::Scalar(value) => promotion.scalar(*value),
        };
    }
    promotion.result()
}

/// A tensor argument as operand.
fn tensor<'a>(call: &'a KernelCall<'_>, position: usize) -> Result<Operand<'a>> {
    Ok(Operand::Tensor(call.tensor(position)?))
}

/// A number argument as operand.
fn scalar<'a>(call: &'a KernelCall<'_>, position: usize) -> Result<Operand<'a>> {
    Ok(Operand::Scalar(call.scalar(position)?))
}

/// A function of elements as one of chunks.
fn each<C: Copy, P>(f: impl Fn(C) -> P + Sync) -> impl Fn([&[C]; 1], &mut [P]) + Sync {
    move |[a], out| {
        vectorized(
            #[inline(always)]
            || {
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = f(a);
                }
            },
        );
    }
}

/// A function of pairs of elements as one of chunks.
fn pairs<C: Copy, P>(f: impl Fn(C, C) -> P + Sync) -> impl Fn([&[C]; 2], &mut [P]) + Sync {
    move |[a, b], out| {
        vectorized(
            #[inline(always)]
            || {
                for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                    *out = f(a, b);
                }
            },
        );
    }
}

/// A function of triples of elements as one of chunks.
fn triples<C: Copy, P>(f: impl Fn(C, C, C) -> P + Sync) -> impl Fn([&[C]; 3], &mut [P]) + Sync {
    move |[a, b, c], out| {
        vectorized(
            #[inline(always)]
            || {
                for (((out, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
                    *out = f(a, b, c);
                }
            },
        );
    }
}
