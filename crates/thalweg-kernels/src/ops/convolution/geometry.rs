//! The geometry of convolutions: shapes, strides, padding, and the positions of windows.

use std::ops::Range;

use thalweg_core::{Dims, KernelCall, Result, Scalar, StaticArguments, bail, ensure};

use crate::layout::order::MemoryFormat;

/// The arguments of an operator that describe its windows.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a> {
    /// Stride, padding, dilation, output padding.
    pub(super) lists: [&'a [i64]; 4],
    pub(super) transposed: bool,
    pub(super) groups: i64,
}

impl<'a> Parameters<'a> {
    /// The parameters of a call, from the stride at position `first` on.
    pub(super) fn of_call(call: &'a KernelCall<'_>, first: usize) -> Result<Self> {
        Ok(Self {
            lists: [
                call.int_list(first)?,
                call.int_list(first + 1)?,
                call.int_list(first + 2)?,
                call.int_list(first + 4)?,
            ],
            transposed: call.bool(first + 3)?,
            groups: call.int(first + 5)?,
        })
    }

    /// The parameters of an instruction, if none of them changes.
    pub(super) fn known(call: &'a StaticArguments<'_>, first: usize) -> Option<Self> {
        let (Some(Scalar::Bool(transposed)), Some(Scalar::Int(groups))) =
            (call.scalar(first + 3), call.scalar(first + 5))
        else {
            return None;
        };
        Some(Self {
            lists: [
                call.int_list(first)?,
                call.int_list(first + 1)?,
                call.int_list(first + 2)?,
                call.int_list(first + 4)?,
            ],
            transposed,
            groups,
        })
    }
}

/// The shapes of a convolution, in up to three spatial dimensions (the leading ones are 1 where
/// there are fewer).
///
/// A convolution goes from its large to its small side: a window of the large side makes one
/// position of the small one. A transposed convolution goes the other way, and so does the
/// gradient of a convolution's input; so the sides are named by this, not by what is input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Geometry {
    pub(super) batch: usize,
    pub(super) groups: usize,
    pub(super) large: Side,
    pub(super) small: Side,
    pub(super) kernel: [usize; 3],
    pub(super) stride: [usize; 3],
    pub(super) padding: [usize; 3],
    pub(super) dilation: [usize; 3],
}

/// One side of a convolution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    /// Channels of all groups.
    pub(super) channels: usize,
    pub(super) sizes: [usize; 3],
    pub(super) layout: MemoryFormat,
}

impl Geometry {
    /// Checks that everything fits. The layouts are channels first.
    pub(super) fn new(
        parameters: &Parameters<'_>,
        input: &[usize],
        weight: &[usize],
    ) -> Result<Self> {
        let rank = input.len();
        ensure!(
            (3..=5).contains(&rank) && weight.len() == rank,
            Operator,
            "an input of shape {input:?} and a weight of shape {weight:?} do not make a \
             convolution in one to three dimensions"
        );
        let names = ["stride", "padding", "dilation", "output_padding"];
        let spatial = |index: usize, default: usize| {
            spatial(parameters.lists[index], names[index], rank - 2, default)
        };
        let (stride, padding) = (spatial(0, 1)?, spatial(1, 0)?);
        let (dilation, output_padding) = (spatial(2, 1)?, spatial(3, 0)?);
        let (transposed, groups) = (parameters.transposed, parameters.groups);
        let Some(groups) = usize::try_from(groups).ok().filter(|&groups| groups > 0) else {
            bail!(Operator, "there cannot be {groups} groups");
        };
        let (small_channels, per_group) = (weight[0], weight[1]);
        let Some(large_channels) = per_group.checked_mul(groups) else {
            bail!(Operator, "there are too many channels");
        };
        let expected = if transposed {
            small_channels
        } else {
            large_channels
        };
        ensure!(
            small_channels % groups == 0 && input[1] == expected,
            Operator,
            "an input of {} channels does not fit a weight of shape {weight:?} with {groups} \
             groups",
            input[1]
        );
        let given = in_space(&input[2..], 1);
        let kernel = in_space(&weight[2..], 1);
        let mut computed = [1; 3];
        for (dim, computed) in computed.iter_mut().enumerate() {
            let [size, kernel] = [given[dim], kernel[dim]];
            let window = [
                stride[dim],
                padding[dim],
                dilation[dim],
                output_padding[dim],
            ];
            *computed = match output_size(transposed, size, kernel, window) {
                Some(size) => size,
                None => bail!(
                    Operator,
                    "a kernel of shape {:?} does not fit an input of shape {input:?}",
                    &weight[2..]
                ),
            };
        }
        let (large, small) = if transposed {
            (computed, given)
        } else {
            (given, computed)
        };
        let side = |channels, sizes| Side {
            channels,
            sizes,
            layout: MemoryFormat::ChannelsFirst,
        };
        Ok(Self {
            batch: input[0],
            groups,
            large: side(large_channels, large),
            small: side(small_channels, small),
            kernel,
            stride,
            padding,
            dilation,
        })
    }

    /// Channels of one group on the large and on the small side.
    pub(super) fn channels_per_group(&self) -> [usize; 2] {
        [self.large.channels, self.small.channels].map(|channels| channels / self.groups)
    }

    /// The number of positions of the kernel.
    pub(super) fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Returns true if the positions of both sides are the same.
    pub(super) fn is_pointwise(&self) -> bool {
        self.taps() == 1
            && self.stride == [1; 3]
            && self.padding == [0; 3]
            && self.large.sizes == self.small.sizes
    }

    /// Returns true if a window may reach beyond the large side.
    pub(super) fn is_padded(&self) -> bool {
        self.padding != [0; 3]
    }

    /// The taps along an axis whose large position exists, for a small position.
    pub(super) fn taps_at(&self, axis: usize, index: usize) -> Range<usize> {
        let (step, padding) = (self.dilation[axis], self.padding[axis]);
        let origin = index * self.stride[axis];
        let start = padding.saturating_sub(origin).div_ceil(step);
        let behind = (self.large.sizes[axis] + padding).saturating_sub(origin);
        let end = behind.div_ceil(step).min(self.kernel[axis]);
        start.min(end)..end
    }

    /// Distance on the large side of positions that are neighbours on the small side.
    pub(super) fn step(&self) -> usize {
        self.stride[2]
    }

    /// Visits, for one tap of the kernel, the runs of a range of small positions whose large
    /// positions exist: the first small position, counted from the start of the range, how many,
    /// and the first large position. Large positions follow each other by [`step`](Self::step).
    pub(super) fn runs(
        &self,
        tap: usize,
        range: Range<usize>,
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        let [_, rows, width] = self.small.sizes;
        let [depth_l, rows_l, width_l] = self.large.sizes;
        let offset = [
            tap / (self.kernel[1] * self.kernel[2]) * self.dilation[0],
            tap / self.kernel[2] % self.kernel[1] * self.dilation[1],
            tap % self.kernel[2] * self.dilation[2],
        ];
        // Columns whose large position exists.
        let [_, _, step] = self.stride;
        let [_, _, padding] = self.padding;
        let lowest = padding.saturating_sub(offset[2]).div_ceil(step);
        let behind = (width_l + padding).saturating_sub(offset[2]).div_ceil(step);
        let mut position = range.start;
        while position < range.end {
            let (row, column) = (position / width, position % width);
            let count = (width - column).min(range.end - position);
            let large = |index: usize, dim: usize, size: usize| {
                (index * self.stride[dim] + offset[dim])
                    .checked_sub(self.padding[dim])
                    .filter(|&at| at < size)
            };
            let (low, high) = (column.max(lowest), (column + count).min(behind));
            if low < high
                && let Some(z) = large(row / rows, 0, depth_l)
                && let Some(y) = large(row % rows, 1, rows_l)
            {
                let first = (z * rows_l + y) * width_l + low * step + offset[2] - padding;
                visit(position - range.start + low - column, high - low, first);
            }
            position += count;
        }
    }
}

impl Side {
    /// The number of positions.
    pub(super) fn positions(&self) -> usize {
        let sizes = self.sizes.iter();
        sizes.fold(1, |positions, &size| positions.saturating_mul(size))
    }

    /// Distance of channels, and of positions, in elements.
    pub(super) fn strides(&self) -> [usize; 2] {
        match self.layout {
            MemoryFormat::ChannelsFirst => [self.positions(), 1],
            MemoryFormat::ChannelsLast => [1, self.channels],
        }
    }

    /// Elements of one image.
    pub(super) fn len(&self) -> usize {
        self.channels.saturating_mul(self.positions())
    }

    /// The shape of the whole tensor in `rank` dimensions.
    pub(super) fn shape(&self, batch: usize, rank: usize) -> Result<Dims> {
        let mut sizes = Dims::from_slice(&[batch, self.channels])?;
        for &size in &self.sizes[5 - rank.clamp(2, 5)..] {
            sizes.push(size)?;
        }
        Ok(sizes)
    }
}

/// The size of an output along one dimension. `None` if the kernel does not fit the input.
fn output_size(transposed: bool, size: usize, kernel: usize, window: [usize; 4]) -> Option<usize> {
    // In 128 bits, nothing of this overflows.
    let [size, kernel] = [size, kernel].map(|value| value as i128);
    let [stride, padding, dilation, extra] = window.map(|value| value as i128);
    let window = dilation * (kernel - 1) + 1;
    let size = if kernel == 0 {
        -1
    } else if transposed {
        (size - 1) * stride - 2 * padding + window + extra
    } else if size + 2 * padding < window {
        -1
    } else {
        (size + 2 * padding - window) / stride + 1
    };
    usize::try_from(size).ok()
}

/// A list of one number for each spatial dimension, or of one for all.
fn spatial(list: &[i64], name: &str, rank: usize, default: usize) -> Result<[usize; 3]> {
    ensure!(
        list.len() == rank || list.len() == 1,
        Operator,
        "argument `{name}`: {list:?} is not a list of {rank} numbers"
    );
    let mut values = [default; 3];
    for (index, value) in values[3 - rank..].iter_mut().enumerate() {
        let number = list[if list.len() == 1 { 0 } else { index }];
        *value = match usize::try_from(number) {
            Ok(number) if number >= default && number <= u32::MAX as usize => number,
            _ => bail!(Operator, "argument `{name}`: {number} is out of range"),
        };
    }
    Ok(values)
}

/// Spatial sizes, filled up to three dimensions in front.
fn in_space(sizes: &[usize], fill: usize) -> [usize; 3] {
    let mut all = [fill; 3];
    for (to, from) in all.iter_mut().rev().zip(sizes.iter().rev()) {
        *to = *from;
    }
    all
}
