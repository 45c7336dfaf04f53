//! Epilogues: work on each element of a result that the operator which computes it can do while it writes.
//!
//! The core finds out where that is possible (`Kernel::with_epilogue`); convolutions fuse them.

use thalweg_core::Epilogue;

use crate::quantize::{Dequantize, Quantize};

/// The work that an operator does to each element of its first argument, in f32.
pub(crate) enum EpilogueOp {
    /// `x * scale + shift`, with numbers for each channel, the second dimension.
    Channels { scales: Vec<f64>, shifts: Vec<f64> },
    /// A clamp between the first and the second. NaN stays.
    Clamp([f32; 2]),
    /// A quantization. The result has another type.
    Quantize(Quantize),
    /// A dequantization.
    Dequantize(Dequantize),
}

impl EpilogueOp {
    /// The epilogue in the form that the core hands on.
    pub(crate) fn epilogue(self) -> Epilogue {
        Epilogue::new(self)
    }
}
