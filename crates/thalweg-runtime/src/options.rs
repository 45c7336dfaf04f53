//! Choices that callers make when they load and when they run.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use thalweg_core::{BackendOptions, CallerStream, DeviceId, OptionValue, StreamHandle, Tracer};

use crate::completion::Completion;
use crate::optimizations::Optimizations;
use crate::profile::Profile;
use crate::state::State;
use crate::trace::Trace;

/// Choices for loading a program.
#[derive(Clone, Debug)]
#[must_use]
pub struct LoadOptions {
    pub(crate) data: Vec<PathBuf>,
    pub(crate) memory_limit: usize,
    pub(crate) optimizations: Optimizations,
    pub(crate) profile: Profile,
    pub(crate) backend_options: BackendOptions,
    pub(crate) trace: Option<Trace>,
}

impl LoadOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self {
            data: Vec::new(),
            memory_limit: 64 << 30,
            optimizations: Optimizations::all(),
            profile: Profile::Automatic,
            backend_options: BackendOptions::default(),
            trace: None,
        }
    }

    /// Adds a data file (`.ptd`). Without any, those beside the program are found by themselves:
    /// the one with the program's name, else the only one in the folder.
    pub fn data(mut self, path: impl Into<PathBuf>) -> Self {
        self.data.push(path.into());
        self
    }

    /// How many bytes of host memory the plan of an instance may ask for, its arenas and mutable
    /// buffers; 64 GiB by default. A file of a few bytes can ask for any amount, so whoever loads
    /// files of strangers sets this. Results whose size depends on data, and memory on devices, are
    /// not counted.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// The optimizations of methods; by default [all](Optimizations::all).
    pub fn optimizations(mut self, optimizations: Optimizations) -> Self {
        self.optimizations = optimizations;
        self
    }

    /// Lets delegates share the temporary memory that they need on a device while they run, instead
    /// of having some each, as far as their backends can. Calls of the program take a little longer,
    /// and the device has more memory left. It is off by default, and holds for what is loaded with
    /// these options.
    pub fn shared_scratch(mut self, shared_scratch: bool) -> Self {
        self.backend_options.set_shared_scratch(shared_scratch);
        self
    }

    /// Which of their profiles delegates use in calls that say nothing else
    /// ([`RunOptions::profile`]). Methods and delegates that are pinned must be there, or the program is
    /// not loaded; what is known only when a delegate is loaded (its name, how many profiles it has) is
    /// an error then.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Lets delegates get ready for all of their profiles when an instance is made, rather than for each
    /// when a call first uses it. Making an instance takes longer then, and no call does. It is off by
    /// default.
    pub fn prepare_profiles(mut self, prepare_profiles: bool) -> Self {
        self.backend_options.set_prepare_profiles(prepare_profiles);
        self
    }

    /// Writes down in a trace what loading the program does. What is loaded later is traced by what is
    /// given [then](crate::MethodOptions::trace).
    pub fn trace(mut self, trace: &Trace) -> Self {
        self.trace = Some(trace.clone());
        self
    }

    /// An option for a backend, by the backend's and the option's name. It holds for what is
    /// loaded with these options, and is not looked at again later.
    pub fn backend_option(
        mut self,
        backend: impl Into<String>,
        key: impl Into<String>,
        value: impl Into<OptionValue>,
    ) -> Self {
        self.backend_options.set(backend, key, value);
        self
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether what calls ask a device for is recorded as graphs and launched as a whole, which costs less.
///
/// All that a call asks for between two times that the host has to wait is one graph: copies, and the
/// work of delegates that can put it off. It is recorded when it is the same for the third time, and
/// launched while it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphUse {
    /// Where it can be. What cannot be recorded is said in the log, once, and runs as without.
    #[default]
    Auto,
    /// The same, but what was put off and cannot be recorded is an error. A delegate that knows nothing
    /// of graphs goes on as ever.
    On,
    /// Nowhere.
    Off,
}

/// Choices for making an instance.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct MethodOptions {
    pub(crate) state: Option<State>,
    pub(crate) trace: Option<Trace>,
}

impl MethodOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Named mutable buffers are those of this state, rather than the instance's own.
    pub fn state(mut self, state: &State) -> Self {
        self.state = Some(state.clone());
        self
    }

    /// Writes down in a trace what making the instance does: the loading of delegates, where it is the
    /// first of the method, and what is the instance's own.
    pub fn trace(mut self, trace: &Trace) -> Self {
        self.trace = Some(trace.clone());
        self
    }
}

/// Choices for one call.
#[derive(Clone, Default)]
#[must_use]
pub struct RunOptions<'s> {
    pub(crate) threads: Option<usize>,
    pub(crate) instruction_limit: Option<u64>,
    pub(crate) device_outputs: bool,
    /// `None`: as the program was loaded.
    pub(crate) profile: Option<Cow<'s, Profile>>,
    graph: GraphUse,
    pub(crate) trace: Option<&'s Trace>,
    streams: Vec<&'s dyn CallerStream>,
    after: Vec<&'s Completion>,
}

impl<'s> RunOptions<'s> {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many threads CPU operators may use; at least 1. By default the runtime's setting.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// How many instructions the call may run before it ends with an error. Programs can loop, so
    /// whoever runs files of strangers sets this; there is no limit by default.
    pub fn instruction_limit(mut self, instructions: u64) -> Self {
        self.instruction_limit = Some(instructions);
        self
    }

    /// Leaves outputs on the device where that has them: they come back as [`Output::Device`], and
    /// the call does not wait for them. Their memory is the method's; its next call, or its end,
    /// comes after all that was on the call's stream before, and whatever else reads them must be
    /// ordered before that by the caller.
    ///
    /// [`Output::Device`]: thalweg_core::Output::Device
    pub fn device_outputs(mut self, device_outputs: bool) -> Self {
        self.device_outputs = device_outputs;
        self
    }

    /// Whether what the call asks devices for is recorded once and then launched as a whole.
    pub fn graph(mut self, graph: GraphUse) -> Self {
        self.graph = graph;
        self
    }

    /// What [`RunOptions::graph`] was told, for delegates.
    pub fn graph_use(&self) -> GraphUse {
        self.graph
    }

    /// Which of their profiles delegates use in this call. It takes the place of all that
    /// [`LoadOptions::profile`] says, also where it pins less; with [`Profile::Automatic`], everything is
    /// chosen by the inputs.
    ///
    /// A profile that is lent (`&profile`) costs nothing. One that is given away may hold memory, which
    /// goes with the options.
    pub fn profile(mut self, profile: impl Into<Cow<'s, Profile>>) -> Self {
        self.profile = Some(profile.into());
        self
    }

    /// Writes down in a trace what the call does.
    pub fn trace(mut self, trace: &'s Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// Where the call is written down, for delegates.
    #[inline]
    pub fn tracer(&self) -> Tracer<'s> {
        Trace::tracer_of(self.trace)
    }

    /// The stream for all that the call does on the stream's device. By default that is the
    /// calling thread's own stream. One for each device can be given; a later one takes the place
    /// of an earlier one.
    ///
    /// # A stream that the caller records
    /// If the stream is in a capture, the call becomes a part of the caller's graph, as far as a graph can
    /// have all of it: inputs that go to the device are there ([`Input::Device`]), outputs stay there
    /// ([`device_outputs`](Self::device_outputs)), no operator works on tensors on the host, and a call with
    /// the same shapes has been made before, so that all is loaded and in its place. Otherwise the call
    /// fails and says why; the caller gives up the capture then. The graph refers to the memory of the
    /// method and of the inputs: it is launched only while these are there, not at the same time as a
    /// call of the method, and no more after a call with other shapes.
    ///
    /// [`Input::Device`]: thalweg_core::Input::Device
    pub fn stream(mut self, stream: &'s dyn CallerStream) -> Self {
        self.streams
            .retain(|other| other.device() != stream.device());
        self.streams.push(stream);
        self
    }

    /// Makes the call go on, on its device, after another one: the one that has made an input of this
    /// call, or that still reads an output which this call writes anew. That is needed where the two are
    /// not on one stream; [`Outputs::completion`] gives it. The host does not wait. Several can be given.
    ///
    /// [`Outputs::completion`]: crate::Outputs::completion
    pub fn after(mut self, completion: &'s Completion) -> Self {
        self.after.push(completion);
        self
    }

    /// What the call goes on after on a device.
    pub(crate) fn after_on(&self, device: DeviceId) -> impl Iterator<Item = &'s Completion> {
        let after = self.after.iter().copied();
        after.filter(move |completion| completion.device() == device)
    }

    /// The stream that the caller chose on a device.
    pub(crate) fn stream_on(&self, device: DeviceId) -> Option<StreamHandle> {
        let mut streams = self.streams.iter();
        let stream = streams.find(|stream| stream.device() == device)?;
        Some(stream.handle())
    }
}

impl fmt::Debug for RunOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let streams: Vec<_> = self
            .streams
            .iter()
            .map(|s| (s.device(), s.handle()))
            .collect();
        f.debug_struct("RunOptions")
            .field("threads", &self.threads)
            .field("instruction_limit", &self.instruction_limit)
            .field("profile", &self.profile)
            .field("graph", &self.graph)
            .field("trace", &self.trace)
            .field("streams", &streams)
            .finish()
    }
}
