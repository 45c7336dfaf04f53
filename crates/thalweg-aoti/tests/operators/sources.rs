//! The PTX beside the kernels is that of their sources.

use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// FNV-1a, as `build.py` computes it.
fn hash(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[test]
fn the_ptx_belongs_to_the_sources() {
    // A test that was built elsewhere may have no sources.
    if !folder().exists() {
        println!("skipped: there is no {}", folder().display());
        return;
    }
    let read = |name: &str| std::fs::read(folder().join(name)).unwrap();
    let mut checked = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".ptx") {
            continue;
        }
        let ptx = String::from_utf8(read(&name)).unwrap();
        let first = ptx.lines().next().unwrap().split(' ');
        let [_, source, said] = first.collect::<Vec<_>>()[..] else {
            panic!("{name} does not say its source");
        };
        let text = [read(source), read("device.cuh")].concat();
        let is = format!("{:016x}", hash(&text));
        assert_eq!(
            said, is,
            "{name} is not of this {source}: run kernels/build.py"
        );
        // What drivers of CUDA 12 take, for GPUs from 8.0 on.
        for line in [".version 8.0", ".target sm_80"] {
            assert!(ptx.lines().any(|other| other == line), "{line} in {name}");
        }
        checked += 1;
    }
    assert_eq!(checked, 9);
}
