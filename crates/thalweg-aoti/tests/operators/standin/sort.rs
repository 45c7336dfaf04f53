//! The kernels of sorting.

use half::{bf16, f16};
use thalweg_simgpu::{KernelFault, Launch};

use super::{Done, require};

/// The slices of a tensor, and the keys of its elements.
struct Sorted<'l> {
    bytes: &'l [u8],
    kind: u32,
    slices: usize,
    len: usize,
    inner: usize,
}

/// The bytes of an element, by the kernels' code of its type.
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

    /// The key of an element, which orders as the element does.
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

pub(super) fn sort_short(launch: &Launch<'_>) -> Done {
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
pub(super) trait Key: thalweg_simgpu::Plain + Into<u64> {
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

pub(super) fn sort_keys<K: Key>(launch: &Launch<'_>) -> Done {
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

/// The number of slices of a launch with a block for each tile.
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

pub(super) fn sort_count<K: Key>(launch: &Launch<'_>) -> Done {
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

pub(super) fn sort_scan(launch: &Launch<'_>) -> Done {
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

pub(super) fn sort_scatter<K: Key>(launch: &Launch<'_>) -> Done {
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

pub(super) fn sort_finish(launch: &Launch<'_>) -> Done {
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
