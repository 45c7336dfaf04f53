//! Prepacking of convolutions with constant weights, when a method is linked.
//!
//! The loops for channels last are here for such convolutions alone: their weights are in the order in
//! which they are read, with the factors of a normalization that follows in them.

use thalweg_core::{DType, Dims, Epilogue, KernelCall, Result, StaticArguments};

use super::depthwise_last::Depthwise;
use super::epilogue::{FusedEpilogue, fused};
use super::geometry::{Geometry, Parameters};
use super::implicit_gemm::ImplicitGemm;
use super::plan::{Plan, Scaled};
use crate::layout::order::{MemoryFormat, fill_in_order, laid_out};
use crate::simd::{Isa, NO_LIMITS};

/// A convolution as it was prepacked.
pub(super) struct Prepacked {
    pub(super) epilogue: FusedEpilogue,
    pub(super) last: Option<ChannelsLast>,
}

/// A convolution of f32 with channels last, for one shape.
pub(super) struct ChannelsLast {
    /// The input's shape and order, and the output's.
    input: (Dims, Box<[u8]>),
    output: (Dims, Box<[u8]>),
    plan: Plan,
    algorithm: Algorithm,
}

/// The loops that compute a convolution.
enum Algorithm {
    Depthwise(Depthwise),
    ImplicitGemm(ImplicitGemm),
}

/// Prepacks the weights of a convolution by itself.
pub(super) fn prepack(call: &StaticArguments<'_>) -> Result<Option<thalweg_core::Prepacked>> {
    prepack_for(Isa::best(), call, FusedEpilogue::default())
}

/// Prepacks the weights of a convolution with an epilogue.
pub(super) fn fuse(
    call: &StaticArguments<'_>,
    epilogues: &[Epilogue],
) -> Result<Option<thalweg_core::Prepacked>> {
    fused(call, epilogues)?.map_or(Ok(None), |epilogue| {
        prepack_for(Isa::best(), call, epilogue)
    })
}

pub(super) fn prepack_for(
    isa: Isa,
    call: &StaticArguments<'_>,
    epilogue: FusedEpilogue,
) -> Result<Option<thalweg_core::Prepacked>> {
    let last = ChannelsLast::new(isa, call, &epilogue)?;
    Ok(Some(thalweg_core::Prepacked::new(Prepacked {
        epilogue,
        last,
    })))
}

impl Prepacked {
    /// Runs a call, if it is one that was prepacked for. Returns false otherwise.
    pub(super) fn run(&self, call: &KernelCall<'_>) -> Result<bool> {
        let Some(last) = &self.last else {
            return Ok(false);
        };
        let input = call.tensor(0)?;
        let is_this = *input.sizes() == *last.input.0
            && *input.dim_order() == *last.input.1
            && input.dtype() == DType::F32
            && call.output_dtype(9)? == DType::F32
            && *call.output_dim_order(9)? == *last.output.1;
        if !is_this {
            return Ok(false);
        }
        let order = MemoryFormat::ChannelsLast.dim_order(true, input.rank() - 2);
        let large = match &last.algorithm {
            Algorithm::Depthwise(_) => laid_out::<f32>(call, input, order)?,
            Algorithm::ImplicitGemm(_) => input.data()?,
        };
        let mut out = call.output(9, &last.output.0)?;
        let (plan, epilogue) = (&last.plan, &self.epilogue);
        fill_in_order::<f32>(call, &mut out, order, |small| match &last.algorithm {
            Algorithm::Depthwise(loops) => loops.run(call, plan, epilogue, large, small),
            Algorithm::ImplicitGemm(loops) => loops.run(call, plan, epilogue, large, small),
        })?;
        Ok(true)
    }
}

impl ChannelsLast {
    /// Prepacks a convolution. `None` if it is not for these loops.
    fn new(isa: Isa, call: &StaticArguments<'_>, epilogue: &FusedEpilogue) -> Result<Option<Self>> {
        let (Some(input), Some(weight), Some(out)) =
            (call.shape(0), call.constant(1), call.shape(9))
        else {
            return Ok(None);
        };
        let all = [input.dtype, weight.dtype(), out.dtype];
        let Some(parameters) = Parameters::known(call, 3) else {
            return Ok(None);
        };
        if parameters.transposed || all.iter().any(|&dtype| dtype != DType::F32) {
            return Ok(None);
        }
        // The call reports what does not fit.
        let Ok(mut geometry) = Geometry::new(&parameters, input.sizes, weight.sizes()) else {
            return Ok(None);
        };
        let order = |sizes, order| MemoryFormat::of(sizes, order, true, MemoryFormat::ChannelsLast);
        let (Some(mut from), to) = (
            order(input.sizes, input.dim_order),
            order(out.sizes, out.dim_order),
        ) else {
            return Ok(None);
        };
        // If both have channels first, there are better loops. If one has, a copy is turned.
        if from == MemoryFormat::ChannelsFirst && to != Some(MemoryFormat::ChannelsLast) {
            return Ok(None);
        }
        let is_depthwise = geometry.channels_per_group() == [1, 1];
        if is_depthwise {
            from = MemoryFormat::ChannelsLast;
        }
        (geometry.large.layout, geometry.small.layout) = (from, MemoryFormat::ChannelsLast);
        let channels = geometry.small.channels;
        let shape = geometry.small.shape(geometry.batch, input.sizes.len())?;
        // One channel of many positions is a single column, of which products are slow.
        let is_column = channels == 1 && geometry.small.positions() > 1;
        let is_empty = geometry.small.len() == 0 || geometry.window() == 0 || geometry.batch == 0;
        if is_column || is_empty || *shape != *out.sizes {
            return Ok(None);
        }
        let bias = match call.constant(2) {
            Some(bias) if bias.dtype() == DType::F32 && *bias.sizes() == [channels] => {
                Some(bias.data::<f32>()?)
            }
            None if call.is_absent(2) => None,
            _ => return Ok(None),
        };
        let factors = epilogue.channels.as_ref();
        let Some(weight) = Scaled::new(weight, factors.map(|(scales, _)| &**scales))? else {
            return Ok(None);
        };
        let added = match (factors, bias) {
            (Some((_, added)), _) => added.clone(),
            (None, Some(bias)) => bias.to_vec(),
            (None, None) => vec![0.0; channels],
        };
        let algorithm = if is_depthwise {
            let loops = Depthwise::new(isa, &geometry, &weight);
            Some(Algorithm::Depthwise(loops))
        } else {
            ImplicitGemm::new(isa, &geometry, &weight)?.map(Algorithm::ImplicitGemm)
        };
        let sizes = Dims::from_slice(input.sizes)?;
        Ok(algorithm.map(|algorithm| Self {
            input: (sizes, input.dim_order.into()),
            output: (shape, out.dim_order.into()),
            plan: Plan {
                geometry,
                added,
                limits: epilogue.limits.unwrap_or(NO_LIMITS),
            },
            algorithm,
        }))
    }
}
