//! Moving elements to other places: viewing in another shape, permuting, slicing, joining.
//!
//! None of these operators looks at an element. Each says where the elements of its result lie in
//! its input, as a [`Layout`]; [`copying`](crate::copying) moves them.

mod joining;
mod padding;
mod patching;
mod pixels;
#[cfg(test)]
mod tests;

use thalweg_core::{
    Dims, KernelCall, KernelRegistry, Result, TensorView, bail, ensure, identity_order, numel,
};

use crate::broadcast::broadcast_shapes;
use crate::copying::{check_same_type, copy, copy_all, copy_bytes};
use crate::dims::{size_from, wrap_dim, wrap_index};
use crate::layout::Layout;
use crate::ordering::in_order;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    let copies = [
        "aten::alias_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::detach_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "aten::lift_fresh_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "et_copy::_h2d_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "et_copy::_d2h_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        "llama::fallback.out(Tensor input, *, Tensor(a!) output) -> Tensor(a!)",
    ];
    for signature in copies {
        registry.register(signature, same)?;
    }
    registry.register(
        "aten::view_copy.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        view,
    )?;
    registry.register(
        "aten::_unsafe_view.out(Tensor self, SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)",
        view,
    )?;
    registry.register(
        "aten::squeeze_copy.dims_out(Tensor self, int[] dim, *, Tensor(a!) out) -> Tensor(a!)",
        squeeze,
    )?;
    registry.register(
        "aten::squeeze_copy.dim_out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
        squeeze,
    )?;
    registry.register(
        "aten::unsqueeze_copy.out(Tensor self, int dim, *, Tensor(a!) out) -> Tensor(a!)",
        unsqueeze,
    )?;
    registry.register(
        "aten::view_as_real_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        view_as_real,
    )?;
    registry.register(
        "aten::complex.out(Tensor real, Tensor imag, *, Tensor(a!) out) -> Tensor(a!)",
        complex,
    )?;
    registry.register(
        "aten::permute_copy.out(Tensor self, int[] dims, *, Tensor(a!) out) -> Tensor(a!)",
        permute,
    )?;
    registry.register(
        "aten::transpose_copy.int_out(Tensor self, int dim0, int dim1, *, Tensor(a!) out) \
         -> Tensor(a!)",
        transpose,
    )?;
    registry.register(
        "aten::t_copy.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        transpose_matrix,
    )?;
    registry.register(
        "aten::expand_copy.out(Tensor self, SymInt[] size, *, bool implicit=False, \
         Tensor(a!) out) -> Tensor(a!)",
        expand,
    )?;
    registry.register(
        "aten::repeat.out(Tensor self, SymInt[] repeats, *, Tensor(a!) out) -> Tensor(a!)",
        repeat,
    )?;
    registry.register(
        "aten::slice_copy.Tensor_out(Tensor self, int dim=0, SymInt? start=None, \
         SymInt? end=None, SymInt step=1, *, Tensor(a!) out) -> Tensor(a!)",
        slice,
    )?;
    registry.register(
        "aten::narrow_copy.out(Tensor self, int dim, SymInt start, SymInt length, *, \
         Tensor(a!) out) -> Tensor(a!)",
        narrow,
    )?;
    registry.register(
        "aten::select_copy.int_out(Tensor self, int dim, SymInt index, *, Tensor(a!) out) \
         -> Tensor(a!)",
        select,
    )?;
    registry.register(
        "aten::diagonal_copy.out(Tensor self, int offset=0, int dim1=0, int dim2=1, *, \
         Tensor(a!) out) -> Tensor(a!)",
        diagonal,
    )?;
    registry.register(
        "aten::unfold_copy.out(Tensor self, int dimension, int size, int step, *, \
         Tensor(a!) out) -> Tensor(a!)",
        unfold,
    )?;
    registry.register(
        "aten::as_strided_copy.out(Tensor self, SymInt[] size, SymInt[] stride, \
         SymInt? storage_offset=None, *, Tensor(a!) out) -> Tensor(a!)",
        as_strided,
    )?;
    joining::register(registry)?;
    padding::register(registry)?;
    patching::register(registry)?;
    pixels::register(registry)
}

/// Copies what `from` names of an input to an output of the same shape.
fn materialize(
    call: &KernelCall<'_>,
    input: &TensorView<'_>,
    from: &Layout,
    out: usize,
) -> Result<()> {
    let mut out = call.output(out, &from.sizes)?;
    let size = out.dtype().size();
    if out.bytes_mut().len() == size {
        check_same_type(&out, input)?;
        return one_element(out.bytes_mut(), input.bytes(), from.offset, size);
    }
    let to = Layout::of_output(&out);
    copy(&mut out, &to, input, from, call.threads())
}

/// Copies the element at a place, the only one that there is to copy.
fn one_element(to: &mut [u8], from: &[u8], place: usize, size: usize) -> Result<()> {
    let start = place.saturating_mul(size);
    match from.get(start..start.saturating_add(size)) {
        Some(element) => {
            // Elements are short, and a call to copy them is not.
            for (to, from) in to.iter_mut().zip(element) {
                *to = *from;
            }
            Ok(())
        }
        None => bail!(Internal, "a copy beyond the end of a tensor"),
    }
}

/// Copies an input to an output of another shape with the same elements in logical order.
pub(crate) fn reshape(
    call: &KernelCall<'_>,
    input: &TensorView<'_>,
    sizes: &[usize],
    out: usize,
) -> Result<()> {
    let mut out = call.output(out, sizes)?;
    ensure!(
        out.numel() == input.numel(),
        InvalidInput,
        "a tensor of shape {:?} cannot be viewed as {sizes:?}",
        input.sizes()
    );
    if input.is_row_major() && out.is_row_major() {
        check_same_type(&out, input)?;
        return copy_all(out.bytes_mut(), input.bytes(), call.threads());
    }
    let (from, to) = (Layout::of(input), Layout::of_output(&out));
    let threads = call.threads();
    if input.is_row_major() {
        return copy(&mut out, &to, input, &Layout::row_major(sizes)?, threads);
    }
    let between = Layout::row_major(input.sizes())?;
    if out.is_row_major() || *to.sizes == *from.sizes {
        let to = if out.is_row_major() { between } else { to };
        return copy(&mut out, &to, input, &from, threads);
    }
    let input = in_order(call, *input, identity_order(input.rank())?)?;
    copy(&mut out, &to, &input, &Layout::row_major(sizes)?, threads)
}

fn same(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    reshape(call, &input, input.sizes(), 1)
}

fn view(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    reshape(
        call,
        &input,
        &inferred_shape(call.int_list(1)?, input.numel())?,
        2,
    )
}

/// The shape that a list of sizes means for a number of elements: one of them may be -1, and is
/// what the others leave.
pub(crate) fn inferred_shape(sizes: &[i64], elements: usize) -> Result<Dims> {
    let mut shape = Dims::new();
    let mut inferred = None;
    for (dim, &size) in sizes.iter().enumerate() {
        ensure!(
            size >= 0 || (size == -1 && inferred.is_none()),
            InvalidInput,
            "{sizes:?} is not a shape"
        );
        if size == -1 {
            inferred = Some(dim);
        }
        shape.push(usize::try_from(size).unwrap_or(1))?;
    }
    let others = numel(&shape)?;
    if let Some(dim) = inferred {
        ensure!(
            others != 0 && elements.is_multiple_of(others),
            InvalidInput,
            "{elements} elements do not have a shape of {sizes:?}"
        );
        shape[dim] = elements / others;
    }
    Ok(shape)
}

fn squeeze(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let mut removed = 0u32;
    for &dim in call.int_list(1)? {
        removed |= 1 << wrap_dim(dim, input.rank())?;
    }
    let mut sizes = Dims::new();
    for (dim, &size) in input.sizes().iter().enumerate() {
        if size != 1 || removed & (1 << dim) == 0 {
            sizes.push(size)?;
        }
    }
    reshape(call, &input, &sizes, 2)
}

fn unsqueeze(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let mut sizes = Dims::from_slice(input.sizes())?;
    sizes.insert(wrap_dim(call.int(1)?, input.rank() + 1)?, 1)?;
    reshape(call, &input, &sizes, 2)
}

fn view_as_real(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    ensure!(
        input.dtype().is_complex(),
        InvalidInput,
        "elements of type {} have no imaginary part",
        input.dtype()
    );
    let from = Layout::of(&input).halved()?;
    let mut out = call.output(1, &from.sizes)?;
    let to = Layout::of_output(&out);
    let size = input.dtype().size() / 2;
    ensure!(
        out.dtype().is_float() && out.dtype().size() == size,
        InvalidInput,
        "the parts of {} are not of type {}",
        input.dtype(),
        out.dtype()
    );
    copy_bytes(
        out.bytes_mut(),
        &to,
        input.bytes(),
        &from,
        size,
        call.threads(),
    )
}

/// Complex numbers of their parts.
fn complex(call: &KernelCall<'_>) -> Result<()> {
    let parts = [call.tensor(0)?, call.tensor(1)?];
    let sizes = broadcast_shapes(parts[0].sizes(), parts[1].sizes())?;
    let mut out = call.output(2, &sizes)?;
    let dtype = parts[0].dtype();
    ensure!(
        dtype == parts[1].dtype()
            && dtype.is_float()
            && out.dtype().is_complex()
            && out.dtype().size() == 2 * dtype.size(),
        InvalidInput,
        "parts of type {dtype} and {} are not those of {}",
        parts[1].dtype(),
        out.dtype()
    );
    let whole = Layout::of_output(&out).halved()?;
    for (half, part) in parts.iter().enumerate() {
        let to = whole.select(sizes.len(), half);
        let from = Layout::of(part).broadcast(&sizes)?;
        let (target, source) = (out.bytes_mut(), part.bytes());
        copy_bytes(target, &to, source, &from, dtype.size(), call.threads())?;
    }
    Ok(())
}

fn permute(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dims = call.int_list(1)?;
    let mut order = Dims::new();
    for &dim in dims {
        let dim = wrap_dim(dim, input.rank())?;
        ensure!(
            !order.contains(&dim),
            InvalidInput,
            "{dims:?} names dimension {dim} twice"
        );
        order.push(dim)?;
    }
    ensure!(
        order.len() == input.rank(),
        InvalidInput,
        "{dims:?} is not an order of {} dimensions",
        input.rank()
    );
    materialize(call, &input, &Layout::of(&input).permute(&order), 2)
}

fn transpose(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (a, b) = (call.int(1)?, call.int(2)?);
    let (a, b) = (wrap_dim(a, input.rank())?, wrap_dim(b, input.rank())?);
    materialize(call, &input, &swapped(&input, a, b)?, 3)
}

fn transpose_matrix(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let rank = input.rank();
    ensure!(
        rank <= 2,
        InvalidInput,
        "a tensor of {rank} dimensions is not a matrix"
    );
    let last = rank.saturating_sub(1);
    materialize(call, &input, &swapped(&input, 0, last)?, 1)
}

fn swapped(input: &TensorView<'_>, a: usize, b: usize) -> Result<Layout> {
    let mut layout = Layout::of(input);
    if input.rank() > 0 {
        layout.sizes.swap(a, b);
        layout.strides.swap(a, b);
    }
    Ok(layout)
}

fn expand(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let list = call.int_list(1)?;
    let mut sizes = Dims::new();
    for (dim, &size) in list.iter().enumerate() {
        // Sizes are aligned at the inner end; -1 keeps the size that there is.
        let own = (dim + input.rank()).checked_sub(list.len());
        match (size, own.and_then(|own| input.sizes().get(own))) {
            (-1, Some(&own)) => sizes.push(own)?,
            _ => sizes.push(size_from(size)?)?,
        }
    }
    materialize(call, &input, &Layout::of(&input).broadcast(&sizes)?, 3)
}

fn repeat(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let repeats = call.int_list(1)?;
    let new = repeats.len().checked_sub(input.rank());
    let Some(new) = new else {
        bail!(
            InvalidInput,
            "{repeats:?} has fewer repeats than a tensor of {} dimensions needs",
            input.rank()
        )
    };
    let mut sizes = Dims::new();
    for (dim, &times) in repeats.iter().enumerate() {
        let own = dim.checked_sub(new).map_or(1, |dim| input.sizes()[dim]);
        let times = size_from(times)?;
        sizes.push(numel(&[own, times])?)?;
    }
    let mut out = call.output(2, &sizes)?;
    if out.numel() == 0 {
        return Ok(());
    }
    // Every dimension is two: the repeats, which stay in place on the side of the input, and what
    // is repeated. Most have only one of them.
    let (full, own) = (Layout::of_output(&out), Layout::of(&input));
    let (mut to, mut from) = (Layout::row_major(&[])?, Layout::row_major(&[])?);
    for (dim, &size) in sizes.iter().enumerate() {
        let (size_in, stride_in) = match dim.checked_sub(new) {
            Some(dim) => (own.sizes[dim], own.strides[dim]),
            None => (1, 0),
        };
        let stride = full.strides[dim];
        for (size, step, step_in) in [
            (size / size_in, stride * size_in, 0),
            (size_in, stride, stride_in),
        ] {
            if size != 1 {
                to = to.with(to.sizes.len(), size, step)?;
                from = from.with(from.sizes.len(), size, step_in)?;
            }
        }
    }
    copy(&mut out, &to, &input, &from, call.threads())
}

fn slice(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(1)?, &input)?;
    let range = Range::new(
        input.sizes()[dim],
        call.optional_int(2)?,
        call.optional_int(3)?,
        call.int(4)?,
    )?;
    materialize(call, &input, &range.of(Layout::of(&input), dim), 5)
}

/// Some positions of a dimension.
struct Range {
    start: usize,
    step: usize,
    len: usize,
}

impl Range {
    /// The positions that Python's `start:end:step` names; what lies outside is left out.
    fn new(size: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Self> {
        let clamp = |position: i64| match usize::try_from(position.unsigned_abs()) {
            Ok(back) if position < 0 => size.saturating_sub(back),
            Ok(position) => position.min(size),
            Err(_) => size,
        };
        ensure!(step > 0, InvalidInput, "a slice with a step of {step}");
        let (start, end) = (clamp(start.unwrap_or(0)), end.map_or(size, clamp));
        let step = usize::try_from(step).unwrap_or(usize::MAX);
        Ok(Self {
            start,
            step,
            len: end.saturating_sub(start).div_ceil(step),
        })
    }

    fn of(&self, layout: Layout, dim: usize) -> Layout {
        layout.slice(dim, self.start, self.step, self.len)
    }
}

fn narrow(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(1)?, &input)?;
    let size = input.sizes()[dim];
    let (start, len) = (call.int(2)?, call.int(3)?);
    let first = if start >= 0 && start.unsigned_abs() as usize == size {
        Some(size)
    } else {
        wrap_index(start, size)
    };
    let length = size_from(len)?;
    let layout = match first {
        Some(first) if length <= size - first => Layout::of(&input).slice(dim, first, 1, length),
        _ => bail!(
            InvalidInput,
            "{len} positions from {start} on are not within a dimension of size {size}"
        ),
    };
    materialize(call, &input, &layout, 4)
}

fn select(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = existing_dim(call.int(1)?, &input)?;
    let index = existing_index(call.int(2)?, input.sizes()[dim])?;
    materialize(call, &input, &Layout::of(&input).select(dim, index), 3)
}

/// A dimension of a tensor; one without dimensions has none.
fn existing_dim(dim: i64, input: &TensorView<'_>) -> Result<usize> {
    ensure!(
        input.rank() > 0,
        InvalidInput,
        "a tensor without dimensions has no parts"
    );
    wrap_dim(dim, input.rank())
}

/// A position of a dimension.
fn existing_index(index: i64, size: usize) -> Result<usize> {
    match wrap_index(index, size) {
        Some(index) => Ok(index),
        None => bail!(
            InvalidInput,
            "there is no position {index} in a dimension of size {size}"
        ),
    }
}

fn diagonal(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let layout = diagonal_of(Layout::of(&input), call.int(1)?, call.int(2)?, call.int(3)?)?;
    materialize(call, &input, &layout, 4)
}

/// The diagonal of two dimensions, as a new innermost one.
fn diagonal_of(layout: Layout, offset: i64, a: i64, b: i64) -> Result<Layout> {
    let rank = layout.sizes.len();
    let (row, column) = (wrap_dim(a, rank)?, wrap_dim(b, rank)?);
    ensure!(
        row != column && rank > 1,
        InvalidInput,
        "dimensions {a} and {b} of {rank} do not make a matrix"
    );
    let distance = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
    let (down, right) = if offset < 0 {
        (distance, 0)
    } else {
        (0, distance)
    };
    let rows = layout.sizes[row].saturating_sub(down);
    let len = rows.min(layout.sizes[column].saturating_sub(right));
    let stride = layout.strides[row].saturating_add(layout.strides[column]);
    let (first, second) = (row.max(column), row.min(column));
    let start = layout.slice(row, down, 1, 1).slice(column, right, 1, 1);
    let start = start.without(first).without(second);
    start.with(rank - 2, len, stride)
}

fn unfold(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let dim = wrap_dim(call.int(1)?, input.rank())?;
    let (window, step) = (size_from(call.int(2)?)?, size_from(call.int(3)?)?);
    let mut layout = Layout::of(&input);
    // A tensor without dimensions counts as one with one element.
    if input.rank() == 0 {
        ensure!(
            window <= 1 && step > 0,
            InvalidInput,
            "there is one element to unfold, not {window}"
        );
        return materialize(call, &input, &layout.with(0, window, 1)?, 4);
    }
    let (size, stride) = (layout.sizes[dim], layout.strides[dim]);
    ensure!(
        window <= size && step > 0,
        InvalidInput,
        "a dimension of size {size} has no windows of {window}, {step} apart"
    );
    layout = layout.slice(dim, 0, step, (size - window) / step + 1);
    let layout = layout.with(input.rank(), window, stride)?;
    materialize(call, &input, &layout, 4)
}

fn as_strided(call: &KernelCall<'_>) -> Result<()> {
    let input = call.tensor(0)?;
    let (sizes, strides) = (call.int_list(1)?, call.int_list(2)?);
    ensure!(
        sizes.len() == strides.len(),
        InvalidInput,
        "{sizes:?} and {strides:?} are not sizes and strides of one tensor"
    );
    let mut layout = Layout::row_major(&[])?;
    layout.offset = size_from(call.optional_int(3)?.unwrap_or(0))?;
    for (dim, (&size, &stride)) in sizes.iter().zip(strides).enumerate() {
        layout = layout.with(dim, size_from(size)?, size_from(stride)?)?;
    }
    ensure!(
        layout.end() <= input.numel(),
        InvalidInput,
        "sizes {sizes:?} with strides {strides:?} reach beyond the {} elements that there are",
        input.numel()
    );
    materialize(call, &input, &layout, 4)
}
