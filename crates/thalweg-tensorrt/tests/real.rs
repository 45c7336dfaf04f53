//! Real libraries of TensorRT, as far as they go without a device: `THALWEG_TEST_TENSORRT` names
//! their files, separated by colons.

use thalweg_cuda::{Driver, Outcome};
use thalweg_simgpu::{Config, Sim};
use thalweg_tensorrt::{Options, TensorRt};

#[test]
fn a_real_library_is_opened_and_says_its_version() {
    let Some(files) = std::env::var_os("THALWEG_TEST_TENSORRT") else {
        println!("skipped: THALWEG_TEST_TENSORRT names no files");
        return;
    };
    let _sim = Sim::session(Config::seeded(0));
    for file in std::env::split_paths(&files) {
        let options = Options::new().library(&file);
        let attempts = TensorRt::search(&options);
        println!("{}", attempts[0]);
        let Outcome::Opened(found) = attempts[0].outcome else {
            panic!("{attempts:?}");
        };
        let version = found.version;
        assert!([10, 11].contains(&version.major), "{version}");
        // Its device is the stand-in's, which a real library cannot use: it must say so.
        let driver = Driver::open(Some(Sim::path())).unwrap();
        let tensorrt = TensorRt::find(&driver, &options).unwrap();
        let error = tensorrt.check(&driver.device(0).unwrap()).unwrap_err();
        println!("  {error}");
        assert!(error.to_string().contains("createInferRuntime"), "{error}");
    }
}
