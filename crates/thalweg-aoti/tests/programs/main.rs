//! Tests of programs that upstream has exported, with their own libraries, on the stand-in driver: the
//! libraries' host code runs, and kernels are recorded and compute nothing.
//!
//! They are in the folder that the environment variable `THALWEG_TEST_PROGRAMS` names, a folder for
//! each program with a `case.json` that says what it is called with. Without the variable it is those few
//! that the repository has.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

mod order;
#[path = "../real/mod.rs"]
mod real;
mod sharing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use thalweg_aoti::{CudaBackend, NAME};
use thalweg_core::{DType, KernelRegistry, Result, Tensor};
use thalweg_cuda::Driver;
use thalweg_runtime::{LoadOptions, Method, Program, Runtime};
use thalweg_simgpu::{Config, Sim};

/// A program of a folder.
struct Case {
    name: String,
    folder: PathBuf,
    json: Json,
}

/// Returns true if this machine has the instructions that the libraries' host code uses: the exporter
/// compiles it for the machine that it runs on, which had AVX-512.
fn runs_host_code() -> bool {
    #[cfg(target_arch = "x86_64")]
    let runs = is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    let runs = false;
    runs
}

fn cases() -> Vec<Case> {
    if !runs_host_code() {
        eprintln!(
            "skipped: the host code of the libraries needs AVX-512, which this machine lacks"
        );
        return Vec::new();
    }
    let mut cases: Vec<_> = std::fs::read_dir(real::folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|folder| folder.join("case.json").is_file() && has_libraries(folder))
        .map(|folder| {
            let json = std::fs::read(folder.join("case.json")).unwrap();
            Case {
                name: folder.file_name().unwrap().to_string_lossy().into_owned(),
                json: serde_json::from_slice(&json).unwrap(),
                folder,
            }
        })
        .collect();
    if cases.is_empty() {
        eprintln!("THALWEG_TEST_PROGRAMS has no program with a compiled library");
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// True if a folder's program has delegates of this backend.
fn has_libraries(folder: &Path) -> bool {
    let bytes = std::fs::read(folder.join("model.pte")).unwrap();
    let program = thalweg_format::Program::parse(&bytes).unwrap();
    let mut delegates = program.methods.iter().flat_map(|method| &method.delegates);
    delegates.any(|delegate| delegate.backend == NAME)
}

/// The case of a name, if it is there.
fn case(name: &str) -> Option<Case> {
    let found = cases().into_iter().find(|case| case.name == name);
    if found.is_none() {
        eprintln!("skipped: there is no {name}");
    }
    found
}

impl Case {
    fn load(&self, driver: &Driver) -> Result<Program> {
        self.load_with(driver, &CudaBackend::new(driver)?)
    }

    fn load_with(&self, driver: &Driver, backend: &CudaBackend) -> Result<Program> {
        let mut kernels = KernelRegistry::new();
        thalweg_kernels::register(&mut kernels)?;
        let mut runtime = Runtime::builder()
            .kernels(&kernels)
            .backend(NAME, backend.clone());
        for ordinal in 0..driver.device_count()? {
            runtime = runtime.device(Arc::new(driver.device(ordinal)?));
        }
        let mut options = LoadOptions::new();
        for file in std::fs::read_dir(&self.folder).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_some_and(|extension| extension == "ptd") {
                options = options.data(file);
            }
        }
        runtime
            .build()
            .load_with(self.folder.join("model.pte"), &options)
    }

    fn methods(&self) -> Vec<String> {
        let methods = self.json["methods"].as_object().unwrap();
        methods.keys().cloned().collect()
    }

    /// The inputs of each run of a method.
    fn runs(&self, method: &str) -> Vec<Vec<Tensor>> {
        let runs = self.json["methods"][method].as_array().unwrap();
        let inputs = runs.iter().map(|run| run["inputs"].as_array().unwrap());
        inputs
            .map(|inputs| inputs.iter().map(|input| self.tensor(input)).collect())
            .collect()
    }

    /// The sizes of the outputs of each run of a method.
    fn output_sizes(&self, method: &str) -> Vec<Vec<Vec<usize>>> {
        let runs = self.json["methods"][method].as_array().unwrap();
        let outputs = runs.iter().map(|run| run["outputs"].as_array().unwrap());
        outputs
            .map(|outputs| outputs.iter().map(sizes).collect())
            .collect()
    }

    fn tensor(&self, json: &Json) -> Tensor {
        let bytes = std::fs::read(self.folder.join(json["file"].as_str().unwrap())).unwrap();
        let dtype = DType::from_name(json["dtype"].as_str().unwrap()).unwrap();
        let sizes = sizes(json);
        let order: Vec<u8> = (0..sizes.len() as u8).collect();
        Tensor::from_bytes(dtype, &sizes, &order, &bytes).unwrap()
    }
}

fn sizes(json: &Json) -> Vec<usize> {
    let sizes = json["shape"].as_array().unwrap();
    sizes
        .iter()
        .map(|size| size.as_u64().unwrap() as usize)
        .collect()
}

/// Runs a method, and gives the sizes of its outputs.
fn run(method: &mut Method, inputs: &[Tensor]) -> Result<Vec<Vec<usize>>> {
    let inputs: Vec<_> = inputs.iter().map(Into::into).collect();
    let outputs = method.run(&inputs)?;
    let outputs = outputs.iter();
    outputs
        .map(|output| Ok(output?.tensor()?.sizes().to_vec()))
        .collect()
}

fn open() -> Driver {
    Driver::open(Some(Sim::path())).unwrap()
}

/// Runs a test on a new machine, which must report nothing afterwards.
fn on_machine(sim: &Sim, config: Config, what: &dyn std::fmt::Display, test: impl FnOnce(&Driver)) {
    sim.reset(config);
    test(&open());
    let reports = sim.finish();
    assert!(reports.is_empty(), "{what}: {reports:#?}");
}

#[test]
fn every_program_runs_and_leaves_nothing_behind() {
    let sim = Sim::session(Config::seeded(0));
    for case in cases() {
        for seed in 0..5 {
            let what = format!("{} with seed {seed}", case.name);
            on_machine(&sim, Config::seeded(seed), &what, |driver| {
                let program = case
                    .load(driver)
                    .unwrap_or_else(|error| panic!("{what}: {error}"));
                for name in case.methods() {
                    let mut method = program
                        .method(&name)
                        .unwrap_or_else(|error| panic!("{what}: {error}"));
                    for _ in 0..3 {
                        for (inputs, sizes) in case.runs(&name).iter().zip(case.output_sizes(&name))
                        {
                            let outputs = run(&mut method, inputs);
                            assert_eq!(
                                outputs.unwrap_or_else(|error| panic!("{what}: {error}")),
                                sizes,
                                "{what}"
                            );
                        }
                    }
                }
                assert!(!sim.launches().is_empty(), "{what}");
            });
        }
    }
}
