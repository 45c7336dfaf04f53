//! Parsing of libraries.

use object::LittleEndian as LE;
use object::elf::{self, ProgramType, Vernaux, Verneed};
use object::pod;
use thalweg_core::{Result, bail, ensure};

use super::super::machine::Machine;
use super::bytes::{at, forward, slice_at, usize_of};
use super::{
    Dynamic, ElfImage, Header, LoadSegment, MAX_ENTRIES, NeededVersion, ReferencedSymbol,
    Relocation, Segment, Symbol,
};

impl<'b> ElfImage<'b> {
    /// Parses a library for a machine.
    ///
    /// # Errors
    /// If it is damaged, or for another machine.
    pub(crate) fn parse(bytes: &'b [u8], machine: Machine) -> Result<Self> {
        let header: &Header = at(bytes, 0, "the header")?;
        check_header(header, bytes.len(), machine)?;
        let start = usize_of(header.e_phoff.get(LE), "the place of the segments' headers")?;
        let count = usize::from(header.e_phnum.get(LE));
        let headers: &[Segment] = slice_at(bytes, start, count, "the segments' headers")?;
        let mut segments: Vec<LoadSegment> = Vec::new();
        for (index, segment) in headers.iter().enumerate() {
            if segment.p_type.get(LE) == elf::PT_LOAD {
                let loaded = LoadSegment::of(segment, index, bytes.len())?;
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

    /// Reads the dynamic section, and finds the string table.
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
            let offset = start + index * size_of::<Dynamic>();
            dynamic.push((tag, entry.d_val.get(LE), offset));
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

    /// Reads the needed versions.
    fn read_versions(&mut self) -> Result<()> {
        let Some(address) = self.value(elf::DT_VERNEED) else {
            return Ok(());
        };
        let count = self.required(elf::DT_VERNEEDNUM, "number of needed versions")?;
        let what = "the needed versions";
        let mut offset = self.file_offset(address, what)?;
        for _ in 0..count.min(MAX_ENTRIES) {
            let need: &Verneed<LE> = at(self.bytes, offset, what)?;
            let library = self.string(need.vn_file.get(LE).into(), "the name of a library")?;
            let mut aux = forward(offset, need.vn_aux.get(LE));
            for _ in 0..need.vn_cnt.get(LE) {
                let version: &Vernaux<LE> = at(self.bytes, aux, what)?;
                let name = self.string(version.vna_name.get(LE).into(), "the name of a version")?;
                let next = version.vna_next.get(LE);
                self.versions.push(NeededVersion {
                    offset: aux,
                    record: offset,
                    index: version.vna_other.get(LE).0 & elf::VERSYM_VERSION,
                    name,
                    library: library.clone(),
                });
                ensure!(
                    (self.versions.len() as u64) < MAX_ENTRIES,
                    InvalidProgram,
                    "the library needs more than {MAX_ENTRIES} versions"
                );
                if next == 0 {
                    break;
                }
                aux = forward(aux, next);
            }
            let need: &Verneed<LE> = at(self.bytes, offset, what)?;
            match need.vn_next.get(LE) {
                0 => break,
                next => offset = forward(offset, next),
            }
        }
        Ok(())
    }

    /// Reads the symbols that relocations refer to.
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
            let offset = self.file_offset(address, "a symbol")?;
            let symbol: &Symbol = at(self.bytes, offset, "a symbol")?;
            let name = self.string(symbol.st_name.get(LE).into(), "the name of a symbol")?;
            let (mut version, mut version_offset) = (0, None);
            if let Some(versions) = self.value(elf::DT_VERSYM) {
                let what = "a symbol's version";
                let address = versions.saturating_add(u64::from(index) * 2);
                let offset = self.file_offset(address, what)?;
                let bytes: &[u8; 2] = at(self.bytes, offset, what)?;
                version = u16::from_le_bytes(*bytes) & elf::VERSYM_VERSION;
                version_offset = Some(offset);
            }
            let kind = symbol.st_type();
            self.symbols.push(ReferencedSymbol {
                offset,
                name,
                import: symbol.st_shndx.get(LE) == elf::SHN_UNDEF,
                unique: symbol.st_bind() == elf::STB_GNU_UNIQUE,
                weak: symbol.st_bind() == elf::STB_WEAK,
                data: [elf::STT_OBJECT, elf::STT_TLS].contains(&kind),
                version,
                version_offset,
            });
        }
        Ok(())
    }
}

impl LoadSegment {
    /// The `PT_LOAD` segment of a program header, in a file of `len` bytes.
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

/// Checks that a file is a shared library for a machine.
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
