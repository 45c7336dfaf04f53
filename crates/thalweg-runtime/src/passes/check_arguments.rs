//! Checks of instructions against the signatures of their operators.

use thalweg_core::{Kernel, ParameterKind, Result, ValueId, ensure};

use crate::facts::Facts;
use crate::plan::{PlannedValue, Step};

/// Checks that every instruction has the arguments that its operator takes.
pub(crate) fn check_arguments(facts: &Facts) -> Result<()> {
    let plan = facts.plan();
    for (index, step) in plan.steps.iter().enumerate() {
        if let Step::Kernel {
            operator,
            arguments,
        } = step
        {
            let arguments = plan.arguments(*arguments);
            check_call(&plan.values, facts.kernel(*operator), arguments)
                .map_err(|error| plan.at_step(error, index))?;
        }
    }
    Ok(())
}

/// Checks that a call of an operator has the arguments that it takes.
pub(super) fn check_call(
    values: &[PlannedValue],
    kernel: &Kernel,
    arguments: &[ValueId],
) -> Result<()> {
    let signature = kernel.signature();
    ensure!(
        signature.accepts(arguments.len()),
        InvalidProgram,
        "the instruction has {} arguments, but {signature} takes {}",
        arguments.len(),
        signature.argument_count()
    );
    for (position, argument) in arguments.iter().enumerate() {
        let Some(parameter) = signature.argument(position) else {
            continue;
        };
        let value = &values[argument.index()];
        ensure!(
            fits(value, parameter.kind),
            InvalidProgram,
            "argument `{}` must be {}",
            signature.parameter_name(position).unwrap_or_default(),
            parameter.kind
        );
    }
    Ok(())
}

/// Returns true if a value may be passed as a kind of argument. A value that is none now may become any
/// number, and may be an optional argument of any kind; numbers convert where they are read.
fn fits(value: &PlannedValue, kind: ParameterKind) -> bool {
    use ParameterKind as Kind;
    match value {
        PlannedValue::Scalar(None) => true,
        PlannedValue::Scalar(Some(_)) => matches!(
            kind,
            Kind::Scalar | Kind::Int | Kind::Double | Kind::Bool | Kind::IntList
        ),
        PlannedValue::String(_) => kind == Kind::String,
        PlannedValue::Tensor(_) => kind == Kind::Tensor,
        PlannedValue::IntList(_) => kind == Kind::IntList,
        PlannedValue::DoubleList(_) => kind == Kind::DoubleList,
        PlannedValue::BoolList(_) => kind == Kind::BoolList,
        PlannedValue::TensorList(_) => {
            matches!(kind, Kind::TensorList | Kind::OptionalTensorList)
        }
    }
}
