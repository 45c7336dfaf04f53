//! The library that runs engines alone.

pub(super) use thalweg::tensorrt::{Around, Floor as EngineBaseline, Watched};
