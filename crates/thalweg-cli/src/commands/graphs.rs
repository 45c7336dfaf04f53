//! Graphs on the command line.

use thalweg::GraphUse;

/// Whether graphs are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Graphs {
    /// Where they can be
    Auto,
    /// With an error where something cannot be recorded
    On,
    /// Nowhere
    Off,
}

impl From<Graphs> for GraphUse {
    fn from(graphs: Graphs) -> Self {
        match graphs {
            Graphs::Auto => Self::Auto,
            Graphs::On => Self::On,
            Graphs::Off => Self::Off,
        }
    }
}
