//! Programs on a device, built by hand.

use std::path::Path;

use thalweg::device::{DeviceId, DeviceKind};
use thalweg::format::{MethodBuilder, ProgramBuilder, WriteOptions};

/// A method `forward` without instructions, and its arena on the first CUDA device.
pub(crate) fn forward_on_device() -> (MethodBuilder, u32) {
    let mut method = MethodBuilder::new("forward");
    let arena = method.arena(DeviceId {
        kind: DeviceKind::Cuda,
        index: 0,
    });
    (method, arena)
}

/// Writes a program of one method.
pub(crate) fn save(mut program: ProgramBuilder, method: MethodBuilder, path: &Path) {
    program.method(method);
    let program = program.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    std::fs::write(path, bytes).unwrap();
}
