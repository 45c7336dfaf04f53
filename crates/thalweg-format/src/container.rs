//! What `.pte` and `.ptd` files have in common: a flatbuffer with a header inside, then segments.
//!
//! ```text
//! 0   u32   where the flatbuffer's root table is
//! 4   [4]   identifier: "ET12" or "FT01"
//! 8   [4]   magic of the header: "eh00" or "FH01"
//! 12  u32   length of the header, counted from its magic
//! 16        program: u64 size of the flatbuffer, from byte 0
//!           data file: u64 offset and u64 size of the flatbuffer's body
//!     u64   where the segments start
//!     u64   how many bytes of segments follow (old programs lack this field)
//!           padding, the flatbuffer's body, padding, segments
//! ```
//! A program without segments has no header.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind, count};

/// A file cut into its parts.
pub(crate) struct Container<'a> {
    file: &'a [u8],
    /// The flatbuffer, header included: its offsets count from the start of the file.
    pub(crate) flatbuffer: &'a [u8],
    /// The header, if there is one.
    pub(crate) header: Option<Header>,
}

/// The header's fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) flatbuffer_end: u64,
    pub(crate) segment_base: u64,
    /// 0 if the header lacks the field.
    pub(crate) segment_bytes: u64,
}

/// The two formats, by what tells them apart.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) name: &'static str,
    pub(crate) identifier: [u8; 4],
    pub(crate) magic: [u8; 4],
    /// How many fields tell where the flatbuffer is.
    flatbuffer_fields: usize,
    shortest_header: usize,
    header_required: bool,
}

pub(crate) const PROGRAM: Format = Format {
    name: "program",
    identifier: *b"ET12",
    magic: *b"eh00",
    flatbuffer_fields: 1,
    shortest_header: 24,
    header_required: false,
};

pub(crate) const DATA_FILE: Format = Format {
    name: "data file",
    identifier: *b"FT01",
    magic: *b"FH01",
    flatbuffer_fields: 2,
    shortest_header: 40,
    header_required: true,
};

impl Format {
    /// Where the flatbuffer's body starts in files with a header of all fields. The body holds
    /// numbers of 8 bytes, so it is shifted by a multiple of 16 to keep it aligned.
    pub(crate) fn padded_header(self) -> usize {
        let length = 8 + 8 * (self.flatbuffer_fields + 2);
        HEADER_START + length.next_multiple_of(16)
    }
}

/// Where the header starts.
pub(crate) const HEADER_START: usize = 8;

impl<'a> Container<'a> {
    /// Checks the identifier, finds the header and checks it against the file's size.
    pub(crate) fn open(file: &'a [u8], format: Format) -> Result<Self, Error> {
        check_identifier(file, format)?;
        let header = Header::find(file, format)?;
        let flatbuffer = match &header {
            None => file,
            Some(header) => slice(file, 0, header.flatbuffer_end).ok_or_else(|| {
                truncated(format!(
                    "the header says that the flatbuffer ends at byte {}, but the file has {}",
                    header.flatbuffer_end,
                    count(file.len(), "byte")
                ))
            })?,
        };
        if let Some(header) = &header
            && slice(file, header.segment_base, header.segment_bytes).is_none()
        {
            return Err(truncated(format!(
                "the header promises {} bytes of segments from byte {} on, but the file has {}",
                header.segment_bytes,
                header.segment_base,
                count(file.len(), "byte")
            )));
        }
        Ok(Self {
            file,
            flatbuffer,
            header,
        })
    }

    /// The bytes of a segment, given its place relative to the start of the segments.
    pub(crate) fn segment(&self, offset: u64, size: u64) -> Result<Cow<'a, [u8]>, Error> {
        // A file whose segments are all empty has no header.
        if size == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        let Some(header) = &self.header else {
            return Err(Error::invalid(format!(
                "it has {size} bytes, but the file has no header that says where segments start"
            )));
        };
        header
            .segment_base
            .checked_add(offset)
            .and_then(|start| slice(self.file, start, size))
            .map(Cow::Borrowed)
            .ok_or_else(|| {
                truncated(format!(
                    "it would lie {size} bytes long at {} + {offset}, but the file has {}",
                    header.segment_base,
                    count(self.file.len(), "byte")
                ))
            })
    }
}

impl Header {
    fn find(file: &[u8], format: Format) -> Result<Option<Self>, Error> {
        let header = file.get(HEADER_START..).unwrap_or_default();
        if !header.starts_with(&format.magic) {
            if format.header_required {
                return Err(Error::invalid(format!(
                    "the file lacks the header of a {} ({} at byte {HEADER_START})",
                    format.name,
                    printable(format.magic)
                )));
            }
            return Ok(None);
        }
        let too_short = || truncated("the file ends within its header");
        let length = u32_at(header, 4).ok_or_else(too_short)?;
        if (length as usize) < format.shortest_header {
            return Err(Error::invalid(format!(
                "the header says that it is {length} bytes long, too few for its fields"
            )));
        }
        let field = |index| u64_at(header, 8 + 8 * index).ok_or_else(too_short);
        let flatbuffer_end = if format.flatbuffer_fields == 1 {
            field(0)?
        } else {
            field(0)?.saturating_add(field(1)?)
        };
        Ok(Some(Self {
            length,
            flatbuffer_end,
            segment_base: field(format.flatbuffer_fields)?,
            segment_bytes: if length as usize >= 8 + 8 * (format.flatbuffer_fields + 2) {
                field(format.flatbuffer_fields + 1)?
            } else {
                0
            },
        }))
    }
}

fn check_identifier(file: &[u8], format: Format) -> Result<(), Error> {
    let Some(found) = file.get(4..8) else {
        return Err(Error::new(
            ErrorKind::NotThisFormat,
            format!(
                "{} are too few for a {}",
                count(file.len(), "byte"),
                format.name
            ),
        ));
    };
    if found == format.identifier {
        return Ok(());
    }
    let (kind, found) = match <[u8; 4]>::try_from(found) {
        Ok(id) if id[..2] == format.identifier[..2] && id.is_ascii() => {
            (ErrorKind::Unsupported, printable(id))
        }
        Ok(id) => (ErrorKind::NotThisFormat, printable(id)),
        Err(_) => (ErrorKind::NotThisFormat, String::new()),
    };
    Err(Error::new(
        kind,
        format!(
            "not a {} that this version reads: the identifier is {found} and not {}",
            format.name,
            printable(format.identifier)
        ),
    ))
}

fn printable(bytes: [u8; 4]) -> String {
    format!("`{}`", bytes.escape_ascii())
}

fn truncated(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Truncated, message)
}

pub(crate) fn slice(bytes: &[u8], start: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    let len = usize::try_from(len).ok()?;
    bytes.get(start..start.checked_add(len)?)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}
