//! `thalweg verify`: checks recorded answers.

mod calls;
mod missing;
mod panics;
mod report;
mod streams;

use std::cell::RefCell;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use thalweg::Runtime;

use self::calls::make;
use self::missing::{names, reason_to_skip};
use self::panics::PanicNotes;
use self::report::{Outcome, Report};
use super::verdict::Verdict;
use crate::failure::{Failure, Result};
use crate::fixture::{Case, visit_cases};
use crate::options::{Graphs, Profiles, Threads, at_least_one};
use crate::text;

/// The cases to check, and the calls to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folders of cases (each with a model.pte and a case.json), folders of such folders, or
    /// .tar.xz archives of either
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only cases whose name contains this text
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    filter: String,
    /// The number of times that each call is made. All bits of its outputs have to be the same each
    /// time. Calls that depend on each other are repeated on new instances [default: 2, compared with
    /// the recording only]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    repeat: Option<usize>,
    /// The number of threads that make the calls at once, each on instances of its own. All bits of
    /// their outputs have to be the same
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    at_once: usize,
    /// CUDA graphs for the work that calls submit to a device
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Graphs::Auto)]
    graph: Graphs,
    /// Makes the calls on streams created for them [default: each thread's own streams]
    #[arg(long)]
    own_stream: bool,
    #[command(flatten)]
    profiles: Profiles,
    #[command(flatten)]
    threads: Threads,
    /// Prints the results as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn verify(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    let runtime = arguments.threads.runtime();
    let panics = PanicNotes::keep();
    let report = RefCell::new(Report::new(arguments.json, arguments.repeat, out));
    let mut seen = 0;
    for path in &arguments.paths {
        seen += visit_cases(path, &arguments.filter, &mut |name, folder| {
            let start = Instant::now();
            let outcome = check_folder(&runtime, folder, arguments, &panics);
            report.borrow_mut().add(name, &outcome, start)
        })?;
    }
    let report = report.into_inner();
    if report.checked() == 0 {
        return Err(nothing_checked(arguments, seen));
    }
    report.finish()
}

fn nothing_checked(arguments: &Arguments, seen: usize) -> Failure {
    if seen > 0 {
        return Failure::new(format!(
            "none of the {} has a name that contains `{}`",
            text::count(seen, "case"),
            arguments.filter
        ));
    }
    let paths: Vec<String> = arguments
        .paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Failure::new(format!("there are no cases in {}", text::list(&paths)))
        .hint("a case is a folder with a model.pte and a case.json")
}

fn check_folder(
    runtime: &Runtime,
    folder: &Path,
    arguments: &Arguments,
    panics: &PanicNotes,
) -> Outcome {
    // A panic is a bug, but one case's bug should not hide what becomes of the others.
    catch_unwind(AssertUnwindSafe(|| check(runtime, folder, arguments)))
        .unwrap_or_else(|_| Ok(Outcome::Failed(vec![panics.take()])))
        .unwrap_or_else(|failure| Outcome::Failed(vec![failure.message().to_string()]))
}

fn check(runtime: &Runtime, folder: &Path, arguments: &Arguments) -> Result<Outcome> {
    let case = Case::read(folder)?;
    let options = arguments.profiles.load_options(case.load_options());
    let program = runtime.load_with(&case.program, &options)?;
    let missing = case
        .methods()
        .into_iter()
        .map(|method| program.missing(method))
        .collect::<thalweg::Result<Vec<_>>>()?;
    if let Some(reason) = reason_to_skip(&missing) {
        return Ok(Outcome::Skipped(reason));
    }
    let operators = names(&missing, |missing| &missing.operators);
    if !operators.is_empty() {
        let operators = text::named("the operator", &operators);
        let failure = format!("this build does not have {operators}");
        return Ok(Outcome::Failed(vec![failure]));
    }
    let (case, program) = (&case, &program);
    let mut threads = thread::scope(|scope| {
        let threads =
            (0..arguments.at_once).map(|_| scope.spawn(|| make(case, program, arguments)));
        let threads: Vec<_> = threads.collect();
        let made = threads.into_iter().map(|thread| thread.join());
        // A panic is the caller's.
        let made = made.map(|made| made.unwrap_or_else(|panic| resume_unwind(panic)));
        made.collect::<Result<Vec<_>>>()
    })?;
    let mut failures: Vec<_> = threads
        .iter_mut()
        .flat_map(|made| made.failures.drain(..))
        .collect();
    failures.dedup();
    if failures.is_empty()
        && let Some((first, others)) = threads.split_first()
    {
        for (number, other) in others.iter().enumerate() {
            failures.extend(other.differs_from(first, case, number + 2)?);
        }
    }
    Ok(if failures.is_empty() {
        Outcome::Ok {
            calls: threads.iter().map(|made| made.calls).sum(),
        }
    } else {
        Outcome::Failed(failures)
    })
}

#[cfg(test)]
mod tests;
