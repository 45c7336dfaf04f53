//! Scaled dot product attention of language models over their caches. The matrix of scores is
//! never in memory as a whole.

mod caches;
mod delta;
mod heads;
#[cfg(test)]
mod tests;

use thalweg_core::{
    DType, KernelCall, KernelRegistry, Result, TensorView, TensorViewMut, bail, bf16, ensure, f16,
    identity_order,
};

use self::heads::{Heads, Rows};
use crate::dtype::float::Float;
use crate::layout::order::in_order;
use crate::linalg::{MatmulElement, Matrix, MatrixMut, workspace_within};
use crate::operator::pure;
use crate::ops::softmax::{Exp, maximum};
use crate::parallel::for_each_chunk_with;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "llama::custom_sdpa.out(Tensor query, Tensor key, Tensor value, SymInt start_pos, \
         Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, \
         float? scale=None, *, Tensor(a!) out) -> Tensor(a!)",
        |call| {
            let inputs = [call.tensor(0)?, call.tensor(1)?, call.tensor(2)?];
            let inputs = [
                Rows::of(call, inputs[0], false)?,
                Rows::of(call, inputs[1], false)?,
                Rows::of(call, inputs[2], false)?,
            ];
            attention(call, inputs, Options::read(call, 3, 4)?, 8)
        },
    )?);
    registry.add(pure(
        "llama::sdpa_with_kv_cache.out(Tensor query, Tensor key, Tensor value, \
         Tensor(a!) key_cache, Tensor(b!) value_cache, SymInt start_pos, SymInt seq_len, \
         Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, \
         float? scale=None, *, Tensor(c!) out) -> Tensor(c!)",
        attention_with_caches,
    )?);
    registry.add(pure(
        "llama::custom_quantized_sdpa.out(Tensor query, Tensor key, Tensor value, \
         SymInt start_pos, Tensor? attn_mask=None, float drpout_p=0.0, bool is_causal=False, \
         float? scale=None, Tensor? q_zero_points=None, Tensor? q_scales=None, \
         Tensor? k_zero_points=None, Tensor? k_scales=None, Tensor? v_zero_points=None, \
         Tensor? v_scales=None, bool is_seq_at_dim_2=False, *, Tensor(a!) out) -> Tensor(a!)",
        quantized_attention,
    )?);
    caches::register(registry)?;
    delta::register(registry)
}

fn attention_with_caches(call: &KernelCall<'_>) -> Result<()> {
    let start = call.int(5)?;
    let mut caches = [call.in_place(3)?, call.in_place(4)?];
    for (cache, value) in caches.iter_mut().zip([1, 2]) {
        let value = call.tensor(value)?;
        let value = in_order(call, value, identity_order(value.rank())?)?;
        caches::update(cache, &value, start)?;
    }
    let inputs = [
        Rows::of(call, call.tensor(0)?, false)?,
        Rows::of(call, caches[0].view(), false)?,
        Rows::of(call, caches[1].view(), false)?,
    ];
    attention(call, inputs, Options::read(call, 5, 7)?, 11)
}

fn quantized_attention(call: &KernelCall<'_>) -> Result<()> {
    let positions_second = !call.bool(14)?;
    let inputs = |index: usize| -> Result<Rows<'_>> {
        let tensor = call.tensor(index)?;
        if tensor.dtype() != DType::I8 {
            return Rows::of(call, tensor, !positions_second);
        }
        let at = 8 + 2 * index;
        match (call.optional_tensor(at)?, call.optional_tensor(at + 1)?) {
            (Some(zero_points), Some(scales)) => {
                Rows::quantized(call, tensor, [zero_points, scales], !positions_second)
            }
            _ => bail!(
                InvalidInput,
                "{} is quantized, but has no scales or no zero points",
                call.name(index)
            ),
        }
    };
    let inputs = [inputs(0)?, inputs(1)?, inputs(2)?];
    attention(call, inputs, Options::read(call, 3, 4)?, 15)
}

/// The options of an attention: first position, mask, causality, scale.
struct Options<'a> {
    /// The position of the first query among the keys.
    start: usize,
    /// A number that is added to each score, by query and key.
    mask: Option<TensorView<'a>>,
    is_causal: bool,
    scale: Option<f64>,
}

impl<'a> Options<'a> {
    /// Reads the start, and the arguments from `first` on: mask, dropout probability (which
    /// means nothing in inference), causality, scale.
    fn read(call: &'a KernelCall<'_>, start: usize, first: usize) -> Result<Self> {
        let start = call.int(start)?;
        let options = Self {
            start: match usize::try_from(start) {
                Ok(start) => start,
                Err(_) => bail!(InvalidInput, "there is no position {start}"),
            },
            mask: call.optional_tensor(first)?.filter(|mask| mask.numel() > 0),
            is_causal: call.bool(first + 2)?,
            scale: call.optional_double(first + 3)?,
        };
        ensure!(
            options.mask.is_none() || !options.is_causal,
            InvalidInput,
            "attention is either causal or has a mask"
        );
        Ok(options)
    }
}

impl<'a> Options<'a> {
    /// The number of keys that the queries look at, and the mask for both.
    fn keys(&self, positions: usize, there: usize) -> Result<(usize, Option<Matrix<'a, f32>>)> {
        let keys = match self.mask {
            Some(_) => there,
            None => self.start.saturating_add(positions),
        };
        ensure!(
            keys <= there,
            OutOfBounds,
            "{positions} queries from position {} on look at more keys than the {there} that \
             there are",
            self.start
        );
        let Some(mask) = self.mask else {
            return Ok((keys, None));
        };
        ensure!(
            mask.sizes() == [positions, keys] && mask.is_row_major(),
            InvalidInput,
            "{mask:?} is no mask for {positions} queries and {keys} keys"
        );
        let mask = Matrix::new(mask.data::<f32>()?, [positions, keys], [keys, 1])?;
        Ok((keys, Some(mask)))
    }
}

/// Queries, and keys, of a block.
const QUERIES: usize = 64;
const KEYS: usize = 256;

fn attention(
    call: &KernelCall<'_>,
    [query, key, value]: [Rows<'_>; 3],
    options: Options<'_>,
    out: usize,
) -> Result<()> {
    let Heads {
        batch,
        heads,
        positions,
        len,
    } = query.shape;
    let groups = key.shape.heads;
    ensure!(
        key.shape == value.shape
            && key.shape.batch == batch
            && key.shape.len == len
            && groups > 0
            && heads % groups == 0,
        InvalidInput,
        "queries of {:?} do not attend to keys of {:?} and values of {:?}",
        query.shape,
        key.shape,
        value.shape
    );
    let (keys, mask) = options.keys(positions, key.shape.positions)?;
    let mut out = call.output(out, query.sizes)?;
    ensure!(
        out.is_row_major(),
        Unsupported,
        "attention to {out:?}, which is not row-major"
    );
    if out.numel() == 0 {
        return Ok(());
    }
    let attention = Attention {
        repeats: heads / groups,
        keys,
        start: options.start,
        causal: options.is_causal,
        scale: options.scale.unwrap_or(1.0 / (len as f64).sqrt()) as f32,
        mask,
        query,
        key,
        value,
    };
    // Head by head first, since threads share the work by heads.
    let by_head = call.temporary::<f32>(out.numel())?;
    let threads = call.threads().min(batch.saturating_mul(heads)).max(1);
    let scratch = call.temporary::<f32>(threads.saturating_mul(attention.scratch_len()))?;
    let work = by_head.len().saturating_mul(keys);
    let piece = attention.rows_per_piece().saturating_mul(len);
    for_each_chunk_with(
        threads,
        work,
        by_head,
        piece,
        scratch,
        |index, out, scratch| attention.piece(index, out, scratch),
    )?;
    match out.dtype() {
        DType::F32 => attention.write::<f32>(by_head, &mut out),
        DType::F16 => attention.write::<f16>(by_head, &mut out),
        DType::BF16 => attention.write::<bf16>(by_head, &mut out),
        other => bail!(
            Unsupported,
            "attention does not give elements of type {other}"
        ),
    }
}

struct Attention<'a> {
    query: Rows<'a>,
    key: Rows<'a>,
    value: Rows<'a>,
    /// The heads of queries that share a head of keys and values.
    repeats: usize,
    keys: usize,
    start: usize,
    causal: bool,
    scale: f32,
    mask: Option<Matrix<'a, f32>>,
}

/// Memory for one thread.
struct Scratch<'s> {
    queries: &'s mut [f32],
    rows: &'s mut [f32],
    scores: &'s mut [f32],
    max: &'s mut [f32],
    sum: &'s mut [f32],
    product: &'s mut [f32],
}

impl Attention<'_> {
    fn scratch_len(&self) -> usize {
        (QUERIES + KEYS) * self.query.shape.len + QUERIES * KEYS + 2 * QUERIES + self.product_len()
    }

    /// The workspace for products of queries and keys, and of weights and values.
    fn product_len(&self) -> usize {
        let len = self.query.shape.len;
        let shapes = [[QUERIES, len, KEYS], [QUERIES, KEYS, len]];
        let [scores, sums] = shapes.map(|shape| workspace_within(shape, 1));
        scores.max(sums)
    }

    /// Queries at few positions are taken together over all heads that share keys, so that those
    /// are read once.
    fn rows_per_piece(&self) -> usize {
        let positions = self.query.shape.positions;
        if positions * self.repeats <= QUERIES {
            positions * self.repeats
        } else {
            positions
        }
    }

    /// Computes one head of queries, or all that share a head of keys.
    fn piece(&self, index: usize, out: &mut [f32], scratch: &mut [f32]) -> Result<()> {
        let Heads {
            heads,
            positions,
            len,
            ..
        } = self.query.shape;
        let first_head = index * self.rows_per_piece() / positions;
        let (batch, head) = (first_head / heads, first_head % heads);
        let (queries, scratch) = scratch.split_at_mut(QUERIES * len);
        let (rows, scratch) = scratch.split_at_mut(KEYS * len);
        let (scores, scratch) = scratch.split_at_mut(QUERIES * KEYS);
        let (max, scratch) = scratch.split_at_mut(QUERIES);
        let (sum, product) = scratch.split_at_mut(QUERIES);
        for (block, out) in out.chunks_mut(QUERIES * len).enumerate() {
            let scratch = Scratch {
                queries: &mut *queries,
                rows: &mut *rows,
                scores: &mut *scores,
                max: &mut *max,
                sum: &mut *sum,
                product: &mut *product,
            };
            self.block(batch, head, block * QUERIES, out, scratch)?;
        }
        Ok(())
    }

    /// Computes as many queries as `out` has rows, the `first` of a head and those behind it. Where heads
    /// are taken together, positions of the next head follow those of the one before.
    fn block(
        &self,
        batch: usize,
        head: usize,
        first: usize,
        out: &mut [f32],
        scratch: Scratch<'_>,
    ) -> Result<()> {
        let Heads { positions, len, .. } = self.query.shape;
        let Scratch {
            queries,
            rows,
            scores,
            max,
            sum,
            product,
        } = scratch;
        let count = out.len() / len;
        for (row, query) in queries.chunks_exact_mut(len).take(count).enumerate() {
            let at = first + row;
            let from = [batch, head + at / positions, at % positions];
            self.query.copy(from, query)?;
        }
        let position = |row: usize| (first + row) % positions;
        let visible = |row: usize| match self.causal {
            true => (self.start + position(row) + 1).min(self.keys),
            false => self.keys,
        };
        let keys = (0..count).map(visible).max().unwrap_or(0);
        let queries = Matrix::new(queries, [count, len], [len, 1])?;
        max.fill(f32::NEG_INFINITY);
        sum.fill(0.0);
        out.fill(0.0);
        let group = head / self.repeats;
        for start in (0..keys).step_by(KEYS) {
            let width = KEYS.min(keys - start);
            let block = self.key.block([batch, group, start], width, rows)?;
            let to = MatrixMut::new(scores, [count, width], [width, 1])?;
            let factors = [0.0, self.scale];
            f32::multiply(to, queries, block.transposed(), factors, product, 1)?;
            let lines = scores
                .chunks_exact_mut(width)
                .zip(out.chunks_exact_mut(len));
            for (row, (scores, out)) in lines.take(count).enumerate() {
                if let Some(mask) = self.mask {
                    for (key, score) in scores.iter_mut().enumerate() {
                        *score += mask.at(position(row), start + key);
                    }
                }
                let beyond = visible(row).saturating_sub(start).min(width);
                scores[beyond..].fill(f32::NEG_INFINITY);
                fold_into(scores, &mut max[row], &mut sum[row], out);
            }
            let block = self.value.block([batch, group, start], width, rows)?;
            let weights = Matrix::new(scores, [count, width], [width, 1])?;
            let to = MatrixMut::new(&mut *out, [count, len], [len, 1])?;
            f32::multiply(to, weights, block, [1.0, 1.0], product, 1)?;
        }
        for (out, &sum) in out.chunks_exact_mut(len).zip(&*sum) {
            // A query without visible keys gets zeros, as in PyTorch.
            let factor = if sum == 0.0 { 0.0 } else { sum.recip() };
            out.iter_mut().for_each(|x| *x *= factor);
        }
        Ok(())
    }

    /// Puts results into the output's own order of heads and positions.
    fn write<T: Float<Compute = f32>>(
        &self,
        by_head: &[f32],
        out: &mut TensorViewMut<'_>,
    ) -> Result<()> {
        let Heads {
            heads,
            positions,
            len,
            ..
        } = self.query.shape;
        let out = out.data_mut::<T>()?;
        for (index, row) in by_head.chunks_exact(len).enumerate() {
            let at = [
                index / (heads * positions),
                index / positions % heads,
                index % positions,
            ];
            let start = self.query.offset(at);
            T::narrow_all(row, &mut out[start..][..len]);
        }
        Ok(())
    }
}

/// Turns scores into weights relative to the largest score so far (online softmax); earlier sums are made
/// smaller if it has grown.
fn fold_into(scores: &mut [f32], max: &mut f32, sum: &mut f32, out: &mut [f32]) {
    let larger = maximum(scores);
    let before = *max;
    if larger > before {
        *max = larger;
        if *sum != 0.0 {
            let factor = (before - larger).exponential();
            *sum *= factor;
            out.iter_mut().for_each(|x| *x *= factor);
        }
    }
    if *max == f32::NEG_INFINITY {
        // Nothing to see, unless a score is not a number.
        for score in &mut *scores {
            *score = if score.is_nan() { f32::NAN } else { 0.0 };
        }
    } else {
        let max = *max;
        scores
            .iter_mut()
            .for_each(|score| *score = (*score - max).exponential());
    }
    *sum += scores.iter().sum::<f32>();
}
