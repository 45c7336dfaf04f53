//! Operators run by themselves, without a program.

use std::sync::Arc;

use thalweg_format::ShapeDynamism;

use super::{Kernel, KernelContext};
use crate::arguments::Overlap;
use crate::frame::{Frame, Slot, Storage, StorageId, TensorId, TensorSlot, TensorSpec};
use crate::memory::{Block, Scratch};
use crate::{Result, Scalar, Tensor, ValueId, ensure};

/// An argument of an operator that is run by itself, or what became of it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Argument {
    #[default]
    None,
    Scalar(Scalar),
    String(String),
    /// For an output: its element type and dim order, and a shape of the right rank. The shape
    /// itself is a start, which the operator changes.
    Tensor(Tensor),
    TensorList(Vec<Option<Tensor>>),
    IntList(Vec<i64>),
    DoubleList(Vec<f64>),
    BoolList(Vec<bool>),
}

impl Kernel {
    /// Runs the operator and gives back its arguments, outputs with what was written to them, and
    /// the values that it returns after its parameters.
    ///
    /// This is how operators are tested, and a way to try one. Programs run theirs without the
    /// copies that this makes.
    ///
    /// # Errors
    /// If there are more arguments than the signature has parameters, or the operator fails.
    pub fn invoke(&self, arguments: Vec<Argument>) -> Result<Vec<Argument>> {
        self.invoke_on_threads(arguments, 1)
    }

    /// As [`invoke`](Self::invoke), with a number of threads that the operator may use.
    ///
    /// # Errors
    /// As for [`invoke`](Self::invoke).
    pub fn invoke_on_threads(
        &self,
        arguments: Vec<Argument>,
        threads: usize,
    ) -> Result<Vec<Argument>> {
        let signature = self.signature();
        ensure!(
            arguments.len() <= signature.parameters().len(),
            InvalidOption,
            "{} takes {} arguments, not {}",
            signature.operator(),
            signature.parameters().len(),
            arguments.len()
        );
        let mut builder = Builder::default();
        let mut ids = Vec::new();
        for position in 0..signature.argument_count() {
            // A result that is written is a parameter over again, so it stands for nothing here.
            let argument = arguments.get(position).cloned().unwrap_or_default();
            let written = signature.writes().contains(&(position as u16));
            ids.push(builder.argument(argument, written)?);
        }
        let mut frame = Frame::new(builder.slots, builder.tensors, builder.storages)?;
        let overlap = match signature.is_view() {
            true => Overlap::View,
            false => Overlap::Possible,
        };
        let context = KernelContext::on_threads(threads);
        self.run(&mut frame, &mut Scratch::new(), &ids, overlap, context)?;
        ids.iter().map(|&id| read(&frame, id)).collect()
    }
}

#[derive(Default)]
struct Builder {
    slots: Vec<Slot>,
    tensors: Vec<TensorSlot>,
    storages: Vec<Storage>,
}

impl Builder {
    fn argument(&mut self, argument: Argument, written: bool) -> Result<ValueId> {
        let slot = match argument {
            Argument::None => Slot::scalar(None),
            Argument::Scalar(value) => Slot::scalar(Some(value)),
            Argument::String(value) => Slot::String(value.into()),
            Argument::Tensor(tensor) => self.tensor(&tensor, written)?,
            Argument::TensorList(list) => {
                let mut ids = Vec::new();
                for tensor in list {
                    ids.push(match tensor {
                        Some(tensor) => {
                            let slot = self.tensor(&tensor, written)?;
                            Some(self.push(slot))
                        }
                        None => None,
                    });
                }
                Slot::TensorList(ids.into())
            }
            Argument::IntList(list) => Slot::Ints(list.into()),
            Argument::DoubleList(list) => Slot::DoubleList(list.into()),
            Argument::BoolList(list) => Slot::BoolList(list.into()),
        };
        Ok(self.push(slot))
    }

    fn push(&mut self, slot: Slot) -> ValueId {
        self.slots.push(slot);
        ValueId::new(self.slots.len() as u32 - 1)
    }

    fn tensor(&mut self, tensor: &Tensor, written: bool) -> Result<Slot> {
        let view = tensor.view();
        let storage = if written {
            // Its content is wanted by operators that work in place; its size by none.
            let mut storage = Storage::growing()?;
            storage.fill(view.bytes())?;
            storage
        } else {
            Storage::constant(Arc::new(Block::copy_of(view.bytes())?))
        };
        self.storages.push(storage);
        let storage = StorageId(self.storages.len() as u32 - 1);
        let spec = TensorSpec {
            dtype: view.dtype(),
            sizes: view.sizes().into(),
            dim_order: view.dim_order().into(),
            dynamism: if written {
                ShapeDynamism::DynamicUnbound
            } else {
                ShapeDynamism::Static
            },
            capacity: view.bytes().len(),
        };
        self.tensors
            .push(TensorSlot::new(&spec, (storage, 0), written)?);
        Ok(Slot::Tensor(TensorId(self.tensors.len() as u32 - 1)))
    }
}

fn read(frame: &Frame, id: ValueId) -> Result<Argument> {
    Ok(match frame.slot(id)? {
        Slot::Scalar(cell) => cell.get().map_or(Argument::None, Argument::Scalar),
        Slot::String(value) => Argument::String(value.to_string()),
        Slot::Tensor(tensor) => Argument::Tensor(frame.view(*tensor)?.to_tensor()?),
        Slot::TensorList(ids) => {
            let mut list = Vec::new();
            for id in ids.iter() {
                list.push(match id.map(|id| read(frame, id)).transpose()? {
                    Some(Argument::Tensor(tensor)) => Some(tensor),
                    _ => None,
                });
            }
            Argument::TensorList(list)
        }
        Slot::Ints(list) => Argument::IntList(list.to_vec()),
        Slot::IntList(_) => Argument::None,
        Slot::DoubleList(list) => Argument::DoubleList(list.to_vec()),
        Slot::BoolList(list) => Argument::BoolList(list.to_vec()),
    })
}

impl Argument {
    /// The tensor.
    ///
    /// # Errors
    /// If the argument is not a tensor.
    pub fn tensor(&self) -> Result<&Tensor> {
        match self {
            Self::Tensor(tensor) => Ok(tensor),
            other => crate::bail!(InvalidInput, "{other:?} is not a tensor"),
        }
    }
}

impl From<Tensor> for Argument {
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<&Tensor> for Argument {
    fn from(tensor: &Tensor) -> Self {
        Self::Tensor(tensor.clone())
    }
}

impl From<i64> for Argument {
    fn from(value: i64) -> Self {
        Self::Scalar(value.into())
    }
}

impl From<f64> for Argument {
    fn from(value: f64) -> Self {
        Self::Scalar(value.into())
    }
}

impl From<bool> for Argument {
    fn from(value: bool) -> Self {
        Self::Scalar(value.into())
    }
}

impl From<&[i64]> for Argument {
    fn from(list: &[i64]) -> Self {
        Self::IntList(list.into())
    }
}

impl From<&str> for Argument {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, ErrorKind};

    fn double() -> Kernel {
        Kernel::new(
            "t::double.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            |call| {
                let x = call.tensor(0)?;
                let mut out = call.output(1, x.sizes())?;
                for (out, x) in out.data_mut::<f32>()?.iter_mut().zip(x.data::<f32>()?) {
                    *out = 2.0 * x;
                }
                Ok(())
            },
        )
        .unwrap()
    }

    #[test]
    fn an_operator_runs_by_itself() {
        let x = Tensor::from_slice(&[1f32, 2.0, 3.0], &[3]).unwrap();
        let out = Tensor::zeros(DType::F32, &[0]).unwrap();
        let results = double().invoke(vec![x.into(), out.into()]).unwrap();
        let out = results[1].tensor().unwrap();
        assert_eq!(out.data::<f32>().unwrap(), [2.0, 4.0, 6.0]);
    }

    #[test]
    fn an_operator_that_reads_what_it_declares_as_output_is_told_so() {
        let kernel = Kernel::new(
            "t::bad.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            |call| call.tensor(1).map(|_| ()),
        )
        .unwrap();
        let x = Tensor::zeros(DType::F32, &[1]).unwrap();
        let error = kernel.invoke(vec![(&x).into(), x.into()]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }

    #[test]
    fn an_output_can_be_taken_once_and_only_if_it_is_one() {
        let kernel = Kernel::new(
            "t::twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)",
            |call| {
                assert!(call.output(0, &[1]).is_err());
                assert!(call.in_place(1).is_ok());
                assert!(call.output(1, &[1]).is_err());
                Ok(())
            },
        )
        .unwrap();
        let x = Tensor::zeros(DType::F32, &[1]).unwrap();
        kernel.invoke(vec![(&x).into(), x.into()]).unwrap();
    }

    #[test]
    fn messages_name_the_argument() {
        let error = double().invoke(vec![Argument::from(3)]).unwrap_err();
        assert_eq!(
            error.message(),
            "argument `x` is an integer, but must be a tensor"
        );
    }
}
