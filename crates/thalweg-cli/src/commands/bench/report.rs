//! The report of an experiment, as text or as JSON.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::commands::times::Times;
use crate::failure::Result;
use crate::machine::Machine;
use crate::text;

/// The report of an experiment.
pub(super) struct Report {
    /// The conditions of the experiment, a sentence each.
    pub(super) conditions: Vec<String>,
    pub(super) tables: Vec<Table>,
    /// Notes below the tables, a line each.
    pub(super) notes: Vec<String>,
    /// The options and results as JSON.
    pub(super) json: Json,
}

/// A table of results.
pub(super) struct Table {
    pub(super) title: Option<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(super) fn new(title: Option<String>, heading: &[&str]) -> Self {
        let heading = heading.iter().map(|&column| column.into()).collect();
        Self {
            title,
            rows: vec![heading],
        }
    }
}

impl Report {
    /// Prints the report, with the machine and the build.
    pub(super) fn print(mut self, as_json: bool, out: &mut dyn Write) -> Result<()> {
        let machine = Machine::detect();
        if as_json {
            self.json["version"] = env!("CARGO_PKG_VERSION").into();
            self.json["debug_assertions"] = cfg!(debug_assertions).into();
            self.json["machine"] = json!(machine);
            return Ok(writeln!(out, "{:#}", self.json)?);
        }
        writeln!(
            out,
            "{}, {}, {} {}; thalweg {}",
            machine.cpu_or_arch(),
            text::count(machine.cores, "core"),
            machine.os,
            machine.arch,
            env!("CARGO_PKG_VERSION"),
        )?;
        for condition in &self.conditions {
            writeln!(out, "{condition}")?;
        }
        if cfg!(debug_assertions) {
            writeln!(
                out,
                "note: this build has debug assertions; measure with --release"
            )?;
        }
        for table in self.tables {
            let indent = match &table.title {
                Some(title) => {
                    writeln!(out, "{title}")?;
                    "  "
                }
                None => "",
            };
            out.write_all(text::columns(indent, table.rows).as_bytes())?;
        }
        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }
}

/// The statistics of times, as JSON.
pub(super) fn statistics(times: &Times) -> Json {
    json!({
        "calls": times.len(),
        "median_us": micros(times.median()),
        "p90_us": micros(times.percentile(90)),
        "p99_us": micros(times.p99()),
        "best_us": micros(times.best()),
        "mean_us": micros(times.mean()),
    })
}

/// A time in microseconds.
pub(super) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
