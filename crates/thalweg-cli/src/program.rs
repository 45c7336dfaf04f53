//! The program that a command names: found, loaded, with its inputs.

use std::path::{Path, PathBuf};

use thalweg::info::MethodInfo;
use thalweg::{LoadOptions, MethodOptions, Program, Runtime};

use crate::failure::{Failure, Result};
use crate::fixture::{Case, RECORD, RecordedCall};
use crate::input::{Prepared, Spec, prepare};
use crate::pytree;
use crate::text;

/// A program on the command line: a file, or a folder with one.
#[derive(Debug)]
pub(crate) struct Source {
    /// The program's file.
    pub(crate) path: PathBuf,
    data: Vec<PathBuf>,
    /// The recorded answers, if the source is a folder that has them.
    case: Option<Case>,
}

/// A loaded program and the chosen method.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) program: Program,
    pub(crate) info: MethodInfo,
    pub(crate) input_names: Vec<Option<String>>,
    pub(crate) output_names: Vec<Option<String>>,
}

impl Source {
    /// Finds the program. `data` are the data files on the command line. Without any, all of a
    /// folder's are taken; those of a file are found by the runtime.
    pub(crate) fn find(path: &Path, data: &[PathBuf]) -> Result<Self> {
        if path.is_dir() {
            return Self::in_folder(path, data);
        }
        if !path.exists() {
            let failure = Failure::new(format!("there is no file {}", path.display()));
            let with_extension = path.with_extension("pte");
            return Err(if with_extension.is_file() {
                failure.hint(with_extension.display().to_string())
            } else {
                failure
            });
        }
        Ok(Self {
            path: path.into(),
            data: data.into(),
            case: None,
        })
    }

    fn in_folder(folder: &Path, data: &[PathBuf]) -> Result<Self> {
        if folder.join(RECORD).is_file() {
            let case = Case::read(folder)?;
            return Ok(Self {
                path: case.program.clone(),
                data: if data.is_empty() {
                    case.data.clone()
                } else {
                    data.into()
                },
                case: Some(case),
            });
        }
        let entries = std::fs::read_dir(folder)
            .map_err(|error| Failure::new(format!("cannot list {}: {error}", folder.display())))?;
        let mut programs: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "pte"))
            .collect();
        match (programs.pop(), programs.len()) {
            (Some(path), 0) => Ok(Self {
                path,
                data: data.into(),
                case: None,
            }),
            (None, _) => Err(Failure::new(format!(
                "there is no program (.pte) in {}",
                folder.display()
            ))),
            (Some(_), others) => Err(Failure::new(format!(
                "there are {} programs in {}",
                others + 1,
                folder.display()
            ))
            .hint("name one of them")),
        }
    }

    /// Loads the program and chooses the method: the named one, else `forward`, else the only one.
    pub(crate) fn load(
        &self,
        runtime: &Runtime,
        method: Option<&str>,
        options: LoadOptions,
    ) -> Result<Chosen> {
        let data = self.data.iter();
        let options = data.fold(options, |options, path| options.data(path));
        let program = runtime.load_with(&self.path, &options)?;
        let method = match method {
            Some(name) => name.to_string(),
            None => default_method(&program)?,
        };
        let info = program.method_info(&method)?;
        Ok(Chosen {
            input_names: pytree::input_names(info.input_tree.as_deref(), info.inputs.len()),
            output_names: pytree::output_names(info.output_tree.as_deref(), info.outputs.len()),
            program,
            info,
        })
    }

    /// The recorded answers, with the first recorded call of a method.
    pub(crate) fn recorded(&self, method: &str) -> Option<(&Case, &RecordedCall)> {
        let case = self.case.as_ref()?;
        let call = case.calls.iter().find(|call| call.method == method)?;
        Some((case, call))
    }

    /// All recorded calls, if there are any.
    pub(crate) fn recorded_calls(&self) -> Option<&[RecordedCall]> {
        Some(&self.case.as_ref()?.calls)
    }

    /// The inputs of a method: those of the command line, else the recorded ones, else random ones.
    pub(crate) fn inputs(&self, chosen: &Chosen, specs: &[Spec]) -> Result<Prepared> {
        match self.recorded(&chosen.info.name) {
            Some((_, call)) if specs.is_empty() => Ok(Prepared {
                values: call.inputs.clone(),
                sources: vec![format!("recorded, run {}", call.run); call.inputs.len()],
                notes: Vec::new(),
            }),
            _ => prepare(&chosen.info, &chosen.input_names, specs),
        }
    }
}

impl Chosen {
    /// An instance of the method.
    pub(crate) fn instance(&self) -> Result<thalweg::Method> {
        self.instance_with(&MethodOptions::new())
    }

    /// An instance with options.
    pub(crate) fn instance_with(&self, options: &MethodOptions) -> Result<thalweg::Method> {
        let name = &self.info.name;
        let missing = self.program.missing(name)?;
        let instance = self.program.method_with(name, options);
        instance.map_err(|error| {
            let failure = Failure::from(error);
            if !missing.operators.is_empty() {
                failure.hint("thalweg inspect PROGRAM, which lists what this build has and lacks")
            } else if !missing.is_empty() {
                failure.hint("thalweg doctor, which says what this machine and build have")
            } else {
                failure
            }
        })
    }
}

fn default_method(program: &Program) -> Result<String> {
    let names: Vec<&str> = program.method_names().collect();
    match &names[..] {
        [only] => Ok((*only).to_string()),
        names if names.contains(&"forward") => Ok("forward".into()),
        [] => Err(Failure::new("the program has no methods")),
        names => Err(Failure::new(format!(
            "the program has {}, and none is called forward",
            text::count(names.len(), "method")
        ))
        .hint(format!("--method, with one of {}", names.join(", ")))),
    }
}
