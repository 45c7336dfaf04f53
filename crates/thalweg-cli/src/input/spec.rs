//! Inputs on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use thalweg::DType;

/// The value of one `--input`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spec {
    /// `none`
    None,
    /// `int:3`
    Int(i64),
    /// `double:0.5`
    Double(f64),
    /// `bool:true`
    Bool(bool),
    /// `str:hello`
    String(String),
    /// `random`, `random:7`, `zeros`, `ones`, each with or without a shape such as `[2,3]`
    Fill {
        fill: Fill,
        shape: Option<Vec<usize>>,
    },
    /// `x.npy`
    Npy(PathBuf),
    /// `weights.safetensors:key`; the key may be left out if there is only one
    Safetensors { path: PathBuf, key: Option<String> },
    /// `x.bin:f32[1,3]`: elements one after another, in the machine's byte order
    Raw {
        path: PathBuf,
        dtype: DType,
        shape: Vec<usize>,
    },
}

/// The elements of a made-up tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Random numbers, with the seed if the command line has one.
    Random(Option<u64>),
    Zeros,
    Ones,
}

/// The help text for [`Spec`].
pub(crate) const HELP: &str = "\
An input, one option for each in order: x.npy, file.safetensors:KEY, a raw file with its type and \
shape such as x.bin:f32[1,3], random[:SEED], zeros, ones (these with a shape, as in random:7[2,3], \
where the program leaves it open), none, int:3, double:0.5, bool:true, str:hello";

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        if let Some((kind, value)) = text.split_once(':')
            && let Some(spec) = literal(kind, value)
        {
            return spec;
        }
        if let Some(spec) = fill(text) {
            return spec;
        }
        file(text)
    }
}

/// `int:3` and the like; `None` if it is no literal.
fn literal(kind: &str, value: &str) -> Option<Result<Spec, String>> {
    let no = |what: &str| format!("`{value}` is no {what}");
    Some(match kind {
        "int" => value.parse().map(Spec::Int).map_err(|_| no("integer")),
        "double" | "float" => value.parse().map(Spec::Double).map_err(|_| no("number")),
        "bool" => match value {
            "true" | "1" => Ok(Spec::Bool(true)),
            "false" | "0" => Ok(Spec::Bool(false)),
            _ => Err(no("boolean; write true or false")),
        },
        "str" => Ok(Spec::String(value.into())),
        _ => return None,
    })
}

/// `random` and the like; `None` if it is none of them.
fn fill(text: &str) -> Option<Result<Spec, String>> {
    let (name, shape) = match text.find('[') {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    };
    let fill = match name.split_once(':') {
        Some(("random", seed)) => match seed.parse() {
            Ok(seed) => Fill::Random(Some(seed)),
            Err(_) => return Some(Err(format!("`{seed}` is no seed; write a whole number"))),
        },
        None if name == "random" => Fill::Random(None),
        None if name == "zeros" => Fill::Zeros,
        None if name == "ones" => Fill::Ones,
        _ => return None,
    };
    Some(
        shape
            .map(self::shape)
            .transpose()
            .map(|shape| Spec::Fill { fill, shape }),
    )
}

fn file(text: &str) -> Result<Spec, String> {
    if text.ends_with(".npy") {
        return Ok(Spec::Npy(text.into()));
    }
    if text.ends_with(".safetensors") {
        return Ok(Spec::Safetensors {
            path: text.into(),
            key: None,
        });
    }
    if let Some((path, key)) = text.split_once(".safetensors:") {
        return Ok(Spec::Safetensors {
            path: format!("{path}.safetensors").into(),
            key: Some(key.into()),
        });
    }
    if let Some((path, tensor)) = text.rsplit_once(':')
        && let Some(at) = tensor.find('[')
    {
        return Ok(Spec::Raw {
            path: path.into(),
            dtype: dtype(&tensor[..at])?,
            shape: shape(&tensor[at..])?,
        });
    }
    Err(
        "not an input; write x.npy, file.safetensors:KEY, x.bin:f32[1,3] for a raw file, \
         random, zeros, none, int:3, double:0.5, bool:true or str:hello"
            .into(),
    )
}

fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| {
        let known = DType::ALL.map(DType::name).join(", ");
        format!("there is no element type `{name}`; there are {known}")
    })
}

/// `[2,3]`, and `[]` for a tensor without dimensions.
fn shape(text: &str) -> Result<Vec<usize>, String> {
    let no = || format!("`{text}` is no shape; write one such as [2,3]");
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .ok_or_else(no)?;
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    inner
        .split(',')
        .map(|size| size.trim().parse().map_err(|_| no()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Spec {
        text.parse().unwrap()
    }

    fn error(text: &str) -> String {
        text.parse::<Spec>().unwrap_err()
    }

    #[test]
    fn literals_have_their_kind_in_front() {
        assert_eq!(parse("none"), Spec::None);
        assert_eq!(parse("int:-3"), Spec::Int(-3));
        assert_eq!(parse("double:0.5"), Spec::Double(0.5));
        assert_eq!(parse("double:-inf"), Spec::Double(f64::NEG_INFINITY));
        assert_eq!(parse("bool:true"), Spec::Bool(true));
        assert_eq!(parse("str:a:b.npy"), Spec::String("a:b.npy".into()));
        assert_eq!(error("int:3.5"), "`3.5` is no integer");
    }

    #[test]
    fn random_has_a_seed_and_a_shape_if_one_is_given() {
        let random = |seed, shape| Spec::Fill {
            fill: Fill::Random(seed),
            shape,
        };
        assert_eq!(parse("random"), random(None, None));
        assert_eq!(parse("random:7"), random(Some(7), None));
        assert_eq!(parse("random[2, 3]"), random(None, Some(vec![2, 3])));
        assert_eq!(parse("random:7[]"), random(Some(7), Some(vec![])));
        assert!(error("random:x").contains("no seed"));
        assert!(error("random[2").contains("no shape"));
    }

    #[test]
    fn files_are_told_by_their_names() {
        assert_eq!(parse("a/b.npy"), Spec::Npy("a/b.npy".into()));
        assert_eq!(
            parse("w.safetensors:layers.0:x"),
            Spec::Safetensors {
                path: "w.safetensors".into(),
                key: Some("layers.0:x".into()),
            }
        );
        assert_eq!(
            parse("C:/x.bin:f32[1,3,32,32]"),
            Spec::Raw {
                path: "C:/x.bin".into(),
                dtype: DType::F32,
                shape: vec![1, 3, 32, 32],
            }
        );
    }

    #[test]
    fn an_unknown_type_is_answered_with_the_known_ones() {
        let error = error("x.bin:float32[1]");
        assert!(error.contains("`float32`"), "{error}");
        assert!(error.contains("f32"), "{error}");
    }

    #[test]
    fn anything_else_is_answered_with_what_there_is() {
        assert!(error("x.bin").contains("x.bin:f32[1,3]"));
    }
}
