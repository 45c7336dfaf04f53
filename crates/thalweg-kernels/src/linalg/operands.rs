//! The operands of a microkernel: its left side and its epilogue.

/// The left side and its shape.
#[derive(Clone, Copy)]
pub(crate) struct Lhs<'a> {
    pub(crate) data: &'a [f32],
    pub(crate) rows: usize,
    pub(crate) depth: usize,
    pub(crate) addressing: Addressing<'a>,
}

/// The addresses of the elements of the left side.
#[derive(Clone, Copy)]
pub(crate) enum Addressing<'a> {
    /// Distances of neighbours in a column, and in a row.
    Strided([usize; 2]),
    /// By an offset for the row and one for the place in the row: windows of an image.
    Indirect { rows: &'a [u32], columns: &'a [u32] },
}

impl Addressing<'_> {
    /// Returns true if all elements of a side of this shape, which is not empty, are among the first `len`.
    pub(super) fn are_within(&self, [rows, depth]: [usize; 2], len: usize) -> bool {
        let last = match self {
            Self::Strided([row, column]) => {
                let last = (rows - 1).checked_mul(*row);
                let along = (depth - 1).checked_mul(*column);
                last.zip(along).and_then(|(a, b)| a.checked_add(b))
            }
            Self::Indirect {
                rows: r,
                columns: c,
            } => {
                let most = |numbers: &[u32], count: usize| {
                    let numbers = numbers.get(..count)?;
                    Some(numbers.iter().fold(0, |most, &x| most.max(x)) as usize)
                };
                most(r, rows).zip(most(c, depth)).map(|(a, b)| a + b)
            }
        };
        last.is_some_and(|last| last < len)
    }
}

/// The epilogue of a product: `scale * sum + add`, within limits.
#[derive(Clone, Copy)]
pub(crate) struct Epilogue<'a> {
    pub(crate) scale: Scale<'a>,
    pub(crate) add: Addend<'a>,
    /// The lowest and the highest number that is written. NaN stays.
    pub(crate) limits: Option<[f32; 2]>,
}

impl<'a> Epilogue<'a> {
    /// `scale * sum`, and what is added to it.
    pub(crate) fn new(scale: f32, add: Addend<'a>) -> Self {
        Self {
            scale: Scale::All(scale),
            add,
            limits: None,
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Scale<'a> {
    All(f32),
    /// One number for each row of the result.
    Rows(&'a [f32]),
}

#[derive(Clone, Copy)]
pub(crate) enum Addend<'a> {
    Nothing,
    /// One number for each column of the result.
    Columns(&'a [f32]),
    /// One number for each row.
    Rows(&'a [f32]),
    /// The output as it was, with a factor.
    Output(f32),
}
