//! Graphs: work that is described once and launched often.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::user_object::UserObjectRef;
use crate::clock::Timestamp;
use crate::report::Site;
use crate::work::Body;

/// A graph: nodes, and their dependencies.
#[derive(Clone)]
pub(crate) struct Graph {
    /// The number of the graph, which is in the handles of its nodes.
    pub(crate) number: u64,
    pub(crate) nodes: Vec<Node>,
    /// True while a capture adds to it, and owns it.
    pub(crate) capturing: bool,
    /// The user objects that live as long as the graph.
    pub(crate) user_objects: Vec<UserObjectRef>,
    pub(crate) site: Arc<Site>,
}

/// A piece of work in a graph.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) name: Arc<str>,
    pub(crate) body: Body,
    /// The nodes that it depends on.
    pub(crate) after: Vec<usize>,
    pub(crate) device: usize,
}

/// An executable graph.
pub(crate) struct Exec {
    /// The number of the graph that it was instantiated from.
    pub(crate) source: u64,
    pub(crate) nodes: Vec<Node>,
    /// All nodes, each after those that it depends on.
    pub(crate) order: Vec<usize>,
    /// The slot of the queue of each node. Nodes that follow each other share a queue; branches
    /// have queues of their own.
    pub(crate) slots: Vec<usize>,
    /// The end of the last launch, which the next one waits for.
    pub(crate) last: Option<Timestamp>,
    /// The user objects that live as long as the executable graph and its launches.
    pub(crate) user_objects: Vec<UserObjectRef>,
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
            user_objects: Vec::new(),
            site,
        }
    }

    pub(crate) fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Some nodes, and all that they depend on.
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

    /// All nodes, each after those that it depends on. `None` if there is a cycle.
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

/// The first handle of nodes.
pub(crate) const NODES: u64 = 0x6000_0000_0000;

/// The handle of a node.
pub(crate) fn node_handle(graph: u64, node: usize) -> u64 {
    NODES + (graph << 20) + ((node as u64 + 1) << 4)
}
