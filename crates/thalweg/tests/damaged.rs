//! A program file is untrusted: whatever it says, loading and running it gives an answer or an
//! error, within the limits that the caller set.
//!
//! Real programs are changed at random, the same in every run: not their bytes, most of whose
//! changes are found when the file is read (`thalweg-format` tests those), but what they say, so
//! that the changes reach the plan and the kernels.

mod models;

use thalweg::format::{Allocation, Instruction, Program, ScalarType, ShapeDynamism};
use thalweg::format::{Value, WriteOptions};
use thalweg::{LoadOptions, RunOptions, Runtime};
use thalweg_testing::SplitMix;

/// How many damaged versions are made of each program.
const ROUNDS: u64 = 60;

#[test]
fn a_damaged_program_gives_an_answer_or_an_error() {
    let runtime = Runtime::builder().threads(1).build();
    let (mut loaded, mut made, mut ran) = (0, 0, 0);
    for (name, files) in models::all() {
        let file = &files["model.pte"];
        // The large ones are slow, and say nothing that the small ones do not.
        if file.len() > 600_000 {
            continue;
        }
        let good = Program::parse(file).unwrap();
        for round in 0..ROUNDS {
            let mut random = SplitMix::new(round ^ ((file.len() as u64) << 32));
            let mut bad = good.clone();
            for _ in 0..=random.below(3) {
                damage(&mut bad, &mut random);
            }
            let Ok(bytes) = bad.to_bytes(&WriteOptions::default()) else {
                continue;
            };
            let options = LoadOptions::new().memory_limit(64 << 20);
            let Ok(program) = runtime.load_bytes(bytes, &options) else {
                continue;
            };
            loaded += 1;
            let methods: Vec<_> = program.method_names().map(String::from).collect();
            for method in methods {
                let Ok(mut method) = program.method(&method) else {
                    continue;
                };
                made += 1;
                let Ok(inputs) = models::inputs(&method.info()) else {
                    continue;
                };
                let inputs = models::borrowed(&inputs);
                let options = RunOptions::new().instruction_limit(2000);
                // Twice, since a call leaves shapes and views behind.
                for _ in 0..2 {
                    match method.run_with(&inputs, &options) {
                        Ok(outputs) => {
                            ran += 1;
                            outputs.to_values().map(drop).unwrap_or_default();
                        }
                        Err(error) => assert!(!error.to_string().is_empty(), "{name}"),
                    }
                }
            }
        }
    }
    // Else the damage would be so great that nothing is tested.
    assert!(
        loaded > 500 && made > 300 && ran > 200,
        "{loaded} {made} {ran}"
    );
}

/// Changes one thing that a program says.
fn damage(program: &mut Program<'_>, random: &mut SplitMix) {
    let methods = program.methods.len();
    let Some(method) = program.methods.get_mut(random.below(methods)) else {
        return;
    };
    let values = method.values.len();
    let instructions = method
        .chains
        .first()
        .map_or(0, |chain| chain.instructions.len());
    match random.below(4) {
        0 if instructions > 0 => {
            let at = random.below(instructions);
            match &mut method.chains[0].instructions[at] {
                Instruction::KernelCall { args, operator } => {
                    if random.below(4) == 0 {
                        *operator = random.below(method.operators.len()) as u32;
                    } else if !args.is_empty() {
                        let position = random.below(args.len());
                        args[position] = random.below(values) as u32;
                    }
                }
                Instruction::DelegateCall { .. } | Instruction::Free { .. } => {}
                Instruction::Move { from, to } => {
                    *from = random.below(values) as u32;
                    *to = random.below(values) as u32;
                }
                Instruction::JumpIfFalse { destination, .. } => {
                    *destination = random.below(instructions) as u32;
                }
            }
        }
        1 if instructions > 1 => {
            let (a, b) = (random.below(instructions), random.below(instructions));
            method.chains[0].instructions.swap(a, b);
        }
        _ => damage_value(&mut method.values, random),
    }
}

fn damage_value(values: &mut [Value<'_>], random: &mut SplitMix) {
    let count = values.len();
    let Some(value) = values.get_mut(random.below(count)) else {
        return;
    };
    const NUMBERS: [i64; 10] = [0, 1, -1, 2, 3, -2, 7, 64, i64::MAX, i64::MIN];
    match value {
        Value::None => *value = Value::Int(NUMBERS[random.below(10)]),
        Value::Int(int) => *int = NUMBERS[random.below(10)],
        Value::Double(double) => *double = [0.0, -1.0, f64::NAN, f64::INFINITY][random.below(4)],
        Value::Bool(bool) => *bool = !*bool,
        Value::String(_) => *value = Value::None,
        Value::IntList(items) | Value::TensorList(items) => match random.below(3) {
            0 => drop(items.pop()),
            1 => items.push(random.below(count) as u32),
            _ => items
                .iter_mut()
                .for_each(|item| *item = random.below(count) as u32),
        },
        Value::OptionalTensorList(items) => drop(items.pop()),
        Value::DoubleList(items) => items.push(f64::NAN),
        Value::BoolList(items) => items.push(true),
        Value::Tensor(tensor) => match random.below(7) {
            0 => {
                const TYPES: [ScalarType; 6] = [
                    ScalarType::Float,
                    ScalarType::Long,
                    ScalarType::Bool,
                    ScalarType::Half,
                    ScalarType::ComplexFloat,
                    ScalarType::Byte,
                ];
                tensor.scalar_type = TYPES[random.below(6)];
            }
            1 if !tensor.sizes.is_empty() => {
                let dim = random.below(tensor.sizes.len());
                tensor.sizes[dim] = [0, 1, 2, 5, 1 << 20][random.below(5)];
            }
            2 => {
                tensor.sizes.push([1, 2, 0][random.below(3)]);
                tensor.dim_order.push(tensor.dim_order.len() as u8);
            }
            3 if tensor.sizes.len() > 1 => {
                let (a, b) = (
                    random.below(tensor.sizes.len()),
                    random.below(tensor.sizes.len()),
                );
                tensor.dim_order.swap(a, b);
            }
            4 => {
                tensor.dynamism = [
                    ShapeDynamism::Static,
                    ShapeDynamism::DynamicBound,
                    ShapeDynamism::DynamicUnbound,
                ][random.below(3)];
            }
            5 => tensor.allocation = None,
            _ => {
                if let Some(Allocation { offset, .. }) = &mut tensor.allocation {
                    *offset = (random.below(1 << 12) & !15) as u64;
                }
            }
        },
    }
}
