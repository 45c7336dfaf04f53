//! Faults: the calls that a test has fail.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A fault of a plan.
///
/// Functions are named as in CUDA's documentation: `cuMemAlloc` is also `cuMemAlloc_v2`, and
/// `cuStreamQuery` is also `cuStreamQuery_ptsz`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Fault {
    /// One call fails.
    Call {
        /// The function.
        function: String,
        /// The number of the call since the plan was set, from 1.
        nth: u64,
        /// A `CUresult`.
        code: u32,
    },
    /// Every n-th call of a function fails.
    Every {
        /// The function.
        function: String,
        /// The period, from 1, with which all calls fail.
        n: u64,
        /// A `CUresult`.
        code: u32,
    },
    /// After a number of kernels, a sticky error: each later call on their device fails until the
    /// context is gone.
    Sticky {
        /// The number of kernels that still run, from the time that the plan was set.
        kernels: u64,
        /// A `CUresult`.
        code: u32,
    },
    /// Allocations fail that would take a device above a limit.
    MemoryLimit {
        /// The limit of each device, in bytes.
        bytes: u64,
    },
}

/// The plan of faults, and the counts of calls.
#[derive(Default)]
pub(crate) struct Faults {
    plan: Vec<Fault>,
    since_plan: BTreeMap<Arc<str>, u64>,
    counts: BTreeMap<Arc<str>, u64>,
    kernels: u64,
}

impl Faults {
    pub(crate) fn set_plan(&mut self, mut plan: Vec<Fault>) {
        for fault in &mut plan {
            if let Fault::Call { function, .. } | Fault::Every { function, .. } = fault {
                *function = base_name(function).to_owned();
            }
        }
        self.plan = plan;
        self.since_plan.clear();
        self.kernels = 0;
    }

    /// Counts a call of a function, and returns the code with which it is to fail.
    pub(crate) fn call(&mut self, function: &str) -> Option<u32> {
        let function = base_name(function);
        bump(&mut self.counts, function);
        if self.plan.is_empty() {
            return None;
        }
        let count = bump(&mut self.since_plan, function);
        self.plan.iter().find_map(|fault| match fault {
            Fault::Call {
                function: name,
                nth,
                code,
            } if name == function && *nth == count => Some(*code),
            Fault::Every {
                function: name,
                n,
                code,
            } if name == function && count.is_multiple_of((*n).max(1)) => Some(*code),
            _ => None,
        })
    }

    /// Counts a kernel that ran, and returns the sticky error that its device has from now on.
    pub(crate) fn kernel(&mut self) -> Option<u32> {
        self.kernels += 1;
        self.plan.iter().find_map(|fault| match fault {
            Fault::Sticky { kernels, code } if *kernels == self.kernels => Some(*code),
            _ => None,
        })
    }

    /// The bytes that each device may have in use.
    pub(crate) fn memory_limit(&self) -> u64 {
        let limits = self.plan.iter().filter_map(|fault| match fault {
            Fault::MemoryLimit { bytes } => Some(*bytes),
            _ => None,
        });
        limits.min().unwrap_or(u64::MAX)
    }

    /// The number of calls of each function since the last reset.
    pub(crate) fn counts(&self) -> &BTreeMap<Arc<str>, u64> {
        &self.counts
    }
}

fn bump(counts: &mut BTreeMap<Arc<str>, u64>, function: &str) -> u64 {
    if let Some(count) = counts.get_mut(function) {
        *count += 1;
        return *count;
    }
    counts.insert(function.into(), 1);
    1
}

/// The name of a function without the suffixes of its variants.
pub(crate) fn base_name(name: &str) -> &str {
    let name = name
        .strip_suffix("_ptsz")
        .or_else(|| name.strip_suffix("_ptds"))
        .unwrap_or(name);
    match name.rsplit_once("_v") {
        Some((base, version)) if version.parse::<u32>().is_ok() => base,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_a_function_count_as_one() {
        let mut faults = Faults::default();
        faults.set_plan(vec![Fault::Call {
            function: "cuMemAlloc_v2".into(),
            nth: 2,
            code: 2,
        }]);
        assert_eq!(faults.call("cuMemAlloc"), None);
        assert_eq!(faults.call("cuMemAlloc_v2"), Some(2));
        assert_eq!(faults.call("cuMemAlloc_v2"), None);
        assert_eq!(faults.counts().get("cuMemAlloc"), Some(&3));
        assert_eq!(base_name("cuStreamQuery_ptsz"), "cuStreamQuery");
        assert_eq!(
            base_name("cuStreamGetCaptureInfo_v2_ptsz"),
            "cuStreamGetCaptureInfo"
        );
    }

    #[test]
    fn every_nth_call_fails() {
        let mut faults = Faults::default();
        faults.set_plan(vec![Fault::Every {
            function: "cuEventRecord".into(),
            n: 3,
            code: 999,
        }]);
        let failed = (1..=9).filter(|_| faults.call("cuEventRecord_ptsz").is_some());
        assert_eq!(failed.count(), 3);
    }
}
