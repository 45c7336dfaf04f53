//! Pinned memory of programs, which is kept for the next one.

use std::slice;

use thalweg_core::{Device as _, PinnedMemory};
use thalweg_simgpu::{Config, Sim};

use crate::elementwise::session;
use crate::{on_every_machine, open};

fn bytes(memory: &mut dyn PinnedMemory) -> &mut [u8] {
    // SAFETY: the memory has so many bytes, and nobody else uses them.
    unsafe { slice::from_raw_parts_mut(memory.as_ptr(), memory.len()) }
}

fn made(sim: &Sim) -> u64 {
    sim.calls("cuMemHostAlloc")
}

#[test]
fn pinned_memory_that_was_used_before_is_used_again_and_starts_as_zeros() {
    let sim = session();
    sim.reset(Config::seeded(0));
    {
        let device = open().device(0).unwrap();
        let mut first = device.allocate_pinned(5000).unwrap();
        assert_eq!(first.len(), 5000);
        bytes(&mut *first).fill(7);
        let mut second = device.allocate_pinned(6000).unwrap();
        bytes(&mut *second).fill(7);
        assert_eq!(made(&sim), 2, "both are in use");
        let places = [first.as_ptr(), second.as_ptr()];
        drop((first, second));
        for len in [6000, 4097, 8192] {
            let mut again = device.allocate_pinned(len).unwrap();
            assert!(places.contains(&again.as_ptr()));
            assert_eq!(again.len(), len);
            assert!(bytes(&mut *again).iter().all(|byte| *byte == 0));
            bytes(&mut *again).fill(7);
        }
        assert_eq!(made(&sim), 2);
        // Of another size.
        drop(device.allocate_pinned(9000).unwrap());
        drop(device.allocate_pinned(4096).unwrap());
        assert_eq!(made(&sim), 4);
        device.trim().unwrap();
        assert_eq!(sim.calls("cuMemFreeHost"), 4);
        drop(device.allocate_pinned(5000).unwrap());
        assert_eq!(made(&sim), 5);
    }
    sim.assert_clean();
}

#[test]
fn no_more_than_some_pinned_memory_is_kept_and_no_large_piece() {
    const MIB: usize = 1 << 20;
    let sim = session();
    sim.reset(Config::seeded(0));
    let device = open().device(0).unwrap();
    drop(device.allocate_pinned(4 * MIB + 1).unwrap());
    assert_eq!(sim.calls("cuMemFreeHost"), 1);
    let pieces: Vec<_> = (0..9)
        .map(|_| device.allocate_pinned(4 * MIB).unwrap())
        .collect();
    drop(pieces);
    assert_eq!(sim.calls("cuMemFreeHost"), 2, "32 MiB are kept");
    drop(device);
    sim.assert_clean();
}

#[test]
fn nothing_is_pinned_memory_too() {
    on_every_machine(1, 1, |driver| {
        let device = driver.device(0).unwrap();
        assert_eq!(device.allocate_pinned(0).unwrap().len(), 0);
    });
}
