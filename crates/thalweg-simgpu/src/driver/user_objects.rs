//! User objects: the release of references to them.

use super::Driver;
use crate::clock::Timestamp;
use crate::objects::UserObjectRef;

impl Driver {
    /// Gives references up: at once, or when a launch that is running has ended.
    pub(crate) fn release_references(
        &mut self,
        kept: Vec<UserObjectRef>,
        after: Option<Timestamp>,
    ) {
        if kept.is_empty() {
            return;
        }
        self.pending_releases.push((after, kept));
        self.drop_released();
    }

    /// Drops what was given up and is not in use any more.
    pub(crate) fn drop_released(&mut self) {
        if self.pending_releases.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.pending_releases);
        for (after, kept) in waiting {
            if after.as_ref().is_none_or(|after| self.is_done(after.epoch)) {
                drop(kept);
            } else {
                self.pending_releases.push((after, kept));
            }
        }
    }
}
