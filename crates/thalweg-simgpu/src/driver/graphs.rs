//! Graphs: instantiation, launches, updates.

use std::collections::BTreeSet;
use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use super::Driver;
use crate::clock::Timestamp;
use crate::objects::{Exec, NODES, node_handle};
use crate::report::Site;
use crate::status::{CallResult, fail};
use crate::work::Body;

impl Driver {
    /// Instantiates a graph, and returns the handle of the executable graph.
    pub(crate) fn instantiate(
        &mut self,
        graph: u64,
        context: u64,
        site: Arc<Site>,
    ) -> CallResult<u64> {
        let graph = self.graphs.get(graph)?;
        if graph.capturing {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let Some(order) = graph.order() else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let (nodes, source) = (graph.nodes.clone(), graph.number);
        let user_objects = graph.user_objects.clone();
        let number = self.next_id();
        let device = self.contexts.get(context)?.device;
        // A node shares the queue of one that it depends on, if no other node does so before.
        let mut slots = vec![0; nodes.len()];
        let mut extended = vec![false; nodes.len()];
        let mut count = 0;
        for &index in &order {
            let parent = nodes[index].after.iter().find(|&&after| !extended[after]);
            slots[index] = match parent {
                Some(&parent) => {
                    extended[parent] = true;
                    slots[parent]
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
            slots,
            last: None,
            user_objects,
            context,
            number,
            site,
        }))
    }

    /// Launches an executable graph in a stream that is not being captured.
    pub(crate) fn launch_graph(&mut self, exec: u64, stream: u64) -> CallResult<Timestamp> {
        let graph = self.execs.get(exec)?;
        let (order, slots) = (graph.order.clone(), graph.slots.clone());
        let nodes = graph.nodes.clone();
        let last: Vec<Timestamp> = graph.last.iter().cloned().collect();
        let number = graph.number;
        let name = format!("graph {number}");
        let begin = self.enqueue(stream, &format!("{name} begins"), Body::Marker, &last)?;
        let mut done: Vec<Option<Timestamp>> = vec![None; nodes.len()];
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
            let slot = slots[index];
            let recorded = self.enqueue_in_queue(slot, node.device, &node.name, body, &before);
            if let Body::Record { event, id } = node.body
                && self.events.id(event) == id
                && let Ok(event) = self.events.get_mut(event)
            {
                event.recorded = Some(recorded.clone());
                event.time = None;
            }
            done[index] = Some(recorded);
        }
        let leaves: Vec<Timestamp> = done
            .into_iter()
            .zip(is_leaf)
            .filter_map(|(recorded, is_leaf)| recorded.filter(|_| is_leaf))
            .collect();
        let end = self.enqueue(stream, &format!("{name} ends"), Body::Marker, &leaves)?;
        self.execs.get_mut(exec)?.last = Some(end.clone());
        Ok(end)
    }

    /// Adds the nodes of an executable graph to a capture.
    pub(crate) fn capture_graph(&mut self, exec: u64, capture: usize, stream: u64) -> CallResult {
        let nodes = self.execs.get(exec)?.nodes.clone();
        let before = self.capture_dependencies(capture, stream);
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
            self.set_capture_dependencies(capture, stream, leaves.into_iter().collect());
        }
        Ok(())
    }

    /// Updates an executable graph from another graph of the same topology. Returns a
    /// `CUgraphExecUpdateResult`, and the node that does not fit.
    pub(crate) fn update_exec(&mut self, exec: u64, graph: u64) -> CallResult<(u32, Option<u64>)> {
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
        let user_objects = std::mem::replace(&mut old.user_objects, new.user_objects.clone());
        let last = old.last.clone();
        self.release_references(user_objects, last);
        Ok((0, None))
    }

    /// Destroys an executable graph. Its launches go on.
    pub(crate) fn destroy_exec(&mut self, exec: u64) -> CallResult {
        let exec = self.execs.remove(exec)?;
        for slot in exec.slots {
            self.queues[slot].retired = true;
        }
        self.release_references(exec.user_objects, exec.last);
        Ok(())
    }

    /// The graph and the index of a node.
    pub(crate) fn node(&self, handle: u64) -> CallResult<(u64, usize)> {
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
}
