//! Numbers are results of PyTorch.

use thalweg_core::{Argument, DType, Result, Tensor};

use super::register;
use crate::testing::{assert_close, floats, in_order, invoke, numbers, out_in_order};

fn look(input: &Tensor, grid: &Tensor, modes: [i64; 2], align: bool) -> Result<Argument> {
    let rank = input.sizes().len();
    let operator = ["aten::grid_sampler_2d.out", "aten::grid_sampler_3d.out"][rank - 4];
    let arguments = vec![
        input.into(),
        grid.into(),
        modes[0].into(),
        modes[1].into(),
        align.into(),
        out_in_order(input.dtype(), input.dim_order()),
    ];
    Ok(invoke(register, operator, arguments)?[5].clone())
}

fn grid() -> Tensor {
    let places = [-1f32, -1.0, 0.2, -0.4, 0.9, 1.2, -1.6, 0.3];
    Tensor::from_slice(&places, &[1, 2, 2, 2]).unwrap()
}

/// Modes of interpolation and padding, whether corners are aligned, and the results at `grid`.
const IMAGES: [([i64; 2], bool, [f32; 8]); 18] = [
    (
        [0, 0],
        false,
        [-1.25, 0.36, -0.7, 0.0, 0.5, 2.74, 0.28, 0.0],
    ),
    (
        [0, 0],
        true,
        [-5.0, 1.08, -3.52, -0.05, 2.0, 1.92, 0.76, -0.12],
    ),
    (
        [0, 1],
        false,
        [-5.0, 0.36, -5.0, -1.25, 2.0, 2.74, 2.0, -0.3],
    ),
    (
        [0, 1],
        true,
        [-5.0, 1.08, -4.4, -0.5, 2.0, 1.92, 0.95, -1.2],
    ),
    (
        [0, 2],
        false,
        [-5.0, 0.36, -5.0, -0.585, 2.0, 2.74, 2.0, 1.135],
    ),
    (
        [0, 2],
        true,
        [-5.0, 1.08, -3.4, -1.13, 2.0, 1.92, 0.08, 2.13],
    ),
    ([1, 0], false, [-5.0, -2.0, 0.0, 0.0, 2.0, 5.0, 0.0, 0.0]),
    ([1, 0], true, [-5.0, 4.0, -5.0, 0.0, 2.0, 0.0, 2.0, 0.0]),
    ([1, 1], false, [-5.0, -2.0, -5.0, 1.0, 2.0, 5.0, 2.0, -3.0]),
    ([1, 1], true, [-5.0, 4.0, -5.0, 1.0, 2.0, 0.0, 2.0, -3.0]),
    ([1, 2], false, [-5.0, -2.0, -5.0, -3.0, 2.0, 5.0, 2.0, 4.0]),
    ([1, 2], true, [-5.0, 4.0, -5.0, -3.0, 2.0, 0.0, 2.0, 4.0]),
    (
        [2, 0],
        false,
        [
            -1.956_055, 0.226_807, -0.798_615, 0.044_444, 1.018_555, 3.995_581, 0.522_549,
            0.028_208,
        ],
    ),
    (
        [2, 0],
        true,
        [
            -5.0, 1.344_672, -4.615_459, 0.018_593, 2.0, 3.316_992, 1.486_152, -0.175_756,
        ],
    ),
    (
        [2, 1],
        false,
        [
            -6.315_43, 0.448_208, -5.561, -0.6065, 2.940_43, 3.494_243, 2.944_854, -0.847_594,
        ],
    ),
    (
        [2, 1],
        true,
        [
            -5.0, 1.474_272, -5.041_772, 0.28097, 2.0, 3.024_959, 1.489_973, -1.911_971,
        ],
    ),
    (
        [2, 2],
        false,
        [
            -7.824_219, 0.448_208, -6.23, -1.137_659, 4.074_219, 3.494_243, 4.030_398, 2.054_049,
        ],
    ),
    (
        [2, 2],
        true,
        [
            -5.0, 1.124_639, -4.563_087, -1.730_527, 2.0, 3.22656, 1.054_832, 2.936_544,
        ],
    ),
];

#[test]
fn images_are_looked_at_in_every_way() {
    let input = numbers(&[1, 2, 3, 4]);
    for (modes, align, expected) in IMAGES {
        for order in [[0, 1, 2, 3], [0, 2, 3, 1]] {
            let result = look(&in_order(&input, &order), &grid(), modes, align).unwrap();
            assert_close(&result, &expected);
        }
    }
}

#[test]
fn volumes_are_looked_at_in_every_way_but_cubic() {
    let input = numbers(&[1, 1, 2, 3, 4]);
    let places = [-0.5f32, 0.2, 0.1, 1.1, -0.3, 0.7];
    let grid = Tensor::from_slice(&places, &[1, 1, 1, 2, 3]).unwrap();
    for (modes, expected) in [
        ([0, 0], [0.05, -0.42]),
        ([0, 1], [0.05, -1.75]),
        ([0, 2], [0.05, -1.75]),
        ([1, 0], [-3.0, 0.0]),
        ([1, 1], [-3.0, -4.0]),
        ([1, 2], [-3.0, -4.0]),
    ] {
        assert_close(&look(&input, &grid, modes, false).unwrap(), &expected);
    }
    let error = look(&input, &grid, [2, 0], false).unwrap_err();
    assert!(
        error.to_string().contains("no interpolation mode 2 in 3"),
        "{error}"
    );
}

#[test]
fn a_place_that_is_not_a_number_is_in_a_corner_or_nowhere() {
    let input = Tensor::from_slice(&[1f32, 2.0, 3.0, 4.0], &[1, 1, 2, 2]).unwrap();
    let grid = Tensor::from_slice(&[f32::NAN; 2], &[1, 1, 1, 2]).unwrap();
    let at = |modes| floats(&look(&input, &grid, modes, false).unwrap())[0];
    assert!(at([0, 0]).is_nan());
    assert_eq!(at([1, 0]), 0.0);
    for edge in [1, 2] {
        assert_eq!((at([0, edge]), at([1, edge])), (1.0, 1.0));
        assert!(at([2, edge]).is_nan());
    }
}

#[test]
fn an_infinite_neighbour_beyond_the_edge_has_no_part() {
    let input = Tensor::from_slice(&[f32::INFINITY, 1.0], &[1, 1, 1, 2]).unwrap();
    let grid = Tensor::from_slice(&[1f32, 0.0], &[1, 1, 1, 2]).unwrap();
    let seen = floats(&look(&input, &grid, [0, 0], true).unwrap());
    assert_eq!(seen, [1.0]);
}

#[test]
fn grids_that_do_not_fit_and_images_without_pixels_are_refused() {
    let grid = grid();
    let error = |input: &[usize]| {
        let input = Tensor::zeros(DType::F32, input).unwrap();
        look(&input, &grid, [0, 0], false).unwrap_err().to_string()
    };
    assert!(error(&[2, 1, 3, 4]).contains("is no grid over"));
    assert!(error(&[1, 1, 0, 4]).contains("nothing to look at"));
}
