//! Shapes of images and volumes, and of the windows over them.

use thalweg_core::{Dims, KernelCall, Result, bail, ensure};

use crate::layout::order::MemoryFormat;

/// The shape of a batch of images or volumes, or of one of them. An image is a volume of depth 1.
#[derive(Clone, Copy)]
pub(super) struct Volumes {
    pub(super) channels: usize,
    pub(super) sizes: [usize; 3],
    /// The number of spatial dimensions: 2 or 3.
    spatial: usize,
}

/// Windows along one axis.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    /// Size of the input and of the output.
    pub(super) input: usize,
    pub(super) output: usize,
    pub(super) kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

/// The input positions of a window along one axis.
#[derive(Clone, Copy)]
pub(super) struct Taps {
    /// The first position that is not before the input.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) step: usize,
}

/// A window without gaps along one axis: where it is within the input, and how many positions
/// count.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) count: usize,
}

impl Volumes {
    pub(super) fn of(sizes: &[usize], spatial: usize) -> Result<Self> {
        let (outer, inner) = sizes.split_at(sizes.len().saturating_sub(spatial));
        let (&[channels] | &[_, channels]) = outer else {
            bail!(
                Operator,
                "shape {sizes:?} is not that of images of {spatial} dimensions"
            );
        };
        let mut volumes = Self {
            channels,
            sizes: [1; 3],
            spatial,
        };
        volumes.sizes[3 - spatial..].copy_from_slice(inner);
        Ok(volumes)
    }

    /// The dim order of shape `sizes` with the channels in a place.
    pub(super) fn dim_order(&self, sizes: &[usize], channels: MemoryFormat) -> &'static [u8] {
        channels.dim_order(sizes.len() > self.spatial + 1, self.spatial)
    }

    /// The order to compute an output in: channels last if it is that, else channels first.
    pub(super) fn order_of(&self, sizes: &[usize], dim_order: &[u8]) -> MemoryFormat {
        let is_batch = sizes.len() > self.spatial + 1;
        MemoryFormat::of(sizes, dim_order, is_batch, MemoryFormat::ChannelsFirst)
            .unwrap_or(MemoryFormat::ChannelsFirst)
    }

    pub(super) fn positions(&self) -> usize {
        self.sizes.into_iter().fold(1, usize::saturating_mul)
    }

    /// A shape with images or volumes of another size.
    pub(super) fn with_sizes(&self, shape: &[usize], sizes: [usize; 3]) -> Result<Dims> {
        let mut shape = Dims::from_slice(shape)?;
        let rank = shape.len();
        shape[rank - self.spatial..].copy_from_slice(&sizes[3 - self.spatial..]);
        thalweg_core::numel(&shape)?;
        Ok(shape)
    }

    /// A list of as many numbers as there are spatial dimensions, or of one for all. Before them
    /// comes what does nothing: the `least` number.
    pub(super) fn numbers(
        &self,
        call: &KernelCall<'_>,
        position: usize,
        least: usize,
    ) -> Result<[usize; 3]> {
        let list = call.int_list(position)?;
        let count = self.spatial;
        ensure!(
            list.len() == 1 || list.len() == count,
            Operator,
            "{}: {list:?} is not a list of {count} numbers",
            call.name(position)
        );
        let mut numbers = [least; 3];
        for (index, to) in numbers[3 - count..].iter_mut().enumerate() {
            let number = list[index.min(list.len() - 1)];
            *to = match usize::try_from(number) {
                Ok(number) if number >= least && number <= i32::MAX as usize => number,
                _ => bail!(
                    Operator,
                    "{}: {number} is out of range",
                    call.name(position)
                ),
            };
        }
        Ok(numbers)
    }

    /// The sizes that an adaptive operator is to make.
    pub(super) fn adaptive_sizes(
        &self,
        call: &KernelCall<'_>,
        position: usize,
    ) -> Result<[usize; 3]> {
        let mut sizes = self.numbers(call, position, 0)?;
        sizes[..3 - self.spatial].fill(1);
        ensure!(
            self.positions() > 0 || sizes.contains(&0),
            Operator,
            "there are no windows over images of size {:?}",
            &self.sizes[3 - self.spatial..]
        );
        Ok(sizes)
    }

    /// The windows of an adaptive operator, by axis and output position: as many as `output` has
    /// positions, of nearly the same size, that cover the input.
    pub(super) fn adaptive(self, output: [usize; 3]) -> impl Fn(usize, usize) -> Span + Sync {
        move |axis, index| {
            // In 128 bits, nothing of this overflows.
            let [input, output, index] =
                [self.sizes[axis], output[axis], index].map(|size| size as u128);
            let start = (index * input / output) as usize;
            let end = ((index + 1) * input).div_ceil(output) as usize;
            let count = end - start;
            Span { start, end, count }
        }
    }
}

impl Axis {
    /// Reads kernel size, stride and padding, at `first` and the following positions, and the
    /// dilation.
    pub(super) fn read(
        call: &KernelCall<'_>,
        volumes: &Volumes,
        first: usize,
        dilation: Option<usize>,
        ceil: bool,
    ) -> Result<[Self; 3]> {
        let kernel = volumes.numbers(call, first, 1)?;
        let stride = if call.int_list(first + 1)?.is_empty() {
            kernel
        } else {
            volumes.numbers(call, first + 1, 1)?
        };
        let padding = volumes.numbers(call, first + 2, 0)?;
        let dilation = match dilation {
            Some(position) => volumes.numbers(call, position, 1)?,
            None => [1; 3],
        };
        let axis = |dim: usize| {
            Self {
                input: volumes.sizes[dim],
                output: 0,
                kernel: kernel[dim],
                stride: stride[dim],
                padding: padding[dim],
                dilation: dilation[dim],
            }
            .with_output(ceil)
        };
        Ok([axis(0)?, axis(1)?, axis(2)?])
    }

    fn with_output(mut self, ceil: bool) -> Result<Self> {
        // In 128 bits, nothing of this overflows.
        let [input, kernel, stride, padding, dilation] = [
            self.input,
            self.kernel,
            self.stride,
            self.padding,
            self.dilation,
        ]
        .map(|value| value as i128);
        let window = dilation * (kernel - 1) + 1;
        ensure!(
            padding * 2 <= window,
            Operator,
            "a padding of {padding} is more than half of a window of {window}"
        );
        let room = input + 2 * padding - window;
        let extra = if ceil { stride - 1 } else { 0 };
        let mut output = (room + extra).div_euclid(stride) + 1;
        // A window has to start within the input or the padding before it.
        if ceil && (output - 1) * stride >= input + padding {
            output -= 1;
        }
        match usize::try_from(output) {
            Ok(output) if output > 0 => self.output = output,
            _ => bail!(
                Operator,
                "a window of {window} does not fit an input of {input}"
            ),
        }
        Ok(self)
    }

    /// The positions of the window at an output position.
    pub(super) fn taps(&self, index: usize) -> Taps {
        let origin = index * self.stride;
        // Most windows start within the input, and need no division.
        let start = match self.padding.checked_sub(origin) {
            None | Some(0) => origin - self.padding,
            Some(before) => before.next_multiple_of(self.dilation) - before,
        };
        let end = origin + (self.kernel - 1) * self.dilation + 1;
        Taps {
            start,
            end: end.saturating_sub(self.padding).min(self.input),
            step: self.dilation,
        }
    }

    /// The window at an output position of an axis without dilation. Padding counts.
    pub(super) fn span(&self, index: usize) -> Span {
        let origin = index * self.stride;
        let end = (origin + self.kernel).min(self.input + 2 * self.padding);
        Span {
            start: origin.saturating_sub(self.padding),
            end: end.saturating_sub(self.padding).min(self.input),
            count: end.saturating_sub(origin),
        }
    }
}

impl From<Span> for Taps {
    fn from(span: Span) -> Self {
        Self {
            start: span.start,
            end: span.end,
            step: 1,
        }
    }
}

impl Taps {
    #[inline]
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        (self.start..self.end).step_by(self.step)
    }
}
