//! Delegates that are graphs of operators.

use std::sync::Arc;

use crate::Scalar;
use crate::frame::TensorSpec;
use crate::memory::SharedBytes;

/// A graph of operators that takes the place of a delegate in its method. The runtime inlines it
/// before its passes, so that constant folding, layouts, prepacking and fusion apply to it as to the
/// rest of the method.
///
/// Nodes run in order, on the host. An intermediate is written by a node before another one reads it. Each
/// argument of the delegate's instruction is one value ([`argument`](Self::argument)), which nodes read
/// or write. The runtime checks all of this, as it checks what a program file says.
#[derive(Clone, Debug, Default)]
pub struct Subgraph {
    values: Vec<NodeValue>,
    nodes: Vec<Node>,
}

/// A value of a subgraph.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeValue {
    /// The argument of the delegate's instruction at a position.
    Argument(usize),
    /// A tensor that nodes write and read. Its memory is the runtime's to plan.
    Intermediate(TensorSpec),
    /// A constant tensor, with its elements.
    Constant(TensorSpec, SharedBytes),
    /// A number, or nothing.
    Scalar(Option<Scalar>),
    /// A string.
    String(Arc<str>),
    /// Integers.
    IntList(Arc<[i64]>),
    /// Doubles.
    DoubleList(Arc<[f64]>),
    /// Booleans.
    BoolList(Arc<[bool]>),
    /// Tensors, some of which may be absent.
    TensorList(Arc<[Option<NodeValueId>]>),
}

/// Index of a value of a subgraph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeValueId(u32);

/// An operator of a subgraph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The operator's full name, such as `aten::add.out`.
    pub operator: String,
    /// The arguments that its signature lists, outputs included.
    pub arguments: Vec<NodeValueId>,
    /// The name of the node in the delegate, for messages.
    pub name: Option<String>,
}

impl Subgraph {
    /// A subgraph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value.
    pub fn value(&mut self, value: NodeValue) -> NodeValueId {
        self.values.push(value);
        NodeValueId(self.values.len() as u32 - 1)
    }

    /// The argument of the delegate's instruction at a position: inputs first, then outputs.
    pub fn argument(&mut self, position: usize) -> NodeValueId {
        self.value(NodeValue::Argument(position))
    }

    /// Adds a tensor that nodes write and read.
    pub fn intermediate(&mut self, spec: TensorSpec) -> NodeValueId {
        self.value(NodeValue::Intermediate(spec))
    }

    /// Adds a constant tensor.
    pub fn constant(&mut self, spec: TensorSpec, data: SharedBytes) -> NodeValueId {
        self.value(NodeValue::Constant(spec, data))
    }

    /// Adds a number.
    pub fn scalar(&mut self, value: impl Into<Scalar>) -> NodeValueId {
        self.value(NodeValue::Scalar(Some(value.into())))
    }

    /// Adds an absent argument.
    pub fn none(&mut self) -> NodeValueId {
        self.value(NodeValue::Scalar(None))
    }

    /// Adds a list of integers.
    pub fn int_list(&mut self, list: &[i64]) -> NodeValueId {
        self.value(NodeValue::IntList(list.into()))
    }

    /// Adds a list of tensors, which were added before.
    pub fn tensor_list(&mut self, list: &[NodeValueId]) -> NodeValueId {
        let list = list.iter().copied().map(Some).collect();
        self.value(NodeValue::TensorList(list))
    }

    /// Adds a node, with the arguments that the operator's signature lists, outputs included.
    pub fn node(&mut self, operator: impl Into<String>, arguments: &[NodeValueId]) {
        self.add_node(operator.into(), arguments, None);
    }

    /// Adds a node that has a name in the delegate.
    pub fn named_node(
        &mut self,
        name: impl Into<String>,
        operator: impl Into<String>,
        arguments: &[NodeValueId],
    ) {
        self.add_node(operator.into(), arguments, Some(name.into()));
    }

    fn add_node(&mut self, operator: String, arguments: &[NodeValueId], name: Option<String>) {
        self.nodes.push(Node {
            operator,
            arguments: arguments.to_vec(),
            name,
        });
    }

    /// The values, by [`NodeValueId`].
    pub fn values(&self) -> &[NodeValue] {
        &self.values
    }

    /// The nodes, in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
}

impl NodeValueId {
    /// The index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
