//! Rewriting of libraries for the dynamic loader.

use std::collections::BTreeSet;
use std::ops::Range;

use object::LittleEndian as LE;
use object::elf::{self, Vernaux, Verneed};
use object::pod;
use thalweg_core::{Result, bail};

use super::bytes::at_mut;
use super::{Dynamic, ElfImage, Header, Segment, Symbol};

/// The prefix of mangled C++ names. The functions that libraries are called by have C names.
const CPP_PREFIX: &[u8] = b"_Z";

impl ElfImage<'_> {
    /// A copy for the dynamic loader. `keep` selects the needed libraries that stay; the others are replaced
    /// by one, `provider`.
    ///
    /// # Errors
    /// If there is no space for the provider's name: it overwrites another name.
    pub(crate) fn rewritten(&self, keep: impl Fn(&str) -> bool, provider: &str) -> Result<Vec<u8>> {
        let mut copy = self.copy_mapped()?;
        self.allow_non_executable_stack(&mut copy)?;
        self.weaken_versions(&mut copy)?;
        self.localize_symbols(&mut copy)?;
        self.allow_unloading(&mut copy)?;
        self.need_provider(&mut copy, keep, provider)?;
        Ok(copy)
    }

    /// A copy without what follows the last mapped segment (section headers, debug symbols), which is often
    /// the larger part and is not used.
    fn copy_mapped(&self) -> Result<Vec<u8>> {
        let end = self.end_of_memory().max(self.segment_headers.end);
        let mut copy = self.bytes[..end].to_vec();
        let header: &mut Header = at_mut(&mut copy, 0)?;
        header.e_shoff.set(LE, 0);
        header.e_shnum.set(LE, 0);
        header.e_shstrndx.set(LE, elf::SHN_UNDEF);
        Ok(copy)
    }

    /// Clears the request for an executable stack. The linker sets it if an object file does not opt out,
    /// and newer loaders refuse it. No code of AOTInductor needs it.
    fn allow_non_executable_stack(&self, copy: &mut [u8]) -> Result<()> {
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

    /// Makes all needed versions weak: a weak version may be missing. Imports are resolved one by one.
    fn weaken_versions(&self, copy: &mut [u8]) -> Result<()> {
        for need in &self.versions {
            let need: &mut Vernaux<LE> = at_mut(copy, need.offset)?;
            let flags = need.vna_flags.get(LE).0 | elf::VER_FLG_WEAK.0;
            need.vna_flags.set(LE, elf::VersionFlags(flags));
        }
        Ok(())
    }

    /// Hides C++ symbols, and makes unique symbols global.
    ///
    /// C++'s standard library, with thousands of symbols, is linked into these libraries. The loader would
    /// look up each symbol in the whole process first, which takes most of the time of loading, and finds
    /// another version where the process has one. A hidden symbol is bound within the library. A unique
    /// symbol (`STB_GNU_UNIQUE`) would be shared by the whole process, and its library would never be
    /// unloaded.
    fn localize_symbols(&self, copy: &mut [u8]) -> Result<()> {
        for referenced in self.symbols.iter().filter(|symbol| !symbol.import) {
            let is_of_cpp = self.bytes[referenced.name.clone()].starts_with(CPP_PREFIX);
            let symbol: &mut Symbol = at_mut(copy, referenced.offset)?;
            if referenced.unique {
                symbol.st_info = elf::STB_GLOBAL | symbol.st_info.st_type();
            }
            if is_of_cpp {
                symbol.st_other = symbol.st_other.with_visibility(elf::STV_HIDDEN);
            }
        }
        Ok(())
    }

    /// Clears the flags that keep the library loaded for good or make its symbols global.
    fn allow_unloading(&self, copy: &mut [u8]) -> Result<()> {
        for &(tag, value, offset) in &self.dynamic {
            if tag == elf::DT_FLAGS_1 {
                let unwanted = elf::DF_1_NODELETE.0 | elf::DF_1_GLOBAL.0;
                let entry: &mut Dynamic = at_mut(copy, offset)?;
                entry.d_val.set(LE, value & !unwanted);
            }
        }
        Ok(())
    }

    /// Replaces needed libraries by the provider.
    fn need_provider(
        &self,
        copy: &mut [u8],
        keep: impl Fn(&str) -> bool,
        provider: &str,
    ) -> Result<()> {
        let mut replaced = Vec::new();
        let mut space = None;
        for &(tag, value, offset) in &self.dynamic {
            if tag != elf::DT_NEEDED {
                continue;
            }
            let name = self.string(value, "the name of a needed library")?;
            if keep(self.text(name.clone())?) {
                continue;
            }
            replaced.push(offset);
            if name.len() >= provider.len() && !self.is_used_by_others(&name) {
                space.get_or_insert((value, name));
            }
        }
        let Some((string, name)) = space else {
            bail!(
                Unsupported,
                "the library needs none of the libraries that Thalweg takes the place of (such as \
                 `libcuda.so.1`), so that there is no place for the name of what it is given \
                 instead; it needs {:?}",
                self.needed()?
            );
        };
        self.forget_versions(copy, keep, string)?;
        let target = &mut copy[name];
        target.fill(0);
        target[..provider.len()].copy_from_slice(provider.as_bytes());
        for offset in replaced {
            let entry: &mut Dynamic = at_mut(copy, offset)?;
            entry.d_val.set(LE, string);
        }
        Ok(())
    }

    /// Removes versions of replaced libraries from symbols: the provider has none, and the loader aborts the
    /// process if a symbol requires one of it. What remains are weak versions that no symbol refers to.
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
            if let Some(offset) = symbol.version_offset
                && forgotten.contains(&symbol.version)
            {
                let version: &mut [u8; 2] = at_mut(copy, offset)?;
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

    /// True if a string overlaps with another one in use: the end of a string can be a string of its own.
    fn is_used_by_others(&self, name: &Range<usize>) -> bool {
        let overlaps = |other: &Range<usize>| {
            other != name && other.start < name.end && name.start < other.end
        };
        let mut versions = self.versions.iter();
        self.symbols.iter().any(|symbol| overlaps(&symbol.name))
            || versions.any(|need| overlaps(&need.name) || overlaps(&need.library))
    }
}
