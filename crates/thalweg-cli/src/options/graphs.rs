//! The use of CUDA graphs on the command line.

use thalweg::GraphUse;

/// The use of CUDA graphs in calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Graphs {
    /// Graphs wherever work can be captured
    Auto,
    /// Graphs everywhere; work that cannot be captured is an error
    On,
    /// No graphs
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
