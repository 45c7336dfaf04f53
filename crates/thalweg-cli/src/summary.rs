//! The summary of an output, in a few lines.

use thalweg::{Output, Result, TensorView};

use crate::compare::index_of;
use crate::numbers::{Number, numbers};
use crate::text;

/// The number of elements of a tensor that are shown.
const SHOWN: usize = 8;
/// The number of significant digits of an element.
const DIGITS: usize = 5;

/// The type and shape of a tensor, or the kind of another output.
pub(crate) fn type_and_shape(output: Output<'_>) -> String {
    match output {
        Output::None => "none".into(),
        Output::Int(_) => "int".into(),
        Output::Double(_) => "double".into(),
        Output::Bool(_) => "bool".into(),
        Output::String(_) => "string".into(),
        Output::Tensor(view) => format!("{view:?}"),
        other => other.kind_name().into(),
    }
}

/// The summary of an output: its value; of a tensor, the first elements in logical order, and statistics
/// of all of them.
///
/// # Errors
/// If memory is out.
pub(crate) fn summary(output: Output<'_>) -> Result<Vec<String>> {
    Ok(match output {
        Output::None => Vec::new(),
        Output::Int(value) => vec![value.to_string()],
        Output::Double(value) => vec![format!("{value:?}")],
        Output::Bool(value) => vec![value.to_string()],
        Output::String(value) => vec![format!("{value:?}")],
        Output::IntList(list) => vec![format!("{list:?}")],
        Output::DoubleList(list) => vec![format!("{list:?}")],
        Output::BoolList(list) => vec![format!("{list:?}")],
        Output::Tensor(view) => tensor(view)?,
        _ => Vec::new(),
    })
}

fn tensor(view: TensorView<'_>) -> Result<Vec<String>> {
    if view.numel() == 0 {
        return Ok(vec!["no elements".into()]);
    }
    let row_major;
    let logical = if view.is_row_major() {
        view
    } else {
        row_major = view.to_tensor()?.to_row_major()?;
        row_major.view()
    };
    let all = numbers(logical);
    let more = if all.len() > SHOWN { " ..." } else { "" };
    let first: Vec<String> = numbers(logical)
        .take(SHOWN)
        .map(|number| number.to_text(DIGITS))
        .collect();
    let mut lines = vec![format!("{}{more}", first.join(" "))];
    if all.len() > 1 {
        lines.extend(statistics(all, view.sizes()));
    }
    Ok(lines)
}

/// The minimum, maximum and mean of finite elements, and the numbers of others.
fn statistics(numbers: impl Iterator<Item = Number>, sizes: &[usize]) -> Option<String> {
    let mut count = 0usize;
    let (mut trues, mut nans, mut infinite) = (0usize, 0usize, 0usize);
    let mut extremes: Option<(Number, Number, usize)> = None;
    let (mut sum, mut imaginary_sum) = (0.0, 0.0);
    let (mut is_bool, mut is_complex) = (false, false);
    for (index, number) in numbers.enumerate() {
        count += 1;
        let parts = match number {
            Number::Complex(real, imaginary) => {
                is_complex = true;
                [real, imaginary]
            }
            other => [other.to_f64(), 0.0],
        };
        if let Number::Bool(value) = number {
            is_bool = true;
            trues += usize::from(value);
        }
        if parts.iter().any(|part| part.is_nan()) {
            nans += 1;
            continue;
        }
        if parts.iter().any(|part| part.is_infinite()) {
            infinite += 1;
            continue;
        }
        sum += parts[0];
        imaginary_sum += parts[1];
        let (least, most, at) = extremes.get_or_insert((number, number, index));
        if less(number, *least) {
            *least = number;
        }
        if less(*most, number) {
            (*most, *at) = (number, index);
        }
    }
    if is_bool {
        return Some(format!("{trues} of {count} true"));
    }
    let finite = (count - nans - infinite) as f64;
    let mut parts = Vec::new();
    if is_complex && finite > 0.0 {
        let mean = Number::Complex(sum / finite, imaginary_sum / finite);
        parts.push(format!("mean {}", mean.to_text(DIGITS)));
    } else if let Some((least, most, at)) = extremes {
        parts.push(format!("min {}", least.to_text(DIGITS)));
        let at = index_of(at, sizes);
        parts.push(format!("max {} at {at:?}", most.to_text(DIGITS)));
        parts.push(format!("mean {}", text::float(sum / finite, DIGITS)));
    }
    if nans > 0 {
        parts.push(format!("{nans} of {count} nan"));
    }
    if infinite > 0 {
        parts.push(format!("{infinite} of {count} infinite"));
    }
    Some(parts.join(", "))
}

fn less(a: Number, b: Number) -> bool {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a < b,
        (a, b) => a.to_f64() < b.to_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg::{Bool, Complex32, DType, Element, Tensor};

    fn lines<T: Element>(data: &[T]) -> Vec<String> {
        let tensor = Tensor::from_slice(data, &[data.len()]).unwrap();
        summary(Output::Tensor(tensor.view())).unwrap()
    }

    #[test]
    fn what_is_not_finite_is_counted_and_left_out_of_the_statistics() {
        assert_eq!(
            lines(&[1.0f32, f32::NAN, 4.0, f32::INFINITY, f32::NAN]),
            [
                "1 nan 4 inf nan",
                "min 1, max 4 at [2], mean 2.5, 2 of 5 nan, 1 of 5 infinite"
            ]
        );
        assert_eq!(lines(&[f32::NAN; 2]), ["nan nan", "2 of 2 nan"]);
    }

    #[test]
    fn only_the_first_elements_are_shown() {
        let data: Vec<i32> = (0..20).collect();
        assert_eq!(
            lines(&data),
            ["0 1 2 3 4 5 6 7 ...", "min 0, max 19 at [19], mean 9.5"]
        );
    }

    #[test]
    fn elements_are_shown_in_logical_order() {
        let tensor = Tensor::from_bytes(DType::U8, &[2, 3], &[1, 0], &[0, 3, 1, 4, 2, 5]).unwrap();
        let lines = summary(Output::Tensor(tensor.view())).unwrap();
        assert_eq!(lines[0], "0 1 2 3 4 5");
    }

    #[test]
    fn booleans_and_complex_numbers_have_their_own_statistics() {
        let data = [true, false, true].map(Bool::from);
        assert_eq!(lines(&data), ["true false true", "2 of 3 true"]);
        let data = [Complex32::new(1.0, 2.0), Complex32::new(3.0, -4.0)];
        assert_eq!(lines(&data), ["1+2i 3-4i", "mean 2-1i"]);
    }

    #[test]
    fn a_single_element_needs_no_statistics() {
        assert_eq!(lines(&[1.5f32]), ["1.5"]);
        assert_eq!(lines::<f32>(&[]), ["no elements"]);
    }
}
