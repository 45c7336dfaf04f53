//! User objects: the release of references to them.

use super::Driver;
use crate::clock::Timestamp;
use crate::objects::UserObjectRef;

impl Driver {
    /// Releases references: at once, or when a launch that is running is complete.
    pub(crate) fn release_references(
        &mut self,
        references: Vec<UserObjectRef>,
        after: Option<Timestamp>,
    ) {
        if references.is_empty() {
            return;
        }
        self.pending_releases.push((after, references));
        self.drop_released();
    }

    /// Drops the released references that are not in use any more.
    pub(crate) fn drop_released(&mut self) {
        if self.pending_releases.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.pending_releases);
        for (after, references) in waiting {
            if after
                .as_ref()
                .is_none_or(|after| self.is_complete(after.epoch))
            {
                drop(references);
            } else {
                self.pending_releases.push((after, references));
            }
        }
    }
}
