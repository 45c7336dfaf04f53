//! Options that callers give to backends when they load a program.

use std::collections::HashMap;

/// The value of a backend's option.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OptionValue {
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A string.
    String(String),
}

impl From<bool> for OptionValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for OptionValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for OptionValue {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for OptionValue {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

/// Options for all backends.
#[derive(Clone, Debug, Default)]
pub struct BackendOptions {
    options: HashMap<String, HashMap<String, OptionValue>>,
    shared_scratch: bool,
    prepare_profiles: bool,
}

impl BackendOptions {
    /// The value of a backend's option, if it was set.
    pub fn get(&self, backend: &str, key: &str) -> Option<&OptionValue> {
        self.options.get(backend)?.get(key)
    }

    /// True if delegates share their scratch. A backend with an option of its own for that follows the
    /// option where it is set.
    pub fn shared_scratch(&self) -> bool {
        self.shared_scratch
    }

    /// True if delegates get ready for all of their profiles when an instance is made.
    pub fn prepare_profiles(&self) -> bool {
        self.prepare_profiles
    }

    /// Sets a backend's option.
    pub fn set(
        &mut self,
        backend: impl Into<String>,
        key: impl Into<String>,
        value: impl Into<OptionValue>,
    ) {
        let options = self.options.entry(backend.into()).or_default();
        options.insert(key.into(), value.into());
    }

    /// Sets [`shared_scratch`](Self::shared_scratch).
    pub fn set_shared_scratch(&mut self, shared_scratch: bool) {
        self.shared_scratch = shared_scratch;
    }

    /// Sets [`prepare_profiles`](Self::prepare_profiles).
    pub fn set_prepare_profiles(&mut self, prepare_profiles: bool) {
        self.prepare_profiles = prepare_profiles;
    }
}
