//! Expected values are PyTorch's (`torch.ops.quantized_decomposed`).

use thalweg_core::{Argument, DType, KernelRegistry, Result, Tensor, f16};

fn run(operator: &str, arguments: Vec<Argument>) -> Result<Vec<Tensor>> {
    let mut registry = KernelRegistry::new();
    super::register(&mut registry).unwrap();
    let operator = format!("quantized_decomposed::{operator}");
    let kernel = registry.get(&operator).unwrap();
    let written: Vec<_> = kernel
        .signature()
        .parameters()
        .iter()
        .map(|p| p.written)
        .collect();
    let results = kernel.invoke(arguments)?;
    let outputs = results.iter().zip(written).filter(|(_, written)| *written);
    outputs
        .map(|(result, _)| result.tensor().cloned())
        .collect()
}

fn floats(data: &[f32], sizes: &[usize]) -> Argument {
    Tensor::from_slice(data, sizes).unwrap().into()
}

fn out(dtype: DType, rank: usize) -> Argument {
    Tensor::zeros(dtype, &vec![0; rank]).unwrap().into()
}

const I8: i64 = 1;

fn quantized(data: &[f32], scale: f64, zero_point: i64) -> Vec<i8> {
    let limits = [(-128).into(), 127.into(), I8.into()].to_vec();
    let arguments = [
        vec![floats(data, &[data.len()]), scale.into(), zero_point.into()],
        limits,
        vec![out(DType::I8, 1)],
    ];
    let results = run("quantize_per_tensor.out", arguments.concat()).unwrap();
    results[0].data::<i8>().unwrap().to_vec()
}

#[test]
fn halves_go_to_the_even_one_and_what_is_too_large_is_clamped() {
    let data = [0.5, 1.5, 2.5, -0.5, -1.5, 1e9, -1e9, f32::INFINITY];
    assert_eq!(quantized(&data, 1.0, 0), [0, 2, 2, 0, -2, 127, -128, 127]);
    assert_eq!(quantized(&[0.5, -0.5, 1.0], 1.0, 3), [3, 3, 4]);
}

#[test]
fn rounding_agrees_with_the_exact_one_everywhere() {
    for x in [
        0.0,
        0.49999997,
        0.5,
        8388607.5,
        8388608.0,
        1e30,
        -4194304.5,
        f32::INFINITY,
    ] {
        assert_eq!(super::round(x), x.round_ties_even());
        assert_eq!(super::round(-x), (-x).round_ties_even());
    }
    assert!(super::round(f32::NAN).is_nan());
}

#[test]
fn limits_must_lie_within_the_type() {
    for (min, max) in [(-129, 127), (-128, 128), (3, 2)] {
        let arguments = vec![
            floats(&[1.0], &[1]),
            1.0.into(),
            0.into(),
            min.into(),
            max.into(),
            I8.into(),
            out(DType::I8, 1),
        ];
        assert!(
            run("quantize_per_tensor.out", arguments).is_err(),
            "{min} {max}"
        );
    }
}

#[test]
fn each_channel_has_its_own_scale() {
    let x = Tensor::from_slice(&[1i8, 2, 3, 4], &[2, 2]).unwrap();
    let dequantized = |axis: i64, zero_points: Argument| {
        let arguments = vec![
            (&x).into(),
            floats(&[0.5, 2.0], &[2]),
            zero_points,
            axis.into(),
            (-128).into(),
            127.into(),
            I8.into(),
            Argument::None,
            out(DType::F32, 2),
        ];
        let results = run("dequantize_per_channel.out", arguments).unwrap();
        results[0].data::<f32>().unwrap().to_vec()
    };
    let zero_points = Tensor::from_slice(&[1i64, -1], &[2]).unwrap();
    assert_eq!(dequantized(0, (&zero_points).into()), [0.0, 0.5, 8.0, 10.0]);
    assert_eq!(dequantized(-1, zero_points.into()), [0.0, 6.0, 1.0, 10.0]);
    assert_eq!(dequantized(0, Argument::None), [0.5, 1.0, 6.0, 8.0]);
}

#[test]
fn scales_are_as_many_as_channels() {
    let x = Tensor::from_slice(&[1i8, 2, 3, 4], &[2, 2]).unwrap();
    let arguments = vec![
        x.into(),
        floats(&[0.5], &[1]),
        Argument::None,
        0.into(),
        (-128).into(),
        127.into(),
        I8.into(),
        Argument::None,
        out(DType::F32, 2),
    ];
    let error = run("dequantize_per_channel.out", arguments).unwrap_err();
    assert_eq!(
        error.message(),
        "there are 2 channels to quantize, and 1 scales"
    );
}

#[test]
fn a_chosen_scale_covers_the_values_and_zero() {
    let choose = |data: &[f32]| {
        let arguments = vec![
            floats(data, &[data.len()]),
            (-128).into(),
            127.into(),
            1e-5.into(),
            I8.into(),
            out(DType::F64, 1),
            out(DType::I64, 1),
        ];
        let results = run("choose_qparams.Tensor_out", arguments)?;
        Ok::<_, thalweg_core::Error>((
            results[0].data::<f64>().unwrap()[0],
            results[1].data::<i64>().unwrap()[0],
        ))
    };
    assert_eq!(
        choose(&[-1.0, 0.0, 3.0]).unwrap(),
        (0.01568627543747425, -64)
    );
    assert_eq!(choose(&[1.0, 2.0]).unwrap(), (0.007843137718737125, -128));
    assert_eq!(choose(&[0.0, 0.0]).unwrap(), (9.999999747378752e-06, -128));
    assert!(choose(&[]).is_err());
}

#[test]
fn rows_of_four_bits_have_the_upper_half_first() {
    let weight = Tensor::from_slice(&[0x0fu8, 0x80], &[2, 1]).unwrap();
    let index = Tensor::from_slice(&[1i64, 0], &[2]).unwrap();
    let arguments = vec![
        weight.into(),
        floats(&[0.5, 1.0], &[2]),
        Argument::None,
        (-8).into(),
        7.into(),
        index.into(),
        out(DType::F32, 2),
    ];
    let results = run("embedding_4bit.out", arguments).unwrap();
    assert_eq!(results[0].data::<f32>().unwrap(), [0.0, -8.0, -4.0, 3.5]);
}

#[test]
fn rows_of_bytes_are_calculated_in_the_type_of_the_scales() {
    let weight = Tensor::from_slice(&[100i8, -3], &[1, 2]).unwrap();
    let scales = Tensor::from_slice(&[f16::from_f32(0.1)], &[1]).unwrap();
    let embed = |index: i64| {
        let index = Tensor::from_slice(&[index], &[1]).unwrap();
        let arguments = vec![
            (&weight).into(),
            (&scales).into(),
            Argument::None,
            (-128).into(),
            127.into(),
            index.into(),
            6.into(),
            out(DType::F32, 2),
        ];
        run("embedding_byte.dtype_out", arguments)
    };
    let results = embed(0).unwrap();
    assert_eq!(results[0].data::<f32>().unwrap(), [10.0, -307.0 / 1024.0]);
    assert!(embed(1).is_err() && embed(-1).is_err());
}
