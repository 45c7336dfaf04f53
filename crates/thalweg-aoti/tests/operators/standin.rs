//! What the kernels compute, for the stand-in of the driver: plainly, from the arguments of a launch.
//!
//! So what is tested where there is no GPU is all but the kernels: checks, launches, memory, order.

use half::{bf16, f16};
use thalweg_simgpu::{KernelFault, Launch, Sim};

type Done = Result<(), KernelFault>;

/// Sizes of parameters.
const P: usize = 8;
const N: usize = 4;

pub(super) fn register(sim: &Sim) {
    for (bits, unit) in [(0, 32), (4, 32), (5, 32), (6, 8), (6, 16), (6, 32), (8, 32)] {
        for tokens in [8, 32, 64] {
            sim.register_kernel(
                &format!("products{bits}_{unit}_{tokens}"),
                &[P, P, P, N, N, N, N, P, P, P, P, P, P, N, N, N, P],
                move |launch| product(launch, bits, unit, tokens),
            );
        }
    }
    let kernels: [(&str, &[usize], fn(&Launch<'_>) -> Done); 11] = [
        ("sort_short", &[P, N, N, P, N, P, N, P, P], sort_short),
        ("sort_keys_32", &[P, N, N, P, N, P, P, P], sort_keys::<u32>),
        ("sort_keys_64", &[P, N, N, P, N, P, P, P], sort_keys::<u64>),
        ("sort_count_32", &[P, N, N, N, P], sort_count::<u32>),
        ("sort_count_64", &[P, N, N, N, P], sort_count::<u64>),
        ("sort_places", &[P, N, P, P], sort_places),
        (
            "sort_move_32",
            &[P, P, N, N, N, P, P, P, P],
            sort_move::<u32>,
        ),
        (
            "sort_move_64",
            &[P, P, N, N, N, P, P, P, P],
            sort_move::<u64>,
        ),
        ("sort_finish", &[P, N, P, N, P, P, P, P], sort_finish),
        ("random_uniform", &[P, N, P, P, P], random_uniform),
        ("random_between", &[P, P, P, P, P, P], random_between),
    ];
    for (name, sizes, kernel) in kernels {
        sim.register_kernel(name, sizes, kernel);
    }
    sim.register_kernel("random_reserve", &[P, P, P], |launch| {
        require(
            launch.grid() == [1; 3] && launch.block() == [1; 3],
            "one thread",
        )?;
        let counter = &mut launch.update::<u64>(launch.argument(0)?, 1)?[0];
        launch.write(launch.argument(2)?, 1)?[0] = *counter;
        *counter += launch.argument::<u64>(1)?;
        Ok(())
    });
}

fn require(holds: bool, what: &str) -> Done {
    match holds {
        true => Ok(()),
        false => Err(KernelFault(format!("a launch without {what}"))),
    }
}

fn product(launch: &Launch<'_>, bits: usize, unit: usize, tokens: usize) -> Done {
    let int = |at: usize| launch.argument::<i32>(at).map(|value| value as usize);
    let long = |at: usize| launch.argument::<i64>(at).map(|value| value as usize);
    let pointer = |at: usize| launch.argument::<u64>(at);
    let (row, column, dense) = (long(1)?, long(2)?, int(3)? != 0);
    let (m, n, k) = (int(4)?, int(5)?, int(6)?);
    let (shift, groups, inner) = (int(13)?, int(14)?, int(15)?);
    let group = 1 << shift;
    // How blocks share the work.
    let split = match tokens {
        8 => 8,
        32 => 2,
        _ => 1,
    };
    let rows = 16 * 8 / split;
    let [grid_x, grid_y, _] = launch.grid().map(|size| size as usize);
    require(launch.block() == [256, 1, 1], "256 threads")?;
    require(
        grid_x == n.div_ceil(rows) && grid_y == m.div_ceil(tokens),
        "a block for each row and token",
    )?;
    require(
        !dense || (column == 1 && (row % 8 == 0 || m == 1) && pointer(0)? % 16 == 0),
        "eight neighbours wherever they are read at once",
    )?;
    require(
        k % 32 == 0 && k == groups * group && group % unit == 0,
        "groups that fit",
    )?;
    // What a block shares: tiles of rows, sums, activations.
    let (tile, stages, low_pitch, high_pitch) = match bits {
        0 => (256, 2, 128, 0),
        4 => (256, 2, 144, 0),
        5 => (128, 3, 80, 16),
        6 => (128, 3, 80, 48),
        _ => (128, 2, 144, 0),
    };
    let units = tile / unit;
    let scale_bytes = if bits == 6 { 4 } else { 8 };
    let stage = 16 * (low_pitch + high_pitch) + units * 16 * scale_bytes;
    let for_tokens = units * tokens * 4 + tokens.min(m) * (tile * 2 + 64);
    let needed = 8 * stages * stage + split * for_tokens;
    require(
        launch.shared_bytes() as usize >= needed,
        "enough shared memory",
    )?;

    let a = launch.read::<u16>(pointer(0)?, (m - 1) * row + (k - 1) * column + 1)?;
    let half_steps = |at: usize| launch.read::<u16>(pointer(at)?, n * (k / 256));
    let codes = |at: usize| launch.read::<u8>(pointer(at)?, n * groups);
    let low = launch.read::<u8>(pointer(7)?, if bits == 8 { n * k } else { n * k / 2 })?;
    let nibble = |row: usize, at: usize| u32::from(low[(row * k + at) / 2] >> (at % 2 * 4) & 15);
    let step = |steps: &[u16], row: usize, at: usize| {
        f64::from(f16::from_bits(steps[row * (k / 256) + at / 256]))
    };
    let mut weights = vec![0.0; n * k];
    let mut fill = |weight: &dyn Fn(usize, usize) -> f64| {
        for (index, value) in weights.iter_mut().enumerate() {
            *value = weight(index / k, index % k);
        }
    };
    match bits {
        0 => {
            let pairs = launch.read::<u16>(pointer(10)?, groups * n * 2)?;
            fill(&|row, at| {
                let pair = (at / group * n + row) * 2;
                let number = |at: usize| f64::from(bf16::from_bits(pairs[at]));
                // Words of a warp's lanes: rows of eight, tiles of 16 k of which `inner` are together.
                let (tile, in_tile) = (at / 16, at % 16);
                let word = ((row / 8 * (k / 16 / inner) + tile / inner) * 32
                    + row % 8 * 4
                    + in_tile % 8 / 2)
                    * (inner / 2)
                    + tile % inner / 2;
                let bytes = [0, 1, 2, 3].map(|byte| low[word * 4 + byte]);
                let nibble = tile % 2 * 2 + in_tile / 8 + in_tile % 2 * 4;
                let code = u32::from_le_bytes(bytes) >> (nibble * 4) & 15;
                (f64::from(code) - 8.0) * number(pair) + number(pair + 1)
            });
        }
        8 => {
            let scales = launch.read::<u16>(pointer(10)?, n * groups)?;
            let zeros = codes(11)?;
            fill(&|row, at| {
                let of_group = row * groups + at / group;
                let weight = f64::from(low[row * k + at] as i8) - f64::from(zeros[of_group] as i8);
                weight * f64::from(bf16::from_bits(scales[of_group]))
            });
        }
        6 => {
            let high = launch.read::<u8>(pointer(8)?, n * k / 4)?;
            let (scales, steps) = (codes(9)?, half_steps(10)?);
            fill(&|row, at| {
                let byte = row * k / 4 + at / 32 * 8 + at % 2 * 4 + at % 32 / 8;
                let rest = u32::from(high[byte] >> (at % 8 / 2 * 2) & 3);
                let weight = f64::from(nibble(row, at) | rest << 4) - 32.0;
                let scale = f64::from(scales[row * groups + at / group] as i8);
                weight * scale * step(steps, row, at)
            });
        }
        _ => {
            let high: &[u8] = match bits {
                5 => launch.read::<u8>(pointer(8)?, n * k / 8)?,
                _ => &[],
            };
            let (scales, steps) = (codes(9)?, half_steps(10)?);
            let (zeros, zero_steps) = (codes(11)?, half_steps(12)?);
            fill(&|row, at| {
                let mut code = nibble(row, at);
                if bits == 5 {
                    let byte = high[row * k / 8 + at / 32 * 4 + at % 32 / 8];
                    code |= u32::from(byte >> (at % 8 / 2 + at % 2 * 4) & 1) << 4;
                }
                let of_group = row * groups + at / group;
                let zero = f64::from(zeros[of_group]) * step(zero_steps, row, at);
                (f64::from(code) - zero) * f64::from(scales[of_group]) * step(steps, row, at)
            });
        }
    }
    let out = launch.write::<u16>(pointer(16)?, m * n)?;
    for (index, out) in out.iter_mut().enumerate() {
        let (token, of_row) = (index / n, &weights[index % n * k..][..k]);
        let terms = of_row
            .iter()
            .enumerate()
            .map(|(at, weight)| f64::from(bf16::from_bits(a[token * row + at * column])) * weight);
        *out = bf16::from_f64(terms.sum()).to_bits();
    }
    Ok(())
}

/// How a tensor is cut, and the keys of its elements.
struct Sorted<'l> {
    bytes: &'l [u8],
    kind: u32,
    slices: usize,
    len: usize,
    inner: usize,
}

/// Bytes of an element, by the kernels' number of its type.
const SIZES: [usize; 12] = [1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8];

impl<'l> Sorted<'l> {
    fn new(launch: &'l Launch<'_>, kind: u32, cut: [usize; 3]) -> Result<Self, KernelFault> {
        let [slices, len, inner] = cut;
        let bytes = slices * len * SIZES[kind as usize];
        Ok(Self {
            bytes: launch.read::<u8>(launch.argument(0)?, bytes)?,
            kind,
            slices,
            len,
            inner,
        })
    }

    fn place(&self, slice: usize, position: usize) -> usize {
        (slice / self.inner * self.len + position) * self.inner + slice % self.inner
    }

    fn element(&self, at: usize) -> &'l [u8] {
        let size = SIZES[self.kind as usize];
        &self.bytes[at * size..][..size]
    }

    /// A number that orders as the elements do.
    fn key(&self, at: usize, descending: bool) -> u64 {
        let bytes = self.element(at);
        let mut bits = [0; 8];
        bits[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(bits);
        let width = bytes.len() * 8;
        let (all, sign) = (u64::MAX >> (64 - width), 1 << (width - 1));
        let key = match self.kind {
            0 | 2 | 4 | 6 => bits,
            1 | 3 | 5 | 7 => bits ^ sign,
            kind => {
                let number = match kind {
                    8 => f64::from(bf16::from_bits(bits as u16)),
                    9 => f64::from(f16::from_bits(bits as u16)),
                    10 => f64::from(f32::from_bits(bits as u32)),
                    _ => f64::from_bits(bits),
                };
                match number {
                    _ if number.is_nan() => all,
                    0.0 => sign,
                    _ if number < 0.0 => bits ^ all,
                    _ => bits | sign,
                }
            }
        };
        if descending { key ^ all } else { key }
    }

    fn write(&self, launch: &Launch<'_>, to: u64, indices: u64, from: &[usize]) -> Done {
        let size = SIZES[self.kind as usize];
        let sorted = launch.write::<u8>(to, self.bytes.len())?;
        let indices = launch.write::<i64>(indices, self.slices * self.len)?;
        for (at, position) in from.iter().enumerate() {
            let (slice, place) = (at / self.len, self.place(at / self.len, at % self.len));
            let element = self.element(self.place(slice, *position));
            sorted[place * size..][..size].copy_from_slice(element);
            indices[place] = *position as i64;
        }
        Ok(())
    }
}

fn sort_short(launch: &Launch<'_>) -> Done {
    let slices = launch.argument::<u64>(3)? as usize;
    let len = launch.argument::<u32>(4)? as usize;
    let inner = launch.argument::<u64>(5)? as usize;
    let room = launch.argument::<u32>(6)? as usize;
    require(
        launch.grid() == [slices as u32, 1, 1],
        "a block for each slice",
    )?;
    require(
        room.is_power_of_two() && (len..=2048).contains(&room) && room >= 2,
        "room for a slice",
    )?;
    let descending = launch.argument::<u32>(2)? != 0;
    let tensor = Sorted::new(launch, launch.argument(1)?, [slices, len, inner])?;
    let mut from = Vec::new();
    for slice in 0..slices {
        let mut of_slice: Vec<usize> = (0..len).collect();
        of_slice.sort_by_key(|&position| tensor.key(tensor.place(slice, position), descending));
        from.extend(of_slice);
    }
    tensor.write(launch, launch.argument(7)?, launch.argument(8)?, &from)
}

/// Keys of 32 or 64 bits.
trait Key: thalweg_simgpu::Plain + Into<u64> {
    const TILE: usize;
    fn of(key: u64) -> Self;
}

impl Key for u32 {
    const TILE: usize = 4096;
    fn of(key: u64) -> Self {
        key as Self
    }
}

impl Key for u64 {
    const TILE: usize = 2048;
    fn of(key: u64) -> Self {
        key
    }
}

fn sort_keys<K: Key>(launch: &Launch<'_>) -> Done {
    let slices = launch.argument::<u64>(3)? as usize;
    let len = launch.argument::<u32>(4)? as usize;
    let inner = launch.argument::<u64>(5)? as usize;
    let descending = launch.argument::<u32>(2)? != 0;
    let tensor = Sorted::new(launch, launch.argument(1)?, [slices, len, inner])?;
    let keys = launch.write::<K>(launch.argument(6)?, slices * len)?;
    let positions = launch.write::<u32>(launch.argument(7)?, slices * len)?;
    for at in 0..slices * len {
        keys[at] = K::of(tensor.key(tensor.place(at / len, at % len), descending));
        positions[at] = (at % len) as u32;
    }
    Ok(())
}

/// The slices of a launch with a block for each tile.
fn slices_of<K: Key>(launch: &Launch<'_>, len: usize, tiles: usize) -> Result<usize, KernelFault> {
    let blocks = launch.grid()[0] as usize;
    require(
        launch.block() == [256, 1, 1]
            && tiles == len.div_ceil(K::TILE)
            && blocks.is_multiple_of(tiles),
        "a block for each tile",
    )?;
    Ok(blocks / tiles)
}

fn sort_count<K: Key>(launch: &Launch<'_>) -> Done {
    let [len, tiles, shift] = [1, 2, 3].map(|at| launch.argument::<u32>(at));
    let (len, tiles, shift) = (len? as usize, tiles? as usize, shift?);
    let slices = slices_of::<K>(launch, len, tiles)?;
    let keys = launch.read::<K>(launch.argument(0)?, slices * len)?;
    let counts = launch.write::<u32>(launch.argument(4)?, slices * 256 * tiles)?;
    counts.fill(0);
    for (at, key) in keys.iter().enumerate() {
        let byte = ((*key).into() >> shift & 255) as usize;
        counts[(at / len * 256 + byte) * tiles + at % len / K::TILE] += 1;
    }
    Ok(())
}

fn sort_places(launch: &Launch<'_>) -> Done {
    let tiles = launch.argument::<u32>(1)? as usize;
    let rows = launch.argument::<u64>(2)? as usize;
    require(
        launch.grid()[0] as usize == rows.div_ceil(8) && launch.block() == [256, 1, 1],
        "a warp for each row",
    )?;
    let counts = launch.update::<u32>(launch.argument(0)?, rows * tiles)?;
    let totals = launch.write::<u32>(launch.argument(3)?, rows)?;
    for (row, total) in counts.chunks_mut(tiles).zip(totals) {
        *total = 0;
        for count in row {
            let before = *total;
            *total += *count;
            *count = before;
        }
    }
    Ok(())
}

fn sort_move<K: Key>(launch: &Launch<'_>) -> Done {
    let [len, tiles, shift] = [2, 3, 4].map(|at| launch.argument::<u32>(at));
    let (len, tiles, shift) = (len? as usize, tiles? as usize, shift?);
    let slices = slices_of::<K>(launch, len, tiles)?;
    let keys = launch.read::<K>(launch.argument(0)?, slices * len)?;
    let positions = launch.read::<u32>(launch.argument(1)?, slices * len)?;
    let counts = launch.read::<u32>(launch.argument(5)?, slices * 256 * tiles)?;
    let totals = launch.read::<u32>(launch.argument(6)?, slices * 256)?;
    let keys_to = launch.write::<K>(launch.argument(7)?, slices * len)?;
    let positions_to = launch.write::<u32>(launch.argument(8)?, slices * len)?;
    for slice in 0..slices {
        let mut before = 0;
        let mut starts = [0; 256];
        for (start, total) in starts.iter_mut().zip(&totals[slice * 256..]) {
            *start = before;
            before += *total as usize;
        }
        for tile in 0..tiles {
            let mut next: Vec<usize> = (0..256)
                .map(|byte| starts[byte] + counts[(slice * 256 + byte) * tiles + tile] as usize)
                .collect();
            for at in tile * K::TILE..len.min((tile + 1) * K::TILE) {
                let byte = (keys[slice * len + at].into() >> shift & 255) as usize;
                keys_to[slice * len + next[byte]] = keys[slice * len + at];
                positions_to[slice * len + next[byte]] = positions[slice * len + at];
                next[byte] += 1;
            }
        }
    }
    Ok(())
}

fn sort_finish(launch: &Launch<'_>) -> Done {
    let slices = launch.argument::<u64>(2)? as usize;
    let len = launch.argument::<u32>(3)? as usize;
    let inner = launch.argument::<u64>(4)? as usize;
    let tensor = Sorted::new(launch, launch.argument(1)?, [slices, len, inner])?;
    let positions = launch.read::<u32>(launch.argument(5)?, slices * len)?;
    let from: Vec<usize> = positions
        .iter()
        .map(|position| *position as usize)
        .collect();
    tensor.write(launch, launch.argument(6)?, launch.argument(7)?, &from)
}

/// Philox 4 x 32 with 10 rounds.
fn philox(seed: u64, counter: u64) -> [u32; 4] {
    let mut words = [counter as u32, (counter >> 32) as u32, 0, 0];
    let mut keys = [seed as u32, (seed >> 32) as u32];
    for _ in 0..10 {
        let first = u64::from(words[0]) * 0xd251_1f53;
        let second = u64::from(words[2]) * 0xcd9e_8d57;
        words = [
            (second >> 32) as u32 ^ words[1] ^ keys[0],
            second as u32,
            (first >> 32) as u32 ^ words[3] ^ keys[1],
            first as u32,
        ];
        keys[0] = keys[0].wrapping_add(0x9e37_79b9);
        keys[1] = keys[1].wrapping_add(0xbb67_ae85);
    }
    words
}

/// Known answers of the algorithm's authors (Random123, `kat_vectors`).
#[test]
fn philox_is_that_of_its_authors() {
    assert_eq!(
        philox(0, 0),
        [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
    );
}

fn random_uniform(launch: &Launch<'_>) -> Done {
    let len = launch.argument::<u64>(2)? as usize;
    let seed = launch.argument::<u64>(3)?;
    let out = launch.argument::<u64>(0)?;
    let first = launch.read::<u64>(launch.argument(4)?, 1)?[0];
    let word = |at: usize| philox(seed, first + at as u64 / 4)[at % 4];
    match launch.argument::<u32>(1)? {
        kind @ (0 | 1) => {
            for (at, out) in launch.write::<u16>(out, len)?.iter_mut().enumerate() {
                *out = match kind {
                    0 => bf16::from_f64(f64::from(word(at) >> 24) / 256.0).to_bits(),
                    _ => f16::from_f64(f64::from(word(at) >> 21) / 2048.0).to_bits(),
                };
            }
        }
        2 => {
            for (at, out) in launch.write::<f32>(out, len)?.iter_mut().enumerate() {
                *out = (word(at) >> 8) as f32 / (1u32 << 24) as f32;
            }
        }
        _ => {
            for (at, out) in launch.write::<f64>(out, len)?.iter_mut().enumerate() {
                *out = (long(seed, first, at) >> 11) as f64 / (1u64 << 53) as f64;
            }
        }
    }
    Ok(())
}

/// Two words of a counter's four.
fn long(seed: u64, first: u64, at: usize) -> u64 {
    let words = philox(seed, first + at as u64 / 2);
    u64::from(words[at % 2 * 2]) << 32 | u64::from(words[at % 2 * 2 + 1])
}

fn random_between(launch: &Launch<'_>) -> Done {
    let len = launch.argument::<u64>(1)? as usize;
    let low = launch.argument::<i64>(2)?;
    let range = launch.argument::<u64>(3)?;
    let seed = launch.argument::<u64>(4)?;
    let first = launch.read::<u64>(launch.argument(5)?, 1)?[0];
    let out = launch.write::<i64>(launch.argument(0)?, len)?;
    for (at, out) in out.iter_mut().enumerate() {
        let part = (u128::from(long(seed, first, at)) * u128::from(range)) >> 64;
        *out = low.wrapping_add(part as i64);
    }
    Ok(())
}
