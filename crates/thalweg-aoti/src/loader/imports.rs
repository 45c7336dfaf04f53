//! What a library imports, and who gives it: Thalweg, the system, or nobody.
#![forbid(unsafe_code)]

use std::ffi::CString;
use std::sync::OnceLock;

use thalweg_core::{Result, bail, ensure};

use super::dynamic::Opened;
use super::image::Import;
use super::provider::{Export, Provided};

/// The libraries that are the system's to give. Whatever else a library says that it needs (the
/// driver, CUDA's runtime, PyTorch) is not looked for: Thalweg gives what is imported from it.
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

/// Whether a library is one of the system.
pub(crate) fn is_of_system(library: &str) -> bool {
    SYSTEM.contains(&library)
}

/// Finds what a library imports: first among what Thalweg `provides`, then in those libraries of the
/// system that it needs.
///
/// What comes back is what the provider has to export. Besides what Thalweg provides that is what
/// the system has otherwise than the library asks for it: in another version, or under another name.
///
/// # Errors
/// [`ErrorKind::Missing`](thalweg_core::ErrorKind::Missing), with the names of all that nobody has.
pub(crate) fn resolve(
    imports: &[Import],
    needed: &[&str],
    system: &System,
    provides: impl Fn(&str) -> Option<Provided>,
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
        let found = match provides(&import.name) {
            Some(provided) => Found::Otherwise(provided),
            None => system.find(import),
        };
        match found {
            Found::AsAsked => {}
            Found::Otherwise(what) => exports.push(Export {
                name: import.name.clone(),
                what,
            }),
            Found::Nowhere if import.weak => {}
            Found::Nowhere => missing.push(match &import.version {
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

enum Found {
    AsAsked,
    Otherwise(Provided),
    Nowhere,
}

/// The system's libraries, each opened when a library first needs it, and open from then on: most
/// libraries need the same, and it takes the system as long to open them as to open the library.
#[derive(Default)]
pub(crate) struct System([OnceLock<Opened>; SYSTEM.len()]);

/// Those that a library needs.
struct Needed<'s>(Vec<(&'static str, &'s Opened)>);

impl System {
    fn open(&self, needed: &[&str]) -> Result<Needed<'_>> {
        let mut opened = Vec::new();
        for (&name, place) in SYSTEM.iter().zip(&self.0) {
            if !needed.contains(&name) {
                continue;
            }
            let library = match place.get() {
                Some(library) => library,
                None => match Opened::system(name) {
                    Ok(library) => place.get_or_init(|| library),
                    Err(error) => bail!(Missing, "the library needs `{name}`, and {error}"),
                },
            };
            opened.push((name, library));
        }
        Ok(Needed(opened))
    }
}

impl Needed<'_> {
    fn find(&self, import: &Import) -> Found {
        let Ok(name) = CString::new(&*import.name) else {
            return Found::Nowhere;
        };
        let find = |name: &CString| {
            let mut libraries = self.0.iter();
            libraries.find_map(|(_, library)| library.symbol(name, None))
        };
        let as_asked = match &import.version {
            Some((version, library)) => {
                let version = CString::new(&**version).ok();
                let library = self.0.iter().find(|(name, _)| name == library);
                let library = library.zip(version);
                library.and_then(|((_, library), version)| library.symbol(&name, Some(&version)))
            }
            None => find(&name),
        };
        if as_asked.is_some() {
            return Found::AsAsked;
        }
        if let Some(data) = data_in_place_of(&import.name) {
            return Found::Otherwise(Provided::Data(data));
        }
        if import.data {
            return Found::Nowhere;
        }
        // Functions that glibc moved between its libraries got a new version, and are the same.
        let other =
            find(&name).or_else(|| find(&CString::new(function_in_place_of(&import.name)?).ok()?));
        match other {
            Some(address) => Found::Otherwise(Provided::Function(address.addr().get() as u64)),
            None => Found::Nowhere,
        }
    }
}

/// A function that does what a newer one does, where a system is too old to have that.
///
/// Since glibc 2.38, C23's functions that read numbers have names of their own. They also take
/// `0b101`, which nothing that AOTInductor writes has in it.
fn function_in_place_of(name: &str) -> Option<&str> {
    name.strip_prefix("__isoc23_")
}

/// Data that older systems do not have. `__libc_single_threaded` (glibc 2.32) says whether C++'s
/// shared pointers may count without atomic instructions; 0 says that they may not.
fn data_in_place_of(name: &str) -> Option<&'static [u8]> {
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
            (name == "cudaMalloc").then_some(Provided::Function(7))
        })
    }

    #[test]
    fn what_the_system_has_stays_the_systems() {
        let malloc = import("malloc", None);
        let exports = find(&[malloc, import("cudaMalloc", None)]).unwrap();
        assert_eq!(exports.len(), 1);
        assert_eq!(exports[0].name, "cudaMalloc");
        assert_eq!(exports[0].what, Provided::Function(7));
    }

    #[test]
    fn what_the_system_has_in_another_version_or_by_another_name_is_given() {
        for name in ["getenv", "__isoc23_no_such", "__isoc23_strtol"] {
            let exports = find(&[import(name, Some("GLIBC_99.9"))]);
            match name {
                "__isoc23_no_such" => assert!(exports.is_err()),
                _ => match exports.unwrap()[..] {
                    [ref export] => assert!(matches!(export.what, Provided::Function(1..))),
                    ref other => panic!("{other:?}"),
                },
            }
        }
        let single = Import {
            data: true,
            ..import("__libc_single_threaded", Some("GLIBC_99.9"))
        };
        assert_eq!(find(&[single]).unwrap()[0].what, Provided::Data(&[0]));
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
