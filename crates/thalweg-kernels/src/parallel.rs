//! Sharing an operator's work among threads.

use rayon::prelude::*;
use thalweg_core::Result;

/// How much work, in simple operations on elements, is worth waking other threads for.
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

/// As [`for_each_chunk`], over two slices at once: pieces of `len` elements of both.
pub(crate) fn for_each_chunk_of_two<T: Send, U: Send>(
    threads: usize,
    work: usize,
    (a, b): (&mut [T], &mut [U]),
    len: usize,
    each: impl Fn(usize, &mut [T], &mut [U]) -> Result<()> + Sync,
) -> Result<()> {
    let len = len.max(1);
    if threads > 1 && work >= ENOUGH && a.len() > len {
        let pieces = a.par_chunks_mut(len).zip(b.par_chunks_mut(len)).enumerate();
        return pieces.try_for_each(|(index, (a, b))| each(index, a, b));
    }
    let mut pieces = a.chunks_mut(len).zip(b.chunks_mut(len)).enumerate();
    pieces.try_for_each(|(index, (a, b))| each(index, a, b))
}
