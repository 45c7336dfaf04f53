//! Mixtures of experts: each row goes to some of many small networks, and gets the sum of their
//! results.
//!
//! Upstream quantizes the rows for experts to 8 bits where it has kernels for that, on Arm, and elsewhere
//! takes them as they are. Here they are taken as they are everywhere, which is more precise.

use thalweg_core::{
    DType, KernelCall, KernelRegistry, Result, TensorView, bail, ensure, identity_order,
};

use super::strips::{COLUMNS, Strips};
use super::{dot, header, size};
use crate::layout::order::{fill_in_order, laid_out};
use crate::operator::pure;
use crate::simd::vectorized;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "llama::quantized_moe_ffn.out(Tensor x, Tensor gate_weight, Tensor expert_bias, \
         Tensor packed_w13, Tensor packed_w2, int num_activated_experts, int num_experts, \
         int hidden_dim, int dim, int group_size, int weight_nbit, str score_func, \
         float route_scale, *, Tensor(a!) out) -> Tensor(a!)",
        experts,
    )?);
    Ok(())
}

fn experts(call: &KernelCall<'_>) -> Result<()> {
    let layer = Layer::new(call)?;
    let (rows, dim) = (layer.rows.len() / layer.dim, layer.dim);
    let mut out = call.output(13, &[rows, dim])?;
    let routes = layer.route(call, rows)?;
    let mut memory = Memory::new(call, &layer, routes.most())?;
    fill_in_order::<f32>(call, &mut out, identity_order(2)?, |out| {
        out.fill(0.0);
        // In the order of experts, in which upstream adds what they make.
        for expert in 0..layer.experts {
            let pairs = routes.of(expert);
            if pairs.is_empty() {
                continue;
            }
            let made = layer.run(call.threads(), expert, pairs, &mut memory)?;
            for (at, &pair) in pairs.iter().enumerate() {
                let row = pair as usize / layer.active;
                let gate = routes.gates[pair as usize];
                let target = out[row * dim..][..dim].chunks_mut(COLUMNS);
                for (strip, target) in target.enumerate() {
                    let made = &made[(strip * pairs.len() + at) * COLUMNS..][..COLUMNS];
                    for (target, made) in target.iter_mut().zip(made) {
                        *target += gate * made;
                    }
                }
            }
        }
        Ok(())
    })
}

/// The arguments of a layer of experts.
struct Layer<'a> {
    rows: &'a [f32],
    gate: &'a [f32],
    /// A bias of the scores by which experts are chosen, or nothing.
    bias: &'a [f32],
    /// For each expert, the packed weights of the projections to the hidden elements: first those that
    /// are activated, then those that they are multiplied with.
    up: &'a [u8],
    /// For each expert, the packed weights of the projection back.
    down: &'a [u8],
    /// The number of experts that each row goes to.
    active: usize,
    experts: usize,
    hidden: usize,
    dim: usize,
    group: usize,
    bits: usize,
    scoring: Scoring,
}

/// The function that makes factors of the scores of experts.
#[derive(Clone, Copy)]
enum Scoring {
    /// Each score's sigmoid; those of the chosen are scaled so that their sum is this.
    Sigmoid(f32),
    /// The softmax of the scores of those that are chosen.
    Softmax,
}

impl<'a> Layer<'a> {
    fn new(call: &'a KernelCall<'_>) -> Result<Self> {
        let (rows, gate, bias) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
        let (up, down) = (call.tensor(3)?, call.tensor(4)?);
        let [active, experts, hidden, dim, group] = [
            size(call, 5)?,
            size(call, 6)?,
            size(call, 7)?,
            size(call, 8)?,
            size(call, 9)?,
        ];
        ensure!(
            rows.rank() == 2 && rows.sizes()[1] == dim && gate.sizes() == [experts, dim],
            InvalidInput,
            "rows of shape {:?} and a router of shape {:?} do not fit {experts} experts for rows of \
             {dim} elements",
            rows.sizes(),
            gate.sizes()
        );
        ensure!(
            active <= experts,
            InvalidInput,
            "{active} of {experts} experts cannot be chosen"
        );
        ensure!(
            bias.numel() == 0 || bias.sizes() == [experts],
            InvalidInput,
            "biases of shape {:?} do not fit {experts} experts",
            bias.sizes()
        );
        let scoring = match call.string(11)? {
            "sigmoid" => Scoring::Sigmoid(call.double(12)? as f32),
            "softmax" if bias.numel() == 0 => Scoring::Softmax,
            "softmax" => bail!(
                InvalidInput,
                "scores that are turned into factors by softmax cannot have biases"
            ),
            other => bail!(
                InvalidInput,
                "scores can be turned into factors by \"sigmoid\" or \"softmax\", not by {other:?}"
            ),
        };
        let bits = match call.int(10)? {
            4 => 4,
            8 => 8,
            other => bail!(
                Unsupported,
                "experts with weights of {other} bits, not 4 or 8"
            ),
        };
        let packed = |weights: &TensorView<'a>| {
            ensure!(
                weights.sizes().first() == Some(&experts),
                InvalidInput,
                "packed weights of shape {:?} are not those of {experts} experts",
                weights.sizes()
            );
            header::bytes(weights, DType::U8, 2)
        };
        Ok(Self {
            rows: laid_out(call, rows, identity_order(2)?)?,
            gate: laid_out(call, gate, identity_order(2)?)?,
            bias: if bias.numel() == 0 { &[] } else { bias.data()? },
            up: packed(&up)?,
            down: packed(&down)?,
            active,
            experts,
            hidden,
            dim,
            group,
            bits,
            scoring,
        })
    }

    /// Chooses experts for all rows.
    fn route(&self, call: &'a KernelCall<'_>, rows: usize) -> Result<Routes<'a>> {
        let pairs = rows.saturating_mul(self.active);
        ensure!(
            u32::try_from(pairs).is_ok(),
            Unsupported,
            "{rows} rows that go to {} experts each",
            self.active
        );
        let chosen = call.temporary::<u32>(pairs)?;
        let gates = call.temporary::<f32>(pairs)?;
        let scores = call.temporary::<f32>(self.experts)?;
        let ranks = call.temporary::<f32>(self.experts)?;
        let targets = chosen
            .chunks_exact_mut(self.active)
            .zip(gates.chunks_exact_mut(self.active));
        for (row, (chosen, gates)) in self.rows.chunks_exact(self.dim).zip(targets) {
            vectorized(
                #[inline(always)]
                || {
                    for (score, gate) in scores.iter_mut().zip(self.gate.chunks_exact(self.dim)) {
                        *score = dot(row, gate);
                    }
                },
            );
            if let Scoring::Sigmoid(_) = self.scoring {
                scores.iter_mut().for_each(|score| *score = sigmoid(*score));
            }
            ranks.copy_from_slice(scores);
            for (rank, bias) in ranks.iter_mut().zip(self.bias) {
                *rank += bias;
            }
            choose(ranks, chosen);
            for (gate, &expert) in gates.iter_mut().zip(chosen.iter()) {
                *gate = scores[expert as usize];
            }
            match self.scoring {
                Scoring::Sigmoid(sum) => scale_to(gates, sum),
                Scoring::Softmax => softmax(gates),
            }
        }
        Routes::new(call, self.experts, chosen, gates)
    }

    /// Runs an expert on the rows of some pairs. The result is in strips of columns.
    fn run<'m>(
        &self,
        threads: usize,
        expert: usize,
        pairs: &[u32],
        memory: &'m mut Memory<'_>,
    ) -> Result<&'m [f32]> {
        let (count, hidden) = (pairs.len(), self.hidden);
        let up = self.weights(self.up, expert, [2 * hidden, self.dim])?;
        let down = self.weights(self.down, expert, [self.dim, hidden])?;
        let rows = &mut memory.rows[..count * self.dim];
        for (target, &pair) in rows.chunks_exact_mut(self.dim).zip(pairs) {
            let row = pair as usize / self.active;
            target.copy_from_slice(&self.rows[row * self.dim..][..self.dim]);
        }
        let both = &mut memory.both[..up.count() * COLUMNS * count];
        up.multiply(threads, rows, both, memory.scratch)?;
        let middle = &mut memory.middle[..count * hidden];
        let element = |row: usize, column: usize| {
            both[(column / COLUMNS * count + row) * COLUMNS + column % COLUMNS]
        };
        for (row, middle) in middle.chunks_exact_mut(hidden).enumerate() {
            for (column, middle) in middle.iter_mut().enumerate() {
                let value = element(row, column);
                *middle = value * sigmoid(value) * element(row, hidden + column);
            }
        }
        let made = &mut memory.made[..down.count() * COLUMNS * count];
        down.multiply(threads, middle, made, memory.scratch)?;
        Ok(made)
    }

    fn weights(&self, packed: &'a [u8], expert: usize, [n, k]: [usize; 2]) -> Result<Strips<'a>> {
        let bytes = packed.len() / self.experts;
        let packed = &packed[expert * bytes..][..bytes];
        Strips::new(packed, self.bits, [n, k, self.group])
    }
}

/// Pairs of a row and an expert that it goes to: pair `p` has row `p / active`.
struct Routes<'a> {
    /// The factor of each pair's result.
    gates: &'a [f32],
    /// The pairs, sorted by expert.
    sorted: &'a [u32],
    /// The end of each expert's pairs in `sorted`.
    ends: &'a [u32],
}

impl<'a> Routes<'a> {
    fn new(
        call: &'a KernelCall<'_>,
        experts: usize,
        chosen: &[u32],
        gates: &'a [f32],
    ) -> Result<Self> {
        let sorted = call.temporary::<u32>(chosen.len())?;
        let ends = call.temporary::<u32>(experts)?;
        ends.fill(0);
        for &expert in chosen {
            ends[expert as usize] += 1;
        }
        let mut begin = 0;
        for end in ends.iter_mut() {
            let count = *end;
            *end = begin;
            begin += count;
        }
        // Each begins where the one before ends, and ends where it has got to.
        for (pair, &expert) in (0..).zip(chosen) {
            let place = &mut ends[expert as usize];
            sorted[*place as usize] = pair;
            *place += 1;
        }
        Ok(Self {
            gates,
            sorted,
            ends,
        })
    }

    fn of(&self, expert: usize) -> &'a [u32] {
        let begin = match expert {
            0 => 0,
            _ => self.ends[expert - 1],
        };
        &self.sorted[begin as usize..self.ends[expert] as usize]
    }

    /// The most pairs that one expert has.
    fn most(&self) -> usize {
        let counts = (0..self.ends.len()).map(|expert| self.of(expert).len());
        counts.max().unwrap_or(0)
    }
}

/// Memory for what one expert does.
struct Memory<'a> {
    /// The rows that it gets.
    rows: &'a mut [f32],
    /// Both projections of them, in strips.
    both: &'a mut [f32],
    /// The activated hidden elements, to be projected back.
    middle: &'a mut [f32],
    /// The result, in strips.
    made: &'a mut [f32],
    /// Weights, as floats.
    scratch: &'a mut [f32],
}

impl<'a> Memory<'a> {
    fn new(call: &'a KernelCall<'_>, layer: &Layer<'_>, rows: usize) -> Result<Self> {
        let floats = |columns: usize| call.temporary::<f32>(rows.saturating_mul(columns));
        let widest = layer.dim.max(layer.hidden) * COLUMNS;
        Ok(Self {
            rows: floats(layer.dim)?,
            both: floats((2 * layer.hidden).next_multiple_of(COLUMNS))?,
            middle: floats(layer.hidden)?,
            made: floats(layer.dim.next_multiple_of(COLUMNS))?,
            scratch: call.temporary(widest.saturating_mul(call.threads()))?,
        })
    }
}

/// Chooses the places of the highest ranks, highest first, and the first of equal ones. What is not a
/// number is chosen when nothing else is left.
fn choose(ranks: &[f32], chosen: &mut [u32]) {
    for at in 0..chosen.len() {
        let (before, rest) = chosen.split_at_mut(at);
        let left = || {
            (0..)
                .zip(ranks)
                .filter(|(place, _)| !before.contains(place))
        };
        let mut best = None;
        for (place, &rank) in left() {
            if best.map_or(rank >= f32::NEG_INFINITY, |(_, highest)| rank > highest) {
                best = Some((place, rank));
            }
        }
        let first = left().next().map(|(place, _)| place);
        let Some(best) = best.map(|(place, _)| place).or(first) else {
            return;
        };
        rest[0] = best;
    }
}

/// Scales numbers so that their sum is `sum`.
fn scale_to(numbers: &mut [f32], sum: f32) {
    let total: f32 = numbers.iter().sum();
    let total = if total < f32::MIN_POSITIVE {
        f32::MIN_POSITIVE
    } else {
        total
    };
    let scale = sum / total;
    numbers.iter_mut().for_each(|number| *number *= scale);
}

fn softmax(numbers: &mut [f32]) {
    let highest = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for number in numbers.iter_mut() {
        *number = (*number - highest).exp();
    }
    let total: f32 = numbers.iter().sum();
    numbers.iter_mut().for_each(|number| *number /= total);
}

/// The sigmoid, without an exponential of a positive number, which could overflow.
fn sigmoid(x: f32) -> f32 {
    let exponential = (-x.abs()).exp();
    let numerator = if x >= 0.0 { 1.0 } else { exponential };
    numerator / (1.0 + exponential)
}
