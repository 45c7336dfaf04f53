//! The shapes of tensors, and the scratch that they need.

use std::collections::BTreeMap;

use super::spec::{Dim, EngineSpec, TensorSpec};

/// The alignment of addresses on the device.
pub(super) const ALIGNMENT: u64 = 256;

/// The settings from which all shapes follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    /// The profile.
    pub(super) profile: usize,
    /// The shapes of inputs, as far as the caller set them.
    pub(super) inputs: BTreeMap<String, Vec<i64>>,
    /// The values of inputs on the host, as far as they are known.
    pub(super) values: BTreeMap<String, Vec<i64>>,
}

impl Shapes {
    /// The greatest shapes and values of a profile.
    pub(super) fn greatest(spec: &EngineSpec, profile: usize) -> Self {
        let mut shapes = Self {
            profile,
            ..Self::default()
        };
        if let Some(profile) = spec.profiles.get(profile) {
            let greatest =
                |(name, bounds): &(String, [Vec<i64>; 3])| (name.clone(), bounds[2].clone());
            shapes.inputs = profile.shapes.iter().map(greatest).collect();
            shapes.values = profile.values.iter().map(greatest).collect();
        }
        shapes
    }

    /// The shape of a tensor, with -1 for what is not known.
    pub(super) fn of(&self, spec: &EngineSpec, tensor: &TensorSpec) -> Vec<i64> {
        let dims = tensor.dims.iter().enumerate();
        dims.map(|(axis, dim)| match dim {
            Dim::Fixed(dim) => *dim,
            Dim::Any => self
                .inputs
                .get(&tensor.name)
                .and_then(|shape| shape.get(axis).copied())
                .or_else(|| self.constrained(spec, &tensor.name, axis))
                .unwrap_or(-1),
            Dim::Of(input, axis) => spec
                .tensor(input)
                .and_then(|input| self.of(spec, input).get(*axis).copied())
                .unwrap_or(-1),
            Dim::Value(input, index) => self
                .values
                .get(input)
                .and_then(|values| values.get(*index).copied())
                .unwrap_or(-1),
            Dim::Data => -1,
        })
        .collect()
    }

    /// A dimension for which the profile leaves one choice.
    fn constrained(&self, spec: &EngineSpec, input: &str, axis: usize) -> Option<i64> {
        let [min, _, max] = spec.bounds(self.profile, input)?;
        let (min, max) = (min.get(axis)?, max.get(axis)?);
        (min == max).then_some(*max)
    }

    /// The scratch for these shapes, in bytes.
    pub(super) fn scratch(&self, spec: &EngineSpec) -> u64 {
        let Some(profile) = spec.profiles.get(self.profile) else {
            return 0;
        };
        let per_element = profile.scratch_per_element.iter().map(|(input, bytes)| {
            let shape = spec.tensor(input).map(|input| self.of(spec, input));
            shape.map_or(0, |shape| bytes * elements(&shape))
        });
        let bytes = profile.scratch + per_element.sum::<u64>();
        bytes.next_multiple_of(ALIGNMENT)
    }
}

impl EngineSpec {
    /// The least, usual and greatest shape of an input in a profile.
    pub(super) fn bounds(&self, profile: usize, input: &str) -> Option<&[Vec<i64>; 3]> {
        let shapes = &self.profiles.get(profile)?.shapes;
        let found = shapes.iter().find(|(name, _)| name == input);
        found.map(|(_, bounds)| bounds)
    }

    /// The least, usual and greatest values of an input on the host.
    pub(super) fn value_bounds(&self, profile: usize, input: &str) -> Option<&[Vec<i64>; 3]> {
        let values = &self.profiles.get(profile)?.values;
        let found = values.iter().find(|(name, _)| name == input);
        found.map(|(_, bounds)| bounds)
    }
}

/// The number of elements of a shape. It is 0 if a dimension is not known.
pub(super) fn elements(shape: &[i64]) -> u64 {
    shape
        .iter()
        .map(|&dim| u64::try_from(dim).unwrap_or(0))
        .fold(1, u64::saturating_mul)
}

/// The strides of a row-major shape, in elements.
pub(super) fn strides(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    strides
}
