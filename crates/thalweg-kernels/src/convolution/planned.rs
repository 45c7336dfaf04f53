//! What is made of a convolution with constant weights once, when a method is linked.
//!
//! The loops for channels last are here for such convolutions alone: their weights are in the order in
//! which they are read, with the factors of a normalization that follows in them.

use thalweg_core::{
    DType, Dims, KernelCall, KernelRegistry, Prepacked, Result, StaticArguments, TensorView,
    strides_of,
};

use super::finishing::{Finishing, finishing};
use super::geometry::{Geometry, Parameters};
use super::taps::Taps;
use super::windows::Windows;
use crate::machine::{Machine, NO_LIMITS};
use crate::ordering::{ChannelOrder, fill_in_order, laid_out};

/// What is known of a convolution before it is called.
pub(super) struct Planned {
    pub(super) finishing: Finishing,
    pub(super) last: Option<ChannelsLast>,
}

/// A convolution of f32 with channels last, for one shape.
pub(super) struct ChannelsLast {
    /// The input's shape and order, and the output's.
    input: (Dims, Box<[u8]>),
    output: (Dims, Box<[u8]>),
    pub(super) geometry: Geometry,
    way: Way,
    /// What is done to results: by channel, added to sums; then limits.
    added: Vec<f32>,
    limits: [f32; 2],
}

enum Way {
    Taps(Taps),
    Windows(Windows),
}

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.modify("aten::convolution.out", |kernel| {
        kernel.with_prepack(|call| planned(call, Finishing::default()))
    })?;
    registry.modify("aten::convolution.out", |kernel| {
        kernel.with_fusion(|call, offers| {
            finishing(call, offers)?.map_or(Ok(None), |finishing| planned(call, finishing))
        })
    })?;
    Ok(())
}

fn planned(call: &StaticArguments<'_>, finishing: Finishing) -> Result<Option<Prepacked>> {
    planned_for(Machine::best(), call, finishing)
}

pub(super) fn planned_for(
    machine: Machine,
    call: &StaticArguments<'_>,
    finishing: Finishing,
) -> Result<Option<Prepacked>> {
    let last = ChannelsLast::new(machine, call, &finishing)?;
    Ok(Some(Prepacked::new(Planned { finishing, last })))
}

impl Planned {
    /// Does all of a call, if it is one that was prepared for.
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
        let order = ChannelOrder::Last.dim_order(true, input.rank() - 2);
        let large = match &last.way {
            Way::Taps(_) => laid_out::<f32>(call, input, order)?,
            Way::Windows(_) => input.data()?,
        };
        let mut out = call.output(9, &last.output.0)?;
        fill_in_order::<f32>(call, &mut out, order, |small| match &last.way {
            Way::Taps(taps) => taps.run(call, last, &self.finishing, large, small),
            Way::Windows(windows) => windows.run(call, last, &self.finishing, large, small),
        })?;
        Ok(true)
    }
}

impl ChannelsLast {
    /// `None` if it is not for these loops.
    fn new(
        machine: Machine,
        call: &StaticArguments<'_>,
        finishing: &Finishing,
    ) -> Result<Option<Self>> {
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
        // What is wrong with it, a call says.
        let Ok(mut geometry) = Geometry::new(&parameters, input.sizes, weight.sizes()) else {
            return Ok(None);
        };
        let order = |sizes, order| ChannelOrder::of(sizes, order, true, ChannelOrder::Last);
        let (Some(mut from), to) = (
            order(input.sizes, input.dim_order),
            order(out.sizes, out.dim_order),
        ) else {
            return Ok(None);
        };
        // If both have channels first, there are better loops. If one has, a copy is turned.
        if from == ChannelOrder::First && to != Some(ChannelOrder::Last) {
            return Ok(None);
        }
        let is_depthwise = geometry.channels_per_group() == [1, 1];
        if is_depthwise {
            from = ChannelOrder::Last;
        }
        (geometry.large.layout, geometry.small.layout) = (from, ChannelOrder::Last);
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
        let factors = finishing.channels.as_ref();
        let Some(weight) = Scaled::new(weight, factors.map(|(scales, _)| &**scales))? else {
            return Ok(None);
        };
        let added = match (factors, bias) {
            (Some((_, added)), _) => added.clone(),
            (None, Some(bias)) => bias.to_vec(),
            (None, None) => vec![0.0; channels],
        };
        let way = if is_depthwise {
            Some(Way::Taps(Taps::new(machine, &geometry, &weight)))
        } else {
            Windows::new(machine, &geometry, &weight)?.map(Way::Windows)
        };
        let sizes = Dims::from_slice(input.sizes)?;
        Ok(way.map(|way| Self {
            input: (sizes, input.dim_order.into()),
            output: (shape, out.dim_order.into()),
            geometry,
            way,
            added,
            limits: finishing.limits.unwrap_or(NO_LIMITS),
        }))
    }

    /// What is added to the sums of each channel.
    pub(super) fn added(&self) -> &[f32] {
        &self.added
    }

    pub(super) fn limits(&self) -> [f32; 2] {
        self.limits
    }
}

/// Weights with factors for the channels of the result: by channel of the result, channel of the group,
/// tap.
pub(super) struct Scaled {
    data: Vec<f32>,
}

impl Scaled {
    /// `None` if some product with a factor is too large or too small to be as exact as others.
    fn new(weight: TensorView<'_>, scales: Option<&[f32]>) -> Result<Option<Self>> {
        let (from, sizes) = (weight.data::<f32>()?, weight.sizes());
        let strides = strides_of(sizes, weight.dim_order());
        let (mut data, mut index) = (
            Vec::with_capacity(from.len()),
            Dims::filled(0, sizes.len())?,
        );
        for _ in 0..from.len() {
            let at = index
                .iter()
                .zip(&*strides)
                .map(|(index, stride)| index * stride);
            let x = from[at.sum::<usize>()];
            let scale = scales.map_or(1.0, |scales| scales[index[0]]);
            let product = x * scale;
            let is_exact = product.is_normal() || x == 0.0 || scale == 0.0;
            if scales.is_some() && !is_exact {
                return Ok(None);
            }
            data.push(product);
            for dim in (0..sizes.len()).rev() {
                index[dim] += 1;
                if index[dim] < sizes[dim] {
                    break;
                }
                index[dim] = 0;
            }
        }
        Ok(Some(Self { data }))
    }

    /// The weight of a channel of the group of a channel of the result, at a tap.
    pub(super) fn at(&self, geometry: &Geometry, output: usize, channel: usize, tap: usize) -> f32 {
        let [per_group, _] = geometry.channels_per_group();
        self.data[(output * per_group + channel) * geometry.taps() + tap]
    }
}
