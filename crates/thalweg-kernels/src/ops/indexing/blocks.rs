//! Blocks: parts of a tensor of one shape, at places that indices say.

use bytemuck::Pod;
use thalweg_core::{Element, Result, TensorView, TensorViewMut};

use crate::dtype::dispatch::{dispatch, dispatch_size};
use crate::dtype::elements::{elements, elements_mut};
use crate::layout::copy::check_same_type;
use crate::layout::walk::Walk;

/// Blocks of one tensor and the blocks of another one that go there, in order.
pub(super) struct Blocks<'a> {
    /// The start of each block in the target, in elements.
    pub(super) targets: &'a [u64],
    /// The start of each block in the source.
    pub(super) sources: &'a [u64],
    /// The shape of a block.
    pub(super) sizes: &'a [usize],
    pub(super) target_strides: &'a [usize],
    pub(super) source_strides: &'a [usize],
}

impl Blocks<'_> {
    /// Copies every block. Where blocks overlap, the last one stays.
    pub(super) fn copy(
        &self,
        target: &mut TensorViewMut<'_>,
        source: &TensorView<'_>,
    ) -> Result<()> {
        check_same_type(target, source)?;
        let (target, bytes) = (target.bytes_mut(), source.bytes());
        dispatch_size!(source.dtype().size() => T, {
            let (target, source) = (elements_mut::<T>(target)?, elements::<T>(bytes)?);
            let walk = Walk::new(self.sizes, [self.target_strides, self.source_strides])?;
            let run = walk.run_len();
            if walk.steps() == [1, 1] && run >= 16 {
                self.for_each_run(&walk, |t, s| {
                    target[t..t + run].copy_from_slice(&source[s..s + run]);
                });
            } else {
                self.for_each(&walk, |t, s| target[t] = source[s]);
            }
        });
        Ok(())
    }

    /// Adds every block to what is there.
    pub(super) fn add(
        &self,
        target: &mut TensorViewMut<'_>,
        source: &TensorView<'_>,
    ) -> Result<()> {
        check_same_type(target, source)?;
        let walk = Walk::new(self.sizes, [self.target_strides, self.source_strides])?;
        dispatch!(source.dtype(), all => T, {
            let (target, source) = (target.data_mut::<T>()?, source.data::<T>()?);
            self.for_each(&walk, |t, s| target[t] = target[t].plus(source[s]));
        });
        Ok(())
    }

    /// Calls `visit` with the offsets of the elements that belong together.
    #[inline]
    fn for_each(&self, walk: &Walk<2>, mut visit: impl FnMut(usize, usize)) {
        let [target_step, source_step] = walk.steps();
        if target_step > 1 {
            // Elements of a block are apart, so those of neighbouring blocks may be closer. Each block
            // reaches places of its own or the same as another, and then in the same order.
            for run in walk.runs() {
                let [target, source] = run.offsets;
                for i in 0..walk.run_len() {
                    let (target, source) = (target + i * target_step, source + i * source_step);
                    for (&t, &s) in self.targets.iter().zip(self.sources) {
                        visit(target + t as usize, source + s as usize);
                    }
                }
            }
            return;
        }
        self.for_each_run(walk, |t, s| {
            for i in 0..walk.run_len() {
                visit(t + i * target_step, s + i * source_step);
            }
        });
    }

    #[inline]
    fn for_each_run(&self, walk: &Walk<2>, mut visit: impl FnMut(usize, usize)) {
        for run in walk.runs() {
            let [target, source] = run.offsets;
            for (&t, &s) in self.targets.iter().zip(self.sources) {
                visit(target + t as usize, source + s as usize);
            }
        }
    }
}

/// Addition as tensors do it: integers wrap, and of booleans it is "or".
pub(super) trait Plus: Element + Pod {
    fn plus(self, other: Self) -> Self;
}

macro_rules! plus {
    ($($type:ty => |$a:ident, $b:ident| $sum:expr),* $(,)?) => {
        $(impl Plus for $type {
            #[inline]
            fn plus(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $sum
            }
        })*
    };
}

plus! {
    u8 => |a, b| a.wrapping_add(b),
    u16 => |a, b| a.wrapping_add(b),
    u32 => |a, b| a.wrapping_add(b),
    u64 => |a, b| a.wrapping_add(b),
    i8 => |a, b| a.wrapping_add(b),
    i16 => |a, b| a.wrapping_add(b),
    i32 => |a, b| a.wrapping_add(b),
    i64 => |a, b| a.wrapping_add(b),
    thalweg_core::f16 => |a, b| a + b,
    thalweg_core::bf16 => |a, b| a + b,
    f32 => |a, b| a + b,
    f64 => |a, b| a + b,
    thalweg_core::Complex32 => |a, b| a + b,
    thalweg_core::Complex64 => |a, b| a + b,
    thalweg_core::Bool => |a, b| (a.get() || b.get()).into(),
}
