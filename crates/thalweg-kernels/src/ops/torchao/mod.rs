//! Weights as torchao packs them, and the operators that read them.
//!
//! Such a weight is a list of bytes that begins with a header (`header`). Behind it are integers
//! of 1 to 8 bits, whose bits are spread in a way of their own (`bits`), in tables of rows
//! (`embedding`) or in strips of columns with their scales (`strips`) or look-up tables (`lut`).

mod bits;
mod embedding;
mod experts;
#[cfg(test)]
mod experts_tests;
mod header;
mod linear;
mod lut;
mod strips;
#[cfg(test)]
mod tests;

use thalweg_core::{
    KernelCall, KernelRegistry, Result, TensorView, TensorViewMut, ensure, identity_order,
};

use crate::layout::order::fill_in_order;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    linear::register(registry)?;
    lut::register(registry)?;
    embedding::register(registry)?;
    experts::register(registry)
}

/// A size or count that a program gives as a number.
fn size(call: &KernelCall<'_>, position: usize) -> Result<usize> {
    const MOST: i64 = i32::MAX as i64;
    let size = call.int(position)?;
    ensure!(
        (1..=MOST).contains(&size),
        InvalidInput,
        "{} must be from 1 to {MOST}, not {size}",
        call.name(position)
    );
    Ok(size as usize)
}

/// An error unless an input is rows of so many elements.
fn check_rows(input: &TensorView<'_>, inputs: usize) -> Result<()> {
    ensure!(
        input.rank() == 2 && input.sizes()[1] == inputs,
        InvalidInput,
        "an input of shape {:?} is not rows of {inputs} elements",
        input.sizes()
    );
    Ok(())
}

/// Writes rows from the results of strips of `COLUMNS` columns: those of all rows for each strip.
fn write_strips<const COLUMNS: usize>(
    call: &KernelCall<'_>,
    out: &mut TensorViewMut<'_>,
    results: &[f32],
) -> Result<()> {
    let (rows, columns) = (out.sizes()[0], out.sizes()[1]);
    fill_in_order::<f32>(call, out, identity_order(2)?, |out| {
        for (row, out) in out.chunks_exact_mut(columns).enumerate() {
            for (strip, out) in out.chunks_mut(COLUMNS).enumerate() {
                let results = &results[(strip * rows + row) * COLUMNS..];
                out.copy_from_slice(&results[..out.len()]);
            }
        }
        Ok(())
    })
}

/// The sum of the products of two vectors, in as many parts as fill the machine's vectors.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 32;
    let mut lanes = [0.0; LANES];
    let (a, rest_a) = a.as_chunks::<LANES>();
    let (b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] += a[lane] * b[lane];
        }
    }
    for ((lane, a), b) in lanes.iter_mut().zip(rest_a).zip(rest_b) {
        *lane += a * b;
    }
    lanes.iter().sum()
}
