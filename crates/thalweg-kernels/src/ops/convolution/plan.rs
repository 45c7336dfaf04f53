//! Shapes and weights of convolutions with channels last, for both of their loops.

use thalweg_core::{Dims, Result, TensorView, strides_of};

use super::geometry::Geometry;

/// The shapes of a convolution with channels last, and its bias and limits.
pub(super) struct Plan {
    pub(super) geometry: Geometry,
    /// A number for each channel that is added to its sums.
    pub(super) added: Vec<f32>,
    /// The lowest and the highest result.
    pub(super) limits: [f32; 2],
}

/// Weights with factors for the channels of the result: by channel of the result, channel of the group,
/// tap.
pub(super) struct Scaled {
    data: Vec<f32>,
}

impl Scaled {
    /// Scales weights. `None` if some product with a factor is too large or too small to be as exact as others.
    pub(super) fn new(weight: TensorView<'_>, scales: Option<&[f32]>) -> Result<Option<Self>> {
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
