//! Data by name: the named data of a program, and its data files.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use thalweg_core::engine::{FileBytes, NamedData};
use thalweg_core::{Error, ErrorKind, Result, SharedBytes, bail};
use thalweg_format::DataFile;

/// Everything that a program can find by name.
pub(crate) struct ProgramData {
    /// By name: an index into `files`, and a range of that file.
    entries: HashMap<String, (usize, Range<usize>)>,
    /// The program, then the data files.
    files: Vec<FileBytes>,
    /// Where data files were looked for, for messages.
    searched: String,
}

impl ProgramData {
    /// The program's own named data.
    pub(crate) fn new(program: FileBytes, named: Vec<(String, Range<usize>)>) -> Self {
        Self {
            entries: named
                .into_iter()
                .map(|(key, range)| (key, (0, range)))
                .collect(),
            files: vec![program],
            searched: String::new(),
        }
    }

    /// Adds a data file.
    pub(crate) fn add_file(&mut self, path: &Path) -> Result<()> {
        self.add(FileBytes::map(path)?)
            .map_err(|error| error.in_file(path.display()))
    }

    /// Adds a data file's bytes. A name that is there already is an error, since it could mean
    /// either.
    pub(crate) fn add(&mut self, file: FileBytes) -> Result<()> {
        let index = self.files.len();
        let bytes = file.bytes();
        let start = bytes.as_ptr().addr();
        let parsed = DataFile::parse(bytes).map_err(Error::from)?;
        for entry in &parsed.entries {
            let data = parsed.data(entry).unwrap_or_default();
            let range = match data.as_ptr().addr().checked_sub(start) {
                Some(offset) if offset + data.len() <= bytes.len() => offset..offset + data.len(),
                _ => 0..0,
            };
            let key = entry.key.to_string();
            if let Some((other, _)) = self.entries.insert(key, (index, range)) {
                let place = if other == 0 {
                    "the program"
                } else {
                    "another data file"
                };
                bail!(InvalidProgram, "`{}` is also named in {place}", entry.key);
            }
        }
        self.files.push(file);
        Ok(())
    }

    /// Adds the data file that belongs to a program: the one of its name, else the only one in
    /// its folder.
    pub(crate) fn find_beside(&mut self, program: &Path) -> Result<()> {
        let named = program.with_extension("ptd");
        if named.is_file() {
            return self.add_file(&named);
        }
        let folder = match program.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut files = data_files(folder);
        match (files.pop(), files.is_empty()) {
            (Some(only), true) => self.add_file(&only),
            (Some(_), false) => {
                self.searched = format!(
                    "the folder has {} data files, and none is called {}",
                    files.len() + 1,
                    named.display()
                );
                Ok(())
            }
            (None, _) => {
                self.searched = format!(
                    "there is no {}, nor another .ptd beside it",
                    named.display()
                );
                Ok(())
            }
        }
    }

    /// The data of a name.
    pub(crate) fn get(&self, key: &str) -> Option<&[u8]> {
        let (file, range) = self.entry(key)?;
        file.bytes().get(range)
    }

    fn entry(&self, key: &str) -> Option<(&FileBytes, Range<usize>)> {
        let (file, range) = self.entries.get(key)?;
        Some((self.files.get(*file)?, range.clone()))
    }

    /// The program's file.
    pub(crate) fn program(&self) -> &FileBytes {
        &self.files[0]
    }

    /// The error for names that are not there.
    pub(crate) fn missing(&self, keys: &[&str]) -> Error {
        let first: Vec<_> = keys.iter().take(3).map(|key| format!("`{key}`")).collect();
        let rest = match keys.len().saturating_sub(3) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let hint = match (self.files.len(), &*self.searched) {
            (1, "") => "no data file (.ptd) was given".to_string(),
            (1, searched) => searched.to_string(),
            _ => "the data files do not have them".to_string(),
        };
        Error::new(
            ErrorKind::MissingData,
            format!(
                "data is kept outside of the program: {}{rest}; {hint}",
                first.join(", ")
            ),
        )
    }
}

impl NamedData for ProgramData {
    fn find(&self, key: &str) -> Option<SharedBytes> {
        let (file, range) = self.entry(key)?;
        SharedBytes::new(file, range)
    }
}

fn data_files(folder: &Path) -> Vec<PathBuf> {
    // A folder that cannot be listed has nothing to offer; what is missing is reported later.
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptd"))
        .collect()
}
