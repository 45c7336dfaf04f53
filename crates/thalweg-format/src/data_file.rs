//! Data files (`.ptd`): named tensors and blobs beside a program.

use std::borrow::Cow;
use std::collections::HashSet;

use planus::ReadAsRoot;

use crate::budget::Budget;
use crate::check::{check_shape, names};
use crate::container::{Container, DATA_FILE};
use crate::error::{At, Error, count, quoted};
use crate::program::ScalarType;
use crate::read::tensor::{scalar_type, sizes};
use crate::read::{list, required_text};
use crate::scalar::nbytes;
use crate::schema::flat_tensor_flatbuffer as fb;

/// A data file: names for pieces of data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataFile<'a> {
    /// Version of the schema; 0 for every file that upstream has written so far.
    pub version: u32,
    /// The pieces of data, each without its padding.
    pub segments: Vec<Cow<'a, [u8]>>,
    /// The names.
    pub entries: Vec<DataEntry<'a>>,
}

/// A named piece of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataEntry<'a> {
    /// The unique name, such as `layers.0.weight`.
    pub key: Cow<'a, str>,
    /// Index into [`DataFile::segments`]. Several entries may share a segment.
    pub segment: u32,
    /// How the data is to be read, if it is a tensor. A delegate's data is a blob without layout.
    pub layout: Option<TensorLayout>,
}

/// How data is to be read as a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorLayout {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Size of each dimension.
    pub sizes: Vec<u32>,
    /// The dimensions from outermost to innermost in memory.
    pub dim_order: Vec<u8>,
}

impl<'a> DataFile<'a> {
    /// Reads a data file, borrowing from its bytes. Everything is checked, as by
    /// [`Program::parse`](crate::Program::parse).
    ///
    /// # Errors
    /// If the bytes are no data file, or one that breaks a rule of the format.
    pub fn parse(file: &'a [u8]) -> Result<Self, Error> {
        let container = Container::open(file, DATA_FILE)?;
        let budget = &mut Budget::for_flatbuffer(container.flatbuffer.len());
        let root = fb::FlatTensorRef::read_as_root(container.flatbuffer)?;
        let data = Self {
            version: root.version()?,
            segments: list(root.segments()?, budget, |i, segment, _| {
                segment
                    .and_then(|s| Ok((s.offset()?, s.size()?)))
                    .map_err(Error::from)
                    .and_then(|(offset, size)| container.segment(offset, size))
                    .at(|| format!("segment {i}"))
            })?,
            entries: list(root.named_data()?, budget, |i, e, budget| {
                e.map_err(Error::from)
                    .and_then(|e| entry(e, budget))
                    .at(|| format!("entry {i}"))
            })?,
        };
        data.check()?;
        Ok(data)
    }

    /// The entry of this name. The search is linear: to look up many, build a map first.
    pub fn entry(&self, key: &str) -> Option<&DataEntry<'a>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The data of this name. The search is linear.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.data(self.entry(key)?)
    }

    /// The data of an entry; never `None` for an entry of a file that was [parsed](Self::parse).
    pub fn data(&self, entry: &DataEntry<'_>) -> Option<&[u8]> {
        self.segments.get(entry.segment as usize).map(|s| &**s)
    }

    /// Checks that names are unique, that they name segments that exist, and that tensors have
    /// sensible shapes and as much data as they need. [`DataFile::parse`] and
    /// [`DataFile::to_bytes`] do this by themselves.
    ///
    /// # Errors
    /// Names the first entry that breaks a rule.
    pub fn check(&self) -> Result<(), Error> {
        let mut keys = HashSet::new();
        for (i, entry) in self.entries.iter().enumerate() {
            let place = || format!("entry {i} ({})", quoted(&entry.key));
            if !keys.insert(&entry.key) {
                return Err(Error::invalid("another entry has the same key")).at(place);
            }
            self.check_entry(entry).at(place)?;
        }
        Ok(())
    }

    fn check_entry(&self, entry: &DataEntry<'_>) -> Result<(), Error> {
        names("it", entry.segment, self.segments.len(), "segment")?;
        let Some(layout) = &entry.layout else {
            return Ok(());
        };
        check_shape(&layout.sizes, &layout.dim_order)?;
        let stored = self.data(entry).map_or(0, <[u8]>::len);
        if layout.nbytes().is_none_or(|needed| needed > stored as u64) {
            return Err(Error::invalid(format!(
                "a tensor of {:?} with sizes {:?} does not fit into segment {}, which has {}",
                layout.scalar_type,
                layout.sizes,
                entry.segment,
                count(stored, "byte")
            )));
        }
        Ok(())
    }
}

impl TensorLayout {
    /// Bytes that the tensor takes; `None` if that is more than 64 bits can count.
    pub fn nbytes(&self) -> Option<u64> {
        nbytes(self.scalar_type, &self.sizes)
    }
}

fn entry<'a>(entry: fb::NamedDataRef<'a>, budget: &mut Budget) -> Result<DataEntry<'a>, Error> {
    Ok(DataEntry {
        key: required_text(entry.key()?, "key", budget)?,
        segment: entry.segment_index()?,
        layout: match entry.tensor_layout()? {
            None => None,
            Some(layout) => Some(tensor_layout(layout, budget)?),
        },
    })
}

fn tensor_layout(
    layout: fb::TensorLayoutRef<'_>,
    budget: &mut Budget,
) -> Result<TensorLayout, Error> {
    let order = layout.dim_order()?.unwrap_or_default();
    let mut dim_order = budget.list(order.len())?;
    dim_order.extend_from_slice(order);
    Ok(TensorLayout {
        scalar_type: scalar_type(layout.scalar_type()?)?,
        sizes: sizes(layout.sizes()?, budget)?,
        dim_order,
    })
}
