//! The memory of one device.

use std::collections::BTreeMap;

use super::pages::{Mapping, Span};

/// The alignment of device memory.
const ALIGNMENT: u64 = 512;

/// The pattern of fresh memory. It is no number in any float format, and no small integer.
pub(crate) const FRESH: [u8; 2] = [0xa5, 0xff];

/// The pattern of freed memory. It is no number either.
pub(crate) const FREED: [u8; 2] = [0xde, 0xff];

/// Device memory: addresses that the host cannot dereference, and the bytes behind them elsewhere.
pub(crate) struct Arena {
    addresses: Mapping,
    bytes: Mapping,
    len: u64,
    /// The free ranges: offset and length.
    free: BTreeMap<u64, u64>,
    used: u64,
}

impl Arena {
    pub(crate) fn new(len: u64) -> Option<Self> {
        let size = usize::try_from(len).ok()?;
        Some(Self {
            addresses: Mapping::addresses(size)?,
            bytes: Mapping::new(size)?,
            len,
            free: BTreeMap::from([(0, len)]),
            used: 0,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        (self.addresses.address()..self.addresses.address() + self.len).contains(&address)
    }

    /// The bytes behind addresses, if all of them belong to this device.
    pub(crate) fn span(&self, address: u64, len: u64) -> Option<Span> {
        let offset = address.checked_sub(self.addresses.address())?;
        let end = offset.checked_add(len)?;
        (end <= self.len).then(|| self.bytes.span().part(offset as usize, len as usize))
    }

    /// The bytes that an allocation takes.
    pub(crate) fn rounded(len: u64) -> Option<u64> {
        len.checked_next_multiple_of(ALIGNMENT)
    }

    /// Allocates the first free range that is long enough. So the lowest addresses, which were
    /// freed most often, come back first.
    pub(crate) fn take(&mut self, len: u64) -> Option<u64> {
        let len = Self::rounded(len)?;
        let (&offset, &found) = self.free.iter().find(|(_, free)| **free >= len)?;
        self.free.remove(&offset);
        if found > len {
            self.free.insert(offset + len, found - len);
        }
        self.used += len;
        Some(self.addresses.address() + offset)
    }

    /// Frees a range that was allocated with this length.
    pub(crate) fn give_back(&mut self, address: u64, len: u64) {
        let Some(len) = Self::rounded(len) else {
            return;
        };
        let mut start = address - self.addresses.address();
        let mut end = start + len;
        self.used -= len;
        if len >= 1 << 20 {
            self.bytes.discard(start as usize, len as usize);
        }
        if let Some((&before, &free)) = self.free.range(..start).next_back()
            && before + free == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(after) = self.free.remove(&end) {
            end += after;
        }
        self.free.insert(start, end - start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_ranges_grow_together_and_come_back() {
        let mut arena = Arena::new(1 << 20).unwrap();
        let a = arena.take(1000).unwrap();
        let b = arena.take(1).unwrap();
        let c = arena.take(512).unwrap();
        assert_eq!((b - a, c - b), (1024, 512));
        assert_eq!(arena.used(), 2048);
        arena.give_back(a, 1000);
        arena.give_back(c, 512);
        arena.give_back(b, 1);
        assert_eq!(arena.take(1 << 20), Some(a));
        assert_eq!(arena.take(1), None);
    }

    #[test]
    fn the_patterns_are_no_numbers() {
        for [low, high] in [FRESH, FREED] {
            let word = [low, high, low, high];
            assert!(f32::from_le_bytes(word).is_nan());
            let f16 = u16::from_le_bytes([low, high]);
            assert!(f16 & 0x7c00 == 0x7c00 && f16 & 0x03ff != 0, "f16");
            assert!(f16 & 0x7f80 == 0x7f80 && f16 & 0x007f != 0, "bf16");
        }
    }
}
