//! Stable sorting.
//!
//! Order is PyTorch's: what is no number is greater than everything, zeros of both signs are equal, and
//! what is equal stays in its order, also where the order descends. Upstream takes five element types
//! and dense tensors; here all real types are taken, with any strides that a copy can make dense.
#![allow(
    unsafe_code,
    reason = "libraries pass handles, and kernels are launched by address; each block says why it is \
              right"
)]

use std::ffi::CStr;

use thalweg_core::{DType, Result, bail, ensure};

use super::super::copies::copy;
use super::super::session::{Session, answer};
use super::super::tensor::{Tensor, Where, row_major_strides};
use super::super::tensors::{Handle, empty, look, put_tensor};
use super::kernels::{File, Launch, file};
use super::on_device;

static SORT: File = file!("sort.ptx");

/// Slices up to this are sorted by one block each.
const SHORT: u64 = 2048;

/// All sorting is stable, whether or not it is asked for.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_sort_stable(
    tensor: Handle,
    _stable: *const i32,
    dimension: i64,
    descending: i32,
    sorted: *mut Handle,
    indices: *mut Handle,
) -> i32 {
    answer("aoti_torch_cuda_sort_stable", |session| {
        // SAFETY: the library's tensor, and its places for others.
        unsafe {
            let tensor = look(tensor)?;
            ensure!(
                !sorted.is_null() && !indices.is_null(),
                Delegate,
                "there is no place for the results"
            );
            let results = sort(session, tensor, dimension, descending != 0)?;
            put_tensor(sorted, results.0)?;
            put_tensor(indices, results.1)
        }
    })
}

/// How a dense tensor is cut into slices along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    slices: u64,
    len: u64,
    /// How far apart the elements of a slice are.
    inner: u64,
}

/// What kernels call an element type, and how many bits its keys have.
fn type_and_bits(dtype: DType) -> Result<(u64, u64)> {
    let number = match dtype {
        DType::U8 | DType::Bool => 0,
        DType::I8 => 1,
        DType::U16 => 2,
        DType::I16 => 3,
        DType::U32 => 4,
        DType::I32 => 5,
        DType::U64 => 6,
        DType::I64 => 7,
        DType::BF16 => 8,
        DType::F16 => 9,
        DType::F32 => 10,
        DType::F64 => 11,
        other => bail!(Unsupported, "elements of {other} have no order"),
    };
    Ok((number, dtype.size() as u64 * 8))
}

fn sort(
    session: &Session<'_>,
    tensor: &Tensor,
    dimension: i64,
    descending: bool,
) -> Result<(Tensor, Tensor)> {
    on_device(session, "self", tensor)?;
    let cut = Cut::of(&tensor.sizes, dimension)?;
    let (kind, bits) = type_and_bits(tensor.dtype)?;
    let on = Where::Device(session.device.ordinal());
    let strides = row_major_strides(&tensor.sizes);
    let like = |dtype| empty(session, &tensor.sizes, &strides, dtype, on);
    let (sorted, indices) = (like(tensor.dtype)?, like(DType::I64)?);
    if tensor.count() == 0 {
        return Ok((sorted, indices));
    }
    let dense;
    let tensor = if tensor.is_row_major() {
        tensor
    } else {
        dense = like(tensor.dtype)?;
        copy(session, &dense, tensor)?;
        &dense
    };
    let Cut { slices, len, inner } = cut;
    let run = |kernel: &'static CStr, launch, arguments: &[u64]| {
        // SAFETY: what is launched below has the arguments that its kernel takes. The tensors are dense
        // and have `slices * len` elements; temporaries are as large as their kernels take them to be,
        // and are there until the stream is past what uses them.
        unsafe {
            session
                .operators
                .launch(session, &SORT, kernel, launch, arguments)
        }
    };
    let (from, to, to_indices) = (tensor.address(), sorted.address(), indices.address());
    let descending = u64::from(descending);
    if len <= SHORT {
        ensure!(
            slices <= MOST_BLOCKS,
            Unsupported,
            "{slices} slices to be sorted"
        );
        let room = len.next_power_of_two().max(2);
        let launch = Launch {
            grid: [slices as u32, 1],
            threads: (room / 2).max(32) as u32,
            shared: 0,
        };
        let arguments = [
            from, kind, descending, slices, len, inner, room, to, to_indices,
        ];
        run(c"sort_short", launch, &arguments)?;
        return Ok((sorted, indices));
    }
    let kernels = if bits == 64 { &WIDE } else { &NARROW };
    let tiles = len.div_ceil(kernels.tile);
    let (blocks, rows) = (slices * tiles, slices * 256);
    ensure!(
        blocks <= MOST_BLOCKS && rows <= MOST_BLOCKS && len <= MOST_LEN,
        Unsupported,
        "{slices} slices of {len} elements to be sorted"
    );
    let count = slices * len;
    let [keys, other_keys] = [(); 2].map(|()| session.allocate(count * kernels.key_bytes));
    let [positions, other_positions] = [(); 2].map(|()| session.allocate(count * 4));
    let (counts, totals) = (
        session.allocate(rows * tiles * 4),
        session.allocate(rows * 4),
    );
    let (counts, totals) = (counts?, totals?);
    let mut here = (keys?, positions?);
    let mut there = (other_keys?, other_positions?);
    let over_tiles = Launch {
        grid: [blocks as u32, 1],
        threads: 256,
        shared: 0,
    };
    let over_rows = Launch {
        grid: [rows.div_ceil(8) as u32, 1],
        ..over_tiles
    };
    run(
        kernels.keys,
        Launch::over(count),
        &[
            from,
            kind,
            descending,
            slices,
            len,
            inner,
            here.0.address,
            here.1.address,
        ],
    )?;
    for shift in (0..bits).step_by(8) {
        let (keys, positions) = (here.0.address, here.1.address);
        let (counts, totals) = (counts.address, totals.address);
        run(
            kernels.count,
            over_tiles,
            &[keys, len, tiles, shift, counts],
        )?;
        run(c"sort_places", over_rows, &[counts, tiles, rows, totals])?;
        let arguments = [
            keys,
            positions,
            len,
            tiles,
            shift,
            counts,
            totals,
            there.0.address,
            there.1.address,
        ];
        run(kernels.move_, over_tiles, &arguments)?;
        std::mem::swap(&mut here, &mut there);
    }
    run(
        c"sort_finish",
        Launch::over(count),
        &[
            from,
            kind,
            slices,
            len,
            inner,
            here.1.address,
            to,
            to_indices,
        ],
    )?;
    Ok((sorted, indices))
}

/// Launches have at most so many blocks.
const MOST_BLOCKS: u64 = i32::MAX as u64;
/// Positions have 32 bits, and tiles end beyond the last.
const MOST_LEN: u64 = 1 << 31;

/// The kernels for keys of some size.
struct Kernels {
    keys: &'static CStr,
    count: &'static CStr,
    move_: &'static CStr,
    key_bytes: u64,
    /// Keys of a tile.
    tile: u64,
}

static NARROW: Kernels = Kernels {
    keys: c"sort_keys_32",
    count: c"sort_count_32",
    move_: c"sort_move_32",
    key_bytes: 4,
    tile: 4096,
};
static WIDE: Kernels = Kernels {
    keys: c"sort_keys_64",
    count: c"sort_count_64",
    move_: c"sort_move_64",
    key_bytes: 8,
    tile: 2048,
};

impl Cut {
    fn of(sizes: &[i64], dimension: i64) -> Result<Self> {
        let rank = sizes.len() as i64;
        // A tensor without dimensions is taken to have one.
        let most = rank.max(1);
        ensure!(
            (-most..most).contains(&dimension),
            Delegate,
            "dimension {dimension} of a tensor of sizes {sizes:?}"
        );
        let at = (if dimension < 0 {
            dimension + most
        } else {
            dimension
        }) as usize;
        let product = |sizes: &[i64]| sizes.iter().map(|&size| size as u64).product::<u64>();
        Ok(Self {
            slices: product(&sizes[..at.min(sizes.len())])
                * product(sizes.get(at + 1..).unwrap_or_default()),
            len: sizes.get(at).map_or(1, |&size| size as u64),
            inner: product(sizes.get(at + 1..).unwrap_or_default()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_is_cut_along_a_dimension() {
        let cut = |sizes: &[i64], dimension| {
            let cut = Cut::of(sizes, dimension).unwrap();
            (cut.slices, cut.len, cut.inner)
        };
        assert_eq!(cut(&[2, 3, 5], 0), (15, 2, 15));
        assert_eq!(cut(&[2, 3, 5], 1), (10, 3, 5));
        assert_eq!(cut(&[2, 3, 5], -1), (6, 5, 1));
        assert_eq!(cut(&[2, 3, 5], -3), (15, 2, 15));
        assert_eq!(cut(&[], 0), (1, 1, 1));
        assert_eq!(cut(&[], -1), (1, 1, 1));
        for (sizes, dimension) in [(&[2, 3][..], 2), (&[2, 3], -3), (&[], 1)] {
            let error = Cut::of(sizes, dimension).unwrap_err().to_string();
            assert!(
                error.contains(&format!("dimension {dimension} of")),
                "{error}"
            );
        }
    }
}
