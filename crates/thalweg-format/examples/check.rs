//! Reads the programs and data files that are named as arguments, writes each to memory, reads
//! that, and says where something is wrong or was lost.
//!
//! With `--rewrite IN OUT` it reads one file and writes what it read to another.
use std::path::Path;

use thalweg_format::{DataFile, FileKind, Layout, Program, WriteOptions};

type Failure = Box<dyn std::error::Error>;

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [flag, input, output] = arguments.as_slice()
        && flag == "--rewrite"
    {
        if let Err(error) = rewrite(input.as_ref(), output.as_ref()) {
            println!("{}: {error}", input.display());
            std::process::exit(1);
        }
        return;
    }
    let mut failures = 0;
    for path in &arguments {
        if let Err(error) = check(path.as_ref()) {
            println!("{}: {error}", path.display());
            failures += 1;
        }
    }
    println!("{} files, {failures} failures", arguments.len());
    if failures > 0 {
        std::process::exit(1);
    }
}

fn check(path: &Path) -> Result<(), Failure> {
    let bytes = std::fs::read(path)?;
    let again = written(&bytes)?;
    let same = match Layout::parse(&bytes)?.kind {
        FileKind::Program => Program::parse(&bytes)? == Program::parse(&again)?,
        FileKind::DataFile => DataFile::parse(&bytes)? == DataFile::parse(&again)?,
    };
    if same {
        Ok(())
    } else {
        Err("what was written and read again is not what was read first".into())
    }
}

fn rewrite(input: &Path, output: &Path) -> Result<(), Failure> {
    std::fs::write(output, written(&std::fs::read(input)?)?)?;
    Ok(())
}

fn written(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let options = WriteOptions::default();
    Ok(match Layout::parse(bytes)?.kind {
        FileKind::Program => Program::parse(bytes)?.to_bytes(&options)?,
        FileKind::DataFile => DataFile::parse(bytes)?.to_bytes(&options)?,
    })
}
