//! Handles: the numbers that stand for objects.
//!
//! The handle of a destroyed object usually comes back with the next object, so that a program that
//! keeps a handle too long shows it.

/// The reason why a handle is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidHandle {
    /// The object was destroyed.
    Destroyed,
    /// There never was such an object.
    Unknown,
}

/// The objects of one kind, by handle.
pub(crate) struct Handles<T> {
    base: u64,
    entries: Vec<Option<Entry<T>>>,
    free: Vec<usize>,
    created: u64,
}

struct Entry<T> {
    id: u64,
    object: T,
}

/// The distance between two handles.
const STRIDE: u64 = 0x40;

impl<T> Handles<T> {
    /// No objects. `kind` is a number that no other kind of object has.
    pub(crate) fn new(kind: u8) -> Self {
        Self {
            base: 0x5100_0000_0000 + (u64::from(kind) << 32),
            entries: Vec::new(),
            free: Vec::new(),
            created: 0,
        }
    }

    /// Adds an object, and returns its handle.
    pub(crate) fn insert(&mut self, object: T) -> u64 {
        self.created += 1;
        let entry = Some(Entry {
            id: self.created,
            object,
        });
        let index = match self.free.pop() {
            Some(index) => {
                self.entries[index] = entry;
                index
            }
            None => {
                self.entries.push(entry);
                self.entries.len() - 1
            }
        };
        self.base + (index as u64 + 1) * STRIDE
    }

    pub(crate) fn get(&self, handle: u64) -> Result<&T, InvalidHandle> {
        match self.entry(handle) {
            Some(Some(entry)) => Ok(&entry.object),
            Some(None) => Err(InvalidHandle::Destroyed),
            None => Err(InvalidHandle::Unknown),
        }
    }

    pub(crate) fn get_mut(&mut self, handle: u64) -> Result<&mut T, InvalidHandle> {
        let index = self.index(handle).ok_or(InvalidHandle::Unknown)?;
        match self.entries.get_mut(index) {
            Some(Some(entry)) => Ok(&mut entry.object),
            Some(None) => Err(InvalidHandle::Destroyed),
            None => Err(InvalidHandle::Unknown),
        }
    }

    /// The number of the object behind a handle. No other object ever has it.
    pub(crate) fn id(&self, handle: u64) -> u64 {
        self.entry(handle)
            .and_then(Option::as_ref)
            .map_or(0, |entry| entry.id)
    }

    pub(crate) fn remove(&mut self, handle: u64) -> Result<T, InvalidHandle> {
        let index = self.index(handle).ok_or(InvalidHandle::Unknown)?;
        match self.entries.get_mut(index) {
            Some(entry @ Some(_)) => {
                let entry = entry.take().map(|entry| entry.object);
                self.free.push(index);
                entry.ok_or(InvalidHandle::Destroyed)
            }
            Some(None) => Err(InvalidHandle::Destroyed),
            None => Err(InvalidHandle::Unknown),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let entry = entry.as_ref()?;
                Some((self.base + (index as u64 + 1) * STRIDE, &entry.object))
            })
    }

    fn entry(&self, handle: u64) -> Option<&Option<Entry<T>>> {
        self.entries.get(self.index(handle)?)
    }

    fn index(&self, handle: u64) -> Option<usize> {
        let offset = handle.checked_sub(self.base)?;
        if offset % STRIDE != 0 || offset == 0 {
            return None;
        }
        usize::try_from(offset / STRIDE - 1).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destroyed_handle_comes_back_for_another_object() {
        let mut handles = Handles::new(1);
        let first = handles.insert("first");
        let id = handles.id(first);
        assert_eq!(handles.remove(first), Ok("first"));
        assert_eq!(handles.get(first), Err(InvalidHandle::Destroyed));
        assert_eq!(handles.get(first + STRIDE), Err(InvalidHandle::Unknown));
        let second = handles.insert("second");
        assert_eq!(first, second);
        assert_ne!(handles.id(second), id);
    }
}
