//! Elementwise computation: operands, output, and functions of elements.
//!
//! An operator names its operands and its output ([`Elementwise`]), and gives a function of one
//! element of each for every type to compute in. [`chunks`] has the loop, and
//! [`compute`](crate::dtype::compute) the types. A function of whole slices, such as a hand-vectorized
//! one, can be given in place of one of elements.

mod chunks;
mod copy;
pub(crate) mod functions;

use thalweg_core::TensorViewMut;
use thalweg_core::{
    DType, Dims, Kernel, KernelCall, Layout, Result, Scalar, TensorView, same_dims,
};

use crate::dtype::cast::cast_scalar;
use crate::dtype::compute::{Compute, constant, through};
use crate::dtype::promotion::{Promotion, check_cast, keeps_type};
use crate::layout::broadcast::broadcast_shapes;
use crate::layout::order::in_order;
use crate::layout::walk::Walk;
use crate::operator::pure;
use crate::simd::vectorized;
use chunks::{CHUNK, ChunkFn, Plain, Source, map, map_plain};

pub(crate) use copy::copy_converted;

/// A pure operator that works on each element by itself, as fast in any dim order as long as all tensors have
/// the same.
pub(crate) fn elementwise(
    schema: &str,
    run: impl Fn(&KernelCall<'_>) -> Result<()> + Send + Sync + 'static,
) -> Result<Kernel> {
    Ok(pure(schema, run)?.with_layout(|_| Some(Layout::Elementwise)))
}

/// An operand: a tensor, or a number that stands for one without dimensions.
#[derive(Clone, Copy)]
pub(crate) enum Operand<'a> {
    Tensor(TensorView<'a>),
    Scalar(Scalar),
}

impl<'a> Operand<'a> {
    #[inline(always)]
    fn as_tensor(&self) -> Option<&TensorView<'a>> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Scalar(_) => None,
        }
    }
}

/// The operands of a call, its output, and the element type in which it computes.
pub(crate) struct Elementwise<'a, const N: usize> {
    operands: [Operand<'a>; N],
    out: TensorViewMut<'a>,
    pub(crate) common: DType,
    threads: usize,
    precise_scalars: bool,
    /// Every tensor has the shape of the output and lies as it does, or has one element.
    aligned: bool,
}

impl<'a, const N: usize> Elementwise<'a, N> {
    /// Computes in what the operands promote to.
    #[inline(always)]
    pub(crate) fn promoted(
        call: &'a KernelCall<'_>,
        operands: [Operand<'a>; N],
        out: usize,
    ) -> Result<Self> {
        let common = promote(&operands)?;
        Self::of_type(call, operands, out, common)
    }

    /// Computes in a given element type.
    // Inlined, as is all that operands pass through: a call would leave them in memory, and reading
    // that back at once takes longer than what is done here.
    #[inline(always)]
    pub(crate) fn of_type(
        call: &'a KernelCall<'_>,
        mut operands: [Operand<'a>; N],
        out: usize,
        common: DType,
    ) -> Result<Self> {
        let mut tensors = operands.iter().filter_map(Operand::as_tensor);
        // Most operands need no broadcasting.
        let same = tensors.next().filter(|first| {
            let sizes = first.sizes();
            tensors.all(|tensor| same_dims(tensor.sizes(), sizes))
        });
        let is_same = same.is_some();
        let out = match same {
            Some(first) => call.output(out, first.sizes())?,
            None => call.output(out, &broadcast_of(&operands)?)?,
        };
        let mut aligned = true;
        for operand in &mut operands {
            let Operand::Tensor(tensor) = operand else {
                continue;
            };
            if is_same || same_dims(tensor.sizes(), out.sizes()) {
                if !same_dims(tensor.dim_order(), out.dim_order()) {
                    // What only lies in another order is moved in tiles here, faster than the loop
                    // gathers.
                    *tensor = in_order(call, *tensor, out.dim_order())?;
                }
            } else {
                aligned &= tensor.numel() == 1;
            }
        }
        Ok(Self {
            operands,
            out,
            common,
            threads: call.threads(),
            precise_scalars: false,
            aligned,
        })
    }

    /// Numbers keep their precision next to f16 and bf16, as they do in PyTorch's products and
    /// quotients, but not elsewhere.
    #[inline(always)]
    pub(crate) fn with_precise_scalars(mut self) -> Self {
        self.precise_scalars = true;
        self
    }

    /// Computes in `C`, which must be the compute type of `common`. Results are of type `common`,
    /// or of `P` if that is another type.
    pub(crate) fn run<C: Compute, P: Compute>(mut self, f: &ChunkFn<'_, C, P, N>) -> Result<()> {
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
        let mut walks = std::array::from_fn::<_, N, _>(|_| None);
        let mut sources = [Source::Constant(C::default()); N];
        for ((source, operand), walk) in sources.iter_mut().zip(&self.operands).zip(&mut walks) {
            *source = self.source(operand, walk)?;
        }
        map(&mut self.out, self.threads, sources, f)
    }

    /// The operands, if each is a number or has elements of type `C` in the order of the output.
    #[inline(always)]
    fn plain<C: Compute>(&self) -> Result<Option<[Plain<'a, C>; N]>> {
        let mut plain = [Plain::All(C::default()); N];
        if !self.aligned || is_half(self.common) {
            return Ok(None);
        }
        for (plain, operand) in plain.iter_mut().zip(&self.operands) {
            *plain = match operand {
                Operand::Tensor(tensor) if tensor.dtype() != C::DTYPE => return Ok(None),
                Operand::Tensor(tensor) => match tensor.data()? {
                    &[value] if self.out.numel() != 1 => Plain::All(through(value, self.common)?),
                    values => Plain::Each(values),
                },
                Operand::Scalar(value) if self.precise_scalars && self.common.is_float() => {
                    Plain::All(cast_scalar(*value))
                }
                Operand::Scalar(value) => Plain::All(constant(*value, self.common)?),
            };
        }
        Ok(Some(plain))
    }

    #[inline(always)]
    fn source<'s, C: Compute>(
        &self,
        operand: &Operand<'s>,
        walk: &'s mut Option<Walk<1>>,
    ) -> Result<Source<'s, C>> {
        match operand {
            Operand::Tensor(tensor)
                if self.aligned && tensor.numel() == self.out.numel() && tensor.rank() > 0 =>
            {
                Source::of_aligned(tensor, self.common)
            }
            _ => self.other_source(operand, walk),
        }
    }

    #[inline(never)]
    fn other_source<'s, C: Compute>(
        &self,
        operand: &Operand<'s>,
        walk: &'s mut Option<Walk<1>>,
    ) -> Result<Source<'s, C>> {
        match operand {
            Operand::Tensor(tensor) if self.precise_scalars && tensor.rank() == 0 => {
                Source::precise_tensor(*tensor, &self.out, self.common, walk)
            }
            Operand::Tensor(tensor) => Source::tensor(*tensor, &self.out, self.common, walk),
            Operand::Scalar(value) if self.precise_scalars => {
                Source::precise_scalar(*value, self.common)
            }
            Operand::Scalar(value) => Source::scalar(*value, self.common),
        }
    }
}

/// The shape that the tensors among operands broadcast to.
#[inline(never)]
fn broadcast_of(operands: &[Operand<'_>]) -> Result<Dims> {
    let mut sizes = Dims::new();
    for tensor in operands.iter().filter_map(Operand::as_tensor) {
        sizes = broadcast_shapes(&sizes, tensor.sizes())?;
    }
    Ok(sizes)
}

fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}

/// The type that operands promote to.
pub(crate) fn promote(operands: &[Operand<'_>]) -> Result<DType> {
    // Mostly tensors of one type, with dimensions, and numbers of no higher category.
    let mut tensors = operands.iter().filter_map(Operand::as_tensor);
    if let Some(first) = tensors.next()
        && first.rank() > 0
        && tensors.all(|tensor| tensor.rank() > 0 && tensor.dtype() == first.dtype())
        && operands.iter().all(|operand| match operand {
            Operand::Tensor(_) => true,
            Operand::Scalar(value) => keeps_type(first.dtype(), *value),
        })
    {
        return Ok(first.dtype());
    }
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
#[inline(always)]
pub(crate) fn tensor<'a>(call: &'a KernelCall<'_>, position: usize) -> Result<Operand<'a>> {
    Ok(Operand::Tensor(call.tensor(position)?))
}

/// A number argument as operand.
#[inline(always)]
pub(crate) fn scalar<'a>(call: &'a KernelCall<'_>, position: usize) -> Result<Operand<'a>> {
    Ok(Operand::Scalar(call.scalar(position)?))
}

/// A function of elements as one of chunks.
pub(crate) fn each<C: Copy, P>(f: impl Fn(C) -> P + Sync) -> impl Fn([&[C]; 1], &mut [P]) + Sync {
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
pub(crate) fn pairs<C: Copy, P>(
    f: impl Fn(C, C) -> P + Sync,
) -> impl Fn([&[C]; 2], &mut [P]) + Sync {
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

/// A function of elements with a fast path: `short` where that is exact, `long` elsewhere. `short` is
/// computed for all elements, by vectors.
pub(crate) fn each_with_fast_path<C: Copy, P>(
    is_simple: impl Fn(C) -> bool + Sync,
    short: impl Fn(C) -> P + Sync,
    long: impl Fn(C) -> P + Sync,
) -> impl Fn([&[C]; 1], &mut [P]) + Sync {
    let pairs = pairs_with_fast_path(
        move |a, _| is_simple(a),
        move |a, _| short(a),
        move |a, _| long(a),
    );
    // Each with itself.
    move |[a], out| pairs([a, a], out)
}

/// A function of pairs of elements with a fast path: `short` where that is exact, `long` elsewhere. `short`
/// is computed for all pairs, by vectors.
pub(crate) fn pairs_with_fast_path<C: Copy, P>(
    is_simple: impl Fn(C, C) -> bool + Sync,
    short: impl Fn(C, C) -> P + Sync,
    long: impl Fn(C, C) -> P + Sync,
) -> impl Fn([&[C]; 2], &mut [P]) + Sync {
    move |[a, b], out| {
        let operands = a.chunks(CHUNK).zip(b.chunks(CHUNK));
        for (out, (a, b)) in out.chunks_mut(CHUNK).zip(operands) {
            let are_simple = vectorized(
                #[inline(always)]
                || {
                    let mut are_simple = true;
                    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                        *out = short(a, b);
                        are_simple &= is_simple(a, b);
                    }
                    are_simple
                },
            );
            if are_simple {
                continue;
            }
            for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                if !is_simple(a, b) {
                    *out = long(a, b);
                }
            }
        }
    }
}

/// A function of triples of elements as one of chunks.
pub(crate) fn triples<C: Copy, P>(
    f: impl Fn(C, C, C) -> P + Sync,
) -> impl Fn([&[C]; 3], &mut [P]) + Sync {
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
