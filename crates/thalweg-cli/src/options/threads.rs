//! The number of threads on the command line, and the runtime that has them.

use thalweg::{Runtime, RuntimeBuilder};

use super::count::at_least_one;

/// The number of threads for operators.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Threads {
    /// The number of threads for CPU operators [default: all]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    threads: Option<usize>,
}

impl Threads {
    /// A runtime with everything that this machine offers.
    pub(crate) fn runtime(self) -> Runtime {
        self.runtime_with(|builder| builder)
    }

    /// The same runtime with additions.
    pub(crate) fn runtime_with(
        self,
        add: impl FnOnce(RuntimeBuilder) -> RuntimeBuilder,
    ) -> Runtime {
        let builder = add(Runtime::builder());
        let builder = match self.threads {
            Some(threads) => builder.threads(threads),
            None => builder,
        };
        builder.build()
    }
}
