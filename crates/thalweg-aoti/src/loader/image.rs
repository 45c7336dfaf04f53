//! A library's bytes: read as the dynamic loader reads them, and changed so that it takes them.
//!
//! The loader goes by segments and the dynamic section, not by the table of sections, so this does,
//! too. It is the loader that has the last word on a library; what is checked here is what it would
//! not check, but read beyond the bytes for.
#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::ops::Range;

use object::LittleEndian as LE;
use object::elf::{
    self, DynamicTag, ProgramHeader64, ProgramType, Rela64, Sym64, Vernaux, Verneed,
};
use object::pod::{self, Pod};
use thalweg_core::{Result, bail, ensure};

use super::machine::Machine;

type Header = elf::FileHeader64<LE>;
type Segment = ProgramHeader64<LE>;
type Dynamic = elf::Dyn64<LE>;
type Symbol = Sym64<LE>;
type Relocation = Rela64<LE>;

/// More of anything than this is no library. The largest of those that were looked at has some 5,000
/// symbols, 3,600 relocations and 17 versions.
const MOST: u64 = 1 << 24;

/// How the names start that C++ gives to functions and data; those that libraries are called by are C's.
const CPP: &[u8] = b"_Z";

/// A library that can be read.
pub(crate) struct Image<'b> {
    bytes: &'b [u8],
    segments: Vec<Loaded>,
    /// Where the headers of segments are.
    segment_headers: Range<usize>,
    /// The entries of the dynamic section, up to the end, and where in the file each is.
    dynamic: Vec<(DynamicTag, u64, usize)>,
    /// The file range of the strings.
    strings: Range<usize>,
    /// The symbols that relocations refer to.
    symbols: Vec<Referred>,
    versions: Vec<VersionNeed>,
}

/// A symbol that the library needs from elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) name: String,
    /// Whether it may be missing.
    pub(crate) weak: bool,
    /// Whether it is said to be data, or thread-local data.
    pub(crate) data: bool,
    /// The version that is asked for, and of which library.
    pub(crate) version: Option<(String, String)>,
}

/// A part of the file that becomes memory.
struct Loaded {
    address: u64,
    file: Range<usize>,
}

/// A symbol that a relocation refers to.
struct Referred {
    /// Where it is in the file.
    place: usize,
    name: Range<usize>,
    import: bool,
    unique: bool,
    weak: bool,
    data: bool,
    version: u16,
    /// Where in the file that is.
    version_place: Option<usize>,
}

/// A version that the library asks for.
struct VersionNeed {
    /// Where it is in the file.
    place: usize,
    /// Where in the file the record of its library is.
    record: usize,
    index: u16,
    name: Range<usize>,
    library: Range<usize>,
}

impl<'b> Image<'b> {
    /// Reads a library for a machine.
    pub(crate) fn parse(bytes: &'b [u8], machine: Machine) -> Result<Self> {
        let header: &Header = at(bytes, 0, "the header")?;
        check_header(header, bytes.len(), machine)?;
        let start = usize_of(header.e_phoff.get(LE), "the place of the segments' headers")?;
        let count = usize::from(header.e_phnum.get(LE));
        let headers: &[Segment] = slice_at(bytes, start, count, "the segments' headers")?;
        let mut segments: Vec<Loaded> = Vec::new();
        for (index, segment) in headers.iter().enumerate() {
            if segment.p_type.get(LE) == elf::PT_LOAD {
                let loaded = Loaded::of(segment, index, bytes.len())?;
                ensure!(
                    segments
                        .last()
                        .is_none_or(|last| last.address <= loaded.address),
                    InvalidProgram,
                    "the library's segment {index} lies before the one before it"
                );
                segments.push(loaded);
            }
        }
        let mut image = Self {
            bytes,
            segments,
            segment_headers: start..start + size_of_val(headers),
            dynamic: Vec::new(),
            strings: 0..0,
            symbols: Vec::new(),
            versions: Vec::new(),
        };
        image.read_dynamic()?;
        image.read_versions()?;
        image.read_symbols()?;
        Ok(image)
    }

    /// The names of the libraries that it needs, in order.
    pub(crate) fn needed(&self) -> Result<Vec<&'b str>> {
        let entries = self
            .dynamic
            .iter()
            .filter(|entry| entry.0 == elf::DT_NEEDED);
        entries
            .map(|entry| self.text(self.string(entry.1, "the name of a needed library")?))
            .collect()
    }

    /// The symbols that it needs from elsewhere, each once.
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

    /// The library as the dynamic loader is to have it: `keep` says which of the needed libraries
    /// stay, and the others become one, `provider`.
    ///
    /// # Errors
    /// If there is no room for the provider's name: it takes the place of another name.
    pub(crate) fn rewritten(&self, keep: impl Fn(&str) -> bool, provider: &str) -> Result<Vec<u8>> {
        let mut copy = self.copy_of_what_is_mapped()?;
        self.allow_plain_stack(&mut copy)?;
        self.only_wish_for_versions(&mut copy)?;
        self.share_no_symbols(&mut copy)?;
        self.allow_unloading(&mut copy)?;
        self.need_provider(&mut copy, keep, provider)?;
        Ok(copy)
    }

    /// What lies behind the last part that becomes memory (the table of sections, symbols for
    /// debuggers) nobody looks at; it is often the larger part.
    fn copy_of_what_is_mapped(&self) -> Result<Vec<u8>> {
        let end = self.end_of_memory().max(self.segment_headers.end);
        let mut copy = self.bytes[..end].to_vec();
        let header: &mut Header = at_mut(&mut copy, 0)?;
        header.e_shoff.set(LE, 0);
        header.e_shnum.set(LE, 0);
        header.e_shstrndx.set(LE, elf::SHN_UNDEF);
        Ok(copy)
    }

    /// Where the last byte of the file that becomes memory ends.
    pub(crate) fn end_of_memory(&self) -> usize {
        let ends = self.segments.iter().map(|segment| segment.file.end);
        ends.max().unwrap_or(0)
    }

    /// The linker says that a library's stack must be executable if one of its parts did not say
    /// that it need not be. Newer loaders refuse that. None of what AOTInductor writes needs it.
    fn allow_plain_stack(&self, copy: &mut [u8]) -> Result<()> {
        let headers = &mut copy[self.segment_headers.clone()];
        let Ok(headers) = pod::slice_from_all_bytes_mut::<Segment>(headers) else {
            bail!(Internal, "the headers of segments are gone");
        };
        for segment in headers {
            if segment.p_type.get(LE) == elf::PT_GNU_STACK {
                let flags = segment.p_flags.get(LE).0 & !elf::PF_X.0;
                segment.p_flags.set(LE, elf::ProgramFlags(flags));
            }
        }
        Ok(())
    }

    /// A version that is only wished for may be missing. What is really imported from it is looked
    /// for one by one.
    fn only_wish_for_versions(&self, copy: &mut [u8]) -> Result<()> {
        for need in &self.versions {
            let need: &mut Vernaux<LE> = at_mut(copy, need.place)?;
            let flags = need.vna_flags.get(LE).0 | elf::VER_FLG_WEAK.0;
            need.vna_flags.set(LE, elf::VersionFlags(flags));
        }
        Ok(())
    }

    /// Makes what the library has of C++ its own.
    ///
    /// C++'s standard library, with thousands of symbols, is linked into these libraries, and each of them
    /// would be looked for in the whole process first: which takes most of the time that loading takes, and
    /// finds another version where the process has one. A hidden symbol is the library's without a look.
    /// A "unique" one would be one for the whole process, and keep its library loaded for good.
    fn share_no_symbols(&self, copy: &mut [u8]) -> Result<()> {
        for referred in self.symbols.iter().filter(|symbol| !symbol.import) {
            let is_of_cpp = self.bytes[referred.name.clone()].starts_with(CPP);
            let symbol: &mut Symbol = at_mut(copy, referred.place)?;
            if referred.unique {
                symbol.st_info = elf::STB_GLOBAL | symbol.st_info.st_type();
            }
            if is_of_cpp {
                symbol.st_other = symbol.st_other.with_visibility(elf::STV_HIDDEN);
            }
        }
        Ok(())
    }

    /// Takes back what would keep the library loaded for good, or show it to others.
    fn allow_unloading(&self, copy: &mut [u8]) -> Result<()> {
        for &(tag, value, place) in &self.dynamic {
            if tag == elf::DT_FLAGS_1 {
                let unwanted = elf::DF_1_NODELETE.0 | elf::DF_1_GLOBAL.0;
                let entry: &mut Dynamic = at_mut(copy, place)?;
                entry.d_val.set(LE, value & !unwanted);
            }
        }
        Ok(())
    }

    fn need_provider(
        &self,
        copy: &mut [u8],
        keep: impl Fn(&str) -> bool,
        provider: &str,
    ) -> Result<()> {
        let mut replaced = Vec::new();
        let mut room = None;
        for &(tag, value, place) in &self.dynamic {
            if tag != elf::DT_NEEDED {
                continue;
            }
            let name = self.string(value, "the name of a needed library")?;
            if keep(self.text(name.clone())?) {
                continue;
            }
            replaced.push(place);
            if name.len() >= provider.len() && !self.is_used_by_others(&name) {
                room.get_or_insert((value, name));
            }
        }
        let Some((offset, name)) = room else {
            bail!(
                Unsupported,
                "the library needs none of the libraries that Thalweg takes the place of (such as \
                 `libcuda.so.1`), so that there is no place for the name of what it is given \
                 instead; it needs {:?}",
                self.needed()?
            );
        };
        self.forget_versions(copy, keep, offset)?;
        let target = &mut copy[name];
        target.fill(0);
        target[..provider.len()].copy_from_slice(provider.as_bytes());
        for place in replaced {
            let entry: &mut Dynamic = at_mut(copy, place)?;
            entry.d_val.set(LE, offset);
        }
        Ok(())
    }

    /// The provider has no versions, so that none can be asked of it. (The loader gives up the whole
    /// process if one is.) What remains is a record that wishes for versions, and that no symbol
    /// refers to.
    fn forget_versions(
        &self,
        copy: &mut [u8],
        keep: impl Fn(&str) -> bool,
        provider: u64,
    ) -> Result<()> {
        let mut forgotten = BTreeSet::new();
        let mut records = Vec::new();
        for need in &self.versions {
            if !keep(self.text(need.library.clone())?) {
                forgotten.insert(need.index);
                records.push(need.record);
            }
        }
        for symbol in &self.symbols {
            if let Some(place) = symbol.version_place
                && forgotten.contains(&symbol.version)
            {
                let version: &mut [u8; 2] = at_mut(copy, place)?;
                *version = 1u16.to_le_bytes();
            }
        }
        let Ok(provider) = u32::try_from(provider) else {
            bail!(
                InvalidProgram,
                "the library's strings are {provider} bytes and more"
            );
        };
        for record in records {
            let record: &mut Verneed<LE> = at_mut(copy, record)?;
            record.vn_file.set(LE, provider);
        }
        Ok(())
    }

    /// Whether a string is part of another one that matters: the end of a string can be a string of
    /// its own.
    fn is_used_by_others(&self, name: &Range<usize>) -> bool {
        let overlaps = |other: &Range<usize>| {
            other != name && other.start < name.end && name.start < other.end
        };
        let mut versions = self.versions.iter();
        self.symbols.iter().any(|symbol| overlaps(&symbol.name))
            || versions.any(|need| overlaps(&need.name) || overlaps(&need.library))
    }

    fn read_dynamic(&mut self) -> Result<()> {
        let headers: &[Segment] =
            match pod::slice_from_all_bytes(&self.bytes[self.segment_headers.clone()]) {
                Ok(headers) => headers,
                Err(()) => bail!(Internal, "the headers of segments are gone"),
            };
        let of_type = |kind: ProgramType| {
            let mut found = headers
                .iter()
                .filter(|segment| segment.p_type.get(LE) == kind);
            (found.next(), found.next())
        };
        let (Some(segment), None) = of_type(elf::PT_DYNAMIC) else {
            bail!(
                InvalidProgram,
                "the library has no dynamic section, or several"
            );
        };
        let address = segment.p_vaddr.get(LE);
        let len = segment.p_memsz.get(LE) / size_of::<Dynamic>() as u64;
        let entries: &[Dynamic] = self.table(address, len, "the dynamic section")?;
        let start = self.file_offset(address, "the dynamic section")?;
        let mut dynamic = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let tag = entry.d_tag.get(LE);
            if tag == elf::DT_NULL {
                break;
            }
            let place = start + index * size_of::<Dynamic>();
            dynamic.push((tag, entry.d_val.get(LE), place));
        }
        ensure!(
            dynamic.len() < entries.len(),
            InvalidProgram,
            "the library's dynamic section has no end"
        );
        self.dynamic = dynamic;
        let address = self.required(elf::DT_STRTAB, "strings")?;
        let len = self.required(elf::DT_STRSZ, "size of the strings")?;
        let strings: &[u8] = self.table(address, len, "the strings")?;
        ensure!(
            strings.last() == Some(&0),
            InvalidProgram,
            "the library's strings have no end"
        );
        let start = self.file_offset(address, "the strings")?;
        self.strings = start..start + usize_of(len, "the size of the strings")?;
        Ok(())
    }

    fn read_versions(&mut self) -> Result<()> {
        let Some(address) = self.value(elf::DT_VERNEED) else {
            return Ok(());
        };
        let count = self.required(elf::DT_VERNEEDNUM, "number of needed versions")?;
        let what = "the needed versions";
        let mut place = self.file_offset(address, what)?;
        for _ in 0..count.min(MOST) {
            let need: &Verneed<LE> = at(self.bytes, place, what)?;
            let library = self.string(need.vn_file.get(LE).into(), "the name of a library")?;
            let mut aux = forward(place, need.vn_aux.get(LE));
            for _ in 0..need.vn_cnt.get(LE) {
                let version: &Vernaux<LE> = at(self.bytes, aux, what)?;
                let name = self.string(version.vna_name.get(LE).into(), "the name of a version")?;
                let next = version.vna_next.get(LE);
                self.versions.push(VersionNeed {
                    place: aux,
                    record: place,
                    index: version.vna_other.get(LE).0 & elf::VERSYM_VERSION,
                    name,
                    library: library.clone(),
                });
                ensure!(
                    (self.versions.len() as u64) < MOST,
                    InvalidProgram,
                    "the library needs more than {MOST} versions"
                );
                if next == 0 {
                    break;
                }
                aux = forward(aux, next);
            }
            let need: &Verneed<LE> = at(self.bytes, place, what)?;
            match need.vn_next.get(LE) {
                0 => break,
                next => place = forward(place, next),
            }
        }
        Ok(())
    }

    fn read_symbols(&mut self) -> Result<()> {
        let mut referred = Vec::new();
        for (address, len, what) in [
            (elf::DT_RELA, elf::DT_RELASZ, "the relocations"),
            (elf::DT_JMPREL, elf::DT_PLTRELSZ, "the relocations of calls"),
        ] {
            let Some(address) = self.value(address) else {
                continue;
            };
            let len = self.required(len, "size of relocations")?;
            let count = len / size_of::<Relocation>() as u64;
            let relocations = self.table::<Relocation>(address, count, what)?;
            let symbols = relocations
                .iter()
                .map(|relocation| relocation.r_sym(LE, false));
            // Symbol 0 is none. Most relocations have no symbol.
            referred.extend(symbols.filter(|&symbol| symbol != 0));
        }
        for (tag, value, _) in &self.dynamic {
            let is_odd = match *tag {
                elf::DT_SYMENT => *value != size_of::<Symbol>() as u64,
                elf::DT_RELAENT => *value != size_of::<Relocation>() as u64,
                elf::DT_PLTREL => *value != elf::DT_RELA.0 as u64,
                elf::DT_REL => true,
                _ => false,
            };
            ensure!(
                !is_odd,
                InvalidProgram,
                "the library's dynamic entry {tag:?} of {value} is not what machines of 64 bits have"
            );
        }
        referred.sort_unstable();
        referred.dedup();
        let symbols = self.required(elf::DT_SYMTAB, "symbols")?;
        for index in referred {
            let offset = u64::from(index) * size_of::<Symbol>() as u64;
            let address = symbols.saturating_add(offset);
            let place = self.file_offset(address, "a symbol")?;
            let symbol: &Symbol = at(self.bytes, place, "a symbol")?;
            let name = self.string(symbol.st_name.get(LE).into(), "the name of a symbol")?;
            let (mut version, mut version_place) = (0, None);
            if let Some(versions) = self.value(elf::DT_VERSYM) {
                let what = "a symbol's version";
                let address = versions.saturating_add(u64::from(index) * 2);
                let place = self.file_offset(address, what)?;
                let bytes: &[u8; 2] = at(self.bytes, place, what)?;
                version = u16::from_le_bytes(*bytes) & elf::VERSYM_VERSION;
                version_place = Some(place);
            }
            let kind = symbol.st_type();
            self.symbols.push(Referred {
                place,
                name,
                import: symbol.st_shndx.get(LE) == elf::SHN_UNDEF,
                unique: symbol.st_bind() == elf::STB_GNU_UNIQUE,
                weak: symbol.st_bind() == elf::STB_WEAK,
                data: [elf::STT_OBJECT, elf::STT_TLS].contains(&kind),
                version,
                version_place,
            });
        }
        Ok(())
    }

    fn value(&self, tag: DynamicTag) -> Option<u64> {
        let entry = self.dynamic.iter().find(|entry| entry.0 == tag)?;
        Some(entry.1)
    }

    fn required(&self, tag: DynamicTag, what: &str) -> Result<u64> {
        match self.value(tag) {
            Some(value) => Ok(value),
            None => bail!(InvalidProgram, "the library does not say the {what}"),
        }
    }

    /// Things that lie one after another in memory, and so in the file.
    fn table<T: Pod>(&self, address: u64, count: u64, what: &str) -> Result<&'b [T]> {
        ensure!(
            count <= MOST * 16,
            InvalidProgram,
            "the library says that {what} are {count}"
        );
        let start = self.file_offset(address, what)?;
        slice_at(self.bytes, start, usize_of(count, what)?, what)
    }

    fn file_offset(&self, address: u64, what: &str) -> Result<usize> {
        let place = self.segments.iter().find_map(|segment| {
            let inside = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            (inside < segment.file.len()).then(|| segment.file.start + inside)
        });
        match place {
            Some(place) => Ok(place),
            None => bail!(
                InvalidProgram,
                "the library says that {what} is at {address:#x}, where it has nothing"
            ),
        }
    }

    /// Where in the file a string is, without its end.
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

impl Loaded {
    fn of(segment: &Segment, index: usize, len: usize) -> Result<Self> {
        let offset = segment.p_offset.get(LE);
        let in_file = segment.p_filesz.get(LE);
        let in_memory = segment.p_memsz.get(LE);
        let address = segment.p_vaddr.get(LE);
        let end = offset.checked_add(in_file).filter(|end| *end <= len as u64);
        let (Some(end), true, Some(_)) =
            (end, in_file <= in_memory, address.checked_add(in_memory))
        else {
            bail!(
                InvalidProgram,
                "the library has {len} bytes, and its segment {index} is said to be {in_file} of them \
                 from {offset} on, and {in_memory} bytes of memory at {address:#x}"
            );
        };
        Ok(Self {
            address,
            file: usize_of(offset, "a segment")?..usize_of(end, "a segment")?,
        })
    }
}

fn check_header(header: &Header, len: usize, machine: Machine) -> Result<()> {
    let ident = &header.e_ident;
    ensure!(
        ident.magic == elf::ELFMAG,
        InvalidProgram,
        "the library, {len} bytes, is no ELF file; it starts with `{}`",
        ident.magic.escape_ascii()
    );
    ensure!(
        ident.class == elf::ELFCLASS64 && ident.data == elf::ELFDATA2LSB,
        Unsupported,
        "the library is not for machines of 64 bits that are little-endian"
    );
    let found = header.e_machine.get(LE);
    ensure!(
        found == machine.elf(),
        Unsupported,
        "the library is for {}, and this is {machine}",
        Machine::name_of(found)
    );
    ensure!(
        header.e_type.get(LE) == elf::ET_DYN,
        InvalidProgram,
        "the library is an ELF file, but no shared library; its type is {}",
        header.e_type.get(LE).0
    );
    ensure!(
        usize::from(header.e_phentsize.get(LE)) == size_of::<Segment>(),
        InvalidProgram,
        "the library's headers of segments have {} bytes each, not {}",
        header.e_phentsize.get(LE),
        size_of::<Segment>()
    );
    Ok(())
}

fn at<'b, T: Pod>(bytes: &'b [u8], place: usize, what: &str) -> Result<&'b T> {
    let rest = bytes.get(place..).unwrap_or_default();
    match pod::from_bytes(rest) {
        Ok((value, _)) => Ok(value),
        Err(()) => bail!(
            InvalidProgram,
            "the library has {} bytes, and {what} would be {} from {place} on",
            bytes.len(),
            size_of::<T>()
        ),
    }
}

fn slice_at<'b, T: Pod>(
    bytes: &'b [u8],
    place: usize,
    count: usize,
    what: &str,
) -> Result<&'b [T]> {
    let rest = bytes.get(place..).unwrap_or_default();
    match pod::slice_from_bytes(rest, count) {
        Ok((values, _)) => Ok(values),
        Err(()) => bail!(
            InvalidProgram,
            "the library has {} bytes, and {what} would be {count} times {} from {place} on",
            bytes.len(),
            size_of::<T>()
        ),
    }
}

/// What was read there before.
fn at_mut<T: Pod>(bytes: &mut [u8], place: usize) -> Result<&mut T> {
    let rest = bytes.get_mut(place..).unwrap_or_default();
    match pod::from_bytes_mut(rest) {
        Ok((value, _)) => Ok(value),
        Err(()) => bail!(Internal, "nothing is at {place} any more"),
    }
}

/// A place behind another one; so far behind that nothing is there if there is no such place.
fn forward(place: usize, by: u32) -> usize {
    place.saturating_add(by as usize)
}

fn usize_of(value: u64, what: &str) -> Result<usize> {
    match usize::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => bail!(InvalidProgram, "the library says that {what} is {value}"),
    }
}

/// What tests look at.
#[cfg(test)]
impl Image<'_> {
    /// Whether every version is only wished for.
    pub(crate) fn wishes_only(&self) -> bool {
        self.versions.iter().all(|need| {
            let need: &Vernaux<LE> = at(self.bytes, need.place, "a version").unwrap();
            need.vna_flags.get(LE).0 & elf::VER_FLG_WEAK.0 != 0
        })
    }

    /// The names of its own symbols that others may see, of those that it refers to itself.
    pub(crate) fn shown(&self) -> Vec<&str> {
        let own = self.symbols.iter().filter(|symbol| !symbol.import);
        let shown = own.filter(|referred| {
            let symbol: &Symbol = at(self.bytes, referred.place, "a symbol").unwrap();
            symbol.st_visibility() == elf::STV_DEFAULT
        });
        shown
            .map(|symbol| self.text(symbol.name.clone()).unwrap())
            .collect()
    }

    /// Where the entry is that says what the library's own name is.
    pub(crate) fn own_name_entry(&self) -> Option<usize> {
        let mut entries = self.dynamic.iter();
        entries
            .find(|entry| entry.0 == elf::DT_SONAME)
            .map(|entry| entry.2)
    }

    /// Where the header is that says what the stack may do.
    pub(crate) fn stack_header(&self) -> Option<usize> {
        let headers = self.segment_headers.clone().step_by(size_of::<Segment>());
        headers.into_iter().find(|&place| {
            let header: &Segment = at(self.bytes, place, "a header").unwrap();
            header.p_type.get(LE) == elf::PT_GNU_STACK
        })
    }

    pub(crate) fn stack_flags(&self) -> Option<u32> {
        let header: &Segment = at(self.bytes, self.stack_header()?, "a header").unwrap();
        Some(header.p_flags.get(LE).0)
    }

    /// The parts of the file, by start and length, that say where other things are.
    pub(crate) fn places_that_matter(&self) -> Vec<(usize, usize)> {
        let mut places = vec![
            (0, size_of::<Header>()),
            (self.segment_headers.start, self.segment_headers.len()),
        ];
        let dynamic = self.dynamic.iter();
        places.extend(dynamic.map(|entry| (entry.2, size_of::<Dynamic>())));
        let versions = self.versions.iter();
        places.extend(versions.map(|need| (need.place, size_of::<Vernaux<LE>>())));
        let symbols = self.symbols.iter();
        places.extend(symbols.map(|symbol| (symbol.place, size_of::<Symbol>())));
        if let Some(address) = self.value(elf::DT_RELA) {
            places.push((self.file_offset(address, "relocations").unwrap(), 1000));
        }
        places
    }
}
