//! The computations of engines.

use std::collections::BTreeMap;

use super::dtype::{DType, Number};
use super::shape::elements;
use super::spec::{Compute, EngineSpec};

/// The numbers of an input.
pub(super) struct Values {
    pub(super) shape: Vec<i64>,
    pub(super) dtype: DType,
    pub(super) bytes: Vec<u8>,
}

impl Values {
    fn numbers(&self) -> Vec<Number> {
        self.dtype.numbers(&self.bytes)
    }
}

/// The result of a computation: its shape, and pieces of it by their offset in bytes. A result in
/// the memory of an input need not be written wholly.
pub(super) struct Made {
    pub(super) shape: Vec<i64>,
    pub(super) pieces: Vec<(u64, Vec<u8>)>,
}

/// A computation: its inputs, and the shape and type of its result.
pub(super) struct Computation<'a> {
    pub(super) compute: &'a Compute,
    pub(super) inputs: BTreeMap<String, Values>,
    pub(super) shape: Vec<i64>,
    pub(super) dtype: DType,
    /// True if the result is in the memory of an input.
    pub(super) in_place: bool,
}

impl Computation<'_> {
    fn input(&self, name: &str) -> Result<&Values, String> {
        self.inputs
            .get(name)
            .ok_or_else(|| format!("{name} was not read"))
    }

    fn whole(&self, numbers: impl IntoIterator<Item = Number>) -> Made {
        let mut bytes = Vec::new();
        for number in numbers {
            self.dtype.put(number, &mut bytes);
        }
        Made {
            shape: self.shape.clone(),
            pieces: vec![(0, bytes)],
        }
    }

    pub(super) fn run(&self) -> Result<Made, String> {
        match self.compute {
            Compute::Affine {
                terms, constant, ..
            } => self.affine(terms, *constant),
            Compute::Matmul { input, seed, .. } => self.matmul(input, *seed),
            Compute::Gather { input, indices, .. } => self.gather(input, indices),
            Compute::CacheUpdate {
                cache,
                update,
                position,
                axis,
                ..
            } => self.cache_update(cache, update, position, *axis),
            Compute::NonZero { input, .. } => self.nonzero(input),
            Compute::Sum { input, .. } => self.sum(input),
        }
    }

    fn affine(&self, terms: &[(f64, String)], constant: f64) -> Result<Made, String> {
        let count = elements(&self.shape) as usize;
        let start = if constant == constant.trunc() {
            Number::Whole(constant as i64)
        } else {
            Number::Real(constant)
        };
        let mut sums = vec![start; count];
        for (factor, name) in terms {
            let numbers = self.input(name)?.numbers();
            if numbers.len() != count && numbers.len() != 1 {
                let n = numbers.len();
                return Err(format!("{name} has {n} elements, and the result {count}"));
            }
            for (index, sum) in sums.iter_mut().enumerate() {
                let number = numbers[if numbers.len() == 1 { 0 } else { index }];
                *sum = sum.plus(*factor, number);
            }
        }
        Ok(self.whole(sums))
    }

    fn matmul(&self, input: &str, seed: u64) -> Result<Made, String> {
        let input = self.input(input)?;
        let k = input.shape.last().map_or(1, |&k| k.max(0) as usize);
        let n = self.shape.last().map_or(1, |&n| n.max(0) as usize);
        let numbers = input.numbers();
        let mut products = Vec::new();
        for row in numbers.chunks_exact(k.max(1)) {
            for j in 0..n {
                let mut sum = Number::Whole(0);
                for (k, number) in row.iter().enumerate() {
                    sum = sum.plus(EngineSpec::weight(seed, k, j), *number);
                }
                products.push(sum);
            }
        }
        let count = elements(&self.shape) as usize;
        if products.len() != count {
            return Err(format!("{} products for {count} elements", products.len()));
        }
        Ok(self.whole(products))
    }

    fn gather(&self, input: &str, indices: &str) -> Result<Made, String> {
        let (input, indices) = (self.input(input)?, self.input(indices)?);
        let rows = input.shape.first().copied().unwrap_or(1);
        let row = elements(input.shape.get(1..).unwrap_or_default()) as usize;
        let numbers = input.numbers();
        let mut gathered = Vec::new();
        for index in indices.numbers() {
            let index = index.whole();
            let index = if index < 0 { index + rows } else { index };
            let start = usize::try_from(index).ok().filter(|_| index < rows);
            let Some(start) = start.map(|index| index * row) else {
                return Err(format!("there is no row {index} of {rows}"));
            };
            gathered.extend_from_slice(&numbers[start..start + row]);
        }
        Ok(self.whole(gathered))
    }

    fn cache_update(
        &self,
        cache: &str,
        update: &str,
        position: &str,
        axis: usize,
    ) -> Result<Made, String> {
        let (cache, update) = (self.input(cache)?, self.input(update)?);
        let position = self.input(position)?.numbers();
        let position = position.first().map_or(0, |position| position.whole());
        let size = self.dtype.size() as u64;
        let length = cache.shape.get(axis).copied().unwrap_or(0);
        let rows = update.shape.get(axis).copied().unwrap_or(0);
        if position < 0 || position + rows > length {
            return Err(format!("{rows} rows at {position} of {length}"));
        }
        let outer = elements(&cache.shape[..axis]);
        let inner = elements(&cache.shape[axis + 1..]) * size;
        let mut pieces = Vec::new();
        if !self.in_place {
            pieces.push((0, cache.bytes.clone()));
        }
        let piece = (rows as u64 * inner) as usize;
        for index in 0..outer {
            let to = (index * length as u64 + position as u64) * inner;
            let from = index as usize * piece;
            let Some(bytes) = update.bytes.get(from..from + piece) else {
                return Err(format!("the update has {} bytes", update.bytes.len()));
            };
            pieces.push((to, bytes.to_vec()));
        }
        Ok(Made {
            shape: self.shape.clone(),
            pieces,
        })
    }

    fn nonzero(&self, input: &str) -> Result<Made, String> {
        let input = self.input(input)?;
        let found: Vec<usize> = input
            .numbers()
            .iter()
            .enumerate()
            .filter(|(_, number)| number.real() != 0.0)
            .map(|(index, _)| index)
            .collect();
        let rank = input.shape.len();
        let strides = super::shape::strides(&input.shape);
        let mut indices = Vec::new();
        for (stride, dim) in strides.iter().zip(&input.shape) {
            for &flat in &found {
                let index = flat as i64 / stride % (*dim).max(1);
                indices.push(Number::Whole(index));
            }
        }
        let mut made = self.whole(indices);
        made.shape = vec![rank as i64, found.len() as i64];
        Ok(made)
    }

    fn sum(&self, input: &str) -> Result<Made, String> {
        let input = self.input(input)?;
        let numbers = input.numbers();
        let row = match (self.shape.is_empty(), input.shape.last()) {
            (false, Some(&last)) => last.max(1) as usize,
            _ => numbers.len().max(1),
        };
        let add = |row: &[Number]| {
            row.iter()
                .fold(Number::Whole(0), |sum, number| sum.plus(1.0, *number))
        };
        let mut sums: Vec<Number> = numbers.chunks(row).map(add).collect();
        sums.resize(elements(&self.shape) as usize, Number::Whole(0));
        Ok(self.whole(sums))
    }
}
