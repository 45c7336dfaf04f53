//! Writing files: a flatbuffer with a header, then inline data, then segments.

mod inline;
mod method;

use std::io::Write;

use planus::{Builder, Offset};

use crate::container::{DATA_FILE, Format, HEADER_START, PROGRAM, u32_at};
use crate::data_file::DataFile;
use crate::error::{At, Error, ErrorKind};
use crate::program::{Method, Program, SubsegmentOffsets, Value};
use crate::schema::executorch_flatbuffer as fb;
use crate::schema::flat_tensor_flatbuffer as ft;
use inline::{InlineData, Placed};

/// How to lay out a file.
///
/// A file that was read and is written again keeps what it says, not how it was laid out: the
/// alignment of its segments is what is asked for here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// Segments start at multiples of this many bytes; a power of two. Upstream's default is 128.
    pub segment_alignment: u32,
    /// Data within the flatbuffer (old constants, inline payloads of delegates) starts at
    /// multiples of this many bytes; a power of two, and at least 4. Upstream's default is 16.
    pub inline_alignment: u32,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            segment_alignment: 128,
            inline_alignment: 16,
        }
    }
}

impl Program<'_> {
    /// The bytes of a `.pte` file with this program.
    ///
    /// Parsing them gives an equal program.
    ///
    /// # Errors
    /// If the parts of the program do not fit together (see [`Program::check`]), or are too large
    /// for the format: all but the segments must fit into 2 GiB.
    pub fn to_bytes(&self, options: &WriteOptions) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes, options)?;
        Ok(bytes)
    }

    /// Writes a `.pte` file with this program, without a copy of the large pieces.
    ///
    /// # Errors
    /// As [`Program::to_bytes`], or if writing fails. In that case a part of the file may have been
    /// written.
    pub fn write_to(&self, out: &mut impl Write, options: &WriteOptions) -> Result<(), Error> {
        self.check()?;
        let mut builder = Builder::new();
        let segments = SegmentPlan::new(self.segments.iter().map(|s| s.len()), options)?;
        let root = tables(self, &segments, &mut builder)?;
        // A program without segments has no header, as upstream writes it.
        let with_header = segments.total > 0;
        let mut head = finish(&mut builder, root, PROGRAM, with_header)?;
        let inline = InlineData::new(options.inline_alignment)?;
        let placed = inline.place(&mut head, &self.constant_buffer, &self.delegate_data)?;
        let base = segments.base(placed.end, options)?;
        if with_header {
            fill_header(&mut head, PROGRAM, &[placed.end, base, segments.total]);
        }
        let mut out = Counting::new(out);
        out.write(&head)?;
        write_inline(&mut out, &placed)?;
        if with_header {
            write_segments(&mut out, base, &segments, &self.segments)?;
        }
        Ok(())
    }
}

impl DataFile<'_> {
    /// The bytes of a `.ptd` file with this data.
    ///
    /// # Errors
    /// If the data contradicts itself (see [`DataFile::check`]).
    pub fn to_bytes(&self, options: &WriteOptions) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes, options)?;
        Ok(bytes)
    }

    /// Writes a `.ptd` file with this data, without a copy of the large pieces.
    ///
    /// # Errors
    /// As [`DataFile::to_bytes`], or if writing fails. In that case a part of the file may have
    /// been written.
    pub fn write_to(&self, out: &mut impl Write, options: &WriteOptions) -> Result<(), Error> {
        self.check()?;
        let mut builder = Builder::new();
        let segments = SegmentPlan::new(self.segments.iter().map(|s| s.len()), options)?;
        let root = data_file_tables(self, &segments, &mut builder)?;
        let mut head = finish(&mut builder, root, DATA_FILE, true)?;
        let end = head.len() as u64;
        let base = segments.base(end, options)?;
        // What upstream calls the offset of the flatbuffer is the room that the header takes.
        let header = (DATA_FILE.padded_header() - HEADER_START) as u64;
        let fields = [header, end - header, base, segments.total];
        fill_header(&mut head, DATA_FILE, &fields);
        let mut out = Counting::new(out);
        out.write(&head)?;
        out.pad_to(base)?;
        write_segments(&mut out, base, &segments, &self.segments)
    }
}

/// Where segments go, relative to the first.
struct SegmentPlan {
    /// Offset and size of each.
    places: Vec<(u64, u64)>,
    /// Bytes of all, with the padding between them.
    total: u64,
}

impl SegmentPlan {
    fn new(sizes: impl Iterator<Item = usize>, options: &WriteOptions) -> Result<Self, Error> {
        let mut total = 0;
        let mut places = Vec::new();
        for size in sizes {
            let offset = align(total, options.segment_alignment)?;
            let size = size as u64;
            places.push((offset, size));
            total = offset
                .checked_add(size)
                .ok_or_else(|| too_big("the segments"))?;
        }
        Ok(Self { places, total })
    }

    fn base(&self, flatbuffer_end: u64, options: &WriteOptions) -> Result<u64, Error> {
        align(flatbuffer_end, options.segment_alignment)
    }
}

fn tables(
    program: &Program<'_>,
    segments: &SegmentPlan,
    b: &mut Builder,
) -> Result<Offset<fb::Program>, Error> {
    check_size(program)?;
    let methods = program
        .methods
        .iter()
        .map(|m| method::method(m, b))
        .collect::<Result<Vec<_>, _>>()?;
    // The tables of inline data point to nothing at first; the data is put behind the tables.
    let constants: Vec<_> = program
        .constant_buffer
        .iter()
        .map(|_| fb::Buffer::create(b, [0u8; 0]))
        .collect();
    let payloads: Vec<_> = program
        .delegate_data
        .iter()
        .map(|_| fb::BackendDelegateInlineData::create(b, [0u8; 0]))
        .collect();
    let segments: Vec<_> = segments
        .places
        .iter()
        .map(|&(offset, size)| fb::DataSegment::create(b, offset, size))
        .collect();
    let constant_segment = program.constant_segment.as_ref().map(|s| subsegments(s, b));
    let mutable: Vec<_> = program
        .mutable_data_segments
        .iter()
        .map(|s| subsegments(s, b))
        .collect();
    let named: Vec<_> = program
        .named_data
        .iter()
        .map(|entry| fb::NamedData::create(b, &*entry.key, entry.segment))
        .collect();
    Ok(fb::Program::create(
        b,
        program.version,
        methods,
        constants,
        payloads,
        segments,
        constant_segment,
        if_any(mutable),
        if_any(named),
    ))
}

/// Lists that upstream calls optional are left out when they are empty; the others are always
/// written, since upstream's runtime refuses programs that lack them.
fn if_any<T>(list: Vec<T>) -> Option<Vec<T>> {
    (!list.is_empty()).then_some(list)
}

fn subsegments(s: &SubsegmentOffsets, b: &mut Builder) -> Offset<fb::SubsegmentOffsets> {
    fb::SubsegmentOffsets::create(b, s.segment, s.offsets.as_slice())
}

fn data_file_tables(
    data: &DataFile<'_>,
    segments: &SegmentPlan,
    b: &mut Builder,
) -> Result<Offset<ft::FlatTensor>, Error> {
    let segments: Vec<_> = segments
        .places
        .iter()
        .map(|&(offset, size)| ft::DataSegment::create(b, offset, size))
        .collect();
    let mut entries = Vec::with_capacity(data.entries.len());
    for (i, entry) in data.entries.iter().enumerate() {
        let layout = match &entry.layout {
            None => None,
            Some(layout) => {
                let scalar_type =
                    method::scalar_type(layout.scalar_type).at(|| format!("entry {i}"))?;
                let sizes = method::signed(&layout.sizes)?;
                let order = layout.dim_order.as_slice();
                Some(ft::TensorLayout::create(b, scalar_type, sizes, order))
            }
        };
        entries.push(ft::NamedData::create(b, &*entry.key, entry.segment, layout));
    }
    Ok(ft::FlatTensor::create(b, data.version, segments, entries))
}

/// Planus counts in 32 bits without checking. What could make tables overflow in practice are the
/// two kinds of data of any size that lie within them.
fn check_size(program: &Program<'_>) -> Result<(), Error> {
    let size = |method: &Method<'_>| -> usize {
        let delegates = method.delegates.iter();
        let specs = delegates
            .flat_map(|d| &d.compile_specs)
            .map(|spec| spec.value.len());
        let strings = method.values.iter().map(|value| match value {
            Value::String(text) => text.len(),
            _ => 0,
        });
        specs.chain(strings).sum()
    };
    if program.methods.iter().map(size).sum::<usize>() > MAX_FLATBUFFER / 2 {
        return Err(too_big("the compile specs and strings"));
    }
    Ok(())
}

/// Offsets within a flatbuffer are signed 32-bit numbers.
const MAX_FLATBUFFER: usize = i32::MAX as usize;

fn too_big(what: &str) -> Error {
    Error::new(
        ErrorKind::TooBig,
        format!("{what} are too large for the format"),
    )
}

/// The finished tables, with room for the header after the identifier.
fn finish<T>(
    builder: &mut Builder,
    root: Offset<T>,
    format: Format,
    with_header: bool,
) -> Result<Vec<u8>, Error> {
    let bytes = builder.finish(root, Some(format.identifier));
    let room = if with_header {
        format.padded_header() - HEADER_START
    } else {
        0
    };
    // Planus 1.3.0 (the schema's code fits no other version) puts the identifier before the root's
    // offset, counted from behind it. The format wants them the other way round.
    let (Some(root), Some(body)) = (u32_at(bytes, 4), bytes.get(HEADER_START..)) else {
        return Err(Error::invalid("planus wrote no flatbuffer"));
    };
    if bytes.len() + room > MAX_FLATBUFFER {
        return Err(too_big("the tables"));
    }
    let root = root + 4 + room as u32;
    let mut head = Vec::with_capacity(bytes.len() + room);
    head.extend_from_slice(&root.to_le_bytes());
    head.extend_from_slice(&format.identifier);
    head.resize(HEADER_START + room, 0);
    head.extend_from_slice(body);
    Ok(head)
}

fn fill_header(head: &mut [u8], format: Format, fields: &[u64]) {
    let length = 8 + 8 * fields.len() as u32;
    let bytes = format.magic.into_iter().chain(length.to_le_bytes());
    let bytes = bytes.chain(fields.iter().flat_map(|field| field.to_le_bytes()));
    for (to, from) in head.iter_mut().skip(HEADER_START).zip(bytes) {
        *to = from;
    }
}

fn write_inline(out: &mut Counting<impl Write>, placed: &Placed<'_>) -> Result<(), Error> {
    for (at, data) in &placed.data {
        out.pad_to(*at)?;
        out.write(&(data.len() as u32).to_le_bytes())?;
        out.write(data)?;
    }
    Ok(())
}

fn write_segments<B: AsRef<[u8]>>(
    out: &mut Counting<impl Write>,
    base: u64,
    plan: &SegmentPlan,
    segments: &[B],
) -> Result<(), Error> {
    for ((offset, _), segment) in plan.places.iter().zip(segments) {
        out.pad_to(base + offset)?;
        out.write(segment.as_ref())?;
    }
    Ok(())
}

/// Knows how much has been written.
struct Counting<W> {
    out: W,
    written: u64,
}

impl<W: Write> Counting<W> {
    fn new(out: W) -> Self {
        Self { out, written: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn pad_to(&mut self, end: u64) -> Result<(), Error> {
        const ZEROS: [u8; 256] = [0; 256];
        while self.written < end {
            let n = (end - self.written).min(ZEROS.len() as u64) as usize;
            self.write(&ZEROS[..n])?;
        }
        Ok(())
    }
}

fn align(offset: u64, alignment: u32) -> Result<u64, Error> {
    if !alignment.is_power_of_two() {
        return Err(Error::invalid(format!(
            "the alignment must be a power of two, and {alignment} is not"
        )));
    }
    offset
        .checked_next_multiple_of(u64::from(alignment))
        .ok_or_else(|| too_big("the segments"))
}
