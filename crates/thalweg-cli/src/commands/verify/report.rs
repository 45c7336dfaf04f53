//! The report of all cases.

use std::io::Write;
use std::time::Instant;

use serde_json::json;

use crate::commands::verdict::Verdict;
use crate::failure::Result;

/// The outcome of a case.
#[derive(Debug)]
pub(super) enum Outcome {
    Ok { calls: usize },
    Failed(Vec<String>),
    Skipped(String),
}

/// The outcomes of all cases: printed one by one, or collected as JSON.
pub(super) struct Report<'o> {
    out: &'o mut dyn Write,
    json: Option<Vec<serde_json::Value>>,
    repeat: Option<usize>,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl<'o> Report<'o> {
    pub(super) fn new(json: bool, repeat: Option<usize>, out: &'o mut dyn Write) -> Self {
        Self {
            out,
            json: json.then(Vec::new),
            repeat,
            passed: 0,
            failed: 0,
            skipped: 0,
        }
    }

    /// The number of cases so far.
    pub(super) fn checked(&self) -> usize {
        self.passed + self.failed + self.skipped
    }

    /// Adds the outcome of a case that began at `start`.
    pub(super) fn add(&mut self, name: &str, outcome: &Outcome, start: Instant) -> Result<()> {
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

    /// Prints the totals.
    pub(super) fn finish(self) -> Result<Verdict> {
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
