//! The rules between the parts of a program, each broken once.

use std::borrow::Cow;

use thalweg_format::*;

/// Builds a method, changes it, and gives what is then wrong with the program.
fn wrong(change: impl FnOnce(&mut ProgramBuilder, &mut MethodBuilder)) -> String {
    let mut program = ProgramBuilder::new();
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[2, 3]);
    forward.input(x);
    forward.call("test::op.out", &[x, x]);
    forward.output(x);
    change(&mut program, &mut forward);
    program.method(forward);
    program.build().unwrap_err().to_string()
}

fn first_tensor(method: &mut MethodBuilder) -> &mut Tensor<'static> {
    match &mut method.edit().values[0] {
        Value::Tensor(tensor) => tensor,
        other => panic!("{other:?}"),
    }
}

#[test]
fn indices_name_what_exists() {
    assert_eq!(
        wrong(|_, m| m.input(9)),
        "method `forward`: input 1 names value 9, but there is 1 value"
    );
    assert_eq!(
        wrong(|_, m| m.output(9)),
        "method `forward`: output 1 names value 9, but there is 1 value"
    );
    assert_eq!(
        wrong(|_, m| {
            m.instruction(Instruction::KernelCall {
                operator: 5,
                args: vec![],
            });
        }),
        "method `forward`, instruction 1: it names operator 5, but there is 1 operator"
    );
    assert_eq!(
        wrong(|_, m| m.call_delegate(0, &[])),
        "method `forward`, instruction 1: it names delegate 0, but there are 0 delegates"
    );
    assert_eq!(
        wrong(|_, m| m.move_value(0, 4)),
        "method `forward`, instruction 1: its target names value 4, but there is 1 value"
    );
    assert_eq!(
        wrong(|_, m| {
            m.instruction(Instruction::Free { value: 3 });
        }),
        "method `forward`, instruction 1: it names value 3, but there is 1 value"
    );
    assert_eq!(
        wrong(|_, m| {
            m.delegate("Test", DelegateData::Segment(7), &[]);
        }),
        "method `forward`, delegate 0 (`Test`): its payload names segment 7, but there is 1 segment"
    );
    assert_eq!(
        wrong(|_, m| {
            m.delegate("Test", DelegateData::Inline(0), &[]);
        }),
        "method `forward`, delegate 0 (`Test`): its payload names inline payload 0, but there are \
         0 inline payloads"
    );
    assert_eq!(
        wrong(|_, m| {
            m.edit().arena_devices.push(ArenaDevice {
                arena: 2,
                device: Device::default(),
            });
        }),
        "method `forward`: device mapping 0 names arena 2, but there are 2 arenas"
    );
}

#[test]
fn a_jump_may_go_to_the_end_but_not_beyond() {
    let mut program = ProgramBuilder::new();
    let mut forward = MethodBuilder::new("forward");
    let condition = forward.bool(true);
    let jump = forward.jump_if_false(condition, 0);
    forward.land(jump);
    assert_eq!(
        forward.edit().chains[0].instructions[0],
        Instruction::JumpIfFalse {
            condition,
            destination: 1
        }
    );
    program.method(forward);
    program.build().unwrap();
    assert_eq!(
        wrong(|_, m| {
            m.jump_if_false(0, 3);
        }),
        "method `forward`, instruction 1: its destination is instruction 3, but there are 2 \
         instructions"
    );
}

#[test]
fn lists_hold_what_they_say() {
    assert_eq!(
        wrong(|_, m| {
            let i = m.int(1);
            m.tensor_list(&[0, i]);
        }),
        "method `forward`, value 2: item 1 must be a tensor, but names value 1, an integer"
    );
    assert_eq!(
        wrong(|_, m| {
            m.value(Value::IntList(vec![0]));
        }),
        "method `forward`, value 1: item 0 must be an integer, but names value 0, a tensor"
    );
    assert_eq!(
        wrong(|_, m| {
            m.value(Value::OptionalTensorList(vec![None, Some(8)]));
        }),
        "method `forward`, value 1: item 1 names value 8, but there are 2 values"
    );
}

#[test]
fn shapes_make_sense() {
    assert_eq!(
        wrong(|_, m| first_tensor(m).dim_order = vec![0]),
        "method `forward`, value 0: it has 2 dimensions, but its order lists 1"
    );
    assert_eq!(
        wrong(|_, m| first_tensor(m).dim_order = vec![1, 1]),
        "method `forward`, value 0: the order of its dimensions, [1, 1], is not a permutation"
    );
    assert_eq!(
        wrong(|_, m| first_tensor(m).dim_order = vec![0, 255]),
        "method `forward`, value 0: the order of its dimensions, [0, 255], is not a permutation"
    );
    assert_eq!(
        wrong(|_, m| {
            m.unplanned_tensor(ScalarType::Float, &[1; 17]);
        }),
        "method `forward`, value 1: it has 17 dimensions, but at most 16 are possible"
    );
    assert_eq!(
        wrong(|_, m| {
            m.unplanned_tensor(ScalarType::Float, &[1 << 30; 3]);
        }),
        "method `forward`, value 1: its size in bytes does not fit into 64 bits"
    );
    assert_eq!(
        wrong(|_, m| {
            m.unplanned_tensor(ScalarType::Float, &[1 << 31]);
        }),
        "method `forward`, value 1: dimension 0 has size 2147483648, more than the format can store"
    );
}

#[test]
fn a_bound_that_means_any_size_is_no_error() {
    let mut program = ProgramBuilder::new();
    let mut forward = MethodBuilder::new("forward");
    let x = forward.unplanned_tensor(ScalarType::Float, &[i32::MAX as u32; 3]);
    let Value::Tensor(tensor) = &mut forward.edit().values[x as usize] else {
        unreachable!();
    };
    tensor.dynamism = ShapeDynamism::DynamicBound;
    program.method(forward);
    program.build().unwrap();
}

#[test]
fn tensors_lie_within_their_arenas() {
    assert_eq!(
        wrong(|_, m| m.edit().arena_sizes[1] = 8),
        "method `forward`, value 0: its place, 24 bytes at byte 0 of arena 1, is beyond the end: \
         the arena has 8 bytes"
    );
    assert_eq!(
        wrong(|_, m| {
            first_tensor(m).allocation = Some(Allocation {
                arena: 1,
                offset: u64::MAX,
            });
        }),
        "method `forward`, value 0: its place, 24 bytes at byte 18446744073709551615 of arena 1, \
         is beyond the end: the arena has 24 bytes"
    );
    assert_eq!(
        wrong(|_, m| {
            first_tensor(m).allocation = Some(Allocation {
                arena: 0,
                offset: 0,
            });
        }),
        "method `forward`, value 0: its place is in arena 0, which is reserved for constants"
    );
    assert_eq!(
        wrong(|_, m| {
            first_tensor(m).allocation = Some(Allocation {
                arena: 7,
                offset: 0,
            });
        }),
        "method `forward`, value 0: its place names arena 7, but there are 2 arenas"
    );
}

#[test]
fn tensors_have_the_data_that_they_need() {
    assert_eq!(
        wrong(|p, m| {
            let data = p.constant([0; 8]);
            m.constant(ScalarType::Float, &[3], data);
        }),
        "method `forward`, value 1: its data, 12 bytes at byte 0 of segment 0, is beyond the end: \
         the segment has 8 bytes"
    );
    assert_eq!(
        wrong(|p, m| {
            p.constant([0; 8]);
            m.constant(ScalarType::Float, &[3], 5);
        }),
        "method `forward`, value 1: its data is constant 5, but there are 2 constants"
    );
    assert_eq!(
        wrong(|p, m| {
            p.inline_constants();
            let data = p.constant([0; 8]);
            m.constant(ScalarType::Float, &[3], data);
        }),
        "method `forward`, value 1: it needs 12 bytes of data, but constant 1 has 8 bytes"
    );
    assert_eq!(
        wrong(|_, m| {
            m.state(ScalarType::Float, &[1], 1);
        }),
        "method `forward`, value 1: its initial value is in mutable data segment 0, but there are \
         0 mutable data segments"
    );
    assert_eq!(
        wrong(|p, m| {
            let data = p.initial_value([0; 2]);
            m.state(ScalarType::Float, &[1], data);
        }),
        "method `forward`, value 1: its data, 4 bytes at byte 0 of segment 1, is beyond the end: \
         the segment has 2 bytes"
    );
    assert_eq!(
        wrong(|_, m| {
            m.external("", ScalarType::Float, &[1]);
        }),
        "method `forward`, value 1: its data lies in a data file, but it has no name to look it up \
         by"
    );
}

#[test]
fn names_are_unique() {
    assert_eq!(
        wrong(|p, _| p.method(MethodBuilder::new("forward"))),
        "method `forward`: another method has the same name"
    );
    assert_eq!(
        wrong(|p, _| {
            p.named("key", []);
            p.named("key", []);
        }),
        "named data 1 (`key`): another entry has the same key"
    );
}

#[test]
fn constants_are_in_one_place() {
    let mut builder = ProgramBuilder::new();
    builder.constant([1]);
    let mut program = builder.build().unwrap();
    program.constant_buffer.push(Cow::Borrowed(&[]));
    assert!(program.check().is_err());
}

#[test]
fn offsets_lie_within_their_segment() {
    let mut builder = ProgramBuilder::new();
    builder.constant([1]);
    let mut program = builder.build().unwrap();
    program.constant_segment.as_mut().unwrap().offsets[1] = 2;
    assert_eq!(
        program.check().unwrap_err().to_string(),
        "the constant segment: entry 1 starts at byte 2 of segment 0, which has 1 byte"
    );
}

#[test]
fn the_entries_of_a_data_file_have_the_data_that_they_need() {
    let layout = TensorLayout {
        scalar_type: ScalarType::Half,
        sizes: vec![2, 3],
        dim_order: vec![0, 1],
    };
    let file = |bytes: usize, segment| DataFile {
        segments: vec![vec![0; bytes].into()],
        entries: vec![DataEntry {
            key: "weight".into(),
            segment,
            layout: Some(layout.clone()),
        }],
        ..DataFile::default()
    };
    file(12, 0).check().unwrap();
    assert_eq!(
        file(11, 0).check().unwrap_err().to_string(),
        "entry 0 (`weight`): a tensor of Half with sizes [2, 3] does not fit into segment 0, which \
         has 11 bytes"
    );
    assert_eq!(
        file(12, 1).check().unwrap_err().to_string(),
        "entry 0 (`weight`): it names segment 1, but there is 1 segment"
    );
}
