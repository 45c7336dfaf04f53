//! Gives the shared library the name by which programs know the driver.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    // Whoever asks the loader for `libcuda.so.1` once this is loaded gets this one.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Its worker threads never end, so its code must stay.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    // Its own calls of its own functions stay its own, whatever else the process has loaded.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
