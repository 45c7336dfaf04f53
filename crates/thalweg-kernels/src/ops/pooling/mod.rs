//! Pooling in two and three dimensions: the largest element, or the mean, of each window.

mod average;
mod max;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod volume_tests;
mod window;

use thalweg_core::{KernelRegistry, Layout, Result};

use crate::dtype::dispatch::dispatch;
use crate::operator::pure;
use average::{adaptive_avg_pool, avg_pool};
use max::{adaptive_max_pool, max_pool, max_pool_backward};

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(
        pure(
            "aten::max_pool2d_with_indices.out(Tensor self, int[2] kernel_size, \
             int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False, *, \
             Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
            |call| dispatch!(call.tensor(0)?.dtype(), real => T, { max_pool::<T>(call, 2) }),
        )?
        .with_layout(|_| Some(Layout::Any)),
    );
    registry.add(
        pure(
            "aten::max_pool3d_with_indices.out(Tensor self, int[3] kernel_size, \
             int[3] stride=[], int[3] padding=0, int[3] dilation=1, bool ceil_mode=False, *, \
             Tensor(a!) out, Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
            |call| dispatch!(call.tensor(0)?.dtype(), real => T, { max_pool::<T>(call, 3) }),
        )?
        .with_layout(|_| Some(Layout::Any)),
    );
    registry.add(pure(
        "aten::adaptive_max_pool2d.out(Tensor self, int[2] output_size, *, Tensor(a!) out, \
         Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
        |call| dispatch!(call.tensor(0)?.dtype(), real => T, { adaptive_max_pool::<T>(call, 2) }),
    )?);
    registry.add(pure(
        "aten::adaptive_max_pool3d.out(Tensor self, int[3] output_size, *, Tensor(a!) out, \
         Tensor(b!) indices) -> (Tensor(a!), Tensor(b!))",
        |call| dispatch!(call.tensor(0)?.dtype(), real => T, { adaptive_max_pool::<T>(call, 3) }),
    )?);
    registry.add(pure(
        "aten::max_pool2d_with_indices_backward.grad_input(Tensor grad_output, Tensor self, \
         int[2] kernel_size, int[2] stride, int[2] padding, int[2] dilation, bool ceil_mode, \
         Tensor indices, *, Tensor(a!) grad_input) -> Tensor(a!)",
        |call| dispatch!(call.tensor(0)?.dtype(), float => T, { max_pool_backward::<T>(call) }),
    )?);
    registry.add(
        pure(
            "aten::avg_pool2d.out(Tensor self, int[2] kernel_size, int[2] stride=[], \
             int[2] padding=0, bool ceil_mode=False, bool count_include_pad=True, \
             int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
            |call| avg_pool(call, 2),
        )?
        .with_layout(|_| Some(Layout::Any)),
    );
    registry.add(
        pure(
            "aten::avg_pool3d.out(Tensor self, int[3] kernel_size, int[3] stride=[], \
             int[3] padding=0, bool ceil_mode=False, bool count_include_pad=True, \
             int? divisor_override=None, *, Tensor(a!) out) -> Tensor(a!)",
            |call| avg_pool(call, 3),
        )?
        .with_layout(|_| Some(Layout::Any)),
    );
    registry.add(
        pure(
            "aten::_adaptive_avg_pool2d.out(Tensor self, SymInt[2] output_size, *, \
         Tensor(a!) out) -> Tensor(a!)",
            |call| {
                dispatch!(call.tensor(0)?.dtype(), float => T, {
                    adaptive_avg_pool::<T>(call, 2)
                })
            },
        )?
        .with_layout(|_| Some(Layout::Any)),
    );
    registry.add(
        pure(
            "aten::_adaptive_avg_pool3d.out(Tensor self, SymInt[3] output_size, *, \
         Tensor(a!) out) -> Tensor(a!)",
            |call| {
                dispatch!(call.tensor(0)?.dtype(), float => T, {
                    adaptive_avg_pool::<T>(call, 3)
                })
            },
        )?
        .with_layout(|_| Some(Layout::Any)),
    );
    Ok(())
}
