//! Reads the programs and data files that are named as arguments and says what is wrong with them.
use thalweg_format::{DataFile, Error, FileKind, Layout, Program};

fn main() {
    let mut failures = 0;
    for path in std::env::args_os().skip(1) {
        let path = std::path::PathBuf::from(path);
        let outcome = std::fs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| check(&bytes).map_err(|error| error.to_string()));
        if let Err(error) = outcome {
            println!("{}: {error}", path.display());
            failures += 1;
        }
    }
    if failures > 0 {
        std::process::exit(1);
    }
}

fn check(bytes: &[u8]) -> Result<(), Error> {
    match Layout::parse(bytes)?.kind {
        FileKind::Program => Program::parse(bytes).map(drop),
        FileKind::DataFile => DataFile::parse(bytes).map(drop),
    }
}
