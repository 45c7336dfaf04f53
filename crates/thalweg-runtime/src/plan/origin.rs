//! The origins of steps in the program.

use std::sync::Arc;

/// The origin of a step in the program: its instruction, and the node if that called a delegate that is
/// a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) instruction: u32,
    pub(crate) node: Option<NodeOrigin>,
}

/// A node of a delegate that is a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeOrigin {
    pub(crate) delegate: u32,
    pub(crate) node: u32,
    pub(crate) name: Option<Arc<str>>,
}

impl NodeOrigin {
    /// The node in words, such as "node 3 `conv`".
    pub(crate) fn describe(&self) -> String {
        match &self.name {
            Some(name) => format!("node {} `{name}`", self.node),
            None => format!("node {}", self.node),
        }
    }
}
