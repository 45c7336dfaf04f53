//! The inputs of a method: those that the command line gives, and made-up ones.

mod random;
mod read;
mod spec;

use thalweg::info::{MethodInfo, ShapeKind, TensorInfo, ValueInfo};
use thalweg::{Input, Tensor, Value};

pub(crate) use random::RANGES;
pub(crate) use spec::{Fill, HELP, Spec};

use crate::failure::{Failure, Result, fail};
use crate::text;

/// The default seed of random inputs.
pub(crate) const DEFAULT_SEED: u64 = 0;

/// Inputs that fit a method.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) values: Vec<Value>,
    /// The source of each input, in words.
    pub(crate) sources: Vec<String>,
    /// Notes for the user, on inputs that were made up.
    pub(crate) notes: Vec<String>,
}

/// The hint for a call with made-up inputs that fails.
const MADE_UP: &str = "--input with what the program expects; the inputs of this call were made up";

impl Prepared {
    /// The failure of a call with these inputs. It has a hint if the inputs were made up.
    pub(crate) fn explain(&self, error: thalweg::Error) -> Failure {
        let failure = Failure::from(error);
        if self.notes.is_empty() {
            failure
        } else {
            failure.hint(MADE_UP)
        }
    }

    /// The inputs as a call takes them.
    pub(crate) fn inputs(&self) -> Result<Vec<Input<'_>>> {
        let inputs = self.values.iter().map(Value::as_input);
        Ok(inputs.collect::<thalweg::Result<_>>()?)
    }
}

/// Makes the inputs of a method. There is one spec for each input; or one for each that the program
/// does not fix; or none, and all inputs are random.
pub(crate) fn prepare(
    method: &MethodInfo,
    names: &[Option<String>],
    specs: &[Spec],
) -> Result<Prepared> {
    let is_fixed = |info: &&ValueInfo| matches!(info, ValueInfo::Scalar(_) | ValueInfo::String(_));
    let fixed = method.inputs.iter().filter(is_fixed).count();
    let random = Spec::Fill {
        fill: Fill::Random(None),
        shape: None,
    };
    let mut specs_left = specs.iter();
    let skip_fixed = specs.len() != method.inputs.len();
    if !specs.is_empty() && skip_fixed && specs.len() + fixed != method.inputs.len() {
        return Err(wrong_count(method, names, specs.len()));
    }
    let mut prepared = Prepared {
        values: Vec::new(),
        sources: Vec::new(),
        notes: Vec::new(),
    };
    for (index, info) in method.inputs.iter().enumerate() {
        let spec = if skip_fixed && is_fixed(&info) {
            &random
        } else {
            specs_left.next().unwrap_or(&random)
        };
        let (value, source) = make(index, info, spec, &mut prepared.notes)
            .map_err(|failure| failure.of(format_args!("input {index}")))?;
        prepared.values.push(value);
        prepared.sources.push(source);
    }
    if specs.is_empty()
        && prepared
            .sources
            .iter()
            .any(|source| source.starts_with("random"))
    {
        let note =
            format!("no --input was given, so inputs are random (seed {DEFAULT_SEED}): {RANGES}");
        prepared.notes.insert(0, note);
    }
    Ok(prepared)
}

/// The type of an input or output, in words.
pub(crate) fn describe(info: &ValueInfo) -> String {
    match info {
        ValueInfo::Tensor(tensor) => {
            let size = |size: &usize| match tensor.shape {
                ShapeKind::Static => size.to_string(),
                ShapeKind::Bounded => format!("≤{size}"),
                _ => "?".into(),
            };
            let sizes: Vec<String> = tensor.sizes.iter().map(size).collect();
            format!("{}[{}]", tensor.dtype, sizes.join(", "))
        }
        ValueInfo::Scalar(scalar) => format!("{} {scalar}", scalar.kind_name()),
        ValueInfo::String(text) => format!("the string {text:?}"),
        ValueInfo::Any => "a number, a string or none".into(),
        _ => "a list".into(),
    }
}

fn make(
    index: usize,
    info: &ValueInfo,
    spec: &Spec,
    notes: &mut Vec<String>,
) -> Result<(Value, String)> {
    let made = match spec {
        Spec::None => (Value::None, "none".into()),
        Spec::Int(value) => (Value::Int(*value), value.to_string()),
        Spec::Double(value) => (Value::Double(*value), value.to_string()),
        Spec::Bool(value) => (Value::Bool(*value), value.to_string()),
        Spec::String(value) => (Value::String(value.clone()), format!("{value:?}")),
        Spec::Npy(path) => from_file(read::npy(path)?, info, path.display().to_string())?,
        Spec::Safetensors { path, key } => {
            let tensor = read::safetensors(path, key.as_deref())?;
            let key = key.as_ref().map_or(String::new(), |key| format!(":{key}"));
            from_file(tensor, info, format!("{}{key}", path.display()))?
        }
        Spec::Raw { path, dtype, shape } => {
            let tensor = read::raw(path, *dtype, shape)?;
            from_file(tensor, info, path.display().to_string())?
        }
        Spec::Fill { fill, shape } => match info {
            ValueInfo::Tensor(tensor) => {
                return filled(index, tensor, *fill, shape.as_deref(), notes);
            }
            ValueInfo::Scalar(scalar) => {
                let value = match *scalar {
                    thalweg::Scalar::Int(value) => Value::Int(value),
                    thalweg::Scalar::Double(value) => Value::Double(value),
                    thalweg::Scalar::Bool(value) => Value::Bool(value),
                };
                (value, format!("{scalar}, fixed by the program"))
            }
            ValueInfo::String(text) => (Value::String(text.clone()), "fixed by the program".into()),
            _ => {
                notes.push(format!(
                    "the program does not say what input {index} is, so it is none; to pass \
                     something else: --input int:3, double:0.5, bool:true or str:hello"
                ));
                (Value::None, "none".into())
            }
        },
    };
    Ok(made)
}

/// A tensor of made-up numbers.
fn filled(
    index: usize,
    info: &TensorInfo,
    fill: Fill,
    shape: Option<&[usize]>,
    notes: &mut Vec<String>,
) -> Result<(Value, String)> {
    let sizes = match (shape, info.shape) {
        (Some(shape), _) => shape,
        (None, ShapeKind::Static) => &info.sizes,
        (None, ShapeKind::Bounded) => {
            let sizes = &info.sizes;
            notes.push(format!(
                "the shape of input {index} is open, and the largest is taken, {sizes:?}; for \
                 another: --input random[...]"
            ));
            sizes
        }
        (None, _) => {
            return Err(Failure::new("the program does not say how large it is")
                .hint("--input random[...], with a shape"));
        }
    };
    if sizes.len() != info.dim_order.len() {
        fail!(
            "shape {sizes:?} has {}, but the program takes {}",
            text::count(sizes.len(), "dimension"),
            info.dim_order.len()
        );
    }
    let (tensor, source) = match fill {
        Fill::Random(seed) => {
            let seed = seed.unwrap_or(DEFAULT_SEED);
            // Inputs of the same seed should not be the same numbers.
            let own = seed.wrapping_add((index as u64).wrapping_mul(0x5851_f42d_4c95_7f2d));
            let tensor = random::random(info.dtype, sizes, &info.dim_order, own)?;
            (tensor, format!("random, seed {seed}"))
        }
        Fill::Zeros => {
            let tensor = Tensor::zeros_in_order(info.dtype, sizes, &info.dim_order)?;
            (tensor, "zeros".into())
        }
        Fill::Ones => {
            let tensor = random::ones(info.dtype, sizes, &info.dim_order)?;
            (tensor, "ones".into())
        }
    };
    Ok((Value::Tensor(tensor), source))
}

/// A tensor from a file, in the dim order that the program takes.
fn from_file(tensor: Tensor, info: &ValueInfo, source: String) -> Result<(Value, String)> {
    let ValueInfo::Tensor(wanted) = info else {
        return Err(Failure::new(format!(
            "the program takes {}, not a tensor",
            describe(info)
        ))
        .hint("int:3, double:0.5, bool:true, str:hello or none"));
    };
    if wanted.dtype != tensor.dtype() {
        return Err(Failure::new(format!(
            "{source} holds {}, but the program takes {}",
            tensor.dtype(),
            wanted.dtype
        ))
        .hint(format!("convert it to {} first", wanted.dtype)));
    }
    let tensor = if tensor.sizes().len() == wanted.dim_order.len() {
        in_order(&tensor, &wanted.dim_order)?
    } else {
        tensor
    };
    Ok((Value::Tensor(tensor), source))
}

/// The same tensor in another dim order.
fn in_order(tensor: &Tensor, dim_order: &[u8]) -> Result<Tensor> {
    let row_major = tensor.to_row_major()?;
    let mut ordered = Tensor::zeros_in_order(tensor.dtype(), tensor.sizes(), dim_order)?;
    if ordered.view().is_row_major() {
        return Ok(Tensor::from_bytes(
            tensor.dtype(),
            tensor.sizes(),
            dim_order,
            row_major.view().bytes(),
        )?);
    }
    let size = tensor.dtype().size();
    let from = row_major.view();
    let strides = from.strides();
    // Elements are written in the order of memory: the innermost dimension counts fastest.
    let mut position = vec![0usize; dim_order.len()];
    for target in ordered.view_mut().bytes_mut().chunks_exact_mut(size) {
        let offset: usize = strides.iter().zip(&position).map(|(s, i)| s * i).sum();
        target.copy_from_slice(&from.bytes()[offset * size..][..size]);
        for &dim in dim_order.iter().rev() {
            let dim = usize::from(dim);
            position[dim] += 1;
            if position[dim] < tensor.sizes()[dim] {
                break;
            }
            position[dim] = 0;
        }
    }
    Ok(ordered)
}

fn wrong_count(method: &MethodInfo, names: &[Option<String>], given: usize) -> Failure {
    let named = names.iter().any(Option::is_some);
    let rows = method.inputs.iter().enumerate().map(|(index, info)| {
        let mut row = vec![index.to_string()];
        if named {
            let name = names.get(index).and_then(Option::as_deref);
            row.push(text::printable(name.unwrap_or_default()));
        }
        row.push(describe(info));
        row
    });
    let list = text::columns("         ", rows);
    Failure::new(format!(
        "method {} takes {}, and {given} {} given",
        method.name,
        text::count(method.inputs.len(), "input"),
        if given == 1 { "was" } else { "were" },
    ))
    .hint(format!("one --input for each of\n{}", list.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg::DType;

    #[test]
    fn a_tensor_is_put_into_the_order_that_the_program_takes() {
        let tensor = Tensor::from_slice(&[0u8, 1, 2, 3, 10, 11, 12, 13], &[1, 2, 2, 2]).unwrap();
        let ordered = in_order(&tensor, &[0, 2, 3, 1]).unwrap();
        assert_eq!(ordered.view().bytes(), [0, 10, 1, 11, 2, 12, 3, 13]);
        let back = ordered.to_row_major().unwrap();
        assert_eq!(back.view().bytes(), tensor.view().bytes());
        let empty = Tensor::zeros(DType::F32, &[2, 0, 3]).unwrap();
        assert_eq!(in_order(&empty, &[2, 0, 1]).unwrap().sizes(), [2, 0, 3]);
    }
}
