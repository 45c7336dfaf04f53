//! Finding the data that a program's parts refer to.

use crate::container::slice;
use crate::error::{Error, count, there_are};
use crate::program::*;

/// Where the data that a tensor starts out with comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataSource<'t> {
    /// There is none: the tensor is written before it is read.
    None,
    /// The program file: see [`Program::constant_data`] for a tensor without an
    /// [allocation](Tensor::allocation) and [`Program::initial_data`] for one with it.
    Program,
    /// A data file, under this name.
    External(&'t str),
}

impl Tensor<'_> {
    /// Where the data that the tensor starts out with comes from.
    ///
    /// As in upstream's runtime, a tensor with external data ignores [`Tensor::data_buffer`].
    pub fn data_source(&self) -> DataSource<'_> {
        match &self.extra {
            Some(extra) if extra.location == DataLocation::External => {
                DataSource::External(extra.fully_qualified_name.as_deref().unwrap_or_default())
            }
            _ if self.data_buffer > 0 => DataSource::Program,
            _ => DataSource::None,
        }
    }

    /// Whether the tensor's data never changes: it has some, and no planned place to copy it to.
    pub fn is_constant(&self) -> bool {
        self.allocation.is_none() && self.data_source() != DataSource::None
    }
}

impl<'a> Program<'a> {
    /// The method of this name.
    pub fn method(&self, name: &str) -> Option<&Method<'a>> {
        self.methods.iter().find(|method| method.name == name)
    }

    /// The first `nbytes` bytes of a constant tensor's data, from the constant segment or from the
    /// flatbuffer.
    ///
    /// # Errors
    /// If the tensor's data is not in the program, or is shorter. For the tensors of a program
    /// that was [parsed](Program::parse), asking for [`Tensor::nbytes`] does not fail.
    pub fn constant_data(&self, tensor: &Tensor<'_>, nbytes: usize) -> Result<&[u8], Error> {
        if tensor.data_source() != DataSource::Program || tensor.allocation.is_some() {
            return Err(Error::invalid(
                "the tensor is not a constant of the program",
            ));
        }
        self.constant_data_at(tensor, nbytes as u64)
    }

    /// The first `nbytes` bytes of what a mutable tensor starts out with.
    ///
    /// The tensor's [`ExtraTensorInfo::mutable_data_segment`] says which list of offsets holds it,
    /// and it is the first one if the tensor says nothing. (Upstream's runtime always takes the
    /// first, and its exporter writes only one.)
    ///
    /// # Errors
    /// As for [`Program::constant_data`].
    pub fn initial_data(&self, tensor: &Tensor<'_>, nbytes: usize) -> Result<&[u8], Error> {
        if tensor.data_source() != DataSource::Program || tensor.allocation.is_none() {
            return Err(Error::invalid(
                "the tensor is not one with an initial value in the program",
            ));
        }
        self.initial_data_at(tensor, nbytes as u64)
    }

    /// The payload of a delegate.
    ///
    /// # Errors
    /// If there is no payload at the place that the delegate names; never for the delegates of a
    /// program that was [parsed](Program::parse).
    pub fn delegate_payload(&self, delegate: &Delegate<'_>) -> Result<&[u8], Error> {
        let (list, index, noun) = match delegate.data {
            DelegateData::Inline(i) => (&self.delegate_data, i, "inline payload"),
            DelegateData::Segment(i) => (&self.segments, i, "segment"),
        };
        list.get(index as usize).map(|data| &**data).ok_or_else(|| {
            Error::invalid(format!(
                "the payload is {noun} {index}, but {}",
                there_are(list.len(), noun)
            ))
        })
    }

    /// The data of this name. The search is linear.
    pub fn named(&self, key: &str) -> Option<&[u8]> {
        let entry = self.named_data.iter().find(|entry| entry.key == key)?;
        self.segments.get(entry.segment as usize).map(|s| &**s)
    }

    /// The offsets of the constants, if they are in a segment. A list with nothing but the
    /// reserved entry says that there are none, or that they are in the flatbuffer.
    pub(crate) fn constants_in_segment(&self) -> Option<&SubsegmentOffsets> {
        self.constant_segment
            .as_ref()
            .filter(|segment| segment.offsets.len() > 1)
    }

    pub(crate) fn constant_data_at(
        &self,
        tensor: &Tensor<'_>,
        nbytes: u64,
    ) -> Result<&[u8], Error> {
        let index = tensor.data_buffer;
        if let Some(constants) = self.constants_in_segment() {
            return self.subsegment(constants, index, nbytes, "constant");
        }
        let constants = &self.constant_buffer;
        let data = constants.get(index as usize).ok_or_else(|| {
            Error::invalid(format!(
                "its data is constant {index}, but {}",
                there_are(constants.len(), "constant")
            ))
        })?;
        slice(data, 0, nbytes).ok_or_else(|| {
            Error::invalid(format!(
                "it needs {nbytes} bytes of data, but constant {index} has {}",
                count(data.len(), "byte")
            ))
        })
    }

    pub(crate) fn initial_data_at(&self, tensor: &Tensor<'_>, nbytes: u64) -> Result<&[u8], Error> {
        let list = tensor
            .extra
            .as_ref()
            .map_or(0, |extra| extra.mutable_data_segment);
        let lists = &self.mutable_data_segments;
        let subsegments = usize::try_from(list)
            .ok()
            .and_then(|list| lists.get(list))
            .ok_or_else(|| {
                Error::invalid(format!(
                    "its initial value is in mutable data segment {list}, but {}",
                    there_are(lists.len(), "mutable data segment")
                ))
            })?;
        self.subsegment(subsegments, tensor.data_buffer, nbytes, "initial value")
    }

    fn subsegment(
        &self,
        subsegments: &SubsegmentOffsets,
        index: u32,
        nbytes: u64,
        noun: &str,
    ) -> Result<&[u8], Error> {
        let offsets = &subsegments.offsets;
        let &offset = offsets.get(index as usize).ok_or_else(|| {
            Error::invalid(format!(
                "its data is {noun} {index}, but {}",
                there_are(offsets.len(), noun)
            ))
        })?;
        let segment = self
            .segments
            .get(subsegments.segment as usize)
            .ok_or_else(|| {
                Error::invalid(format!(
                    "its data is in segment {}, but {}",
                    subsegments.segment,
                    there_are(self.segments.len(), "segment")
                ))
            })?;
        slice(segment, offset, nbytes).ok_or_else(|| {
            Error::invalid(format!(
                "its data, {nbytes} bytes at byte {offset} of segment {}, is beyond the end: the \
                 segment has {}",
                subsegments.segment,
                count(segment.len(), "byte")
            ))
        })
    }
}

impl Value<'_> {
    /// What kind of value this is, with its article: "a tensor".
    pub fn kind_name(&self) -> &'static str {
        match self {
            Value::None => "nothing",
            Value::Int(_) => "an integer",
            Value::Double(_) => "a double",
            Value::Bool(_) => "a boolean",
            Value::String(_) => "a string",
            Value::Tensor(_) => "a tensor",
            Value::IntList(_) => "a list of integers",
            Value::DoubleList(_) => "a list of doubles",
            Value::BoolList(_) => "a list of booleans",
            Value::TensorList(_) => "a list of tensors",
            Value::OptionalTensorList(_) => "a list of optional tensors",
        }
    }
}
