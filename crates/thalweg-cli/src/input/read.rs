//! Tensors from files.

use std::fs;
use std::path::Path;

use npyz::{Endianness, NpyHeader, Order, TypeChar};
use safetensors::{Dtype, SafeTensors};
use thalweg::{DType, Tensor, identity_order};

use crate::failure::{Failure, Result, fail};
use crate::text;

/// The tensor of a NumPy file.
pub(super) fn npy(path: &Path) -> Result<Tensor> {
    let file = read(path)?;
    parse_npy(&file).map_err(|failure| failure.of(path.display()))
}

/// A tensor of a safetensors file.
pub(super) fn safetensors(path: &Path, key: Option<&str>) -> Result<Tensor> {
    let file = read(path)?;
    parse_safetensors(&file, key).map_err(|failure| failure.of(path.display()))
}

/// The tensor of a file that holds its elements and nothing else.
pub(super) fn raw(path: &Path, dtype: DType, shape: &[usize]) -> Result<Tensor> {
    let file = read(path)?;
    let needed = thalweg::numel(shape)?.checked_mul(dtype.size());
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

fn parse_npy(file: &[u8]) -> Result<Tensor> {
    let mut rest = file;
    let header = NpyHeader::from_reader(&mut rest)
        .map_err(|error| Failure::new(format!("not a NumPy array: {error}")))?;
    let npyz::DType::Plain(element) = header.dtype() else {
        fail!("arrays of records are no tensors");
    };
    let dtype = match (element.type_char(), element.size_field()) {
        (TypeChar::Bool, 1) => DType::Bool,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        (TypeChar::Complex, 8) => DType::ComplexF32,
        (TypeChar::Complex, 16) => DType::ComplexF64,
        _ => fail!("an array of {element} is no tensor"),
    };
    let mut shape = Vec::new();
    for &size in header.shape() {
        match usize::try_from(size) {
            Ok(size) => shape.push(size),
            Err(_) => fail!("a dimension of {size} is too large for this machine"),
        }
    }
    let order: Vec<u8> = match header.order() {
        Order::C => identity_order(shape.len())?.to_vec(),
        Order::Fortran => identity_order(shape.len())?.iter().rev().copied().collect(),
    };
    let needed = thalweg::numel(&shape)?.saturating_mul(dtype.size());
    let Some(data) = rest.get(..needed) else {
        fail!(
            "the array should have {needed} bytes and has {}",
            rest.len()
        );
    };
    let swapped;
    let data = if is_foreign(element.endianness()) {
        swapped = swap(data, part_size(dtype));
        &swapped
    } else {
        data
    };
    Ok(Tensor::from_bytes(dtype, &shape, &order, data)?)
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
    if cfg!(target_endian = "big") {
        let data = swap(tensor.data(), part_size(dtype));
        return Ok(Tensor::from_bytes(dtype, shape, order, &data)?);
    }
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

fn is_foreign(order: Endianness) -> bool {
    match order {
        Endianness::Little => cfg!(target_endian = "big"),
        Endianness::Big => cfg!(target_endian = "little"),
        Endianness::Irrelevant => false,
    }
}

/// The bytes that change places when the byte order does.
fn part_size(dtype: DType) -> usize {
    if dtype.is_complex() {
        dtype.size() / 2
    } else {
        dtype.size()
    }
}

fn swap(data: &[u8], size: usize) -> Vec<u8> {
    let mut data = data.to_vec();
    for element in data.chunks_exact_mut(size) {
        element.reverse();
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy_file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        let text = format!("{header}\n");
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
        file.extend(data);
        file
    }

    #[test]
    fn an_array_of_the_other_byte_order_is_turned() {
        let file = npy_file(
            "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }",
            &[0, 1, 1, 0],
        );
        assert_eq!(parse_npy(&file).unwrap().data::<i16>().unwrap(), [1, 256]);
    }

    #[test]
    fn an_array_in_fortran_order_keeps_its_logical_order() {
        let file = npy_file(
            "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }",
            &[0, 3, 1, 4, 2, 5],
        );
        let tensor = parse_npy(&file).unwrap().to_row_major().unwrap();
        assert_eq!(tensor.data::<u8>().unwrap(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_array_that_is_cut_off_is_refused() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        let failure = parse_npy(&npy_file(header, &[0; 7])).unwrap_err();
        assert_eq!(failure.message(), "the array should have 8 bytes and has 7");
        assert!(parse_npy(b"\x93NUM").is_err());
        let huge = "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8), }";
        assert!(parse_npy(&npy_file(huge, &[])).is_err());
    }

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
