//! Accessors for tests.

use object::LittleEndian as LE;
use object::elf::{self, Vernaux};

use super::bytes::at;
use super::{Dynamic, ElfImage, Header, Segment, Symbol};

impl ElfImage<'_> {
    /// True if all needed versions are weak.
    pub(crate) fn has_only_weak_versions(&self) -> bool {
        self.versions.iter().all(|need| {
            let need: &Vernaux<LE> = at(self.bytes, need.offset, "a version").unwrap();
            need.vna_flags.get(LE).0 & elf::VER_FLG_WEAK.0 != 0
        })
    }

    /// The names of its own visible symbols that relocations refer to.
    pub(crate) fn visible_symbols(&self) -> Vec<&str> {
        let own = self.symbols.iter().filter(|symbol| !symbol.import);
        let visible = own.filter(|referenced| {
            let symbol: &Symbol = at(self.bytes, referenced.offset, "a symbol").unwrap();
            symbol.st_visibility() == elf::STV_DEFAULT
        });
        visible
            .map(|symbol| self.text(symbol.name.clone()).unwrap())
            .collect()
    }

    /// The file offset of the dynamic entry of the library's own name.
    pub(crate) fn soname_entry(&self) -> Option<usize> {
        let mut entries = self.dynamic.iter();
        entries
            .find(|entry| entry.0 == elf::DT_SONAME)
            .map(|entry| entry.2)
    }

    /// The file offset of the program header for the stack.
    pub(crate) fn stack_header(&self) -> Option<usize> {
        let headers = self.segment_headers.clone().step_by(size_of::<Segment>());
        headers.into_iter().find(|&offset| {
            let header: &Segment = at(self.bytes, offset, "a header").unwrap();
            header.p_type.get(LE) == elf::PT_GNU_STACK
        })
    }

    /// The flags of the stack.
    pub(crate) fn stack_flags(&self) -> Option<u32> {
        let header: &Segment = at(self.bytes, self.stack_header()?, "a header").unwrap();
        Some(header.p_flags.get(LE).0)
    }

    /// The parts of the file that have offsets and addresses, by start and length.
    pub(crate) fn structural_parts(&self) -> Vec<(usize, usize)> {
        let mut parts = vec![
            (0, size_of::<Header>()),
            (self.segment_headers.start, self.segment_headers.len()),
        ];
        let dynamic = self.dynamic.iter();
        parts.extend(dynamic.map(|entry| (entry.2, size_of::<Dynamic>())));
        let versions = self.versions.iter();
        parts.extend(versions.map(|need| (need.offset, size_of::<Vernaux<LE>>())));
        let symbols = self.symbols.iter();
        parts.extend(symbols.map(|symbol| (symbol.offset, size_of::<Symbol>())));
        if let Some(address) = self.value(elf::DT_RELA) {
            parts.push((self.file_offset(address, "relocations").unwrap(), 1000));
        }
        parts
    }
}
