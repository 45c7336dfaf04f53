//! `thalweg run`: runs a method and shows its outputs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thalweg::{LoadOptions, MethodOptions, RunOptions, Trace, Value};

use super::times::Times;
use super::trace;
use super::verdict::Verdict;
use crate::compare::difference;
use crate::failure::{Failure, Result};
use crate::input::{HELP, Prepared, Spec};
use crate::npy;
use crate::options::{Graphs, Profiles, Threads, at_least_one};
use crate::program::{Chosen, Source};
use crate::summary::{summary, type_and_shape};
use crate::text;

/// The method to run, and its inputs.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A program (.pte), or a folder with one. If the folder has recorded answers (case.json), the
    /// inputs are the recorded ones and the outputs are compared, unless there is an --input
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// The method [default: forward, or the only one]
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    #[arg(long = "input", value_name = "SPEC", help = HELP)]
    inputs: Vec<Spec>,
    /// A data file (.ptd) [default: the one beside the program]
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// Writes outputs to this folder as .npy files
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// The number of calls. Outputs are those of the first; with more than one, the median time is
    /// printed, too
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    repeat: usize,
    #[command(flatten)]
    profiles: Profiles,
    /// CUDA graphs for the work that a call submits to a device
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Graphs::Auto)]
    graph: Graphs,
    /// Writes a trace of the load and of all calls to this file, also if one of them fails. Open it in
    /// https://ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    let source = Source::find(&arguments.program, &arguments.data)?;
    let trace = arguments.trace.as_ref().map(|path| (Trace::new(), path));
    let ran = run_source(
        arguments,
        &source,
        trace.as_ref().map(|(trace, _)| trace),
        out,
    );
    let ran = ran.map_err(|failure| failure.in_file(&source.path));
    if let Some((trace, path)) = &trace {
        // Also after a failure, when a trace is of most use.
        let saved = trace::save(trace, path).and_then(|lines| trace::print(&lines, out));
        return ran.and_then(|verdict| saved.map(|()| verdict));
    }
    ran
}

fn run_source(
    arguments: &Arguments,
    source: &Source,
    trace: Option<&Trace>,
    out: &mut dyn Write,
) -> Result<Verdict> {
    let runtime = arguments.threads.runtime();
    let mut options = arguments.profiles.load_options(LoadOptions::new());
    let mut method_options = MethodOptions::new();
    let mut run_options = RunOptions::new().graph(arguments.graph.into());
    if let Some(trace) = trace {
        options = options.trace(trace);
        method_options = method_options.trace(trace);
        run_options = run_options.trace(trace);
    }
    let chosen = source.load(&runtime, arguments.method.as_deref(), options)?;
    let prepared = source.inputs(&chosen, &arguments.inputs)?;
    let inputs = prepared.inputs()?;
    let path = source.path.display();
    let method = text::printable(&chosen.info.name);
    writeln!(out, "{path}: method {method}")?;
    print_inputs(&chosen, &prepared, out)?;

    let start = Instant::now();
    let mut method = chosen.instance_with(&method_options)?;
    let load = start.elapsed();
    let start = Instant::now();
    let outputs = method
        .run_with(&inputs, &run_options)
        .map_err(|error| prepared.explain(error))?;
    let first = start.elapsed();
    let outputs = outputs.to_values()?;

    print_outputs(&chosen, &outputs, out)?;
    if let Some(folder) = &arguments.output {
        save(folder, &outputs, out)?;
    }
    let verdict = if arguments.inputs.is_empty() {
        compare_with_record(source, &chosen, &outputs, out)?
    } else {
        Verdict::Right
    };
    let mut times = vec![first];
    for _ in 1..arguments.repeat {
        let start = Instant::now();
        method.run_with(&inputs, &run_options)?;
        times.push(start.elapsed());
    }
    print_times(load, first, &Times::new(times), out)?;
    Ok(verdict)
}

fn print_inputs(chosen: &Chosen, prepared: &Prepared, out: &mut dyn Write) -> Result<()> {
    for note in &prepared.notes {
        writeln!(out, "note: {note}")?;
    }
    if prepared.values.is_empty() {
        return Ok(());
    }
    writeln!(out, "inputs")?;
    let sources = prepared.values.iter().zip(&prepared.sources);
    let rows = sources.enumerate().map(|(index, (value, source))| {
        let mut row = heading(index, &chosen.input_names);
        match value {
            Value::Tensor(tensor) => row.push(format!("{tensor:?}")),
            other => row.push(type_and_shape(other.as_output())),
        }
        row.push(source.clone());
        row
    });
    out.write_all(text::columns("  ", rows).as_bytes())?;
    Ok(())
}

fn print_outputs(chosen: &Chosen, outputs: &[Value], out: &mut dyn Write) -> Result<()> {
    if outputs.is_empty() {
        writeln!(out, "there are no outputs")?;
        return Ok(());
    }
    writeln!(out, "outputs")?;
    let headings = outputs.iter().enumerate().map(|(index, output)| {
        let mut row = heading(index, &chosen.output_names);
        row.push(type_and_shape(output.as_output()));
        row
    });
    let headings = text::columns("  ", headings);
    for (heading, output) in headings.lines().zip(outputs) {
        let lines = summary(output.as_output())?;
        match output {
            Value::Tensor(_) => {
                writeln!(out, "{heading}")?;
                for line in lines {
                    writeln!(out, "     {line}")?;
                }
            }
            _ => writeln!(
                out,
                "{}",
                format!("{heading}  {}", lines.join(" ")).trim_end()
            )?,
        }
    }
    Ok(())
}

/// The first columns for an input or output: its number, and its name if any has one.
fn heading(index: usize, names: &[Option<String>]) -> Vec<String> {
    let mut row = vec![index.to_string()];
    if names.iter().any(Option::is_some) {
        let name = names.get(index).and_then(Option::as_deref);
        row.push(text::printable(name.unwrap_or_default()));
    }
    row
}

fn save(folder: &Path, outputs: &[Value], out: &mut dyn Write) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| Failure::new(format!("cannot make {}: {error}", folder.display())))?;
    for (index, output) in outputs.iter().enumerate() {
        let Value::Tensor(tensor) = output else {
            writeln!(out, "not written: output {index}, which is no tensor")?;
            continue;
        };
        let path = folder.join(format!("output{index}.npy"));
        let written_as = npy::write(&path, tensor.view())?;
        let note = match written_as {
            Some(dtype) => format!(" (as {dtype}, since NumPy has no {})", tensor.dtype()),
            None => String::new(),
        };
        writeln!(out, "written: {}{note}", path.display())?;
    }
    Ok(())
}

/// Compares the outputs with the recorded ones, if there are any.
fn compare_with_record(
    source: &Source,
    chosen: &Chosen,
    outputs: &[Value],
    out: &mut dyn Write,
) -> Result<Verdict> {
    let Some((case, call)) = source.recorded(&chosen.info.name) else {
        return Ok(Verdict::Right);
    };
    let is_first = case
        .calls
        .first()
        .is_some_and(|first| first.method == call.method);
    if case.stateful && !is_first {
        writeln!(
            out,
            "recorded answer: not compared, since other calls come before this one; see \
             thalweg verify"
        )?;
        return Ok(Verdict::Right);
    }
    let mut verdict = Verdict::Right;
    if outputs.len() != call.outputs.len() {
        let count = call.outputs.len();
        writeln!(
            out,
            "WRONG ANSWER: the record has {}",
            text::count(count, "output")
        )?;
        return Ok(Verdict::Wrong);
    }
    for (index, (output, expected)) in outputs.iter().zip(&call.outputs).enumerate() {
        if let Some(text) = difference(output.as_output(), expected, case.tolerance)? {
            writeln!(out, "WRONG ANSWER: output {index}: {text}")?;
            verdict = Verdict::Wrong;
        }
    }
    if verdict == Verdict::Right {
        writeln!(out, "this is the recorded answer, {}", case.tolerance)?;
    }
    Ok(verdict)
}

fn print_times(load: Duration, first: Duration, times: &Times, out: &mut dyn Write) -> Result<()> {
    let load = text::duration(load);
    let first = text::duration(first);
    write!(out, "time: method load {load}, first call {first}")?;
    if times.len() > 1 {
        let (best, median) = (text::duration(times.best()), text::duration(times.median()));
        write!(
            out,
            "; of {} calls: median {median}, best {best}",
            times.len()
        )?;
    }
    Ok(writeln!(out)?)
}
