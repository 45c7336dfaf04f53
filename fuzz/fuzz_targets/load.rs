//! Any bytes: a program is loaded and run, or refused, within the limits that were set.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg::info::ValueInfo;
use thalweg::{DType, Input, LoadOptions, RunOptions, Runtime, Scalar, Tensor, Value};

fuzz_target!(|bytes: &[u8]| {
    let runtime = Runtime::builder().threads(1).build();
    let options = LoadOptions::new().memory_limit(16 << 20);
    let Ok(program) = runtime.load_bytes(bytes.to_vec(), &options) else {
        return;
    };
    let methods: Vec<String> = program.method_names().map(String::from).collect();
    for name in methods {
        let Ok(mut method) = program.method(&name) else {
            continue;
        };
        let values: Option<Vec<Value>> = method.info().inputs.iter().map(input).collect();
        let Some(values) = values else {
            continue;
        };
        let inputs: Vec<Input<'_>> = values.iter().flat_map(Value::as_input).collect();
        // Twice, since a call leaves shapes and views behind.
        for _ in 0..2 {
            let options = RunOptions::new().instruction_limit(1000);
            if let Ok(outputs) = method.run_with(&inputs, &options) {
                let _ = outputs.to_values();
            }
        }
    }
});

fn input(info: &ValueInfo) -> Option<Value> {
    Some(match info {
        ValueInfo::Tensor(info) => {
            let elements: usize = info.sizes.iter().try_fold(1usize, |n, s| n.checked_mul(*s))?;
            if elements > 1 << 16 {
                return None;
            }
            let mut bytes = vec![0; elements * info.dtype.size()];
            if info.dtype == DType::F32 {
                bytes.iter_mut().skip(3).step_by(4).for_each(|byte| *byte = 0x3f);
            }
            Value::Tensor(Tensor::from_bytes(info.dtype, &info.sizes, &info.dim_order, &bytes).ok()?)
        }
        ValueInfo::Scalar(Scalar::Int(value)) => Value::Int(*value),
        ValueInfo::Scalar(Scalar::Double(value)) => Value::Double(*value),
        ValueInfo::Scalar(Scalar::Bool(value)) => Value::Bool(*value),
        ValueInfo::String(value) => Value::String(value.clone()),
        _ => Value::Int(2),
    })
}
