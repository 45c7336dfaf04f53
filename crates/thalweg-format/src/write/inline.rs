//! Puts inline data behind the tables of a flatbuffer.
//!
//! Inline data must be aligned in the file, which planus cannot do, and may be large, so it is
//! better not copied into a builder. A flatbuffer's offsets may point anywhere after themselves: so
//! the tables are written with empty data, and then made to point to the real data behind them.

use std::borrow::Cow;

use super::{MAX_FLATBUFFER, align, too_big};
use crate::container::u32_at;
use crate::error::Error;

/// Where inline data goes.
pub(super) struct InlineData {
    alignment: u32,
}

/// Inline data and its places: where the length goes, which comes before the bytes.
pub(super) struct Placed<'d> {
    pub(super) data: Vec<(u64, &'d [u8])>,
    /// Where the flatbuffer ends.
    pub(super) end: u64,
}

/// The fields of `Program` that hold tables with inline data.
const CONSTANT_BUFFER: usize = 2;
const BACKEND_DELEGATE_DATA: usize = 3;

impl InlineData {
    pub(super) fn new(alignment: u32) -> Result<Self, Error> {
        // Lengths, which lie before the data, are aligned to 4.
        let alignment = alignment.max(4);
        align(0, alignment)?;
        Ok(Self { alignment })
    }

    /// Finds places behind `head`, and makes its tables point to them.
    pub(super) fn place<'d>(
        &self,
        head: &mut [u8],
        constants: &'d [Cow<'_, [u8]>],
        payloads: &'d [Cow<'_, [u8]>],
    ) -> Result<Placed<'d>, Error> {
        let mut placed = Placed {
            data: Vec::new(),
            end: head.len() as u64,
        };
        for (field, list) in [
            (CONSTANT_BUFFER, constants),
            (BACKEND_DELEGATE_DATA, payloads),
        ] {
            for (i, data) in list.iter().enumerate().filter(|(_, data)| !data.is_empty()) {
                let start = align(placed.end + 4, self.alignment)?;
                let end = start + data.len() as u64;
                if end > MAX_FLATBUFFER as u64 {
                    return Err(too_big("the inline data"));
                }
                point(head, field, i, start as u32 - 4)
                    .ok_or_else(|| Error::invalid("planus wrote no table for inline data"))?;
                placed.data.push((start - 4, data));
                placed.end = end;
            }
        }
        Ok(placed)
    }
}

/// Makes the only field of table `i`, in the list in field `list` of the root, point to `target`.
fn point(head: &mut [u8], list: usize, i: usize, target: u32) -> Option<()> {
    let root = follow(head, 0)?;
    let list = follow(head, field(head, root, list)?)?;
    let table = follow(head, list + 4 + 4 * i)?;
    let field = field(head, table, 0)?;
    let offset = target.checked_sub(u32::try_from(field).ok()?)?;
    head.get_mut(field..field + 4)?
        .copy_from_slice(&offset.to_le_bytes());
    Some(())
}

/// What the offset at this place points to.
fn follow(head: &[u8], at: usize) -> Option<usize> {
    at.checked_add(u32_at(head, at)? as usize)
}

/// The place of a table's field.
fn field(head: &[u8], table: usize, index: usize) -> Option<usize> {
    let back = u32_at(head, table)? as i32;
    let vtable = usize::try_from(i64::try_from(table).ok()? - i64::from(back)).ok()?;
    let slot = head.get(vtable + 4 + 2 * index..)?.first_chunk()?;
    Some(table + usize::from(u16::from_le_bytes(*slot)))
}
