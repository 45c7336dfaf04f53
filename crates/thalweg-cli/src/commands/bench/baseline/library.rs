//! The library that runs engines alone.

pub(super) use thalweg_baseline::{Baseline as EngineBaseline, CallGraph, Recorder, Variant};
