//! Resolution of a library's imports: by Thalweg, by the system, or not at all.
#![forbid(unsafe_code)]

use std::ffi::CString;
use std::sync::OnceLock;

use thalweg_core::{Result, bail, ensure};

use super::image::Import;
use super::provider::{Definition, Export};
use super::shared_object::SharedObject;

/// The libraries of the system that a library may use. Other needed libraries (the driver, CUDA's runtime,
/// PyTorch) are not opened: Thalweg defines what is imported from them.
const SYSTEM: [&str; 9] = [
    "libc.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "libstdc++.so.6",
    "libdl.so.2",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
];

/// True for a library of the system.
pub(crate) fn is_of_system(library: &str) -> bool {
    SYSTEM.contains(&library)
}

/// Resolves the imports of a library: first by `define`, then in the libraries of the system that it needs.
///
/// Returns the exports of the library's provider: the symbols that `define` has, and those that the system
/// has in another version or under another name.
///
/// # Errors
/// [`ErrorKind::Missing`](thalweg_core::ErrorKind::Missing), with the names of all unresolved symbols.
pub(crate) fn resolve(
    imports: &[Import],
    needed: &[&str],
    system: &System,
    define: impl Fn(&str) -> Option<Definition>,
) -> Result<Vec<Export>> {
    let system = system.open(needed)?;
    let mut exports = Vec::new();
    let mut missing = Vec::new();
    for import in imports {
        ensure!(
            !import.name.is_empty() && !import.name.contains('\0'),
            InvalidProgram,
            "the library imports a symbol that is called `{}`",
            import.name.escape_debug()
        );
        let found = match define(&import.name) {
            Some(definition) => Resolution::Provided(definition),
            None => system.find(import),
        };
        match found {
            Resolution::System => {}
            Resolution::Provided(definition) => exports.push(Export {
                name: import.name.clone(),
                definition,
            }),
            Resolution::Missing if import.weak => {}
            Resolution::Missing => missing.push(match &import.version {
                Some((version, library)) => format!("{} ({version} of {library})", import.name),
                None => import.name.clone(),
            }),
        }
    }
    if !missing.is_empty() {
        missing.sort();
        bail!(
            Missing,
            "the library imports what neither Thalweg nor this system has: {}",
            missing.join(", ")
        );
    }
    Ok(exports)
}

/// The resolution of one import.
enum Resolution {
    /// The system's loader finds the symbol.
    System,
    /// The provider exports this definition.
    Provided(Definition),
    Missing,
}

/// The system's libraries. Each is opened on first use and stays open: most libraries need the same ones, and
/// to open them takes as long as to open the library.
#[derive(Default)]
pub(crate) struct System([OnceLock<SharedObject>; SYSTEM.len()]);

/// The libraries of the system that a library needs.
struct NeededLibraries<'s>(Vec<(&'static str, &'s SharedObject)>);

impl System {
    fn open(&self, needed: &[&str]) -> Result<NeededLibraries<'_>> {
        let mut opened = Vec::new();
        for (&name, slot) in SYSTEM.iter().zip(&self.0) {
            if !needed.contains(&name) {
                continue;
            }
            let library = match slot.get() {
                Some(library) => library,
                None => match SharedObject::system(name) {
                    Ok(library) => slot.get_or_init(|| library),
                    Err(error) => bail!(Missing, "the library needs `{name}`, and {error}"),
                },
            };
            opened.push((name, library));
        }
        Ok(NeededLibraries(opened))
    }
}

impl NeededLibraries<'_> {
    fn find(&self, import: &Import) -> Resolution {
        let Ok(name) = CString::new(&*import.name) else {
            return Resolution::Missing;
        };
        let find = |name: &CString| {
            let mut libraries = self.0.iter();
            libraries.find_map(|(_, library)| library.symbol(name, None))
        };
        let exact = match &import.version {
            Some((version, library)) => {
                let version = CString::new(&**version).ok();
                let library = self.0.iter().find(|(name, _)| name == library);
                let library = library.zip(version);
                library.and_then(|((_, library), version)| library.symbol(&name, Some(&version)))
            }
            None => find(&name),
        };
        if exact.is_some() {
            return Resolution::System;
        }
        if let Some(data) = substitute_data(&import.name) {
            return Resolution::Provided(Definition::Data(data));
        }
        if import.data {
            return Resolution::Missing;
        }
        // Functions that glibc moved between its libraries got a new version, and are the same.
        let other =
            find(&name).or_else(|| find(&CString::new(substitute_function(&import.name)?).ok()?));
        match other {
            Some(address) => {
                Resolution::Provided(Definition::Function(address.addr().get() as u64))
            }
            None => Resolution::Missing,
        }
    }
}

/// The older equivalent of a function that a system may be too old to have.
///
/// Since glibc 2.38, C23's functions that read numbers have names of their own. They also take
/// `0b101`, which nothing that AOTInductor writes has in it.
fn substitute_function(name: &str) -> Option<&str> {
    name.strip_prefix("__isoc23_")
}

/// The value of data that older systems do not have. `__libc_single_threaded` (glibc 2.32) says whether C++'s
/// shared pointers may count without atomic instructions; 0 says that they may not.
fn substitute_data(name: &str) -> Option<&'static [u8]> {
    (name == "__libc_single_threaded").then_some(&[0])
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    const NEEDED: [&str; 3] = ["libcuda.so.1", "libc.so.6", "libgcc_s.so.1"];

    fn import(name: &str, version: Option<&str>) -> Import {
        Import {
            name: name.into(),
            weak: false,
            data: false,
            version: version.map(|version| (version.into(), "libc.so.6".into())),
        }
    }

    fn find(imports: &[Import]) -> Result<Vec<Export>> {
        resolve(imports, &NEEDED, &System::default(), |name| {
            (name == "cudaMalloc").then_some(Definition::Function(7))
        })
    }

    #[test]
    fn what_the_system_has_stays_the_systems() {
        let malloc = import("malloc", None);
        let exports = find(&[malloc, import("cudaMalloc", None)]).unwrap();
        assert_eq!(exports.len(), 1);
        assert_eq!(exports[0].name, "cudaMalloc");
        assert_eq!(exports[0].definition, Definition::Function(7));
    }

    #[test]
    fn what_the_system_has_in_another_version_or_by_another_name_is_given() {
        for name in ["getenv", "__isoc23_no_such", "__isoc23_strtol"] {
            let exports = find(&[import(name, Some("GLIBC_99.9"))]);
            match name {
                "__isoc23_no_such" => assert!(exports.is_err()),
                _ => match exports.unwrap()[..] {
                    [ref export] => assert!(matches!(export.definition, Definition::Function(1..))),
                    ref other => panic!("{other:?}"),
                },
            }
        }
        let single = Import {
            data: true,
            ..import("__libc_single_threaded", Some("GLIBC_99.9"))
        };
        assert_eq!(
            find(&[single]).unwrap()[0].definition,
            Definition::Data(&[0])
        );
    }

    #[test]
    fn all_that_nobody_has_is_named() {
        let weak = Import {
            weak: true,
            ..import("may_be_missing", None)
        };
        let imports = [
            weak,
            import("aoti_torch_dream", None),
            import("malloc", None),
            import("newest", Some("GLIBC_99.9")),
        ];
        let error = find(&imports).unwrap_err();
        assert_eq!(error.kind(), thalweg_core::ErrorKind::Missing);
        let text = error.to_string();
        assert!(
            text.contains("has: aoti_torch_dream, newest (GLIBC_99.9 of libc.so.6)"),
            "{text}"
        );
    }

    #[test]
    fn a_library_of_the_system_that_is_missing_is_named() {
        // Of the two loaders, a system has one.
        let other = if cfg!(target_arch = "x86_64") {
            "ld-linux-aarch64.so.1"
        } else {
            "ld-linux-x86-64.so.2"
        };
        let error = resolve(&[], &[other], &System::default(), |_| None)
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("needs `{other}`")), "{error}");
    }
}
