//! Shapes of images and of the windows over them.

use thalweg_core::{Dims, KernelCall, Result, bail, ensure};

use crate::ordering::ChannelOrder;

/// The shape of a batch of images, or of one image.
#[derive(Clone, Copy)]
pub(super) struct Images {
    pub(super) channels: usize,
    pub(super) sizes: [usize; 2],
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
    /// The first that is not before the input.
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

impl Images {
    pub(super) fn of(sizes: &[usize]) -> Result<Self> {
        match *sizes {
            [channels, height, width] | [_, channels, height, width] => Ok(Self {
                channels,
                sizes: [height, width],
            }),
            _ => bail!(Operator, "shape {sizes:?} is not that of images"),
        }
    }

    /// The dim order of shape `sizes` with the channels in a place.
    pub(super) fn dim_order(sizes: &[usize], channels: ChannelOrder) -> &'static [u8] {
        channels.dim_order(sizes.len() > 3, 2)
    }

    /// The order to compute an output in: channels last if it is that, else channels first.
    pub(super) fn order_of(sizes: &[usize], dim_order: &[u8]) -> ChannelOrder {
        let is_batch = sizes.len() > 3;
        ChannelOrder::of(sizes, dim_order, is_batch, ChannelOrder::First)
            .unwrap_or(ChannelOrder::First)
    }

    pub(super) fn positions(&self) -> usize {
        self.sizes[0].saturating_mul(self.sizes[1])
    }

    /// A shape with images of another size.
    pub(super) fn with_sizes(&self, shape: &[usize], sizes: [usize; 2]) -> Result<Dims> {
        let mut shape = Dims::from_slice(shape)?;
        let rank = shape.len();
        shape[rank - 2..].copy_from_slice(&sizes);
        thalweg_core::numel(&shape)?;
        Ok(shape)
    }
}

impl Axis {
    /// Reads kernel size, stride and padding, at `first` and the following positions, and the
    /// dilation.
    pub(super) fn read(
        call: &KernelCall<'_>,
        input: [usize; 2],
        first: usize,
        dilation: Option<usize>,
        ceil: bool,
    ) -> Result<[Self; 2]> {
        let kernel = pair(call, first, 1)?;
        let stride = if call.int_list(first + 1)?.is_empty() {
            kernel
        } else {
            pair(call, first + 1, 1)?
        };
        let padding = pair(call, first + 2, 0)?;
        let dilation = match dilation {
            Some(position) => pair(call, position, 1)?,
            None => [1; 2],
        };
        let axis = |dim: usize| {
            Self {
                input: input[dim],
                output: 0,
                kernel: kernel[dim],
                stride: stride[dim],
                padding: padding[dim],
                dilation: dilation[dim],
            }
            .with_output(ceil)
        };
        Ok([axis(0)?, axis(1)?])
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
        let skipped = self.padding.saturating_sub(origin).div_ceil(self.dilation);
        let start = origin + skipped * self.dilation - self.padding;
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

impl Taps {
    #[inline]
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        (self.start..self.end).step_by(self.step)
    }
}

/// A list of two numbers, or of one for both.
fn pair(call: &KernelCall<'_>, position: usize, least: i64) -> Result<[usize; 2]> {
    let list = call.int_list(position)?;
    let numbers = match *list {
        [both] => [both, both],
        [first, second] => [first, second],
        _ => bail!(
            Operator,
            "{}: {list:?} is not a list of two numbers",
            call.name(position)
        ),
    };
    for number in numbers {
        ensure!(
            (least..=i64::from(i32::MAX)).contains(&number),
            Operator,
            "{}: {number} is out of range",
            call.name(position)
        );
    }
    Ok(numbers.map(|number| number as usize))
}
