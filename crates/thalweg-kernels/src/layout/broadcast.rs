//! Broadcasting: shapes aligned at their inner ends, where a size of 1 repeats.

use thalweg_core::{Dims, Result, bail, ensure};

use crate::layout::Layout;

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
            _ => bail!(InvalidInput, "shapes {a:?} and {b:?} do not broadcast"),
        }
    }
    Ok(sizes)
}

impl Layout {
    /// The layout repeated along dimensions of size 1, and along new ones in front, to a larger shape.
    ///
    /// # Errors
    /// If the shape does not broadcast to that one.
    pub(crate) fn broadcast(&self, sizes: &[usize]) -> Result<Self> {
        let new = sizes.len().checked_sub(self.sizes.len());
        let mut strides = Dims::filled(0, sizes.len())?;
        let fits = new.is_some_and(|new| {
            let own = self.sizes.iter().zip(&*self.strides);
            own.zip(sizes.iter().zip(&mut *strides).skip(new)).all(
                |((&own, &stride), (&size, target))| {
                    *target = if own == 1 { 0 } else { stride };
                    own == size || own == 1
                },
            )
        });
        ensure!(
            fits,
            InvalidInput,
            "shape {:?} does not broadcast to {sizes:?}",
            self.sizes
        );
        Ok(Self {
            offset: self.offset,
            sizes: Dims::from_slice(sizes)?,
            strides,
        })
    }
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
        let column = Layout::row_major(&[3, 1]).unwrap();
        let repeated = column.broadcast(&[2, 3, 4]).unwrap();
        assert_eq!(*repeated.strides, [0, 1, 0]);
        assert!(column.broadcast(&[4, 4]).is_err());
    }

    #[test]
    fn broadcasting_repeats_by_strides_of_zero() {
        let layout = Layout::row_major(&[3, 1]).unwrap();
        let layout = layout.broadcast(&[2, 3, 4]).unwrap();
        assert_eq!(*layout.strides, [0, 1, 0]);
        assert!(layout.broadcast(&[2, 2, 4]).is_err());
        assert!(layout.broadcast(&[3, 4]).is_err());
    }
}
