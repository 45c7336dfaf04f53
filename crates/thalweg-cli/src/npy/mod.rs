//! NumPy's file format for arrays, `.npy`: a magic, a version, a header that is a Python dict in
//! text, and the elements.
//!
//! There is a crate for it, which depends on a parser generator and on big integers to read one line. They take
//! a tenth of the build time of this command. It also panics on shapes that overflow.

mod header;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use thalweg::extend::identity_order;
use thalweg::{DType, Tensor, TensorView};

use crate::failure::{Failure, Result, fail};
use crate::numbers::{Number, numbers};
use header::Header;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The sign of this machine's byte order.
const NATIVE: char = if cfg!(target_endian = "big") {
    '>'
} else {
    '<'
};

/// The tensor of a file.
pub(crate) fn parse(file: &[u8]) -> Result<Tensor> {
    let (header, data) = split(file)?;
    let header = Header::parse(header)?;
    let (order, dtype) = element(&header.descr)?;
    let shape = &header.shape;
    let dim_order: Vec<u8> = if header.fortran_order {
        identity_order(shape.len())?.iter().rev().copied().collect()
    } else {
        identity_order(shape.len())?.to_vec()
    };
    let needed = thalweg::extend::numel(shape)?.saturating_mul(dtype.size());
    let Some(data) = data.get(..needed) else {
        fail!(
            "the array should have {needed} bytes and has {}",
            data.len()
        );
    };
    if order == '|' || order == NATIVE {
        return Ok(Tensor::from_bytes(dtype, shape, &dim_order, data)?);
    }
    let parts = if dtype.is_complex() { 2 } else { 1 };
    let mut swapped = data.to_vec();
    for part in swapped.chunks_exact_mut(dtype.size() / parts) {
        part.reverse();
    }
    Ok(Tensor::from_bytes(dtype, shape, &dim_order, &swapped)?)
}

/// Writes a tensor to a file, in logical order. A type that NumPy lacks is written as a wider one, without
/// loss: bf16 and 8-bit floats as f32, c32 as c64. Returns the wider type, if there is one.
pub(crate) fn write(path: &Path, view: TensorView<'_>) -> Result<Option<DType>> {
    let row_major = view.to_tensor()?.to_row_major()?;
    let written_as = match view.dtype() {
        DType::BF16 | DType::F8E5M2 | DType::F8E4M3Fn | DType::F8E5M2Fnuz | DType::F8E4M3Fnuz => {
            DType::F32
        }
        DType::ComplexF16 => DType::ComplexF32,
        other => other,
    };
    let save = || -> io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&start(written_as, view.sizes()))?;
        write_elements(&mut file, row_major.view(), written_as)?;
        file.flush()
    };
    save().map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    Ok((written_as != view.dtype()).then_some(written_as))
}

fn write_elements(file: &mut impl Write, view: TensorView<'_>, as_type: DType) -> io::Result<()> {
    if view.dtype() == as_type && as_type != DType::Bool {
        return file.write_all(view.bytes());
    }
    for number in numbers(view) {
        match number {
            // NumPy wants 1 for true.
            Number::Bool(value) => file.write_all(&[u8::from(value)])?,
            Number::Complex(real, imaginary) => {
                file.write_all(&(real as f32).to_ne_bytes())?;
                file.write_all(&(imaginary as f32).to_ne_bytes())?;
            }
            other => file.write_all(&(other.to_f64() as f32).to_ne_bytes())?,
        }
    }
    Ok(())
}

/// The part of a file before the elements.
fn start(dtype: DType, shape: &[usize]) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
        descr(dtype),
        // A tuple of one has a comma after it.
        if shape.len() == 1 {
            sizes.trim_end()
        } else {
            sizes.trim_end_matches(", ")
        }
    );
    // Elements start at a multiple of 64, after a line feed.
    let before = MAGIC.len() + 4;
    let total = (before + text.len() + 1).next_multiple_of(64);
    let width = total - before - 1;
    let header = format!("{text:width$}\n");
    let mut start = MAGIC.to_vec();
    start.extend([1, 0]);
    // At most 16 sizes of 20 digits: it fits.
    start.extend((header.len() as u16).to_le_bytes());
    start.extend(header.as_bytes());
    start
}

/// The header's text and the elements.
fn split(file: &[u8]) -> Result<(&str, &[u8])> {
    let Some(rest) = file.strip_prefix(MAGIC) else {
        fail!("it is not a NumPy array: it does not start with \\x93NUMPY");
    };
    let cut_off = || Failure::new("the file ends within its header");
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut_off)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
            (u32::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk().ok_or_else(cut_off)?;
            (u32::from_le_bytes(*length), rest)
        }
        other => fail!("it is of version {other} of NumPy's format, which is unknown"),
    };
    let (header, data) = rest.split_at_checked(length as usize).ok_or_else(cut_off)?;
    match std::str::from_utf8(header) {
        Ok(header) => Ok((header, data)),
        Err(_) => fail!("the header is not text"),
    }
}

/// The byte order and type that a `descr` means.
fn element(descr: &str) -> Result<(char, DType)> {
    let mut rest = descr.chars();
    let order = match rest.next() {
        Some('=') => NATIVE,
        Some(order @ ('<' | '>' | '|')) => order,
        _ => fail!("elements of type `{descr}` are unknown"),
    };
    let dtype = match rest.as_str() {
        "b1" | "?" => DType::Bool,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::ComplexF32,
        "c16" => DType::ComplexF64,
        _ => fail!("elements of type `{descr}` are no tensor's"),
    };
    Ok((order, dtype))
}

/// NumPy's name of a type.
fn descr(dtype: DType) -> String {
    let code = match dtype {
        DType::Bool => return "|b1".into(),
        DType::I8 => return "|i1".into(),
        DType::U8 => return "|u1".into(),
        _ if dtype.is_complex() => 'c',
        _ if dtype.is_float() => 'f',
        DType::U16 | DType::U32 | DType::U64 => 'u',
        _ => 'i',
    };
    format!("{NATIVE}{code}{}", dtype.size())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        file.extend([1, 0]);
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    #[test]
    fn a_file_of_numpy_is_read() {
        // What `numpy.save` writes for `numpy.array([[1, 2, 3]], dtype="<i2")`.
        let mut bytes = b"\x93NUMPY\x01\x00v\x00{'descr': '<i2', 'fortran_order': False, \
            'shape': (1, 3), }"
            .to_vec();
        bytes.resize(127, b' ');
        bytes.extend(b"\n\x01\x00\x02\x00\x03\x00");
        let tensor = parse(&bytes).unwrap();
        assert_eq!(tensor.sizes(), [1, 3]);
        assert_eq!(tensor.data::<i16>().unwrap(), [1, 2, 3]);
        // And this is how we write it.
        let mut written = start(DType::I16, &[1, 3]);
        assert_eq!(written.len() % 64, 0);
        written.extend(&bytes[128..]);
        assert_eq!(written, bytes);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.npy");
        for dtype in DType::ALL {
            for shape in [&[][..], &[3], &[2, 3], &[0, 4]] {
                let bytes: Vec<u8> = (0..thalweg::extend::numel(shape).unwrap() * dtype.size())
                    .map(|i| {
                        if dtype == DType::Bool {
                            i as u8 % 2
                        } else {
                            (i % 36) as u8 * 7
                        }
                    })
                    .collect();
                let order = identity_order(shape.len()).unwrap();
                let tensor = Tensor::from_bytes(dtype, shape, order, &bytes).unwrap();
                let written_as = write(&path, tensor.view()).unwrap();
                let read = parse(&std::fs::read(&path).unwrap()).unwrap();
                assert_eq!(read.sizes(), shape);
                assert_eq!(read.dtype(), written_as.unwrap_or(dtype));
                let all = |tensor: &Tensor| -> Vec<String> {
                    let texts = numbers(tensor.view()).map(|number| number.to_text(17));
                    texts.collect()
                };
                assert_eq!(all(&read), all(&tensor), "{dtype}");
            }
        }
    }

    #[test]
    fn an_array_of_the_other_byte_order_is_turned() {
        let header = "{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }";
        let tensor = parse(&file(header, &[0, 1, 1, 0])).unwrap();
        assert_eq!(tensor.data::<i16>().unwrap(), [1, 256]);
    }

    #[test]
    fn an_array_in_fortran_order_keeps_its_logical_order() {
        let header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
        let tensor = parse(&file(header, &[0, 3, 1, 4, 2, 5])).unwrap();
        let tensor = tensor.to_row_major().unwrap();
        assert_eq!(tensor.data::<u8>().unwrap(), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_array_that_is_cut_off_anywhere_is_refused() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
        let whole = file(header, &[0; 8]);
        parse(&whole).unwrap();
        for length in 0..whole.len() {
            parse(&whole[..length]).unwrap_err();
        }
    }

    #[test]
    fn a_shape_that_overflows_is_refused() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 8)}";
        parse(&file(header, &[])).unwrap_err();
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}";
        parse(&file(header, &[])).unwrap_err();
    }

    #[test]
    fn elements_that_are_no_numbers_are_refused() {
        let header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }";
        let failure = parse(&file(header, &[0; 8])).unwrap_err();
        assert_eq!(failure.message(), "elements of type `|O` are no tensor's");
    }
}
