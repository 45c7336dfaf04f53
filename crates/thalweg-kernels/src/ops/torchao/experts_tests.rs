//! Layers of experts, against their definition. Weights are packed by these tests.

use std::sync::LazyLock;

use thalweg_core::{DType, Result, Tensor};

use super::register;
use super::tests::{assert_near, element, elements, int, integer, pack, scale};
use crate::testing::{floats, invoke, out};

/// A layer of experts, and its arguments.
#[derive(Clone)]
struct Experts {
    count: usize,
    active: usize,
    hidden: usize,
    dim: usize,
    bits: usize,
    rows: Vec<f32>,
    gate: Vec<f32>,
    bias: Vec<f32>,
    scoring: &'static str,
    route_scale: f64,
}

static LAYER: LazyLock<Experts> = LazyLock::new(|| Experts {
    count: 5,
    active: 2,
    hidden: 32,
    dim: 48,
    bits: 4,
    rows: elements(7, 48),
    gate: (0..5 * 48).map(|i| element(i * 3 + 1) / 32.0).collect(),
    bias: Vec::new(),
    scoring: "sigmoid",
    route_scale: 2.5,
});

impl Experts {
    const GROUP: usize = 16;

    fn run(&self) -> Result<Vec<f32>> {
        let weights = |offset: usize, [outputs, inputs]: [usize; 2]| {
            let all = (0..self.count).flat_map(|expert| {
                let at = expert * 977 + offset;
                let integer = |i| integer(at + i, self.bits);
                let scale = |i| scale(at + i) / 8.0;
                pack(self.bits, [outputs, inputs, Self::GROUP], integer, scale)
            });
            let all: Vec<_> = all.collect();
            Tensor::from_slice(&all, &[self.count, all.len() / self.count]).unwrap()
        };
        let arguments = vec![
            Tensor::from_slice(&self.rows, &[self.rows.len() / self.dim, self.dim])
                .unwrap()
                .into(),
            Tensor::from_slice(&self.gate, &[self.count, self.dim])
                .unwrap()
                .into(),
            Tensor::from_slice(&self.bias, &[self.bias.len()])
                .unwrap()
                .into(),
            weights(0, [2 * self.hidden, self.dim]).into(),
            weights(5, [self.dim, self.hidden]).into(),
            int(self.active),
            int(self.count),
            int(self.hidden),
            int(self.dim),
            int(Self::GROUP),
            int(self.bits),
            self.scoring.into(),
            self.route_scale.into(),
            out(DType::F32, 2),
        ];
        let results = invoke(register, "llama::quantized_moe_ffn.out", arguments)?;
        Ok(floats(&results[13]))
    }

    fn defined(&self) -> Vec<f64> {
        let rows = self.rows.chunks_exact(self.dim);
        rows.flat_map(|row| self.defined_row(row)).collect()
    }

    fn defined_row(&self, row: &[f32]) -> Vec<f64> {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let row: Vec<_> = row.iter().copied().map(f64::from).collect();
        let gates = self.gate.chunks_exact(self.dim);
        let scores = gates.map(|gate| {
            let products = gate.iter().zip(&row).map(|(a, b)| f64::from(*a) * b);
            let score = products.sum::<f64>();
            if self.scoring == "sigmoid" {
                sigmoid(score)
            } else {
                score
            }
        });
        let scores: Vec<_> = scores.collect();
        let rank =
            |expert: usize| scores[expert] + self.bias.get(expert).copied().map_or(0.0, f64::from);
        let mut chosen: Vec<_> = (0..self.count).collect();
        chosen.sort_by(|a, b| rank(*b).total_cmp(&rank(*a)));
        chosen.truncate(self.active);
        let factor = |expert: usize| {
            if self.scoring == "sigmoid" {
                let total: f64 = chosen.iter().map(|&expert| scores[expert]).sum();
                scores[expert] / total * self.route_scale
            } else {
                let total: f64 = chosen.iter().map(|&expert| scores[expert].exp()).sum();
                scores[expert].exp() / total
            }
        };
        let mut sums = vec![0.0; self.dim];
        for &expert in &chosen {
            let project = |offset: usize, x: &[f64], column: usize| -> f64 {
                let at = expert * 977 + offset;
                let terms = x.iter().enumerate().map(|(row, x)| {
                    let i = column * x_len(offset, self) + row;
                    let scale = scale(at + i / Self::GROUP) / 8.0;
                    f64::from(integer(at + i, self.bits)) * f64::from(scale) * x
                });
                terms.sum()
            };
            let hidden = (0..self.hidden).map(|at| {
                let value = project(0, &row, at);
                value * sigmoid(value) * project(0, &row, self.hidden + at)
            });
            let hidden: Vec<_> = hidden.collect();
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum += factor(expert) * project(5, &hidden, column);
            }
        }
        sums
    }
}

fn x_len(offset: usize, layer: &Experts) -> usize {
    if offset == 0 { layer.dim } else { layer.hidden }
}

#[test]
fn each_row_gets_what_its_experts_make_of_it() {
    let biased = Experts {
        bias: vec![0.5, -0.5, 0.0, 0.25, -0.125],
        ..LAYER.clone()
    };
    let softmax = Experts {
        scoring: "softmax",
        ..LAYER.clone()
    };
    let eight_bits = Experts {
        bits: 8,
        active: 5,
        ..LAYER.clone()
    };
    let none = Experts {
        rows: Vec::new(),
        ..LAYER.clone()
    };
    for layer in [LAYER.clone(), biased, softmax, eight_bits, none] {
        let what = format!("{}, {:?}, {} bits", layer.scoring, layer.bias, layer.bits);
        assert_near(&layer.run().unwrap(), layer.defined(), &what);
    }
}

#[test]
fn a_bias_chooses_experts_but_is_not_in_their_factors() {
    let biased = Experts {
        active: 1,
        bias: vec![0.0, 0.0, 0.0, 10.0, 0.0],
        ..LAYER.clone()
    };
    let only = |expert: usize| {
        let gate = LAYER.gate.chunks_exact(LAYER.dim).enumerate();
        let gate = gate.flat_map(|(at, gate)| {
            let sign = if at == expert { 0.0 } else { -1000.0 };
            gate.iter().map(move |_| sign)
        });
        Experts {
            active: 1,
            rows: LAYER.rows.iter().map(|x| x.abs()).collect(),
            gate: gate.collect(),
            ..LAYER.clone()
        }
    };
    let positive = Experts {
        rows: LAYER.rows.iter().map(|x| x.abs()).collect(),
        ..biased
    };
    assert_eq!(positive.run().unwrap(), only(3).run().unwrap());
}

#[test]
fn rows_that_are_no_numbers_still_have_experts() {
    let mut layer = LAYER.clone();
    layer.rows[3] = f32::NAN;
    let (results, good) = (layer.run().unwrap(), LAYER.run().unwrap());
    assert!(
        results[..layer.dim].iter().all(|x| x.is_nan()),
        "{results:?}"
    );
    assert_eq!(results[layer.dim..], good[layer.dim..]);
}

#[test]
fn experts_that_do_not_fit_are_refused() {
    let message = |layer: Experts| layer.run().unwrap_err().to_string();
    let many = Experts {
        active: 6,
        ..LAYER.clone()
    };
    assert!(message(many).contains("6 of 5 experts"));
    let biased = Experts {
        scoring: "softmax",
        bias: vec![0.0; 5],
        ..LAYER.clone()
    };
    assert!(message(biased).contains("cannot have biases"));
    let other = Experts {
        scoring: "relu",
        ..LAYER.clone()
    };
    assert!(message(other).contains("not by \"relu\""));
    let bits = Experts {
        bits: 3,
        ..LAYER.clone()
    };
    assert!(message(bits).contains("weights of 3 bits"));
    let bias = Experts {
        bias: vec![0.0; 4],
        ..LAYER.clone()
    };
    assert!(message(bias).contains("biases of shape [4]"));
}
