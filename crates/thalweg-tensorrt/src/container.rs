//! The container of an engine, which is the payload of a delegate: a header, metadata, and the engine.
//!
//! ```text
//! offset  size  content
//!      0     4  magic: "TR01", or "TR02" if the metadata names aliased inputs and outputs
//!      4     4  offset of the metadata
//!      8     4  size of the metadata
//!     12     4  offset of the engine, a multiple of 16
//!     16     8  size of the engine
//!     24     8  reserved
//! ```
//! Numbers are little-endian, and the metadata is JSON. An older reader that does not know aliases
//! refuses `TR02`, instead of computing wrong results.

use std::collections::HashSet;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use thalweg_core::{Error, ErrorKind, Result, bail, ensure};

/// A container whose engine is borrowed from the payload.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    /// The metadata of the engine.
    pub metadata: Metadata,
    /// The serialized engine.
    pub engine: &'a [u8],
}

/// The metadata of an engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Metadata {
    /// Inputs and outputs, in the order of the delegate's arguments: inputs, then outputs.
    pub io_bindings: Vec<Binding>,
    /// Outputs that alias an input: the engine updates the input in place.
    #[serde(default)]
    pub aliased_io: Vec<Alias>,
    /// True if the engine is built for more than one kind of GPU.
    #[serde(default)]
    pub hardware_compatible: bool,
    /// The device that the engine is built for.
    #[serde(default)]
    pub device_id: i64,
    /// Data of the exporter, of any form.
    #[serde(default)]
    pub serialized_metadata: String,
    /// The platform that the engine is built for, such as `linux_x86_64`; empty if unknown.
    #[serde(default)]
    pub target_platform: String,
}

/// The metadata of an input or output. Exporters often leave its type and shape to the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Binding {
    /// The name of the engine's tensor.
    pub name: String,
    /// The element type; empty if unknown.
    #[serde(default)]
    pub dtype: String,
    /// The shape; empty if unknown.
    #[serde(default)]
    pub shape: Vec<i64>,
    /// True for an input.
    pub is_input: bool,
}

/// An output that aliases an input: both have the same memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Alias {
    /// The output's name.
    pub output: String,
    /// The input's name.
    pub input: String,
    /// The origin of the alias.
    #[serde(default)]
    pub kind: AliasKind,
}

/// The origin of an alias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AliasKind {
    /// A layer of the engine, which updates a cache in place.
    #[default]
    KvCacheUpdate,
    /// The exporter. The engine does not know the alias.
    User,
}

impl<'a> Container<'a> {
    /// Reads and checks a container.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidProgram`], with the reason.
    pub fn parse(payload: &'a [u8]) -> Result<Self> {
        Self::read(payload).map_err(|error| {
            let message = format!("not a TensorRT container: {}", error.message());
            Error::new(error.kind(), message).with_source(error)
        })
    }

    fn read(payload: &'a [u8]) -> Result<Self> {
        let Some(header) = payload.first_chunk::<HEADER>() else {
            bail!(
                InvalidProgram,
                "it has {} bytes, fewer than the {HEADER} of the header",
                payload.len()
            );
        };
        let magic = *part(header, 0);
        ensure!(
            magic == MAGIC || magic == MAGIC_WITH_ALIASES,
            InvalidProgram,
            "it begins with \"{}\", not with \"TR01\" or \"TR02\"",
            magic.escape_ascii()
        );
        let at = |at| u64::from(u32::from_le_bytes(*part(header, at)));
        let len = payload.len() as u64;
        let metadata = range("metadata", at(4), at(8), len)?;
        let engine = range("engine", at(12), u64::from_le_bytes(*part(header, 16)), len)?;
        ensure!(
            engine.start.is_multiple_of(ALIGNMENT),
            InvalidProgram,
            "the engine is at {}, which is no multiple of {ALIGNMENT}",
            engine.start
        );
        ensure!(
            metadata.end <= engine.start,
            InvalidProgram,
            "the metadata (bytes {metadata:?}) overlaps the engine (bytes {engine:?}), or comes \
             after it"
        );
        ensure!(!engine.is_empty(), InvalidProgram, "the engine is empty");
        let text = match std::str::from_utf8(&payload[metadata]) {
            Ok(text) => text,
            Err(error) => bail!(InvalidProgram, "the metadata is not UTF-8: {error}"),
        };
        let metadata: Metadata = match serde_json::from_str(text) {
            Ok(metadata) => metadata,
            Err(error) => bail!(InvalidProgram, "the metadata cannot be read: {error}"),
        };
        metadata.check()?;
        ensure!(
            magic == MAGIC_WITH_ALIASES || metadata.aliased_io.is_empty(),
            InvalidProgram,
            "it is marked TR01, but names {} aliases, for which the mark is TR02",
            metadata.aliased_io.len()
        );
        Ok(Self {
            metadata,
            engine: &payload[engine],
        })
    }

    /// The bytes of a container.
    ///
    /// # Errors
    /// If [`Container::parse`] would refuse the metadata or the engine.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.metadata.check()?;
        ensure!(
            !self.engine.is_empty(),
            InvalidProgram,
            "the engine is empty"
        );
        let metadata = serde_json::to_vec(&self.metadata).map_err(|error| {
            Error::new(ErrorKind::Internal, format!("metadata: {error}")).with_source(error)
        })?;
        let engine = (HEADER + metadata.len()).next_multiple_of(ALIGNMENT);
        let (Ok(metadata_len), Ok(engine_start)) =
            (u32::try_from(metadata.len()), u32::try_from(engine))
        else {
            bail!(
                Unsupported,
                "metadata of {} bytes is too large for the header",
                metadata.len()
            );
        };
        let magic = if self.metadata.aliased_io.is_empty() {
            MAGIC
        } else {
            MAGIC_WITH_ALIASES
        };
        let mut bytes = Vec::with_capacity(engine + self.engine.len());
        bytes.extend(magic);
        bytes.extend((HEADER as u32).to_le_bytes());
        bytes.extend(metadata_len.to_le_bytes());
        bytes.extend(engine_start.to_le_bytes());
        bytes.extend((self.engine.len() as u64).to_le_bytes());
        // The bytes that upstream writes.
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(metadata);
        bytes.resize(engine, 0);
        bytes.extend(self.engine);
        Ok(bytes)
    }
}

impl Metadata {
    /// The inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &Binding> {
        self.io_bindings.iter().filter(|binding| binding.is_input)
    }

    /// The outputs.
    pub fn outputs(&self) -> impl Iterator<Item = &Binding> {
        self.io_bindings.iter().filter(|binding| !binding.is_input)
    }

    /// Checks the metadata without the engine.
    fn check(&self) -> Result<()> {
        let mut names = HashSet::new();
        for binding in &self.io_bindings {
            let name = &binding.name;
            ensure!(
                !name.is_empty() && name.len() <= MAX_NAME && !name.contains('\0'),
                InvalidProgram,
                "{name:?} cannot be the name of an input or output: names have 1 to {MAX_NAME} \
                 bytes, none of them zero"
            );
            ensure!(
                names.insert(name),
                InvalidProgram,
                "two inputs or outputs are called `{name}`"
            );
        }
        ensure!(
            self.outputs().next().is_some(),
            InvalidProgram,
            "the metadata names no output"
        );
        let mut aliased = HashSet::new();
        let mut targets = HashSet::new();
        for Alias { output, input, .. } in &self.aliased_io {
            ensure!(
                self.outputs().any(|binding| binding.name == *output),
                InvalidProgram,
                "`{output}` is an alias of `{input}`, but is not an output"
            );
            ensure!(
                self.inputs().any(|binding| binding.name == *input),
                InvalidProgram,
                "`{output}` is an alias of `{input}`, which is not an input"
            );
            ensure!(
                aliased.insert(output),
                InvalidProgram,
                "`{output}` is an alias twice"
            );
            ensure!(
                targets.insert(input),
                InvalidProgram,
                "two outputs are aliases of `{input}`"
            );
        }
        Ok(())
    }
}

const MAGIC: [u8; 4] = *b"TR01";
const MAGIC_WITH_ALIASES: [u8; 4] = *b"TR02";
const HEADER: usize = 32;
const ALIGNMENT: usize = 16;

/// The longest name: TensorRT takes 4096 bytes, with the zero at the end.
const MAX_NAME: usize = 4095;

/// The bytes of a field of the header.
fn part<const N: usize>(header: &[u8; HEADER], at: usize) -> &[u8; N] {
    match header[at..].first_chunk() {
        Some(part) => part,
        None => unreachable!("parts of the header lie in it"),
    }
}

/// The range of the metadata or the engine, which must be in the payload.
fn range(what: &str, start: u64, len: u64, total: u64) -> Result<Range<usize>> {
    ensure!(
        start >= HEADER as u64,
        InvalidProgram,
        "the {what} is at {start}, within the header"
    );
    match start.checked_add(len) {
        Some(end) if end <= total => Ok(start as usize..end as usize),
        _ => bail!(
            InvalidProgram,
            "the {what} has {len} bytes at {start}, which is more than the {total} that there are"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn binding(name: &str, is_input: bool) -> Binding {
        Binding {
            name: name.into(),
            is_input,
            ..Binding::default()
        }
    }

    fn metadata() -> Metadata {
        Metadata {
            io_bindings: vec![
                binding("x", true),
                binding("cache", true),
                binding("y", false),
                binding("cache_out", false),
            ],
            ..Metadata::default()
        }
    }

    fn alias(output: &str, input: &str) -> Alias {
        Alias {
            output: output.into(),
            input: input.into(),
            kind: AliasKind::User,
        }
    }

    fn written(metadata: Metadata) -> Vec<u8> {
        let engine = b"an engine";
        Container { metadata, engine }.to_bytes().unwrap()
    }

    /// A container with metadata of any text.
    fn with_text(magic: &[u8; 4], text: &[u8]) -> Vec<u8> {
        let mut bytes = written(metadata());
        let engine = (HEADER + text.len()).next_multiple_of(ALIGNMENT);
        bytes.truncate(HEADER);
        bytes[..4].copy_from_slice(magic);
        bytes[8..12].copy_from_slice(&(text.len() as u32).to_le_bytes());
        bytes[12..16].copy_from_slice(&(engine as u32).to_le_bytes());
        bytes[16..24].copy_from_slice(&4u64.to_le_bytes());
        bytes.extend(text);
        bytes.resize(engine, 0);
        bytes.extend(b"ftrt");
        bytes
    }

    fn refused(bytes: &[u8], why: &str) {
        let error = Container::parse(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidProgram);
        assert!(error.to_string().contains(why), "{error}");
    }

    #[test]
    fn what_is_written_is_read() {
        let mut metadata = metadata();
        metadata.device_id = 3;
        metadata.target_platform = "linux_x86_64".into();
        let bytes = written(metadata.clone());
        assert_eq!(&bytes[..4], b"TR01");
        let read = Container::parse(&bytes).unwrap();
        assert_eq!(read.metadata, metadata);
        assert_eq!(read.engine, b"an engine");
    }

    #[test]
    fn aliases_make_it_a_container_that_older_readers_refuse() {
        let mut metadata = metadata();
        metadata.aliased_io.push(alias("cache_out", "cache"));
        let mut bytes = written(metadata.clone());
        assert_eq!(&bytes[..4], b"TR02");
        assert_eq!(Container::parse(&bytes).unwrap().metadata, metadata);
        bytes[3] = b'1';
        refused(&bytes, "TR02");
    }

    #[test]
    fn what_an_exporter_writes_is_read() {
        let text = br#"{"io_bindings":[{"name":"in0","dtype":"","shape":[],"is_input":true},
            {"name":"out0","dtype":"","shape":[],"is_input":false}],
            "aliased_io":[{"output":"out0","input":"in0"}],"hardware_compatible":false,
            "device_id":0,"serialized_metadata":"","target_platform":"linux_x86_64",
            "something_new":{"a":[1]}}"#;
        let bytes = with_text(b"TR02", text);
        let read = Container::parse(&bytes).unwrap();
        assert_eq!(read.metadata.aliased_io[0].kind, AliasKind::KvCacheUpdate);
        assert_eq!(read.metadata.target_platform, "linux_x86_64");
        assert_eq!(read.engine, b"ftrt");
    }

    #[test]
    fn damage_is_refused_with_what_is_wrong() {
        let good = written(metadata());
        refused(&good[..31], "31 bytes");
        let set = |at: usize, with: &[u8]| {
            let mut bytes = good.clone();
            bytes[at..at + with.len()].copy_from_slice(with);
            bytes
        };
        refused(&set(0, b"TR03"), "TR03");
        refused(&set(4, &31u32.to_le_bytes()), "within the header");
        refused(&set(8, &u32::MAX.to_le_bytes()), "more than");
        refused(&set(12, &33u32.to_le_bytes()), "multiple of 16");
        refused(&set(12, &48u32.to_le_bytes()), "overlaps");
        refused(&set(16, &u64::MAX.to_le_bytes()), "more than");
        refused(&set(16, &0u64.to_le_bytes()), "empty");
        refused(&set(32, b"\xff"), "UTF-8");
        refused(&set(32, b"["), "cannot be read");
    }

    #[test]
    fn names_must_make_sense() {
        let check = |change: fn(&mut Metadata), why: &str| {
            let mut metadata = metadata();
            change(&mut metadata);
            let text = serde_json::to_vec(&metadata).unwrap();
            refused(&with_text(b"TR02", &text), why);
            let engine = b"e";
            assert!(Container { metadata, engine }.to_bytes().is_err());
        };
        check(|m| m.io_bindings[1].name = "x".into(), "called `x`");
        check(
            |m| m.io_bindings[1].name = String::new(),
            "cannot be the name",
        );
        check(
            |m| m.io_bindings[1].name = "a\0b".into(),
            "cannot be the name",
        );
        check(|m| m.io_bindings.truncate(2), "no output");
        check(
            |m| m.aliased_io.push(alias("nothing", "cache")),
            "`nothing` is an alias",
        );
        check(
            |m| m.aliased_io.push(alias("cache_out", "y")),
            "`y`, which is not an input",
        );
        check(
            |m| m.aliased_io.extend([alias("y", "x"), alias("y", "cache")]),
            "alias twice",
        );
        check(
            |m| {
                m.aliased_io
                    .extend([alias("y", "x"), alias("cache_out", "x")]);
            },
            "two outputs",
        );
    }

    #[test]
    fn an_unknown_kind_of_alias_is_refused() {
        let text = br#"{"io_bindings":[{"name":"a","is_input":true},{"name":"b",
            "is_input":false}],"aliased_io":[{"output":"b","input":"a","kind":"magic"}]}"#;
        refused(&with_text(b"TR02", text), "magic");
    }

    proptest! {
        #[test]
        fn any_metadata_comes_back(
            inputs in 0usize..5,
            outputs in 1usize..5,
            aliases in 0usize..5,
            engine in prop::collection::vec(any::<u8>(), 1..100),
            device_id in any::<i64>(),
            text in any::<String>(),
        ) {
            let mut io_bindings = Vec::new();
            io_bindings.extend((0..inputs).map(|i| binding(&format!("i{i}"), true)));
            io_bindings.extend((0..outputs).map(|i| binding(&format!("o{i}"), false)));
            let aliases = aliases.min(inputs).min(outputs);
            let metadata = Metadata {
                io_bindings,
                aliased_io: (0..aliases)
                    .map(|i| alias(&format!("o{i}"), &format!("i{i}")))
                    .collect(),
                device_id,
                serialized_metadata: text,
                ..Metadata::default()
            };
            let container = Container { metadata, engine: &engine };
            let bytes = container.to_bytes().unwrap();
            let read = Container::parse(&bytes).unwrap();
            prop_assert_eq!(read.metadata, container.metadata);
            prop_assert_eq!(read.engine, &engine[..]);
            let start = bytes.len() - engine.len();
            prop_assert_eq!(start % ALIGNMENT, 0);
        }

        #[test]
        fn damage_never_panics(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in any::<prop::sample::Index>(),
            shorten in any::<bool>(),
        ) {
            let mut metadata = metadata();
            metadata.aliased_io.push(alias("cache_out", "cache"));
            let mut bytes = written(metadata);
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if shorten {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(container) = Container::parse(&bytes) {
                // What is accepted can be written again.
                container.to_bytes().unwrap();
            }
        }
    }
}
