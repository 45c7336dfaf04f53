//! The indexed accesses of plans made at random, and what a scan over all of them says.

use std::collections::HashMap;

use thalweg_core::{DType, TensorSpec};
use thalweg_format::Device;

use super::*;
use crate::plan::{ArgumentRange, PlannedStorage, PlannedTensor, PlannedValue};

/// A plan of additions and delegates whose tensors overlap in two arenas.
fn random_plan(random: &mut impl FnMut(usize) -> usize) -> MethodPlan {
    let count = 3 + random(8);
    let tensors = (0..count).map(|_| PlannedTensor {
        spec: TensorSpec {
            dynamism: [ShapeDynamism::Static, ShapeDynamism::DynamicBound][random(6) / 5],
            ..TensorSpec::new(DType::U8, &[random(4)]).unwrap()
        },
        storage: StorageId(random(2) as u32),
        offset: random(6),
        initial: None,
    });
    let tensors = tensors.collect();
    let ids = (0..count as u32).map(|id| PlannedValue::Tensor(TensorId(id)));
    let mut plan = MethodPlan {
        name: "forward".into(),
        input_tree: None,
        output_tree: None,
        values: ids.collect(),
        tensors,
        storages: vec![
            PlannedStorage::Arena {
                bytes: 16,
                device: Device::default(),
            };
            2
        ],
        inputs: Vec::new(),
        outputs: vec![ValueId::new(random(count) as u32)],
        operators: vec!["t::add.out".into()],
        delegates: Vec::new(),
        steps: Vec::new(),
        arguments: Vec::new(),
        origins: None,
    };
    for _ in 0..random(12) {
        let arguments = ArgumentRange {
            start: plan.arguments.len() as u32,
            len: 3,
        };
        for _ in 0..3 {
            plan.arguments.push(ValueId::new(random(count) as u32));
        }
        plan.steps.push(match random(8) {
            0 => Step::Delegate {
                delegate: 0,
                arguments,
            },
            _ => Step::Kernel {
                operator: 0,
                arguments,
            },
        });
    }
    plan
}

/// The result of [`Accesses::is_alone`], by a scan over all accesses.
fn is_alone(plan: &MethodPlan, all: &[TensorAccess], id: TensorId, at: usize) -> bool {
    let location = Region::planned(plan, id);
    let mut written: HashMap<TensorId, usize> = HashMap::new();
    for access in all {
        let region = Region::planned(plan, access.tensor);
        if access.tensor == id || !location.overlaps(&region) {
            continue;
        }
        if access.writes {
            written.insert(access.tensor, access.step);
            continue;
        }
        let is_between = |before: usize| before > at || access.step <= at;
        if written
            .get(&access.tensor)
            .is_some_and(|&before| is_between(before))
        {
            continue;
        }
        let start = region.bytes.start.max(location.bytes.start);
        let end = region.bytes.end.min(location.bytes.end);
        let covers = |(by, &before): (&TensorId, &usize)| {
            let tensor = &plan.tensors[by.0 as usize];
            tensor.dynamism == ShapeDynamism::Static
                && tensor.offset <= start
                && end <= tensor.offset + tensor.capacity
                && is_between(before)
        };
        if !written.iter().any(covers) {
            return false;
        }
    }
    true
}

#[test]
fn indexed_accesses_say_what_a_scan_over_all_of_them_says() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let kernel = Kernel::new(
        "t::add.out(Tensor a, Tensor b, *, Tensor(a!) out) -> Tensor(a!)",
        |_| Ok(()),
    );
    let kernels = [kernel.unwrap()];
    let mut alone = [0, 0];
    for _ in 0..4000 {
        let plan = random_plan(&mut random);
        let found = Accesses::find(&plan, &kernels);
        let all = accesses(&plan, &kernels);
        for id in (0..plan.tensors.len() as u32).map(TensorId) {
            let region = Region::planned(&plan, id);
            let overlaps = |access: &&TensorAccess| {
                access.tensor != id && Region::planned(&plan, access.tensor).overlaps(&region)
            };
            let key = |access: TensorAccess| (access.step, access.tensor, access.writes);
            let expected = all.iter().filter(overlaps).copied().map(key);
            assert!(found.of_overlapping(id).map(key).eq(expected));
            for at in 0..plan.steps.len() {
                let expected = is_alone(&plan, &all, id, at);
                assert_eq!(found.is_alone(id, at), expected);
                alone[usize::from(expected)] += 1;
            }
        }
    }
    assert!(alone.iter().all(|&count| count > 1000), "{alone:?}");
}
