//! The optimizations of a method when it is linked.

/// The optimizations of a method when it is linked. Answers are the same without them, up to the order
/// of sums and to rounding between fused operators. To disable one is for finding out by how much, and
/// for having the time of each operator in measurements.
///
/// ```
/// use thalweg_runtime::Optimizations;
///
/// let optimizations = Optimizations::all().fusion(false);
/// # assert_ne!(optimizations, Optimizations::none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Optimizations {
    pub(crate) constant_folding: bool,
    pub(crate) channels_last: bool,
    pub(crate) fusion: bool,
    pub(crate) residency: bool,
}

impl Optimizations {
    /// All optimizations.
    pub const fn all() -> Self {
        Self {
            constant_folding: true,
            channels_last: true,
            fusion: true,
            residency: true,
        }
    }

    /// No optimization: the program as it is.
    pub const fn none() -> Self {
        Self {
            constant_folding: false,
            channels_last: false,
            fusion: false,
            residency: false,
        }
    }

    /// Constant folding: operators whose arguments are all constants run once, when the method is
    /// linked, rather than in every call. The answers are the same, bit for bit.
    pub const fn constant_folding(mut self, enabled: bool) -> Self {
        self.constant_folding = enabled;
        self
    }

    /// Channels-last layout, where only operators that are faster with it use a tensor. Answers differ
    /// by the order of sums.
    pub const fn channels_last(mut self, enabled: bool) -> Self {
        self.channels_last = enabled;
        self
    }

    /// Epilogue fusion: operators do the work of those that follow them while they write their results.
    /// Answers differ by rounding.
    pub const fn fusion(mut self, enabled: bool) -> Self {
        self.fusion = enabled;
        self
    }

    /// Residency analysis: copies between the host and a device are made only where something reads
    /// them. The answers are the same, bit for bit.
    pub const fn residency(mut self, enabled: bool) -> Self {
        self.residency = enabled;
        self
    }
}

impl Default for Optimizations {
    fn default() -> Self {
        Self::all()
    }
}
