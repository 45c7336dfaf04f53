//! Linear layers with look-up tables: weights are indices into tables of floats.
//!
//! A strip is four columns, which have one table of 16 numbers. Tiles of 32 rows follow, with a scale
//! for each column in front of each group of them, and a bias for each at the end.

use thalweg_core::{DType, KernelCall, KernelRegistry, Result, ensure, identity_order};

use super::bits::Packing;
use super::header::{Header, Kind};
use super::{check_rows, dot, header, size, write_strips};
use crate::layout::order::laid_out;
use crate::operator::pure;
use crate::parallel::for_each_chunk_with;
use crate::simd::vectorized;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    for bits in 1..=4 {
        registry.add(pure(
            &format!(
                "torchao::_linear_groupwise_{bits}bit_weight_with_lut.out(Tensor activations, \
                 Tensor packed_weights, int scale_group_size, int lut_group_size, int n, int k, \
                 *, Tensor(a!) out) -> Tensor(a!)"
            ),
            move |call| linear(call, bits),
        )?);
    }
    Ok(())
}

fn linear(call: &KernelCall<'_>, bits: usize) -> Result<()> {
    let (input, packed) = (call.tensor(0)?, call.tensor(1)?);
    let [outputs, inputs] = [size(call, 4)?, size(call, 5)?];
    let groups = [call.int(2)?, call.int(3)?];
    check_rows(&input, inputs)?;
    let packed = header::bytes(&packed, DType::I8, 1)?;
    let weights = LutWeights::new(packed, bits, groups, [outputs, inputs])?;
    let rows = input.sizes()[0];
    let mut out = call.output(6, &[rows, outputs])?;
    let input = laid_out::<f32>(call, input, identity_order(2)?)?;
    let strips = outputs.div_ceil(COLUMNS);
    let results = call.temporary::<f32>(rows.saturating_mul(strips * COLUMNS))?;
    let strip = inputs.saturating_mul(COLUMNS);
    let scratch = call.temporary::<f32>(strip.saturating_mul(call.threads()))?;
    let (work, piece) = (input.len().saturating_mul(outputs), rows * COLUMNS);
    for_each_chunk_with(
        call.threads(),
        work,
        results,
        piece,
        scratch,
        |index, out, columns| {
            vectorized(
                #[inline(always)]
                || {
                    let bias = weights.read(index, columns);
                    let rows = input.chunks_exact(inputs);
                    for (row, out) in rows.zip(out.as_chunks_mut::<COLUMNS>().0) {
                        let columns = columns.chunks_exact(inputs);
                        for (column, (out, weights)) in out.iter_mut().zip(columns).enumerate() {
                            *out = dot(row, weights) + bias[column];
                        }
                    }
                },
            );
            Ok(())
        },
    )?;
    write_strips::<COLUMNS>(call, &mut out, results)
}

const COLUMNS: usize = 4;

/// Rows of a tile.
const TILE: usize = 32;

/// Integers of one column that lie next to each other in a tile.
const RUN: usize = 4;

/// Elements of a table.
const TABLE: usize = 16;

struct LutWeights<'a> {
    bytes: &'a [u8],
    packing: Packing,
    inputs: usize,
    /// Rows that have a scale; all where there are none.
    group: usize,
    has_scales: bool,
    has_bias: bool,
    tile_bytes: usize,
    strip_bytes: usize,
}

impl<'a> LutWeights<'a> {
    fn new(
        packed: &'a [u8],
        bits: usize,
        groups: [i64; 2],
        [outputs, inputs]: [usize; 2],
    ) -> Result<Self> {
        let header = Header::read(packed)?;
        ensure!(
            header.kind == Kind::GroupwiseLut,
            Unsupported,
            "weights in tables that are packed as {:?}",
            header.kind
        );
        let [
            of_bits,
            group,
            table_group,
            scales,
            bias,
            columns,
            rows,
            parts,
            ..,
        ] = header.parameters;
        ensure!(
            of_bits == bits as i32 && [group, table_group].map(i64::from) == groups,
            InvalidInput,
            "packed weights have {of_bits} bits in groups of {group} and tables for {table_group}, \
             not {bits} bits in groups of {} and tables for {}",
            groups[0],
            groups[1]
        );
        ensure!(
            [columns, rows, parts] == [COLUMNS as i32, TILE as i32, 8],
            Unsupported,
            "weights are packed in tiles of {columns} times {rows} in {parts} parts, not of \
             {COLUMNS} times {TILE} in 8"
        );
        let (has_scales, has_bias) = (scales != 0, bias != 0);
        let group = if has_scales {
            usize::try_from(group).unwrap_or(0)
        } else {
            inputs
        };
        ensure!(
            inputs % TILE == 0 && group % TILE == 0 && group > 0 && inputs % group == 0,
            InvalidInput,
            "{inputs} inputs cannot be in groups of {group}: both must be multiples of {TILE}, and \
             groups must divide the inputs"
        );
        let tile_bytes = COLUMNS * TILE * bits / 8;
        let numbers = usize::from(has_scales) * (inputs / group) + usize::from(has_bias);
        let strip_bytes = (TABLE + numbers * COLUMNS) * 4 + inputs / TILE * tile_bytes;
        header.check_strips([COLUMNS, strip_bytes], [outputs, inputs], bits, group)?;
        Ok(Self {
            bytes: header.rest,
            packing: Packing::new(bits, COLUMNS * TILE)?,
            inputs,
            group,
            has_scales,
            has_bias,
            tile_bytes,
            strip_bytes,
        })
    }

    /// Writes the weights of a strip, column by column, and returns its biases.
    #[inline(always)]
    fn read(&self, strip: usize, target: &mut [f32]) -> [f32; COLUMNS] {
        let bytes = &self.bytes[strip * self.strip_bytes..][..self.strip_bytes];
        let (table, mut bytes) = bytes.split_at(TABLE * 4);
        let table = numbers::<TABLE>(table);
        let (mut scales, mut places) = ([1.0; COLUMNS], [0u8; COLUMNS * TILE]);
        for first in (0..self.inputs).step_by(TILE) {
            if self.has_scales && first % self.group == 0 {
                scales = numbers(bytes);
                bytes = &bytes[COLUMNS * 4..];
            }
            let (packed, rest) = bytes.split_at(self.tile_bytes);
            bytes = rest;
            self.packing.unpack(packed, &mut places);
            for (at, run) in places.as_chunks::<RUN>().0.iter().enumerate() {
                let (part, column) = (at / COLUMNS, at % COLUMNS);
                let target = &mut target[column * self.inputs + first + part * RUN..][..RUN];
                for (target, &place) in target.iter_mut().zip(run) {
                    *target = table[usize::from(place) % TABLE] * scales[column];
                }
            }
        }
        if self.has_bias {
            numbers(bytes)
        } else {
            [0.0; COLUMNS]
        }
    }
}

/// The floats that some bytes begin with.
#[inline(always)]
fn numbers<const COUNT: usize>(bytes: &[u8]) -> [f32; COUNT] {
    let chunks = bytes.as_chunks().0;
    std::array::from_fn(|index| f32::from_le_bytes(chunks[index]))
}
