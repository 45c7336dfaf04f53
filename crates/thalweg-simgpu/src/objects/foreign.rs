//! The objects of other stand-ins, which also have to be destroyed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::report::Site;

/// The objects of other stand-ins that were created and not destroyed.
#[derive(Default)]
pub(crate) struct ForeignObjects {
    objects: BTreeMap<u64, (String, Arc<Site>)>,
    last: u64,
}

impl ForeignObjects {
    /// Adds an object of a class. Returns its number, and its label for reports.
    pub(crate) fn add(&mut self, class: &str, site: &Arc<Site>) -> (u64, String) {
        self.last += 1;
        let label = format!("{class} {}", self.last);
        self.objects
            .insert(self.last, (label.clone(), site.clone()));
        (self.last, label)
    }

    /// Removes an object that was destroyed.
    pub(crate) fn remove(&mut self, number: u64) {
        self.objects.remove(&number);
    }

    /// The messages about objects that are left.
    pub(crate) fn leaks(&self) -> impl Iterator<Item = String> {
        self.objects
            .values()
            .map(|(label, site)| format!("{label} was not destroyed, from {site}"))
    }
}
