//! Loaded programs.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use thalweg_core::engine::{Category, FileBytes};
use thalweg_core::{Result, Tracer, bail};

use crate::data::ProgramData;
use crate::info::MethodInfo;
use crate::link::{LinkedMethod, Schedule};
use crate::method::Method;
use crate::missing::Missing;
use crate::options::{LoadOptions, MethodOptions};
use crate::plan::{self, MethodPlan};
use crate::profile::{Outline, Pins};
use crate::runtime::Runtime;
use crate::trace::Trace;

/// A loaded program: methods, and what their instances share. Cheap to clone.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    runtime: Runtime,
    data: ProgramData,
    options: LoadOptions,
    /// What pins can name.
    outline: Arc<Outline>,
    methods: Vec<Entry>,
    /// Names of delegates that are pinned and that no loaded method has, and methods that may.
    unseen: Mutex<Unseen>,
}

impl Runtime {
    /// Loads a program from a file. The file is mapped, so it must not change while the program
    /// is in use; replacing it by renaming another over it is fine.
    ///
    /// # Errors
    /// If the file cannot be read, or is no sound program.
    pub fn load(&self, path: impl AsRef<Path>) -> Result<Program> {
        self.load_with(path, &LoadOptions::new())
    }

    /// Loads a program from a file, with choices.
    ///
    /// # Errors
    /// As for [`Runtime::load`].
    pub fn load_with(&self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<Program> {
        Program::load(self.clone(), path.as_ref(), options)
    }

    /// Loads a program from memory. Data files come from [`LoadOptions::data`].
    ///
    /// # Errors
    /// As for [`Runtime::load`].
    pub fn load_bytes(&self, bytes: Vec<u8>, options: &LoadOptions) -> Result<Program> {
        Program::from_bytes(self.clone(), bytes, options)
    }
}

struct Entry {
    plan: Arc<MethodPlan>,
    /// Made when the first instance is; the lock makes sure that it is made once.
    linked: Mutex<Option<Arc<LinkedMethod>>>,
}

/// Pins of delegates by names alone, which any method may have: only when all methods are loaded is
/// it known that none has one.
struct Unseen {
    names: Vec<String>,
    methods: Vec<String>,
}

impl Program {
    pub(crate) fn load(runtime: Runtime, path: &Path, options: &LoadOptions) -> Result<Self> {
        let tracer = Trace::tracer_of(options.trace.as_ref());
        let span = tracer.begin(Category::Load, "load a program");
        if tracer.is_on() {
            span.note("file", path.display().to_string());
        }
        let file = FileBytes::map(path)?;
        Self::new(runtime, file, Some(path), options).map_err(|error| error.in_file(path.display()))
    }

    pub(crate) fn from_bytes(
        runtime: Runtime,
        bytes: Vec<u8>,
        options: &LoadOptions,
    ) -> Result<Self> {
        Self::new(runtime, FileBytes::owned(bytes), None, options)
    }

    fn new(
        runtime: Runtime,
        file: FileBytes,
        path: Option<&Path>,
        options: &LoadOptions,
    ) -> Result<Self> {
        let tracer = Trace::tracer_of(options.trace.as_ref());
        let span = tracer.begin(Category::Load, "read and check");
        span.note("bytes", file.bytes().len());
        let (plans, named) = plan::read(&file)?;
        drop(span);
        let outline = plans
            .iter()
            .map(|plan| (plan.name.clone(), plan.delegates.len()));
        let outline = Outline(outline.collect());
        if let Some(pins) = options.profile.pins() {
            outline.check(pins)?;
        }
        let unseen = Unseen::new(&outline, options);
        let span = tracer.begin(Category::Load, "find data");
        let mut data = ProgramData::new(file, named);
        for path in &options.data {
            data.add_file(path)?;
        }
        // Looking for a file that nobody needs could find one that has nothing to do with this.
        if options.data.is_empty()
            && plans.iter().any(MethodPlan::may_need_data)
            && let Some(path) = path
        {
            data.find_beside(path)?;
        }
        drop(span);
        let methods = plans.into_iter().map(|plan| Entry {
            plan: Arc::new(plan),
            linked: Mutex::new(None),
        });
        Ok(Self(Arc::new(Inner {
            methods: methods.collect(),
            runtime,
            data,
            // A trace is for the load, and not to be kept.
            options: LoadOptions {
                trace: None,
                ..options.clone()
            },
            outline: Arc::new(outline),
            unseen: Mutex::new(unseen),
        })))
    }

    /// An instance of a method, with memory and state of its own.
    ///
    /// The first instance of a method looks up its operators and loads its delegates; later ones
    /// share them.
    ///
    /// # Errors
    /// If there is no such method, or what it needs is missing: operators and backends are all
    /// named at once.
    pub fn method(&self, name: &str) -> Result<Method> {
        self.method_with(name, &MethodOptions::new())
    }

    /// An instance of a method, with choices.
    ///
    /// # Errors
    /// As for [`Program::method`].
    pub fn method_with(&self, name: &str, options: &MethodOptions) -> Result<Method> {
        let entry = self.entry(name)?;
        let tracer = Trace::tracer_of(options.trace.as_ref());
        let span = tracer.begin(Category::Load, "load a method");
        if tracer.is_on() {
            span.note("method", name.to_string());
        }
        self.linked(entry, tracer)
            .and_then(|linked| Method::new(linked, options, self.0.runtime.threads()))
            .map_err(|error| error.in_method(name))
    }

    /// The names of the methods, in the order of the file.
    pub fn method_names(&self) -> impl Iterator<Item = &str> {
        self.0.methods.iter().map(|entry| &*entry.plan.name)
    }

    /// What a method takes and returns.
    ///
    /// # Errors
    /// If there is no such method.
    pub fn method_info(&self, name: &str) -> Result<MethodInfo> {
        Ok(MethodInfo::new(&self.entry(name)?.plan))
    }

    /// How the instructions of a method run: which copies are made, and what stays on a device.
    /// Looks up its operators and loads its delegates, as the first instance does.
    ///
    /// # Errors
    /// If there is no such method, or what it needs is missing.
    pub fn schedule(&self, name: &str) -> Result<Schedule> {
        let entry = self.entry(name)?;
        let linked = self.linked(entry, Tracer::OFF);
        let linked = linked.map_err(|error| error.in_method(name))?;
        Ok(linked.schedule())
    }

    /// What a method needs and this program's runtime does not have. Making an instance fails
    /// unless this is empty.
    ///
    /// # Errors
    /// If there is no such method.
    pub fn missing(&self, name: &str) -> Result<Missing> {
        Ok(Missing::of(&self.entry(name)?.plan, &self.0.runtime))
    }

    /// The runtime that the program was loaded with.
    pub fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    /// Data that the program or one of its data files has under a name.
    pub fn named_data(&self, key: &str) -> Option<&[u8]> {
        self.0.data.get(key)
    }

    fn entry(&self, name: &str) -> Result<&Entry> {
        match self.0.methods.iter().find(|entry| entry.plan.name == name) {
            Some(entry) => Ok(entry),
            None => {
                let names: Vec<_> = self
                    .method_names()
                    .map(|name| format!("`{name}`"))
                    .collect();
                bail!(
                    InvalidOption,
                    "there is no method `{name}`; the program has {}",
                    names.join(", ")
                )
            }
        }
    }

    fn linked(&self, entry: &Entry, tracer: Tracer<'_>) -> Result<Arc<LinkedMethod>> {
        let mut linked = entry.linked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(linked) = &*linked {
            return Ok(linked.clone());
        }
        let made = Arc::new(LinkedMethod::new(
            &entry.plan,
            &self.0.runtime,
            &self.0.data,
            &self.0.options,
            &self.0.outline,
            tracer,
        )?);
        let mut unseen = self.0.unseen.lock().unwrap_or_else(PoisonError::into_inner);
        unseen.see(&made)?;
        drop(unseen);
        *linked = Some(made.clone());
        Ok(made)
    }
}

impl Unseen {
    fn new(outline: &Outline, options: &LoadOptions) -> Self {
        let names = options.profile.pins().into_iter().flat_map(Pins::names);
        let methods = outline.0.iter().filter(|(_, delegates)| *delegates > 0);
        Self {
            names: names.map(Into::into).collect(),
            methods: methods.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Takes note of a method that is loaded.
    ///
    /// # Errors
    /// If it is the last, and a name is not there.
    fn see(&mut self, linked: &LinkedMethod) -> Result<()> {
        self.names.retain(|name| !linked.profiled.has_name(name));
        let is_here = |method: &String| *method == linked.plan.name;
        if self.methods.iter().all(is_here)
            && let Some(name) = self.names.first()
        {
            bail!(
                InvalidOption,
                "a profile is pinned for delegate `{name}`, and no method has one of that name: {}",
                linked.profiled.describe()
            );
        }
        self.methods.retain(|method| !is_here(method));
        Ok(())
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Program")
            .field(&self.method_names().collect::<Vec<_>>())
            .finish()
    }
}
