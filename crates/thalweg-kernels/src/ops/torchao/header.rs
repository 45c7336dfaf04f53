//! The 64 bytes that packed weights begin with.

use thalweg_core::{DType, Result, TensorView, bail, ensure};

/// The bytes of a header.
pub(super) const LEN: usize = 64;

/// The first number of every header.
pub(super) const MAGIC: i32 = 6712;

/// The kind of weights after a header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Strips of columns with scales, for inputs of 8 bits.
    Strips = 1,
    /// Rows of a table.
    Rows = 2,
    /// Strips as KleidiAI packs them.
    Kleidi = 3,
    /// Strips whose integers are indices into a look-up table of integers.
    LutStrips = 4,
    /// Strips whose integers are indices into look-up tables of floats.
    GroupwiseLut = 5,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Strips,
        Self::Rows,
        Self::Kleidi,
        Self::LutStrips,
        Self::GroupwiseLut,
    ];
}

/// A header, and what comes after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header<'a> {
    pub(super) kind: Kind,
    /// Numbers whose meaning depends on the kind.
    pub(super) parameters: [i32; 14],
    pub(super) rest: &'a [u8],
}

impl<'a> Header<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        let Some((header, rest)) = bytes.split_at_checked(LEN) else {
            bail!(
                InvalidInput,
                "packed weights of {} bytes have no header, which has {LEN}",
                bytes.len()
            );
        };
        let mut numbers = [0; LEN / 4];
        for (number, &bytes) in numbers.iter_mut().zip(header.as_chunks().0) {
            *number = i32::from_le_bytes(bytes);
        }
        let [magic, kind, parameters @ ..] = numbers;
        ensure!(
            magic == MAGIC,
            InvalidInput,
            "packed weights begin with {magic}, not with {MAGIC}: they are not torchao's"
        );
        let Some(kind) = Kind::ALL.into_iter().find(|known| *known as i32 == kind) else {
            bail!(
                Unsupported,
                "weights are packed in way {kind}, which is not known"
            );
        };
        Ok(Self {
            kind,
            parameters,
            rest,
        })
    }

    /// An error unless all strips are there, of so many columns and bytes each.
    pub(super) fn check_strips(
        &self,
        [columns, strip_bytes]: [usize; 2],
        [outputs, inputs]: [usize; 2],
        bits: usize,
        group: usize,
    ) -> Result<()> {
        let needed = strip_bytes.checked_mul(outputs.div_ceil(columns));
        ensure!(
            needed.is_some_and(|needed| self.rest.len() >= needed),
            InvalidInput,
            "{} bytes of packed weights are too few for {outputs} times {inputs} weights of {bits} \
             bits in groups of {group}",
            LEN + self.rest.len()
        );
        Ok(())
    }
}

/// The bytes of a tensor of packed weights.
pub(super) fn bytes<'a>(weights: &TensorView<'a>, dtype: DType, rank: usize) -> Result<&'a [u8]> {
    ensure!(
        weights.dtype() == dtype && weights.rank() == rank && weights.is_row_major(),
        InvalidInput,
        "packed weights must be a row-major tensor of {dtype} with {rank} dimensions, not {weights:?}"
    );
    Ok(weights.bytes())
}
