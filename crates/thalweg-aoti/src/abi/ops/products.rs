//! Products of activations and weights of few bits.
//!
//! All are `[m, k]` in bf16 times the transpose of `[n, k]`, and give `[m, n]` in bf16. Upstream rounds
//! the activations of the plain ones to eight bits; here they stay as they are.
#![allow(
    unsafe_code,
    reason = "libraries pass handles, and kernels are launched by address; each block says why it is \
              right"
)]

use std::ffi::CStr;

use thalweg_core::{DType, Result, ensure};

use super::super::session::{Session, answer};
use super::super::tensor::{Tensor, Where, row_major_strides};
use super::super::tensors::{Handle, empty, look, put_tensor};
use super::kernels::{File, Launch, file};
use super::{expect, expect_dense, on_device};

/// The most dynamic shared memory that a launch asks for: what all GPUs have that run the kernels.
pub(super) const MOST_SHARED: i32 = 99 << 10;

const BYTES: &[DType] = &[DType::U8, DType::I8];
/// How many weights have a scale of a scale together.
const BLOCK: i64 = 256;

pub(in crate::abi) unsafe extern "C" fn aoti_torch_cuda__weight_int4pack_mm(
    activations: Handle,
    weights: Handle,
    group: i64,
    scales_and_zeros: Handle,
    result: *mut Handle,
) -> i32 {
    answer("aoti_torch_cuda__weight_int4pack_mm", |session| {
        // SAFETY: the library's tensors, and its place for another.
        unsafe {
            let [activations, weights, scales_and_zeros] = [
                ("self", look(activations)?),
                ("mat2", look(weights)?),
                ("qScaleAndZeros", look(scales_and_zeros)?),
            ];
            ensure!(
                !result.is_null(),
                Delegate,
                "there is no place for the result"
            );
            let product = packed(session, activations, weights, group, scales_and_zeros)?;
            put_tensor(result, product.run(session, activations.1)?)
        }
    })
}

/// A function whose arguments are tensors, of which the first are the activations, then the size of
/// groups, then the place for the result.
macro_rules! plain {
    ($($name:ident: $plan:ident($($tensor:ident)*);)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(
            activations: Handle,
            $($tensor: Handle,)*
            group_size: i64,
            result: *mut Handle,
        ) -> i32 {
            answer(stringify!($name), |session| {
                // SAFETY: the library's tensors, and its place for another.
                unsafe {
                    let activations = ("self", look(activations)?);
                    $(let $tensor = (stringify!($tensor), look($tensor)?);)*
                    ensure!(!result.is_null(), Delegate, "there is no place for the result");
                    let product = $plan(session, activations, [$($tensor),*], group_size)?;
                    put_tensor(result, product.run(session, activations.1)?)
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

/// An argument and its name.
type Named<'t> = (&'static str, &'t Tensor);

/// A product whose arguments were checked.
#[derive(Debug)]
struct Product {
    form: &'static Form,
    m: i64,
    n: i64,
    k: i64,
    /// How often the size of a group is halved until it is 1.
    group_shift: u32,
    groups: i64,
    /// For packed weights, how many tiles of 16 k lie together.
    inner: i64,
    low: u64,
    high: u64,
    scale: u64,
    scale_step: u64,
    zero: u64,
    zero_step: u64,
}

/// How weights are packed, as the kernels know it, which have these constants, too.
#[derive(Debug)]
struct Form {
    file: File,
    /// Kernels for up to 8 and 32 tokens, and for tiles of 64.
    kernels: [&'static CStr; 3],
    /// k of a tile.
    tile: u32,
    stages: u32,
    /// Bytes of a tile's 16 rows.
    tile_bytes: u32,
    /// Weights that are taken to have one scale, and its bytes.
    unit: u32,
    scale_bytes: u32,
}

macro_rules! form {
    ($file:literal, $kernels:expr, $($field:ident: $value:expr),*) => {
        Form { file: file!($file), kernels: $kernels, $($field: $value),* }
    };
}

static PACKED: Form = form!(
    "products0_32.ptx", [c"products0_32_8", c"products0_32_32", c"products0_32_64"],
    tile: 256, stages: 2, tile_bytes: 2048, unit: 32, scale_bytes: 8
);
static INT4: Form = form!(
    "products4_32.ptx", [c"products4_32_8", c"products4_32_32", c"products4_32_64"],
    tile: 256, stages: 2, tile_bytes: 2304, unit: 32, scale_bytes: 8
);
static INT5: Form = form!(
    "products5_32.ptx", [c"products5_32_8", c"products5_32_32", c"products5_32_64"],
    tile: 128, stages: 3, tile_bytes: 1536, unit: 32, scale_bytes: 8
);
static INT6: [Form; 3] = [
    form!(
        "products6_8.ptx", [c"products6_8_8", c"products6_8_32", c"products6_8_64"],
        tile: 128, stages: 3, tile_bytes: 2048, unit: 8, scale_bytes: 4
    ),
    form!(
        "products6_16.ptx", [c"products6_16_8", c"products6_16_32", c"products6_16_64"],
        tile: 128, stages: 3, tile_bytes: 2048, unit: 16, scale_bytes: 4
    ),
    form!(
        "products6_32.ptx", [c"products6_32_8", c"products6_32_32", c"products6_32_64"],
        tile: 128, stages: 3, tile_bytes: 2048, unit: 32, scale_bytes: 4
    ),
];
static INT8: Form = form!(
    "products8_32.ptx", [c"products8_32_8", c"products8_32_32", c"products8_32_64"],
    tile: 128, stages: 2, tile_bytes: 2304, unit: 32, scale_bytes: 8
);

/// PyTorch's weights of four bits, in the order in which tensor cores take them:
/// `[n / 8, k / (16 inner), 32, inner / 2]` words of eight; `[k / group, n, 2]` scales and zero points.
fn packed(
    session: &Session<'_>,
    activations: Named<'_>,
    (name, weights): Named<'_>,
    group: i64,
    scales: Named<'_>,
) -> Result<Product> {
    let (m, k) = tokens(session, activations)?;
    let &[n_tiles, k_tiles, 32, half @ (1 | 2 | 4)] = &weights.sizes[..] else {
        thalweg_core::bail!(
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
    expect_dense(session, (name, weights), &[DType::I32], &weights.sizes, 16)?;
    let sizes = [k / group, n, 2];
    expect_dense(session, scales, &[DType::BF16], &sizes, 2)?;
    Product {
        inner,
        low: weights.address(),
        scale_step: scales.1.address(),
        ..Product::new(&PACKED, (m, n, k), group)
    }
    .checked()
}

/// Two weights in a byte, the first one in the lower half. A weight is `u - zero` times `scale`, both
/// bytes, times a step for 256 weights.
fn int4(
    session: &Session<'_>,
    activations: Named<'_>,
    [qdata, scale, scale_step, zero, zero_step]: [Named<'_>; 5],
    group: i64,
) -> Result<Product> {
    let (m, k) = tokens(session, activations)?;
    let n = rows(qdata)?;
    groups(k, group, 32, BLOCK)?;
    expect_dense(session, qdata, BYTES, &[n, k / 2], 16)?;
    expect_dense(session, scale, BYTES, &[n, k / group], 1)?;
    expect_dense(session, scale_step, &[DType::F16], &[n, k / BLOCK], 2)?;
    expect_dense(session, zero, BYTES, &[n, k / group], 1)?;
    expect_dense(session, zero_step, &[DType::F16], &[n, k / BLOCK], 2)?;
    Product {
        low: qdata.1.address(),
        scale: scale.1.address(),
        scale_step: scale_step.1.address(),
        zero: zero.1.address(),
        zero_step: zero_step.1.address(),
        ..Product::new(&INT4, (m, n, k), group)
    }
    .checked()
}

/// As [`int4`], with a fifth bit: of 32 weights there are four bytes, each of eight neighbours, with the
/// bits of the even ones in its lower half and of the odd ones in its higher.
fn int5(
    session: &Session<'_>,
    activations: Named<'_>,
    [ql, qh, scale, scale_step, zero, zero_step]: [Named<'_>; 6],
    group: i64,
) -> Result<Product> {
    let product = int4(
        session,
        activations,
        [ql, scale, scale_step, zero, zero_step],
        group,
    )?;
    expect_dense(session, qh, BYTES, &[product.n, product.k / 8], 16)?;
    Ok(Product {
        form: &INT5,
        high: qh.1.address(),
        ..product
    })
}

/// As [`int4`], with two more bits and without zero points, which are 32: of 32 weights there are eight
/// bytes, four of the even ones and four of the odd ones. Scales have a sign.
fn int6(
    session: &Session<'_>,
    activations: Named<'_>,
    [ql, qh, scale, steps]: [Named<'_>; 4],
    group: i64,
) -> Result<Product> {
    let (m, k) = tokens(session, activations)?;
    let n = rows(ql)?;
    groups(k, group, 8, BLOCK)?;
    expect_dense(session, ql, BYTES, &[n, k / 2], 16)?;
    expect_dense(session, qh, BYTES, &[n, k / 4], 16)?;
    expect_dense(session, scale, BYTES, &[n, k / group], 1)?;
    expect_dense(session, steps, &[DType::F16], &[n, k / BLOCK], 2)?;
    let form = match group {
        8 => &INT6[0],
        16 => &INT6[1],
        _ => &INT6[2],
    };
    Product {
        low: ql.1.address(),
        high: qh.1.address(),
        scale: scale.1.address(),
        scale_step: steps.1.address(),
        ..Product::new(form, (m, n, k), group)
    }
    .checked()
}

/// A byte with a sign for each weight, less a zero point, times a scale in bf16.
fn int8(
    session: &Session<'_>,
    activations: Named<'_>,
    [qdata, scale, zero]: [Named<'_>; 3],
    group: i64,
) -> Result<Product> {
    let (m, k) = tokens(session, activations)?;
    let n = rows(qdata)?;
    groups(k, group, 32, 32)?;
    expect_dense(session, qdata, &[DType::I8], &[n, k], 16)?;
    expect_dense(session, scale, &[DType::BF16], &[n, k / group], 2)?;
    expect_dense(session, zero, &[DType::I8], &[n, k / group], 1)?;
    Product {
        low: qdata.1.address(),
        scale_step: scale.1.address(),
        zero: zero.1.address(),
        ..Product::new(&INT8, (m, n, k), group)
    }
    .checked()
}

/// How many tokens there are, and how many activations each has. Their strides may be any.
fn tokens(session: &Session<'_>, (name, activations): Named<'_>) -> Result<(i64, i64)> {
    let &[m, k] = &activations.sizes[..] else {
        thalweg_core::bail!(
            Delegate,
            "`{name}` has sizes {:?}, where two are expected",
            activations.sizes
        );
    };
    on_device(session, name, activations)?;
    expect(session, (name, activations), &[DType::BF16], &[m, k])?;
    Ok((m, k))
}

/// How many rows weights have.
fn rows((name, weights): Named<'_>) -> Result<i64> {
    ensure!(
        weights.sizes.len() == 2,
        Delegate,
        "`{name}` has sizes {:?}, where two are expected",
        weights.sizes
    );
    Ok(weights.sizes[0])
}

/// Checks that k can be cut into groups.
fn groups(k: i64, group: i64, least: i64, multiple: i64) -> Result<()> {
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

impl Product {
    fn new(form: &'static Form, (m, n, k): (i64, i64, i64), group: i64) -> Self {
        Self {
            form,
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

    /// Kernels count in 32 bits, and launches have so many blocks at most.
    fn checked(self) -> Result<Self> {
        const MOST: i64 = (i32::MAX - 1024) as i64;
        let most_tokens = 64 * i64::from(u16::MAX);
        ensure!(
            self.n <= MOST && self.k <= MOST && self.m <= most_tokens,
            Unsupported,
            "a product of {} x {} x {}",
            self.m,
            self.n,
            self.k
        );
        Ok(self)
    }

    /// Which kernel, and how it is launched. Few tokens share the rows of weights among few blocks, and the
    /// warps of a block share a row.
    fn launch(&self) -> (&'static CStr, Launch) {
        const WARPS: u32 = 8;
        const ROWS: u32 = 16;
        let form = self.form;
        let (kernel, tokens, split) = match self.m {
            ..=8 => (0, 8, 8),
            9..=64 => (1, 32, 2),
            _ => (2, 64, 1),
        };
        let (m, n) = (self.m as u32, self.n as u32);
        let units = form.tile / form.unit;
        let stage = form.tile_bytes + units * ROWS * form.scale_bytes;
        let sums = units * tokens * 4;
        let activations = tokens.min(m) * (form.tile * 2 + 64);
        let launch = Launch {
            grid: [n.div_ceil(ROWS * WARPS / split), m.div_ceil(tokens)],
            threads: WARPS * 32,
            shared: WARPS * form.stages * stage + split * (sums + activations),
        };
        (form.kernels[kernel], launch)
    }

    fn run(&self, session: &Session<'_>, activations: &Tensor) -> Result<Tensor> {
        let sizes = [self.m, self.n];
        let on = Where::Device(session.device.ordinal());
        let out = empty(session, &sizes, &row_major_strides(&sizes), DType::BF16, on)?;
        if out.count() == 0 {
            return Ok(out);
        }
        let (kernel, launch) = self.launch();
        let &[row, column] = &activations.strides[..] else {
            thalweg_core::bail!(Internal, "{:?} are no two strides", activations.strides);
        };
        // Eight of a token are read at once.
        let dense = column == 1
            && (row % 8 == 0 || self.m == 1)
            && activations.address().is_multiple_of(16);
        let number = |value: i64| value as u64;
        let arguments = [
            activations.address(),
            number(row),
            number(column),
            u64::from(dense),
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
        // that follow from these numbers, and a library's tensors are there until its stream is past
        // what uses them.
        unsafe {
            let file = &self.form.file;
            let operators = session.operators;
            operators.launch(session, file, kernel, launch, &arguments)?;
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<&'static Form> {
        let mut all = vec![&PACKED, &INT4, &INT5, &INT8];
        all.extend(&INT6);
        all
    }

    #[test]
    fn no_launch_needs_more_shared_memory_than_all_gpus_have() {
        for form in all() {
            for m in [1, 8, 9, 32, 64, 65, 1000] {
                let product = Product::new(form, (m, 4096, 4096), 32);
                let (_, launch) = product.launch();
                let shared = launch.shared as i32;
                assert!(shared <= MOST_SHARED, "{} {m}: {shared}", form.file.name);
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
            let (_, launch) = Product::new(&INT4, (m, n, 256), 32).launch();
            assert_eq!((launch.grid, launch.threads), (grid, 256), "{m} x {n}");
        }
    }

    #[test]
    fn each_form_has_the_kernels_that_it_names() {
        for form in all() {
            for kernel in form.kernels {
                let entry = format!(".entry {}(", kernel.to_str().unwrap());
                assert!(
                    form.file.ptx.contains(&entry),
                    "{entry} in {}",
                    form.file.name
                );
            }
        }
    }
}
