//! Machine architectures.
#![forbid(unsafe_code)]

use std::fmt;

use object::elf;
use thalweg_core::{Result, bail};

/// A machine architecture of libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    /// The machine of this process.
    pub(crate) fn here() -> Result<Self> {
        match std::env::consts::ARCH {
            "x86_64" => Ok(Self::X86_64),
            "aarch64" => Ok(Self::Aarch64),
            other => bail!(
                Unsupported,
                "compiled CUDA libraries are for x86_64 and aarch64, and this is {other}"
            ),
        }
    }

    /// The machine number of ELF.
    pub(crate) fn elf(self) -> elf::Machine {
        match self {
            Self::X86_64 => elf::EM_X86_64,
            Self::Aarch64 => elf::EM_AARCH64,
        }
    }

    /// The name of an ELF machine number, for messages.
    pub(crate) fn name_of(machine: elf::Machine) -> String {
        match machine {
            elf::EM_X86_64 => Self::X86_64.to_string(),
            elf::EM_AARCH64 => Self::Aarch64.to_string(),
            other => format!("another machine (number {})", other.0),
        }
    }

    /// The largest page size, which is the alignment of segments.
    pub(crate) fn largest_page(self) -> usize {
        match self {
            Self::X86_64 => 0x1000,
            Self::Aarch64 => 0x1_0000,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        })
    }
}
