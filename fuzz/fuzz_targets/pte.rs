//! Any bytes: reading gives a program or an error, and a program that was read can be used, written,
//! and read again unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_format::{DataSource, Layout, Program, Value, WriteOptions};

fuzz_target!(|bytes: &[u8]| {
    let _ = Layout::parse(bytes);
    let Ok(program) = Program::parse(bytes) else {
        return;
    };
    use_all(&program);
    // Segments may overlap in a file, and are separate when written.
    let size: usize = program.segments.iter().map(|segment| segment.len()).sum();
    if size > 1 << 24 {
        return;
    }
    let written = program
        .to_bytes(&WriteOptions::default())
        .expect("it can be written");
    let again = Program::parse(&written).expect("it can be read again");
    if again != program {
        // A NaN is not equal to itself.
        assert_eq!(format!("{again:?}"), format!("{program:?}"));
    }
});

fn use_all(program: &Program<'_>) {
    for method in &program.methods {
        for delegate in &method.delegates {
            program.delegate_payload(delegate).expect("it was checked");
        }
        for value in &method.values {
            if let Value::Tensor(tensor) = value
                && tensor.data_source() == DataSource::Program
            {
                let bytes = tensor.nbytes().unwrap_or(0) as usize;
                let _ = program.constant_data(tensor, bytes);
                let _ = program.initial_data(tensor, bytes);
            }
        }
    }
    for entry in &program.named_data {
        program.named(&entry.key).expect("it was checked");
    }
}
