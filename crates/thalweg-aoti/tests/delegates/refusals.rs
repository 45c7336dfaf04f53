//! Errors of delegates that cannot be loaded or run.

use thalweg_core::ErrorKind;

use super::*;

fn refused(bytes: Vec<u8>) -> thalweg_core::Error {
    let sim = session();
    let error = {
        let driver = open();
        let backend = CudaBackend::new(&driver).unwrap();
        let program = load(&backend, &driver, bytes).unwrap();
        program.method("forward").map(drop).unwrap_err()
    };
    sim.assert_clean();
    error
}

fn replaced(bytes: &mut [u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let places: Vec<_> = bytes
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + from.len()].copy_from_slice(to.as_bytes());
    }
}

#[test]
fn a_library_that_imports_what_nobody_has() {
    let model = Model::new(affine(1.0, 0.0), Form::Named);
    let error = refused(model.bytes_with(|recipe| {
        let mut library = library(recipe);
        replaced(&mut library, "aoti_torch_get_numel", "aoti_torch_get_dream");
        replaced(&mut library, "cuLaunchKernel", "cuLaunchDreams");
        library
    }));
    assert_eq!(error.kind(), ErrorKind::Missing);
    let text = error.to_string();
    assert!(
        text.contains("has: aoti_torch_get_dream, cuLaunchDreams"),
        "{text}"
    );
}

#[test]
fn a_library_without_a_function_that_all_have() {
    let model = Model::new(affine(1.0, 0.0), Form::Named);
    let error = refused(model.bytes_with(|recipe| {
        let mut library = library(recipe);
        let name = "AOTInductorModelContainerGetNumInputs";
        replaced(&mut library, name, &name.replace("Inputs", "Inputz"));
        library
    }));
    let text = error.to_string();
    assert!(
        text.contains("no function `AOTInductorModelContainerGetNumInputs`"),
        "{text}"
    );
}

#[test]
fn a_library_that_is_none() {
    let model = Model::new(affine(1.0, 0.0), Form::Named);
    let error = refused(model.bytes_with(|_| b"no library".to_vec())).to_string();
    assert!(error.contains("the library"), "{error}");
    let error = refused(model.bytes_with(|recipe| library(recipe)[..2000].to_vec())).to_string();
    assert!(error.contains("the library has 2000 bytes"), "{error}");
}

#[test]
fn a_function_that_is_not_supported_fails_by_its_name() {
    let recipe = Recipe {
        parts: UNSUPPORTED,
        ..affine(1.0, 0.0)
    };
    on_every_machine(3, |driver| {
        let mut method = Model::new(recipe, Form::Named).method(driver).unwrap();
        let error = run(&mut method, &[&numbers(0, &[8, 4])])
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(
                "failed to run: `cudaGraphLaunch`: this function of CUDA's runtime is not supported"
            ),
            "{error}"
        );
    });
}

#[test]
fn a_run_that_fails_in_the_midst_leaves_nothing_behind() {
    let recipe = Recipe {
        parts: NO_KERNEL,
        ..affine(1.0, 0.0)
    };
    for on_host in [false, true] {
        on_every_machine(20, |driver| {
            let mut model = Model::new(recipe, Form::Named);
            model.on_host = on_host;
            let mut method = model.method(driver).unwrap();
            for _ in 0..2 {
                let error = run(&mut method, &[&numbers(0, &[8, 4])]).unwrap_err();
                let text = error.to_string();
                assert!(
                    text.contains("`cuModuleGetFunction` failed: CUDA_ERROR_NOT_FOUND"),
                    "{text}"
                );
            }
        });
    }
}

#[test]
fn options_of_upstreams_are_accepted() {
    let model = Model::new(affine(1.0, 0.0), Form::Named);
    on_every_machine(1, |driver| {
        let backend = CudaBackend::new(driver).unwrap();
        let options = LoadOptions::new().backend_option(NAME, "use_shared_cuda_stream", true);
        let program = load_with(&backend, driver, model.bytes(), &options).unwrap();
        let mut method = program.method("forward").unwrap();
        let x = numbers(0, &[8, 4]);
        assert_eq!(run(&mut method, &[&x]).unwrap(), model.expected(&[&x], 0));
    });
}
