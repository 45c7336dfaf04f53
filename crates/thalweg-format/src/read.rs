//! Reading a `.pte`: from the flatbuffer to the model.
//!
//! This only translates. Whether the parts fit together is for `check.rs` to say, which serves the
//! writer, too.

mod method;
pub(crate) mod tensor;

use std::borrow::Cow;

use planus::{ReadAsRoot, Vector, VectorRead};

use crate::budget::Budget;
use crate::container::{Container, PROGRAM};
use crate::error::{At, Error};
use crate::program::{NamedData, Program, SubsegmentOffsets};
use crate::schema::executorch_flatbuffer as fb;

impl<'a> Program<'a> {
    /// Reads a program, borrowing from the bytes of its file.
    ///
    /// Everything is checked: all indices name what exists and is of the right kind, all data lies
    /// within the file, shapes make sense. So users of the result need not check again. The one
    /// thing left open is whether a delegate's payload is any good.
    ///
    /// # Errors
    /// If the bytes are no program, or one that breaks a rule of the format or uses what this
    /// version does not know. The memory used before an error is found is bounded as well.
    pub fn parse(file: &'a [u8]) -> Result<Self, Error> {
        let container = Container::open(file, PROGRAM)?;
        let budget = &mut Budget::for_flatbuffer(container.flatbuffer.len());
        let program = program(&container, budget)?;
        program.check()?;
        Ok(program)
    }
}

fn program<'a>(container: &Container<'a>, budget: &mut Budget) -> Result<Program<'a>, Error> {
    let root = fb::ProgramRef::read_as_root(container.flatbuffer)?;
    Ok(Program {
        version: root.version()?,
        methods: list(root.execution_plan()?, budget, |i, plan, budget| {
            method::method(i, plan?, budget)
        })?,
        constant_buffer: list(root.constant_buffer()?, budget, |i, buffer, _| {
            blob(buffer.and_then(|b| b.storage())).at(|| format!("constant {i}"))
        })?,
        delegate_data: list(root.backend_delegate_data()?, budget, |i, data, _| {
            blob(data.and_then(|d| d.data())).at(|| format!("inline delegate data {i}"))
        })?,
        segments: list(root.segments()?, budget, |i, segment, _| {
            segment
                .and_then(|s| Ok((s.offset()?, s.size()?)))
                .map_err(Error::from)
                .and_then(|(offset, size)| container.segment(offset, size))
                .at(|| format!("segment {i}"))
        })?,
        constant_segment: match root.constant_segment()? {
            None => None,
            Some(s) => Some(subsegments(s, budget).at(|| "the constant segment")?),
        },
        mutable_data_segments: list(root.mutable_data_segments()?, budget, |i, s, budget| {
            s.map_err(Error::from)
                .and_then(|s| subsegments(s, budget))
                .at(|| format!("mutable data segment {i}"))
        })?,
        named_data: list(root.named_data()?, budget, |i, entry, budget| {
            entry
                .map_err(Error::from)
                .and_then(|entry| named_data(entry, budget))
                .at(|| format!("named data {i}"))
        })?,
    })
}

fn subsegments(
    s: fb::SubsegmentOffsetsRef<'_>,
    budget: &mut Budget,
) -> Result<SubsegmentOffsets, Error> {
    Ok(SubsegmentOffsets {
        segment: s.segment_index()?,
        offsets: list(s.offsets()?, budget, |_, offset, _| Ok(offset))?,
    })
}

fn named_data<'a>(
    entry: fb::NamedDataRef<'a>,
    budget: &mut Budget,
) -> Result<NamedData<'a>, Error> {
    Ok(NamedData {
        key: required_text(entry.key()?, "key", budget)?,
        segment: entry.segment_index()?,
    })
}

/// Translates a list. A missing list is an empty one: writers differ in which they write.
pub(crate) fn list<'a, T: VectorRead<'a>, U>(
    items: Option<Vector<'a, T>>,
    budget: &mut Budget,
    mut translate: impl FnMut(usize, T, &mut Budget) -> Result<U, Error>,
) -> Result<Vec<U>, Error> {
    let items = items.unwrap_or(Vector::new_empty());
    let mut out = budget.list(items.len())?;
    for (i, item) in items.iter().enumerate() {
        out.push(translate(i, item, budget)?);
    }
    Ok(out)
}

/// Translates a list of indices.
pub(crate) fn indices<'a, T: VectorRead<'a> + Into<i64>>(
    items: Option<Vector<'a, T>>,
    budget: &mut Budget,
    noun: &str,
) -> Result<Vec<u32>, Error> {
    list(items, budget, |i, item, _| {
        index(item).at(|| format!("{noun} {i}"))
    })
}

/// The file stores indices as signed numbers.
pub(crate) fn index(number: impl Into<i64>) -> Result<u32, Error> {
    let number = number.into();
    u32::try_from(number).map_err(|_| Error::invalid(format!("{number} is not an index")))
}

pub(crate) fn text<'a>(
    text: Option<&'a str>,
    budget: &mut Budget,
) -> Result<Option<Cow<'a, str>>, Error> {
    text.map(|text| Ok(Cow::Borrowed(budget.text(text)?)))
        .transpose()
}

pub(crate) fn required_text<'a>(
    found: Option<&'a str>,
    noun: &str,
    budget: &mut Budget,
) -> Result<Cow<'a, str>, Error> {
    text(found, budget)?.ok_or_else(|| Error::invalid(format!("it has no {noun}")))
}

fn blob<'a>(bytes: planus::Result<Option<&'a [u8]>>) -> Result<Cow<'a, [u8]>, Error> {
    Ok(Cow::Borrowed(bytes?.unwrap_or_default()))
}
