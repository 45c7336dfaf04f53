//! Stable sorting.

use std::cmp::Ordering;

use half::{bf16, f16};
use thalweg_aoti::Harness;
use thalweg_core::DType;
use thalweg_testing::SplitMix;

use super::{bytes, harness, numbers, on_every_machine, real};

/// The element types, and some numbers of each.
const TYPES: [DType; 13] = [
    DType::U8,
    DType::I8,
    DType::Bool,
    DType::U16,
    DType::I16,
    DType::U32,
    DType::I32,
    DType::U64,
    DType::I64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
];

/// Bytes of elements: many that are equal, zeros of both signs, what is no number, extremes.
fn elements(dtype: DType, count: usize, random: &mut SplitMix) -> Vec<u8> {
    let mut float = || match random.below(12) {
        0 => f64::NAN,
        1 => -f64::NAN,
        2 => -0.0,
        3 => 0.0,
        4 => f64::INFINITY,
        5 => f64::NEG_INFINITY,
        6 => 1e-42,
        _ => random.below(64) as f64 / 8.0 - 4.0,
    };
    match dtype {
        DType::BF16 => bytes(
            &(0..count)
                .map(|_| bf16::from_f64(float()))
                .collect::<Vec<_>>(),
        ),
        DType::F16 => bytes(
            &(0..count)
                .map(|_| f16::from_f64(float()))
                .collect::<Vec<_>>(),
        ),
        DType::F32 => bytes(&(0..count).map(|_| float() as f32).collect::<Vec<_>>()),
        DType::F64 => bytes(&(0..count).map(|_| float()).collect::<Vec<_>>()),
        DType::Bool => (0..count).map(|_| random.below(2) as u8).collect(),
        _ => {
            let size = dtype.size();
            let mut all = Vec::with_capacity(count * size);
            for _ in 0..count {
                let number = match random.below(2) {
                    0 => (random.below(20) as u64).wrapping_sub(10),
                    _ => random.bits(),
                };
                all.extend(&number.to_le_bytes()[..size]);
            }
            all
        }
    }
}

/// PyTorch's order of two elements.
fn order(dtype: DType, a: &[u8], b: &[u8]) -> Ordering {
    fn whole<T: bytemuck::AnyBitPattern + Ord>(a: &[u8], b: &[u8]) -> Ordering {
        let read = |bytes| bytemuck::pod_read_unaligned::<T>(bytes);
        read(a).cmp(&read(b))
    }
    fn float<T: bytemuck::AnyBitPattern + Into<f64>>(a: &[u8], b: &[u8]) -> Ordering {
        let read = |bytes| -> f64 { bytemuck::pod_read_unaligned::<T>(bytes).into() };
        let (a, b) = (read(a), read(b));
        a.partial_cmp(&b)
            .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }
    match dtype {
        DType::U8 | DType::Bool => whole::<u8>(a, b),
        DType::I8 => whole::<i8>(a, b),
        DType::U16 => whole::<u16>(a, b),
        DType::I16 => whole::<i16>(a, b),
        DType::U32 => whole::<u32>(a, b),
        DType::I32 => whole::<i32>(a, b),
        DType::U64 => whole::<u64>(a, b),
        DType::I64 => whole::<i64>(a, b),
        DType::BF16 => float::<bf16>(a, b),
        DType::F16 => float::<f16>(a, b),
        DType::F32 => float::<f32>(a, b),
        _ => float::<f64>(a, b),
    }
}

/// Sorts elements that lie so in their storage, and compares with the standard library's stable sort.
fn check(
    harness: &Harness,
    dtype: DType,
    sizes: &[i64],
    strides: &[i64],
    dimension: i64,
    descending: bool,
) {
    let reach: i64 = sizes.iter().zip(strides).map(|(a, b)| (a - 1) * b).sum();
    let mut random = SplitMix::new(reach as u64 + dtype.size() as u64);
    let storage = elements(dtype, reach as usize + 1, &mut random);
    let tensor = harness.tensor(dtype, sizes, strides, 0, &storage).unwrap();
    let (sorted, indices) = harness.sort(Some(&tensor), dimension, descending).unwrap();
    assert_eq!((sorted.sizes(), sorted.dtype()), (sizes, dtype));
    assert_eq!((indices.sizes(), indices.dtype()), (sizes, DType::I64));
    let found = harness.bytes(&sorted).unwrap();
    let positions: Vec<i64> = numbers(&harness.bytes(&indices).unwrap());

    let size = dtype.size();
    let count: i64 = sizes.iter().product();
    let elements: Vec<&[u8]> = (0..count)
        .map(|index| {
            let (mut rest, mut at) = (index, 0);
            for (size, stride) in sizes.iter().zip(strides).rev() {
                at += rest % size * stride;
                rest /= size;
            }
            &storage[at as usize * size..][..size]
        })
        .collect();
    let at = if dimension < 0 {
        dimension + sizes.len() as i64
    } else {
        dimension
    } as usize;
    let len = sizes.get(at).copied().unwrap_or(1) as usize;
    let inner: usize = sizes.iter().skip(at + 1).product::<i64>() as usize;
    for slice in 0..count as usize / len {
        let place = |position: usize| (slice / inner * len + position) * inner + slice % inner;
        let mut expected: Vec<usize> = (0..len).collect();
        expected.sort_by(|&a, &b| {
            let order = order(dtype, elements[place(a)], elements[place(b)]);
            if descending { order.reverse() } else { order }
        });
        for (position, &from) in expected.iter().enumerate() {
            let what = || format!("{dtype} {sizes:?} {dimension} {descending} {slice} {position}");
            assert_eq!(positions[place(position)], from as i64, "{}", what());
            let bytes = &found[place(position) * size..][..size];
            assert_eq!(bytes, elements[place(from)], "{}", what());
        }
    }
}

fn dense(harness: &Harness, dtype: DType, sizes: &[i64], dimension: i64, descending: bool) {
    let mut strides = vec![1; sizes.len()];
    for index in (1..sizes.len()).rev() {
        strides[index - 1] = strides[index] * sizes[index];
    }
    check(harness, dtype, sizes, &strides, dimension, descending);
}

#[test]
fn every_type_is_sorted_along_every_dimension() {
    on_every_machine(3, |driver| {
        let harness = harness(driver);
        for dtype in TYPES {
            for descending in [false, true] {
                for dimension in -3..3 {
                    dense(&harness, dtype, &[3, 50, 4], dimension, descending);
                }
                dense(&harness, dtype, &[], 0, descending);
                dense(&harness, dtype, &[1], -1, descending);
                dense(&harness, dtype, &[2, 2048], 1, descending);
            }
        }
    });
}

#[test]
fn long_slices_are_sorted_in_parts() {
    let lens: &[i64] = match real() {
        false => &[2049, 9000],
        true => &[2049, 4096, 4097, 10_000, 100_000, 1_000_000],
    };
    on_every_machine(2, |driver| {
        let harness = harness(driver);
        for dtype in TYPES {
            for &len in lens {
                dense(&harness, dtype, &[len], 0, len % 2 == 0);
                dense(&harness, dtype, &[len], 0, len % 2 != 0);
            }
            dense(&harness, dtype, &[3, 2500, 2], 1, true);
            dense(&harness, dtype, &[2500, 3], 0, false);
        }
    });
}

#[test]
fn strides_do_not_matter() {
    on_every_machine(2, |driver| {
        let harness = harness(driver);
        for (sizes, strides) in [
            ([4, 30], [1, 4]),
            ([4, 30], [32, 1]),
            ([4, 30], [0, 1]),
            ([3, 2100], [1, 3]),
        ] {
            check(&harness, DType::F32, &sizes, &strides, 1, false);
            check(&harness, DType::I64, &sizes, &strides, 0, true);
        }
    });
}

#[test]
fn nothing_is_sorted_as_well() {
    on_every_machine(1, |driver| {
        let harness = harness(driver);
        let tensor = harness.contiguous(DType::F32, &[3, 0], &[]).unwrap();
        for dimension in [0, 1] {
            let (sorted, indices) = harness.sort(Some(&tensor), dimension, false).unwrap();
            assert_eq!(
                (sorted.sizes(), indices.sizes()),
                (&[3, 0][..], &[3, 0][..])
            );
        }
    });
}

#[test]
fn what_cannot_be_sorted_is_refused_with_the_values() {
    on_every_machine(1, |driver| {
        let harness = harness(driver);
        let refused = |tensor, dimension| {
            let error = harness.sort(tensor, dimension, false).unwrap_err();
            error.to_string()
        };
        let has = |text: String, part: &str| assert!(text.contains(part), "{text}");
        has(
            refused(None, 0),
            "`aoti_torch_cuda_sort_stable`: there is no tensor",
        );
        let tensor = harness.contiguous(DType::F32, &[2, 3], &[0; 24]).unwrap();
        has(
            refused(Some(&tensor), 2),
            "dimension 2 of a tensor of sizes [2, 3]",
        );
        let complex = harness
            .contiguous(DType::ComplexF32, &[3], &[0; 24])
            .unwrap();
        has(refused(Some(&complex), 0), "have no order");
        let host = harness.on_host(DType::F32, &[3]).unwrap();
        has(refused(Some(&host), 0), "`self` is on Host");
        harness.stream.synchronize().unwrap();
    });
}
