//! Parallel loops: an operator's work shared among threads.

use rayon::prelude::*;
use thalweg_core::Result;

/// The work, in simple operations on elements, that is worth waking other threads for.
const ENOUGH: usize = 1 << 17;

/// Calls `each` with every piece of `len` elements of `data` and its index; on several threads if
/// there are some and `work`, the number of simple operations in all, is worth it.
pub(crate) fn for_each_chunk<T: Send>(
    threads: usize,
    work: usize,
    data: &mut [T],
    len: usize,
    each: impl Fn(usize, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let len = len.max(1);
    if threads > 1 && work >= ENOUGH && data.len() > len {
        let pieces = data.par_chunks_mut(len).enumerate();
        return pieces.try_for_each(|(index, piece)| each(index, piece));
    }
    let mut pieces = data.chunks_mut(len).enumerate();
    pieces.try_for_each(|(index, piece)| each(index, piece))
}

/// As [`for_each_chunk`], over two slices at once, each with pieces of a length of its own.
pub(crate) fn for_each_chunk_of_two<T: Send, U: Send>(
    threads: usize,
    work: usize,
    (a, b): (&mut [T], &mut [U]),
    lens: [usize; 2],
    each: impl Fn(usize, &mut [T], &mut [U]) -> Result<()> + Sync,
) -> Result<()> {
    let [len_a, len_b] = lens.map(|len| len.max(1));
    if threads > 1 && work >= ENOUGH && a.len() > len_a {
        let pieces = a.par_chunks_mut(len_a).zip(b.par_chunks_mut(len_b));
        let pieces = pieces.enumerate();
        return pieces.try_for_each(|(index, (a, b))| each(index, a, b));
    }
    let mut pieces = a.chunks_mut(len_a).zip(b.chunks_mut(len_b)).enumerate();
    pieces.try_for_each(|(index, (a, b))| each(index, a, b))
}

/// As [`for_each_chunk`], with memory for each thread: `scratch` in as many equal parts as there
/// are threads.
pub(crate) fn for_each_chunk_with<T: Send, S: Send>(
    threads: usize,
    work: usize,
    data: &mut [T],
    len: usize,
    scratch: &mut [S],
    each: impl Fn(usize, &mut [T], &mut [S]) -> Result<()> + Sync,
) -> Result<()> {
    let (threads, len) = (threads.max(1), len.max(1));
    let part = (scratch.len() / threads).max(1);
    let share = data.len().div_ceil(len).div_ceil(threads);
    let lens = [share.saturating_mul(len), part];
    for_each_chunk_of_two(
        threads,
        work,
        (data, scratch),
        lens,
        |index, data, scratch| {
            let mut pieces = data.chunks_mut(len).enumerate();
            pieces.try_for_each(|(piece, data)| each(index * share + piece, data, scratch))
        },
    )
}
