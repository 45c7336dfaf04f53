//! Convolutions with constant weights, in programs, against the definition in f64.

use std::cell::Cell;

use proptest::prelude::*;
use thalweg_core::{DType, KernelRegistry, PrepackFn, Result, StaticArguments, Tensor, strides_of};
use thalweg_format::{MethodBuilder, ProgramBuilder, ScalarType, Value, WriteOptions};
use thalweg_runtime::{LoadOptions, RunOptions, Runtime};

use super::epilogue::FusedEpilogue;
use super::prepack::{Prepacked, prepack_for};
use crate::simd::Isa;
use crate::testing::random_cases;

thread_local! {
    /// The number of convolutions that were prepacked for channels last.
    static READY: Cell<usize> = const { Cell::new(0) };
}

/// The function that prepacks convolutions for an instruction set.
fn preparation(isa: Isa) -> PrepackFn {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => |call| prepare(Isa::Avx512, call),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => |call| prepare(Isa::Avx2, call),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => |call| prepare(Isa::Neon, call),
        Isa::Any => |call| prepare(Isa::Any, call),
    }
}

fn prepare(isa: Isa, call: &StaticArguments<'_>) -> Result<Option<thalweg_core::Prepacked>> {
    let prepared = prepack_for(isa, call, FusedEpilogue::default())?;
    let prepacked = prepared
        .as_ref()
        .and_then(thalweg_core::Prepacked::get::<Prepacked>);
    if prepacked.is_some_and(|prepacked| prepacked.last.is_some()) {
        READY.set(READY.get() + 1);
    }
    Ok(prepared)
}

/// A convolution in one to three dimensions.
#[derive(Clone, Debug)]
struct Case {
    batch: usize,
    groups: usize,
    /// Channels of a group, in and out.
    channels: [usize; 2],
    /// For each dimension: size, kernel, stride, padding, dilation.
    axes: Vec<[usize; 5]>,
    bias: bool,
    /// True if the input, and if the output, has its channels last.
    last: [bool; 2],
    threads: usize,
}

impl Case {
    fn input(&self) -> Vec<usize> {
        self.shape(self.channels[0], |axis| axis[0])
    }

    fn output(&self) -> Vec<usize> {
        self.shape(
            self.channels[1],
            |&[size, kernel, stride, padding, dilation]| {
                (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1
            },
        )
    }

    fn shape(&self, channels: usize, size: impl Fn(&[usize; 5]) -> usize) -> Vec<usize> {
        let start = [self.batch, channels * self.groups].into_iter();
        start.chain(self.axes.iter().map(size)).collect()
    }

    fn weight(&self) -> Vec<usize> {
        let start = [self.channels[1] * self.groups, self.channels[0]].into_iter();
        start.chain(self.axes.iter().map(|axis| axis[1])).collect()
    }

    fn fits(&self) -> bool {
        self.axes
            .iter()
            .all(|[size, kernel, _, padding, dilation]| {
                size + 2 * padding > dilation * (kernel - 1)
            })
    }

    fn order(&self, last: bool) -> Vec<u8> {
        let rank = self.axes.len() as u8 + 2;
        match last {
            true => [0].into_iter().chain(2..rank).chain([1]).collect(),
            false => (0..rank).collect(),
        }
    }

    fn program(&self, weight: &[f32], bias: &[f32]) -> Vec<u8> {
        let mut program = ProgramBuilder::new();
        let data = [weight, bias].map(|data| program.constant(bytemuck::cast_slice::<_, u8>(data)));
        let mut method = MethodBuilder::new("forward");
        let sizes = |sizes: Vec<usize>| sizes.iter().map(|&size| size as u32).collect::<Vec<_>>();
        let x = method.tensor(ScalarType::Float, &sizes(self.input()));
        let out = method.tensor(ScalarType::Float, &sizes(self.output()));
        for (value, last) in [(x, self.last[0]), (out, self.last[1])] {
            if let Value::Tensor(tensor) = &mut method.edit().values[value as usize] {
                tensor.dim_order = self.order(last);
            }
        }
        method.input(x);
        let weight = method.constant(ScalarType::Float, &sizes(self.weight()), data[0]);
        let bias = match self.bias {
            true => method.constant(ScalarType::Float, &[bias.len() as u32], data[1]),
            false => method.none(),
        };
        let mut list = |part: usize| {
            let items: Vec<i64> = self.axes.iter().map(|axis| axis[part] as i64).collect();
            method.int_list(&items)
        };
        let [stride, padding, dilation] = [2, 3, 4].map(&mut list);
        let zero = method.int_list(&vec![0; self.axes.len()]);
        let (transposed, groups) = (method.bool(false), method.int(self.groups as i64));
        let arguments = [
            x, weight, bias, stride, padding, dilation, transposed, zero, groups, out, out,
        ];
        method.call("aten::convolution.out", &arguments);
        method.output(out);
        program.method(method);
        let program = program.build().unwrap();
        program.to_bytes(&WriteOptions::default()).unwrap()
    }

    /// Each result, and the sum of the absolute values of what it is the sum of.
    fn by_definition(&self, x: &[f32], weight: &[f32], bias: &[f32]) -> Vec<[f64; 2]> {
        let (input, output, kernel) = (self.input(), self.output(), self.weight());
        let [inputs, outputs] = self.channels;
        let taps: usize = kernel[2..].iter().product();
        let digits = |mut index: usize, sizes: &[usize]| {
            let mut digits = vec![0; sizes.len()];
            for (digit, size) in digits.iter_mut().zip(sizes).rev() {
                (*digit, index) = (index % size, index / size);
            }
            digits
        };
        let result = |index: usize| {
            let at = digits(index, &output);
            let (image, channel) = (at[0], at[1]);
            let start = if self.bias {
                f64::from(bias[channel])
            } else {
                0.0
            };
            let mut sum = [start, start.abs()];
            for tap in 0..taps {
                let offsets = digits(tap, &kernel[2..]);
                let place = self
                    .axes
                    .iter()
                    .enumerate()
                    .try_fold(0, |place, (dim, axis)| {
                        let [size, _, stride, padding, dilation] = *axis;
                        let position = at[dim + 2] * stride + offsets[dim] * dilation;
                        let position = position.checked_sub(padding).filter(|&p| p < size)?;
                        Some(place * size + position)
                    });
                let Some(place) = place else { continue };
                for c in 0..inputs {
                    let from = channel / outputs * inputs + c;
                    let positions: usize = input[2..].iter().product();
                    let x = x[(image * input[1] + from) * positions + place];
                    let product =
                        f64::from(x) * f64::from(weight[(channel * inputs + c) * taps + tap]);
                    sum = [sum[0] + product, sum[1] + product.abs()];
                }
            }
            sum
        };
        (0..output.iter().product()).map(result).collect()
    }

    fn check(&self) {
        let (input, output) = (self.input(), self.output());
        let x = numbers(input.iter().product(), 1);
        let weight = numbers(self.weight().iter().product(), 2);
        let bias = numbers(output[1], 3);
        let expected = self.by_definition(&x, &weight, &bias);
        let mut laid_out = vec![0.0; x.len()];
        let to = places(&input, &self.order(self.last[0]));
        x.iter().zip(to).for_each(|(&x, to)| laid_out[to] = x);
        let order = self.order(self.last[0]);
        let x = Tensor::from_bytes(DType::F32, &input, &order, bytemuck::cast_slice(&laid_out));
        let x = x.unwrap();
        let depth = self.weight()[1..].iter().product::<usize>() as f64;
        for isa in Isa::all() {
            let mut kernels = KernelRegistry::new();
            super::register(&mut kernels).unwrap();
            let convolution = kernels.get("aten::convolution.out").unwrap().clone();
            kernels.add(convolution.with_prepack(preparation(isa)));
            let runtime = Runtime::builder().kernels(&kernels).threads(2).build();
            let bytes = self.program(&weight, &bias);
            let program = runtime.load_bytes(bytes, &LoadOptions::new()).unwrap();
            let mut method = program.method("forward").unwrap();
            // All but those of one channel at many positions are for these loops.
            let is_column = output[1] == 1 && output[2..].iter().any(|&size| size > 1);
            assert_eq!(READY.take(), usize::from(!is_column), "{self:?}");
            let options = RunOptions::new().threads(self.threads);
            // What the memory has from a call before must not matter.
            for _ in 0..2 {
                let outputs = method.run_with(&[(&x).into()], &options).unwrap();
                let found = outputs.tensor(0).unwrap();
                let data = found.data::<f32>().unwrap();
                let places = places(&output, &self.order(self.last[1]));
                for (index, (at, [sum, size])) in places.zip(&expected).enumerate() {
                    let bound = (size + 1.0) * (depth + 4.0) * f64::from(f32::EPSILON);
                    let error = (f64::from(data[at]) - sum).abs();
                    assert!(
                        error <= bound,
                        "{isa:?}: result {index} is {} and not {sum}: {self:?}",
                        data[at]
                    );
                }
            }
        }
    }
}

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i * 7919 + seed * 104_729) % 1999) as f32 / 1000.0 - 1.0)
        .collect()
}

/// The place of each element in memory, in logical order.
fn places(sizes: &[usize], order: &[u8]) -> impl Iterator<Item = usize> + use<> {
    let (sizes, strides) = (sizes.to_vec(), strides_of(sizes, order).to_vec());
    (0..sizes.iter().product()).map(move |index: usize| {
        let (mut rest, mut at) = (index, 0);
        for dim in (0..sizes.len()).rev() {
            at += rest % sizes[dim] * strides[dim];
            rest /= sizes[dim];
        }
        at
    })
}

proptest! {
    #![proptest_config(random_cases(128))]

    #[test]
    fn convolutions_with_channels_last_are_those_of_the_definition_on_every_machine(
        batch in 1usize..4,
        groups in prop::sample::select(vec![1usize, 1, 1, 2, 3]),
        channels in [1usize..20, 1usize..40],
        axes in prop::collection::vec([1usize..13, 1usize..4, 1usize..4, 0usize..3, 1usize..3], 1..4),
        pointwise in prop::bool::weighted(0.25),
        bias in any::<bool>(),
        last in prop::sample::select(vec![[true, true], [true, true], [false, true], [true, false]]),
        threads in 1usize..3,
    ) {
        let mut axes = axes;
        if pointwise {
            axes.iter_mut().for_each(|axis| axis[1..].copy_from_slice(&[1, 1, 0, 1]));
        }
        let case = Case { batch, groups, channels, axes, bias, last, threads };
        prop_assume!(case.fits());
        case.check();
    }

    #[test]
    fn depthwise_convolutions_with_channels_last_are_those_of_the_definition_on_every_machine(
        batch in 1usize..3,
        groups in 1usize..70,
        axes in prop::collection::vec([1usize..14, 1usize..5, 1usize..3, 0usize..4, 1usize..3], 1..4),
        bias in any::<bool>(),
        last in prop::sample::select(vec![[true, true], [true, true], [false, true], [true, false]]),
        threads in 1usize..3,
    ) {
        let case = Case { batch, groups, channels: [1, 1], axes, bias, last, threads };
        prop_assume!(case.fits());
        case.check();
    }
}

#[test]
fn large_convolutions_go_by_blocks_and_share_their_work() {
    let case = Case {
        batch: 2,
        groups: 1,
        channels: [40, 33],
        axes: vec![[30, 3, 1, 1, 1], [29, 3, 1, 1, 1]],
        bias: true,
        last: [true, true],
        threads: 2,
    };
    case.check();
    let pointwise = Case {
        channels: [70, 65],
        axes: vec![[40, 1, 1, 0, 1], [23, 1, 1, 0, 1]],
        ..case.clone()
    };
    pointwise.check();
    let depthwise = Case {
        groups: 150,
        channels: [1, 1],
        axes: vec![[30, 3, 2, 1, 1], [61, 5, 1, 2, 1]],
        ..case
    };
    depthwise.check();
}
