//! Work that is described once and launched often.

use std::collections::BTreeSet;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use crate::driver::Driver;
use crate::event::Recorded;
use crate::report::Site;
use crate::status::{Answer, fail};
use crate::user_object::Kept;
use crate::work::Body;

/// A graph: work, and what must come before what.
#[derive(Clone)]
pub(crate) struct Graph {
    /// Names the graph, for the handles of its nodes.
    pub(crate) number: u64,
    pub(crate) nodes: Vec<Node>,
    /// Whether a capture still adds to it, and owns it.
    pub(crate) capturing: bool,
    /// Objects of the caller's, as long as the graph.
    pub(crate) kept: Vec<Kept>,
    pub(crate) site: Arc<Site>,
}

/// A piece of work in a graph.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    pub(crate) body: Body,
    /// The nodes that come before it.
    pub(crate) after: Vec<usize>,
    pub(crate) device: usize,
}

/// A graph that can be launched.
pub(crate) struct Exec {
    /// The number of the graph that it was made of.
    pub(crate) source: u64,
    pub(crate) nodes: Vec<Node>,
    /// All nodes, each after those it depends on.
    order: Vec<usize>,
    /// For each node, the slot of the queue that it runs in. Nodes that follow each other share
    /// one; branches have their own.
    lanes: Vec<usize>,
    /// The end of the last launch, which the next one waits for.
    last: Option<Recorded>,
    /// Objects of the caller's, as long as this and its launches.
    kept: Vec<Kept>,
    pub(crate) context: u64,
    pub(crate) number: u64,
    pub(crate) site: Arc<Site>,
}

impl Graph {
    pub(crate) fn new(number: u64, capturing: bool, site: Arc<Site>) -> Self {
        Self {
            number,
            nodes: Vec::new(),
            capturing,
            kept: Vec::new(),
            site,
        }
    }

    pub(crate) fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Some nodes and all that come before them.
    pub(crate) fn ancestors(&self, nodes: &[usize]) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = nodes.to_vec();
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(&self.nodes[node].after);
            }
        }
        found
    }

    /// All nodes, each after those it depends on; `None` if they wait for each other in a circle.
    fn order(&self) -> Option<Vec<usize>> {
        let mut order = Vec::new();
        let mut placed = vec![false; self.nodes.len()];
        while order.len() < self.nodes.len() {
            let before = order.len();
            for (index, node) in self.nodes.iter().enumerate() {
                if !placed[index] && node.after.iter().all(|&after| placed[after]) {
                    placed[index] = true;
                    order.push(index);
                }
            }
            if order.len() == before {
                return None;
            }
        }
        Some(order)
    }
}

impl Body {
    /// The `CUgraphNodeType`.
    pub(crate) fn node_type(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Fill(_) => 2,
            Self::Host(_) => 3,
            Self::Marker => 5,
            Self::Wait { .. } => 6,
            Self::Record { .. } => 7,
            Self::Alloc(_) => 10,
            Self::Free(_) => 11,
        }
    }
}

const NODES: u64 = 0x6000_0000_0000;

/// The handle of a node.
pub(crate) fn node_handle(graph: u64, node: usize) -> u64 {
    NODES + (graph << 20) + ((node as u64 + 1) << 4)
}

impl Driver {
    /// The graph and the index of a node.
    pub(crate) fn node(&self, handle: u64) -> Answer<(u64, usize)> {
        let offset = handle.wrapping_sub(NODES);
        let index = ((offset & 0xf_ffff) >> 4).checked_sub(1);
        let graph = self
            .graphs
            .iter()
            .find(|(_, graph)| graph.number == offset >> 20);
        match (graph, index) {
            (Some((handle, graph)), Some(index)) if (index as usize) < graph.nodes.len() => {
                Ok((handle, index as usize))
            }
            _ => fail(CUresult::CUDA_ERROR_INVALID_HANDLE),
        }
    }

    /// Makes a graph ready to be launched; the result is a handle.
    pub(crate) fn instantiate(&mut self, graph: u64, context: u64, site: Arc<Site>) -> Answer<u64> {
        let graph = self.graphs.get(graph)?;
        if graph.capturing {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let Some(order) = graph.order() else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let (nodes, source) = (graph.nodes.clone(), graph.number);
        let kept = graph.kept.clone();
        let number = self.next_id();
        let device = self.contexts.get(context)?.device;
        // A node goes on in the lane of one that it depends on, if no other did so before.
        let mut lanes = vec![0; nodes.len()];
        let mut extended = vec![false; nodes.len()];
        let mut count = 0;
        for &index in &order {
            let parent = nodes[index].after.iter().find(|&&after| !extended[after]);
            lanes[index] = match parent {
                Some(&parent) => {
                    extended[parent] = true;
                    lanes[parent]
                }
                None => {
                    count += 1;
                    self.new_queue(format!("graph {number}.{count}").into(), device, context)
                }
            };
        }
        Ok(self.execs.insert(Exec {
            source,
            nodes,
            order,
            lanes,
            last: None,
            kept,
            context,
            number,
            site,
        }))
    }

    /// Launches a graph in a stream that is not being captured.
    pub(crate) fn launch_graph(&mut self, exec: u64, stream: u64) -> Answer<Recorded> {
        let graph = self.execs.get(exec)?;
        let (order, lanes) = (graph.order.clone(), graph.lanes.clone());
        let nodes = graph.nodes.clone();
        let last: Vec<Recorded> = graph.last.iter().cloned().collect();
        let number = graph.number;
        let name = format!("graph {number}");
        let begin = self.push(stream, &format!("{name} begins"), Body::Marker, &last)?;
        let mut done: Vec<Option<Recorded>> = vec![None; nodes.len()];
        let mut is_leaf = vec![true; nodes.len()];
        for index in order {
            let node = &nodes[index];
            let mut before = vec![begin.clone()];
            for &after in &node.after {
                is_leaf[after] = false;
                before.extend(done[after].clone());
            }
            if let Body::Wait { event, id } = node.body
                && self.events.id(event) == id
                && let Ok(event) = self.events.get(event)
            {
                before.extend(event.recorded.clone());
            }
            let body = node.body.clone();
            let lane = lanes[index];
            let recorded = self.push_to_queue(lane, node.device, &node.name, body, &before);
            if let Body::Record { event, id } = node.body
                && self.events.id(event) == id
                && let Ok(event) = self.events.get_mut(event)
            {
                event.recorded = Some(recorded.clone());
                event.time = None;
            }
            done[index] = Some(recorded);
        }
        let leaves: Vec<Recorded> = done
            .into_iter()
            .zip(is_leaf)
            .filter_map(|(recorded, is_leaf)| recorded.filter(|_| is_leaf))
            .collect();
        let end = self.push(stream, &format!("{name} ends"), Body::Marker, &leaves)?;
        self.execs.get_mut(exec)?.last = Some(end.clone());
        Ok(end)
    }

    /// Adds a graph's nodes to a capture.
    pub(crate) fn capture_graph(&mut self, exec: u64, capture: usize, stream: u64) -> Answer {
        let nodes = self.execs.get(exec)?.nodes.clone();
        let before = self.frontier(capture, stream);
        let graph = self.captures[capture].graph;
        let graph = self.graphs.get_mut(graph)?;
        let base = graph.nodes.len();
        let mut leaves: BTreeSet<usize> = (base..base + nodes.len()).collect();
        for mut node in nodes {
            for after in &mut node.after {
                *after += base;
                leaves.remove(after);
            }
            if node.after.is_empty() {
                node.after.clone_from(&before);
            }
            graph.add(node);
        }
        if !leaves.is_empty() {
            self.set_frontier(capture, stream, leaves.into_iter().collect());
        }
        Ok(())
    }

    /// Gives a launchable graph the work of another graph of the same shape. The result is a
    /// `CUgraphExecUpdateResult` and the node that does not fit.
    pub(crate) fn update_exec(&mut self, exec: u64, graph: u64) -> Answer<(u32, Option<u64>)> {
        let new = self.graphs.get(graph)?;
        let old = self.execs.get_mut(exec)?;
        const TOPOLOGY: u32 = 2;
        const TYPE: u32 = 3;
        const PARAMETERS: u32 = 5;
        if old.nodes.len() != new.nodes.len() {
            return Ok((TOPOLOGY, None));
        }
        for (index, (ours, theirs)) in old.nodes.iter().zip(&new.nodes).enumerate() {
            let handle = Some(node_handle(new.number, index));
            if ours.after != theirs.after {
                return Ok((TOPOLOGY, handle));
            }
            if ours.body.node_type() != theirs.body.node_type() {
                return Ok((TYPE, handle));
            }
            if ours.device != theirs.device {
                return Ok((PARAMETERS, handle));
            }
        }
        old.nodes.clone_from(&new.nodes);
        let kept = std::mem::replace(&mut old.kept, new.kept.clone());
        let last = old.last.clone();
        self.give_up(kept, last);
        Ok((0, None))
    }

    /// Forgets a launchable graph; what runs of it goes on.
    pub(crate) fn destroy_exec(&mut self, exec: u64) -> Answer {
        let exec = self.execs.remove(exec)?;
        for lane in exec.lanes {
            self.queues[lane].retired = true;
        }
        self.give_up(exec.kept, exec.last);
        Ok(())
    }
}
