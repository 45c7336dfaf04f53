//! The state of the simulated driver, and the changes to it.

mod allocation;
mod captures;
mod contexts;
mod events;
mod execution;
mod graphs;
mod leaks;
mod modules;
mod scheduling;
mod streams;
mod user_objects;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::clock::{Clock, HOST, Timestamp};
use crate::config::{Config, Mode};
use crate::fault::Faults;
use crate::handle::{Handles, InvalidHandle};
use crate::memory::{Memory, Pool};
use crate::objects::{
    Capture, Context, Device, Event, Exec, ForeignObjects, Function, Graph, GreenContext, Module,
    ResourceDescription, Stream, UserObject, UserObjectRef,
};
use crate::report::{ReportKind, Reports, Site};
use crate::schedule::Schedule;
use crate::status::Status;
use crate::work::{Done, Op, Queue};

/// The length of the log. After that it forgets the oldest work.
const LOG_LIMIT: usize = 1 << 18;

/// The state of the simulated driver, with all its objects.
pub(crate) struct Driver {
    pub(crate) config: Config,
    pub(crate) initialized: bool,
    /// The number of resets, by which threads know that their contexts are gone.
    pub(crate) generation: u64,
    pub(crate) schedule: Schedule,
    /// The queues, by slot. Slot 0 is the host, whose queue stays empty.
    pub(crate) queues: Vec<Queue>,
    /// The clock of the host: all work that it has waited for.
    pub(crate) host: Clock,
    pub(crate) memory: Memory,
    pub(crate) devices: Vec<Device>,
    pub(crate) peers: HashSet<(usize, usize)>,
    pub(crate) pools: Handles<Pool>,
    pub(crate) contexts: Handles<Context>,
    pub(crate) streams: Handles<Stream>,
    pub(crate) events: Handles<Event>,
    pub(crate) modules: Handles<Module>,
    pub(crate) functions: Handles<Function>,
    pub(crate) graphs: Handles<Graph>,
    pub(crate) execs: Handles<Exec>,
    pub(crate) user_objects: Handles<UserObject>,
    /// The references to user objects that only running launches still have.
    pub(crate) pending_releases: Vec<(Option<Timestamp>, Vec<UserObjectRef>)>,
    pub(crate) green: Handles<GreenContext>,
    pub(crate) descriptions: Handles<ResourceDescription>,
    pub(crate) captures: Vec<Capture>,
    /// The objects of other stand-ins.
    pub(crate) foreign: ForeignObjects,
    pub(crate) faults: Faults,
    pub(crate) reports: Reports,
    pub(crate) log: VecDeque<Done>,
    /// Claimed work, for the worker threads.
    pub(crate) jobs: VecDeque<Op>,
    /// The amount of work that is claimed and not complete.
    pub(crate) running: usize,
    /// The amount of work that is not claimed.
    pub(crate) waiting: usize,
    /// The ends of work that `simgpu_mark` recorded.
    pub(crate) marks: Vec<Timestamp>,
    /// The number of times that the host had to wait for work.
    pub(crate) waits: u64,
    calls: u64,
    numbers: u64,
    names: u64,
    /// The simulated clock, in milliseconds.
    time: f64,
}

impl Driver {
    pub(crate) fn new(config: Config, generation: u64) -> Self {
        let mut host = Clock::default();
        host.set(HOST, 1);
        let fill = config.mode == Mode::Seeded;
        let mut driver = Self {
            initialized: false,
            generation,
            schedule: Schedule::new(config.seed, config.eagerness),
            queues: vec![Queue::new("host".into(), 0, 0)],
            host,
            memory: Memory::new(config.devices, config.memory, fill),
            devices: Vec::new(),
            peers: HashSet::new(),
            pools: Handles::new(1),
            contexts: Handles::new(2),
            streams: Handles::new(3),
            events: Handles::new(4),
            modules: Handles::new(5),
            functions: Handles::new(6),
            graphs: Handles::new(7),
            execs: Handles::new(8),
            user_objects: Handles::new(11),
            pending_releases: Vec::new(),
            green: Handles::new(9),
            descriptions: Handles::new(10),
            captures: Vec::new(),
            foreign: ForeignObjects::default(),
            faults: Faults::default(),
            reports: Reports::default(),
            log: VecDeque::new(),
            jobs: VecDeque::new(),
            running: 0,
            waiting: 0,
            marks: Vec::new(),
            waits: 0,
            calls: 0,
            numbers: 0,
            names: 0,
            time: 0.0,
            config,
        };
        for device in 0..driver.memory.arenas.len() {
            let pool = driver.pools.insert(Pool::new(device, true));
            driver.devices.push(Device {
                primary: None,
                retained: 0,
                primary_flags: 0,
                default_pool: pool,
                current_pool: pool,
                sticky: None,
            });
        }
        driver
    }

    /// A number that no other object has.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    /// The site of a new call of the host.
    pub(crate) fn host_site(&mut self, name: &str) -> Arc<Site> {
        self.calls += 1;
        Arc::new(Site {
            name: name.into(),
            stream: "host".into(),
            sequence: self.calls,
        })
    }

    /// Reports an error of a call or of a piece of work.
    pub(crate) fn report(&mut self, kind: ReportKind, message: String, site: &Site) {
        self.reports.add(kind, message, vec![site.clone()]);
    }

    /// Reports an invalid handle, and returns the code for it.
    pub(crate) fn report_invalid_handle(
        &mut self,
        what: &str,
        handle: u64,
        why: InvalidHandle,
        site: &Site,
    ) -> Status {
        let (kind, message) = match why {
            InvalidHandle::Destroyed => (
                ReportKind::UseAfterDestroy,
                format!("{site} uses {what} {handle:#x}, which was destroyed"),
            ),
            InvalidHandle::Unknown => (
                ReportKind::InvalidHandle,
                format!("{site} uses {handle:#x}, which never was {what}"),
            ),
        };
        self.report(kind, message, site);
        why.into()
    }
}
