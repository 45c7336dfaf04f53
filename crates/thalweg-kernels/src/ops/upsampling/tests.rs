//! Numbers are results of PyTorch.

use thalweg_core::{Argument, Result, Tensor};

use super::register;
use crate::testing::{assert_close, in_order, invoke, list, numbers, out_in_order};

fn antialiased(
    input: &Tensor,
    size: [i64; 2],
    align_corners: bool,
    factors: Option<[f64; 2]>,
) -> Result<Argument> {
    let [height, width] = match factors {
        Some(factors) => factors.map(Argument::from),
        None => [Argument::None, Argument::None],
    };
    let out = out_in_order(input.dtype(), input.dim_order());
    let arguments = vec![
        input.into(),
        list(&size),
        align_corners.into(),
        height,
        width,
        out,
    ];
    let results = invoke(register, "aten::_upsample_bilinear2d_aa.out", arguments)?;
    Ok(results[5].clone())
}

#[test]
fn a_smaller_image_is_made_of_all_pixels() {
    let input = numbers(&[1, 1, 5, 6]);
    let expected = [0.071_429, 0.625, -0.857_143, 0.142_857, 0.3125, -0.142_857];
    assert_close(
        &antialiased(&input, [2, 3], false, None).unwrap(),
        &expected,
    );
    let aligned = [
        0.185_185, 0.191_111, -0.711_111, 0.611_111, -0.013_333, 0.844_444,
    ];
    assert_close(&antialiased(&input, [2, 3], true, None).unwrap(), &aligned);
    let scaled = [-0.071_429, 0.474_286, -2.128_571, 0.25, -0.08, 0.35];
    let factors = Some([0.5, 0.4]);
    assert_close(
        &antialiased(&input, [2, 3], false, factors).unwrap(),
        &scaled,
    );
}

#[test]
fn a_larger_image_is_blended() {
    let expected = [
        -5.0, -3.25, 0.25, 2.0, -3.5, -1.75, 1.75, 3.5, -2.0, -0.25, 3.25, 5.0,
    ];
    let result = antialiased(&numbers(&[1, 1, 2, 2]), [3, 4], false, None);
    assert_close(&result.unwrap(), &expected);
}

#[test]
fn channels_that_lie_last_are_made_smaller_alike() {
    let input = numbers(&[2, 3, 5, 6]);
    let first = antialiased(&input, [3, 2], false, None).unwrap();
    let last = antialiased(&in_order(&input, &[0, 2, 3, 1]), [3, 2], false, None).unwrap();
    assert_close(&last, &crate::testing::floats(&first));
}

#[test]
fn an_empty_batch_stays_empty_and_an_empty_image_is_refused() {
    let result = antialiased(&numbers(&[0, 1, 5, 6]), [2, 3], false, None).unwrap();
    assert_eq!(result.tensor().unwrap().sizes(), [0, 1, 2, 3]);
    assert!(antialiased(&numbers(&[1, 1, 0, 6]), [2, 3], false, None).is_err());
}
