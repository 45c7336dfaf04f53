//! Optimization profiles: the shapes that an engine is built for, and the choice of a profile for a call.

use std::fmt::Write as _;

use thalweg_core::{Error, ErrorKind, bail};

use crate::abi::Shape;

/// An optimization profile of an engine.
#[derive(Clone, Debug)]
pub(crate) struct OptimizationProfile {
    /// By input.
    pub(crate) inputs: Vec<Bounds>,
    /// The most scratch that a context needs in it, in bytes.
    pub(crate) scratch: usize,
}

/// The bounds of an input in a profile.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) min: Shape,
    pub(crate) opt: Shape,
    pub(crate) max: Shape,
    /// The minimum and the maximum of each value, for an input whose values shapes depend on.
    pub(crate) values: Option<(Vec<i64>, Vec<i64>)>,
}

/// The shape of an input in a call, and the values, if shapes depend on them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallInput<'a> {
    pub(crate) shape: Shape,
    pub(crate) values: Option<&'a [i64]>,
}

/// The profile for a call: the profile of the last call, if the inputs fit it, else the first that they
/// fit.
///
/// `given` and `name` are the inputs and their names, by index.
///
/// # Errors
/// If the inputs fit no profile. The error has, for each profile, the first input that does not fit, and
/// its bounds.
pub(crate) fn choose<'a>(
    profiles: &[OptimizationProfile],
    last: Option<usize>,
    given: &(impl Fn(usize) -> CallInput<'a> + ?Sized),
    name: &(impl Fn(usize) -> &'a str + ?Sized),
) -> Result<usize, Error> {
    let fits = |&index: &usize| profiles[index].mismatch(given).is_none();
    let first = || (0..profiles.len()).find(fits);
    last.filter(|index| *index < profiles.len())
        .filter(fits)
        .or_else(first)
        .ok_or_else(|| none_fits(profiles, given, name))
}

/// The pinned profile, which the inputs must fit.
///
/// # Errors
/// If an input does not fit, with the input and its bounds. If there is no such profile.
pub(crate) fn check_pinned<'a>(
    profiles: &[OptimizationProfile],
    pinned: usize,
    given: &(impl Fn(usize) -> CallInput<'a> + ?Sized),
    name: &(impl Fn(usize) -> &'a str + ?Sized),
) -> Result<usize, Error> {
    let Some(profile) = profiles.get(pinned) else {
        bail!(
            InvalidOption,
            "profile {pinned} is pinned, and the engine has {}",
            profiles.len()
        );
    };
    match profile.mismatch(given) {
        None => Ok(pinned),
        Some((input, why)) => Err(unfit(
            profile,
            pinned,
            given(input),
            name(input),
            input,
            &why,
        )),
    }
}

#[cold]
fn unfit(
    profile: &OptimizationProfile,
    pinned: usize,
    given: CallInput<'_>,
    name: &str,
    input: usize,
    why: &str,
) -> Error {
    let text = format!(
        "profile {pinned} is pinned, and the inputs do not fit it: it takes `{name}` {}, and `{name}` \
         {:?} {why}",
        profile.inputs[input].describe(),
        given.shape
    );
    Error::new(ErrorKind::InvalidInput, text)
}

impl OptimizationProfile {
    /// The first input that does not fit, with the reason.
    fn mismatch<'a>(
        &self,
        given: &(impl Fn(usize) -> CallInput<'a> + ?Sized),
    ) -> Option<(usize, String)> {
        self.inputs
            .iter()
            .enumerate()
            .find_map(|(index, bounds)| Some((index, bounds.mismatch(given(index))?)))
    }
}

impl Bounds {
    /// The reason why an input does not fit; `None` if it fits.
    fn mismatch(&self, given: CallInput<'_>) -> Option<String> {
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

    /// The bounds, for people: `[1 to 64, 8]`.
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
    profiles: &[OptimizationProfile],
    given: &(impl Fn(usize) -> CallInput<'a> + ?Sized),
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
        if let Some((input, why)) = profile.mismatch(given) {
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
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn bounds(min: &[usize], max: &[usize]) -> Bounds {
        Bounds {
            min: Shape::of(min).unwrap(),
            opt: Shape::of(min).unwrap(),
            max: Shape::of(max).unwrap(),
            values: None,
        }
    }

    fn profile(inputs: Vec<Bounds>) -> OptimizationProfile {
        OptimizationProfile { inputs, scratch: 0 }
    }

    fn pick(
        profiles: &[OptimizationProfile],
        last: Option<usize>,
        shapes: &[&[usize]],
    ) -> Result<usize, Error> {
        let given = |index: usize| CallInput {
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
    fn every_input_has_to_fit() {
        let profiles = [
            profile(vec![bounds(&[1, 8], &[4, 8]), bounds(&[1], &[4])]),
            profile(vec![bounds(&[1, 8], &[4, 8]), bounds(&[1], &[64])]),
        ];
        assert_eq!(pick(&profiles, None, &[&[4, 8], &[4]]).unwrap(), 0);
        // Profile 0 fits the first and not the second.
        assert_eq!(pick(&profiles, None, &[&[4, 8], &[5]]).unwrap(), 1);
        assert_eq!(pick(&profiles, Some(0), &[&[4, 8], &[5]]).unwrap(), 1);
        pick(&profiles, None, &[&[5, 8], &[5]]).unwrap_err();
    }

    #[test]
    fn of_several_that_fit_when_the_last_does_not_the_lowest_wins() {
        let profiles = [
            profile(vec![bounds(&[1], &[8])]),
            profile(vec![bounds(&[2], &[16])]),
            profile(vec![bounds(&[10], &[64])]),
        ];
        for (last, size, chosen) in [
            (Some(2), 4, 0),
            (Some(2), 9, 1),
            (Some(2), 10, 2),
            (Some(1), 4, 1),
            (Some(1), 1, 0),
            (Some(0), 17, 2),
            (None, 4, 0),
        ] {
            assert_eq!(
                pick(&profiles, last, &[&[size]]).unwrap(),
                chosen,
                "{size} after {last:?}"
            );
        }
    }

    #[test]
    fn equal_bounds_zero_sizes_and_other_ranks() {
        // Two profiles that are the same: the lowest, or the last.
        let same = [
            profile(vec![bounds(&[2, 8], &[2, 8])]),
            profile(vec![bounds(&[2, 8], &[2, 8])]),
        ];
        assert_eq!(pick(&same, None, &[&[2, 8]]).unwrap(), 0);
        assert_eq!(pick(&same, Some(1), &[&[2, 8]]).unwrap(), 1);
        for other in [&[1, 8][..], &[3, 8], &[2, 7], &[2], &[2, 8, 1], &[]] {
            pick(&same, Some(1), &[other]).unwrap_err();
        }
        // No elements are a size like any other.
        let empty = [
            profile(vec![bounds(&[1, 8], &[4, 8])]),
            profile(vec![bounds(&[0, 8], &[4, 8])]),
        ];
        assert_eq!(pick(&empty, Some(0), &[&[0, 8]]).unwrap(), 1);
        pick(&empty[..1], None, &[&[0, 8]]).unwrap_err();
        // A number has no dimensions, so that it fits whatever takes numbers.
        let scalar = [profile(vec![bounds(&[], &[])])];
        assert_eq!(pick(&scalar, None, &[&[]]).unwrap(), 0);
        let error = pick(&scalar, None, &[&[1]]).unwrap_err();
        assert!(
            error.message().contains("has 1 dimensions, not 0"),
            "{error}"
        );
        // Without inputs, everything fits.
        assert_eq!(pick(&[profile(Vec::new())], None, &[]).unwrap(), 0);
        pick(&[], None, &[]).unwrap_err();
    }

    #[test]
    fn a_pinned_profile_is_taken_if_it_fits_and_else_refused() {
        let profiles = [
            profile(vec![bounds(&[1, 8], &[64, 8]), bounds(&[4], &[4])]),
            profile(vec![bounds(&[1, 8], &[128, 8]), bounds(&[2], &[2])]),
        ];
        let pin = |pinned, shapes: [&[usize]; 2]| {
            let given = |index: usize| CallInput {
                shape: Shape::of(shapes[index]).unwrap(),
                values: None,
            };
            check_pinned(&profiles, pinned, &given, &|index: usize| ["x", "y"][index])
        };
        assert_eq!(pin(0, [&[1, 8], &[4]]).unwrap(), 0);
        assert_eq!(pin(1, [&[1, 8], &[2]]).unwrap(), 1);
        let error = pin(1, [&[1, 8], &[4]]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(
            error.message(),
            "profile 1 is pinned, and the inputs do not fit it: it takes `y` [2], and `y` [4] has \
             size 4 in dimension 0, not 2"
        );
        let error = pin(2, [&[1, 8], &[4]]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidOption);
        assert_eq!(error.message(), "profile 2 is pinned, and the engine has 2");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Against the definition, in the simplest way to write it.
        #[test]
        fn the_choice_is_what_the_definition_says(
            ranges in vec(vec((0usize..4, 0usize..4, 0usize..4, 0usize..4), 1..3), 1..5),
            shapes in vec(vec(0usize..5, 1..4), 2),
            last in proptest::option::of(0usize..6),
        ) {
            // As many inputs for all: those of the first.
            let inputs = ranges[0].len();
            let ranges: Vec<_> = ranges.iter().filter(|it| it.len() == inputs).collect();
            let profiles: Vec<_> = ranges
                .iter()
                .map(|inputs| {
                    let bounds = inputs.iter().map(|&(a, b, c, d)| {
                        bounds(&[a.min(b), c.min(d)], &[a.max(b), c.max(d)])
                    });
                    profile(bounds.collect())
                })
                .collect();
            let fits: Vec<bool> = ranges
                .iter()
                .map(|inputs| {
                    inputs.iter().zip(&shapes).all(|(&(a, b, c, d), shape)| {
                        let within = |x: usize, a: usize, b: usize| (a <= x && x <= b) || (b <= x && x <= a);
                        shape.len() == 2 && within(shape[0], a, b) && within(shape[1], c, d)
                    })
                })
                .collect();
            let sticks = last.filter(|&last| fits.get(last) == Some(&true));
            let expected = sticks.or_else(|| fits.iter().position(|fits| *fits));
            let shapes: Vec<_> = shapes.iter().map(|shape| &**shape).collect();
            let chosen = pick(&profiles, last, &shapes);
            prop_assert_eq!(chosen.as_ref().ok().copied(), expected);
            if let Err(error) = chosen {
                // One reason for each.
                prop_assert_eq!(error.message().matches("takes `").count(), profiles.len());
            }
            for (index, fits) in fits.iter().enumerate() {
                let given = |index: usize| CallInput {
                    shape: Shape::of(shapes[index]).unwrap(),
                    values: None,
                };
                let pinned = check_pinned(&profiles, index, &given, &|_: usize| "x");
                prop_assert_eq!(pinned.is_ok(), *fits);
            }
        }
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
            let given = |_: usize| CallInput {
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
