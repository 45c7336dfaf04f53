//! `thalweg verify`: checks recorded answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use serde_json::json;
use thalweg::{Input, Method, MethodOptions, Missing, Program, RunOptions, Runtime, State, Value};

use super::Verdict;
use super::graphs::Graphs;
use super::streams::Streams;
use crate::compare::difference;
use crate::failure::{Failure, Result, with_causes};
use crate::fixture::{Case, RecordedCall, visit_cases};
use crate::profiles::Pinned;
use crate::repeated::change;
use crate::text;

/// Recorded calls end; one that runs as many instructions as this has lost its way.
const INSTRUCTION_LIMIT: u64 = 1 << 28;

/// What to check.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Folders of cases (each with a model.pte and a case.json), folders of such folders, or
    /// .tar.xz archives of either
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only cases whose name contains this
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    filter: String,
    /// Makes every call so many times, on new instances where calls depend on each other, and
    /// requires that all bits of the outputs are the same each time [default: each call is made
    /// twice, and compared with the recording alone]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    repeat: Option<usize>,
    /// Makes the calls in so many threads at once, with instances of their own, and requires that all have
    /// the same bits
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = super::at_least_one)]
    at_once: usize,
    /// Whether what calls ask a device for is launched as graphs
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Graphs::Auto)]
    graph: Graphs,
    /// Makes the calls on streams that are made for them, rather than on the threads' own
    #[arg(long)]
    own_stream: bool,
    #[command(flatten)]
    pinned: Pinned,
    /// How many threads operators may use [default: all]
    #[arg(long, value_name = "N", value_parser = super::at_least_one)]
    threads: Option<usize>,
    /// Prints the results as JSON
    #[arg(long)]
    json: bool,
}

/// What became of a case.
#[derive(Debug)]
enum Outcome {
    Ok { calls: usize },
    Failed(Vec<String>),
    Skipped(String),
}

/// Runs the command.
pub(crate) fn verify(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    let runtime = super::runtime(arguments.threads);
    let panics = PanicNotes::keep();
    let report = RefCell::new(Report::new(arguments, out));
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
    let options = arguments.pinned.load_options(case.load_options());
    let program = runtime.load_with(&case.program, &options)?;
    let missing = case
        .methods()
        .into_iter()
        .map(|method| program.missing(method))
        .collect::<thalweg::Result<Vec<_>>>()?;
    if let Some(reason) = reason_to_skip(&missing) {
        return Ok(Outcome::Skipped(reason));
    }
    let operators = all(&missing, |missing| &missing.operators);
    if !operators.is_empty() {
        let failure = format!(
            "this build does not have {} {}",
            text::noun(operators.len(), "the operator"),
            text::list(&operators)
        );
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

/// What became of the calls in a thread.
struct Made {
    calls: usize,
    failures: Vec<String>,
    /// The outputs of each call, the first time that it was made, if they are compared.
    first: Vec<Option<Vec<Value>>>,
}

impl Made {
    /// What other outputs it has than the first thread.
    fn differs_from(&self, first: &Self, case: &Case, number: usize) -> Result<Vec<String>> {
        let mut differences = Vec::new();
        for ((call, ours), theirs) in case.calls.iter().zip(&self.first).zip(&first.first) {
            let (Some(ours), Some(theirs)) = (ours, theirs) else {
                continue;
            };
            for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                let free = call
                    .outputs
                    .get(index)
                    .is_some_and(|output| output.shape_only);
                if !free && let Some(text) = change(ours.as_output(), theirs)? {
                    differences.push(format!(
                        "{}, run {}, output {index} is not the same in thread {number}: {text}",
                        call.method, call.run
                    ));
                }
            }
        }
        Ok(differences)
    }
}

/// Makes all calls of a case, as often as they are to be made.
fn make(case: &Case, program: &Program, arguments: &Arguments) -> Result<Made> {
    let streams = match arguments.own_stream {
        true => Streams::new(case, program)?,
        false => Streams::default(),
    };
    let mut options = RunOptions::new()
        .instruction_limit(INSTRUCTION_LIMIT)
        .graph(arguments.graph.into());
    for stream in streams.iter() {
        options = options.stream(stream);
    }
    let repeat = arguments.repeat;
    let keeps = repeat.is_some() || arguments.at_once > 1;
    let mut failures = Vec::new();
    let mut calls = 0;
    let mut session = Session::new(program, options.clone());
    let mut first = vec![None; case.calls.len()];
    // What is right at first may not be when memory holds what an earlier call left there. Where
    // calls do not depend on each other they are made again in reverse, on the same instances;
    // where they do, from the start, on new ones.
    for time in 0..repeat.unwrap_or(2) {
        if case.stateful && time > 0 {
            session = Session::new(program, options.clone());
        }
        let mut order: Vec<usize> = (0..case.calls.len()).collect();
        if !case.stateful && time % 2 == 1 {
            order.reverse();
        }
        for index in order {
            calls += 1;
            let first = keeps.then(|| &mut first[index]);
            failures.extend(session.check(case, &case.calls[index], time, first));
        }
        if !failures.is_empty() {
            break;
        }
    }
    // What is in flight is over when the streams go.
    drop(session);
    Ok(Made {
        calls,
        failures,
        first,
    })
}

/// Why a case cannot run here, if backends or devices are missing. Operators are no reason: a
/// machine cannot lack them, only this program can.
fn reason_to_skip(missing: &[Missing]) -> Option<String> {
    let backends = all(missing, |missing| &missing.backends);
    let devices = all(missing, |missing| &missing.devices);
    let mut needs = Vec::new();
    for (names, noun) in [(&backends, "the backend"), (&devices, "the device")] {
        if !names.is_empty() {
            needs.push(format!(
                "{} {}",
                text::noun(names.len(), noun),
                text::list(names)
            ));
        }
    }
    if needs.is_empty() {
        return None;
    }
    let verb = if backends.len() + devices.len() == 1 {
        "is"
    } else {
        "are"
    };
    let mut reason = format!("{} {verb} not available here", needs.join(" and "));
    let why = all(missing, |missing| &missing.reasons);
    if !why.is_empty() {
        reason += &format!(" ({})", why.join("; "));
    }
    Some(reason)
}

/// The names of a kind that any of the methods lacks.
fn all(missing: &[Missing], names: fn(&Missing) -> &Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = missing.iter().flat_map(names).cloned().collect();
    all.sort();
    all.dedup();
    all
}

/// Instances of a program's methods that share their state.
struct Session<'p> {
    program: &'p Program,
    options: RunOptions<'p>,
    state: State,
    methods: HashMap<String, Method>,
}

impl<'p> Session<'p> {
    fn new(program: &'p Program, options: RunOptions<'p>) -> Self {
        Self {
            program,
            options,
            state: State::new(),
            methods: HashMap::new(),
        }
    }

    /// Makes a call, for the first time or a later one; what is wrong with it, in words. If the
    /// outputs have to be those of the first time, `first` is where these are.
    fn check(
        &mut self,
        case: &Case,
        call: &RecordedCall,
        time: usize,
        first: Option<&mut Option<Vec<Value>>>,
    ) -> Vec<String> {
        let note = match time {
            0 => String::new(),
            1 => " (second time)".into(),
            time => format!(" (time {})", time + 1),
        };
        match self.differences(case, call, first) {
            Ok(differences) => differences
                .into_iter()
                .map(|text| format!("{}, run {}{note}, {text}", call.method, call.run))
                .collect(),
            Err(error) => {
                let error = with_causes(&error);
                // The method is named in front of it all.
                let place = format!("method `{}`", call.method);
                let error = error.strip_prefix(&place).unwrap_or(&error);
                let error = error.trim_start_matches([':', ',', ' ']);
                vec![format!("{}, run {}{note}: {error}", call.method, call.run)]
            }
        }
    }

    fn differences(
        &mut self,
        case: &Case,
        call: &RecordedCall,
        first: Option<&mut Option<Vec<Value>>>,
    ) -> thalweg::Result<Vec<String>> {
        if !self.methods.contains_key(&call.method) {
            let options = MethodOptions::new().state(&self.state);
            let method = self.program.method_with(&call.method, &options)?;
            self.methods.insert(call.method.clone(), method);
        }
        let Some(method) = self.methods.get_mut(&call.method) else {
            return Ok(Vec::new());
        };
        let inputs: Vec<Input<'_>> = call
            .inputs
            .iter()
            .map(Value::as_input)
            .collect::<thalweg::Result<_>>()?;
        let outputs = method.run_with(&inputs, &self.options)?;
        if outputs.len() != call.outputs.len() {
            return Ok(vec![format!(
                "{} came out, expected {}",
                text::count(outputs.len(), "output"),
                call.outputs.len()
            )]);
        }
        let mut differences = Vec::new();
        for (index, expected) in call.outputs.iter().enumerate() {
            if let Some(text) = difference(outputs.get(index)?, expected, case.tolerance)? {
                differences.push(format!("output {index}: {text}"));
            }
        }
        let Some(first) = first else {
            return Ok(differences);
        };
        let Some(first) = first else {
            *first = Some(outputs.to_values()?);
            return Ok(differences);
        };
        for (index, (before, expected)) in first.iter().zip(&call.outputs).enumerate() {
            // Values that are free may be others each time.
            if expected.shape_only {
                continue;
            }
            if let Some(text) = change(outputs.get(index)?, before)? {
                differences.push(format!("output {index} is not the same each time: {text}"));
            }
        }
        Ok(differences)
    }
}

/// Collects and prints what becomes of the cases.
struct Report<'o> {
    out: &'o mut dyn Write,
    json: Option<Vec<serde_json::Value>>,
    repeat: Option<usize>,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl<'o> Report<'o> {
    fn new(arguments: &Arguments, out: &'o mut dyn Write) -> Self {
        Self {
            out,
            json: arguments.json.then(Vec::new),
            repeat: arguments.repeat,
            passed: 0,
            failed: 0,
            skipped: 0,
        }
    }

    fn checked(&self) -> usize {
        self.passed + self.failed + self.skipped
    }

    fn add(&mut self, name: &str, outcome: &Outcome, start: Instant) -> Result<()> {
        match outcome {
            Outcome::Ok { .. } => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
        if let Some(cases) = &mut self.json {
            let seconds = start.elapsed().as_secs_f64();
            cases.push(match outcome {
                Outcome::Ok { calls } => {
                    json!({"name": name, "status": "ok", "calls": calls, "seconds": seconds})
                }
                Outcome::Failed(failures) => {
                    json!({"name": name, "status": "failed", "failures": failures, "seconds": seconds})
                }
                Outcome::Skipped(reason) => {
                    json!({"name": name, "status": "skipped", "reason": reason})
                }
            });
            return Ok(());
        }
        match outcome {
            Outcome::Ok { .. } => writeln!(self.out, "ok       {name}")?,
            Outcome::Failed(failures) => {
                let first = failures.first().map_or("", |first| first);
                let more = match failures.len() {
                    0 | 1 => String::new(),
                    n => format!(" (and {} more)", n - 1),
                };
                writeln!(self.out, "FAILED   {name}: {first}{more}")?;
            }
            Outcome::Skipped(reason) => writeln!(self.out, "skipped  {name}: {reason}")?,
        }
        Ok(self.out.flush()?)
    }

    fn finish(self) -> Result<Verdict> {
        let Self {
            passed,
            failed,
            skipped,
            ..
        } = self;
        match self.json {
            Some(cases) => {
                let report = json!({
                    "cases": cases,
                    "passed": passed,
                    "failed": failed,
                    "skipped": skipped,
                    "repeat": self.repeat,
                });
                writeln!(self.out, "{report:#}")?;
            }
            None => {
                write!(
                    self.out,
                    "{passed} passed, {failed} failed, {skipped} skipped"
                )?;
                match self.repeat {
                    Some(1) => writeln!(self.out, "; each call was made once")?,
                    Some(times) => writeln!(
                        self.out,
                        "; each call of those that passed was made {times} times, with the same bits"
                    )?,
                    None => writeln!(self.out)?,
                }
            }
        }
        Ok(if failed > 0 {
            Verdict::Wrong
        } else {
            Verdict::Right
        })
    }
}

/// Where and why the last panic was, instead of a message on the standard error.
struct PanicNotes;

static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

impl PanicNotes {
    /// From now on panics are noted.
    fn keep() -> Self {
        std::panic::set_hook(Box::new(|info| {
            let place = info
                .location()
                .map(|at| format!(" at {}:{}", at.file(), at.line()))
                .unwrap_or_default();
            let payload = info.payload();
            let message = payload
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| payload.downcast_ref::<&str>().copied())
                .unwrap_or("no message");
            let note = format!("panicked{place}: {message}");
            // The first is the cause where one thread's panic makes another thread panic.
            lock(&LAST_PANIC).get_or_insert(note);
        }));
        Self
    }

    /// The note of the last panic.
    fn take(&self) -> String {
        lock(&LAST_PANIC)
            .take()
            .unwrap_or_else(|| "panicked".into())
    }
}

impl Drop for PanicNotes {
    fn drop(&mut self) {
        drop(std::panic::take_hook());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(repeat: Option<usize>) -> Arguments {
        Arguments {
            paths: Vec::new(),
            filter: String::new(),
            repeat,
            at_once: 1,
            graph: Graphs::Auto,
            own_stream: false,
            pinned: Pinned::default(),
            threads: None,
            json: false,
        }
    }

    #[test]
    fn a_panic_is_the_failure_of_its_case_and_says_where_it_was() {
        let add = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) \
                   -> Tensor(a!)";
        let runtime = Runtime::builder()
            .kernel(add, |_| panic!("no sum today"))
            .unwrap()
            .build()
            .into();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/add");
        let panics = PanicNotes::keep();
        let outcome = check_folder(&runtime, &folder, &arguments(None), &panics);
        drop(panics);
        let Outcome::Failed(failures) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(failures[0].starts_with("panicked at "), "{failures:?}");
        assert!(failures[0].contains("verify.rs"), "{failures:?}");
        assert!(failures[0].ends_with(": no sum today"), "{failures:?}");
    }
    #[test]
    fn an_answer_that_is_right_each_time_has_to_be_the_same_each_time() {
        let add = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) \
                   -> Tensor(a!)";
        let made = std::sync::atomic::AtomicUsize::new(0);
        // A sum that is another one each time, and always within the tolerance.
        let runtime: Runtime = Runtime::builder()
            .kernel(add, move |call| {
                let sum = call.tensor(0)?.item::<f32>()? + call.tensor(1)?.item::<f32>()?;
                let time = made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let mut out = call.output(3, &[1])?;
                out.data_mut::<f32>()?[0] = sum + time as f32 * 1e-4;
                Ok(())
            })
            .unwrap()
            .build()
            .into();
        let folder = tempfile::tempdir().unwrap();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/add");
        for file in std::fs::read_dir(fixture).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
        }
        let record = folder.path().join("case.json");
        let text = std::fs::read_to_string(&record).unwrap();
        let loose = text.replace("\"tolerance\": 0,", "\"tolerance\": 0.1,");
        assert_ne!(text, loose);
        std::fs::write(record, loose).unwrap();
        let check = |repeat| check(&runtime, folder.path(), &arguments(repeat)).unwrap();
        for repeat in [None, Some(1)] {
            let outcome = check(repeat);
            assert!(matches!(outcome, Outcome::Ok { .. }), "{outcome:?}");
        }
        let Outcome::Failed(failures) = check(Some(3)) else {
            panic!("it passes");
        };
        // The second time is the last one.
        assert_eq!(failures.len(), 2, "{failures:?}");
        let text = "(second time), output 0 is not the same each time: 1 of 1 element changed";
        assert!(failures[0].contains(text), "{failures:?}");
    }
}
