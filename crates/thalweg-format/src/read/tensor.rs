//! Translates tensors.

use super::{list, text};
use crate::budget::Budget;
use crate::error::{At, Error, ErrorKind};
use crate::program::*;
use crate::schema::executorch_flatbuffer as fb;

pub(super) fn tensor<'a>(t: fb::TensorRef<'a>, budget: &mut Budget) -> Result<Tensor<'a>, Error> {
    let dim_order = t.dim_order()?.unwrap_or_default();
    let mut order = budget.list(dim_order.len())?;
    order.extend_from_slice(dim_order);
    Ok(Tensor {
        scalar_type: scalar_type(t.scalar_type()?)?,
        storage_offset: t.storage_offset()?,
        sizes: sizes(t.sizes()?, budget)?,
        dim_order: order,
        requires_grad: t.requires_grad()?,
        data_buffer: t.data_buffer_idx()?,
        allocation: t.allocation_info()?.map(allocation).transpose()?,
        layout: t.layout()?,
        dynamism: match t.shape_dynamism()? {
            fb::TensorShapeDynamism::Static => ShapeDynamism::Static,
            fb::TensorShapeDynamism::DynamicBound => ShapeDynamism::DynamicBound,
            fb::TensorShapeDynamism::DynamicUnbound => ShapeDynamism::DynamicUnbound,
        },
        extra: t
            .extra_tensor_info()?
            .map(|info| extra(info, budget))
            .transpose()?,
    })
}

/// Translates the sizes of a shape, which the file stores as signed numbers.
pub(crate) fn sizes(
    sizes: Option<planus::Vector<'_, i32>>,
    budget: &mut Budget,
) -> Result<Vec<u32>, Error> {
    list(sizes, budget, |i, size, _| {
        u32::try_from(size)
            .map_err(|_| Error::invalid(format!("the size is {size}")))
            .at(|| format!("dimension {i}"))
    })
}

fn allocation(info: fb::AllocationDetailsRef<'_>) -> Result<Allocation, Error> {
    let low = u64::from(info.memory_offset_low()?);
    let high = u64::from(info.memory_offset_high()?);
    Ok(Allocation {
        arena: info.memory_id()?,
        offset: high << 32 | low,
    })
}

fn extra<'a>(
    info: fb::ExtraTensorInfoRef<'a>,
    budget: &mut Budget,
) -> Result<ExtraTensorInfo<'a>, Error> {
    Ok(ExtraTensorInfo {
        mutable_data_segment: info.mutable_data_segments_idx()?,
        fully_qualified_name: text(info.fully_qualified_name()?, budget)?,
        location: match info.location()? {
            fb::TensorDataLocation::Segment => DataLocation::Segment,
            fb::TensorDataLocation::External => DataLocation::External,
        },
        device: device(info.device_type()?, info.device_index()?),
    })
}

pub(super) fn device(kind: fb::DeviceType, index: i8) -> Device {
    let kind = match kind {
        fb::DeviceType::Cpu => DeviceKind::Cpu,
        fb::DeviceType::Cuda => DeviceKind::Cuda,
    };
    Device { kind, index }
}

/// Translates an element type from the file.
pub(crate) fn scalar_type(stored: fb::ScalarType) -> Result<ScalarType, Error> {
    let code = stored as i8;
    ScalarType::from_code(code).ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            format!("element type {code} is unknown to this version"),
        )
    })
}
