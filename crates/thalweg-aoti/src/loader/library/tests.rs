//! Tests of loading libraries. Real libraries come from the programs in the folder that the environment
//! variable `THALWEG_TEST_PROGRAMS` names, or from those of the repository. The file for tests of parsing is
//! libgcc, which every process here has.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use object::LittleEndian as LE;
use object::elf;
use proptest::prelude::*;
use thalweg_format::Program;

#[path = "../../../tests/real/mod.rs"]
mod real;

use super::*;
use crate::loader::image::Import;
use crate::loader::provider::Export;

/// The functions that every compiled library has.
const EXPORTED: [&CStr; 8] = [
    c"AOTInductorModelContainerCreateWithDevice",
    c"AOTInductorModelContainerDelete",
    c"AOTInductorModelContainerRun",
    c"AOTInductorModelContainerGetNumInputs",
    c"AOTInductorModelContainerGetNumOutputs",
    c"AOTInductorModelContainerGetNumConstants",
    c"AOTInductorModelContainerGetConstantOriginalFQN",
    c"AOTInductorModelContainerUpdateUserManagedConstantBufferPairs",
];

/// The libraries of all programs that there are, by name.
fn real_libraries() -> BTreeMap<String, Vec<u8>> {
    let mut libraries = BTreeMap::new();
    let mut folders = vec![real::folder()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "pte") {
                libraries.extend(libraries_of(&path));
            }
        }
    }
    if libraries.is_empty() {
        eprintln!("THALWEG_TEST_PROGRAMS has no compiled libraries");
    }
    libraries
}

fn libraries_of(path: &Path) -> Vec<(String, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    let program = Program::parse(&bytes).unwrap();
    let mut found = Vec::new();
    for data in &program.named_data {
        let bytes = &program.segments[data.segment as usize];
        if bytes.starts_with(b"\x7fELF") {
            found.push((format!("{} {}", path.display(), data.key), bytes.to_vec()));
        }
    }
    found
}

fn libgcc() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut paths = maps
            .lines()
            .filter_map(|line| line.split_whitespace().nth(5));
        let path = paths.find(|path| path.contains("libgcc_s.so")).unwrap();
        std::fs::read(path).unwrap()
    })
}

/// The library of `thalweg-aoti-sample`, which cargo builds beside the tests.
fn sample() -> Vec<u8> {
    let program = std::env::current_exe().unwrap();
    let places = program.ancestors().skip(1).take(3);
    let path = places
        .flat_map(|place| [place.join("deps"), place.to_owned()])
        .map(|place| place.join("libthalweg_aoti_sample.so"))
        .find(|path| path.is_file());
    std::fs::read(path.expect("`cargo build -p thalweg-aoti-sample` makes the library")).unwrap()
}

extern "C" fn stand_in() -> i32 {
    0
}

/// A lock for tests that load, since one reads the process's mappings.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static LOADING: Mutex<()> = Mutex::new(());
    LOADING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A function that no library may be bound to.
extern "C" fn decoy() -> i32 {
    1
}

/// Defines all names that are not the system's.
fn define(name: &str) -> Option<Definition> {
    let ours = name.starts_with("aoti_") || name.starts_with("cu");
    ours.then_some(Definition::Function(stand_in as *const () as u64))
}

fn load(bytes: &[u8]) -> Result<Library> {
    // SAFETY: these libraries only set themselves up when they are loaded, and the tests call nothing
    // of them.
    unsafe { Library::load(bytes, &System::default(), define) }
}

fn parse(bytes: &[u8]) -> Result<ElfImage<'_>> {
    ElfImage::parse(bytes, Machine::here()?)
}

/// The number of the process's mappings with a name.
fn mapped(name: &str) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains(name)).count()
}

#[test]
fn real_libraries_load_from_memory_and_go_again() {
    let _alone = one_at_a_time();
    for (name, bytes) in real_libraries() {
        let library = load(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        for function in EXPORTED {
            library.required(function).unwrap();
        }
        assert!(mapped("memfd:thalweg-library") > 0);
        // Nobody finds in the process what was loaded.
        // SAFETY: the name is a string.
        let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, EXPORTED[0].as_ptr()) };
        assert!(global.is_null());
        drop(library);
        assert_eq!(mapped("memfd:thalweg-"), 0, "{name} stays loaded");
    }
}

#[test]
fn a_library_is_bound_to_what_it_is_given_whatever_the_process_has() {
    let _alone = one_at_a_time();
    // As if the process had CUDA's runtime, for all to see.
    let export = Export {
        name: "cudaGetDevice".into(),
        definition: Definition::Function(decoy as *const () as u64),
    };
    let everywhere =
        write_provider(Machine::here().unwrap(), "libcudart.so.13", &[export]).unwrap();
    let file = tempfile(&everywhere);
    let path = format!("/proc/self/fd/{}\0", std::os::fd::AsRawFd::as_raw_fd(&file));
    // SAFETY: the object has nothing that runs when it is loaded.
    let handle = unsafe { libc::dlopen(path.as_ptr().cast(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    assert!(!handle.is_null());
    // SAFETY: the name is a string, and the handle is the process's.
    let seen = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"cudaGetDevice".as_ptr()) };
    assert!(!seen.is_null());
    for _ in 0..3 {
        let library = load(&sample()).unwrap();
        let create = library.required(EXPORTED[0]).unwrap();
        let delete = library.required(EXPORTED[1]).unwrap();
        let mut container = std::ptr::null_mut::<c_void>();
        // SAFETY: the functions have these types; what they call of the stand-in takes anything.
        unsafe {
            type Create =
                unsafe extern "C" fn(*mut *mut c_void, usize, *const u8, *const u8) -> i32;
            type Delete = unsafe extern "C" fn(*mut c_void) -> i32;
            let create: Create = std::mem::transmute(create);
            let delete: Delete = std::mem::transmute(delete);
            let none = std::ptr::null();
            assert_eq!(create(&raw mut container, 1, none, none), 0);
            assert_eq!(delete(container), 0);
        }
    }
    // SAFETY: opened above, and closed once.
    unsafe { libc::dlclose(handle) };
}

fn tempfile(bytes: &[u8]) -> std::fs::File {
    use std::io::Write;
    use std::os::fd::FromRawFd;
    // SAFETY: the name is a string, and the file is nobody else's.
    let mut file = unsafe {
        let file = libc::memfd_create(c"decoy".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0);
        std::fs::File::from_raw_fd(file)
    };
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn a_library_of_our_own_gets_its_imports_and_goes_again() {
    let bytes = sample();
    let image = parse(&bytes).unwrap();
    let error = resolve(
        &image.imports().unwrap(),
        &image.needed().unwrap(),
        &System::default(),
        |_| None,
    );
    let error = error.unwrap_err().to_string();
    for name in ["aoti_torch_empty_strided", "cudaMalloc", "cuLaunchKernel"] {
        assert!(error.contains(name), "{error}");
    }
    assert!(!error.contains("memcpy"), "{error}");
}

#[test]
fn a_real_library_gets_all_its_imports_from_its_provider() {
    for (name, bytes) in real_libraries() {
        let image = parse(&bytes).unwrap();
        let imports = image.imports().unwrap();
        let named = |name: &str| imports.iter().find(|import| import.name == name);
        assert!(named("aoti_torch_empty_strided").is_some(), "{name}");
        assert!(named("cuLaunchKernel").is_some(), "{name}");
        assert_eq!(
            named("malloc").unwrap().version.as_ref().unwrap().1,
            "libc.so.6"
        );
        let error = resolve(
            &imports,
            &image.needed().unwrap(),
            &System::default(),
            |_| None,
        )
        .unwrap_err();
        for import in imports {
            let ours = define(&import.name).is_some();
            assert_eq!(error.to_string().contains(&import.name), ours, "{import:?}");
        }
    }
}

#[test]
fn what_a_library_has_of_cpp_is_its_own() {
    let is_of_cpp = |name: &&str| name.starts_with("_Z");
    for (name, bytes) in real_libraries() {
        let image = parse(&bytes).unwrap();
        let before = image.visible_symbols();
        let count = before.iter().filter(|name| is_of_cpp(name)).count();
        assert!(count > 1000, "{name} has {count}");
        let copy = image.rewritten(is_of_system, "123456789012").unwrap();
        let copy = parse(&copy).unwrap();
        let shown = copy.visible_symbols();
        let of_cpp = shown.iter().filter(|name| is_of_cpp(name)).count();
        assert_eq!(of_cpp, 0, "{name}");
        assert_eq!(shown.len(), before.len() - count, "{name}");
        // What it needs from elsewhere is looked for.
        let (asked, before) = (copy.imports().unwrap(), image.imports().unwrap());
        assert_eq!(asked.len(), before.len(), "{name}");
    }
}

#[test]
fn a_library_that_was_cut_off_is_an_error() {
    for (name, bytes) in real_libraries().into_iter().take(3) {
        // All that is mapped lies in the first part.
        let image = parse(&bytes).unwrap();
        let end = image.end_of_memory();
        for len in [0, 3, 63, 64, 100, 1000, end / 2, end - 1] {
            parse(&bytes[..len]).map(|_| ()).unwrap_err();
            load(&bytes[..len]).unwrap_err();
        }
        parse(&bytes[..end]).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_file_is_read_as_the_loader_reads_it() {
    let image = parse(libgcc()).unwrap();
    assert!(image.needed().unwrap().contains(&"libc.so.6"));
    let imports = image.imports().unwrap();
    let abort = imports
        .iter()
        .find(|import| import.name == "abort")
        .unwrap();
    let (version, library) = abort.version.clone().unwrap();
    assert!(version.starts_with("GLIBC_2."), "{version}");
    assert_eq!(library, "libc.so.6");
    assert!(!abort.weak && !abort.data);
    let finalize = |import: &&Import| import.name == "__cxa_finalize";
    assert!(imports.iter().find(finalize).unwrap().weak);
}

#[test]
fn the_copy_asks_for_less_than_the_library() {
    for keeps_libc in [false, true] {
        let mut bytes = libgcc().to_vec();
        let other = parse(&bytes).unwrap().needed().unwrap()[0].to_string();
        assert_eq!(other, "libc.so.6");
        if keeps_libc {
            // It needs a library of CUDA, too: in place of its own name.
            let name = parse(&bytes).unwrap().soname_entry().unwrap();
            bytes[name..][..8].copy_from_slice(&(elf::DT_NEEDED.0 as u64).to_le_bytes());
        }
        let image = parse(&bytes).unwrap();
        let keep = |library: &str| keeps_libc && library == "libc.so.6";
        let bytes = image.rewritten(keep, "provider").unwrap();
        let image = parse(&bytes).unwrap();
        let needed = image.needed().unwrap();
        assert!(needed.contains(&"provider"), "{needed:?}");
        assert_eq!(needed.contains(&"libc.so.6"), keeps_libc, "{needed:?}");
        assert!(image.has_only_weak_versions());
        let imports = image.imports().unwrap();
        let abort = imports
            .iter()
            .find(|import| import.name == "abort")
            .unwrap();
        // The provider has no versions; libc has.
        assert_eq!(abort.version.is_some(), keeps_libc, "{abort:?}");
    }
}

#[test]
fn an_executable_stack_is_not_asked_for() {
    let mut bytes = libgcc().to_vec();
    let place = parse(&bytes).unwrap().stack_header().unwrap();
    // The flags come behind the kind.
    bytes[place + 4] |= elf::PF_X.0 as u8;
    assert_ne!(
        parse(&bytes).unwrap().stack_flags().unwrap() & elf::PF_X.0,
        0
    );
    let image = parse(&bytes).unwrap();
    let bytes = image.rewritten(|_| false, "provider").unwrap();
    assert_eq!(
        parse(&bytes).unwrap().stack_flags().unwrap() & elf::PF_X.0,
        0
    );
}

#[test]
fn a_library_without_room_for_the_providers_name_is_refused() {
    let refused = |keep: bool, name: &str| {
        let image = parse(libgcc()).unwrap();
        image.rewritten(|_| keep, name).unwrap_err().to_string()
    };
    assert!(refused(true, "provider").contains("there is no place for the name"));
    assert!(refused(false, "a-very-long-name-of-a-provider").contains("no place"));
}

#[test]
fn a_library_for_another_machine_is_refused() {
    let here = Machine::here().unwrap();
    let other = match here {
        Machine::X86_64 => Machine::Aarch64,
        Machine::Aarch64 => Machine::X86_64,
    };
    let error = ElfImage::parse(libgcc(), other)
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&format!("is for {here}, and this is {other}")),
        "{error}"
    );
    let mut bytes = libgcc().to_vec();
    bytes[18..20].copy_from_slice(&243u16.to_le_bytes());
    let error = load(&bytes).unwrap_err().to_string();
    assert!(error.contains("another machine (number 243)"), "{error}");
}

#[test]
fn headers_that_lie_are_errors() {
    let with = |at: usize, value: &[u8]| {
        let mut bytes = libgcc().to_vec();
        bytes[at..][..value.len()].copy_from_slice(value);
        parse(&bytes).map(|_| ()).unwrap_err().to_string()
    };
    assert!(with(0, b"MZ").contains("is no ELF file"));
    assert!(with(4, &[1]).contains("64 bits"));
    assert!(with(16, &[1, 0]).contains("its type is 1"));
    assert!(with(32, &u64::MAX.to_le_bytes()).contains("the segments' headers"));
    assert!(with(54, &[57]).contains("57 bytes each"));
    assert!(with(56, &[0, 0]).contains("no dynamic section"));
    let first = size_of::<elf::FileHeader64<LE>>();
    // The first segment that is loaded comes first, after the header.
    let size = first + 32;
    assert!(with(size, &(1u64 << 40).to_le_bytes()).contains("segment 0 is said to be"));
}

#[test]
fn names_are_as_long_as_the_name_that_they_replace() {
    let first = unique_name();
    let second = unique_name();
    assert_eq!(first.len(), "libcuda.so.1".len());
    assert_ne!(first, second);
    assert_eq!(digits(36 * 36 + 35, 5), "0010z");
}

/// An offset in the structural parts of a file.
fn somewhere() -> impl Strategy<Value = usize> {
    let image = parse(libgcc()).unwrap();
    let parts = image.structural_parts();
    any::<prop::sample::Index>().prop_map(move |index| {
        let (start, len) = parts[index.index(parts.len())];
        start + index.index(len.max(1))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_damaged_file_is_read_and_changed_within_its_bounds(
        changes in prop::collection::vec((somewhere(), any::<[u8; 4]>(), 1usize..5), 1..6),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = libgcc().to_vec();
        for (at, value, len) in changes {
            let end = (at + len).min(bytes.len());
            bytes[at..end].copy_from_slice(&value[..end - at]);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(image) = parse(&bytes) {
            let _ = image.needed();
            let _ = image.imports();
            if let Ok(changed) = image.rewritten(|_| false, "provider") {
                prop_assert!(changed.len() <= bytes.len());
            }
        }
    }

    #[test]
    fn any_bytes_are_a_library_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let bytes = [&libgcc()[..20], &bytes].concat();
        let _ = parse(&bytes);
    }
}
