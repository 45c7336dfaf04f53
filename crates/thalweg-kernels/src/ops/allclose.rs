//! Comparison of two tensors up to small differences.

use thalweg_core::{Bool, KernelCall, KernelRegistry, Result, TensorView, ensure};

use crate::dtype::convert::converted;
use crate::layout::Layout;
use crate::layout::broadcast::broadcast_shapes;
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::allclose.out(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, \
         bool equal_nan=False, bool dummy_param=False, *, Tensor(a!) out) -> Tensor(a!)",
        all_close,
    )?);
    Ok(())
}

fn all_close(call: &KernelCall<'_>) -> Result<()> {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (rtol, atol, equal_nan) = (call.double(2)?, call.double(3)?, call.bool(4)?);
    ensure!(
        a.dtype() == b.dtype() && !a.dtype().is_complex(),
        InvalidInput,
        "elements of types {} and {} cannot be compared",
        a.dtype(),
        b.dtype()
    );
    ensure!(
        rtol >= 0.0 && atol >= 0.0,
        InvalidInput,
        "differences cannot be as large as {rtol} and {atol}, which are not both 0 or more"
    );
    let sizes = call.output_sizes(6)?;
    let mut out = call.output(6, &sizes)?;
    ensure!(
        out.numel() == 1,
        InvalidInput,
        "an answer has one element, not the shape {:?}",
        out.sizes()
    );
    let is_close = |a: f64, b: f64| {
        let is_near = || a.is_finite() && b.is_finite() && (a - b).abs() <= atol + (rtol * b).abs();
        a == b || (equal_nan && a.is_nan() && b.is_nan()) || is_near()
    };
    out.data_mut::<Bool>()?[0] = all(call, &a, &b, is_close)?.into();
    Ok(())
}

/// Returns true if `is_right` holds for all pairs of elements, whose shapes broadcast.
fn all(
    call: &KernelCall<'_>,
    a: &TensorView<'_>,
    b: &TensorView<'_>,
    is_right: impl Fn(f64, f64) -> bool,
) -> Result<bool> {
    let sizes = broadcast_shapes(a.sizes(), b.sizes())?;
    let layouts = [
        Layout::of(a).broadcast(&sizes)?,
        Layout::of(b).broadcast(&sizes)?,
    ];
    let [a, b] = [
        converted::<f64>(call, a.bytes(), a.dtype())?,
        converted::<f64>(call, b.bytes(), b.dtype())?,
    ];
    let walk = Walk::new(&sizes, [&layouts[0].strides, &layouts[1].strides])?;
    let [step_a, step_b] = walk.steps();
    Ok(walk.runs().all(|run| {
        let [at_a, at_b] = run.offsets;
        (0..walk.run_len()).all(|i| is_right(a[at_a + i * step_a], b[at_b + i * step_b]))
    }))
}

#[cfg(test)]
mod tests {
    use thalweg_core::{DType, Tensor};

    use super::*;
    use crate::testing::{in_order, invoke, numbers};

    fn close(a: &Tensor, b: &Tensor, rtol: f64, equal_nan: bool) -> Result<bool> {
        let out = Tensor::zeros(DType::Bool, &[1]).unwrap();
        let arguments = vec![
            a.into(),
            b.into(),
            rtol.into(),
            1e-8.into(),
            equal_nan.into(),
            false.into(),
            out.into(),
        ];
        let results = invoke(register, "aten::allclose.out", arguments)?;
        Ok(results[6].tensor()?.view().bytes() == [1])
    }

    fn row(numbers: &[f32]) -> Tensor {
        Tensor::from_slice(numbers, &[numbers.len()]).unwrap()
    }

    #[test]
    fn differences_may_be_as_large_as_the_other_number_allows() {
        let [a, b] = [row(&[100.0, 0.0]), row(&[101.0, 0.0])];
        assert!(close(&a, &b, 0.01, false).unwrap());
        assert!(!close(&a, &b, 0.009, false).unwrap());
        assert!(close(&a, &a, 0.0, false).unwrap());
    }

    #[test]
    fn infinities_are_only_close_to_themselves() {
        let [high, low] = [row(&[f32::INFINITY]), row(&[f32::NEG_INFINITY])];
        assert!(close(&high, &high, 1.0, false).unwrap());
        assert!(!close(&high, &low, 1.0, false).unwrap());
        assert!(!close(&row(&[1.0]), &high, 1.0, false).unwrap());
    }

    #[test]
    fn what_is_not_a_number_is_only_close_where_that_is_asked_for() {
        let nan = row(&[1.0, f32::NAN]);
        assert!(!close(&nan, &nan, 1.0, false).unwrap());
        assert!(close(&nan, &nan, 1.0, true).unwrap());
        assert!(!close(&nan, &row(&[1.0, 1.0]), 1.0, true).unwrap());
    }

    #[test]
    fn shapes_broadcast_and_orders_may_differ() {
        let a = numbers(&[2, 3]);
        assert!(close(&a, &in_order(&a, &[1, 0]), 0.0, false).unwrap());
        let ones = Tensor::from_slice(&[1f32; 6], &[2, 3]).unwrap();
        assert!(close(&ones, &row(&[1.0, 1.0, 1.0]), 0.0, false).unwrap());
        assert!(!close(&ones, &row(&[1.0, 1.0, 2.0]), 0.0, false).unwrap());
        let none = Tensor::from_slice::<f32>(&[], &[0, 3]).unwrap();
        assert!(close(&none, &row(&[1.0, 2.0, 3.0]), 0.0, false).unwrap());
    }

    #[test]
    fn types_that_differ_and_negative_tolerances_are_refused() {
        let int = Tensor::from_slice(&[1i64], &[1]).unwrap();
        let message = close(&int, &row(&[1.0]), 0.0, false)
            .unwrap_err()
            .to_string();
        assert!(message.contains("i64 and f32"), "{message}");
        let message = close(&int, &int, -1.0, false).unwrap_err().to_string();
        assert!(message.contains("-1"), "{message}");
    }
}
