//! The state of an `nvinfer1::IExecutionContext`.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::CString;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::callback;
use super::engine::Engine;
use super::error::{ApiResult, usage};
use super::kernels::ContextLifetime;
use super::memory;
use super::shape::{Shapes, elements};
use super::spec::TensorSpec;
use crate::interface::{self, ReportKind, Site, Timestamp, is_known, report};

/// The allocation strategy of a context's scratch: `nvinfer1::ExecutionContextAllocationStrategy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The context allocates the most that any profile needs, at once.
    Static,
    /// The context allocates what the profile needs, at each change of profile.
    OnProfileChange,
    /// The caller sets the scratch.
    UserManaged,
}

impl Strategy {
    pub(super) fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::Static),
            1 => Some(Self::OnProfileChange),
            2 => Some(Self::UserManaged),
            _ => None,
        }
    }
}

/// A context.
pub(super) struct Context {
    pub(super) engine: Arc<Engine>,
    pub(super) strategy: Strategy,
    pub(super) lifetime: Arc<ContextLifetime>,
    /// Device memory that a profile switch writes and every enqueue reads.
    pub(super) profile_memory: u64,
    pub(super) recorder: AtomicUsize,
    state: Mutex<State>,
}

/// The size of [`Context::profile_memory`], in bytes.
pub(super) const PROFILE_BYTES: u64 = 256;

/// The settings of the caller, and the work in flight.
pub(super) struct State {
    pub(super) profile: usize,
    pub(super) inputs: BTreeMap<String, Vec<i64>>,
    pub(super) addresses: BTreeMap<String, u64>,
    pub(super) allocators: BTreeMap<String, usize>,
    /// The address of the scratch, and its size where the caller has set it.
    pub(super) memory: u64,
    pub(super) memory_size: Option<u64>,
    /// The last result of `updateDeviceMemorySizeForShapes`, until a shape or the profile changes.
    pub(super) partition: Option<u64>,
    pub(super) consumed_event: u64,
    /// The auxiliary streams: those that the caller set, and those that the context created.
    pub(super) aux_given: Vec<u64>,
    pub(super) aux_made: Vec<u64>,
    /// The ends of enqueues, with their calls.
    pub(super) pending: VecDeque<(Timestamp, Arc<Site>)>,
    /// The ends of profile switches, with their calls.
    pub(super) switches: VecDeque<(Timestamp, Arc<Site>)>,
    /// True once any part of a profile switch was enqueued. [`Context::profile_memory`] holds the
    /// profile then.
    pub(super) switched: bool,
    pub(super) enqueues: u64,
    pub(super) name: CString,
    pub(super) profiler: usize,
    pub(super) temporary: usize,
    pub(super) emits_profile: bool,
    pub(super) cache_limit: usize,
    pub(super) verbosity: i32,
}

impl Context {
    pub(super) fn new(
        engine: &Arc<Engine>,
        strategy: Strategy,
        site: &Arc<Site>,
        recorder: usize,
    ) -> ApiResult<Self> {
        let device = memory::current_device(site)?;
        if device != engine.device {
            return usage(format!(
                "the engine is of device {}, and device {device} is current",
                engine.device
            ));
        }
        let profile_memory = memory::allocate(site, PROFILE_BYTES)?;
        let memory = match strategy {
            Strategy::Static => engine.scratch(),
            Strategy::OnProfileChange => engine.scratch_of_profile(0),
            Strategy::UserManaged => 0,
        };
        let memory =
            memory::allocate(site, memory).inspect_err(|_| memory::free(site, profile_memory))?;
        callback::count_recorder(recorder, true);
        Ok(Self {
            engine: engine.clone(),
            strategy,
            lifetime: Arc::default(),
            profile_memory,
            recorder: AtomicUsize::new(recorder),
            state: Mutex::new(State {
                profile: 0,
                inputs: BTreeMap::new(),
                addresses: BTreeMap::new(),
                allocators: BTreeMap::new(),
                memory,
                memory_size: None,
                partition: None,
                consumed_event: 0,
                aux_given: Vec::new(),
                aux_made: Vec::new(),
                pending: VecDeque::new(),
                switches: VecDeque::new(),
                switched: false,
                enqueues: 0,
                name: CString::default(),
                profiler: 0,
                temporary: 0,
                emits_profile: true,
                cache_limit: 0,
                verbosity: 0,
            }),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the context.
    pub(super) fn end(&self, site: &Arc<Site>) {
        let mut state = self.state();
        state.report_in_flight(site, "destroys the context");
        state.report_switches(site);
        let (memory, streams) = (state.memory, std::mem::take(&mut state.aux_made));
        drop(state);
        if self.strategy != Strategy::UserManaged {
            memory::free(site, memory);
        }
        memory::free(site, self.profile_memory);
        for stream in streams {
            interface::destroy_stream(site, stream);
        }
        *self
            .lifetime
            .destroyed
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(site.clone());
        self.engine.contexts.fetch_sub(1, Ordering::Relaxed);
        callback::count_recorder(self.recorder.swap(0, Ordering::Relaxed), false);
    }

    /// All shapes, with the values of the inputs on the host that have an address.
    pub(super) fn shapes(&self, state: &State) -> Shapes {
        let spec = &self.engine.spec;
        let mut shapes = Shapes {
            profile: state.profile,
            inputs: state.inputs.clone(),
            values: BTreeMap::new(),
        };
        for tensor in spec.tensors.iter().filter(|tensor| tensor.on_host) {
            let shape = shapes.of(spec, tensor);
            let address = state.addresses.get(&tensor.name).copied().unwrap_or(0);
            if address == 0 || shape.contains(&-1) {
                continue;
            }
            let len = elements(&shape) as usize * tensor.dtype.size();
            // SAFETY: the caller set the address of memory of that size.
            let bytes = unsafe { memory::read_host(address, len) };
            let numbers = tensor.dtype.numbers(&bytes);
            let values = numbers.iter().map(|number| number.whole()).collect();
            shapes.values.insert(tensor.name.clone(), values);
        }
        shapes
    }

    /// The inputs whose shape or values are not set.
    pub(super) fn insufficient(&self, shapes: &Shapes) -> Vec<&TensorSpec> {
        let spec = &self.engine.spec;
        let inputs = spec.tensors.iter().filter(|tensor| tensor.input);
        inputs
            .filter(|tensor| {
                shapes.of(spec, tensor).contains(&-1)
                    || (tensor.on_host && !shapes.values.contains_key(&tensor.name))
            })
            .collect()
    }

    /// Fails if a value of an input on the host is outside of the profile.
    pub(super) fn check_values(&self, shapes: &Shapes) -> ApiResult<()> {
        for (input, values) in &shapes.values {
            let bounds = self.engine.spec.value_bounds(shapes.profile, input);
            let Some([min, _, max]) = bounds else {
                continue;
            };
            for (index, value) in values.iter().enumerate() {
                let (min, max) = (min.get(index), max.get(index));
                if min.is_some_and(|min| value < min) || max.is_some_and(|max| value > max) {
                    return usage(format!(
                        "the value {value} of {input}[{index}] is not from {min:?} to {max:?}, as profile {} has it",
                        shapes.profile
                    ));
                }
            }
        }
        Ok(())
    }

    /// The scratch that an enqueue needs, in bytes, by what the context was told.
    pub(super) fn needed(&self, state: &State) -> u64 {
        state
            .partition
            .unwrap_or_else(|| self.engine.scratch_of_profile(state.profile))
    }
}

impl State {
    /// Forgets the enqueues that the host has waited for, and reports the last of the others.
    pub(super) fn report_in_flight(&mut self, site: &Arc<Site>, what: &str) {
        self.forget_known();
        report_last(&self.pending, site, what);
    }

    /// Forgets the profile switches that the host has waited for, and reports the last of the
    /// others.
    fn report_switches(&mut self, site: &Arc<Site>) {
        self.switches.retain(|(end, _)| !is_known(end));
        report_last(&self.switches, site, "destroys the context");
    }

    pub(super) fn forget_known(&mut self) {
        self.pending.retain(|(end, _)| !is_known(end));
    }
}

/// Reports the last of the work in flight, if there is any.
fn report_last(running: &VecDeque<(Timestamp, Arc<Site>)>, site: &Arc<Site>, what: &str) {
    if let Some((_, other)) = running.back() {
        let message = format!("{site} {what} while {other} may still run");
        let sites = vec![(**site).clone(), (**other).clone()];
        report(ReportKind::Misuse, message, sites);
    }
}
