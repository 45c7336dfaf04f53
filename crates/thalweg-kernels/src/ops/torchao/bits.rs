//! Integers of 1 to 8 bits in blocks of 128, 64 or 32.
//!
//! A block is one or many units. The values of a unit are slots of as many lanes, and its bytes are
//! rows of as many lanes: what a [`Field`] says of one lane is true of all, so that vectors of all
//! lanes are unpacked at once.

use thalweg_core::{Result, bail};

/// A packing of integers of some number of bits in blocks of some size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packing {
    bits: usize,
    lanes: usize,
    slots: usize,
    rows: usize,
    fields: &'static [Field],
}

/// A field of some bits of the values in a slot: it begins at `bit` of the values and at `at` of the bytes.
#[derive(Clone, Copy, Debug)]
struct Field {
    slot: usize,
    bit: u32,
    count: u32,
    row: usize,
    at: u32,
}

impl Packing {
    pub(super) fn new(bits: usize, block: usize) -> Result<Self> {
        let (lanes, fields): (usize, &[Field]) = match (bits, block) {
            (1, 128) => (16, &ONE),
            (1, 64) => (8, &ONE_IN_NIBBLES),
            (1, 32) => (1, &ONE),
            (2, 128 | 64) => (16, &TWO),
            (2, 32) => (8, &TWO),
            (3, 128) => (16, &THREE),
            (3, 64) => (8, &THREE),
            (3, 32) => (1, &THREE),
            (4, 128 | 64 | 32) => (16, &FOUR),
            (5, 128) => (16, &FIVE),
            (5, 64) => (8, &FIVE_IN_HALVES),
            (5, 32) => (1, &FIVE),
            (6, 128 | 64) => (16, &SIX),
            (6, 32) => (8, &SIX),
            (7, 128) => (16, &SEVEN),
            (7, 64) => (8, &SEVEN),
            (7, 32) => (1, &SEVEN),
            (8, 128 | 64 | 32) => (16, &EIGHT),
            _ => bail!(Internal, "blocks of {block} integers of {bits} bits"),
        };
        let count = |of: fn(&Field) -> usize| 1 + fields.iter().map(of).max().unwrap_or(0);
        Ok(Self {
            bits,
            lanes,
            slots: count(|field| field.slot),
            rows: count(|field| field.row),
            fields,
        })
    }

    /// Unpacks as many integers as there is room for. They begin at 0.
    #[inline(always)]
    pub(super) fn unpack(&self, packed: &[u8], values: &mut [u8]) {
        values.fill(0);
        let units = values.chunks_exact_mut(self.slots * self.lanes);
        for (values, packed) in units.zip(packed.chunks_exact(self.rows * self.lanes)) {
            for field in self.fields {
                let bytes = &packed[field.row * self.lanes..][..self.lanes];
                let values = &mut values[field.slot * self.lanes..][..self.lanes];
                let mask = u8::MAX >> (8 - field.count);
                for (value, byte) in values.iter_mut().zip(bytes) {
                    *value |= (byte >> field.at & mask) << field.bit;
                }
            }
        }
    }

    /// The opposite of [`unpack`](Self::unpack), into bytes that are 0.
    #[cfg(test)]
    pub(super) fn pack(&self, values: &[u8], packed: &mut [u8]) {
        let units = values.chunks_exact(self.slots * self.lanes);
        for (values, packed) in units.zip(packed.chunks_exact_mut(self.rows * self.lanes)) {
            for field in self.fields {
                let values = &values[field.slot * self.lanes..][..self.lanes];
                let bytes = &mut packed[field.row * self.lanes..][..self.lanes];
                let mask = u8::MAX >> (8 - field.count);
                for (byte, value) in bytes.iter_mut().zip(values) {
                    *byte |= (value >> field.bit & mask) << field.at;
                }
            }
        }
    }

    /// The number that an unpacked integer stands for, if it has a sign.
    #[inline(always)]
    pub(super) fn signed(&self, value: u8) -> i8 {
        // Integers of fewer than 8 bits are stored from the smallest on, those of 8 as they are.
        let smallest = if self.bits < 8 {
            1 << (self.bits - 1)
        } else {
            0
        };
        value.wrapping_sub(smallest).cast_signed()
    }
}

const fn field(slot: usize, [bit, count]: [u32; 2], row: usize, at: u32) -> Field {
    Field {
        slot,
        bit,
        count,
        row,
        at,
    }
}

const ONE: [Field; 8] = {
    let mut fields = [field(0, [0, 1], 0, 7); 8];
    let mut slot = 0;
    while slot < 8 {
        fields[slot] = field(slot, [0, 1], 0, 7 - slot as u32);
        slot += 1;
    }
    fields
};

/// The slots that would have 16 lanes have two halves of 8; the first are in the lower halves of bytes.
const ONE_IN_NIBBLES: [Field; 8] = {
    let mut fields = ONE;
    let mut slot = 0;
    while slot < 8 {
        let at = 3 - slot as u32 / 2 + slot as u32 % 2 * 4;
        fields[slot] = field(slot, [0, 1], 0, at);
        slot += 1;
    }
    fields
};

const TWO: [Field; 4] = [
    field(0, [0, 2], 0, 6),
    field(1, [0, 2], 0, 4),
    field(2, [0, 2], 0, 2),
    field(3, [0, 2], 0, 0),
];

const THREE: [Field; 10] = [
    field(0, [0, 3], 0, 3),
    field(1, [0, 3], 0, 0),
    field(2, [0, 3], 1, 3),
    field(3, [0, 3], 1, 0),
    field(4, [0, 3], 2, 3),
    field(5, [0, 3], 2, 0),
    field(6, [0, 2], 0, 6),
    field(6, [2, 1], 2, 7),
    field(7, [0, 2], 1, 6),
    field(7, [2, 1], 2, 6),
];

const FOUR: [Field; 2] = [field(0, [0, 4], 0, 0), field(1, [0, 4], 0, 4)];

const FIVE: [Field; 12] = [
    field(0, [0, 5], 0, 0),
    field(1, [0, 3], 0, 5),
    field(1, [3, 2], 4, 0),
    field(2, [0, 5], 1, 0),
    field(3, [0, 3], 1, 5),
    field(3, [3, 2], 4, 2),
    field(4, [0, 5], 2, 0),
    field(5, [0, 3], 2, 5),
    field(5, [3, 2], 4, 4),
    field(6, [0, 5], 3, 0),
    field(7, [0, 3], 3, 5),
    field(7, [3, 2], 4, 6),
];

/// Four slots of 16 lanes as eight halves of 8.
const FIVE_IN_HALVES: [Field; 12] = [
    field(0, [0, 5], 0, 0),
    field(1, [0, 5], 1, 0),
    field(2, [0, 3], 0, 5),
    field(2, [3, 2], 4, 0),
    field(3, [0, 3], 1, 5),
    field(3, [3, 2], 4, 2),
    field(4, [0, 5], 2, 0),
    field(5, [0, 5], 3, 0),
    field(6, [0, 3], 2, 5),
    field(6, [3, 2], 4, 4),
    field(7, [0, 3], 3, 5),
    field(7, [3, 2], 4, 6),
];

const SIX: [Field; 6] = [
    field(0, [0, 6], 0, 0),
    field(1, [0, 6], 1, 0),
    field(2, [0, 6], 2, 0),
    field(3, [0, 2], 0, 6),
    field(3, [2, 2], 1, 6),
    field(3, [4, 2], 2, 6),
];

const SEVEN: [Field; 14] = {
    let mut fields = [field(0, [0, 7], 0, 0); 14];
    let mut row = 0;
    while row < 7 {
        fields[row] = field(row, [0, 7], row, 0);
        fields[7 + row] = field(7, [row as u32, 1], row, 7);
        row += 1;
    }
    fields
};

const EIGHT: [Field; 1] = [field(0, [0, 8], 0, 0)];
