//! The kernels of matmuls.

use half::{bf16, f16};
use thalweg_simgpu::{KernelFault, Launch};

use super::{Done, require};

/// The arguments of a launch.
struct Matmul<'l> {
    launch: &'l Launch<'l>,
    /// The bits of a weight; 0 for packed weights of 4 bits.
    bits: usize,
    m: usize,
    n: usize,
    k: usize,
    /// The strides of activations.
    row: usize,
    column: usize,
    /// True if the kernel reads eight activations at once.
    vectorized: bool,
    groups: usize,
    group: usize,
    inner: usize,
}

/// Computes a matmul. `unit` and `tokens` are constants of the kernel.
pub(super) fn matmul(launch: &Launch<'_>, bits: usize, unit: usize, tokens: usize) -> Done {
    let matmul = Matmul::new(launch, bits)?;
    matmul.check_launch(unit, tokens)?;
    let Matmul { m, n, k, .. } = matmul;
    let (row, column) = (matmul.row, matmul.column);
    let a = launch.read::<u16>(matmul.pointer(0)?, (m - 1) * row + (k - 1) * column + 1)?;
    let weights = matmul.weights()?;
    let out = launch.write::<u16>(matmul.pointer(16)?, m * n)?;
    for (index, out) in out.iter_mut().enumerate() {
        let (token, of_row) = (index / n, &weights[index % n * k..][..k]);
        let terms = of_row
            .iter()
            .enumerate()
            .map(|(at, weight)| f64::from(bf16::from_bits(a[token * row + at * column])) * weight);
        *out = bf16::from_f64(terms.sum()).to_bits();
    }
    Ok(())
}

impl<'l> Matmul<'l> {
    fn new(launch: &'l Launch<'l>, bits: usize) -> Result<Self, KernelFault> {
        let int = |at: usize| launch.argument::<i32>(at).map(|value| value as usize);
        let long = |at: usize| launch.argument::<i64>(at).map(|value| value as usize);
        Ok(Self {
            launch,
            bits,
            row: long(1)?,
            column: long(2)?,
            vectorized: int(3)? != 0,
            m: int(4)?,
            n: int(5)?,
            k: int(6)?,
            group: 1 << int(13)?,
            groups: int(14)?,
            inner: int(15)?,
        })
    }

    fn pointer(&self, at: usize) -> Result<u64, KernelFault> {
        self.launch.argument::<u64>(at)
    }

    /// Checks the launch configuration, and what the kernel expects of its arguments.
    fn check_launch(&self, unit: usize, tokens: usize) -> Done {
        let launch = self.launch;
        let &Self { m, n, k, .. } = self;
        // The blocks among which the rows of 8 warps are split.
        let split = match tokens {
            8 => 8,
            32 => 2,
            _ => 1,
        };
        let rows = 16 * 8 / split;
        let [grid_x, grid_y, _] = launch.grid().map(|size| size as usize);
        require(launch.block() == [256, 1, 1], "256 threads")?;
        require(
            grid_x == n.div_ceil(rows) && grid_y == m.div_ceil(tokens),
            "a block for each row and token",
        )?;
        let aligned = (self.row.is_multiple_of(8) || m == 1) && self.pointer(0)?.is_multiple_of(16);
        require(
            !self.vectorized || (self.column == 1 && aligned),
            "eight neighbours wherever they are read at once",
        )?;
        let (groups, group) = (self.groups, self.group);
        require(
            k % 32 == 0 && k == groups * group && group % unit == 0,
            "groups that fit",
        )?;
        // The shared memory of a block: tiles of rows, sums, activations.
        let (tile, stages, low_pitch, high_pitch) = match self.bits {
            0 => (256, 2, 128, 0),
            4 => (256, 2, 144, 0),
            5 => (128, 3, 80, 16),
            6 => (128, 3, 80, 48),
            _ => (128, 2, 144, 0),
        };
        let units = tile / unit;
        let scale_bytes = if self.bits == 6 { 4 } else { 8 };
        let stage = 16 * (low_pitch + high_pitch) + units * 16 * scale_bytes;
        let for_tokens = units * tokens * 4 + tokens.min(m) * (tile * 2 + 64);
        let needed = 8 * stages * stage + split * for_tokens;
        require(
            launch.shared_bytes() as usize >= needed,
            "enough shared memory",
        )
    }

    /// The dequantized weights, `[n, k]`.
    fn weights(&self) -> Result<Vec<f64>, KernelFault> {
        match self.bits {
            0 => self.int4_packed(),
            8 => self.int8(),
            6 => self.int6(),
            _ => self.int4_or_int5(),
        }
    }

    fn int4_packed(&self) -> Result<Vec<f64>, KernelFault> {
        let low = self.low()?;
        let pairs = self.read::<u16>(10, self.groups * self.n * 2)?;
        let inner = self.inner;
        Ok(self.fill(|row, at| {
            let pair = (at / self.group * self.n + row) * 2;
            let number = |at: usize| f64::from(bf16::from_bits(pairs[at]));
            // Words of a warp's lanes: rows of eight, tiles of 16 k of which `inner` are together.
            let (tile, in_tile) = (at / 16, at % 16);
            let word = ((row / 8 * (self.k / 16 / inner) + tile / inner) * 32
                + row % 8 * 4
                + in_tile % 8 / 2)
                * (inner / 2)
                + tile % inner / 2;
            let bytes = [0, 1, 2, 3].map(|byte| low[word * 4 + byte]);
            let nibble = tile % 2 * 2 + in_tile / 8 + in_tile % 2 * 4;
            let code = u32::from_le_bytes(bytes) >> (nibble * 4) & 15;
            (f64::from(code) - 8.0) * number(pair) + number(pair + 1)
        }))
    }

    fn int8(&self) -> Result<Vec<f64>, KernelFault> {
        let low = self.low()?;
        let scales = self.read::<u16>(10, self.n * self.groups)?;
        let zeros = self.of_groups(11)?;
        Ok(self.fill(|row, at| {
            let of_group = row * self.groups + at / self.group;
            let weight = f64::from(low[row * self.k + at] as i8) - f64::from(zeros[of_group] as i8);
            weight * f64::from(bf16::from_bits(scales[of_group]))
        }))
    }

    fn int6(&self) -> Result<Vec<f64>, KernelFault> {
        let k = self.k;
        let low = self.low()?;
        let high = self.read::<u8>(8, self.n * k / 4)?;
        let (scales, steps) = (self.of_groups(9)?, self.steps(10)?);
        Ok(self.fill(|row, at| {
            let byte = row * k / 4 + at / 32 * 8 + at % 2 * 4 + at % 32 / 8;
            let rest = u32::from(high[byte] >> (at % 8 / 2 * 2) & 3);
            let weight = f64::from(self.nibble(low, row, at) | rest << 4) - 32.0;
            let scale = f64::from(scales[row * self.groups + at / self.group] as i8);
            weight * scale * self.step(steps, row, at)
        }))
    }

    fn int4_or_int5(&self) -> Result<Vec<f64>, KernelFault> {
        let k = self.k;
        let low = self.low()?;
        let high: &[u8] = match self.bits {
            5 => self.read::<u8>(8, self.n * k / 8)?,
            _ => &[],
        };
        let (scales, steps) = (self.of_groups(9)?, self.steps(10)?);
        let (zeros, zero_steps) = (self.of_groups(11)?, self.steps(12)?);
        Ok(self.fill(|row, at| {
            let mut code = self.nibble(low, row, at);
            if self.bits == 5 {
                let byte = high[row * k / 8 + at / 32 * 4 + at % 32 / 8];
                code |= u32::from(byte >> (at % 8 / 2 + at % 2 * 4) & 1) << 4;
            }
            let of_group = row * self.groups + at / self.group;
            let zero = f64::from(zeros[of_group]) * self.step(zero_steps, row, at);
            (f64::from(code) - zero) * f64::from(scales[of_group]) * self.step(steps, row, at)
        }))
    }

    fn read<T: thalweg_simgpu::Plain>(
        &self,
        argument: usize,
        count: usize,
    ) -> Result<&'l [T], KernelFault> {
        self.launch.read::<T>(self.pointer(argument)?, count)
    }

    /// The bytes of weights, or of their lower bits.
    fn low(&self) -> Result<&'l [u8], KernelFault> {
        let elements = self.n * self.k;
        let len = if self.bits == 8 {
            elements
        } else {
            elements / 2
        };
        self.read::<u8>(7, len)
    }

    /// A byte for each group.
    fn of_groups(&self, argument: usize) -> Result<&'l [u8], KernelFault> {
        self.read::<u8>(argument, self.n * self.groups)
    }

    /// An f16 number for each 256 weights.
    fn steps(&self, argument: usize) -> Result<&'l [u16], KernelFault> {
        self.read::<u16>(argument, self.n * (self.k / 256))
    }

    fn step(&self, steps: &[u16], row: usize, at: usize) -> f64 {
        f64::from(f16::from_bits(steps[row * (self.k / 256) + at / 256]))
    }

    fn nibble(&self, low: &[u8], row: usize, at: usize) -> u32 {
        u32::from(low[(row * self.k + at) / 2] >> (at % 2 * 4) & 15)
    }

    fn fill(&self, weight: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        (0..self.n * self.k)
            .map(|index| weight(index / self.k, index % self.k))
            .collect()
    }
}
