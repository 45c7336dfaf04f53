//! The experiments that need a device, on systems where Thalweg uses none.

/// An experiment that fails, with the reason.
macro_rules! experiment {
    ($name:ident, $why:literal) => {
        pub(in super::super) mod $name {
            use std::ffi::OsString;
            use std::io::Write;

            use crate::failure::{Failure, Result};

            /// Arguments that nobody reads.
            #[derive(Debug, clap::Args)]
            pub(in super::super) struct Arguments {
                #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
                rest: Vec<OsString>,
            }

            /// Fails.
            pub(in super::super) fn run(_: &Arguments, _: &mut dyn Write) -> Result<()> {
                Err(Failure::new($why))
            }
        }
    };
}

experiment!(
    baseline,
    "baselines are those of TensorRT engines and CUDA graphs, which run on Linux only"
);
experiment!(
    together,
    "programs overlap on streams of a device, and devices are used on Linux only"
);
