//! The verdict of a command.

/// The result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing is wrong.
    Right,
    /// A program gave a wrong answer.
    Wrong,
}
