//! Convolutions, transposed convolutions and their gradients.
//!
//! All are products with a matrix of windows ([`im2col`]), block by block; those with a window of
//! one position need no such matrix, and depthwise ones are summed tap by tap. 16-bit types are
//! converted to f32 as a whole before, and back after.
//!
//! Ordinary ones of f32 with constant weights are prepacked when a method is linked ([`prepack`]). The
//! linker puts channels last between them where it can, and then windows are read where they lie
//! ([`implicit_gemm`]), and depthwise ones work on vectors of channels ([`depthwise_last`]).

mod depthwise_first;
mod depthwise_last;
mod epilogue;
mod geometry;
mod im2col;
mod implicit_gemm;
mod packed_im2col;
mod passes;
mod plan;
mod prepack;
#[cfg(test)]
mod prepack_tests;
#[cfg(test)]
mod tests;

use thalweg_core::{
    DType, Dims, KernelCall, KernelRegistry, Layout, Result, StaticArguments, TensorView,
    TensorViewMut, ensure,
};

use crate::dtype::dispatch::dispatch;
use crate::dtype::float::{Float, Real, compute_into, widened};
use crate::layout::order::{MemoryFormat, fill_in_order, laid_out};
use crate::linalg::MatmulElement;
use crate::operator::pure;
use geometry::{Geometry, Parameters};
use prepack::Prepacked;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(
        pure(
            "aten::convolution.out(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, \
             SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, \
             SymInt groups, *, Tensor(a!) out) -> Tensor(a!)",
            |call| {
                if let Some(prepacked) = call.prepacked::<Prepacked>()
                    && prepacked.run(call)?
                {
                    return Ok(());
                }
                dispatch!(call.output_dtype(9)?, float => T, { convolution::<T>(call) })
            },
        )?
        .with_prepack(prepack::prepack)
        .with_fusion(prepack::fuse)
        .with_layout(order),
    );
    registry.add(pure(
        "aten::convolution_backward.out(Tensor grad_output, Tensor input, Tensor weight, \
         SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, \
         bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask, *, \
         Tensor(a!) out0, Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), \
         Tensor(c!))",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { backward::<T>(call) }),
    )?);
    Ok(())
}

/// The layout that an ordinary convolution of f32 with constant weights prefers: channels last.
fn order(call: &StaticArguments<'_>) -> Option<Layout> {
    let thalweg_core::Shape {
        dtype: weight,
        sizes,
        ..
    } = call.shape(1)?;
    let is_ready = weight == DType::F32 && call.is_constant(1) && call.is_constant(2);
    // Groups of a few channels leave vectors of channels mostly empty.
    let (groups, outputs) = (call.int(8)?, sizes.first().copied()?);
    let per_group = outputs / usize::try_from(groups).ok().filter(|&groups| groups > 0)?;
    let is_depthwise = sizes.get(1) == Some(&1) && per_group == 1;
    let is_wide = groups == 1 || is_depthwise || per_group >= 8;
    (is_ready && is_wide && !call.bool(6)?).then_some(Layout::PrefersChannelsLast)
}

/// A type that convolutions are computed in.
trait Compute: Real + MatmulElement<Scale = Self> {}

impl Compute for f32 {}
impl Compute for f64 {}

fn convolution<T: Float<Compute: Compute>>(call: &KernelCall<'_>) -> Result<()> {
    let (input, weight, bias) = (call.tensor(0)?, call.tensor(1)?, call.optional_tensor(2)?);
    let parameters = Parameters::of_call(call, 3)?;
    let mut geometry = Geometry::new(&parameters, input.sizes(), weight.sizes())?;
    let (transposed, rank) = (parameters.transposed, input.rank());
    let output = if transposed {
        geometry.large
    } else {
        geometry.small
    };
    let sizes = output.shape(geometry.batch, rank)?;
    if let Some(bias) = &bias {
        ensure!(
            bias.sizes() == [output.channels],
            Operator,
            "a bias of shape {:?} does not fit {} channels",
            bias.sizes(),
            output.channels
        );
    }
    let mut out = call.output(9, &sizes)?;
    // An epilogue that adds something has the bias in it.
    let epilogue = call
        .prepacked::<Prepacked>()
        .map(|prepacked| &prepacked.epilogue);
    let adds = epilogue.is_some_and(|epilogue| epilogue.channels.is_some());
    let bias = match bias.filter(|_| !adds) {
        Some(bias) => Some(widened(call, bias.data::<T>()?)?),
        None => None,
    };
    // Each side stays in its own order, if it is one of the two that there are loops for.
    let guess = MemoryFormat::of(&sizes, out.dim_order(), true, MemoryFormat::ChannelsFirst);
    let layout_in = own_format(&input, guess.unwrap_or(MemoryFormat::ChannelsFirst));
    let layout_out = MemoryFormat::of(&sizes, out.dim_order(), true, layout_in)
        .unwrap_or(MemoryFormat::ChannelsFirst);
    (geometry.large.layout, geometry.small.layout) = if transposed {
        (layout_out, layout_in)
    } else {
        (layout_in, layout_out)
    };
    let data = read_as::<T>(call, input, layout_in.dim_order(true, rank - 2))?;
    let [large_per_group, small_per_group] = geometry.channels_per_group();
    let depthwise = !transposed
        && large_per_group == 1
        && !geometry.is_pointwise()
        && layout_in == layout_out
        && (layout_in == MemoryFormat::ChannelsFirst || small_per_group == 1);
    let order = match (depthwise, layout_in) {
        (true, MemoryFormat::ChannelsLast) => taps_first(rank),
        _ => geometry.large.layout.dim_order(true, rank - 2),
    };
    let weight = read_as::<T>(call, weight, order)?;
    write_as::<T>(
        call,
        &mut out,
        layout_out.dim_order(true, rank - 2),
        |out| {
            if transposed {
                return geometry.backward(call, data, weight, bias, out);
            }
            if depthwise {
                geometry.forward_depthwise(call, data, weight, bias, epilogue, out)?;
            } else if let Some(float) = singles(data, weight, bias, &geometry) {
                let (data, weight, bias) = float;
                let out = bytemuck::cast_slice_mut(out);
                geometry.forward_panels(call, data, weight, bias, epilogue, out)?;
            } else {
                geometry.forward(call, data, weight, bias, out)?;
                geometry.apply_epilogue(call, epilogue, out)?;
            }
            epilogue.map_or(Ok(()), |epilogue| epilogue.round(call.threads(), out))
        },
    )
}

/// The input, weights and bias of an ordinary convolution with channels first, if it is computed in f32.
fn singles<'a, T: Compute>(
    data: &'a [T],
    weight: &'a [T],
    bias: Option<&'a [T]>,
    geometry: &Geometry,
) -> Option<(&'a [f32], &'a [f32], Option<&'a [f32]>)> {
    let first = MemoryFormat::ChannelsFirst;
    let fits =
        T::DTYPE == DType::F32 && geometry.large.layout == first && geometry.small.layout == first;
    fits.then(|| {
        let bias = bias.map(bytemuck::cast_slice);
        (
            bytemuck::cast_slice(data),
            bytemuck::cast_slice(weight),
            bias,
        )
    })
}

fn backward<T: Float<Compute: Compute>>(call: &KernelCall<'_>) -> Result<()> {
    let [gradient, input, weight] = [call.tensor(0)?, call.tensor(1)?, call.tensor(2)?];
    let parameters = Parameters::of_call(call, 4)?;
    let mut geometry = Geometry::new(&parameters, input.sizes(), weight.sizes())?;
    let (transposed, rank) = (parameters.transposed, input.rank());
    let output = if transposed {
        geometry.large
    } else {
        geometry.small
    };
    let sizes = output.shape(geometry.batch, rank)?;
    ensure!(
        *sizes == *gradient.sizes(),
        Operator,
        "a gradient of shape {:?} does not fit an output of shape {sizes:?}",
        gradient.sizes()
    );
    let mask = call.bool_list(10)?;
    ensure!(
        mask.len() == 3,
        Operator,
        "{}: {mask:?} does not say of three outputs which to compute",
        call.name(10)
    );
    let layout = own_format(&input, MemoryFormat::ChannelsFirst);
    (geometry.large.layout, geometry.small.layout) = (layout, layout);
    let order = layout.dim_order(true, rank - 2);
    let gradient = read_as::<T>(call, gradient, order)?;
    let shape = Dims::from_slice(weight.sizes())?;
    if mask[0] {
        let weight = read_as::<T>(call, weight, order)?;
        let mut out = call.output(11, input.sizes())?;
        write_as::<T>(call, &mut out, order, |out| {
            if transposed {
                geometry.forward(call, gradient, weight, None, out)
            } else {
                geometry.backward(call, gradient, weight, None, out)
            }
        })?;
    }
    if mask[1] {
        let input = read_as::<T>(call, input, order)?;
        let (large, small) = if transposed {
            (gradient, input)
        } else {
            (input, gradient)
        };
        let mut out = call.output(12, &shape)?;
        write_as::<T>(call, &mut out, order, |out| {
            geometry.weight_gradient(call, large, small, out)
        })?;
    }
    if mask[2] {
        let channels = output.channels;
        let mut out = call.output(13, &[channels])?;
        compute_into::<T>(call, out.data_mut::<T>()?, |out| {
            out.fill(num_traits::Zero::zero());
            match layout {
                MemoryFormat::ChannelsFirst => {
                    let positions = output.positions();
                    for (index, plane) in gradient.chunks_exact(positions.max(1)).enumerate() {
                        out[index % channels] += plane.iter().copied().sum();
                    }
                }
                MemoryFormat::ChannelsLast => {
                    for position in gradient.chunks_exact(channels.max(1)) {
                        out.iter_mut().zip(position).for_each(|(sum, x)| *sum += *x);
                    }
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// The memory format to read a tensor in: its own, or channels first.
fn own_format(view: &TensorView<'_>, preferred: MemoryFormat) -> MemoryFormat {
    MemoryFormat::of(view.sizes(), view.dim_order(), true, preferred)
        .unwrap_or(MemoryFormat::ChannelsFirst)
}

/// The elements in a dim order, in the type of computation.
fn read_as<'a, T: Float>(
    call: &'a KernelCall<'_>,
    view: TensorView<'a>,
    order: &'a [u8],
) -> Result<&'a [T::Compute]> {
    widened(call, laid_out::<T>(call, view, order)?)
}

/// Computes the elements of an output in a dim order and the type of computation.
fn write_as<T: Float>(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    order: &[u8],
    compute: impl FnOnce(&mut [T::Compute]) -> Result<()>,
) -> Result<()> {
    fill_in_order::<T>(call, out, order, |out| compute_into(call, out, compute))
}

/// The dim order of a depthwise convolution's weights that has the channels innermost.
fn taps_first(rank: usize) -> &'static [u8] {
    match rank {
        3 => &[2, 0, 1],
        4 => &[2, 3, 0, 1],
        _ => &[2, 3, 4, 0, 1],
    }
}
