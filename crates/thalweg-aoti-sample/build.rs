//! Has the library need `libcuda.so.1`, as those of AOTInductor do.
//!
//! The linker writes down the name of a library that it sees, and machines that build this have no
//! CUDA. So it is shown one of that name with nothing in it, which the compiler makes here.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    let folder = PathBuf::from(variable("OUT_DIR"));
    let source = folder.join("nothing.rs");
    let text =
        "#![no_std]\n#[panic_handler]\nfn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";
    std::fs::write(&source, text).expect("no place for a source file");
    let mut rustc = Command::new(variable("RUSTC"));
    rustc
        .args(["--crate-type", "cdylib", "--edition", "2024"])
        .args(["--target", &variable("TARGET"), "-C", "panic=abort"])
        .args(["-C", "link-arg=-Wl,-soname,libcuda.so.1"])
        .arg("-o")
        .arg(folder.join("libcuda.so"))
        .arg(source);
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.arg("-C").arg(format!("linker={linker}"));
    }
    let status = rustc.status().expect("the compiler cannot be started");
    assert!(status.success(), "the empty library could not be made");
    println!("cargo:rustc-cdylib-link-arg=-L{}", folder.display());
    println!("cargo:rustc-cdylib-link-arg=-Wl,--no-as-needed");
    println!("cargo:rustc-cdylib-link-arg=-lcuda");
    // Tests put the library into programs by the hundred.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-s");
}
