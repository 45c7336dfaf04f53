//! The bytes of a program or data file, or what takes the place of a part of it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use super::Block;
use crate::{Error, ErrorKind, Result};

/// A file's bytes, mapped or owned; cheap to clone.
#[derive(Clone)]
pub(crate) struct FileBytes(Arc<Source>);

enum Source {
    Mapped(Mmap),
    Owned(Vec<u8>),
    Computed(Block),
}

impl FileBytes {
    /// Maps a file.
    ///
    /// As with every mapped file, whoever shortens or rewrites it while it is in use pulls the
    /// memory away from under the process. Upstream's loader has the same contract; the book says
    /// so, and replacing a file by renaming a new one over it is safe.
    pub(crate) fn map(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Io, format!("cannot be read: {error}"))
                .with_source(error)
                .in_file(path.display())
        };
        let file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() == 0 {
            return Ok(Self::owned(Vec::new()));
        }
        // SAFETY: the mapping is private and read-only. That nobody changes the file meanwhile is
        // the documented contract of loading by path.
        let map = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Ok(Self(Arc::new(Source::Mapped(map))))
    }

    pub(crate) fn owned(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Source::Owned(bytes)))
    }

    /// What was computed from a file's bytes.
    pub(crate) fn computed(block: Block) -> Self {
        Self(Arc::new(Source::Computed(block)))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &*self.0 {
            Source::Mapped(map) => map,
            Source::Owned(bytes) => bytes,
            Source::Computed(block) => block.bytes(),
        }
    }
}
