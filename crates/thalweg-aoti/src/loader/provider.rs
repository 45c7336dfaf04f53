//! Providers: shared objects that define the imports of a library, as the bytes of an ELF file.
//!
//! A provider is made for one library, in the process that opens it, so it contains the addresses of the
//! functions: each of its functions is a jump through a read-only table, and no relocation is needed. It has
//! three segments, so that no memory is both writable and executable:
//!
//! | segment | rights | contents |
//! |---|---|---|
//! | first | read | headers, hash table, symbols, strings, the table of addresses |
//! | second | read, run | one jump per function |
//! | third | read, write | the dynamic section (the loader writes to it), data |
#![forbid(unsafe_code)]

use object::elf::{
    self, Dyn64, DynamicTag, FileHeader64, Ident, ProgramFlags, ProgramHeader64, ProgramType,
    Sym64, SymbolSection,
};
use object::pod::bytes_of;
use object::{I64, LittleEndian as LE, U16, U32, U64};
use thalweg_core::{Result, ensure};

use super::machine::Machine;

/// A symbol that a provider exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Export {
    pub(crate) name: String,
    pub(crate) definition: Definition,
}

/// The definition of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Definition {
    /// A function of the process, by its address.
    Function(u64),
    /// Writable data with these initial bytes.
    Data(&'static [u8]),
}

/// The length of a jump on both machines, which is a multiple of their alignment of functions.
const JUMP: usize = 16;

/// A section index for defined symbols. There are no sections, but a symbol must name one.
const SOME_SECTION: SymbolSection = SymbolSection(1);

/// Writes a provider. Libraries find it by `name`.
pub(crate) fn write_provider(machine: Machine, name: &str, exports: &[Export]) -> Result<Vec<u8>> {
    ensure!(
        exports.len() < (1 << 20),
        Unsupported,
        "a library imports {} symbols",
        exports.len()
    );
    let layout = FileLayout::of(machine, name, exports);
    let mut file = FileBuilder::default();
    file.push(bytes_of(&header(machine)));
    for segment in layout.segments() {
        file.push(bytes_of(&segment));
    }
    file.pad_to(layout.hash);
    for word in hash_table(exports) {
        file.push(&word.to_le_bytes());
    }
    file.pad_to(layout.symbols);
    file.push(bytes_of(&ExportSymbol::default().raw()));
    for (export, symbol) in exports.iter().zip(&layout.exports) {
        file.push(bytes_of(&symbol.defined(&export.definition)));
    }
    file.push(&layout.strings);
    file.pad_to(layout.table);
    for export in exports {
        let address = match export.definition {
            Definition::Function(address) => address,
            Definition::Data(_) => 0,
        };
        file.push(&address.to_le_bytes());
    }
    file.pad_to(layout.code);
    for index in 0..exports.len() {
        let here = layout.code + index * JUMP;
        file.push(&jump(
            machine,
            here as u64,
            (layout.table + index * 8) as u64,
        ));
    }
    file.pad_to(layout.dynamic);
    for (tag, value) in layout.dynamic_entries() {
        file.push(bytes_of(&Dyn64 {
            d_tag: I64::new(LE, tag),
            d_val: U64::new(LE, value),
        }));
    }
    for (export, symbol) in exports.iter().zip(&layout.exports) {
        if let Definition::Data(bytes) = export.definition {
            file.pad_to(symbol.value as usize);
            file.push(bytes);
        }
    }
    Ok(file.0)
}

/// The code at address `here` of a jump to the address in the table entry at `entry`.
fn jump(machine: Machine, here: u64, entry: u64) -> [u8; JUMP] {
    let mut code = [0; JUMP];
    match machine {
        Machine::X86_64 => {
            // endbr64, for processors that check where jumps go: libraries get here by an indirect
            // one. Then jmp *distance(%rip), where the distance counts from the next instruction.
            let distance = entry.wrapping_sub(here + 10) as u32;
            code[..4].copy_from_slice(&[0xf3, 0x0f, 0x1e, 0xfa]);
            code[4..6].copy_from_slice(&[0xff, 0x25]);
            code[6..10].copy_from_slice(&distance.to_le_bytes());
            // int3: nothing goes on from here.
            code[10..].fill(0xcc);
        }
        Machine::Aarch64 => {
            // bti c; adrp x16, page of the entry; ldr x16, [x16, place in the page]; br x16. Calls
            // between libraries may change x16 and x17.
            let pages = (entry >> 12).wrapping_sub(here >> 12) as u32;
            let adrp = 0x9000_0010 | (pages & 3) << 29 | (pages >> 2 & 0x7_ffff) << 5;
            let ldr = 0xf940_0210 | ((entry & 0xfff) as u32 / 8) << 10;
            for (at, word) in [0xd503_245f, adrp, ldr, 0xd61f_0200u32].iter().enumerate() {
                code[at * 4..][..4].copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    code
}

/// The offsets of the parts of a provider, in the file and in memory.
struct FileLayout {
    hash: usize,
    symbols: usize,
    strings_at: usize,
    strings: Vec<u8>,
    table: usize,
    code: usize,
    code_len: usize,
    dynamic: usize,
    end: usize,
    exports: Vec<ExportSymbol>,
    page: usize,
}

/// The name and the address of an exported symbol.
#[derive(Clone, Copy, Default)]
struct ExportSymbol {
    name: u32,
    value: u64,
}

/// The number of program headers.
const SEGMENTS: usize = 5;
/// The number of entries of the dynamic section.
const DYNAMIC_ENTRIES: usize = 7;

impl FileLayout {
    fn of(machine: Machine, name: &str, exports: &[Export]) -> Self {
        let page = machine.largest_page();
        let hash = size_of::<FileHeader64<LE>>() + SEGMENTS * size_of::<ProgramHeader64<LE>>();
        let symbols = (hash + hash_table(exports).len() * 4).next_multiple_of(8);
        let strings_at = symbols + (exports.len() + 1) * size_of::<Sym64<LE>>();
        // The first string is nothing, the second the object's own name.
        let mut strings = vec![0];
        strings.extend(name.bytes().chain([0]));
        let mut export_symbols = Vec::with_capacity(exports.len());
        for export in exports {
            let name = strings.len() as u32;
            export_symbols.push(ExportSymbol { name, value: 0 });
            strings.extend(export.name.bytes().chain([0]));
        }
        let table = (strings_at + strings.len()).next_multiple_of(8);
        let code = (table + exports.len() * 8).next_multiple_of(page);
        let code_len = exports.len() * JUMP;
        let dynamic = (code + code_len).next_multiple_of(page);
        let mut end = dynamic + DYNAMIC_ENTRIES * size_of::<Dyn64<LE>>();
        for (index, (export, symbol)) in exports.iter().zip(&mut export_symbols).enumerate() {
            symbol.value = match export.definition {
                Definition::Function(_) => (code + index * JUMP) as u64,
                Definition::Data(bytes) => {
                    let start = end.next_multiple_of(16);
                    end = start + bytes.len();
                    start as u64
                }
            };
        }
        Self {
            hash,
            symbols,
            strings_at,
            strings,
            table,
            code,
            code_len,
            dynamic,
            end,
            exports: export_symbols,
            page,
        }
    }

    fn segments(&self) -> [ProgramHeader64<LE>; SEGMENTS] {
        let read = elf::PF_R.0;
        let segment = |kind: ProgramType, flags: u32, start: usize, end: usize, align: usize| {
            let (start, len) = (start as u64, (end - start) as u64);
            ProgramHeader64 {
                p_type: U32::new(LE, kind),
                p_flags: U32::new(LE, ProgramFlags(flags)),
                p_offset: U64::new(LE, start),
                p_vaddr: U64::new(LE, start),
                p_paddr: U64::new(LE, start),
                p_filesz: U64::new(LE, len),
                p_memsz: U64::new(LE, len),
                p_align: U64::new(LE, align as u64),
            }
        };
        let write = read | elf::PF_W.0;
        let dynamic_end = self.dynamic + DYNAMIC_ENTRIES * size_of::<Dyn64<LE>>();
        let table_end = self.table + self.exports.len() * 8;
        let code_end = self.code + self.code_len;
        let run = read | elf::PF_X.0;
        [
            segment(elf::PT_LOAD, read, 0, table_end, self.page),
            segment(elf::PT_LOAD, run, self.code, code_end, self.page),
            segment(elf::PT_LOAD, write, self.dynamic, self.end, self.page),
            segment(elf::PT_DYNAMIC, write, self.dynamic, dynamic_end, 8),
            segment(elf::PT_GNU_STACK, write, 0, 0, 16),
        ]
    }

    fn dynamic_entries(&self) -> [(DynamicTag, u64); DYNAMIC_ENTRIES] {
        [
            (elf::DT_SONAME, 1),
            (elf::DT_HASH, self.hash as u64),
            (elf::DT_STRTAB, self.strings_at as u64),
            (elf::DT_SYMTAB, self.symbols as u64),
            (elf::DT_STRSZ, self.strings.len() as u64),
            (elf::DT_SYMENT, size_of::<Sym64<LE>>() as u64),
            (elf::DT_NULL, 0),
        ]
    }
}

impl ExportSymbol {
    /// The entry of an undefined symbol.
    fn raw(&self) -> Sym64<LE> {
        Sym64 {
            st_name: U32::new(LE, self.name),
            st_info: elf::STB_LOCAL | elf::STT_NOTYPE,
            st_other: elf::SymbolOther(0),
            st_shndx: U16::new(LE, elf::SHN_UNDEF),
            st_value: U64::new(LE, self.value),
            st_size: U64::new(LE, 0),
        }
    }

    /// The entry of a symbol with a definition.
    fn defined(&self, definition: &Definition) -> Sym64<LE> {
        let (kind, len) = match definition {
            Definition::Function(_) => (elf::STT_FUNC, JUMP),
            Definition::Data(bytes) => (elf::STT_OBJECT, bytes.len()),
        };
        Sym64 {
            st_info: elf::STB_GLOBAL | kind,
            st_shndx: U16::new(LE, SOME_SECTION),
            st_size: U64::new(LE, len as u64),
            ..self.raw()
        }
    }
}

/// The ELF header.
fn header(machine: Machine) -> FileHeader64<LE> {
    FileHeader64 {
        e_ident: Ident {
            magic: elf::ELFMAG,
            class: elf::ELFCLASS64,
            data: elf::ELFDATA2LSB,
            version: elf::EV_CURRENT,
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            padding: [0; 7],
        },
        e_type: U16::new(LE, elf::ET_DYN),
        e_machine: U16::new(LE, machine.elf()),
        e_version: U32::new(LE, elf::EV_CURRENT.0.into()),
        e_entry: U64::new(LE, 0),
        e_phoff: U64::new(LE, size_of::<FileHeader64<LE>>() as u64),
        e_shoff: U64::new(LE, 0),
        e_flags: U32::new(LE, elf::FileFlags(0)),
        e_ehsize: U16::new(LE, size_of::<FileHeader64<LE>>() as u16),
        e_phentsize: U16::new(LE, size_of::<ProgramHeader64<LE>>() as u16),
        e_phnum: U16::new(LE, SEGMENTS as u16),
        e_shentsize: U16::new(LE, 0),
        e_shnum: U16::new(LE, 0),
        e_shstrndx: U16::new(LE, elf::SHN_UNDEF),
    }
}

/// The System V hash table: the numbers of buckets and of symbols, the first symbol of each bucket, and the
/// next symbol of each symbol. Symbol 0 ends a chain.
fn hash_table(exports: &[Export]) -> Vec<u32> {
    let buckets = exports.len().max(1);
    let symbols = exports.len() + 1;
    let mut table = vec![0; 2 + buckets + symbols];
    table[0] = buckets as u32;
    table[1] = symbols as u32;
    for (index, export) in exports.iter().enumerate() {
        let symbol = index + 1;
        let bucket = elf::hash(export.name.as_bytes()) as usize % buckets;
        table[2 + buckets + symbol] = table[2 + bucket];
        table[2 + bucket] = symbol as u32;
    }
    table
}

/// A file under construction.
#[derive(Default)]
struct FileBuilder(Vec<u8>);

impl FileBuilder {
    fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn pad_to(&mut self, offset: usize) {
        debug_assert!(self.0.len() <= offset, "parts of the file overlap");
        self.0.resize(offset, 0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use object::read::elf::{ElfFile64, ProgramHeader as _, Sym as _};
    use object::{Object as _, ObjectSegment as _};

    use super::*;

    fn exports() -> Vec<Export> {
        let function = |name: &str, address| Export {
            name: name.into(),
            definition: Definition::Function(address),
        };
        let mut exports = vec![
            function("cudaMalloc", 0x1234_5678_9abc_def0),
            Export {
                name: "__libc_single_threaded".into(),
                definition: Definition::Data(&[7, 8, 9]),
            },
        ];
        exports.extend((0..600).map(|i| function(&format!("function_{i}"), 0x1000 + i)));
        exports
    }

    /// The bytes at an address of a file.
    fn memory<'d>(file: &ElfFile64<'d, LE>, address: u64, len: usize) -> &'d [u8] {
        let segment = file
            .segments()
            .find(|segment| {
                (segment.address()..segment.address() + segment.size()).contains(&address)
            })
            .unwrap();
        &segment.data().unwrap()[(address - segment.address()) as usize..][..len]
    }

    fn word(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(bytes.try_into().unwrap())
    }

    /// Looks up a name as a loader does: address, size and type.
    fn look_up(file: &ElfFile64<'_, LE>, name: &str) -> Option<(u64, u64, elf::SymbolType)> {
        let dynamic = file
            .elf_program_headers()
            .iter()
            .find_map(|header| header.dynamic(LE, file.data()).unwrap())
            .unwrap();
        let values: HashMap<_, _> = dynamic
            .iter()
            .map(|entry| (entry.d_tag.get(LE), entry.d_val.get(LE)))
            .collect();
        let hash = values[&elf::DT_HASH];
        let at = |index: u32| word(memory(file, hash + u64::from(index) * 4, 4));
        let buckets = at(0);
        let mut symbol = at(2 + elf::hash(name.as_bytes()) % buckets);
        while symbol != 0 {
            let entry = values[&elf::DT_SYMTAB] + u64::from(symbol) * 24;
            let bytes = memory(file, entry, 24);
            let (entry, _) = object::pod::from_bytes::<Sym64<LE>>(bytes).unwrap();
            let start = values[&elf::DT_STRTAB] + u64::from(entry.st_name.get(LE));
            let found = memory(file, start, name.len() + 1);
            if found == [name.as_bytes(), &[0]].concat() {
                assert!(!entry.is_undefined(LE));
                let (value, size) = (entry.st_value.get(LE), entry.st_size.get(LE));
                return Some((value, size, entry.st_type()));
            }
            symbol = at(2 + buckets + symbol);
        }
        None
    }

    /// The target of a jump, decoded by the machine's manual.
    fn target(machine: Machine, file: &ElfFile64<'_, LE>, address: u64) -> u64 {
        let code = memory(file, address, JUMP);
        let entry = match machine {
            Machine::X86_64 => {
                assert_eq!(code[..6], [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25]);
                let distance = word(&code[6..10]) as i32;
                (address + 10).wrapping_add_signed(distance.into())
            }
            Machine::Aarch64 => {
                let words: Vec<u32> = code.chunks(4).map(word).collect();
                assert_eq!(words[0], 0xd503_245f, "bti c");
                // adrp: 1 immlo(2) 10000 immhi(19) rd(5).
                assert_eq!(words[1] & 0x9f00_001f, 0x9000_0010, "adrp x16");
                let immediate = (words[1] >> 5 & 0x7_ffff) << 2 | words[1] >> 29 & 3;
                let pages = i64::from((immediate << 11) as i32 >> 11);
                let page = (address & !0xfff).wrapping_add_signed(pages * 0x1000);
                // ldr of 64 bits: 1111100101 imm12 rn(5) rt(5), and the immediate counts in eights.
                assert_eq!(words[2] & 0xffc0_03ff, 0xf940_0210, "ldr x16, [x16, ...]");
                assert_eq!(words[3], 0xd61f_0200, "br x16");
                page + u64::from(words[2] >> 10 & 0xfff) * 8
            }
        };
        u64::from_le_bytes(memory(file, entry, 8).try_into().unwrap())
    }

    #[test]
    fn every_function_is_found_by_its_name_and_jumps_to_its_address() {
        for machine in [Machine::X86_64, Machine::Aarch64] {
            let exports = exports();
            let bytes = write_provider(machine, "provider1", &exports).unwrap();
            let file = ElfFile64::<LE>::parse(&*bytes).unwrap();
            for export in &exports {
                let (value, size, kind) = look_up(&file, &export.name).unwrap();
                match export.definition {
                    Definition::Function(address) => {
                        assert_eq!(kind, elf::STT_FUNC);
                        assert_eq!(target(machine, &file, value), address, "{}", export.name);
                    }
                    Definition::Data(bytes) => {
                        assert_eq!((kind, size), (elf::STT_OBJECT, bytes.len() as u64));
                        assert_eq!(memory(&file, value, bytes.len()), bytes);
                    }
                }
            }
            assert_eq!(look_up(&file, "cudaMallocAsync"), None);
        }
    }

    #[test]
    fn jumps_are_what_an_assembler_makes_of_them() {
        // jmp *0x2000(%rip) from 0x1000: the distance counts from 0x100a.
        let code = jump(Machine::X86_64, 0x1000, 0x300a);
        assert_eq!(code[4..10], [0xff, 0x25, 0x00, 0x20, 0x00, 0x00]);
        // adrp x16, #-0x10000; ldr x16, [x16, #0x128].
        let code = jump(Machine::Aarch64, 0x2_0010, 0x1_0128);
        assert_eq!(word(&code[4..8]), 0x90ff_ff90);
        assert_eq!(word(&code[8..12]), 0xf940_9610);
        // adrp x16, #0x3000.
        let code = jump(Machine::Aarch64, 0x1000, 0x4000);
        assert_eq!(word(&code[4..8]), 0xf000_0010);
    }

    #[test]
    fn no_memory_is_both_written_and_run() {
        for machine in [Machine::X86_64, Machine::Aarch64] {
            let bytes = write_provider(machine, "provider1", &exports()).unwrap();
            let file = ElfFile64::<LE>::parse(&*bytes).unwrap();
            let page = machine.largest_page() as u64;
            let mut last = 0;
            for header in file.elf_program_headers() {
                let flags = header.p_flags.get(LE).0;
                let both = elf::PF_W.0 | elf::PF_X.0;
                assert_ne!(flags & both, both);
                if header.p_type.get(LE) == elf::PT_LOAD {
                    let start = header.p_vaddr.get(LE);
                    assert_eq!(start % page, header.p_offset.get(LE) % page);
                    assert!(start / page >= last, "segments share a page");
                    last = (start + header.p_memsz.get(LE)).div_ceil(page);
                }
            }
            let stack = file.elf_program_headers()[SEGMENTS - 1];
            assert_eq!(stack.p_type.get(LE), elf::PT_GNU_STACK);
        }
    }

    #[test]
    fn an_object_without_exports_is_one() {
        let bytes = write_provider(Machine::Aarch64, "provider1", &[]).unwrap();
        let file = ElfFile64::<LE>::parse(&*bytes).unwrap();
        assert_eq!(look_up(&file, "cudaMalloc"), None);
    }
}
