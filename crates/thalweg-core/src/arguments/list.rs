//! Lists of tensors among the arguments of an instruction.
use super::Arguments;
use crate::frame::{Slot, TensorId};
use crate::{Result, TensorView, ValueId, bail};

/// A list of tensors, some of which may be absent.
#[derive(Clone, Copy)]
pub struct TensorList<'a> {
    arguments: &'a Arguments<'a>,
    ids: &'a [Option<ValueId>],
}

impl<'a> TensorList<'a> {
    pub(super) fn new(arguments: &'a Arguments<'a>, ids: &'a [Option<ValueId>]) -> Self {
        Self { arguments, ids }
    }

    /// How many entries there are, absent ones included.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// An entry, which may be absent.
    ///
    /// # Errors
    /// If it is not a tensor.
    #[inline(always)]
    pub fn optional(&self, index: usize) -> Result<Option<TensorView<'a>>> {
        match self.entry(index)? {
            Some(id) => self.arguments.lend_of_list(id).map(Some),
            None => Ok(None),
        }
    }

    #[inline(always)]
    fn entry(&self, index: usize) -> Result<Option<TensorId>> {
        let Some(id) = self.ids.get(index).copied().flatten() else {
            return Ok(None);
        };
        match self.arguments.frame.slot(id)? {
            Slot::Tensor(id) => Ok(Some(*id)),
            slot if slot.is_none() => Ok(None),
            _ => bail!(
                InvalidProgram,
                "entry {index} of a list of tensors is not a tensor"
            ),
        }
    }

    /// An entry.
    ///
    /// # Errors
    /// If it is absent.
    pub fn get(&self, index: usize) -> Result<TensorView<'a>> {
        match self.optional(index)? {
            Some(tensor) => Ok(tensor),
            None => bail!(
                InvalidProgram,
                "entry {index} of a list of tensors is absent"
            ),
        }
    }

    /// The entries, in order. An absent one is an error.
    pub fn iter(&self) -> impl Iterator<Item = Result<TensorView<'a>>> + use<'a> {
        let list = *self;
        (0..list.len()).map(move |index| list.get(index))
    }
}
