//! Any bytes: reading gives a data file or an error, and a data file that was read can be used,
//! written, and read again unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_format::{DataFile, Layout, WriteOptions};

fuzz_target!(|bytes: &[u8]| {
    let _ = Layout::parse(bytes);
    let Ok(data) = DataFile::parse(bytes) else {
        return;
    };
    for entry in &data.entries {
        data.data(entry).expect("it was checked");
    }
    // Segments may overlap in a file, and are separate when written.
    let size: usize = data.segments.iter().map(|segment| segment.len()).sum();
    if size > 1 << 24 {
        return;
    }
    let written = data
        .to_bytes(&WriteOptions::default())
        .expect("it can be written");
    assert_eq!(
        DataFile::parse(&written).expect("it can be read again"),
        data
    );
});
