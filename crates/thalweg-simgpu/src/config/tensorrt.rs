//! The version of TensorRT that is emulated.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A version of TensorRT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TensorRt {
    /// The major number.
    pub major: i32,
    /// The minor number.
    pub minor: i32,
    /// The patch number.
    pub patch: i32,
    /// The library of that version.
    pub kind: Variant,
}

/// A library of TensorRT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Variant {
    /// `libnvinfer`
    Full,
    /// `libnvinfer_lean`, which only runs engines.
    Lean,
    /// `libnvinfer_dispatch`, which only runs engines that bring their own lean runtime.
    Dispatch,
    /// `libtensorrt_rtx`
    Rtx,
}

impl Default for TensorRt {
    fn default() -> Self {
        Self::new(10, 6, 0)
    }
}

impl TensorRt {
    /// The full library of a version.
    pub fn new(major: i32, minor: i32, patch: i32) -> Self {
        Self {
            major,
            minor,
            patch,
            kind: Variant::Full,
        }
    }

    /// Another library of the version.
    #[must_use]
    pub fn variant(mut self, kind: Variant) -> Self {
        self.kind = kind;
        self
    }

    /// The version in a text such as `10.6.0` or `10.6.0-lean`.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let (version, kind) = text.split_once('-').unwrap_or((text, ""));
        let kind = match kind {
            "" => Variant::Full,
            "lean" => Variant::Lean,
            "dispatch" => Variant::Dispatch,
            "rtx" => Variant::Rtx,
            _ => return None,
        };
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self::new(next()?, next()?, next()?).variant(kind))
    }

    /// A version from its numbers, and the number of its library in `simgpu_nvinfer_version`.
    pub(crate) fn from_parts(major: i32, minor: i32, patch: i32, kind: u32) -> Option<Self> {
        let kind = match kind {
            0 => Variant::Full,
            1 => Variant::Lean,
            2 => Variant::Dispatch,
            3 => Variant::Rtx,
            _ => return None,
        };
        Some(Self::new(major, minor, patch).variant(kind))
    }

    /// The result of `getInferLibVersion`.
    pub(crate) fn number(self) -> i32 {
        self.major * 10_000 + self.minor * 100 + self.patch
    }

    /// The version whose memory layout of classes the library has. TensorRT for RTX has versions of
    /// its own; its public interface is that of the 10.x of its time.
    pub(crate) fn layout(self) -> (i32, i32) {
        match self.kind {
            Variant::Rtx => (10, 12 + self.minor.clamp(0, 4)),
            _ => (self.major, self.minor),
        }
    }

    /// The version of the format of engines. The number is made up, but differs where versions do.
    pub(crate) fn serialization(version: (i32, i32, i32)) -> i32 {
        let (major, minor, _) = version;
        match major {
            10 => 233 + minor,
            11 => 260 + minor,
            _ => 300 + 20 * major + minor,
        }
    }
}

impl fmt::Display for TensorRt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_with_their_variant() {
        let lean = TensorRt::new(10, 16, 1).variant(Variant::Lean);
        assert_eq!(TensorRt::from_text("10.16.1-lean"), Some(lean));
        assert_eq!(TensorRt::from_text("11.1.0"), Some(TensorRt::new(11, 1, 0)));
        assert_eq!(TensorRt::from_text("11.1"), None);
        assert_eq!(TensorRt::from_text("11.1.0-fat"), None);
    }
}
