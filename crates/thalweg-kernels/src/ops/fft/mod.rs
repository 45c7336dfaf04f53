//! Fourier transforms, over one dimension after another.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use num_complex::Complex;
use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use thalweg_core::{
    DType, Dims, Element, KernelCall, KernelRegistry, MAX_RANK, Result, TensorViewMut, bail,
    ensure, identity_order, numel,
};

use crate::dtype::float::Real;
use crate::layout::Layout;
use crate::layout::copy::copy_elements;
use crate::layout::dims::{size_from, wrap_dim};
use crate::layout::order::laid_out;
use crate::operator::pure;

pub(crate) fn register(registry: &mut KernelRegistry) -> Result<()> {
    let plans = Arc::new(Plans::default());
    let (r2c, c2r, c2c) = (plans.clone(), plans.clone(), plans);
    registry.add(pure(
        "aten::_fft_r2c.out(Tensor self, int[] dim, int normalization, bool onesided, *, \
         Tensor(a!) out) -> Tensor(a!)",
        move |call| match call.tensor(0)?.dtype() {
            DType::F32 => real_to_complex::<f32>(call, &r2c),
            DType::F64 => real_to_complex::<f64>(call, &r2c),
            other => bail!(Unsupported, "elements of type {other} are not transformed"),
        },
    )?);
    registry.add(pure(
        "aten::_fft_c2r.out(Tensor self, int[] dim, int normalization, SymInt last_dim_size, \
         *, Tensor(a!) out) -> Tensor(a!)",
        move |call| match call.tensor(0)?.dtype() {
            DType::ComplexF32 => complex_to_real::<f32>(call, &c2r),
            DType::ComplexF64 => complex_to_real::<f64>(call, &c2r),
            other => bail!(Unsupported, "elements of type {other} are not transformed"),
        },
    )?);
    registry.add(pure(
        "aten::_fft_c2c.out(Tensor self, SymInt[] dim, int normalization, bool forward, *, \
         Tensor(a!) out) -> Tensor(a!)",
        move |call| match call.tensor(0)?.dtype() {
            DType::ComplexF32 => complex_to_complex::<f32>(call, &c2c),
            DType::ComplexF64 => complex_to_complex::<f64>(call, &c2c),
            other => bail!(Unsupported, "elements of type {other} are not transformed"),
        },
    )?);
    Ok(())
}

/// Ways to compute transforms, by size and direction, made when first needed and kept by the
/// registry.
#[derive(Default)]
struct Plans {
    single: Mutex<Planner<f32>>,
    double: Mutex<Planner<f64>>,
}

struct Planner<R: FftNum> {
    plans: FftPlanner<R>,
    /// The first half of the roots of unity, by number of points, for real signals of an even number.
    roots: HashMap<usize, Arc<[Complex<R>]>>,
}

impl<R: FftNum> Default for Planner<R> {
    fn default() -> Self {
        Self {
            plans: FftPlanner::new(),
            roots: HashMap::new(),
        }
    }
}

impl Plans {
    /// The algorithm for a number of points.
    fn plan<R: Transformed>(&self, points: usize, direction: FftDirection) -> Arc<dyn Fft<R>> {
        self.with(|planner| planner.plans.plan_fft(points, direction))
    }

    /// exp(-2πik / points) for k below half of the points.
    fn roots<R: Transformed>(&self, points: usize) -> Arc<[Complex<R>]> {
        self.with(|planner| {
            let roots = planner.roots.entry(points).or_insert_with(|| {
                let angle = |k: usize| -std::f64::consts::TAU * k as f64 / points as f64;
                let root = |k: usize| Complex::new(R::of(angle(k).cos()), R::of(angle(k).sin()));
                (0..points / 2).map(root).collect()
            });
            roots.clone()
        })
    }

    fn with<R: Transformed, T>(&self, f: impl FnOnce(&mut Planner<R>) -> T) -> T {
        // A planner whose other user has panicked is as good as before.
        let planner = R::planner(self).lock();
        f(&mut planner.unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// Numbers that transforms work on.
trait Transformed: Real + FftNum {
    fn planner(plans: &Plans) -> &Mutex<Planner<Self>>;
}

impl Transformed for f32 {
    fn planner(plans: &Plans) -> &Mutex<Planner<f32>> {
        &plans.single
    }
}

impl Transformed for f64 {
    fn planner(plans: &Plans) -> &Mutex<Planner<f64>> {
        &plans.double
    }
}

fn real_to_complex<R: Transformed>(call: &KernelCall<'_>, plans: &Plans) -> Result<()>
where
    Complex<R>: Element,
{
    let input = call.tensor(0)?;
    let (dims, last) = dims_of(call)?;
    let mut sizes = Dims::from_slice(input.sizes())?;
    let count = points(&sizes, &dims)?;
    if call.bool(3)? {
        sizes[last] = sizes[last] / 2 + 1;
    }
    let mut out = call.output(4, &sizes)?;
    let data = laid_out::<R>(call, input, identity_order(input.rank())?)?;
    let points = input.sizes()[last];
    let is_halved = call.bool(3)? && last + 1 == input.rank() && points % 2 == 0;
    let mut signal = if is_halved {
        let signal = Signal::<R>::new(call, &sizes)?;
        transform_real(call, plans, data, points, signal.data)?;
        signal
    } else {
        let signal = Signal::<R>::new(call, input.sizes())?;
        for (to, &from) in signal.data.iter_mut().zip(data) {
            *to = Complex::new(from, num_traits::Zero::zero());
        }
        signal
    };
    for &dim in dims.iter().rev() {
        if !(is_halved && dim == last) {
            signal.transform(plans, dim, FftDirection::Forward)?;
        }
    }
    signal.scale(factor(call, count)?);
    signal.write(&mut out)
}

/// Transforms lines of an even number of real points to the first half of what comes out, and the one in
/// the middle. Neighbouring points count as one complex number, which makes lines half as long; from
/// their transform follows the other by the symmetry that transforms of real signals have.
fn transform_real<R: Transformed>(
    call: &KernelCall<'_>,
    plans: &Plans,
    data: &[R],
    points: usize,
    to: &mut [Complex<R>],
) -> Result<()>
where
    Complex<R>: Element,
{
    let half = points / 2;
    if data.is_empty() {
        return Ok(());
    }
    let pairs = call.temporary::<Complex<R>>(data.len() / 2)?;
    for (pair, points) in pairs.iter_mut().zip(data.as_chunks::<2>().0) {
        *pair = Complex::new(points[0], points[1]);
    }
    let plan = plans.plan::<R>(half, FftDirection::Forward);
    let scratch = call.temporary(plan.get_inplace_scratch_len())?;
    plan.process_with_scratch(pairs, scratch);
    let roots = plans.roots::<R>(points);
    let by_two = R::of(0.5);
    for (to, line) in to.chunks_exact_mut(half + 1).zip(pairs.chunks_exact(half)) {
        // The sum and the difference of both parts of the first number, which belong to no pair.
        let (first, zero) = (line[0], num_traits::Zero::zero());
        to[0] = Complex::new(first.re + first.im, zero);
        to[half] = Complex::new(first.re - first.im, zero);
        let backwards = line[1..].iter().rev();
        let numbers = line[1..].iter().zip(backwards).zip(&roots[1..]);
        for (to, ((number, opposite), root)) in to[1..half].iter_mut().zip(numbers) {
            let opposite = opposite.conj();
            let (even, odd) = (*number + opposite, *number - opposite);
            // -i times the difference is what the odd points make.
            let odd = Complex::new(odd.im, -odd.re) * *root;
            *to = (even + odd).scale(by_two);
        }
    }
    Ok(())
}

fn complex_to_complex<R: Transformed>(call: &KernelCall<'_>, plans: &Plans) -> Result<()>
where
    Complex<R>: Element,
{
    let input = call.tensor(0)?;
    let mut out = call.output(4, input.sizes())?;
    let mut signal = Signal::<R>::new(call, input.sizes())?;
    let data = laid_out::<Complex<R>>(call, input, identity_order(input.rank())?)?;
    signal.data.copy_from_slice(data);
    // Without dimensions, nothing is transformed.
    if !call.int_list(1)?.is_empty() {
        let (dims, _) = dims_of(call)?;
        let count = points(input.sizes(), &dims)?;
        for &dim in &*dims {
            signal.transform(plans, dim, direction(call.bool(3)?))?;
        }
        signal.scale(factor(call, count)?);
    }
    signal.write(&mut out)
}

/// Backwards, to the real signal that has the input as the first half of its transform. What the
/// other half contradicts is ignored.
fn complex_to_real<R: Transformed>(call: &KernelCall<'_>, plans: &Plans) -> Result<()>
where
    Complex<R>: Element,
{
    let input = call.tensor(0)?;
    let (dims, last) = dims_of(call)?;
    let mut sizes = Dims::from_slice(input.sizes())?;
    let given = sizes[last];
    sizes[last] = size_from(call.int(3)?)?;
    let size = sizes[last];
    let half = size / 2 + 1;
    ensure!(
        given >= half,
        Operator,
        "a signal of {size} points has a transform of {half} numbers, not of {given}"
    );
    let count = points(&sizes, &dims)?;
    let mut out = call.output(4, &sizes)?;

    let mut signal = Signal::<R>::new(call, input.sizes())?;
    let data = laid_out::<Complex<R>>(call, input, identity_order(input.rank())?)?;
    signal.data.copy_from_slice(data);
    for &dim in dims.iter().filter(|&&dim| dim != last) {
        signal.transform(plans, dim, FftDirection::Inverse)?;
    }
    signal.bring_inside(last)?;
    let mut whole = Signal::<R>::new(call, &sizes)?;
    whole.inner = Some(last);
    for (line, first) in whole
        .data
        .chunks_exact_mut(size)
        .zip(signal.data.chunks_exact(given))
    {
        line[..half].copy_from_slice(&first[..half]);
        line[0].im = num_traits::Zero::zero();
        if size % 2 == 0 {
            line[half - 1].im = num_traits::Zero::zero();
        }
        for at in half..size {
            line[at] = line[size - at].conj();
        }
    }
    whole.transform(plans, last, FftDirection::Inverse)?;
    whole.scale(factor(call, count)?);
    let from = whole.layout()?;
    let real = call.temporary::<R>(whole.data.len())?;
    for (to, from) in real.iter_mut().zip(&*whole.data) {
        *to = from.re;
    }
    let to = Layout::of_output(&out);
    copy_elements(out.data_mut::<R>()?, &to, real, &from, call.threads())
}

/// The dimensions to transform, and the last of them.
fn dims_of(call: &KernelCall<'_>) -> Result<(Dims, usize)> {
    let rank = call.tensor(0)?.rank();
    let mut dims = Dims::new();
    for &dim in call.int_list(1)? {
        let dim = wrap_dim(dim, rank)?;
        ensure!(
            dim < rank && !dims.contains(&dim),
            Operator,
            "dimensions {:?} of {:?} cannot be transformed",
            call.int_list(1)?,
            call.tensor(0)?
        );
        dims.push(dim)?;
    }
    match dims.last() {
        Some(&last) => Ok((dims, last)),
        None => bail!(Operator, "there is no dimension to transform"),
    }
}

/// Points transformed together.
fn points(sizes: &[usize], dims: &[usize]) -> Result<f64> {
    let mut count = 1.0;
    for &dim in dims {
        ensure!(
            sizes[dim] > 0,
            Operator,
            "dimension {dim} of shape {sizes:?} has no points to transform"
        );
        count *= sizes[dim] as f64;
    }
    Ok(count)
}

/// The factor of a transform of some number of points.
fn factor(call: &KernelCall<'_>, count: f64) -> Result<f64> {
    match call.int(2)? {
        0 => Ok(1.0),
        1 => Ok(count.sqrt().recip()),
        2 => Ok(count.recip()),
        other => bail!(Operator, "there is no normalization {other}"),
    }
}

fn direction(is_forward: bool) -> FftDirection {
    if is_forward {
        FftDirection::Forward
    } else {
        FftDirection::Inverse
    }
}

/// The points to transform, in temporary memory, with one dimension after another innermost.
struct Signal<'a, R> {
    call: &'a KernelCall<'a>,
    sizes: Dims,
    /// The dimension that is innermost, if it is not the last.
    inner: Option<usize>,
    data: &'a mut [Complex<R>],
}

impl<'a, R: Transformed> Signal<'a, R>
where
    Complex<R>: Element,
{
    fn new(call: &'a KernelCall<'_>, sizes: &[usize]) -> Result<Self> {
        Ok(Self {
            call,
            sizes: Dims::from_slice(sizes)?,
            inner: None,
            data: call.temporary(numel(sizes)?)?,
        })
    }

    fn transform(&mut self, plans: &Plans, dim: usize, direction: FftDirection) -> Result<()> {
        self.bring_inside(dim)?;
        let plan = plans.plan::<R>(self.sizes[dim], direction);
        if !self.data.is_empty() {
            let scratch = self.call.temporary(plan.get_inplace_scratch_len())?;
            plan.process_with_scratch(self.data, scratch);
        }
        Ok(())
    }

    /// Moves the elements so that those along a dimension are neighbours.
    fn bring_inside(&mut self, dim: usize) -> Result<()> {
        let from = self.layout()?;
        self.inner = Some(dim);
        let to = self.layout()?;
        if from.strides != to.strides {
            let moved = self.call.temporary(self.data.len())?;
            copy_elements(moved, &to, self.data, &from, self.call.threads())?;
            self.data = moved;
        }
        Ok(())
    }

    fn layout(&self) -> Result<Layout> {
        let rank = self.sizes.len();
        let mut order = [0; MAX_RANK];
        let order = &mut order[..rank];
        order.copy_from_slice(identity_order(rank)?);
        if let Some(inner) = self.inner {
            order[inner..].rotate_left(1);
        }
        Layout::dense(&self.sizes, order)
    }

    fn scale(&mut self, factor: f64) {
        if factor != 1.0 {
            let factor = R::of(factor);
            self.data.iter_mut().for_each(|x| *x = x.scale(factor));
        }
    }

    /// Leaves in `out` as much as it has room for along each dimension.
    fn write(&self, out: &mut TensorViewMut<'_>) -> Result<()> {
        let mut from = self.layout()?;
        from.sizes = Dims::from_slice(out.sizes())?;
        let to = Layout::of_output(out);
        let out = out.data_mut::<Complex<R>>()?;
        copy_elements(out, &to, self.data, &from, self.call.threads())
    }
}
