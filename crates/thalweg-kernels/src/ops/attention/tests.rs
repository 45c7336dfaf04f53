//! Numbers are results of PyTorch's softmax and products, in f64.

use thalweg_core::{Argument, DType, Result, Tensor, bf16};

use super::register;
use crate::testing::{assert_close, floats, invoke, out};

/// Numbers that differ, as many as the shape has.
fn spread(sizes: &[usize], step: usize, modulus: usize, less: f32, by: f32) -> Tensor {
    let count = sizes.iter().product();
    let data: Vec<f32> = (0..count)
        .map(|i: usize| ((i * step % modulus) as f32 - less) / by)
        .collect();
    Tensor::from_slice(&data, sizes).unwrap()
}

fn inputs() -> [Tensor; 3] {
    [
        spread(&[1, 2, 4, 2], 7, 11, 5.0, 4.0),
        spread(&[1, 5, 2, 2], 5, 7, 3.0, 2.0),
        spread(&[1, 5, 2, 2], 3, 13, 6.0, 2.0),
    ]
}

struct How {
    start: i64,
    mask: Option<Tensor>,
    is_causal: bool,
    scale: Option<f64>,
}

impl How {
    fn arguments(self) -> [Argument; 5] {
        [
            self.start.into(),
            self.mask.map_or(Argument::None, Argument::from),
            0.0.into(),
            self.is_causal.into(),
            self.scale.map_or(Argument::None, Argument::from),
        ]
    }
}

const CAUSAL: How = How {
    start: 1,
    mask: None,
    is_causal: true,
    scale: None,
};

fn attention(inputs: &[Tensor; 3], how: How) -> Result<Argument> {
    let mut arguments: Vec<Argument> = inputs.iter().map(Argument::from).collect();
    arguments.extend(how.arguments());
    arguments.push(out(inputs[0].dtype(), 4));
    let results = invoke(register, "llama::custom_sdpa.out", arguments)?;
    Ok(results[8].clone())
}

const AFTER_ONE: [f32; 16] = [
    -2.665_157, -1.527_904, -1.907_773, -1.591_019, -0.272_04, 1.227_96, -0.206_26, 1.293_74,
    -2.073_98, -1.622_799, 1.047_362, -2.080_05, -0.345_014, 1.154_986, -0.419_95, 1.080_05,
];

#[test]
fn causal_queries_attend_to_what_is_before_them() {
    assert_close(&attention(&inputs(), CAUSAL).unwrap(), &AFTER_ONE);
}

#[test]
fn queries_that_are_not_causal_attend_to_all_that_is_filled() {
    let how = How {
        start: 2,
        is_causal: false,
        scale: Some(0.5),
        mask: None,
    };
    let expected = [
        -1.198_306, -1.851_911, -0.412_878, -1.936_229, -0.522_437, 0.977_563, -0.596_452,
        0.903_548, -0.963_588, -1.879_402, 1.362_195, -2.410_229, -0.544_215, 0.955_785,
        -0.626_171, 0.873_829,
    ];
    assert_close(&attention(&inputs(), how).unwrap(), &expected);
}

#[test]
fn a_mask_is_added_and_who_may_see_nothing_sees_zeros() {
    let infinity = f32::INFINITY;
    let mask = [&[0.0, -1.0, 2.0, -infinity, 0.5][..], &[-infinity; 5]].concat();
    let how = How {
        start: 0,
        mask: Some(Tensor::from_slice(&mask, &[2, 5]).unwrap()),
        is_causal: false,
        scale: None,
    };
    let mut expected = [0.0; 16];
    expected[..8].copy_from_slice(&[
        -0.657_193, -1.283_432, 0.258_109, -1.722_045, -0.938_479, 0.561_521, -1.375_927, 0.124_073,
    ]);
    assert_close(&attention(&inputs(), how).unwrap(), &expected);
}

#[test]
fn half_precision_is_computed_in_f32() {
    let half = |tensor: &Tensor| {
        let data: Vec<_> = floats(&tensor.into())
            .into_iter()
            .map(bf16::from_f32)
            .collect();
        Tensor::from_slice(&data, tensor.sizes()).unwrap()
    };
    let result = attention(&inputs().each_ref().map(half), CAUSAL).unwrap();
    let result = result.tensor().unwrap();
    for (value, expected) in result.data::<bf16>().unwrap().iter().zip(AFTER_ONE) {
        assert_eq!(*value, bf16::from_f32(expected));
    }
}

/// More queries and keys than are worked on at a time, against the formula.
#[test]
fn blocks_of_scores_come_to_what_the_whole_matrix_gives() {
    let (queries, start, len) = (150, 450, 3);
    let inputs = [
        spread(&[1, queries, 2, len], 37, 101, 50.0, 20.0),
        spread(&[1, 700, 1, len], 53, 97, 48.0, 20.0),
        spread(&[1, 700, 1, len], 29, 89, 44.0, 10.0),
    ];
    let [q, k, v] = inputs.each_ref().map(|tensor| floats(&tensor.into()));
    let row = |data: &[f32], at: usize| -> Vec<f64> {
        data[at * len..][..len]
            .iter()
            .map(|&x| f64::from(x))
            .collect()
    };
    let mut expected = Vec::new();
    for at in 0..queries * 2 {
        let query = row(&q, at);
        let mut sums = vec![0.0; len + 1];
        for key in 0..=start + at / 2 {
            let score: f64 = query.iter().zip(row(&k, key)).map(|(a, b)| a * b).sum();
            let weight = (score / (len as f64).sqrt()).exp();
            for (sum, value) in sums.iter_mut().zip(row(&v, key).into_iter().chain([1.0])) {
                *sum += weight * value;
            }
        }
        expected.extend(sums[..len].iter().map(|sum| (sum / sums[len]) as f32));
    }
    let how = How {
        start: start as i64,
        ..CAUSAL
    };
    assert_close(&attention(&inputs, how).unwrap(), &expected);
}

#[test]
fn positions_beyond_the_keys_are_refused() {
    let how = How { start: 4, ..CAUSAL };
    let error = attention(&inputs(), how).unwrap_err().to_string();
    assert!(error.contains("2 queries from position 4 on"), "{error}");
    let how = How {
        mask: Some(Tensor::zeros(DType::F32, &[2, 5]).unwrap()),
        ..CAUSAL
    };
    assert!(attention(&inputs(), how).is_err());
}

/// Zero points and scales for the rows of a tensor.
fn row_parameters(sizes: &[usize]) -> [Tensor; 2] {
    let count = sizes[..3].iter().product();
    let zero_points: Vec<i8> = (0..count).map(|i: usize| (i % 3) as i8 - 1).collect();
    let scales: Vec<f32> = (0..count)
        .map(|i: usize| 0.25 * (1 + i % 2) as f32)
        .collect();
    let sizes = [sizes[0], sizes[1], sizes[2], 1];
    [
        Tensor::from_slice(&zero_points, &sizes).unwrap(),
        Tensor::from_slice(&scales, &sizes).unwrap(),
    ]
}

#[test]
fn integers_with_scales_and_zero_points_attend_in_both_layouts() {
    let q = [-5i8, 2, -2, 5, 1, -3, 4, 0];
    let (k, v) = ([-3i8, 2, 0, -2, 3, 1], [-6i8, -3, 0, 3, 6, -4]);
    let expected = [
        -0.978_409, -0.065_455, -1.211_432, -0.438_292, 0.142_26, 0.414_201, 0.642_445, -0.612_216,
    ];
    let arguments = |inputs: [Tensor; 3], parameters: [Tensor; 6], heads_first: bool| {
        let mut arguments: Vec<Argument> = inputs.into_iter().map(Argument::from).collect();
        arguments.extend(CAUSAL.arguments());
        arguments.extend(parameters.into_iter().map(Argument::from));
        arguments.extend([heads_first.into(), out(DType::F32, 4)]);
        arguments
    };
    let tensor = |data: &[i8], sizes: &[usize]| Tensor::from_slice(data, sizes).unwrap();
    let sizes = [[1, 2, 2, 2], [1, 3, 1, 2], [1, 3, 1, 2]];
    let inputs = [
        tensor(&q, &sizes[0]),
        tensor(&k, &sizes[1]),
        tensor(&v, &sizes[2]),
    ];
    let [[qz, qs], [kz, ks], [vz, vs]] = sizes.map(|sizes| row_parameters(&sizes));
    let all = arguments(inputs, [qz.clone(), qs.clone(), kz, ks, vz, vs], false);
    let operator = "llama::custom_quantized_sdpa.out";
    assert_close(&invoke(register, operator, all).unwrap()[15], &expected);

    // Heads and positions exchanged, in inputs and result.
    let exchanged = |data: &[f32]| -> Vec<f32> {
        [0, 2, 1, 3]
            .iter()
            .flat_map(|&row: &usize| data[row * 2..][..2].to_vec())
            .collect()
    };
    let ints: Vec<i8> = exchanged(&q.map(f32::from))
        .iter()
        .map(|&x| x as i8)
        .collect();
    let rows = [0, 2, 1, 3];
    let qz = qz.data::<i8>().unwrap();
    let qs = qs.data::<f32>().unwrap();
    let zero_points: Vec<i8> = rows.iter().map(|&row| qz[row]).collect();
    let scales: Vec<f32> = rows.iter().map(|&row| qs[row]).collect();
    let one = [1, 2, 2, 1];
    let [_, [kz, ks], [vz, vs]] = sizes.map(|sizes| row_parameters(&sizes));
    let flat = |tensor: Tensor, len: usize| {
        Tensor::from_bytes(
            tensor.dtype(),
            &[1, 1, 3, len],
            &[0, 1, 2, 3],
            tensor.view().bytes(),
        )
        .unwrap()
    };
    let inputs = [
        tensor(&ints, &[1, 2, 2, 2]),
        tensor(&k, &[1, 1, 3, 2]),
        tensor(&v, &[1, 1, 3, 2]),
    ];
    let parameters = [
        Tensor::from_slice(&zero_points, &one).unwrap(),
        Tensor::from_slice(&scales, &one).unwrap(),
        flat(kz, 1),
        flat(ks, 1),
        flat(vz, 1),
        flat(vs, 1),
    ];
    let all = arguments(inputs, parameters, true);
    let result = &invoke(register, operator, all).unwrap()[15];
    assert_close(result, &exchanged(&expected));
}

#[test]
fn attention_with_caches_fills_them_first() {
    let [q, k, v] = inputs();
    let part = |tensor: &Tensor, rows: std::ops::Range<usize>| {
        let data = &tensor.data::<f32>().unwrap()[rows.start * 4..rows.end * 4];
        Tensor::from_slice(data, &[1, rows.len(), 2, 2]).unwrap()
    };
    let cache = |tensor: &Tensor| {
        let mut data = tensor.data::<f32>().unwrap().to_vec();
        data[4..].fill(9.0);
        Tensor::from_slice(&data, &[1, 5, 2, 2]).unwrap()
    };
    let mut arguments: Vec<Argument> = vec![
        (&q).into(),
        part(&k, 1..3).into(),
        part(&v, 1..3).into(),
        cache(&k).into(),
        cache(&v).into(),
    ];
    let [start, mask, dropped, causal, scale] = CAUSAL.arguments();
    arguments.extend([
        start,
        2.into(),
        mask,
        dropped,
        causal,
        scale,
        out(DType::F32, 4),
    ]);
    let results = invoke(register, "llama::sdpa_with_kv_cache.out", arguments).unwrap();
    assert_close(&results[11], &AFTER_ONE);
    let filled = floats(&results[3]);
    assert_eq!(filled[..12], k.data::<f32>().unwrap()[..12]);
    assert!(filled[12..].iter().all(|&x| x == 9.0));
}

/// A cache of four positions of zeros, after an update.
fn cached(operator: &str, value: &[f32], rest: Vec<Argument>) -> Result<Vec<f32>> {
    let value = Tensor::from_slice(value, &[1, value.len() / 2, 1, 2]).unwrap();
    let cache = Tensor::zeros(DType::F32, &[1, 4, 1, 2]).unwrap();
    let mut arguments = vec![value.into(), cache.into()];
    arguments.extend(rest);
    arguments.push(out(DType::F32, 1));
    Ok(floats(&invoke(register, operator, arguments)?[1]))
}

#[test]
fn caches_are_written_from_a_position_on() {
    let update =
        |value: &[f32], start: i64| cached("llama::update_cache.out", value, vec![start.into()]);
    let written = update(&[1.0, 2.0, 3.0, 4.0], 1).unwrap();
    assert_eq!(written, [0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 0.0]);
    let error = update(&[1.0, 2.0, 3.0, 4.0], 3).unwrap_err().to_string();
    assert!(error.contains("does not have 2 from 3 on"), "{error}");
    assert!(update(&[1.0, 2.0], -1).is_err());
    let vector = Tensor::zeros(DType::F32, &[4]).unwrap();
    let arguments = vec![
        (&vector).into(),
        vector.into(),
        0.into(),
        out(DType::F32, 1),
    ];
    let error = invoke(register, "llama::update_cache.out", arguments).unwrap_err();
    assert!(error.to_string().contains("do not have batch"), "{error}");
}

#[test]
fn caches_are_written_at_indices() {
    let update = |indices: &[i64]| {
        let indices = Tensor::from_slice(indices, &[1, indices.len()]).unwrap();
        let rest = vec![0.into(), indices.into()];
        cached(
            "llama::update_cache_with_indices.out",
            &[1.0, 2.0, 3.0, 4.0],
            rest,
        )
    };
    assert_eq!(
        update(&[3, 0]).unwrap(),
        [3.0, 4.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]
    );
    assert!(update(&[4, 0]).is_err() && update(&[0, -1]).is_err());
    assert!(update(&[0]).is_err());
}

fn delta_rule(decay: Tensor, operator: &str) -> Result<[Argument; 2]> {
    let tensor = |data: &[f32], sizes: &[usize]| Tensor::from_slice(data, sizes).unwrap();
    let arguments = vec![
        spread(&[1, 2, 2, 2], 7, 11, 5.0, 4.0).into(),
        spread(&[1, 1, 2, 2], 5, 7, 3.0, 4.0).into(),
        spread(&[1, 1, 2, 3], 3, 13, 6.0, 4.0).into(),
        decay.into(),
        tensor(&[0.5, 0.25], &[1, 1, 2]).into(),
        spread(&[1, 1, 2, 3], 7, 11, 5.0, 2.0).into(),
        out(DType::F32, 4),
        out(DType::F32, 4),
    ];
    let results = invoke(register, operator, arguments)?;
    Ok([results[6].clone(), results[7].clone()])
}

#[test]
fn a_state_decays_learns_and_is_asked() {
    let decay = Tensor::from_slice(&[0.5f32, 0.75, 1.0, 0.25], &[1, 1, 2, 2]).unwrap();
    for operator in [
        "llama::gated_delta_rule.out",
        "llama::channelwise_gated_delta_rule.out",
    ] {
        let [result, state] = delta_rule(decay.clone(), operator).unwrap();
        assert_close(
            &result,
            &[
                0.496_094, -0.771_484, 0.173_828, 0.177_124, -0.521_179, 0.125_549, -0.769_531,
                0.001_953, 0.666_016, 0.015_625, 0.710_938, -0.570_312,
            ],
        );
        let expected = [
            0.015_625, 0.710_938, -0.570_312, 0.147_949, -0.132_568, -0.127_686,
        ];
        assert_close(&state, &expected);
    }
}

#[test]
fn one_decay_can_serve_all_channels() {
    let decay = Tensor::from_slice(&[0.5f32, 1.0], &[1, 1, 2]).unwrap();
    let [result, state] = delta_rule(decay, "llama::gated_delta_rule.out").unwrap();
    assert_close(
        &result,
        &[
            0.369_141, -0.796_875, 0.25, 0.501_221, -0.431_641, -0.472_656, -0.388_672, 0.078_125,
            0.4375, -0.101_562, 0.6875, -0.5,
        ],
    );
    let expected = [-0.101_562, 0.6875, -0.5, 0.360_352, -0.070_312, -0.578_125];
    assert_close(&state, &expected);
    let decay = Tensor::from_slice(&[0.5f32, 1.0], &[1, 2]).unwrap();
    assert!(delta_rule(decay, "llama::gated_delta_rule.out").is_err());
}

#[test]
fn queries_without_elements_or_without_keys_are_no_error() {
    // Rows without elements: every score is an empty sum, and results are empty.
    let empty = [[1, 2, 4, 0], [1, 5, 2, 0], [1, 5, 2, 0]];
    let empty = empty.map(|sizes| Tensor::zeros(DType::F32, &sizes).unwrap());
    let result = attention(&empty, CAUSAL).unwrap();
    assert_eq!(result.tensor().unwrap().sizes(), [1, 2, 4, 0]);
    // No keys: nobody has anything to see. Upstream's mask of no keys is no mask.
    let none = Tensor::zeros(DType::F32, &[1, 0, 2, 2]).unwrap();
    let queries = Tensor::zeros(DType::F32, &[1, 0, 4, 2]).unwrap();
    let how = How { start: 0, ..CAUSAL };
    let result = attention(&[queries, none.clone(), none], how).unwrap();
    assert_eq!(result.tensor().unwrap().sizes(), [1, 0, 4, 2]);
}
