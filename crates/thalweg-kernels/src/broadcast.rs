//! Broadcasting: shapes aligned at their inner ends, where a size of 1 repeats.

use thalweg_core::{Dims, Result, TensorView, bail};

/// The shape that two shapes broadcast to.
///
/// # Errors
/// If they do not, naming both.
pub(crate) fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Dims> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let mut sizes = Dims::from_slice(long)?;
    let inner = &mut sizes[long.len() - short.len()..];
    for (size, &other) in inner.iter_mut().zip(short) {
        match (*size, other) {
            (_, 1) => {}
            (1, other) => *size = other,
            (size, other) if size == other => {}
            _ => bail!(Operator, "shapes {a:?} and {b:?} do not broadcast"),
        }
    }
    Ok(sizes)
}

/// Strides, in elements, that walk a tensor as if it had the shape `sizes`: 0 where it repeats.
///
/// # Errors
/// If the tensor does not broadcast to that shape.
pub(crate) fn broadcast_strides(tensor: &TensorView<'_>, sizes: &[usize]) -> Result<Dims> {
    let own = tensor.strides();
    let Some(missing) = sizes.len().checked_sub(tensor.rank()) else {
        bail!(
            Operator,
            "shape {:?} does not broadcast to {sizes:?}",
            tensor.sizes()
        );
    };
    let mut strides = Dims::filled(0, sizes.len())?;
    for (dim, (&size, &stride)) in tensor.sizes().iter().zip(&*own).enumerate() {
        match (size, sizes[missing + dim]) {
            (1, _) => {}
            (size, wanted) if size == wanted => strides[missing + dim] = stride,
            _ => bail!(
                Operator,
                "shape {:?} does not broadcast to {sizes:?}",
                tensor.sizes()
            ),
        }
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_of_one_or_a_missing_dimension_repeats() {
        assert_eq!(*broadcast_shapes(&[2, 1, 4], &[3, 1]).unwrap(), [2, 3, 4]);
        assert_eq!(*broadcast_shapes(&[], &[3]).unwrap(), [3]);
        assert_eq!(*broadcast_shapes(&[0, 1], &[1, 5]).unwrap(), [0, 5]);
    }

    #[test]
    fn shapes_that_do_not_fit_are_named() {
        let error = broadcast_shapes(&[2, 3], &[4]).unwrap_err();
        assert_eq!(error.message(), "shapes [2, 3] and [4] do not broadcast");
        assert!(broadcast_shapes(&[0], &[2]).is_err());
    }

    #[test]
    fn a_repeated_dimension_has_stride_zero() {
        let data = [0f32; 3];
        let column = TensorView::from_slice(&data, &[3, 1]).unwrap();
        assert_eq!(*broadcast_strides(&column, &[2, 3, 4]).unwrap(), [0, 1, 0]);
        assert!(broadcast_strides(&column, &[4, 4]).is_err());
    }
}
