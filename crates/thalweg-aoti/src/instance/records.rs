//! Records of earlier runs, by the layouts of inputs.

use std::sync::Arc;

use super::layout::TensorLayout;
use super::lru::LruCache;
use crate::abi::{AllocationPlan, RunOutcome};

/// The records of an instance.
pub(super) struct RunRecords(LruCache<RunRecord>);

/// The record of runs with inputs of certain layouts.
pub(super) struct RunRecord {
    /// The number that identifies the record among all that the instance has had.
    pub(super) number: u64,
    pub(super) inputs: Vec<Arc<TensorLayout>>,
    pub(super) outputs: Vec<OutputRecord>,
    pub(super) plan: Arc<AllocationPlan>,
    /// An operation of the last such run that a graph cannot hold.
    pub(super) not_capturable: Option<&'static str>,
}

/// The record of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OutputRecord {
    /// The layout of the program's tensor.
    pub(super) layout: Arc<TensorLayout>,
    /// The size of the library's allocation, if that can be placed in the output's memory.
    pub(super) placed: Option<u64>,
}

/// The number of records that are kept.
const MAX_RECORDS: usize = 16;

impl Default for RunRecords {
    fn default() -> Self {
        Self(LruCache::new(MAX_RECORDS))
    }
}

impl RunRecords {
    /// The record of runs whose inputs all match.
    pub(super) fn find(
        &mut self,
        mut matches: impl FnMut(usize, &Arc<TensorLayout>) -> bool,
    ) -> Option<&mut RunRecord> {
        self.0.find(|record| {
            let mut inputs = record.inputs.iter().enumerate();
            inputs.all(|(index, layout)| matches(index, layout))
        })
    }

    /// The record that was found or inserted last.
    pub(super) fn current(&mut self) -> Option<&mut RunRecord> {
        self.0.current()
    }

    /// Inserts the record of a run, in place of the earlier one for such inputs.
    pub(super) fn insert(
        &mut self,
        inputs: Vec<Arc<TensorLayout>>,
        outputs: Vec<OutputRecord>,
        plan: AllocationPlan,
        outcome: &RunOutcome,
    ) {
        let record = |number| RunRecord {
            number,
            inputs: inputs.clone(),
            outputs,
            plan: Arc::new(plan),
            not_capturable: outcome.not_capturable,
        };
        self.0.insert(|other| other.inputs == inputs, record);
    }

    /// Removes the record that was found or inserted last.
    pub(super) fn remove_current(&mut self) {
        self.0.remove_current();
    }
}

#[cfg(test)]
mod tests {
    use thalweg_core::DType;

    use super::*;

    #[test]
    fn a_record_in_use_stays_while_others_come_and_go() {
        let layout = |rows: usize| Arc::new(TensorLayout::new(DType::F32, &[rows, 4], &[0, 1]));
        let mut records = RunRecords::default();
        let insert = |records: &mut RunRecords, rows| {
            let plan = AllocationPlan::new(Vec::new(), &[]);
            let outcome = RunOutcome::default();
            records.insert(vec![layout(rows)], Vec::new(), plan, &outcome);
        };
        let find = |records: &mut RunRecords, rows: usize| {
            let found = records.find(|_, layout| layout.is_of(DType::F32, &[rows, 4], &[0, 1]));
            found.map(|record| record.number)
        };
        insert(&mut records, 1);
        let first = find(&mut records, 1).unwrap();
        for rows in 2..30 {
            assert_eq!(find(&mut records, rows), None);
            insert(&mut records, rows);
            assert_eq!(find(&mut records, 1), Some(first));
        }
        assert_eq!(find(&mut records, 2), None);
        assert_eq!(records.0.len(), MAX_RECORDS);
        // A new record of such inputs has another number.
        insert(&mut records, 1);
        assert_ne!(find(&mut records, 1), Some(first));
        records.remove_current();
        assert_eq!(find(&mut records, 1), None);
    }
}
