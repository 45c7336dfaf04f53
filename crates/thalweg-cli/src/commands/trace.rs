//! Trace files that commands write.

use std::io::Write;
use std::path::Path;

use thalweg::Trace;

use crate::failure::Result;
use crate::text;

/// Writes a trace to a file. Returns the lines of output about it.
pub(super) fn save(trace: &Trace, path: &Path) -> Result<Vec<String>> {
    trace.save(path)?;
    let mut lines = vec![format!(
        "trace: {} (open it in https://ui.perfetto.dev)",
        path.display()
    )];
    let missing = trace.missing().into_iter();
    lines.extend(missing.map(|what| format!("not in the trace: {}", text::printable(&what))));
    Ok(lines)
}

/// Prints the lines of output about a trace.
pub(super) fn print(lines: &[String], out: &mut dyn Write) -> Result<()> {
    for line in lines {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
