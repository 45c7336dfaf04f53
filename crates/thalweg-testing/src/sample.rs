//! The library of `thalweg-aoti-sample` as a part of programs, and its kernels on the stand-in driver.

use std::path::PathBuf;
use std::sync::OnceLock;

use thalweg_aoti_sample::{MAGIC, Recipe};
use thalweg_simgpu::{Config, KernelFault, Launch, Sim};

/// The library that follows a recipe.
pub fn library(recipe: &Recipe) -> Vec<u8> {
    let library = as_built();
    let places = library.windows(MAGIC.len()).enumerate();
    // The text is in the library's code, too, where nothing reads it.
    let places: Vec<_> = places
        .filter(|(place, bytes)| {
            *bytes == MAGIC && library[place + 16..].starts_with(&1f32.to_ne_bytes())
        })
        .map(|(place, _)| place)
        .collect();
    let [place] = places[..] else {
        panic!("the library has {} recipes", places.len());
    };
    let mut library = library.to_vec();
    let recipe = recipe.bytes();
    library[place..place + recipe.len()].copy_from_slice(&recipe);
    library
}

/// The library with the recipe that it is built with: `y = x`, by way of a temporary.
pub fn as_built() -> &'static [u8] {
    static LIBRARY: OnceLock<Vec<u8>> = OnceLock::new();
    LIBRARY.get_or_init(|| std::fs::read(library_path()).unwrap())
}

/// Where cargo puts the library: beside the test.
fn library_path() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let places = program.ancestors().skip(1).take(3);
    let found = places
        .flat_map(|place| [place.join("deps"), place.to_owned()])
        .map(|place| place.join("libthalweg_aoti_sample.so"))
        .find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "no libthalweg_aoti_sample.so beside {}; `cargo build -p thalweg-aoti-sample` makes it",
            program.display()
        )
    })
}

/// A payload as ExecuTorch 1.5 writes it.
pub fn named_payload(library: &str, constants: &[(&str, String, Vec<f32>)]) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
    let mut bytes = [b"ETCUDAFQN3", &*text(library)].concat();
    bytes.extend((constants.len() as u32).to_le_bytes());
    for (name, storage, values) in constants {
        bytes.extend(text(name));
        bytes.extend(text(storage));
        bytes.extend((values.len() as u64 * 4).to_le_bytes());
        bytes.extend(6i32.to_le_bytes());
        bytes.extend(1i32.to_le_bytes());
        bytes.extend(0i64.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((values.len() as i64).to_le_bytes());
        bytes.extend(1i64.to_le_bytes());
    }
    bytes
}

/// A session whose machines know the library's kernels.
pub fn session() -> Sim {
    type Result = std::result::Result<(), KernelFault>;
    fn count(launch: &Launch<'_>, index: usize) -> std::result::Result<usize, KernelFault> {
        Ok(launch.argument::<i64>(index)? as usize)
    }
    fn affine(launch: &Launch<'_>) -> Result {
        let count = count(launch, 2)?;
        let (scale, shift) = (launch.argument::<f32>(3)?, launch.argument::<f32>(4)?);
        let from = launch.read::<f32>(launch.argument(1)?, count)?;
        let to = launch.write::<f32>(launch.argument(0)?, count)?;
        to.iter_mut()
            .zip(from)
            .for_each(|(to, from)| *to = scale * from + shift);
        Ok(())
    }
    fn add(launch: &Launch<'_>) -> Result {
        let count = count(launch, 2)?;
        let from = launch.read::<f32>(launch.argument(1)?, count)?;
        let to = launch.update::<f32>(launch.argument(0)?, count)?;
        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        Ok(())
    }
    fn add_row(launch: &Launch<'_>) -> Result {
        let count = count(launch, 2)?;
        let len = launch.argument::<f32>(3)? as usize;
        let row = launch.read::<f32>(launch.argument(1)?, len)?;
        let to = launch.update::<f32>(launch.argument(0)?, count)?;
        to.iter_mut()
            .zip(row.iter().cycle())
            .for_each(|(to, from)| *to += from);
        Ok(())
    }
    fn add_one(launch: &Launch<'_>) -> Result {
        launch.update::<f32>(launch.argument(0)?, 1)?[0] += 1.0;
        Ok(())
    }
    fn add_first(launch: &Launch<'_>) -> Result {
        let count = count(launch, 2)?;
        let first = launch.read::<f32>(launch.argument(1)?, 1)?[0];
        let to = launch.update::<f32>(launch.argument(0)?, count)?;
        to.iter_mut().for_each(|to| *to += first);
        Ok(())
    }
    fn copy(launch: &Launch<'_>) -> Result {
        let count = count(launch, 2)?;
        let from = launch.read::<f32>(launch.argument(1)?, count)?;
        let to = launch.write::<f32>(launch.argument(0)?, count)?;
        to.copy_from_slice(from);
        Ok(())
    }
    let sim = Sim::session(Config::seeded(0));
    sim.register_kernel("affine", &[8, 8, 8, 4, 4], affine);
    sim.register_kernel("add", &[8, 8, 8], add);
    sim.register_kernel("add_row", &[8, 8, 8, 4], add_row);
    sim.register_kernel("add_one", &[8, 8], add_one);
    sim.register_kernel("add_first", &[8, 8, 8], add_first);
    sim.register_kernel("copy", &[8, 8, 8], copy);
    sim
}
