//! `thalweg inspect`: describes a program or a data file.

mod describe;
mod engine;
mod methods;
mod plan;
mod print;

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;
use thalweg::format::{FileKind, Layout};

use super::verdict::Verdict;
use crate::failure::{Failure, Result};
use crate::program::Source;

/// The file to describe.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A program (.pte), a folder with one, or a data file (.ptd)
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// Shows the plan of each method on this machine: how each instruction runs, which copies are left
    /// out, what stays on devices. This loads the delegates
    #[arg(long)]
    plan: bool,
    /// Prints the description as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command. It needs no device. What cannot be described without one is left out, with the
/// reason.
pub(crate) fn inspect(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    // A folder's program may have any name.
    let found = match arguments.program.is_dir() {
        true => Some(Source::find(&arguments.program, &[])?.path),
        false => None,
    };
    let path = found.as_ref().unwrap_or(&arguments.program);
    let in_file = |failure: Failure| failure.of(path.display());
    let file = describe::read(path)?;
    let layout = Layout::parse(&file).map_err(|error| in_file(not_ours(&error)))?;
    match layout.kind {
        FileKind::Program => {
            let program =
                describe::program(path, &file, &layout, arguments.plan).map_err(in_file)?;
            if arguments.json {
                write_json(&program, out)?;
            } else {
                print::program(&program, out)?;
            }
        }
        FileKind::DataFile => {
            let data = describe::data_file(path, &file, &layout).map_err(in_file)?;
            if arguments.json {
                write_json(&data, out)?;
            } else {
                print::data_file(&data, out)?;
            }
        }
    }
    Ok(Verdict::Right)
}

fn not_ours(error: &thalweg::format::Error) -> Failure {
    Failure::new(error.to_string())
        .hint("this command takes ExecuTorch programs (.pte) and their data files (.ptd)")
}

fn write_json(description: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, description).map_err(std::io::Error::from)?;
    Ok(writeln!(out)?)
}
