//! Graphs: work that is described once and launched often.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::user_object::UserObjectRef;
use crate::clock::Timestamp;
use crate::report::Site;
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
    pub(crate) kept: Vec<UserObjectRef>,
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
    pub(crate) order: Vec<usize>,
    /// For each node, the slot of the queue that it runs in. Nodes that follow each other share
    /// one; branches have their own.
    pub(crate) lanes: Vec<usize>,
    /// The end of the last launch, which the next one waits for.
    pub(crate) last: Option<Timestamp>,
    /// Objects of the caller's, as long as this and its launches.
    pub(crate) kept: Vec<UserObjectRef>,
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
    pub(crate) fn order(&self) -> Option<Vec<usize>> {
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

/// The start of the handles of nodes.
pub(crate) const NODES: u64 = 0x6000_0000_0000;

/// The handle of a node.
pub(crate) fn node_handle(graph: u64, node: usize) -> u64 {
    NODES + (graph << 20) + ((node as u64 + 1) << 4)
}
