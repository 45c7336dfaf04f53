//! The gated delta rule: attention with a state of fixed size in the place of a cache.
//!
//! The state of a head is a matrix, from keys to values. At each position it decays, moves towards
//! the position's value along its key, and is read with the query.

use thalweg_core::{Dims, KernelCall, KernelRegistry, Result, bail, ensure, identity_order};

use crate::layout::order::{fill_in_order, laid_out};
use crate::operator::pure;
use crate::parallel::for_each_chunk_of_two;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "llama::gated_delta_rule.out(Tensor query, Tensor key, Tensor value, Tensor decay, \
         Tensor beta, Tensor initial_state, *, Tensor(a!) out, Tensor(b!) final_state_out) \
         -> (Tensor(a!), Tensor(b!))",
        gated_delta_rule,
    )?);
    // The name that it had before the decay could be one number for all channels.
    registry.add(pure(
        "llama::channelwise_gated_delta_rule.out(Tensor query, Tensor key, Tensor value, \
         Tensor decay, Tensor beta, Tensor initial_state, *, Tensor(a!) out, \
         Tensor(b!) final_state_out) -> (Tensor(a!), Tensor(b!))",
        gated_delta_rule,
    )?);
    Ok(())
}

fn gated_delta_rule(call: &KernelCall<'_>) -> Result<()> {
    let tensor = |position: usize| call.tensor(position);
    let (query, key, value) = (tensor(0)?, tensor(1)?, tensor(2)?);
    let (decay, beta, state) = (tensor(3)?, tensor(4)?, tensor(5)?);
    let (&[batch, query_heads, positions, keys], &[_, heads, _, _], &[_, _, _, values]) =
        (query.sizes(), key.sizes(), value.sizes())
    else {
        bail!(
            InvalidInput,
            "{query:?}, {key:?} and {value:?} do not all have batch, heads, positions and elements"
        );
    };
    let by_channel = decay.rank() == 4;
    let per_position = [batch, heads, positions];
    let fits = key.sizes() == [batch, heads, positions, keys]
        && value.sizes() == [batch, heads, positions, values]
        && decay.sizes().get(..3) == Some(&per_position)
        && (decay.rank() == 3 || decay.sizes().get(3..) == Some(&[keys]))
        && beta.sizes() == per_position
        && state.sizes() == [batch, heads, keys, values]
        && heads > 0
        && query_heads % heads == 0;
    ensure!(
        fits,
        InvalidInput,
        "{query:?}, {key:?}, {value:?}, decay {decay:?}, beta {beta:?} and state {state:?} do not \
         fit together"
    );
    let sizes = Dims::from_slice(&[batch, query_heads, positions, values])?;
    let mut out = call.output(6, &sizes)?;
    let mut final_state = call.output(7, state.sizes())?;
    let order = identity_order(4)?;
    let rule = DeltaRule {
        query: laid_out(call, query, order)?,
        key: laid_out(call, key, order)?,
        value: laid_out(call, value, order)?,
        decay: laid_out(call, decay, identity_order(decay.rank())?)?,
        beta: laid_out(call, beta, identity_order(3)?)?,
        by_channel,
        repeats: query_heads / heads,
        positions,
        keys,
        values,
    };
    let initial = laid_out::<f32>(call, state, order)?;
    let work = out.numel().saturating_mul(keys);
    let out_piece = rule.repeats * positions * values;
    let state_piece = keys * values;
    fill_in_order::<f32>(call, &mut out, order, |out| {
        fill_in_order::<f32>(call, &mut final_state, order, |state| {
            state.copy_from_slice(initial);
            out.fill(0.0);
            if state_piece == 0 || out_piece == 0 {
                return Ok(());
            }
            let (both, lens) = ((out, state), [out_piece, state_piece]);
            for_each_chunk_of_two(call.threads(), work, both, lens, |head, out, state| {
                rule.head(head, out, state);
                Ok(())
            })
        })
    })
}

/// All inputs but the state, head by head.
struct DeltaRule<'a> {
    query: &'a [f32],
    key: &'a [f32],
    value: &'a [f32],
    decay: &'a [f32],
    beta: &'a [f32],
    /// True if each row of the state has a decay of its own.
    by_channel: bool,
    /// The heads of queries that read one state.
    repeats: usize,
    positions: usize,
    keys: usize,
    values: usize,
}

impl DeltaRule<'_> {
    /// Computes one head of keys and values, and the heads of queries that read its state. `out` is zeros.
    fn head(&self, head: usize, out: &mut [f32], state: &mut [f32]) {
        for position in 0..self.positions {
            let at = head * self.positions + position;
            let key = &self.key[at * self.keys..][..self.keys];
            let value = &self.value[at * self.values..][..self.values];
            let decay = |row: usize| match self.by_channel {
                true => self.decay[at * self.keys + row],
                false => self.decay[at],
            };
            // What the state says of the key is collected where the first result will be.
            let result = &mut out[position * self.values..][..self.values];
            for (row, (state, &key)) in state.chunks_exact_mut(self.values).zip(key).enumerate() {
                let decay = decay(row);
                for (state, known) in state.iter_mut().zip(&mut *result) {
                    *state *= decay;
                    *known += *state * key;
                }
            }
            let beta = self.beta[at];
            for (known, &value) in result.iter_mut().zip(value) {
                *known = (value - *known) * beta;
            }
            for (state, &key) in state.chunks_exact_mut(self.values).zip(key) {
                for (state, &change) in state.iter_mut().zip(&*result) {
                    *state += key * change;
                }
            }
            for repeat in 0..self.repeats {
                let query = (head * self.repeats + repeat) * self.positions + position;
                let query = &self.query[query * self.keys..][..self.keys];
                let at = repeat * self.positions + position;
                let result = &mut out[at * self.values..][..self.values];
                result.fill(0.0);
                for (state, &query) in state.chunks_exact(self.values).zip(query) {
                    for (result, &state) in result.iter_mut().zip(state) {
                        *result += state * query;
                    }
                }
            }
        }
    }
}
