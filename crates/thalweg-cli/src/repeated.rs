//! The comparison of an output with that of an earlier call, bit by bit.

use thalweg::{Output, Result, TensorView, Value};

use crate::compare::index_of;
use crate::numbers::numbers;
use crate::text;

/// The difference of an output from an earlier one, in words; `None` if all bits are the same.
///
/// # Errors
/// If memory is out.
pub(crate) fn change(now: Output<'_>, before: &Value) -> Result<Option<String>> {
    let bits = |list: &[f64]| list.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let same = match (now, before.as_output()) {
        (Output::Tensor(now), Output::Tensor(before)) => return tensor_change(now, before),
        (Output::None, Output::None) => true,
        (Output::Int(now), Output::Int(before)) => now == before,
        (Output::Bool(now), Output::Bool(before)) => now == before,
        (Output::String(now), Output::String(before)) => now == before,
        (Output::Double(now), Output::Double(before)) => now.to_bits() == before.to_bits(),
        (Output::IntList(now), Output::IntList(before)) => now == before,
        (Output::BoolList(now), Output::BoolList(before)) => now == before,
        (Output::DoubleList(now), Output::DoubleList(before)) => bits(now) == bits(before),
        _ => false,
    };
    Ok((!same).then(|| format!("now {now:?}, at first {:?}", before.as_output())))
}

fn tensor_change(now: TensorView<'_>, before: TensorView<'_>) -> Result<Option<String>> {
    let same_kind = now.dtype() == before.dtype()
        && now.sizes() == before.sizes()
        && now.dim_order() == before.dim_order();
    if !same_kind {
        return Ok(Some(format!("now {now:?}, at first {before:?}")));
    }
    if now.bytes() == before.bytes() {
        return Ok(None);
    }
    let now = now.to_tensor()?.to_row_major()?;
    let before = before.to_tensor()?.to_row_major()?;
    let size = now.dtype().size();
    let elements = |view: TensorView<'_>, index: usize| {
        let bytes = view.bytes().get(index * size..(index + 1) * size);
        let hex = bytes.unwrap_or_default().iter().rev();
        let hex: String = hex.map(|byte| format!("{byte:02x}")).collect();
        let number = numbers(view).nth(index);
        format!(
            "{} (0x{hex})",
            number.map_or(String::new(), |number| number.to_text(9))
        )
    };
    let pairs = now.view().bytes().chunks_exact(size);
    let pairs = pairs.zip(before.view().bytes().chunks_exact(size));
    let mut changed = pairs
        .enumerate()
        .filter(|(_, (now, before))| now != before)
        .map(|(index, _)| index);
    let Some(first) = changed.next() else {
        return Ok(None);
    };
    Ok(Some(format!(
        "{} of {} changed; first at {:?}: now {}, at first {}",
        1 + changed.count(),
        text::count(now.view().numel(), "element"),
        index_of(first, now.sizes()),
        elements(now.view(), first),
        elements(before.view(), first),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg::Tensor;

    fn changed(now: &[f32], before: &[f32]) -> Option<String> {
        let tensor = |data: &[f32]| Tensor::from_slice(data, &[data.len()]).unwrap();
        let (now, before) = (tensor(now), Value::Tensor(tensor(before)));
        change(Output::Tensor(now.view()), &before).unwrap()
    }

    #[test]
    fn the_same_bits_are_no_change_and_equal_numbers_are_not_enough() {
        assert_eq!(changed(&[f32::NAN, 1.0], &[f32::NAN, 1.0]), None);
        assert_eq!(
            changed(&[1.0, 0.0], &[1.0, -0.0]).unwrap(),
            "1 of 2 elements changed; first at [1]: now 0 (0x00000000), at first 0 (0x80000000)"
        );
        assert_eq!(
            change(Output::Double(0.0), &Value::Double(-0.0)).unwrap(),
            Some("now Double(0.0), at first Double(-0.0)".into())
        );
    }

    #[test]
    fn another_shape_or_kind_is_a_change() {
        assert!(changed(&[1.0], &[1.0, 1.0]).is_some());
        let change = change(Output::Int(1), &Value::Bool(true)).unwrap();
        assert!(change.is_some());
    }
}
