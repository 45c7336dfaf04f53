//! NumPy files.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use npyz::{AutoSerialize, WriterBuilder};
use thalweg::{Bool, Complex32, Complex64, DType, TensorView, f16};

use crate::failure::{Failure, Result};
use crate::numbers::{Number, numbers};

/// Writes a tensor as a `.npy` file, in logical order. Returns the type it is written as where
/// NumPy lacks the tensor's own: f32 for bf16 and the floats of one byte, c64 for c32. Nothing is
/// lost by that.
pub(crate) fn write_npy(path: &Path, view: TensorView<'_>) -> Result<Option<DType>> {
    let row_major = view.to_tensor()?.to_row_major()?;
    let view = row_major.view();
    let file = Target {
        path,
        shape: view.sizes().iter().map(|&size| size as u64).collect(),
    };
    let result = match view.dtype() {
        DType::U8 => file.write(view.data::<u8>()?.iter().copied()),
        DType::U16 => file.write(view.data::<u16>()?.iter().copied()),
        DType::U32 => file.write(view.data::<u32>()?.iter().copied()),
        DType::U64 => file.write(view.data::<u64>()?.iter().copied()),
        DType::I8 => file.write(view.data::<i8>()?.iter().copied()),
        DType::I16 => file.write(view.data::<i16>()?.iter().copied()),
        DType::I32 => file.write(view.data::<i32>()?.iter().copied()),
        DType::I64 => file.write(view.data::<i64>()?.iter().copied()),
        DType::F16 => file.write(view.data::<f16>()?.iter().copied()),
        DType::F32 => file.write(view.data::<f32>()?.iter().copied()),
        DType::F64 => file.write(view.data::<f64>()?.iter().copied()),
        DType::Bool => file.write(view.data::<Bool>()?.iter().map(|value| value.get())),
        DType::ComplexF32 => file.write(view.data::<Complex32>()?.iter().copied()),
        DType::ComplexF64 => file.write(view.data::<Complex64>()?.iter().copied()),
        DType::ComplexF16 => {
            let wider = numbers(view).map(|number| match number {
                Number::Complex(real, imaginary) => Complex32::new(real as f32, imaginary as f32),
                other => Complex32::new(other.to_f64() as f32, 0.0),
            });
            file.write(wider)
        }
        _ => file.write(numbers(view).map(|number| number.to_f64() as f32)),
    };
    result.map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    Ok(match view.dtype() {
        DType::ComplexF16 => Some(DType::ComplexF32),
        DType::BF16 | DType::F8E5M2 | DType::F8E4M3Fn | DType::F8E5M2Fnuz | DType::F8E4M3Fnuz => {
            Some(DType::F32)
        }
        _ => None,
    })
}

struct Target<'p> {
    path: &'p Path,
    shape: Vec<u64>,
}

impl Target<'_> {
    fn write<T: AutoSerialize>(&self, elements: impl Iterator<Item = T>) -> io::Result<()> {
        let mut file = BufWriter::new(File::create(self.path)?);
        let mut writer = npyz::WriteOptions::new()
            .default_dtype()
            .shape(&self.shape)
            .writer(&mut file)
            .begin_nd()?;
        writer.extend(elements)?;
        writer.finish()?;
        io::Write::flush(&mut file)
    }
}
