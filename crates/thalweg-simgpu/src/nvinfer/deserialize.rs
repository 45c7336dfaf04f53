//! The deserialization of engines.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::callback::{self, Severity};
use super::engine::Engine;
use super::error::{ApiError, ApiResult};
use super::lifecycle;
use super::method::MethodCall;
use super::runtime::Runtime;
use super::spec::{EngineSpec, HEADER};
use crate::config::{TensorRt, Variant};
use crate::interface::machine;

/// The source of an engine's bytes.
pub(super) enum Source<'a> {
    Memory(&'a [u8]),
    Reader { reader: usize, v2: bool },
}

impl Source<'_> {
    fn take(&mut self, len: usize) -> ApiResult<Vec<u8>> {
        match self {
            Self::Memory(bytes) => match bytes.split_at_checked(len) {
                Some((taken, rest)) => {
                    *bytes = rest;
                    Ok(taken.to_vec())
                }
                None => Err(ApiError::Serialization(format!(
                    "{len} bytes are needed and {} left: the engine is cut off",
                    bytes.len()
                ))),
            },
            Self::Reader { reader, v2 } => {
                let mut bytes = vec![0; len];
                let mut done = 0;
                while done < len {
                    let end = len.min(done + (64 << 10));
                    let read = callback::read(*reader, *v2, &mut bytes[done..end]);
                    let read = usize::try_from(read)
                        .ok()
                        .filter(|n| *n > 0 && *n <= end - done);
                    let Some(read) = read else {
                        return Err(ApiError::Serialization(format!(
                            "the reader gave {done} of {len} bytes"
                        )));
                    };
                    done += read;
                }
                Ok(bytes)
            }
        }
    }
}

/// Creates an engine.
pub(super) fn deserialize(
    call: &mut MethodCall<'_>,
    runtime: &Arc<Runtime>,
    mut source: Source<'_>,
) -> ApiResult<usize> {
    // Reading calls the caller, and so does the log; nothing is locked.
    if let Source::Reader { reader, v2: true } = source
        && !callback::seek(reader, 0, 0)
    {
        return Err(ApiError::Serialization("the reader cannot seek".into()));
    }
    let header = source.take(HEADER)?;
    let len = EngineSpec::description(&header).map_err(ApiError::Serialization)?;
    let json = source.take(len)?;
    let spec = EngineSpec::parse(&json).map_err(ApiError::Serialization)?;
    source.take(spec.payload as usize)?;
    if let Some(text) = &spec.fails_to_deserialize {
        return Err(ApiError::Internal(text.clone()));
    }
    check(runtime, &spec)?;
    let engine = Engine::new(
        runtime,
        spec,
        &call.site,
        runtime.recorder.load(Ordering::Relaxed),
    )?;
    runtime.engines.fetch_add(1, Ordering::Relaxed);
    call.log(Severity::Info, "an engine was deserialized");
    Ok(lifecycle::create(engine, runtime.version, &call.site))
}

/// Fails if a runtime cannot run an engine.
fn check(runtime: &Runtime, spec: &EngineSpec) -> ApiResult<()> {
    let ours = runtime.version;
    let (major, minor, _) = spec.version;
    let same = (major, minor) == (ours.major, ours.minor);
    let newer = spec.version_compatible && major == ours.major && minor <= ours.minor;
    if !same && !newer {
        let current = TensorRt::serialization((ours.major, ours.minor, ours.patch));
        let version = TensorRt::serialization(spec.version);
        return Err(ApiError::Serialization(format!(
            "Serialization assertion stdVersionRead == kSERIALIZATION_VERSION failed.Version tag does not match. Note: Current Version: {current}, Serialized Engine Version: {version}"
        )));
    }
    if ours.kind != Variant::Full && ours.kind != Variant::Rtx && !spec.version_compatible {
        return Err(ApiError::Serialization(
            "this library runs version compatible engines only".into(),
        ));
    }
    if ours.kind == Variant::Dispatch && !spec.host_code {
        return Err(ApiError::Serialization(
            "the engine brings no lean runtime to dispatch to".into(),
        ));
    }
    if spec.host_code && !runtime.host_code.load(Ordering::Relaxed) {
        return Err(ApiError::State(
            "the engine has code for the host in it, which IRuntime::setEngineHostCodeAllowed has to allow".into(),
        ));
    }
    let device = machine().capability;
    if let Some(built) = spec.capability
        && built != device
    {
        return Err(ApiError::Serialization(format!(
            "the engine was generated for compute capability {}.{}, and the device has {}.{}",
            built.0, built.1, device.0, device.1
        )));
    }
    Ok(())
}
