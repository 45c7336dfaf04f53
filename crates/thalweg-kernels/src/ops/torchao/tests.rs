//! `recorded.txt` has weights that torchao's kernels for Arm have packed, and what these kernels have
//! computed with them, on an emulated processor. The numbers that were packed follow from the formulas
//! below, so all results are compared with their definitions, too.

use thalweg_core::{Argument, DType, Tensor};

use super::bits::Packing;
use super::header::MAGIC;
use super::*;
use crate::testing::{floats, invoke, out};

const ROWS: usize = 3;
const INPUTS: usize = 32;
const OUTPUTS: usize = 10;
const GROUP: usize = 16;

fn place(i: usize, bits: usize) -> u8 {
    ((i * 29 + i / 7) % (1 << bits)) as u8
}

pub(super) fn integer(i: usize, bits: usize) -> i8 {
    (i16::from(place(i, bits)) - (1 << (bits - 1))) as i8
}

pub(super) fn element(i: usize) -> f32 {
    ((i * 37 + 11) % 101) as f32 / 16.0 - 2.5
}

pub(super) fn scale(i: usize) -> f32 {
    (1 + i % 5) as f32 / 64.0
}

fn zero_point(i: usize) -> i8 {
    (i % 7) as i8 - 3
}

fn bias(i: usize) -> f32 {
    (i as f32 - 3.0) / 4.0
}

fn table(which: usize, place: u8) -> i32 {
    let place = i32::from(place);
    (place * place * 3 + place * 5 + which as i32 * 11) % 200 - 100
}

/// Recorded weights of a kind with some number of bits, as torchao packs them, and the results.
fn recorded(kind: &str, bits: usize) -> (Vec<u8>, Vec<f32>) {
    let bytes = |text: &str| -> Vec<u8> {
        let digits = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
        (0..text.len()).step_by(2).map(digits).collect()
    };
    let start = format!("{kind} {bits} ");
    let mut lines = include_str!("recorded.txt").lines();
    let line = lines.find_map(|line| line.strip_prefix(&start)).unwrap();
    let (packed, results) = line.split_once(' ').unwrap();
    let results = bytes(results);
    let results = results.as_chunks().0;
    let floats = results.iter().map(|bytes| f32::from_le_bytes(*bytes));
    (bytes(packed), floats.collect())
}

/// A tensor of packed weights.
fn packed(bytes: &[u8]) -> Argument {
    let bytes: Vec<i8> = bytes.iter().map(|byte| byte.cast_signed()).collect();
    Tensor::from_slice(&bytes, &[bytes.len()]).unwrap().into()
}

pub(super) fn int(value: usize) -> Argument {
    (value as i64).into()
}

pub(super) fn elements(rows: usize, inputs: usize) -> Vec<f32> {
    (0..rows * inputs).map(element).collect()
}

pub(super) fn assert_near(results: &[f32], expected: impl IntoIterator<Item = f64>, what: &str) {
    let expected: Vec<_> = expected.into_iter().collect();
    assert_eq!(results.len(), expected.len(), "{what}");
    for (at, (&result, &expected)) in results.iter().zip(&expected).enumerate() {
        let difference = (f64::from(result) - expected).abs();
        let largest = 1e-5 * expected.abs().max(1.0);
        assert!(
            difference <= largest,
            "{what}, {at}: {result}, not {expected}"
        );
    }
}

fn linear(bytes: &[u8], bits: usize, sizes: [usize; 3], input: &[f32]) -> Result<Vec<f32>> {
    let [group, outputs, inputs] = sizes;
    let input = Tensor::from_slice(input, &[input.len() / inputs, inputs]).unwrap();
    let arguments = vec![
        input.into(),
        packed(bytes),
        int(group),
        int(outputs),
        int(inputs),
        out(DType::F32, 2),
    ];
    let operator = format!("torchao::_linear_8bit_act_{bits}bit_weight.out");
    let results = invoke(register, &operator, arguments)?;
    Ok(floats(&results[5]))
}

/// A row as integers of 8 bits, turned back to what these stand for.
fn rounded(row: &[f32]) -> Vec<f64> {
    let min = row.iter().copied().fold(0.0, f32::min);
    let max = row.iter().copied().fold(0.0, f32::max);
    let scale = (max - min) / 255.0;
    let zero_point = f64::from(-128.0 - (min / scale).round());
    // Steps that round: the reciprocal, and what is to be rounded to an integer.
    let inverse = f64::from((1.0 / (f64::from(scale) + 1e-16)) as f32);
    let integer = |x: f32| ((f64::from(x) * inverse + zero_point) as f32).round_ties_even();
    let scale = f64::from(scale);
    let clamped = row
        .iter()
        .map(|&x| f64::from(integer(x).clamp(-128.0, 127.0)));
    clamped.map(|x| (x - zero_point) * scale).collect()
}

/// The product of quantized rows with weights, each given by its column and its row.
fn product(
    input: &[f32],
    inputs: usize,
    outputs: usize,
    weight: impl Fn(usize, usize) -> f64,
    bias: impl Fn(usize) -> f64,
) -> Vec<f64> {
    let rows = input.chunks_exact(inputs).map(rounded);
    let results = rows.flat_map(|row| {
        let results = (0..outputs).map(|column| {
            let products = row.iter().enumerate();
            let products = products.map(|(at, x)| x * weight(column, at));
            products.sum::<f64>() + bias(column)
        });
        results.collect::<Vec<_>>()
    });
    results.collect()
}

/// The weights of `recorded`, as they are defined.
fn weight(bits: usize, column: usize, row: usize) -> f64 {
    let group = column * (INPUTS / GROUP) + row / GROUP;
    let zero_point = if bits % 2 == 1 { zero_point(group) } else { 0 };
    let integer = integer(column * INPUTS + row, bits);
    f64::from(i16::from(integer) - i16::from(zero_point)) * f64::from(scale(group))
}

fn bias_of(bits: usize, column: usize) -> f64 {
    if bits / 2 % 2 == 1 {
        f64::from(bias(column))
    } else {
        0.0
    }
}

#[test]
fn linear_layers_have_the_results_of_torchao_and_of_their_definition() {
    let input = elements(ROWS, INPUTS);
    for bits in 1..=8 {
        let (bytes, results) = recorded("linear", bits);
        let own = linear(&bytes, bits, [GROUP, OUTPUTS, INPUTS], &input).unwrap();
        let recorded = results.iter().copied().map(f64::from);
        assert_near(&own, recorded, &format!("recorded, {bits} bits"));
        let defined = product(
            &input,
            INPUTS,
            OUTPUTS,
            |column, row| weight(bits, column, row),
            |column| bias_of(bits, column),
        );
        assert_near(&own, defined, &format!("defined, {bits} bits"));
    }
}

#[test]
fn integers_of_linear_layers_can_be_places_in_a_table() {
    const OUTPUTS: usize = 16;
    let input = elements(ROWS, INPUTS);
    for bits in 1..=4 {
        let (bytes, results) = recorded("places", bits);
        let own = linear(&bytes, bits, [GROUP, OUTPUTS, INPUTS], &input).unwrap();
        let recorded = results.iter().copied().map(f64::from);
        assert_near(&own, recorded, &format!("recorded, {bits} bits"));
        let weight = |column: usize, row: usize| {
            let value = table(column / 8, place(column * INPUTS + row, bits));
            let group = column * (INPUTS / GROUP) + row / GROUP;
            f64::from(value) * f64::from(scale(group))
        };
        let bias = |column: usize| {
            if bits % 2 == 0 {
                f64::from(bias(column))
            } else {
                0.0
            }
        };
        let defined = product(&input, INPUTS, OUTPUTS, weight, bias);
        assert_near(&own, defined, &format!("defined, {bits} bits"));
    }
}

#[test]
fn linear_layers_can_have_weights_in_tables_of_floats() {
    const INPUTS: usize = 64;
    const OUTPUTS: usize = 7;
    const GROUP: usize = 32;
    let input = elements(ROWS, INPUTS);
    for bits in 1..=4 {
        let (bytes, results) = recorded("tables", bits);
        let arguments = vec![
            Tensor::from_slice(&input, &[ROWS, INPUTS]).unwrap().into(),
            packed(&bytes),
            int(GROUP),
            int(4 * INPUTS),
            int(OUTPUTS),
            int(INPUTS),
            out(DType::F32, 2),
        ];
        let operator = format!("torchao::_linear_groupwise_{bits}bit_weight_with_lut.out");
        let own = floats(&invoke(register, &operator, arguments).unwrap()[6]);
        let recorded = results.iter().copied().map(f64::from);
        assert_near(&own, recorded, &format!("recorded, {bits} bits"));
        let (has_scales, has_bias) = (bits % 2 == 1, bits == 2 || bits == 3);
        let rows = input.chunks_exact(INPUTS);
        let defined = rows.flat_map(|row| {
            (0..OUTPUTS).map(move |column| {
                let products = row.iter().enumerate().map(|(at, &x)| {
                    let value = table(column / 4, place(column * INPUTS + at, bits));
                    let scale = if has_scales {
                        scale(column * (INPUTS / GROUP) + at / GROUP)
                    } else {
                        1.0
                    };
                    f64::from(x) * f64::from(value) / 8.0 * f64::from(scale)
                });
                products.sum::<f64>()
                    + if has_bias {
                        f64::from(bias(column))
                    } else {
                        0.0
                    }
            })
        });
        assert_near(&own, defined, &format!("defined, {bits} bits"));
    }
}

#[test]
fn rows_of_one_sign_and_rows_that_are_all_equal_are_quantized_too() {
    let (bytes, _) = recorded("linear", 4);
    let mut input = vec![2.0; INPUTS];
    input.extend((0..INPUTS).map(|i| 1.0 + i as f32 / 64.0));
    input.extend((0..INPUTS).map(|i| -1.0 - i as f32 / 64.0));
    input.extend([0.0; INPUTS]);
    let own = linear(&bytes, 4, [GROUP, OUTPUTS, INPUTS], &input).unwrap();
    let weight = |column, row| weight(4, column, row);
    let defined = product(&input[..3 * INPUTS], INPUTS, OUTPUTS, weight, |_| 0.0);
    assert_near(&own[..3 * OUTPUTS], defined, "rows of one sign");
    assert_eq!(own[3 * OUTPUTS..], [0.0; OUTPUTS]);
}

#[test]
fn rows_with_what_is_no_finite_number_give_no_number() {
    let (bytes, _) = recorded("linear", 4);
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut input = elements(2, INPUTS);
        input[INPUTS + 5] = wrong;
        let own = linear(&bytes, 4, [GROUP, OUTPUTS, INPUTS], &input).unwrap();
        assert!(own[..OUTPUTS].iter().all(|x| x.is_finite()), "{own:?}");
        assert!(own[OUTPUTS..].iter().all(|x| !x.is_finite()), "{own:?}");
    }
}

#[test]
fn more_threads_change_nothing() {
    const INPUTS: usize = 256;
    const OUTPUTS: usize = 203;
    let bytes = pack(4, [OUTPUTS, INPUTS, 64], |i| integer(i, 4), scale);
    let mut registry = KernelRegistry::new();
    register(&mut registry).unwrap();
    let kernel = registry.get("torchao::_linear_8bit_act_4bit_weight.out");
    let input = elements(5, INPUTS);
    let arguments = || {
        vec![
            Tensor::from_slice(&input, &[5, INPUTS]).unwrap().into(),
            packed(&bytes),
            int(64),
            int(OUTPUTS),
            int(INPUTS),
            out(DType::F32, 2),
        ]
    };
    let results = [1, 4].map(|threads| {
        let results = kernel.unwrap().invoke_on_threads(arguments(), threads);
        floats(&results.unwrap()[5])
    });
    assert_eq!(results[0], results[1]);
    let weight = |column: usize, row: usize| {
        let group = column * (INPUTS / 64) + row / 64;
        f64::from(integer(column * INPUTS + row, 4)) * f64::from(scale(group))
    };
    let defined = product(&input, INPUTS, OUTPUTS, weight, |_| 0.0);
    assert_near(&results[0], defined, "defined");
}

#[test]
fn rows_of_tables_are_unpacked_whatever_blocks_they_consist_of() {
    const ROWS: usize = 2;
    const COLUMNS: usize = 128 + 64 + 32;
    const GROUPS: usize = ROWS * COLUMNS / 32;
    let scales: Vec<_> = (0..GROUPS).map(scale).collect();
    let zero_points: Vec<_> = (0..GROUPS).map(zero_point).collect();
    let groups = [ROWS, COLUMNS / 32];
    for bits in 1..=8 {
        let arguments = vec![
            packed(&recorded("embedding", bits).0),
            int(ROWS),
            int(COLUMNS),
            Tensor::from_slice(&scales, &groups).unwrap().into(),
            Tensor::from_slice(&zero_points, &groups).unwrap().into(),
            Tensor::from_slice(&[1i64, 0, 1], &[3]).unwrap().into(),
            out(DType::F32, 2),
        ];
        let operator = format!("torchao::_embedding_{bits}bit.out");
        let own = floats(&invoke(register, &operator, arguments).unwrap()[6]);
        let defined = [1, 0, 1].into_iter().flat_map(|row| {
            (0..COLUMNS).map(move |column| {
                let at = row * COLUMNS + column;
                let integer = f64::from(integer(at, bits)) - f64::from(zero_point(at / 32));
                integer * f64::from(scale(at / 32))
            })
        });
        assert_near(&own, defined, &format!("{bits} bits"));
    }
}

#[test]
fn the_weights_of_a_linear_layer_are_a_table_of_rows_too() {
    for bits in 1..=8 {
        let arguments = vec![
            packed(&recorded("linear", bits).0),
            int(GROUP),
            int(OUTPUTS),
            int(INPUTS),
            Tensor::from_slice(&[9i32, 0, 4], &[3]).unwrap().into(),
            out(DType::F32, 2),
        ];
        let operator = format!("torchao::_shared_embedding_{bits}bit.out");
        let own = floats(&invoke(register, &operator, arguments).unwrap()[5]);
        let defined = [9, 0, 4].into_iter();
        let defined =
            defined.flat_map(|row| (0..INPUTS).map(move |column| weight(bits, row, column)));
        assert_near(&own, defined, &format!("{bits} bits"));
    }
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let (good, _) = recorded("linear", 4);
    let input = elements(1, INPUTS);
    let refused = |bytes: &[u8], bits, sizes| {
        let error = linear(bytes, bits, sizes, &input).unwrap_err();
        error.to_string()
    };
    let sizes = [GROUP, OUTPUTS, INPUTS];
    let with = |at: usize, value: i32| {
        let mut bytes = good.clone();
        bytes[at * 4..][..4].copy_from_slice(&value.to_le_bytes());
        bytes
    };
    let cases = [
        (refused(&good[..63], 4, sizes), "have no header"),
        (refused(&good[..good.len() - 1], 4, sizes), "are too few"),
        (refused(&good, 5, sizes), "have 4 bits, not 5"),
        (refused(&good, 4, [24, OUTPUTS, INPUTS]), "in groups of 24"),
        (refused(&good, 4, [GROUP, 17, INPUTS]), "are too few"),
        (refused(&with(0, 1), 4, sizes), "not torchao's"),
        (refused(&with(1, 3), 4, sizes), "packed as Kleidi"),
        (refused(&with(1, 77), 4, sizes), "way 77"),
        (refused(&with(5, 4), 4, sizes), "in tiles of 4"),
    ];
    for (message, expected) in cases {
        assert!(message.contains(expected), "{message}");
    }
    let huge = i32::MAX as usize / 16 * 16;
    let message = linear(&good, 4, [GROUP, huge, INPUTS], &input).unwrap_err();
    assert!(message.to_string().contains("are too few"), "{message}");
}

/// Packs weights without zero points and biases as torchao does.
pub(super) fn pack(
    bits: usize,
    [outputs, inputs, group]: [usize; 3],
    integer: impl Fn(usize) -> i8,
    scale: impl Fn(usize) -> f32,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut header = [0; 16];
    header[..8].copy_from_slice(&[MAGIC, 1, bits as i32, 0, 0, 8, 16, 2]);
    bytes.extend(header.iter().flat_map(|number| number.to_le_bytes()));
    let packing = Packing::new(bits, 128).unwrap();
    let smallest = if bits < 8 { 1 << (bits - 1) } else { 0 };
    for strip in (0..outputs).step_by(8) {
        for first in (0..inputs).step_by(group) {
            let columns = (strip..strip + 8).map(|column| (column < outputs).then_some(column));
            let columns: Vec<_> = columns.collect();
            for tile in (first..first + group).step_by(16) {
                let mut values = Vec::new();
                for half in [tile, tile + 8] {
                    for column in &columns {
                        values.extend((half..half + 8).map(|row| {
                            let value = column.map_or(0, |column| integer(column * inputs + row));
                            value.cast_unsigned().wrapping_add(smallest)
                        }));
                    }
                }
                let mut packed = vec![0; 16 * bits];
                packing.pack(&values, &mut packed);
                bytes.extend(packed);
            }
            for column in &columns {
                let group = |column| (column * inputs + first) / group;
                let scale = column.map_or(0.0, |column| scale(group(column)));
                bytes.extend(scale.to_le_bytes());
            }
            for column in &columns {
                let sum = column.map_or(0, |column| {
                    let rows = first..first + group;
                    rows.map(|row| i32::from(integer(column * inputs + row)))
                        .sum()
                });
                bytes.extend(sum.to_le_bytes());
            }
        }
    }
    bytes
}

#[test]
fn weights_are_packed_for_these_tests_as_torchao_packs_them() {
    let bytes = pack(4, [OUTPUTS, INPUTS, GROUP], |i| integer(i, 4), scale);
    assert_eq!(bytes, recorded("linear", 4).0);
    let bytes = pack(8, [OUTPUTS, INPUTS, GROUP], |i| integer(i, 8), scale);
    assert_eq!(bytes, recorded("linear", 8).0);
}
