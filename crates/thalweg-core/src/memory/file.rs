//! The bytes of a program or data file, or what takes the place of a part of it.

use std::fmt;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;

use super::Block;
use crate::{Error, ErrorKind, Result};

/// A file's bytes, mapped or owned; cheap to clone.
#[derive(Clone)]
pub struct FileBytes(Arc<Source>);

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
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn map(path: &Path) -> Result<Self> {
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

    /// Bytes of the process.
    pub fn owned(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Source::Owned(bytes)))
    }

    /// What was computed from a file's bytes.
    pub fn computed(block: Block) -> Self {
        Self(Arc::new(Source::Computed(block)))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &*self.0 {
            Source::Mapped(map) => map,
            Source::Owned(bytes) => bytes,
            Source::Computed(block) => block.bytes(),
        }
    }
}

/// A range of a file's bytes, such as the payload of a delegate, which keeps the file. Cheap to clone.
#[derive(Clone)]
pub struct SharedBytes {
    file: FileBytes,
    range: Range<usize>,
}

impl SharedBytes {
    /// A range of a file. `None` if the file is shorter.
    pub fn new(file: &FileBytes, range: Range<usize>) -> Option<Self> {
        file.bytes().get(range.clone())?;
        Some(Self {
            file: file.clone(),
            range,
        })
    }

    /// All bytes of a file.
    pub fn all(file: &FileBytes) -> Self {
        Self {
            file: file.clone(),
            range: 0..file.bytes().len(),
        }
    }

    /// The first `len` bytes. `None` if there are fewer.
    pub fn first(&self, len: usize) -> Option<Self> {
        (len <= self.range.len()).then(|| Self {
            file: self.file.clone(),
            range: self.range.start..self.range.start + len,
        })
    }

    /// The file.
    pub fn file(&self) -> &FileBytes {
        &self.file
    }

    /// The range in the file.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// True if two have the same content. The same range of the same file has.
    pub fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(&**self, &**other) || **self == **other
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::all(&FileBytes::owned(bytes))
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.file
            .bytes()
            .get(self.range.clone())
            .unwrap_or_default()
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedBytes({} bytes)", self.len())
    }
}
