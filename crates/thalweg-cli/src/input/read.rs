//! Tensors from files.

use std::fs;
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use thalweg::extend::identity_order;
use thalweg::{DType, Tensor};

use crate::failure::{Failure, Result, fail};
use crate::text;

/// The tensor of a NumPy file.
pub(super) fn npy(path: &Path) -> Result<Tensor> {
    let file = read(path)?;
    crate::npy::parse(&file).map_err(|failure| failure.of(path.display()))
}

/// A tensor of a safetensors file.
pub(super) fn safetensors(path: &Path, key: Option<&str>) -> Result<Tensor> {
    let file = read(path)?;
    parse_safetensors(&file, key).map_err(|failure| failure.of(path.display()))
}

/// The tensor of a raw file: its elements and nothing else.
pub(super) fn raw(path: &Path, dtype: DType, shape: &[usize]) -> Result<Tensor> {
    let file = read(path)?;
    let needed = thalweg::extend::numel(shape)?.checked_mul(dtype.size());
    if needed != Some(file.len()) {
        fail!(
            "{} has {}, but {dtype}{shape:?} takes {}",
            path.display(),
            text::count(file.len(), "byte"),
            needed.map_or("more than there can be".into(), |n| n.to_string())
        );
    }
    Ok(Tensor::from_bytes(
        dtype,
        shape,
        identity_order(shape.len())?,
        &file,
    )?)
}

fn parse_safetensors(file: &[u8], key: Option<&str>) -> Result<Tensor> {
    let tensors = SafeTensors::deserialize(file)
        .map_err(|error| Failure::new(format!("not a safetensors file: {error}")))?;
    let mut names: Vec<&str> = tensors.names().into_iter().collect();
    names.sort_unstable();
    let key = match (key, &names[..]) {
        (Some(key), _) => key,
        (None, [only]) => only,
        (None, _) => {
            return Err(Failure::new(format!(
                "the file has {}, and no key says which",
                text::count(names.len(), "tensor")
            ))
            .hint(format!(
                "FILE.safetensors:KEY, with one of {}",
                some(&names)
            )));
        }
    };
    let Ok(tensor) = tensors.tensor(key) else {
        return Err(Failure::new(format!("there is no tensor `{key}`"))
            .hint(format!("one of {}", some(&names))));
    };
    let dtype = match tensor.dtype() {
        Dtype::BOOL => DType::Bool,
        Dtype::U8 => DType::U8,
        Dtype::U16 => DType::U16,
        Dtype::U32 => DType::U32,
        Dtype::U64 => DType::U64,
        Dtype::I8 => DType::I8,
        Dtype::I16 => DType::I16,
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::C64 => DType::ComplexF32,
        Dtype::F8_E5M2 => DType::F8E5M2,
        Dtype::F8_E4M3 => DType::F8E4M3Fn,
        Dtype::F8_E5M2FNUZ => DType::F8E5M2Fnuz,
        Dtype::F8_E4M3FNUZ => DType::F8E4M3Fnuz,
        other => fail!("tensor `{key}` is of type {other}, which programs do not have"),
    };
    let shape = tensor.shape();
    let order = identity_order(shape.len())?;
    Ok(Tensor::from_bytes(dtype, shape, order, tensor.data())?)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// The first few names.
fn some(names: &[&str]) -> String {
    const SOME: usize = 8;
    match names.len() {
        0 => "none: the file is empty".into(),
        n if n <= SOME => names.join(", "),
        n => format!("{} and {} more", names[..SOME].join(", "), n - SOME),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_answered_with_the_known_ones() {
        let header = r#"{"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}"#;
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.extend(7i32.to_le_bytes());
        let only = parse_safetensors(&file, None).unwrap();
        assert_eq!(only.data::<i32>().unwrap(), [7]);
        let failure = parse_safetensors(&file, Some("b")).unwrap_err();
        assert!(failure.to_string().contains("try: one of a"), "{failure}");
    }
}
