//! The comparison of an output with the recorded one, within a tolerance.

use std::fmt;

use thalweg::{Output, Result, TensorView, Value};

use crate::numbers::{Number, numbers};
use crate::text;

/// The tolerance for an element `a` against the recorded `b`: `|a - b| <= absolute + relative * |b|`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerance {
    pub(crate) absolute: f64,
    pub(crate) relative: f64,
}

/// A recorded output.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) value: Value,
    /// True if only type and shape are compared.
    pub(crate) shape_only: bool,
}

/// The difference of an output from the recorded one, in words; `None` if there is none.
///
/// Tensors are compared in logical order, so that their dim orders can differ.
///
/// # Errors
/// If memory is out.
pub(crate) fn difference(
    got: Output<'_>,
    expected: &Expected,
    tolerance: Tolerance,
) -> Result<Option<String>> {
    let wanted = expected.value.as_output();
    let same = match (got, wanted) {
        (Output::Tensor(got), Output::Tensor(wanted)) => {
            return tensor_difference(got, wanted, expected.shape_only, tolerance);
        }
        (Output::None, Output::None) => true,
        (Output::Int(got), Output::Int(wanted)) => got == wanted,
        (Output::Bool(got), Output::Bool(wanted)) => got == wanted,
        (Output::String(got), Output::String(wanted)) => got == wanted,
        (Output::Double(got), Output::Double(wanted)) => {
            // A double that went through text may have lost its last digits.
            let relative = tolerance.relative.max(1e-9);
            let tolerance = Tolerance {
                relative,
                ..tolerance
            };
            tolerance.allows(Number::Float(got), Number::Float(wanted))
        }
        _ => false,
    };
    Ok((!same).then(|| format!("got {}, expected {}", in_words(got), in_words(wanted))))
}

fn tensor_difference(
    got: TensorView<'_>,
    expected: TensorView<'_>,
    shape_only: bool,
    tolerance: Tolerance,
) -> Result<Option<String>> {
    if got.dtype() != expected.dtype() || got.sizes() != expected.sizes() {
        return Ok(Some(format!("got {got:?}, expected {expected:?}")));
    }
    if shape_only {
        return Ok(None);
    }
    let (got, expected) = (got.to_tensor()?, expected.to_tensor()?);
    let (got, expected) = (got.to_row_major()?, expected.to_row_major()?);
    let mut first = None;
    let mut wrong = 0;
    let mut largest = 0f64;
    let pairs = numbers(got.view()).zip(numbers(expected.view()));
    for (index, (a, b)) in pairs.enumerate() {
        if !tolerance.allows(a, b) {
            first.get_or_insert((index, a, b));
            wrong += 1;
            largest = largest.max(distance(a, b));
        }
    }
    Ok(first.map(|(index, a, b)| {
        let digits = digits_to_tell_apart(a, b);
        let mut text = format!(
            "{wrong} of {} differ; first at {:?}: got {}, expected {}",
            text::count(got.view().numel(), "element"),
            index_of(index, got.sizes()),
            a.to_text(digits),
            b.to_text(digits),
        );
        if wrong > 1 && largest.is_finite() {
            text += &format!("; largest difference {}", text::float(largest, 3));
        }
        text
    }))
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [absolute, relative] = [self.absolute, self.relative].map(|x| text::float(x, 3));
        match (self.absolute > 0.0, self.relative > 0.0) {
            (false, false) => f.write_str("exactly"),
            (true, false) => write!(f, "within {absolute}"),
            (_, true) => write!(f, "within {absolute} + {relative} of each value"),
        }
    }
}

impl Tolerance {
    /// Returns true if an element is within the tolerance of the recorded one.
    fn allows(self, got: Number, expected: Number) -> bool {
        if got == expected {
            return true;
        }
        match (got, expected) {
            (Number::Complex(a, b), Number::Complex(c, d)) => {
                self.allows_float(a, c) && self.allows_float(b, d)
            }
            (Number::Float(a), Number::Float(b)) => self.allows_float(a, b),
            (Number::Int(a), Number::Int(b)) => {
                a.abs_diff(b) as f64 <= self.absolute + self.relative * (b as f64).abs()
            }
            _ => false,
        }
    }

    fn allows_float(self, got: f64, expected: f64) -> bool {
        if got == expected || (got.is_nan() && expected.is_nan()) {
            return true;
        }
        // The tolerance for an infinite number would be infinite.
        expected.is_finite()
            && (got - expected).abs() <= self.absolute + self.relative * expected.abs()
    }
}

/// The distance of two elements; not finite if one of them is not.
fn distance(a: Number, b: Number) -> f64 {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.abs_diff(b) as f64,
        (Number::Complex(a, b), Number::Complex(c, d)) => (a - c).hypot(b - d),
        (a, b) => (a.to_f64() - b.to_f64()).abs(),
    }
}

/// The least number of digits that shows that two elements differ.
fn digits_to_tell_apart(a: Number, b: Number) -> usize {
    (6..17)
        .find(|&digits| a.to_text(digits) != b.to_text(digits))
        .unwrap_or(17)
}

/// The index along each dimension of an element of a row-major tensor.
pub(crate) fn index_of(mut flat: usize, sizes: &[usize]) -> Vec<usize> {
    let mut index: Vec<usize> = sizes
        .iter()
        .rev()
        .map(|&size| {
            let size = size.max(1);
            let position = flat % size;
            flat /= size;
            position
        })
        .collect();
    index.reverse();
    index
}

fn in_words(value: Output<'_>) -> String {
    match value {
        Output::None => "none".into(),
        Output::Int(value) => format!("the integer {value}"),
        Output::Double(value) => format!("the double {value:?}"),
        Output::Bool(value) => format!("the boolean {value}"),
        Output::String(value) => format!("the string {value:?}"),
        Output::Tensor(view) => format!("a tensor {view:?}"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg::{Bool, DType, Element, Tensor};

    const LOOSE: Tolerance = Tolerance {
        absolute: 0.01,
        relative: 0.1,
    };
    const EXACT: Tolerance = Tolerance {
        absolute: 0.0,
        relative: 0.0,
    };

    fn differ<T: Element>(got: &[T], expected: &[T], tolerance: Tolerance) -> Option<String> {
        let sizes = [got.len()];
        let got = Tensor::from_slice(got, &sizes).unwrap();
        let expected = Expected {
            value: Value::Tensor(Tensor::from_slice(expected, &sizes).unwrap()),
            shape_only: false,
        };
        difference(Output::Tensor(got.view()), &expected, tolerance).unwrap()
    }

    #[test]
    fn floats_may_be_off_by_the_tolerance() {
        assert_eq!(differ(&[1.1f32, 0.009], &[1.0, 0.0], LOOSE), None);
        assert!(differ(&[1.2f32], &[1.0], LOOSE).is_some());
        assert!(differ(&[1.0f32], &[1.0 + f32::EPSILON], EXACT).is_some());
    }

    #[test]
    fn not_a_number_equals_itself_and_nothing_else() {
        assert_eq!(differ(&[f32::NAN], &[f32::NAN], EXACT), None);
        assert!(differ(&[f32::NAN], &[1.0], LOOSE).is_some());
        assert!(differ(&[1.0], &[f32::NAN], LOOSE).is_some());
    }

    #[test]
    fn a_finite_number_is_never_near_an_infinite_one() {
        assert_eq!(differ(&[f32::INFINITY], &[f32::INFINITY], EXACT), None);
        assert!(differ(&[1.0], &[f32::INFINITY], LOOSE).is_some());
        assert!(differ(&[f32::INFINITY], &[1.0], LOOSE).is_some());
        assert!(differ(&[f32::NEG_INFINITY], &[f32::INFINITY], LOOSE).is_some());
    }

    #[test]
    fn large_integers_that_are_equal_as_doubles_still_differ() {
        assert!(differ(&[i64::MAX], &[i64::MAX - 1], EXACT).is_some());
        assert!(differ(&[Bool::from(true)], &[Bool::from(false)], LOOSE).is_some());
    }

    #[test]
    fn the_first_wrong_element_is_named_by_its_index() {
        let got = Tensor::from_slice(&[1i32, 2, 3, 5, 5, 9], &[2, 3]).unwrap();
        let expected = Expected {
            value: Value::Tensor(Tensor::from_slice(&[1i32, 2, 3, 4, 5, 6], &[2, 3]).unwrap()),
            shape_only: false,
        };
        assert_eq!(
            difference(Output::Tensor(got.view()), &expected, EXACT).unwrap(),
            Some(
                "2 of 6 elements differ; first at [1, 0]: got 5, expected 4; largest difference 3"
                    .into()
            )
        );
    }

    #[test]
    fn tensors_are_compared_in_logical_order() {
        let row_major = Tensor::from_slice(&[0u8, 1, 2, 3, 4, 5], &[2, 3]).unwrap();
        let other = Tensor::from_bytes(DType::U8, &[2, 3], &[1, 0], &[0, 3, 1, 4, 2, 5]).unwrap();
        let expected = Expected {
            value: Value::Tensor(row_major),
            shape_only: false,
        };
        assert_eq!(
            difference(Output::Tensor(other.view()), &expected, EXACT).unwrap(),
            None
        );
    }

    #[test]
    fn values_that_are_free_need_the_right_shape_and_type() {
        let expected = Expected {
            value: Value::Tensor(Tensor::zeros(DType::F32, &[2]).unwrap()),
            shape_only: true,
        };
        let compare = |got: &Tensor| {
            difference(Output::Tensor(got.view()), &expected, EXACT)
                .unwrap()
                .is_none()
        };
        assert!(compare(
            &Tensor::from_slice(&[5f32, f32::NAN], &[2]).unwrap()
        ));
        assert!(!compare(&Tensor::zeros(DType::F32, &[3]).unwrap()));
        assert!(!compare(&Tensor::zeros(DType::F64, &[2]).unwrap()));
    }

    #[test]
    fn values_of_different_kinds_differ() {
        let expected = |value| Expected {
            value,
            shape_only: false,
        };
        let int = expected(Value::Int(3));
        assert_eq!(difference(Output::Int(3), &int, EXACT).unwrap(), None);
        assert_eq!(
            difference(Output::Double(3.0), &int, LOOSE).unwrap(),
            Some("got the double 3.0, expected the integer 3".into())
        );
        let none = expected(Value::None);
        assert_eq!(difference(Output::None, &none, EXACT).unwrap(), None);
        assert!(difference(Output::Int(0), &none, EXACT).unwrap().is_some());
    }
}
