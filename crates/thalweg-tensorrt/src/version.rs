//! Versions and flavors of TensorRT.

use std::fmt;

/// A version of TensorRT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number. The virtual tables change with it.
    pub major: u16,
    /// The second number. Methods are added with it.
    pub minor: u16,
    /// The third number.
    pub patch: u16,
}

impl Version {
    /// A version of these three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// The version with the number that a library returns: 100600 is 10.6.0. Up to TensorRT 9, the
    /// thousands are the major version: 8601 is 8.6.1.
    pub fn from_number(number: i32) -> Option<Self> {
        let number = u32::try_from(number).ok().filter(|&number| number > 0)?;
        let hundred = |number: u32| (number % 100) as u16;
        Some(if number >= 10_000 {
            let major = u16::try_from(number / 10_000).ok()?;
            Self::new(major, hundred(number / 100), hundred(number))
        } else {
            Self::new(
                (number / 1000) as u16,
                (number % 1000 / 100) as u16,
                hundred(number),
            )
        })
    }

    /// The version of TensorRT that has built an engine; `None` if its bytes do not say.
    ///
    /// Engines of TensorRT 10 begin with `ftrt`. At offset 24 they have one byte each for the major,
    /// minor, patch and build number. No document says this; it was seen in engines. So it is good for
    /// messages only.
    pub fn of_engine(engine: &[u8]) -> Option<Self> {
        let tag: &[u8; 4] = engine.get(24..28)?.first_chunk()?;
        let [major, minor, patch, _] = tag.map(u16::from);
        (engine.starts_with(b"ftrt") && (1..=99).contains(&major))
            .then_some(Self::new(major, minor, patch))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The kind of a TensorRT library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flavor {
    /// TensorRT, or a library with its name.
    Full,
    /// The lean runtime, for version-compatible engines.
    Lean,
    /// The dispatch runtime, for engines that contain a runtime.
    Dispatch,
    /// TensorRT for RTX.
    Rtx,
}

impl Flavor {
    /// The flavor of a library, by the name of its file.
    pub fn of_file(name: &str) -> Self {
        if name.contains("tensorrt_rtx") {
            Self::Rtx
        } else if name.contains("nvinfer_lean") {
            Self::Lean
        } else if name.contains("nvinfer_dispatch") {
            Self::Dispatch
        } else {
            Self::Full
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "TensorRT",
            Self::Lean => "TensorRT's lean runtime",
            Self::Dispatch => "TensorRT's dispatch runtime",
            Self::Rtx => "TensorRT for RTX",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_libraries_are_versions() {
        let version = |number| Version::from_number(number).unwrap().to_string();
        assert_eq!(version(100_600), "10.6.0");
        assert_eq!(version(101_501), "10.15.1");
        assert_eq!(version(110_201), "11.2.1");
        assert_eq!(version(8601), "8.6.1");
        assert_eq!(version(10_200), "1.2.0");
        assert_eq!(Version::from_number(0), None);
        assert_eq!(Version::from_number(-5), None);
    }

    #[test]
    fn an_engine_says_which_version_built_it() {
        let mut engine = vec![0; 40];
        engine[..4].copy_from_slice(b"ftrt");
        engine[24..28].copy_from_slice(&[10, 6, 0, 26]);
        assert_eq!(Version::of_engine(&engine), Some(Version::new(10, 6, 0)));
        engine[0] = b'x';
        assert_eq!(Version::of_engine(&engine), None);
        assert_eq!(Version::of_engine(b"ftrt"), None);
    }
}
