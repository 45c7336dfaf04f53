//! Profiles: which shapes an engine was optimized for, and which of them a call uses.

use std::fmt::Write as _;

use thalweg_core::{Error, ErrorKind};

use crate::abi::Shape;

/// A profile of an engine.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// By input.
    pub(crate) inputs: Vec<Bounds>,
    /// The most scratch that it needs, in bytes.
    pub(crate) scratch: usize,
}

/// What a profile takes as an input.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: Shape,
    pub(crate) opt: Shape,
    pub(crate) max: Shape,
    /// The least and the greatest of each value, of an input whose values shapes depend on.
    pub(crate) values: Option<(Vec<i64>, Vec<i64>)>,
}

/// An input of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) shape: Shape,
    /// Its values, if shapes depend on them.
    pub(crate) values: Option<&'a [i64]>,
}

/// The profile for inputs: the last one, while it fits, else the first that does.
///
/// `given` has the inputs, in order; `names` names them.
///
/// # Errors
/// If none fits, with what each of them takes, and which input is the first to miss it.
pub(crate) fn choose<'a>(
    profiles: &[Profile],
    last: Option<usize>,
    given: &(impl Fn(usize) -> Given<'a> + ?Sized),
    name: &(impl Fn(usize) -> &'a str + ?Sized),
) -> Result<usize, Error> {
    let fits = |&index: &usize| profiles[index].misses(given).is_none();
    let first = || (0..profiles.len()).find(fits);
    last.filter(|index| *index < profiles.len())
        .filter(fits)
        .or_else(first)
        .ok_or_else(|| none_fits(profiles, given, name))
}

impl Profile {
    /// The first input that does not fit, with why.
    fn misses<'a>(
        &self,
        given: &(impl Fn(usize) -> Given<'a> + ?Sized),
    ) -> Option<(usize, String)> {
        self.inputs
            .iter()
            .enumerate()
            .find_map(|(index, bounds)| Some((index, bounds.miss(given(index))?)))
    }
}

impl Bounds {
    /// Why an input does not fit; `None` if it does.
    fn miss(&self, given: Given<'_>) -> Option<String> {
        let (sizes, min, max) = (given.shape.sizes(), self.min.sizes(), self.max.sizes());
        if sizes.len() != min.len() || sizes.len() != max.len() {
            return Some(format!("has {} dimensions, not {}", sizes.len(), min.len()));
        }
        let within = |value: i64, min: i64, max: i64| (min..=max).contains(&value);
        let bad = (0..sizes.len()).find(|&dim| !within(sizes[dim], min[dim], max[dim]));
        if let Some(dim) = bad {
            return Some(format!(
                "has size {} in dimension {dim}, not {}",
                sizes[dim],
                range(min[dim], max[dim])
            ));
        }
        let (Some(values), Some((min, max))) = (given.values, &self.values) else {
            return None;
        };
        let bad = (0..values.len().min(min.len()).min(max.len()))
            .find(|&index| !within(values[index], min[index], max[index]))?;
        Some(format!(
            "has the value {} at {bad}, not {}",
            values[bad],
            range(min[bad], max[bad])
        ))
    }

    /// What it takes, for people: `[1 to 64, 8]`.
    pub(crate) fn describe(&self) -> String {
        let sizes = self.min.sizes().iter().zip(self.max.sizes());
        let sizes: Vec<_> = sizes.map(|(&min, &max)| range(min, max)).collect();
        let mut text = format!("[{}]", sizes.join(", "));
        if let Some((min, max)) = &self.values {
            let values: Vec<_> = min
                .iter()
                .zip(max)
                .map(|(&min, &max)| range(min, max))
                .collect();
            let _ = write!(text, " with the values {}", values.join(", "));
        }
        text
    }
}

fn range(min: i64, max: i64) -> String {
    if min == max {
        min.to_string()
    } else {
        format!("{min} to {max}")
    }
}

#[cold]
fn none_fits<'a>(
    profiles: &[Profile],
    given: &(impl Fn(usize) -> Given<'a> + ?Sized),
    name: &(impl Fn(usize) -> &'a str + ?Sized),
) -> Error {
    let mut text = String::from("the inputs fit ");
    text.push_str(match profiles.len() {
        1 => "not what the engine was built for",
        _ => "none of the engine's profiles",
    });
    let inputs = profiles.first().map_or(0, |profile| profile.inputs.len());
    let shapes: Vec<_> = (0..inputs)
        .map(|index| format!("`{}` {:?}", name(index), given(index).shape))
        .collect();
    let _ = write!(text, ": given {}", shapes.join(", "));
    for (index, profile) in profiles.iter().enumerate() {
        if let Some((input, why)) = profile.misses(given) {
            let _ = write!(
                text,
                "; profile {index} takes `{}` {}, which {why}",
                name(input),
                profile.inputs[input].describe()
            );
        }
    }
    Error::new(ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(min: &[usize], max: &[usize]) -> Bounds {
        Bounds {
            min: Shape::of(min).unwrap(),
            opt: Shape::of(min).unwrap(),
            max: Shape::of(max).unwrap(),
            values: None,
        }
    }

    fn profile(inputs: Vec<Bounds>) -> Profile {
        Profile { inputs, scratch: 0 }
    }

    fn pick(
        profiles: &[Profile],
        last: Option<usize>,
        shapes: &[&[usize]],
    ) -> Result<usize, Error> {
        let given = |index: usize| Given {
            shape: Shape::of(shapes[index]).unwrap(),
            values: None,
        };
        choose(profiles, last, &given, &|index: usize| ["x", "y"][index])
    }

    #[test]
    fn the_last_profile_is_kept_while_it_fits_and_else_the_lowest_is_taken() {
        let profiles = [
            profile(vec![bounds(&[1, 8], &[1, 8])]),
            profile(vec![bounds(&[1, 8], &[64, 8])]),
            profile(vec![bounds(&[32, 8], &[128, 8])]),
        ];
        assert_eq!(pick(&profiles, None, &[&[1, 8]]).unwrap(), 0);
        assert_eq!(pick(&profiles, Some(1), &[&[1, 8]]).unwrap(), 1);
        assert_eq!(pick(&profiles, Some(0), &[&[64, 8]]).unwrap(), 1);
        assert_eq!(pick(&profiles, Some(2), &[&[64, 8]]).unwrap(), 2);
        assert_eq!(pick(&profiles, Some(2), &[&[1, 8]]).unwrap(), 0);
        assert_eq!(pick(&profiles, Some(9), &[&[100, 8]]).unwrap(), 2);
    }

    #[test]
    fn an_error_names_the_input_the_shape_and_the_bounds() {
        let profiles = [
            profile(vec![bounds(&[1, 8], &[64, 8]), bounds(&[4], &[4])]),
            profile(vec![bounds(&[1, 8], &[128, 8]), bounds(&[2], &[2])]),
        ];
        let error = pick(&profiles, None, &[&[100, 8], &[4]]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            error.message(),
            "the inputs fit none of the engine's profiles: given `x` [100, 8], `y` [4]; profile 0 \
             takes `x` [1 to 64, 8], which has size 100 in dimension 0, not 1 to 64; profile 1 \
             takes `y` [2], which has size 4 in dimension 0, not 2"
        );
        let error = pick(&profiles[..1], None, &[&[8], &[4]]).unwrap_err();
        assert!(
            error.message().contains("has 1 dimensions, not 2"),
            "{error}"
        );
    }

    #[test]
    fn values_that_shapes_depend_on_have_bounds_too() {
        let mut input = bounds(&[2], &[2]);
        input.values = Some((vec![1, 1], vec![4, 8]));
        let profiles = [profile(vec![input])];
        let pick = |values: [i64; 2]| {
            let given = |_: usize| Given {
                shape: Shape::of(&[2]).unwrap(),
                values: Some(&values),
            };
            choose(&profiles, None, &given, &|_: usize| "x").map_err(|error| error.to_string())
        };
        assert_eq!(pick([4, 8]), Ok(0));
        let error = pick([4, 9]).unwrap_err();
        assert!(error.contains("the value 9 at 1, not 1 to 8"), "{error}");
    }
}
