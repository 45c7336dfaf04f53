//! The model programs of the repository.
#![allow(dead_code, reason = "every test file uses some of it")]

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use thalweg::extend::identity_order;
use thalweg::info::{MethodInfo, TensorInfo, ValueInfo};
use thalweg::{Input, Result, Scalar, Tensor, Value};

/// The folder of the repository's programs.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The files of a program, by their names.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The files of every program, by the program's name: those in folders and those in archives.
pub(crate) fn all() -> BTreeMap<String, Files> {
    let mut programs = BTreeMap::new();
    for archive in ["models.tar.xz", "families.tar.xz"] {
        programs.extend(archived(archive));
    }
    for folder in std::fs::read_dir(fixtures()).unwrap() {
        let folder = folder.unwrap().path();
        if folder.is_dir() {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let files = std::fs::read_dir(&folder).unwrap().map(|file| {
                let file = file.unwrap();
                let name = file.file_name().to_string_lossy().into_owned();
                (name, std::fs::read(file.path()).unwrap())
            });
            programs.insert(name, files.collect());
        }
    }
    programs
}

fn archived(name: &str) -> BTreeMap<String, Files> {
    let archive = std::fs::File::open(fixtures().join(name)).unwrap();
    let reader = lzma_rust2::XzReader::new(std::io::BufReader::new(archive), true);
    let mut programs = BTreeMap::<String, Files>::new();
    for entry in tar::Archive::new(reader).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if let (Some(folder), Some(file)) = (path.parent(), path.file_name())
            && entry.header().entry_type().is_file()
        {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            let (folder, file) = (folder.to_string_lossy(), file.to_string_lossy());
            let files = programs.entry(folder.into_owned()).or_default();
            files.insert(file.into_owned(), bytes);
        }
    }
    programs
}

/// Inputs that a method takes, with some elements in them.
pub(crate) fn inputs(info: &MethodInfo) -> Result<Vec<Value>> {
    info.inputs
        .iter()
        .map(|input| {
            Ok(match input {
                ValueInfo::Tensor(info) => Value::Tensor(tensor(info)?),
                ValueInfo::Scalar(Scalar::Int(value)) => Value::Int(*value),
                ValueInfo::Scalar(Scalar::Double(value)) => Value::Double(*value),
                ValueInfo::Scalar(Scalar::Bool(value)) => Value::Bool(*value),
                ValueInfo::String(value) => Value::String(value.clone()),
                _ => Value::Int(2),
            })
        })
        .collect()
}

/// The values as inputs.
pub(crate) fn borrowed(values: &[Value]) -> Vec<Input<'_>> {
    values
        .iter()
        .map(|value| value.as_input().unwrap())
        .collect()
}

/// A tensor of the largest shape, whose bytes mean small numbers in most types.
fn tensor(info: &TensorInfo) -> Result<Tensor> {
    let elements = thalweg::extend::numel(&info.sizes)?;
    thalweg::extend::ensure!(elements < 1 << 22, OutOfMemory, "too large for a test");
    let bytes: Vec<u8> = match info.dtype {
        thalweg::DType::F32 => (0..elements)
            .flat_map(|index| ((index % 7) as f32 / 4.0 - 0.5).to_ne_bytes())
            .collect(),
        dtype => vec![0; elements * dtype.size()],
    };
    let order = match info.dim_order.len() == info.sizes.len() {
        true => &info.dim_order[..],
        false => identity_order(info.sizes.len())?,
    };
    Tensor::from_bytes(info.dtype, &info.sizes, order, &bytes)
}
