//! Keeps what is decoded in proportion to the file.

use crate::error::{Error, ErrorKind};

/// How much memory decoding may still take.
///
/// Parts of a flatbuffer may be shared: a thousand methods can point to one table of a thousand
/// values, and a file of some kilobytes would become gigabytes. So all memory that decoding takes
/// is paid for in advance, shared parts once per use, from a budget of a fixed multiple of the
/// flatbuffer's size. Programs that exporters write need less than an eighth of it.
pub(crate) struct Budget {
    left: usize,
    total: usize,
}

/// Decoded bytes allowed per byte of the flatbuffer.
const MULTIPLE: usize = 16;

/// Allowed for any file, however small.
const BASE: usize = 16 * 1024;

impl Budget {
    pub(crate) fn for_flatbuffer(len: usize) -> Self {
        let total = len.saturating_mul(MULTIPLE).saturating_add(BASE);
        Self { left: total, total }
    }

    /// An empty list with room for `len` items, paid for.
    pub(crate) fn list<T>(&mut self, len: usize) -> Result<Vec<T>, Error> {
        self.pay(len.saturating_mul(size_of::<T>()))?;
        Ok(Vec::with_capacity(len))
    }

    /// A value on the heap, paid for.
    pub(crate) fn boxed<T>(&mut self, value: T) -> Result<Box<T>, Error> {
        self.pay(size_of::<T>())?;
        Ok(Box::new(value))
    }

    /// Pays for having looked at a string. It is borrowed and takes no memory, but its encoding
    /// was checked, which takes time.
    pub(crate) fn text<'a>(&mut self, text: &'a str) -> Result<&'a str, Error> {
        self.pay(text.len() / 16)?;
        Ok(text)
    }

    fn pay(&mut self, bytes: usize) -> Result<(), Error> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::new(
                ErrorKind::TooBig,
                format!(
                    "the file shares its parts so much that it would take more than {} bytes of \
                     memory, {MULTIPLE} times its size",
                    self.total
                ),
            )),
        }
    }
}
