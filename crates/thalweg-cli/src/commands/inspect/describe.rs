//! The description of a file, as data. The JSON output is this data; the text is made from it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thalweg::Runtime;
use thalweg::format::{self, DataFile, DelegateData, Layout};

use super::engine::Describer;
use super::methods::{self, Method, Shape};
use super::plan;
use crate::failure::{Failure, Result, with_causes};

/// A program.
#[derive(Debug, Serialize)]
pub(super) struct Program {
    pub(super) file: String,
    pub(super) kind: &'static str,
    pub(super) schema_version: u32,
    /// True if all methods can run in this build, on this machine.
    pub(super) runs_here: bool,
    /// The reason that the program cannot be loaded, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
    pub(super) methods: Vec<Method>,
    pub(super) named_data: Vec<NamedData>,
    /// The data files that lie in the same folder.
    pub(super) data_files: Vec<Beside>,
    pub(super) layout: FileLayout,
}

/// A name for a segment.
#[derive(Debug, Serialize)]
pub(super) struct NamedData {
    pub(super) key: String,
    pub(super) segment: u32,
    pub(super) bytes: usize,
}

/// A data file beside the program: its contents, or the reason that they cannot be read.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Beside {
    Readable(Data),
    Broken { file: String, error: String },
}

/// A data file.
#[derive(Debug, Serialize)]
pub(super) struct Data {
    pub(super) file: String,
    pub(super) kind: &'static str,
    pub(super) schema_version: u32,
    pub(super) entries: Vec<DataEntry>,
    pub(super) layout: FileLayout,
}

/// A named piece of data.
#[derive(Debug, Serialize)]
pub(super) struct DataEntry {
    pub(super) key: String,
    pub(super) segment: u32,
    pub(super) bytes: usize,
    /// Absent for data that is no tensor.
    #[serde(flatten)]
    pub(super) tensor: Option<Shape>,
}

/// The offsets and sizes of the parts of a file.
#[derive(Debug, Serialize)]
pub(super) struct FileLayout {
    pub(super) file_bytes: u64,
    /// Absent if the file has no header, as programs without segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) header_bytes: Option<u32>,
    pub(super) flatbuffer_bytes: u64,
    pub(super) segment_base: u64,
    pub(super) segments: Vec<Segment>,
    pub(super) padding_bytes: u64,
}

/// A segment.
#[derive(Debug, Serialize)]
pub(super) struct Segment {
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// The names of all that refers to it.
    pub(super) used_for: Vec<String>,
}

/// The names of all that refers to each segment.
type Uses = BTreeMap<u32, Vec<String>>;

/// Describes a program and the data files beside it.
pub(super) fn program(
    path: &Path,
    file: &[u8],
    layout: &Layout,
    with_plan: bool,
) -> Result<Program> {
    let program = format::Program::parse(file).map_err(broken)?;
    let runtime = Runtime::detect();
    let loaded = runtime.load(path);
    let refused = loaded.as_ref().err().map(|error| with_causes(error));
    let engines = Describer::default();
    let mut methods: Vec<Method> = program
        .methods
        .iter()
        .map(|method| methods::describe(&program, method, loaded.as_ref().ok(), &runtime, &engines))
        .collect();
    if let (true, Ok(program)) = (with_plan, &loaded) {
        for method in &mut methods {
            method.plan = Some(plan::of(program, &method.name));
        }
    }
    let named_data = program.named_data.iter().map(|entry| NamedData {
        key: entry.key.to_string(),
        segment: entry.segment,
        bytes: segment_len(&program.segments, entry.segment),
    });
    Ok(Program {
        file: path.display().to_string(),
        kind: "program",
        schema_version: program.version,
        runs_here: refused.is_none() && methods.iter().all(|method| method.runs_here),
        refused,
        methods,
        named_data: named_data.collect(),
        data_files: data_files_beside(path),
        layout: file_layout(layout, &uses_of_segments(&program)),
    })
}

/// Describes a data file.
pub(super) fn data_file(path: &Path, file: &[u8], layout: &Layout) -> Result<Data> {
    let data = DataFile::parse(file).map_err(broken)?;
    let mut uses = Uses::new();
    let mut entries = Vec::new();
    for entry in &data.entries {
        let key = entry.key.to_string();
        uses.entry(entry.segment).or_default().push(key.clone());
        entries.push(DataEntry {
            key,
            segment: entry.segment,
            bytes: segment_len(&data.segments, entry.segment),
            tensor: entry.layout.as_ref().map(Shape::of_layout),
        });
    }
    Ok(Data {
        file: path.display().to_string(),
        kind: "data file",
        schema_version: data.version,
        entries,
        layout: file_layout(layout, &uses),
    })
}

/// The bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

fn data_files_beside(program: &Path) -> Vec<Beside> {
    let folder = match program.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // A folder that cannot be listed has nothing to offer.
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptd"))
        .collect();
    paths.sort();
    let describe = |path: &Path| {
        let file = read(path)?;
        let layout = Layout::parse(&file).map_err(broken)?;
        data_file(path, &file, &layout)
    };
    paths
        .iter()
        .map(|path| match describe(path) {
            Ok(data) => Beside::Readable(data),
            Err(failure) => Beside::Broken {
                file: path.display().to_string(),
                error: failure.message().to_string(),
            },
        })
        .collect()
}

fn uses_of_segments(program: &format::Program<'_>) -> Uses {
    let mut uses = Uses::new();
    let mut add = |segment: u32, what: String| uses.entry(segment).or_default().push(what);
    if let Some(constants) = &program.constant_segment {
        add(constants.segment, "constants".into());
    }
    for initial in &program.mutable_data_segments {
        add(initial.segment, "initial values".into());
    }
    for entry in &program.named_data {
        add(entry.segment, entry.key.to_string());
    }
    for method in &program.methods {
        for (index, delegate) in method.delegates.iter().enumerate() {
            if let DelegateData::Segment(segment) = delegate.data {
                add(segment, format!("{} delegate {index}", method.name));
            }
        }
    }
    uses
}

fn file_layout(layout: &Layout, uses: &Uses) -> FileLayout {
    let segment = |(extent, index): (&format::Extent, u32)| Segment {
        offset: extent.offset,
        bytes: extent.size,
        used_for: uses.get(&index).cloned().unwrap_or_default(),
    };
    FileLayout {
        file_bytes: layout.file_size,
        header_bytes: layout.header_length,
        flatbuffer_bytes: layout.flatbuffer.size,
        segment_base: layout.segment_base,
        segments: layout.segments.iter().zip(0..).map(segment).collect(),
        padding_bytes: layout.padding(),
    }
}

fn segment_len(segments: &[Cow<'_, [u8]>], index: u32) -> usize {
    segments.get(index as usize).map_or(0, |data| data.len())
}

fn broken(error: format::Error) -> Failure {
    Failure::new(error.to_string())
}
