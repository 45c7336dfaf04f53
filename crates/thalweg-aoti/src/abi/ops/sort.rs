//! Stable sorting.
//!
//! The order is PyTorch's: NaN is greater than everything, zeros of both signs are equal, and equal
//! elements keep their order, also in a descending sort. Upstream takes five element types and contiguous
//! tensors; here all real types are taken, with any strides that a copy can make contiguous.
//!
//! A block sorts a short slice at once. Longer slices are sorted by radix: elements are mapped to unsigned
//! keys of the same order, and each pass orders keys and positions by eight bits of the key.
#![allow(
    unsafe_code,
    reason = "libraries pass handles, and kernels are launched by address; each block says why it is \
              right"
)]

use std::ffi::CStr;

use thalweg_core::{DType, Result, bail, ensure};

use super::super::copies::copy;
use super::super::handle::{TensorHandle, check_out, tensor_of, write_tensor};
use super::super::kernels::{PtxFile, ptx_file};
use super::super::session::{AotiTorchError, Session, torch_function};
use super::super::tensor::{Location, Storage, Tensor, contiguous_strides};
use super::check_device;
use super::launch::LaunchConfig;

static SORT: PtxFile = ptx_file!("sort.ptx", None);

/// The longest slice that one block sorts.
const MAX_SHORT: u64 = 2048;

/// The most blocks of a launch.
const MAX_BLOCKS: u64 = i32::MAX as u64;

/// The longest slice: positions have 32 bits, and tiles end beyond the last element.
const MAX_LEN: u64 = 1 << 31;

/// Sorts a tensor along a dimension. The sort is stable, also if the library does not require it.
pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda_sort_stable(
    tensor: TensorHandle,
    _stable: *const i32,
    dimension: i64,
    descending: i32,
    sorted: *mut TensorHandle,
    indices: *mut TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_cuda_sort_stable", |session| {
        // SAFETY: the library's handle and out-parameters.
        unsafe {
            let tensor = tensor_of(tensor)?;
            check_out(sorted, "results")?;
            check_out(indices, "results")?;
            let results = sort(session, tensor, dimension, descending != 0)?;
            write_tensor(sorted, results.0)?;
            write_tensor(indices, results.1)
        }
    })
}

/// A tensor that is sorted, with the tensors that receive the result. All are contiguous and on the device.
struct Sort<'s, 'c> {
    session: &'s Session<'c>,
    from: u64,
    sorted: u64,
    indices: u64,
    slices: Slices,
    /// The kernels' code of the element type.
    dtype_code: u64,
    descending: u64,
}

/// The slices of a contiguous tensor along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slices {
    count: u64,
    /// The elements of a slice.
    len: u64,
    /// The stride between the elements of a slice.
    inner: u64,
}

/// Sorts a tensor. Returns the sorted elements and their indices.
fn sort(
    session: &Session<'_>,
    tensor: &Tensor,
    dimension: i64,
    descending: bool,
) -> Result<(Tensor, Tensor)> {
    check_device(session, "self", tensor)?;
    let slices = Slices::of(&tensor.sizes, dimension)?;
    let (dtype_code, bits) = dtype_code_and_bits(tensor.dtype)?;
    let here = Location::Device(session.device.ordinal());
    let strides = contiguous_strides(&tensor.sizes);
    let like = |dtype| session.empty_tensor(&tensor.sizes, &strides, dtype, here);
    let (sorted, indices) = (like(tensor.dtype)?, like(DType::I64)?);
    if tensor.count() == 0 {
        return Ok((sorted, indices));
    }
    let contiguous;
    let tensor = if tensor.is_contiguous() {
        tensor
    } else {
        contiguous = like(tensor.dtype)?;
        copy(session, &contiguous, tensor)?;
        &contiguous
    };
    let sort = Sort {
        session,
        from: tensor.address(),
        sorted: sorted.address(),
        indices: indices.address(),
        slices,
        dtype_code,
        descending: u64::from(descending),
    };
    match slices.len {
        ..=MAX_SHORT => sort.in_blocks()?,
        _ => sort.by_radix(if bits == 64 { &WIDE } else { &NARROW }, bits)?,
    }
    Ok((sorted, indices))
}

/// The kernels' code of an element type, and the bits of its keys.
fn dtype_code_and_bits(dtype: DType) -> Result<(u64, u64)> {
    let code = match dtype {
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
    Ok((code, dtype.size() as u64 * 8))
}

/// The radix sort kernels for one key width.
struct RadixKernels {
    keys: &'static CStr,
    count: &'static CStr,
    scatter: &'static CStr,
    key_bytes: u64,
    /// The keys of a tile.
    tile: u64,
}

static NARROW: RadixKernels = RadixKernels {
    keys: c"sort_keys_32",
    count: c"sort_count_32",
    scatter: c"sort_scatter_32",
    key_bytes: 4,
    tile: 4096,
};
static WIDE: RadixKernels = RadixKernels {
    keys: c"sort_keys_64",
    count: c"sort_count_64",
    scatter: c"sort_scatter_64",
    key_bytes: 8,
    tile: 2048,
};

/// The keys of all elements, and their positions in their slices.
struct KeyBuffers {
    keys: Storage,
    positions: Storage,
}

impl Sort<'_, '_> {
    /// Sorts each slice in one block.
    fn in_blocks(&self) -> Result<()> {
        let Slices { count, len, inner } = self.slices;
        ensure!(
            count <= MAX_BLOCKS,
            Unsupported,
            "{count} slices to be sorted"
        );
        let padded = len.next_power_of_two().max(2);
        let config = LaunchConfig {
            grid: [count as u32, 1],
            threads: (padded / 2).max(32) as u32,
            shared: 0,
        };
        let arguments = [
            self.from,
            self.dtype_code,
            self.descending,
            count,
            len,
            inner,
            padded,
            self.sorted,
            self.indices,
        ];
        self.launch(c"sort_short", config, &arguments)
    }

    /// Sorts all slices by radix.
    fn by_radix(&self, kernels: &RadixKernels, bits: u64) -> Result<()> {
        let Slices { count, len, inner } = self.slices;
        let tiles = len.div_ceil(kernels.tile);
        // A row has the counts of one digit in the tiles of one slice.
        let (blocks, rows) = (count * tiles, count * 256);
        ensure!(
            blocks <= MAX_BLOCKS && rows <= MAX_BLOCKS && len <= MAX_LEN,
            Unsupported,
            "{count} slices of {len} elements to be sorted"
        );
        let elements = count * len;
        let [mut from, mut to] = self.key_buffers(elements, kernels.key_bytes)?;
        let counts = self.session.allocate(rows * tiles * 4);
        let totals = self.session.allocate(rows * 4);
        let (counts, totals) = (counts?, totals?);
        let over_tiles = LaunchConfig {
            grid: [blocks as u32, 1],
            threads: 256,
            shared: 0,
        };
        let over_rows = LaunchConfig {
            grid: [rows.div_ceil(8) as u32, 1],
            ..over_tiles
        };
        let over_elements = LaunchConfig::grid_stride(elements);
        let (start, code, descending) = (self.from, self.dtype_code, self.descending);
        let (keys, positions) = (from.keys.address, from.positions.address);
        let arguments = [start, code, descending, count, len, inner, keys, positions];
        self.launch(kernels.keys, over_elements, &arguments)?;
        let (counts, totals) = (counts.address, totals.address);
        for shift in (0..bits).step_by(8) {
            let (keys, positions) = (from.keys.address, from.positions.address);
            let arguments = [keys, len, tiles, shift, counts];
            self.launch(kernels.count, over_tiles, &arguments)?;
            let arguments = [counts, tiles, rows, totals];
            self.launch(c"sort_scan", over_rows, &arguments)?;
            let (to_keys, to_positions) = (to.keys.address, to.positions.address);
            let arguments = [
                keys,
                positions,
                len,
                tiles,
                shift,
                counts,
                totals,
                to_keys,
                to_positions,
            ];
            self.launch(kernels.scatter, over_tiles, &arguments)?;
            std::mem::swap(&mut from, &mut to);
        }
        let positions = from.positions.address;
        let (sorted, indices) = (self.sorted, self.indices);
        let arguments = [start, code, count, len, inner, positions, sorted, indices];
        self.launch(c"sort_finish", over_elements, &arguments)
    }

    /// Two buffers that the passes of a radix sort use in turn.
    fn key_buffers(&self, elements: u64, key_bytes: u64) -> Result<[KeyBuffers; 2]> {
        let allocate = |bytes| self.session.allocate(elements * bytes);
        let [keys, other_keys] = [(); 2].map(|()| allocate(key_bytes));
        let [positions, other_positions] = [(); 2].map(|()| allocate(4));
        let buffers = |keys: Result<Storage>, positions: Result<Storage>| -> Result<KeyBuffers> {
            Ok(KeyBuffers {
                keys: keys?,
                positions: positions?,
            })
        };
        Ok([
            buffers(keys, positions)?,
            buffers(other_keys, other_positions)?,
        ])
    }

    fn launch(&self, kernel: &'static CStr, config: LaunchConfig, arguments: &[u64]) -> Result<()> {
        // SAFETY: what the functions above launch has the arguments that its kernel takes. The tensors are
        // contiguous and have as many elements as the slices; temporaries are as large as their kernels
        // take them to be, and are there until the stream has passed what uses them.
        unsafe { self.session.launch(&SORT, kernel, config, arguments) }
    }
}

impl Slices {
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
            count: product(&sizes[..at.min(sizes.len())])
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
    fn a_tensor_is_sliced_along_a_dimension() {
        let slices = |sizes: &[i64], dimension| {
            let slices = Slices::of(sizes, dimension).unwrap();
            (slices.count, slices.len, slices.inner)
        };
        assert_eq!(slices(&[2, 3, 5], 0), (15, 2, 15));
        assert_eq!(slices(&[2, 3, 5], 1), (10, 3, 5));
        assert_eq!(slices(&[2, 3, 5], -1), (6, 5, 1));
        assert_eq!(slices(&[2, 3, 5], -3), (15, 2, 15));
        assert_eq!(slices(&[], 0), (1, 1, 1));
        assert_eq!(slices(&[], -1), (1, 1, 1));
        for (sizes, dimension) in [(&[2, 3][..], 2), (&[2, 3], -3), (&[], 1)] {
            let error = Slices::of(sizes, dimension).unwrap_err().to_string();
            assert!(
                error.contains(&format!("dimension {dimension} of")),
                "{error}"
            );
        }
    }
}
