//! The arguments of a call, as tensors of the library.

use std::sync::Arc;

use thalweg_core::{Call, DType, Device as _, DeviceId, Result, bail, ensure};

use super::layout::TensorLayout;
use super::records::OutputRecord;
use crate::abi::{Location, Session, Storage, Tensor, copy};
use crate::mutation::{Rule, disabled};

/// An input of a call on the device, with the program's layout. `last` is the layout in the call before.
pub(super) fn input(
    session: &Session<'_>,
    call: &mut Call<'_>,
    index: usize,
    last: Option<&Arc<TensorLayout>>,
) -> Result<(Arc<TensorLayout>, Tensor)> {
    let here = session.device.id();
    match call.tensor_on_device(index)? {
        Some(tensor) => {
            ensure!(
                tensor.device() == here,
                InvalidProgram,
                "input {index} lies on {}, and the library is on {here}",
                tensor.device()
            );
            let (dtype, sizes) = (tensor.dtype(), tensor.sizes());
            let layout = TensorLayout::shared(dtype, sizes, tensor.dim_order(), last);
            let tensor = borrowed(session, tensor.address().0, &layout)?;
            Ok((layout, tensor))
        }
        None => {
            let arguments = call.arguments(&[])?;
            let tensor = arguments.tensor(index)?;
            let (dtype, sizes) = (tensor.dtype(), tensor.sizes());
            let layout = TensorLayout::shared(dtype, sizes, tensor.dim_order(), last);
            let (sizes, strides) = (&layout.signed_sizes, &layout.strides);
            let tensor = session.upload(tensor.bytes(), layout.dtype, sizes, strides)?;
            Ok((layout, tensor))
        }
    }
}

/// A tensor over the program's memory on the device.
pub(super) fn borrowed(
    session: &Session<'_>,
    address: u64,
    layout: &TensorLayout,
) -> Result<Tensor> {
    let here = Location::Device(session.device.ordinal());
    let storage = Storage::borrowed(address, layout.bytes(), here);
    let (sizes, strides) = (&layout.signed_sizes, &layout.strides);
    Tensor::new(Arc::new(storage), layout.dtype, sizes, strides, 0)
}

/// The address of an output, if the library can write it in place.
pub(super) fn output_address(
    call: &mut Call<'_>,
    index: usize,
    record: &OutputRecord,
    inputs: &[Tensor],
    here: DeviceId,
) -> Result<Option<u64>> {
    if call.device_of(index)? != Some(here) {
        return Ok(None);
    }
    let layout = &record.layout;
    let tensor = call.device_output(index, layout.sizes())?;
    let (address, len) = (tensor.address().0, tensor.len() as u64);
    let same_layout = layout.is_of_tensor(&tensor);
    // The library may write the output before it has read an input in the same memory.
    let overlaps = inputs.iter().any(|input| {
        let storage = &input.storage;
        overlap(storage.address, storage.bytes, address, len)
    });
    let in_place = same_layout && !overlaps && record.placed == Some(len);
    Ok(in_place.then_some(address))
}

/// Returns true if two ranges of memory overlap.
pub(super) fn overlap(start: u64, len: u64, other: u64, other_len: u64) -> bool {
    start < other.saturating_add(other_len) && other < start.saturating_add(len)
}

/// Writes a result of the library to an output of the call. Returns the program's layout, and true if the
/// output is on the device. `last` is the layout in the call before.
pub(super) fn output(
    session: &Session<'_>,
    call: &mut Call<'_>,
    index: usize,
    tensor: &Tensor,
    last: Option<&Arc<TensorLayout>>,
) -> Result<(Arc<TensorLayout>, bool)> {
    let new;
    let sizes = match last {
        Some(last) if last.signed_sizes == tensor.sizes => last.sizes(),
        _ => {
            new = unsigned(&tensor.sizes)?;
            &new
        }
    };
    if call.tensor_on_device(index)?.is_some() {
        let output = call.device_output(index, sizes)?;
        let (dtype, sizes) = (output.dtype(), output.sizes());
        let layout = TensorLayout::shared(dtype, sizes, output.dim_order(), last);
        let address = output.address().0;
        check_dtype(index, tensor, layout.dtype)?;
        copy_to_output(session, &borrowed(session, address, &layout)?, tensor)?;
        return Ok((layout, true));
    }
    let Ok(position) = u16::try_from(index) else {
        bail!(Unsupported, "output {index} of a delegate");
    };
    let writes = [position];
    let arguments = call.arguments(&writes)?;
    let mut output = arguments.output(index, sizes)?;
    check_dtype(index, tensor, output.dtype())?;
    let (dtype, sizes) = (output.dtype(), output.sizes());
    let layout = TensorLayout::shared(dtype, sizes, output.dim_order(), last);
    session.download(output.bytes_mut(), tensor, &layout.strides)?;
    Ok((layout, false))
}

/// Copies a result to an output on the device, unless the library has written it there.
pub(super) fn copy_to_output(
    session: &Session<'_>,
    output: &Tensor,
    tensor: &Tensor,
) -> Result<()> {
    let in_place = output.start() == tensor.start() && tensor.has_strides(&output.strides);
    if in_place || disabled(Rule::GiveOutputs) {
        return Ok(());
    }
    copy(session, output, tensor)
}

fn check_dtype(index: usize, tensor: &Tensor, dtype: DType) -> Result<()> {
    ensure!(
        dtype == tensor.dtype,
        InvalidProgram,
        "output {index} is of {} for the compiled library, but of {dtype} for the program",
        tensor.dtype
    );
    Ok(())
}

/// The sizes of a library's tensor, in the program's type.
fn unsigned(values: &[i64]) -> Result<Vec<usize>> {
    values
        .iter()
        .map(|&value| match usize::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => bail!(
                Delegate,
                "the compiled library gives a tensor of sizes {values:?}"
            ),
        })
        .collect()
}
