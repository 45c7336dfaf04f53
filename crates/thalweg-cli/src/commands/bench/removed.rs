//! Options of earlier versions.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options that experiments replace, with what to write instead.
const REMOVED: [(&str, &str); 4] = [
    ("--floor", "thalweg bench baseline PROGRAM"),
    ("--together", "thalweg bench together PROGRAM PROGRAM"),
    (
        "--alternate",
        "thalweg bench alternate PROGRAM --calls CALL[@PROFILE],...",
    ),
    ("--rounds", "thalweg bench alternate PROGRAM --rounds N"),
];

/// Adds to an error about an option that was removed what to write instead.
pub(crate) fn explain(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let removed = REMOVED.iter().find(|(option, _)| option == unknown);
    if let Some((_, instead)) = removed {
        let tip = StyledStr::from(format!("this is an experiment of its own: {instead}"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}
