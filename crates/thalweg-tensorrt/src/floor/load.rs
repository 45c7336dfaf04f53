//! How long TensorRT itself takes to make engines and contexts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_core::{Result, bail};

use super::Floor;
use crate::abi::{Engine, Runtime};
use crate::container::Container;
use crate::loaded::Loaded;

impl Floor {
    /// Measures, so many times, what TensorRT's own two calls take that loading cannot do without:
    /// making each engine of its bytes, and making a context for each call, one after the other. All
    /// of it is dropped each time, which is not measured.
    ///
    /// # Errors
    /// If TensorRT refuses what it did not refuse before, as it may if memory is out.
    pub fn measure_loading(&self, repeat: usize) -> Result<Vec<Duration>> {
        let _current = self.device.enter()?;
        let runtime = |runtime: &Arc<Runtime>| (0..repeat).map(|_| self.load(runtime)).collect();
        self.tensorrt.with_runtime(&self.device, runtime)
    }

    fn load(&self, runtime: &Arc<Runtime>) -> Result<Duration> {
        let mut engines: Vec<(&Arc<Loaded>, Arc<Engine>)> = Vec::new();
        let mut contexts = Vec::with_capacity(self.runs.len());
        let mut took = Duration::ZERO;
        for loaded in self.runs.iter().map(|run| &run.loaded) {
            let known = engines.iter().find(|(known, _)| Arc::ptr_eq(known, loaded));
            let engine = match known {
                Some((_, engine)) => engine.clone(),
                None => {
                    let (engine, time) = deserialize(runtime, loaded)?;
                    took += time;
                    let engine = Arc::new(engine);
                    engines.push((loaded, engine.clone()));
                    engine
                }
            };
            let start = Instant::now();
            let context = engine.create_context()?;
            took += start.elapsed();
            contexts.push(context);
        }
        Ok(took)
    }
}

/// Makes an engine anew, in the way that it was made.
fn deserialize(runtime: &Arc<Runtime>, loaded: &Loaded) -> Result<(Engine, Duration)> {
    let Some(payload) = &loaded.payload else {
        bail!(Internal, "an engine whose bytes are gone");
    };
    let (container, device) = (Container::parse(payload)?, loaded.device());
    let start = Instant::now();
    let engine = match loaded.weights.streamable {
        0 => runtime.deserialize(device, container.engine),
        _ => runtime.deserialize_by_reading(device, container.engine),
    };
    Ok((engine?, start.elapsed()))
}
