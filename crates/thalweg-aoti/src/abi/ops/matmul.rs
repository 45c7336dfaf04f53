//! Matrix multiplications (matmuls) of activations and quantized weights of 4 to 8 bits.
//!
//! All multiply `[m, k]` in bf16 by the transpose of `[n, k]`, with a result `[m, n]` in bf16. Upstream
//! quantizes the activations of the plain formats to eight bits; here they stay bf16.
#![allow(
    unsafe_code,
    reason = "libraries pass handles, and kernels are launched by address; each block says why it is \
              right"
)]

use std::ffi::CStr;

use thalweg_core::{DType, Result, bail, ensure};

use super::super::handle::{TensorHandle, check_out, tensor_of, write_tensor};
use super::super::kernels::{PtxFile, ptx_file};
use super::super::session::{AotiTorchError, Session, torch_function};
use super::super::tensor::{Location, Tensor, contiguous_strides};
use super::launch::LaunchConfig;
use super::{NamedTensor, check_argument, check_contiguous, check_device};

/// The most dynamic shared memory of a launch: what all GPUs that run the kernels have.
const MAX_SHARED: i32 = 99 << 10;

const BYTES: &[DType] = &[DType::U8, DType::I8];
/// The weights that share a second-level scale (the scale of their groups' scales).
const BLOCK: i64 = 256;

pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda__weight_int4pack_mm(
    activations: TensorHandle,
    weights: TensorHandle,
    group: i64,
    scales_and_zeros: TensorHandle,
    result: *mut TensorHandle,
) -> AotiTorchError {
    torch_function("aoti_torch_cuda__weight_int4pack_mm", |session| {
        // SAFETY: the library's handles and out-parameter.
        unsafe {
            let [activations, weights, scales_and_zeros] = [
                ("self", tensor_of(activations)?),
                ("mat2", tensor_of(weights)?),
                ("qScaleAndZeros", tensor_of(scales_and_zeros)?),
            ];
            check_out(result, "result")?;
            let matmul = packed(session, activations, weights, group, scales_and_zeros)?;
            write_tensor(result, matmul.run(session, activations.1)?)
        }
    })
}

/// Functions for weights in a plain format. Their arguments are the activations, the tensors of the weights,
/// the group size, and the result.
macro_rules! plain {
    ($($name:ident: $plan:ident($($tensor:ident)*);)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(
            activations: TensorHandle,
            $($tensor: TensorHandle,)*
            group_size: i64,
            result: *mut TensorHandle,
        ) -> AotiTorchError {
            torch_function(stringify!($name), |session| {
                // SAFETY: the library's handles and out-parameter.
                unsafe {
                    let activations = ("self", tensor_of(activations)?);
                    $(let $tensor = (stringify!($tensor), tensor_of($tensor)?);)*
                    check_out(result, "result")?;
                    let matmul = $plan(session, activations, [$($tensor),*], group_size)?;
                    write_tensor(result, matmul.run(session, activations.1)?)
                }
            })
        }
    )*};
}

plain! {
    aoti_torch_cuda_int4_plain_mm: int4(qdata scale scale_step zero zero_point_step);
    aoti_torch_cuda_int5_plain_mm: int5(ql qh scale scale_step zero zero_point_step);
    aoti_torch_cuda_int6_plain_mm: int6(ql qh scale steps);
    aoti_torch_cuda_int8_plain_mm: int8(qdata scale zero);
}

/// A matmul with checked arguments.
#[derive(Debug)]
struct Matmul {
    kernels: &'static FormatKernels,
    m: i64,
    n: i64,
    k: i64,
    /// The base-2 logarithm of the group size.
    group_shift: u32,
    groups: i64,
    /// `inner_k_tiles` of packed weights: the tiles of 16 k that are adjacent.
    inner: i64,
    low: u64,
    high: u64,
    scale: u64,
    scale_step: u64,
    zero: u64,
    zero_step: u64,
}

/// The kernels for one format of weights, with the constants that they were compiled with.
#[derive(Debug)]
struct FormatKernels {
    file: PtxFile,
    /// Kernels for up to 8 tokens, for up to 32, and for tiles of 64.
    kernels: [&'static CStr; 3],
    /// The extent of a tile in k.
    tile: u32,
    /// The stages of the pipeline that copies weights to shared memory.
    stages: u32,
    /// The bytes of a tile's 16 rows.
    tile_bytes: u32,
    /// The weights that the kernel scales together.
    unit: u32,
    /// The bytes of the scales of a unit.
    scale_bytes: u32,
}

macro_rules! format_kernels {
    ($file:literal, $kernels:expr, $($field:ident: $value:expr),*) => {
        FormatKernels {
            file: ptx_file!($file, Some(MAX_SHARED)),
            kernels: $kernels,
            $($field: $value),*
        }
    };
}

static PACKED: FormatKernels = format_kernels!(
    "matmul0_32.ptx", [c"matmul0_32_8", c"matmul0_32_32", c"matmul0_32_64"],
    tile: 256, stages: 2, tile_bytes: 2048, unit: 32, scale_bytes: 8
);
static INT4: FormatKernels = format_kernels!(
    "matmul4_32.ptx", [c"matmul4_32_8", c"matmul4_32_32", c"matmul4_32_64"],
    tile: 256, stages: 2, tile_bytes: 2304, unit: 32, scale_bytes: 8
);
static INT5: FormatKernels = format_kernels!(
    "matmul5_32.ptx", [c"matmul5_32_8", c"matmul5_32_32", c"matmul5_32_64"],
    tile: 128, stages: 3, tile_bytes: 1536, unit: 32, scale_bytes: 8
);
static INT6: [FormatKernels; 3] = [
    format_kernels!(
        "matmul6_8.ptx", [c"matmul6_8_8", c"matmul6_8_32", c"matmul6_8_64"],
        tile: 128, stages: 3, tile_bytes: 2048, unit: 8, scale_bytes: 4
    ),
    format_kernels!(
        "matmul6_16.ptx", [c"matmul6_16_8", c"matmul6_16_32", c"matmul6_16_64"],
        tile: 128, stages: 3, tile_bytes: 2048, unit: 16, scale_bytes: 4
    ),
    format_kernels!(
        "matmul6_32.ptx", [c"matmul6_32_8", c"matmul6_32_32", c"matmul6_32_64"],
        tile: 128, stages: 3, tile_bytes: 2048, unit: 32, scale_bytes: 4
    ),
];
static INT8: FormatKernels = format_kernels!(
    "matmul8_32.ptx", [c"matmul8_32_8", c"matmul8_32_32", c"matmul8_32_64"],
    tile: 128, stages: 2, tile_bytes: 2304, unit: 32, scale_bytes: 8
);

/// A matmul with 4-bit weights in PyTorch's packed format, which is the order of tensor cores:
/// `[n / 8, k / (16 inner), 32, inner / 2]` words of eight weights, and `[k / group, n, 2]` scales and zero
/// points.
fn packed(
    session: &Session<'_>,
    activations: NamedTensor<'_>,
    (name, weights): NamedTensor<'_>,
    group: i64,
    scales: NamedTensor<'_>,
) -> Result<Matmul> {
    let (m, k) = tokens(session, activations)?;
    let &[n_tiles, k_tiles, 32, half @ (1 | 2 | 4)] = &weights.sizes[..] else {
        bail!(
            Delegate,
            "`{name}` has sizes {:?}, where [n / 8, k / (16 i), 32, i / 2] are expected, with an i of \
             2, 4 or 8",
            weights.sizes
        );
    };
    let inner = half * 2;
    ensure!(
        matches!(group, 32 | 64 | 128 | 256),
        Delegate,
        "groups of {group} weights, where 32, 64, 128 or 256 are expected"
    );
    ensure!(
        k > 0 && k % (16 * inner) == 0 && k % group == 0 && k_tiles == k / (16 * inner),
        Delegate,
        "`{name}` has sizes {:?}, and `self` has {k} columns in groups of {group}",
        weights.sizes
    );
    let n = n_tiles * 8;
    check_contiguous(session, (name, weights), &[DType::I32], &weights.sizes, 16)?;
    let sizes = [k / group, n, 2];
    check_contiguous(session, scales, &[DType::BF16], &sizes, 2)?;
    Matmul {
        inner,
        low: weights.address(),
        scale_step: scales.1.address(),
        ..Matmul::new(&PACKED, (m, n, k), group)
    }
    .checked()
}

/// A matmul with 4-bit weights, two in a byte, the first one in the lower half. A weight is
/// `(q - zero * zero_step) * scale * scale_step`, with a byte for `zero` and `scale` of each group and f16
/// steps of each 256 weights.
fn int4(
    session: &Session<'_>,
    activations: NamedTensor<'_>,
    [qdata, scale, scale_step, zero, zero_step]: [NamedTensor<'_>; 5],
    group: i64,
) -> Result<Matmul> {
    let (m, k) = tokens(session, activations)?;
    let n = rows(qdata)?;
    check_groups(k, group, 32, BLOCK)?;
    check_contiguous(session, qdata, BYTES, &[n, k / 2], 16)?;
    check_contiguous(session, scale, BYTES, &[n, k / group], 1)?;
    check_contiguous(session, scale_step, &[DType::F16], &[n, k / BLOCK], 2)?;
    check_contiguous(session, zero, BYTES, &[n, k / group], 1)?;
    check_contiguous(session, zero_step, &[DType::F16], &[n, k / BLOCK], 2)?;
    Matmul {
        low: qdata.1.address(),
        scale: scale.1.address(),
        scale_step: scale_step.1.address(),
        zero: zero.1.address(),
        zero_step: zero_step.1.address(),
        ..Matmul::new(&INT4, (m, n, k), group)
    }
    .checked()
}

/// A matmul with 5-bit weights: those of [`int4`] with a fifth bit. The fifth bits of 32 weights are four
/// bytes, each of eight adjacent weights, with the even ones in the lower half and the odd ones in the
/// higher.
fn int5(
    session: &Session<'_>,
    activations: NamedTensor<'_>,
    [ql, qh, scale, scale_step, zero, zero_step]: [NamedTensor<'_>; 6],
    group: i64,
) -> Result<Matmul> {
    let matmul = int4(
        session,
        activations,
        [ql, scale, scale_step, zero, zero_step],
        group,
    )?;
    check_contiguous(session, qh, BYTES, &[matmul.n, matmul.k / 8], 16)?;
    Ok(Matmul {
        kernels: &INT5,
        high: qh.1.address(),
        ..matmul
    })
}

/// A matmul with 6-bit weights: those of [`int4`] with two more bits, signed scales, and 32 for all zero
/// points. The two bits of 32 weights are eight bytes, four of the even weights and four of the odd ones.
fn int6(
    session: &Session<'_>,
    activations: NamedTensor<'_>,
    [ql, qh, scale, steps]: [NamedTensor<'_>; 4],
    group: i64,
) -> Result<Matmul> {
    let (m, k) = tokens(session, activations)?;
    let n = rows(ql)?;
    check_groups(k, group, 8, BLOCK)?;
    check_contiguous(session, ql, BYTES, &[n, k / 2], 16)?;
    check_contiguous(session, qh, BYTES, &[n, k / 4], 16)?;
    check_contiguous(session, scale, BYTES, &[n, k / group], 1)?;
    check_contiguous(session, steps, &[DType::F16], &[n, k / BLOCK], 2)?;
    let kernels = match group {
        8 => &INT6[0],
        16 => &INT6[1],
        _ => &INT6[2],
    };
    Matmul {
        low: ql.1.address(),
        high: qh.1.address(),
        scale: scale.1.address(),
        scale_step: steps.1.address(),
        ..Matmul::new(kernels, (m, n, k), group)
    }
    .checked()
}

/// A matmul with 8-bit weights. A weight is `(q - zero) * scale`, with signed bytes and a bf16 scale.
fn int8(
    session: &Session<'_>,
    activations: NamedTensor<'_>,
    [qdata, scale, zero]: [NamedTensor<'_>; 3],
    group: i64,
) -> Result<Matmul> {
    let (m, k) = tokens(session, activations)?;
    let n = rows(qdata)?;
    check_groups(k, group, 32, 32)?;
    check_contiguous(session, qdata, &[DType::I8], &[n, k], 16)?;
    check_contiguous(session, scale, &[DType::BF16], &[n, k / group], 2)?;
    check_contiguous(session, zero, &[DType::I8], &[n, k / group], 1)?;
    Matmul {
        low: qdata.1.address(),
        scale_step: scale.1.address(),
        zero: zero.1.address(),
        ..Matmul::new(&INT8, (m, n, k), group)
    }
    .checked()
}

/// The sizes m and k of activations, which may have any strides.
fn tokens(session: &Session<'_>, (name, activations): NamedTensor<'_>) -> Result<(i64, i64)> {
    let &[m, k] = &activations.sizes[..] else {
        bail!(
            Delegate,
            "`{name}` has sizes {:?}, where two are expected",
            activations.sizes
        );
    };
    check_device(session, name, activations)?;
    check_argument(session, (name, activations), &[DType::BF16], &[m, k])?;
    Ok((m, k))
}

/// The number of rows of weights.
fn rows((name, weights): NamedTensor<'_>) -> Result<i64> {
    ensure!(
        weights.sizes.len() == 2,
        Delegate,
        "`{name}` has sizes {:?}, where two are expected",
        weights.sizes
    );
    Ok(weights.sizes[0])
}

/// Checks the group size, and that k is a multiple of it and of `multiple`.
fn check_groups(k: i64, group: i64, least: i64, multiple: i64) -> Result<()> {
    ensure!(
        u64::try_from(group).is_ok_and(u64::is_power_of_two) && group >= least,
        Delegate,
        "groups of {group} weights, where a power of two from {least} on is expected"
    );
    ensure!(
        k > 0 && k % multiple == 0 && k % group == 0,
        Delegate,
        "{k} weights in a row, where a multiple of {multiple} and of the group's {group} is expected"
    );
    Ok(())
}

impl Matmul {
    fn new(kernels: &'static FormatKernels, (m, n, k): (i64, i64, i64), group: i64) -> Self {
        Self {
            kernels,
            m,
            n,
            k,
            group_shift: group.trailing_zeros(),
            groups: k / group,
            inner: 0,
            low: 0,
            high: 0,
            scale: 0,
            scale_step: 0,
            zero: 0,
            zero_step: 0,
        }
    }

    /// The matmul, if its sizes fit the kernels' 32-bit counters and the limits of a grid.
    fn checked(self) -> Result<Self> {
        const MAX: i64 = (i32::MAX - 1024) as i64;
        let max_tokens = 64 * i64::from(u16::MAX);
        ensure!(
            self.n <= MAX && self.k <= MAX && self.m <= max_tokens,
            Unsupported,
            "a product of {} x {} x {}",
            self.m,
            self.n,
            self.k
        );
        Ok(self)
    }

    /// The kernel, and its launch configuration. For few tokens, the warps of a block split the k of its rows;
    /// otherwise they have rows of their own.
    fn launch_config(&self) -> (&'static CStr, LaunchConfig) {
        const WARPS: u32 = 8;
        const ROWS: u32 = 16;
        let format = self.kernels;
        let (kernel, tokens, split) = match self.m {
            ..=8 => (0, 8, 8),
            9..=64 => (1, 32, 2),
            _ => (2, 64, 1),
        };
        let (m, n) = (self.m as u32, self.n as u32);
        let units = format.tile / format.unit;
        let stage = format.tile_bytes + units * ROWS * format.scale_bytes;
        let sums = units * tokens * 4;
        let activations = tokens.min(m) * (format.tile * 2 + 64);
        let config = LaunchConfig {
            grid: [n.div_ceil(ROWS * WARPS / split), m.div_ceil(tokens)],
            threads: WARPS * 32,
            shared: WARPS * format.stages * stage + split * (sums + activations),
        };
        (format.kernels[kernel], config)
    }

    /// Launches the matmul, and returns its result.
    fn run(&self, session: &Session<'_>, activations: &Tensor) -> Result<Tensor> {
        let sizes = [self.m, self.n];
        let here = Location::Device(session.device.ordinal());
        let out = session.empty_tensor(&sizes, &contiguous_strides(&sizes), DType::BF16, here)?;
        if out.count() == 0 {
            return Ok(out);
        }
        let (kernel, config) = self.launch_config();
        let &[row, column] = &activations.strides[..] else {
            bail!(Internal, "{:?} are no two strides", activations.strides);
        };
        // The kernel reads eight activations of a token at once.
        let vectorized = column == 1
            && (row % 8 == 0 || self.m == 1)
            && activations.address().is_multiple_of(16);
        let number = |value: i64| value as u64;
        let arguments = [
            activations.address(),
            number(row),
            number(column),
            u64::from(vectorized),
            number(self.m),
            number(self.n),
            number(self.k),
            self.low,
            self.high,
            self.scale,
            self.scale_step,
            self.zero,
            self.zero_step,
            u64::from(self.group_shift),
            number(self.groups),
            number(self.inner),
            out.address(),
        ];
        // SAFETY: the arguments are those of these kernels. All tensors were checked to have the sizes
        // that follow from these numbers, and a library's tensors are there until its stream has passed
        // what uses them.
        unsafe { session.launch(&self.kernels.file, kernel, config, &arguments)? };
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<&'static FormatKernels> {
        let mut all = vec![&PACKED, &INT4, &INT5, &INT8];
        all.extend(&INT6);
        all
    }

    #[test]
    fn no_launch_needs_more_shared_memory_than_all_gpus_have() {
        for format in all() {
            for m in [1, 8, 9, 32, 64, 65, 1000] {
                let matmul = Matmul::new(format, (m, 4096, 4096), 32);
                let (_, config) = matmul.launch_config();
                let shared = config.shared as i32;
                assert!(shared <= MAX_SHARED, "{} {m}: {shared}", format.file.name);
            }
        }
    }

    #[test]
    fn every_row_and_token_has_a_block() {
        for (m, n, grid) in [
            (1, 16, [1, 1]),
            (8, 17, [2, 1]),
            (9, 64, [1, 1]),
            (33, 65, [2, 2]),
            (65, 128, [1, 2]),
            (129, 4096, [32, 3]),
        ] {
            let (_, config) = Matmul::new(&INT4, (m, n, 256), 32).launch_config();
            assert_eq!((config.grid, config.threads), (grid, 256), "{m} x {n}");
        }
    }

    #[test]
    fn each_format_has_the_kernels_that_it_names() {
        for format in all() {
            for kernel in format.kernels {
                let entry = format!(".entry {}(", kernel.to_str().unwrap());
                assert!(
                    format.file.ptx.contains(&entry),
                    "{entry} in {}",
                    format.file.name
                );
            }
        }
    }
}
