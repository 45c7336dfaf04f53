//! Positions of elements that are not zero, and selection by masks.

use bytemuck::Pod;
use thalweg_core::{
    Bool, DType, Dims, KernelCall, KernelRegistry, MAX_RANK, Result, TensorView, ensure,
};

use crate::dtype::dispatch::{dispatch, dispatch_size};
use crate::dtype::elements::{elements, elements_mut};
use crate::layout::Layout;
use crate::layout::broadcast::broadcast_shapes;
use crate::layout::copy::{check_same_type, copy};
use crate::layout::walk::Walk;
use crate::operator::pure;

pub(super) fn register(registry: &mut KernelRegistry) -> Result<()> {
    registry.add(pure(
        "aten::nonzero.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        nonzero,
    )?);
    registry.add(pure(
        "aten::masked_select.out(Tensor self, Tensor mask, *, Tensor(a!) out) -> Tensor(a!)",
        masked_select,
    )?);
    registry.add(pure(
        "aten::masked_scatter.out(Tensor self, Tensor mask, Tensor source, *, \
         Tensor(a!) out) -> Tensor(a!)",
        masked_scatter,
    )?);
    Ok(())
}

fn nonzero(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let truth = truth(call, &input)?;
    let count = truth.iter().filter(|&&t| t != 0).count();
    let mut out = call.output(1, &[count, input.rank()])?;
    let strides = out.strides();
    let strides = [strides[0], strides[1]];
    nonzero_positions(truth, input.sizes(), out.data_mut::<i64>()?, strides);
    Ok(())
}

/// For each element, in logical order, 1 if it is not zero, else 0.
pub(super) fn truth<'a>(call: &'a KernelCall<'_>, tensor: &TensorView<'_>) -> Result<&'a [u8]> {
    let truth = call.temporary::<u8>(tensor.numel())?;
    let layout = Layout::of(tensor);
    let walk = Walk::new(&layout.sizes, [&layout.strides])?;
    let [step] = walk.steps();
    let runs = truth.chunks_mut(walk.run_len().max(1));
    dispatch!(tensor.dtype(), all => T, {
        let (elements, zero) = (tensor.data::<T>()?, T::default());
        for (run, truth) in walk.runs().zip(runs) {
            let elements = &elements[run.offsets[0]..];
            if step == 1 {
                for (truth, element) in truth.iter_mut().zip(elements) {
                    *truth = u8::from(*element != zero);
                }
                continue;
            }
            let elements = elements.iter().step_by(step.max(1));
            for (truth, element) in truth.iter_mut().zip(elements) {
                *truth = u8::from(*element != zero);
            }
        }
    });
    Ok(truth)
}

/// Writes the positions of true elements: the n-th one's position in dimension d goes to
/// `n * strides[0] + d * strides[1]`.
pub(super) fn nonzero_positions(
    truth: &[u8],
    sizes: &[usize],
    positions: &mut [i64],
    strides: [usize; 2],
) {
    let run = sizes.last().copied().unwrap_or(1).max(1);
    let mut index = [0usize; MAX_RANK];
    let Some(count) = positions.len().checked_div(sizes.len()) else {
        return;
    };
    let (outer, mut found) = (sizes.len() - 1, 0);
    for truth in truth.chunks(run) {
        for (inner, &truth) in truth.iter().enumerate() {
            if found == count {
                return;
            }
            // Written in any case, and over again by the next one if this was none: whether it is one
            // cannot be foreseen, and a wrong guess takes longer than to write.
            let row = found * strides[0];
            for (dim, &position) in index[..outer].iter().enumerate() {
                positions[row + dim * strides[1]] = position as i64;
            }
            positions[row + outer * strides[1]] = inner as i64;
            found += usize::from(truth != 0);
        }
        for dim in (0..outer).rev() {
            index[dim] += 1;
            if index[dim] < sizes[dim] {
                break;
            }
            index[dim] = 0;
        }
    }
}

/// A mask and a tensor, over the shape to which both broadcast.
struct Masked<'a> {
    mask: &'a [Bool],
    sizes: Dims,
    tensor: Layout,
    walk: Walk<2>,
}

impl<'a> Masked<'a> {
    fn new(tensor: &TensorView<'_>, mask: &TensorView<'a>) -> Result<Self> {
        ensure!(
            mask.dtype() == DType::Bool,
            InvalidInput,
            "a mask is of booleans, not of {}",
            mask.dtype()
        );
        let sizes = broadcast_shapes(tensor.sizes(), mask.sizes())?;
        let layout = Layout::of(mask).broadcast(&sizes)?;
        let tensor = Layout::of(tensor).broadcast(&sizes)?;
        Ok(Self {
            mask: mask.data()?,
            walk: Walk::new(&sizes, [&layout.strides, &tensor.strides])?,
            sizes,
            tensor,
        })
    }

    /// Calls `visit` with the offset in the tensor of each selected element, in logical order.
    #[inline]
    fn for_each(&self, mut visit: impl FnMut(usize)) {
        self.for_all(|offset, is_selected| {
            if is_selected {
                visit(offset);
            }
        });
    }

    /// Calls `visit` with the offset of each element, and true if it is selected.
    #[inline]
    fn for_all(&self, mut visit: impl FnMut(usize, bool)) {
        let [mask_step, step] = self.walk.steps();
        let run = self.walk.run_len();
        for start in self.walk.runs() {
            let [mask, tensor] = start.offsets;
            if mask_step == 1 {
                for (i, truth) in self.mask[mask..mask + run].iter().enumerate() {
                    visit(tensor + i * step, truth.get());
                }
                continue;
            }
            for i in 0..run {
                visit(tensor + i * step, self.mask[mask + i * mask_step].get());
            }
        }
    }

    fn count(&self) -> usize {
        let mut count = 0;
        self.for_all(|_, is_selected| count += usize::from(is_selected));
        count
    }
}

fn masked_select(call: &KernelCall<'_>) -> Result<()> {
    let (input, mask) = (call.tensor(0)?, call.tensor(1)?);
    let masked = Masked::new(&input, &mask)?;
    let mut out = call.output(2, &[masked.count()])?;
    check_same_type(&out, &input)?;
    let (target, source) = (out.bytes_mut(), input.bytes());
    dispatch_size!(input.dtype().size() => T, {
        let (target, source) = (elements_mut::<T>(target)?, elements::<T>(source)?);
        let mut found = 0;
        masked.for_all(|offset, is_selected| {
            // Written in any case, and over again by the next one if this was not selected: whether it
            // is cannot be foreseen, and a wrong guess takes longer than to write.
            if let Some(target) = target.get_mut(found) {
                *target = source[offset];
            }
            found += usize::from(is_selected);
        });
    });
    Ok(())
}

fn masked_scatter(call: &KernelCall<'_>) -> Result<()> {
    let (input, mask, source) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let masked = Masked::new(&input, &mask)?;
    let count = masked.count();
    ensure!(
        count <= source.numel(),
        InvalidInput,
        "the mask selects {count} elements, and there are {} to put there",
        source.numel()
    );
    let mut out = call.output(3, &masked.sizes)?;
    check_same_type(&out, &source)?;
    let to = Layout::of_output(&out);
    copy(&mut out, &to, &input, &masked.tensor, call.threads())?;
    let masked = Masked::new(&out.view(), &mask)?;
    let order = Layout::of(&source);
    let walk = Walk::new(&order.sizes, [&order.strides])?;
    let (target, bytes) = (out.bytes_mut(), source.bytes());
    dispatch_size!(source.dtype().size() => T, {
        scatter_in_order::<T>(elements_mut(target)?, elements(bytes)?, &masked, &walk);
    });
    Ok(())
}

fn scatter_in_order<T: Pod>(target: &mut [T], source: &[T], masked: &Masked<'_>, walk: &Walk<1>) {
    let ([step], run) = (walk.steps(), walk.run_len());
    let mut offsets = walk
        .runs()
        .flat_map(|start| (0..run).map(move |i| start.offsets[0] + i * step));
    masked.for_each(|to| {
        if let Some(from) = offsets.next() {
            target[to] = source[from];
        }
    });
}
