//! The recorded calls of a case: made, repeated and compared.

use std::collections::HashMap;

use thalweg::{Input, Method, MethodOptions, Program, RunOptions, State, Value};

use super::Arguments;
use super::streams::Streams;
use crate::compare::difference;
use crate::failure::{Result, with_causes};
use crate::fixture::{Case, RecordedCall};
use crate::repeated::change;
use crate::text;

/// The instruction limit of a recorded call. All of them end; one that reaches this is in a loop.
const INSTRUCTION_LIMIT: u64 = 1 << 28;

/// The calls that a thread has made.
pub(super) struct Made {
    pub(super) calls: usize,
    pub(super) failures: Vec<String>,
    /// The outputs of each call when it was first made, if later ones are compared with them.
    first: Vec<Option<Vec<Value>>>,
}

impl Made {
    /// The differences of the outputs from those of the first thread, in words.
    pub(super) fn differs_from(
        &self,
        first: &Self,
        case: &Case,
        number: usize,
    ) -> Result<Vec<String>> {
        let mut differences = Vec::new();
        for ((call, ours), theirs) in case.calls.iter().zip(&self.first).zip(&first.first) {
            let (Some(ours), Some(theirs)) = (ours, theirs) else {
                continue;
            };
            for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                let free = call
                    .outputs
                    .get(index)
                    .is_some_and(|output| output.shape_only);
                if !free && let Some(text) = change(ours.as_output(), theirs)? {
                    differences.push(format!(
                        "{}, run {}, output {index} is not the same in thread {number}: {text}",
                        call.method, call.run
                    ));
                }
            }
        }
        Ok(differences)
    }
}

/// Makes all calls of a case, and repeats them.
pub(super) fn make(case: &Case, program: &Program, arguments: &Arguments) -> Result<Made> {
    let streams = match arguments.own_stream {
        true => Streams::new(case, program)?,
        false => Streams::default(),
    };
    let mut options = RunOptions::new()
        .instruction_limit(INSTRUCTION_LIMIT)
        .graph(arguments.graph.into());
    for stream in streams.iter() {
        options = options.stream(stream);
    }
    let repeat = arguments.repeat;
    let compares = repeat.is_some() || arguments.at_once > 1;
    let mut failures = Vec::new();
    let mut calls = 0;
    let mut session = Session::new(program, options.clone());
    let mut first = vec![None; case.calls.len()];
    // What is right at first may not be when memory holds what an earlier call left there. Where
    // calls do not depend on each other they are made again in reverse, on the same instances;
    // where they do, from the start, on new ones.
    for time in 0..repeat.unwrap_or(2) {
        if case.stateful && time > 0 {
            session = Session::new(program, options.clone());
        }
        let mut order: Vec<usize> = (0..case.calls.len()).collect();
        if !case.stateful && time % 2 == 1 {
            order.reverse();
        }
        for index in order {
            calls += 1;
            let first = compares.then(|| &mut first[index]);
            failures.extend(session.check(case, &case.calls[index], time, first));
        }
        if !failures.is_empty() {
            break;
        }
    }
    // The streams are dropped after all that is in flight on them.
    drop(session);
    Ok(Made {
        calls,
        failures,
        first,
    })
}

/// Instances of a program's methods that share their state.
struct Session<'p> {
    program: &'p Program,
    options: RunOptions<'p>,
    state: State,
    methods: HashMap<String, Method>,
}

impl<'p> Session<'p> {
    fn new(program: &'p Program, options: RunOptions<'p>) -> Self {
        Self {
            program,
            options,
            state: State::new(),
            methods: HashMap::new(),
        }
    }

    /// Makes a call, for the first time or again. Returns what is wrong with it, in words. `first` has
    /// the outputs of the first time, if these outputs have to be the same.
    fn check(
        &mut self,
        case: &Case,
        call: &RecordedCall,
        time: usize,
        first: Option<&mut Option<Vec<Value>>>,
    ) -> Vec<String> {
        let note = match time {
            0 => String::new(),
            1 => " (second time)".into(),
            time => format!(" (time {})", time + 1),
        };
        match self.differences(case, call, first) {
            Ok(differences) => differences
                .into_iter()
                .map(|text| format!("{}, run {}{note}, {text}", call.method, call.run))
                .collect(),
            Err(error) => {
                let error = with_causes(&error);
                // The method is named in front of it all.
                let place = format!("method `{}`", call.method);
                let error = error.strip_prefix(&place).unwrap_or(&error);
                let error = error.trim_start_matches([':', ',', ' ']);
                vec![format!("{}, run {}{note}: {error}", call.method, call.run)]
            }
        }
    }

    fn differences(
        &mut self,
        case: &Case,
        call: &RecordedCall,
        first: Option<&mut Option<Vec<Value>>>,
    ) -> thalweg::Result<Vec<String>> {
        if !self.methods.contains_key(&call.method) {
            let options = MethodOptions::new().state(&self.state);
            let method = self.program.method_with(&call.method, &options)?;
            self.methods.insert(call.method.clone(), method);
        }
        let Some(method) = self.methods.get_mut(&call.method) else {
            return Ok(Vec::new());
        };
        let inputs: Vec<Input<'_>> = call
            .inputs
            .iter()
            .map(Value::as_input)
            .collect::<thalweg::Result<_>>()?;
        let outputs = method.run_with(&inputs, &self.options)?;
        if outputs.len() != call.outputs.len() {
            return Ok(vec![format!(
                "{} came out, expected {}",
                text::count(outputs.len(), "output"),
                call.outputs.len()
            )]);
        }
        let mut differences = Vec::new();
        for (index, expected) in call.outputs.iter().enumerate() {
            if let Some(text) = difference(outputs.get(index)?, expected, case.tolerance)? {
                differences.push(format!("output {index}: {text}"));
            }
        }
        let Some(first) = first else {
            return Ok(differences);
        };
        let Some(first) = first else {
            *first = Some(outputs.to_values()?);
            return Ok(differences);
        };
        for (index, (before, expected)) in first.iter().zip(&call.outputs).enumerate() {
            // Values that are free may be others each time.
            if expected.shape_only {
                continue;
            }
            if let Some(text) = change(outputs.get(index)?, before)? {
                differences.push(format!("output {index} is not the same each time: {text}"));
            }
        }
        Ok(differences)
    }
}
