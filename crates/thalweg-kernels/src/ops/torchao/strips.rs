//! Weights of linear layers in strips of eight columns.
//!
//! A strip has, for each group of rows, the integers of all columns, then a scale, the sum of the
//! integers and, if there are some, a zero point for each column; at the end a bias for each. In front
//! is the look-up table, if the integers are indices into one.

use thalweg_core::{Result, bail, ensure};

use super::bits::Packing;
use super::header::{Header, Kind};
use crate::parallel::for_each_chunk_with;
use crate::simd::vectorized;

/// Columns of a strip. The last strip is filled up with zeros.
pub(super) const COLUMNS: usize = 8;

/// Rows of a tile, in which the integers of all columns are packed together.
const TILE: usize = 16;

/// Integers of one column that lie next to each other in a tile.
pub(super) const RUN: usize = 8;

/// Bytes of a number for each column.
const NUMBERS: usize = COLUMNS * 4;

/// Sums of a group, of products of integers up to 255, stay below 2^31.
const LARGEST_GROUP: usize = 1 << 15;

/// Packed weights of a linear layer with `inputs` rows and `outputs` columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strips<'a> {
    bytes: &'a [u8],
    packing: Packing,
    pub(super) outputs: usize,
    pub(super) inputs: usize,
    pub(super) group: usize,
    pub(super) has_zero_points: bool,
    pub(super) has_bias: bool,
    has_table: bool,
    tile_bytes: usize,
    group_bytes: usize,
    strip_bytes: usize,
}

impl<'a> Strips<'a> {
    /// Weights of `bits` bits that belong to `outputs` times `inputs` numbers in groups of `group`.
    pub(super) fn new(
        packed: &'a [u8],
        bits: usize,
        [outputs, inputs, group]: [usize; 3],
    ) -> Result<Self> {
        let header = Header::read(packed)?;
        let [of_bits, zero_points, bias, columns, rows, parts, ..] = header.parameters;
        let has_table = match header.kind {
            Kind::Strips => false,
            Kind::LutStrips if bits <= 4 && zero_points == 0 => true,
            other => bail!(
                Unsupported,
                "weights of {bits} bits for a linear layer that are packed as {other:?}"
            ),
        };
        ensure!(
            of_bits == bits as i32,
            InvalidInput,
            "packed weights have {of_bits} bits, not {bits}"
        );
        ensure!(
            [columns, rows, parts] == [COLUMNS as i32, TILE as i32, 2],
            Unsupported,
            "weights are packed in tiles of {columns} times {rows} in {parts} parts, not of \
             {COLUMNS} times {TILE} in 2"
        );
        ensure!(
            group % TILE == 0 && inputs % group == 0 && group <= LARGEST_GROUP,
            InvalidInput,
            "{inputs} inputs cannot be in groups of {group}: these must be multiples of {TILE}, at \
             most {LARGEST_GROUP}, that divide the inputs"
        );
        let (has_zero_points, has_bias) = (zero_points != 0, bias != 0);
        let tile_bytes = TILE * bits;
        let numbers = NUMBERS * (2 + usize::from(has_zero_points));
        let group_bytes = group / TILE * tile_bytes + numbers;
        let ends = usize::from(has_table) * TABLE + usize::from(has_bias) * NUMBERS;
        let strip_bytes = inputs / group * group_bytes + ends;
        header.check_strips([COLUMNS, strip_bytes], [outputs, inputs], bits, group)?;
        Ok(Self {
            bytes: header.rest,
            packing: Packing::new(bits, COLUMNS * TILE)?,
            outputs,
            inputs,
            group,
            has_zero_points,
            has_bias,
            has_table,
            tile_bytes,
            group_bytes,
            strip_bytes,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.outputs.div_ceil(COLUMNS)
    }

    pub(super) fn groups(&self) -> usize {
        self.inputs / self.group
    }

    pub(super) fn strip(&self, index: usize) -> Strip<'_> {
        let bytes = &self.bytes[index * self.strip_bytes..][..self.strip_bytes];
        let (table, bytes) = bytes.split_at(if self.has_table { TABLE } else { 0 });
        Strip {
            weights: self,
            table: table.first_chunk(),
            bytes,
        }
    }

    /// The products of `rows`, each of as many floats as there are inputs, with the weights as floats,
    /// strip by strip: `out` has the columns of a strip for each row, for each strip.
    ///
    /// `scratch` has as many floats as [`scratch_len`](Self::scratch_len) says.
    pub(super) fn multiply(
        &self,
        threads: usize,
        rows: &[f32],
        out: &mut [f32],
        scratch: &mut [f32],
    ) -> Result<()> {
        let piece = rows.len() / self.inputs * COLUMNS;
        let work = out.len().saturating_mul(self.inputs);
        for_each_chunk_with(threads, work, out, piece, scratch, |index, out, weights| {
            let strip = self.strip(index);
            vectorized(
                #[inline(always)]
                || {
                    strip.floats(weights);
                    let rows = rows.chunks_exact(self.inputs);
                    for (row, out) in rows.zip(out.as_chunks_mut::<COLUMNS>().0) {
                        let columns = weights.chunks_exact(self.inputs);
                        for (column, (out, weights)) in out.iter_mut().zip(columns).enumerate() {
                            *out = super::dot(row, weights) + strip.bias(column);
                        }
                    }
                },
            );
            Ok(())
        })
    }

    pub(super) fn scratch_len(&self, threads: usize) -> usize {
        let strip = self.inputs.saturating_mul(COLUMNS);
        strip.saturating_mul(threads.max(1))
    }
}

/// Bytes of a table of values.
const TABLE: usize = 16;

/// A strip of eight columns.
#[derive(Clone, Copy)]
pub(super) struct Strip<'a> {
    weights: &'a Strips<'a>,
    table: Option<&'a [u8; TABLE]>,
    bytes: &'a [u8],
}

impl Strip<'_> {
    /// Calls `each` for all integers, with the column, the row where a run of them begins, and the run.
    #[inline(always)]
    pub(super) fn for_each_run(&self, mut each: impl FnMut(usize, usize, &[i8; RUN])) {
        let Strips { packing, group, .. } = *self.weights;
        let mut values = [0u8; COLUMNS * TILE];
        for index in 0..self.weights.groups() {
            let tiles = &self.group(index)[..group / TILE * self.weights.tile_bytes];
            for (tile, packed) in tiles.chunks_exact(self.weights.tile_bytes).enumerate() {
                packing.unpack(packed, &mut values);
                let first = index * group + tile * TILE;
                for (at, run) in values.as_chunks::<RUN>().0.iter().enumerate() {
                    // All columns have their first half, then all have their second.
                    let (half, column) = (at / COLUMNS, at % COLUMNS);
                    let run = match self.table {
                        None => run.map(|value| packing.signed(value)),
                        Some(table) => {
                            run.map(|place| table[usize::from(place) % TABLE].cast_signed())
                        }
                    };
                    each(column, first + half * RUN, &run);
                }
            }
        }
    }

    /// The weights as floats, column by column.
    #[inline(always)]
    fn floats(&self, target: &mut [f32]) {
        let Strips { inputs, group, .. } = *self.weights;
        self.for_each_run(
            #[inline(always)]
            |column, row, run| {
                let group = row / group;
                let scale = self.scale(group, column);
                let zero_point = self.zero_point(group, column) as f32;
                let target = &mut target[column * inputs + row..][..RUN];
                for (target, &value) in target.iter_mut().zip(run) {
                    *target = (f32::from(value) - zero_point) * scale;
                }
            },
        );
    }

    /// The scales of all columns in a group.
    #[inline(always)]
    pub(super) fn scales(&self, group: usize) -> [f32; COLUMNS] {
        let tiles = self.weights.group / TILE * self.weights.tile_bytes;
        let numbers = self.group(group)[tiles..].as_chunks().0;
        std::array::from_fn(|column| f32::from_le_bytes(numbers[column]))
    }

    #[inline(always)]
    pub(super) fn scale(&self, group: usize, column: usize) -> f32 {
        f32::from_le_bytes(self.number(group, 0, column))
    }

    #[inline(always)]
    pub(super) fn zero_point(&self, group: usize, column: usize) -> i32 {
        if self.weights.has_zero_points {
            i32::from_le_bytes(self.number(group, 2, column))
        } else {
            0
        }
    }

    #[inline(always)]
    pub(super) fn bias(&self, column: usize) -> f32 {
        if !self.weights.has_bias {
            return 0.0;
        }
        let numbers = &self.bytes[self.bytes.len() - NUMBERS..];
        f32::from_le_bytes(numbers.as_chunks().0[column])
    }

    #[inline(always)]
    fn number(&self, group: usize, which: usize, column: usize) -> [u8; 4] {
        let tiles = self.weights.group / TILE * self.weights.tile_bytes;
        let numbers = &self.group(group)[tiles + which * NUMBERS..];
        numbers.as_chunks().0[column]
    }

    #[inline(always)]
    fn group(&self, index: usize) -> &[u8] {
        let bytes = self.weights.group_bytes;
        &self.bytes[index * bytes..][..bytes]
    }
}
