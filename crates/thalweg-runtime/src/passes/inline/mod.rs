//! Inlining: the nodes of delegates that are graphs take the place of the instructions that call them.
//!
//! A backend makes its graphs of what a program file contains, so they are checked like the file:
//! values are there before they are used, arguments fit their operators, and memory is counted.

mod memory;
mod operators;
mod values;

use std::collections::HashMap;
use std::sync::Arc;

use thalweg_core::{Error, Kernel, Node, Result, Subgraph, ValueId, ensure};

use self::memory::Intermediates;
use self::operators::Operators;
use self::values::GraphValues;
use super::check_arguments::check_call;
use super::{Lowering, Pass};
use crate::facts::{Facts, read_by};
use crate::plan::{ArgumentRange, MethodPlan, NodeOrigin, Origin, Step};

/// The largest number of steps, and of values, that a plan with inlined graphs has: an instruction of
/// a few bytes can call a graph of any size.
const MOST: usize = 1 << 22;

/// Replaces the instructions that call graphs by the nodes of those.
pub(crate) struct InlineGraphs;

impl Pass for InlineGraphs {
    fn run(&self, facts: &Facts, lowering: &mut Lowering<'_>) -> Result<()> {
        let graphs = lowering.resources.graphs;
        if graphs.iter().all(Option::is_none) {
            return Ok(());
        }
        let plan = facts.plan();
        let registry = lowering.resources.registry;
        let operators = Operators::find(plan, facts.kernels(), graphs, registry)?;
        let mut inliner = Inliner {
            facts,
            graphs,
            operators,
            plan: MethodPlan {
                steps: Vec::new(),
                ..(**plan).clone()
            },
            starts: Vec::new(),
            origins: Vec::new(),
            shared: HashMap::new(),
            intermediates: Intermediates::new(lowering.spare_memory()),
        };
        for index in 0..plan.steps.len() {
            inliner.step(index)?;
        }
        let (plan, kernels) = inliner.finish();
        lowering.change_operators(plan, kernels);
        Ok(())
    }
}

/// The state of the pass, from instruction to instruction.
struct Inliner<'a> {
    /// Those of the plan as it was.
    facts: &'a Facts,
    graphs: &'a [Option<Subgraph>],
    operators: Operators,
    /// The plan, with its steps so far.
    plan: MethodPlan,
    /// The first step of each instruction.
    starts: Vec<u32>,
    origins: Vec<Origin>,
    /// By delegate, the values that all instructions which call it have in common.
    shared: HashMap<u32, Vec<Option<ValueId>>>,
    intermediates: Intermediates,
}

/// An instruction that calls a graph.
#[derive(Clone, Copy)]
struct GraphCall<'a> {
    instruction: usize,
    delegate: u32,
    graph: &'a Subgraph,
    arguments: &'a [ValueId],
}

impl Inliner<'_> {
    fn step(&mut self, instruction: usize) -> Result<()> {
        self.starts.push(self.plan.steps.len() as u32);
        let step = &self.facts.plan().steps[instruction];
        if let Step::Delegate {
            delegate,
            arguments,
        } = step
            && let Some(graph) = &self.graphs[*delegate as usize]
        {
            let call = GraphCall {
                instruction,
                delegate: *delegate,
                graph,
                arguments: self.facts.plan().arguments(*arguments),
            };
            return self.inline(&call);
        }
        self.plan.steps.push(step.clone());
        self.origins.push(Origin {
            instruction: instruction as u32,
            node: None,
        });
        Ok(())
    }

    fn inline(&mut self, call: &GraphCall<'_>) -> Result<()> {
        let delegate = self.plan.delegate_name(call.delegate);
        let in_delegate = |error: Error| error.at_instruction(call.instruction, &delegate);
        self.check_size(call).map_err(in_delegate)?;
        let shared = self.shared.remove(&call.delegate).unwrap_or_default();
        let mut values = GraphValues::add(&mut self.plan, call, shared).map_err(in_delegate)?;
        let first_step = self.plan.steps.len();
        for (index, node) in call.graph.nodes().iter().enumerate() {
            let origin = NodeOrigin {
                delegate: call.delegate,
                node: index as u32,
                name: node.name.as_deref().map(Into::into),
            };
            self.node(node, &mut values).map_err(|error| {
                let place = format!("{}, {} of {delegate}", node.operator, origin.describe());
                error.at_instruction(call.instruction, &place)
            })?;
            self.origins.push(Origin {
                instruction: call.instruction as u32,
                node: Some(origin),
            });
        }
        let kernels = self.operators.kernels();
        self.intermediates
            .place(&mut self.plan, kernels, &values, first_step)
            .map_err(in_delegate)?;
        self.shared.insert(call.delegate, values.into_shared());
        Ok(())
    }

    /// Checks that the plan does not become too large.
    fn check_size(&self, call: &GraphCall<'_>) -> Result<()> {
        let nodes = call.graph.nodes().iter();
        let arguments = nodes.fold(0, |sum, node| sum + node.arguments.len());
        let added = [
            (self.plan.steps.len(), call.graph.nodes().len()),
            (self.plan.arguments.len(), arguments),
            (self.plan.values.len(), values::count(call.graph)),
        ];
        for (before, added) in added {
            ensure!(
                added == 0 || before.saturating_add(added) <= MOST,
                Unsupported,
                "the method has more than {MOST} steps, values or arguments with this graph"
            );
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, values: &mut GraphValues<'_>) -> Result<()> {
        let arguments = node.arguments.iter().map(|&id| values.get(id));
        let arguments: Vec<ValueId> = arguments.collect::<Result<_>>()?;
        let operator = self.operators.index(&node.operator)?;
        let kernel = self.operators.kernel(operator);
        check_call(&self.plan.values, kernel, &arguments)?;
        let plan = &self.plan;
        for value in read_by(kernel, &arguments) {
            plan.tensors_of(value)
                .try_for_each(|tensor| values.check_read(tensor))?;
        }
        for &position in kernel.signature().writes() {
            if let Some(&value) = arguments.get(usize::from(position)) {
                plan.tensors_of(value)
                    .try_for_each(|tensor| values.write(tensor))?;
            }
        }
        let start = self.plan.arguments.len() as u32;
        self.plan.steps.push(Step::Kernel {
            operator,
            arguments: ArgumentRange {
                start,
                len: arguments.len() as u32,
            },
        });
        self.plan.arguments.extend(arguments);
        Ok(())
    }

    /// The plan with all of its steps, and the kernels of its operators.
    fn finish(mut self) -> (MethodPlan, Arc<[Kernel]>) {
        let end = self.plan.steps.len() as u32;
        for step in &mut self.plan.steps {
            if let Step::JumpIfFalse { destination, .. } = step {
                let start = self.starts.get(*destination as usize);
                *destination = start.copied().unwrap_or(end);
            }
        }
        self.origins.push(Origin {
            instruction: self.starts.len() as u32,
            node: None,
        });
        self.plan.origins = Some(self.origins.into());
        let (operators, kernels) = self.operators.finish();
        self.plan.operators = operators;
        (self.plan, kernels)
    }
}
