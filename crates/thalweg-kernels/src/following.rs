//! What operators offer to have done by the operator that computes their input.
//!
//! The core finds out where that is possible (`Kernel::with_epilogue`); convolutions take it.

use thalweg_core::Epilogue;

use crate::quantized::{Dequantizing, Quantizing};

/// What becomes of each element, in f32.
pub(crate) enum Following {
    /// `x * scale + shift`, with numbers for each channel, the second dimension.
    Channels { scales: Vec<f64>, shifts: Vec<f64> },
    /// Not lower than the first and not higher than the second. What is not a number stays.
    Limits([f32; 2]),
    /// The integer that stands for it. The result has another type.
    Quantizing(Quantizing),
    /// What an integer stands for.
    Dequantizing(Dequantizing),
}

impl Following {
    /// To be offered.
    pub(crate) fn offered(self) -> Epilogue {
        Epilogue::new(self)
    }
}
