//! ELF images of libraries: parsed as the dynamic loader parses them, and rewritten for it.
//!
//! The loader goes by segments and the dynamic section, not by the section headers, and so does this. It
//! checks what the loader does not check, and would read out of bounds for.
#![forbid(unsafe_code)]

mod bytes;
#[cfg(test)]
mod inspect;
mod parse;
mod rewrite;

use std::ffi::CStr;
use std::ops::Range;

use object::LittleEndian as LE;
use object::elf::{self, DynamicTag, ProgramHeader64, Rela64, Sym64};
use object::pod::Pod;
use thalweg_core::{Result, bail, ensure};

use self::bytes::{slice_at, usize_of};

type Header = elf::FileHeader64<LE>;
type Segment = ProgramHeader64<LE>;
type Dynamic = elf::Dyn64<LE>;
type Symbol = Sym64<LE>;
type Relocation = Rela64<LE>;

/// The most entries of a table. The largest library that was examined has some 5,000 symbols, 3,600
/// relocations and 17 versions.
const MAX_ENTRIES: u64 = 1 << 24;

/// A parsed library.
pub(crate) struct ElfImage<'b> {
    bytes: &'b [u8],
    segments: Vec<LoadSegment>,
    /// The file range of the program headers.
    segment_headers: Range<usize>,
    /// The entries of the dynamic section: tag, value, and file offset of the entry.
    dynamic: Vec<(DynamicTag, u64, usize)>,
    /// The file range of the string table.
    strings: Range<usize>,
    symbols: Vec<ReferencedSymbol>,
    versions: Vec<NeededVersion>,
}

/// An undefined symbol of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) name: String,
    /// True if it may be missing.
    pub(crate) weak: bool,
    /// True for data, thread-local data included.
    pub(crate) data: bool,
    /// The required version, and the library that has it.
    pub(crate) version: Option<(String, String)>,
}

/// A segment that is mapped: `PT_LOAD`.
struct LoadSegment {
    address: u64,
    file: Range<usize>,
}

/// A symbol that a relocation refers to.
struct ReferencedSymbol {
    /// Its file offset.
    offset: usize,
    name: Range<usize>,
    import: bool,
    unique: bool,
    weak: bool,
    data: bool,
    version: u16,
    /// The file offset of the version.
    version_offset: Option<usize>,
}

/// A version that the library requires of another one: `Vernaux`.
struct NeededVersion {
    /// Its file offset.
    offset: usize,
    /// The file offset of the library's `Verneed`.
    record: usize,
    index: u16,
    name: Range<usize>,
    library: Range<usize>,
}

impl<'b> ElfImage<'b> {
    /// The names of the needed libraries, in order.
    pub(crate) fn needed(&self) -> Result<Vec<&'b str>> {
        let entries = self
            .dynamic
            .iter()
            .filter(|entry| entry.0 == elf::DT_NEEDED);
        entries
            .map(|entry| self.text(self.string(entry.1, "the name of a needed library")?))
            .collect()
    }

    /// The undefined symbols that relocations refer to, each once.
    pub(crate) fn imports(&self) -> Result<Vec<Import>> {
        let imports = self.symbols.iter().filter(|symbol| symbol.import);
        imports
            .map(|symbol| {
                let need = self
                    .versions
                    .iter()
                    .find(|need| need.index == symbol.version);
                let version = match need.filter(|_| symbol.version > 1) {
                    Some(need) => Some((
                        self.text(need.name.clone())?.to_string(),
                        self.text(need.library.clone())?.to_string(),
                    )),
                    None => None,
                };
                Ok(Import {
                    name: self.text(symbol.name.clone())?.to_string(),
                    weak: symbol.weak,
                    data: symbol.data,
                    version,
                })
            })
            .collect()
    }

    /// The end of the last mapped byte of the file.
    pub(crate) fn end_of_memory(&self) -> usize {
        let ends = self.segments.iter().map(|segment| segment.file.end);
        ends.max().unwrap_or(0)
    }

    /// The value of a dynamic entry.
    fn value(&self, tag: DynamicTag) -> Option<u64> {
        let entry = self.dynamic.iter().find(|entry| entry.0 == tag)?;
        Some(entry.1)
    }

    /// The value of a dynamic entry that must be there.
    fn required(&self, tag: DynamicTag, what: &str) -> Result<u64> {
        match self.value(tag) {
            Some(value) => Ok(value),
            None => bail!(InvalidProgram, "the library does not say the {what}"),
        }
    }

    /// A table at a virtual address.
    fn table<T: Pod>(&self, address: u64, count: u64, what: &str) -> Result<&'b [T]> {
        ensure!(
            count <= MAX_ENTRIES * 16,
            InvalidProgram,
            "the library says that {what} are {count}"
        );
        let start = self.file_offset(address, what)?;
        slice_at(self.bytes, start, usize_of(count, what)?, what)
    }

    /// The file offset of a virtual address.
    fn file_offset(&self, address: u64, what: &str) -> Result<usize> {
        let offset = self.segments.iter().find_map(|segment| {
            let inside = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            (inside < segment.file.len()).then(|| segment.file.start + inside)
        });
        match offset {
            Some(offset) => Ok(offset),
            None => bail!(
                InvalidProgram,
                "the library says that {what} is at {address:#x}, where it has nothing"
            ),
        }
    }

    /// The file range of a string, without its terminator.
    fn string(&self, offset: u64, what: &str) -> Result<Range<usize>> {
        let strings = &self.bytes[self.strings.clone()];
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = strings.get(offset..).unwrap_or_default();
        match CStr::from_bytes_until_nul(rest) {
            Ok(string) => {
                let start = self.strings.start + offset;
                Ok(start..start + string.count_bytes())
            }
            Err(_) => bail!(
                InvalidProgram,
                "the library says that {what} is string {offset}, and its strings are {} bytes",
                strings.len()
            ),
        }
    }

    /// The text of a file range.
    fn text(&self, range: Range<usize>) -> Result<&'b str> {
        let bytes = &self.bytes[range];
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => bail!(
                InvalidProgram,
                "a name in the library is not text: `{}`",
                bytes.escape_ascii()
            ),
        }
    }
}
