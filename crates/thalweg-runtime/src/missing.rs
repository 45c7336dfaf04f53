//! The requirements of a method that a runtime lacks.

use thalweg_core::{Error, ErrorKind};

use crate::plan::MethodPlan;
use crate::runtime::Runtime;

/// The requirements of a method that a runtime lacks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// Operators, by full name.
    pub operators: Vec<String>,
    /// Backends, by name.
    pub backends: Vec<String>,
    /// Devices, such as `cuda:0`.
    pub devices: Vec<String>,
    /// The reasons, such as why a backend that the runtime has does not work here.
    pub reasons: Vec<String>,
}

impl Missing {
    /// What a plan needs and a runtime lacks.
    pub(crate) fn of(plan: &MethodPlan, runtime: &Runtime) -> Self {
        let mut missing = Self::default();
        for operator in &plan.operators {
            if runtime.kernels().get(operator).is_none() {
                missing.operators.push(operator.clone());
            }
        }
        for delegate in &plan.delegates {
            let name = &delegate.backend;
            if missing.backends.contains(name) {
                continue;
            }
            let Some(backend) = runtime.backend(name) else {
                missing.backends.push(name.clone());
                continue;
            };
            if let Err(error) = backend.available() {
                missing.backends.push(name.clone());
                missing.reasons.push(format!("{name}: {}", error.message()));
            }
        }
        for id in plan.devices() {
            if let Err(error) = runtime.device(id) {
                missing.devices.push(id.to_string());
                if !runtime.looks_for_devices() {
                    continue;
                }
                missing.reasons.push(format!("{id}: {}", error.message()));
            }
        }
        for names in [
            &mut missing.operators,
            &mut missing.backends,
            &mut missing.devices,
            &mut missing.reasons,
        ] {
            names.sort();
            names.dedup();
        }
        missing
    }

    /// Returns true if nothing is missing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Operators that graphs of delegates need, with where each is.
    pub(crate) fn operators(operators: Vec<String>, reasons: Vec<String>) -> Self {
        Self {
            operators,
            reasons,
            ..Self::default()
        }
    }

    pub(super) fn into_error(self) -> Error {
        let mut parts = Vec::new();
        for (one, many, names) in [
            ("operator", "operators", &self.operators),
            ("backend", "backends", &self.backends),
            ("device", "devices", &self.devices),
        ] {
            if let [first, rest @ ..] = &names[..] {
                let noun = if rest.is_empty() { one } else { many };
                let list = rest
                    .iter()
                    .fold(first.clone(), |list, name| list + ", " + name);
                parts.push(format!("the {noun} {list}"));
            }
        }
        let kind = if self.operators.is_empty() && self.backends.is_empty() {
            ErrorKind::MissingDevice
        } else {
            ErrorKind::Missing
        };
        Error::new(
            kind,
            format!(
                "it needs what this runtime does not have: {}{}",
                parts.join("; "),
                self.reasons
                    .iter()
                    .map(|reason| format!("\n  {reason}"))
                    .collect::<String>()
            ),
        )
    }
}
