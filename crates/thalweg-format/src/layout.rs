//! How a file is laid out, for those who inspect it.

use planus::ReadAsRoot;

use crate::container::{Container, DATA_FILE, PROGRAM};
use crate::error::Error;
use crate::schema::executorch_flatbuffer as fb;
use crate::schema::flat_tensor_flatbuffer as ft;

/// Where the parts of a file lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Which kind of file it is.
    pub kind: FileKind,
    /// Size of the file in bytes.
    pub file_size: u64,
    /// Length in bytes that the header says it has, if there is one. It lies at byte 8, within the
    /// flatbuffer.
    pub header_length: Option<u32>,
    /// The flatbuffer.
    pub flatbuffer: Extent,
    /// Where segments start: their own offsets count from here. 0 without a header.
    pub segment_base: u64,
    /// The bytes of segments that the header promises, padding included; 0 if it does not say, as
    /// headers of old programs do not.
    pub segment_bytes: u64,
    /// The segments, in the order of their indices.
    pub segments: Vec<Extent>,
}

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileKind {
    /// A program, `.pte`.
    Program,
    /// Data beside a program, `.ptd`.
    DataFile,
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The first byte, from the start of the file.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
}

impl Layout {
    /// Looks only at the header and the list of segments of a program or a data file. The rest may
    /// be broken.
    ///
    /// # Errors
    /// If the file is neither, or its header or list of segments is broken.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        if file.get(4..8) == Some(&DATA_FILE.identifier) {
            let container = Container::open(file, DATA_FILE)?;
            let root = ft::FlatTensorRef::read_as_root(container.flatbuffer)?;
            let segments = extents(root.segments()?, |s| Ok((s.offset()?, s.size()?)))?;
            Ok(Self::of(FileKind::DataFile, file, &container, segments))
        } else {
            let container = Container::open(file, PROGRAM)?;
            let root = fb::ProgramRef::read_as_root(container.flatbuffer)?;
            let segments = extents(root.segments()?, |s| Ok((s.offset()?, s.size()?)))?;
            Ok(Self::of(FileKind::Program, file, &container, segments))
        }
    }

    /// Bytes that belong neither to the flatbuffer nor to a segment.
    pub fn padding(&self) -> u64 {
        let mut parts: Vec<Extent> = self.segments.clone();
        parts.push(self.flatbuffer);
        parts.sort_by_key(|part| part.offset);
        let mut covered = 0;
        let mut end = 0;
        for part in parts {
            let part_end = part.end().min(self.file_size);
            covered += part_end.saturating_sub(part.offset.max(end));
            end = end.max(part_end);
        }
        self.file_size.saturating_sub(covered)
    }

    fn of(
        kind: FileKind,
        file: &[u8],
        container: &Container<'_>,
        mut segments: Vec<Extent>,
    ) -> Self {
        let header = container.header;
        let segment_base = header.map_or(0, |h| h.segment_base);
        for segment in &mut segments {
            segment.offset = segment.offset.saturating_add(segment_base);
        }
        Self {
            kind,
            file_size: file.len() as u64,
            header_length: header.map(|h| h.length),
            flatbuffer: Extent {
                offset: 0,
                size: container.flatbuffer.len() as u64,
            },
            segment_base,
            segment_bytes: header.map_or(0, |h| h.segment_bytes),
            segments,
        }
    }
}

impl Extent {
    /// The first byte after the range.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }

    /// The largest power of two that the offset is a multiple of; `None` for offset 0, which is a
    /// multiple of all.
    pub fn alignment(&self) -> Option<u64> {
        (self.offset != 0).then(|| 1 << self.offset.trailing_zeros())
    }
}

fn extents<'a, T>(
    segments: Option<planus::Vector<'a, planus::Result<T>>>,
    read: impl Fn(T) -> planus::Result<(u64, u64)>,
) -> Result<Vec<Extent>, Error>
where
    planus::Result<T>: planus::VectorRead<'a>,
{
    let Some(segments) = segments else {
        return Ok(Vec::new());
    };
    segments
        .iter()
        .map(|segment| {
            let (offset, size) = read(segment?)?;
            Ok(Extent { offset, size })
        })
        .collect()
}
