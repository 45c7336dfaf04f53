//! A small cache.

/// A cache of a few values that is searched linearly, from the last hit on. It drops the value that was not
/// used for longest.
pub(super) struct LruCache<T> {
    /// The values, each with the time of its last use.
    entries: Vec<(T, u64)>,
    capacity: usize,
    /// The index of the value that was used last.
    current: usize,
    clock: u64,
}

impl<T> LruCache<T> {
    /// An empty cache.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            entries: Vec::new(),
            capacity,
            current: 0,
            clock: 0,
        }
    }

    /// The value that matches, which is the current one from then on.
    pub(super) fn find(&mut self, mut matches: impl FnMut(&T) -> bool) -> Option<&mut T> {
        let count = self.entries.len();
        let mut indices = (0..count).map(|step| (self.current + step) % count);
        let index = indices.find(|&index| matches(&self.entries[index].0))?;
        self.current = index;
        self.clock += 1;
        let (value, last_use) = &mut self.entries[index];
        *last_use = self.clock;
        Some(value)
    }

    /// The value that was found or inserted last.
    pub(super) fn current(&mut self) -> Option<&mut T> {
        self.entries.get_mut(self.current).map(|(value, _)| value)
    }

    /// Inserts a value, in place of the one that `replaces` selects, if any. `make` gets a number that no
    /// other value of the cache has had.
    pub(super) fn insert(
        &mut self,
        replaces: impl Fn(&T) -> bool,
        make: impl FnOnce(u64) -> T,
    ) -> &mut T {
        self.clock += 1;
        let entry = (make(self.clock), self.clock);
        let replaced = self.entries.iter().position(|(value, _)| replaces(value));
        let oldest = || {
            let entries = self.entries.iter().enumerate();
            let oldest = entries.min_by_key(|(_, (_, last_use))| *last_use);
            oldest.filter(|_| self.entries.len() >= self.capacity)
        };
        match replaced.or_else(|| Some(oldest()?.0)) {
            Some(index) => {
                self.entries[index] = entry;
                self.current = index;
            }
            None => {
                self.current = self.entries.len();
                self.entries.push(entry);
            }
        }
        &mut self.entries[self.current].0
    }

    /// Removes the current value.
    pub(super) fn remove_current(&mut self) {
        if self.current < self.entries.len() {
            self.entries.swap_remove(self.current);
            self.current = 0;
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
