//! Device properties of CUDA's runtime.

use super::{harness, on_every_machine};

#[test]
fn properties_are_where_the_versions_of_cuda_have_them() {
    on_every_machine(1, |driver| {
        let harness = harness(driver);
        let device = &harness.device;
        let (major, minor) = device.compute_capability();
        // Size, and the offsets of multiprocessors and of the most shared memory of a block.
        for (twelve, size, multiprocessors, shared) in
            [(true, 1032, 388, 696), (false, 1008, 384, 672)]
        {
            let (code, bytes) = harness.properties(0, twelve).unwrap();
            assert_eq!(code, 0);
            let int = |at: usize| i32::from_ne_bytes(bytes[at..][..4].try_into().unwrap());
            let long = |at: usize| u64::from_ne_bytes(bytes[at..][..8].try_into().unwrap());
            let name = bytes[..256].split(|byte| *byte == 0).next().unwrap();
            assert_eq!(std::str::from_utf8(name).unwrap(), device.name());
            assert_eq!(bytes[256..][..16], device.uuid());
            assert_eq!(long(288), device.total_memory() as u64);
            assert_eq!((int(360), int(364)), (major, minor));
            assert_eq!(int(multiprocessors), device.multiprocessors());
            assert_eq!(int(308), 32, "threads of a warp");
            assert!(long(shared) >= 48 << 10);
            assert!(bytes[size..].iter().all(|byte| *byte == 0xaa));
        }
        for device in [-1, 99] {
            let (code, bytes) = harness.properties(device, true).unwrap();
            assert_eq!((code, bytes), (101, vec![0xaa; 2048]));
        }
    });
}
