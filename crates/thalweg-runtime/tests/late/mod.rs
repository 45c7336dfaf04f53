//! A device that does nothing before it must.
//!
//! Everything that is asked for on a stream is put off until somebody waits for it. So a host that
//! does not wait reads what was there before, and a host that writes too early changes what a copy
//! reads: both give wrong answers, every time.
#![allow(unsafe_code, reason = "it stands in for a driver")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use std::{fmt, ptr};

use thalweg_core::{
    Backend, Call, CallerStream, ClockReference, Delegate, DelegateInstance, DelegateSpec, Device,
    DeviceAddress, DeviceEvent, DeviceGraph, DeviceId, DeviceKind, DeviceMemory, DeviceTimer,
    DeviceTimes, Error, ErrorKind, GraphKey, LoadedDelegate, PinnedMemory, Result, StateBuffers,
    StreamHandle,
};

/// The id of the first such device.
pub(crate) const LATE: DeviceId = DeviceId {
    kind: DeviceKind::Cuda,
    index: 0,
};

/// The handle that means the default stream of whatever thread uses it.
const DEFAULT: StreamHandle = StreamHandle(2);

/// What a thread means by a handle: the default stream of each is another.
fn meant(stream: StreamHandle) -> StreamHandle {
    static NEXT: AtomicUsize = AtomicUsize::new(1 << 32);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    match stream {
        DEFAULT => StreamHandle(OWN.with(|own| *own)),
        chosen => chosen,
    }
}

/// A piece of work, run when it can be put off no longer, and again whenever its graph is launched.
type Task = Arc<dyn Fn() + Send + Sync>;

/// What was asked for, by stream, and what points in streams mean.
#[derive(Default)]
struct Streams {
    queues: HashMap<StreamHandle, Vec<Item>>,
}

enum Item {
    Task(Task),
    /// Another stream's first so many items come first.
    After(StreamHandle, u64),
}

/// Shared by a device and what it gave out.
#[derive(Default)]
pub(crate) struct Shared {
    streams: Mutex<Streams>,
    /// How many items each stream has been given, and has done.
    given: Mutex<HashMap<StreamHandle, u64>>,
    done: Mutex<HashMap<StreamHandle, u64>>,
    pub(crate) uploads: AtomicUsize,
    pub(crate) downloads: AtomicUsize,
    pub(crate) waits: AtomicUsize,
    pub(crate) fail_mark: AtomicUsize,
    /// What is recorded at the moment, rather than put off.
    recording: Mutex<Option<Vec<Task>>>,
    pub(crate) launches: AtomicUsize,
    /// Whether recording fails.
    pub(crate) fail_record: AtomicBool,
    /// Whether callers are said to have pinned what they lend.
    pub(crate) reaches_callers: AtomicBool,
    /// How many points that tell the time there were, and which of them, from 1 on, cannot be had.
    pub(crate) points: AtomicUsize,
    pub(crate) fail_point: AtomicUsize,
    /// Whether points do not tell their times.
    pub(crate) fail_times: AtomicBool,
    /// Where pinned memory starts and ends.
    pinned: Mutex<Vec<(usize, usize)>>,
}

/// The device.
pub(crate) struct LateDevice(pub(crate) Arc<Shared>);

impl LateDevice {
    pub(crate) fn new() -> (Arc<Self>, Arc<Shared>) {
        let shared = Arc::<Shared>::default();
        (Arc::new(Self(shared.clone())), shared)
    }
}

impl Shared {
    pub(crate) fn push(&self, stream: StreamHandle, task: impl Fn() + Send + Sync + 'static) {
        let task: Task = Arc::new(task);
        match &mut *self.recording.lock().unwrap() {
            Some(recorded) => recorded.push(task),
            None => self.add(stream, Item::Task(task)),
        }
    }

    fn add(&self, stream: StreamHandle, item: Item) {
        let stream = meant(stream);
        let mut streams = self.streams.lock().unwrap();
        streams.queues.entry(stream).or_default().push(item);
        *self.given.lock().unwrap().entry(stream).or_default() += 1;
    }

    fn is_pinned(&self, address: *const u8) -> bool {
        let pinned = self.pinned.lock().unwrap();
        let within = |&(start, end): &(usize, usize)| (start..end).contains(&address.addr());
        pinned.iter().any(within)
    }

    fn given(&self, stream: StreamHandle) -> u64 {
        let stream = meant(stream);
        self.given
            .lock()
            .unwrap()
            .get(&stream)
            .copied()
            .unwrap_or(0)
    }

    /// Does a stream's work up to a point.
    fn run(&self, stream: StreamHandle, until: u64) {
        let stream = meant(stream);
        loop {
            let done = self.done.lock().unwrap().get(&stream).copied().unwrap_or(0);
            if done >= until {
                return;
            }
            let item = {
                let mut streams = self.streams.lock().unwrap();
                streams.queues.get_mut(&stream).map(|queue| queue.remove(0))
            };
            match item {
                Some(Item::Task(task)) => task(),
                Some(Item::After(other, point)) => self.run(other, point),
                None => return,
            }
            *self.done.lock().unwrap().entry(stream).or_default() += 1;
        }
    }
}

/// Memory, of the device or pinned.
struct Memory {
    words: Box<[u64]>,
    len: usize,
}

impl Memory {
    fn new(len: usize) -> Self {
        Self {
            words: vec![0; len.div_ceil(8) + 32].into(),
            len,
        }
    }

    fn start(&self) -> *mut u8 {
        let address = self.words.as_ptr().cast_mut().cast::<u8>();
        address.wrapping_add(address.align_offset(256))
    }
}

// SAFETY: as for pinned memory.
unsafe impl DeviceMemory for Memory {
    fn address(&self) -> DeviceAddress {
        DeviceAddress(self.start() as u64)
    }

    fn len(&self) -> usize {
        self.len
    }
}

// SAFETY: it owns the words, which stay where they are.
unsafe impl PinnedMemory for Memory {
    fn as_ptr(&self) -> *mut u8 {
        self.start()
    }

    fn len(&self) -> usize {
        self.len
    }
}

impl fmt::Debug for LateDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LateDevice")
    }
}

/// Addresses for a task on another thread.
#[derive(Clone, Copy)]
struct Addresses(*mut u8, *const u8);

// SAFETY: whoever asks for a copy promises that the memory stays.
unsafe impl Send for Addresses {}
// SAFETY: as above.
unsafe impl Sync for Addresses {}

impl Addresses {
    fn copy(self, len: usize) {
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(self.1, self.0, len) }
    }

    fn write(self, bytes: &[u8]) {
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.0, bytes.len()) }
    }

    fn increment(self, elements: usize) {
        let (to, from) = (self.0.cast::<f32>(), self.1.cast::<f32>());
        for index in 0..elements {
            // SAFETY: as above.
            unsafe { to.add(index).write(from.add(index).read() + 1.0) }
        }
    }
}

impl Device for LateDevice {
    fn id(&self) -> DeviceId {
        LATE
    }

    fn name(&self) -> String {
        "late".into()
    }

    fn default_stream(&self) -> StreamHandle {
        DEFAULT
    }

    fn allocate(&self, bytes: usize) -> Result<Box<dyn DeviceMemory>> {
        Ok(Box::new(Memory::new(bytes)))
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<Box<dyn PinnedMemory>> {
        let memory = Memory::new(bytes);
        let start = memory.start().addr();
        self.0.pinned.lock().unwrap().push((start, start + bytes));
        Ok(Box::new(memory))
    }

    fn is_pinned(&self, _: *const u8) -> Result<bool> {
        Ok(self.0.reaches_callers.load(Ordering::Relaxed))
    }

    fn event(&self) -> Result<Box<dyn DeviceEvent>> {
        Ok(Box::new(LateMark {
            shared: self.0.clone(),
            point: Mutex::default(),
        }))
    }

    fn synchronize(&self, stream: StreamHandle) -> Result<()> {
        self.0.waits.fetch_add(1, Ordering::Relaxed);
        self.0.run(stream, self.0.given(stream));
        Ok(())
    }

    fn supports_graphs(&self) -> bool {
        true
    }

    fn capture(
        &self,
        _: StreamHandle,
        submit: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<Box<dyn DeviceGraph>>> {
        *self.0.recording.lock().unwrap() = Some(Vec::new());
        let submitted = submit();
        let recorded = self.0.recording.lock().unwrap().take();
        submitted?;
        if self.0.fail_record.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Device, "there can be no graph"));
        }
        Ok(Some(Box::new(LateGraph {
            shared: self.0.clone(),
            tasks: recorded.unwrap(),
        })))
    }

    fn timer(&self, _: StreamHandle) -> Result<Option<Box<dyn DeviceTimer>>> {
        Ok(Some(Box::new(LateTimer {
            shared: self.0.clone(),
            start: Instant::now(),
            points: Vec::new(),
        })))
    }

    unsafe fn upload(
        &self,
        to: DeviceAddress,
        from: *const u8,
        len: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        self.0.uploads.fetch_add(1, Ordering::Relaxed);
        if self.0.is_pinned(from) {
            let addresses = Addresses(to.0 as *mut u8, from);
            self.0.push(stream, move || addresses.copy(len));
            return Ok(());
        }
        // Other memory is read at once.
        // SAFETY: the caller's.
        let staged = unsafe { std::slice::from_raw_parts(from, len) }.to_vec();
        let to = Addresses(to.0 as *mut u8, ptr::null());
        self.0.push(stream, move || to.write(&staged));
        Ok(())
    }

    unsafe fn download(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        len: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        self.0.downloads.fetch_add(1, Ordering::Relaxed);
        let addresses = Addresses(to, from.0 as *const u8);
        self.0.push(stream, move || addresses.copy(len));
        // Other memory than pinned is written when this returns.
        if !self.0.is_pinned(to) {
            self.0.run(stream, self.0.given(stream));
        }
        Ok(())
    }

    unsafe fn copy(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        len: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let addresses = Addresses(to.0 as *mut u8, from.0 as *const u8);
        self.0.push(stream, move || addresses.copy(len));
        Ok(())
    }
}

struct LateGraph {
    shared: Arc<Shared>,
    tasks: Vec<Task>,
}

impl DeviceGraph for LateGraph {
    unsafe fn launch(&self, stream: StreamHandle) -> Result<()> {
        self.shared.launches.fetch_add(1, Ordering::Relaxed);
        for task in &self.tasks {
            self.shared.add(stream, Item::Task(task.clone()));
        }
        Ok(())
    }
}

struct LateMark {
    shared: Arc<Shared>,
    point: Mutex<Option<(StreamHandle, u64)>>,
}

impl DeviceEvent for LateMark {
    fn record(&self, stream: StreamHandle) -> Result<()> {
        if self.shared.fail_mark.load(Ordering::Relaxed) > 0 {
            self.shared.fail_mark.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::new(ErrorKind::Internal, "the mark fails"));
        }
        *self.point.lock().unwrap() = Some((meant(stream), self.shared.given(stream)));
        Ok(())
    }

    fn wait_in(&self, stream: StreamHandle) -> Result<()> {
        if let Some((other, point)) = *self.point.lock().unwrap()
            && other != meant(stream)
        {
            self.shared.add(stream, Item::After(other, point));
        }
        Ok(())
    }

    fn synchronize(&self) -> Result<()> {
        self.shared.waits.fetch_add(1, Ordering::Relaxed);
        let point = *self.point.lock().unwrap();
        if let Some((stream, point)) = point {
            self.shared.run(stream, point);
        }
        Ok(())
    }
}

/// Points that know when the host came to them, while it did what it could put off no longer.
struct LateTimer {
    shared: Arc<Shared>,
    start: Instant,
    points: Vec<LatePoint>,
}

struct LatePoint {
    stream: StreamHandle,
    /// How much the stream had been given.
    given: u64,
    time: Arc<Mutex<Option<Instant>>>,
}

impl DeviceTimer for LateTimer {
    fn record(&mut self, stream: StreamHandle) -> Result<()> {
        let number = self.shared.points.fetch_add(1, Ordering::Relaxed) + 1;
        if number == self.shared.fail_point.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Device, "there can be no point"));
        }
        let time = Arc::new(Mutex::new(None));
        let passed = time.clone();
        let task = move || *passed.lock().unwrap() = Some(Instant::now());
        self.shared.add(stream, Item::Task(Arc::new(task)));
        self.points.push(LatePoint {
            stream: meant(stream),
            given: self.shared.given(stream),
            time,
        });
        Ok(())
    }

    fn times(&mut self) -> Result<DeviceTimes> {
        if self.shared.fail_times.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Device, "it does not tell"));
        }
        let nanoseconds = |at: Instant| at.saturating_duration_since(self.start).as_nanos() as f64;
        let points = self.points.iter().map(|point| {
            self.shared.run(point.stream, point.given);
            match *point.time.lock().unwrap() {
                Some(at) => Ok(nanoseconds(at)),
                None => Err(Error::new(ErrorKind::Device, "it was never passed")),
            }
        });
        let points = points.collect();
        let now = Instant::now();
        Ok(DeviceTimes {
            events: points,
            reference: Some(ClockReference {
                time: nanoseconds(now),
                submitted: now,
                completed: now,
            }),
        })
    }
}

/// A stream that a caller chose.
#[allow(dead_code, reason = "some tests choose no stream")]
pub(crate) struct Chosen(pub(crate) usize);

impl CallerStream for Chosen {
    fn device(&self) -> DeviceId {
        LATE
    }

    fn handle(&self) -> StreamHandle {
        StreamHandle(self.0)
    }
}

/// A backend whose delegates add 1 to a tensor of f32, on the device.
#[derive(Clone)]
pub(crate) struct Increment {
    shared: Arc<Shared>,
    /// Whether they do it in place.
    in_place: bool,
    /// What was ever prepared, and its number; what was prepared last comes last.
    prepared: Vec<(Work, u64)>,
}

/// What a delegate asks for: where it reads, where it writes, and how many bytes.
#[derive(Clone, Copy, PartialEq)]
struct Work(DeviceAddress, DeviceAddress, usize);

impl Increment {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: shared.clone(),
            in_place: false,
            prepared: Vec::new(),
        }
    }

    #[allow(dead_code, reason = "some tests update nothing")]
    pub(crate) fn in_place(shared: &Arc<Shared>) -> Self {
        Self {
            shared: shared.clone(),
            in_place: true,
            prepared: Vec::new(),
        }
    }
}

impl Backend for Increment {
    fn load(&self, _: &DelegateSpec<'_>) -> Result<LoadedDelegate> {
        Ok(Arc::new(self.clone()).into())
    }
}

impl Delegate for Increment {
    fn instance(&self, _: &dyn StateBuffers) -> Result<Box<dyn DelegateInstance>> {
        Ok(Box::new(self.clone()))
    }

    fn aliases(&self) -> Vec<(usize, usize)> {
        if self.in_place {
            vec![(1, 0)]
        } else {
            Vec::new()
        }
    }
}

impl Increment {
    fn work(call: &mut Call<'_>) -> Result<Work> {
        let x = call.device_tensor(0)?;
        let (sizes, len, from) = (x.sizes().to_vec(), x.len(), x.address());
        let to = call.device_output(1, &sizes)?.address();
        Ok(Work(from, to, len))
    }

    fn ask_for(&self, Work(from, to, len): Work, stream: StreamHandle) {
        let (mut from, to) = (from.0 as *const u8, to.0 as *mut u8);
        if self.in_place && to.cast_const() != from {
            let addresses = Addresses(to, from);
            self.shared.push(stream, move || addresses.copy(len));
            from = to;
        }
        let addresses = Addresses(to, from);
        self.shared
            .push(stream, move || addresses.increment(len / 4));
    }
}

impl DelegateInstance for Increment {
    fn execute(&mut self, call: &mut Call<'_>) -> Result<()> {
        let work = Self::work(call)?;
        self.ask_for(work, call.stream(LATE)?);
        Ok(())
    }

    fn encode(&mut self, call: &mut Call<'_>) -> Result<Option<GraphKey>> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let work = Self::work(call)?;
        let known = self.prepared.iter().position(|(known, _)| *known == work);
        let stamp = match known {
            Some(index) => self.prepared.remove(index).1,
            None => NEXT.fetch_add(1, Ordering::Relaxed),
        };
        self.prepared.push((work, stamp));
        Ok(Some(GraphKey(stamp)))
    }

    fn submit(&mut self, stream: StreamHandle, _: bool) -> Result<()> {
        let (work, _) = *self.prepared.last().unwrap();
        self.ask_for(work, stream);
        Ok(())
    }
}
