//! Dimensions, positions and sizes that programs give as signed numbers.

use thalweg_core::{Dims, Result, bail};

/// The dimension that a program's number names: negative ones count from the end. A tensor
/// without dimensions has one for this purpose, as in PyTorch.
pub(crate) fn wrap_dim(dim: i64, rank: usize) -> Result<usize> {
    match wrap_index(dim, rank.max(1)) {
        Some(dim) => Ok(dim),
        None => bail!(
            InvalidInput,
            "dimension {dim} is out of range for a tensor of {rank} dimensions"
        ),
    }
}

/// A position among `size`: negative ones count from the end. None if there is no such position.
#[inline]
pub(crate) fn wrap_index(index: i64, size: usize) -> Option<usize> {
    let index = if index < 0 {
        size.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)?
    } else {
        usize::try_from(index).ok()?
    };
    (index < size).then_some(index)
}

/// A size given by a program. An error if it is negative.
pub(crate) fn size_from(size: i64) -> Result<usize> {
    match usize::try_from(size) {
        Ok(size) => Ok(size),
        Err(_) => bail!(InvalidInput, "{size} is not the size of a dimension"),
    }
}

/// A shape given by a program. An error if a size is negative.
pub(crate) fn sizes_from(list: &[i64]) -> Result<Dims> {
    let mut sizes = Dims::new();
    for &size in list {
        match usize::try_from(size) {
            Ok(size) => sizes.push(size)?,
            Err(_) => bail!(InvalidInput, "{list:?} is not a shape"),
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_positions_count_from_the_end() {
        assert_eq!(wrap_index(-1, 3), Some(2));
        assert_eq!(wrap_index(-3, 3), Some(0));
        assert_eq!(wrap_index(-4, 3), None);
        assert_eq!(wrap_index(3, 3), None);
        assert_eq!(wrap_index(i64::MIN, 3), None);
        assert_eq!(wrap_dim(-1, 0).unwrap(), 0);
        assert!(wrap_dim(1, 0).is_err());
    }
}
