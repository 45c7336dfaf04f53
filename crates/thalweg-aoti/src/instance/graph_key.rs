//! Encoded runs and their graph keys.

use super::lru::LruCache;
use crate::model::Model;
use crate::mutation::{Rule, disabled};

/// An encoded run: all that a graph of it depends on.
#[derive(Default)]
pub(super) struct EncodedRun {
    /// The number of the run record, the addresses of inputs, those of outputs, and the address of the
    /// workspace, or zero if there is none.
    words: Vec<u64>,
}

impl EncodedRun {
    /// Begins to encode another run.
    pub(super) fn clear(&mut self) {
        self.words.clear();
        self.words.push(0);
    }

    /// Sets the number of the run record.
    pub(super) fn set_record(&mut self, number: u64) {
        if let Some(first) = self.words.first_mut() {
            *first = number;
        }
    }

    /// Appends the address of the next input or output, or of the workspace.
    pub(super) fn push(&mut self, address: u64) {
        self.words.push(address);
    }

    /// Returns true if all addresses are encoded, for the run record of this number.
    pub(super) fn is_complete(&self, record: u64, model: &Model) -> bool {
        self.words.len() == model.inputs + model.outputs + 2 && self.words[0] == record
    }

    /// The addresses of inputs.
    pub(super) fn inputs(&self, model: &Model) -> &[u64] {
        &self.words[1..=model.inputs]
    }

    /// The addresses of outputs.
    pub(super) fn outputs(&self, model: &Model) -> &[u64] {
        &self.words[1 + model.inputs..][..model.outputs]
    }

    /// The address of the workspace, if there is one.
    pub(super) fn workspace(&self) -> Option<u64> {
        self.words.last().copied().filter(|address| *address != 0)
    }

    /// The words that a graph key stands for.
    pub(super) fn key(&self) -> &[u64] {
        match (
            disabled(Rule::StampAddresses),
            disabled(Rule::StampWorkspace),
        ) {
            (false, false) => &self.words[..],
            (true, _) => &self.words[..1],
            (false, true) => &self.words[..self.words.len() - 1],
        }
    }
}

/// The graph keys of an instance: equal numbers for equal encoded runs.
pub(super) struct GraphKeys(LruCache<(Vec<u64>, u64)>);

/// The number of graph keys that are remembered.
const MAX_KEYS: usize = 64;

impl Default for GraphKeys {
    fn default() -> Self {
        Self(LruCache::new(MAX_KEYS))
    }
}

impl GraphKeys {
    /// The graph key of an encoded run.
    pub(super) fn of(&mut self, encoded: &[u64]) -> u64 {
        if let Some((_, key)) = self.0.find(|(words, _)| words == encoded) {
            return *key;
        }
        let (_, key) = self
            .0
            .insert(|_| false, |number| (encoded.to_vec(), number));
        *key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_key_stands_for_one_encoded_run() {
        let mut keys = GraphKeys::default();
        let first = keys.of(&[1, 2]);
        let second = keys.of(&[1, 3]);
        assert_ne!(first, second);
        assert_eq!(keys.of(&[1, 2]), first);
        assert_eq!(keys.of(&[1, 3]), second);
        // A run that is encoded again after a long time has another key.
        let others: Vec<_> = (10..10 + MAX_KEYS as u64)
            .map(|word| keys.of(&[word]))
            .collect();
        let again = keys.of(&[1, 2]);
        assert!(again != first && !others.contains(&again) && again != second);
    }
}
