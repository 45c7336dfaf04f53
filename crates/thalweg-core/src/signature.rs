//! Operator signatures, in the notation of PyTorch's schemas.
//!
//! A kernel is registered with the signature that its operator has upstream, such as
//! `aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)`.
//! It says how many arguments there are and of which kinds, which of them are written, and what
//! they are called in messages. Programs are checked against it when a method is made.

use std::fmt;

use crate::{Error, ErrorKind, Result};

/// What an operator takes and returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    text: String,
    operator: String,
    parameters: Vec<Parameter>,
    returns: Vec<Parameter>,
    /// Positions of the arguments that are written.
    writes: Vec<u16>,
    write_mask: u64,
}

/// One argument, or one result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name; empty for results without one.
    pub name: String,
    /// What it is.
    pub kind: ParameterKind,
    /// Whether it may be none.
    pub optional: bool,
    /// Whether the operator writes to it.
    pub written: bool,
    /// Whether it comes after the star, as outputs do. What is written and comes before is read,
    /// too: the operator works in place.
    pub keyword: bool,
}

/// Kinds of arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it all")]
pub enum ParameterKind {
    Tensor,
    TensorList,
    /// A list whose entries may be none.
    OptionalTensorList,
    /// A number of any kind.
    Scalar,
    /// An integer, or something that is passed as one: an element type, a layout, a device.
    Int,
    Double,
    Bool,
    String,
    IntList,
    DoubleList,
    BoolList,
}

impl Signature {
    /// Reads a signature.
    ///
    /// # Errors
    /// If the text is not one, with the place where reading stopped.
    pub fn parse(text: &str) -> Result<Self> {
        Parser { text, at: 0 }.signature()
    }

    /// The operator's full name with its overload, such as `aten::add.out`.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// The parameters, in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// What it returns, in order.
    pub fn returns(&self) -> &[Parameter] {
        &self.returns
    }

    /// How many arguments an instruction has: the parameters, then a new value that is returned.
    pub fn argument_count(&self) -> usize {
        self.parameters.len() + usize::from(self.returns_new_value())
    }

    /// Whether an instruction may have so many arguments. Programs list what was written once more
    /// after the parameters: a tensor, or several as one list. That tells nothing new.
    pub fn accepts(&self, arguments: usize) -> bool {
        let repeated = usize::from(!self.returns_new_value());
        (self.argument_count()..=self.argument_count() + repeated).contains(&arguments)
    }

    /// Whether this is the operator whose output is its input's memory, in another shape.
    pub fn is_view(&self) -> bool {
        use ParameterKind::{IntList, Tensor};
        let kinds: Vec<_> = self
            .parameters
            .iter()
            .map(|parameter| parameter.kind)
            .collect();
        self.operator == "executorch_prim::et_view.default"
            && kinds == [Tensor, IntList, Tensor]
            && self.writes == [2]
    }

    fn returns_new_value(&self) -> bool {
        matches!(&self.returns[..], [only] if !only.written)
    }

    /// The argument at a position: a parameter, or the only result.
    pub fn argument(&self, position: usize) -> Option<&Parameter> {
        let result = match &self.returns[..] {
            [only] if position == self.parameters.len() => Some(only),
            _ => None,
        };
        self.parameters.get(position).or(result)
    }

    /// Positions of the arguments that the operator writes, in ascending order.
    pub fn writes(&self) -> &[u16] {
        &self.writes
    }

    /// The first 64 positions of arguments that the operator writes, as bits.
    #[inline(always)]
    pub(crate) fn write_mask(&self) -> u64 {
        self.write_mask
    }

    /// The name of the argument at a position, if it has one.
    pub fn parameter_name(&self, position: usize) -> Option<&str> {
        match self.argument(position) {
            Some(parameter) if !parameter.name.is_empty() => Some(&parameter.name),
            Some(_) => Some("result"),
            None => None,
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tensor => "a tensor",
            Self::TensorList | Self::OptionalTensorList => "a list of tensors",
            Self::Scalar => "a number",
            Self::Int => "an integer",
            Self::Double => "a double",
            Self::Bool => "a boolean",
            Self::String => "a string",
            Self::IntList => "a list of integers",
            Self::DoubleList => "a list of doubles",
            Self::BoolList => "a list of booleans",
        })
    }
}

/// The first 64 positions as bits.
pub(crate) fn position_mask(positions: &[u16]) -> u64 {
    positions
        .iter()
        .filter(|&&position| position < 64)
        .fold(0, |mask, position| mask | 1 << position)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn signature(mut self) -> Result<Signature> {
        let operator = self.until(&['(']).trim().to_string();
        if operator.is_empty() {
            return Err(self.error("the operator's name"));
        }
        self.expect("(")?;
        let parameters = self.parameters()?;
        self.expect("->")?;
        let returns = if self.accept("(") {
            self.parameters()?
        } else {
            vec![self.parameter()?]
        };
        self.skip_space();
        if self.at != self.text.len() {
            return Err(self.error("the end"));
        }
        // A result that is marked as written is one of the parameters over again; one that is not
        // is a new value, which is written where it stands. Several new values would be a list
        // that holds numbers, which programs do not have.
        let results = match &returns[..] {
            [only] if !only.written => Some(parameters.len()),
            _ if returns.iter().all(|result| result.written) => None,
            _ => return Err(self.error("at most one result that is not a parameter")),
        };
        let writes = parameters
            .iter()
            .enumerate()
            .filter(|(_, parameter)| parameter.written)
            .map(|(index, _)| index)
            .chain(results)
            .map(|position| position as u16)
            .collect::<Vec<_>>();
        Ok(Signature {
            write_mask: position_mask(&writes),
            text: self.text.to_string(),
            operator,
            parameters,
            returns,
            writes,
        })
    }

    /// Up to and with the closing parenthesis.
    fn parameters(&mut self) -> Result<Vec<Parameter>> {
        let mut parameters = Vec::new();
        if self.accept(")") {
            return Ok(parameters);
        }
        let mut keyword = false;
        loop {
            // A star says that what follows is passed by name in Python.
            if self.accept("*") {
                keyword = true;
            } else {
                let parameter = self.parameter()?;
                parameters.push(Parameter {
                    keyword,
                    ..parameter
                });
            }
            if self.accept(")") {
                return Ok(parameters);
            }
            self.expect(",")?;
        }
    }

    fn parameter(&mut self) -> Result<Parameter> {
        let base = self.word();
        let written = self.alias()?;
        let mut kind = match base {
            "Tensor" => ParameterKind::Tensor,
            "Scalar" => ParameterKind::Scalar,
            "int" | "SymInt" | "ScalarType" | "Layout" | "Device" | "MemoryFormat" => {
                ParameterKind::Int
            }
            "float" => ParameterKind::Double,
            "bool" => ParameterKind::Bool,
            "str" => ParameterKind::String,
            _ => return Err(self.error("a type")),
        };
        let mut optional = self.accept("?");
        if self.accept("[") {
            self.until(&[']']);
            self.expect("]")?;
            kind = match (kind, optional) {
                (ParameterKind::Tensor, false) => ParameterKind::TensorList,
                (ParameterKind::Tensor, true) => ParameterKind::OptionalTensorList,
                (ParameterKind::Int, false) => ParameterKind::IntList,
                (ParameterKind::Double, false) => ParameterKind::DoubleList,
                (ParameterKind::Bool, false) => ParameterKind::BoolList,
                _ => return Err(self.error("a list of a kind that there is")),
            };
            // `Tensor(a!)[]` says of the list what `Tensor(a!)` says of a tensor.
            optional = self.accept("?");
        }
        let name = self.word().to_string();
        if self.accept("=") {
            self.default_value();
        }
        Ok(Parameter {
            name,
            kind,
            optional,
            written,
            keyword: false,
        })
    }

    /// `(a!)` or `(a)`, if there is one; whether it has the mark of being written.
    fn alias(&mut self) -> Result<bool> {
        if !self.accept("(") {
            return Ok(false);
        }
        let alias = self.until(&[')']);
        self.expect(")")?;
        Ok(alias.contains('!'))
    }

    /// Defaults are of no use here: programs spell out every argument.
    fn default_value(&mut self) {
        if self.accept("[") {
            self.until(&[']']);
            self.accept("]");
        } else {
            self.until(&[',', ')']);
        }
    }

    fn word(&mut self) -> &'t str {
        self.skip_space();
        let rest = &self.text[self.at..];
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn until(&mut self, ends: &[char]) -> &'t str {
        let rest = &self.text[self.at..];
        let end = rest.find(ends).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn accept(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.accept(token) {
            Ok(())
        } else {
            Err(self.error(&format!("`{token}`")))
        }
    }

    fn skip_space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, expected: &str) -> Error {
        Error::new(
            ErrorKind::InvalidOption,
            format!(
                "`{}` is not a signature: {expected} was expected at character {}",
                self.text, self.at
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_out_variant_takes_its_output_and_returns_it_again() {
        let add = Signature::parse(
            "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
        )
        .unwrap();
        assert_eq!(add.operator(), "aten::add.out");
        let names: Vec<_> = add.parameters().iter().map(|p| &*p.name).collect();
        assert_eq!(names, ["self", "other", "alpha", "out"]);
        assert!(add.accepts(5) && !add.accepts(3) && !add.accepts(6));
        assert_eq!(add.writes(), [3]);
        assert_eq!(add.parameter_name(4), Some("result"));
        assert_eq!(add.parameter_name(5), None);
    }

    #[test]
    fn a_number_that_is_returned_is_written_after_the_parameters() {
        let size = Signature::parse("aten::sym_size.int(Tensor self, int dim) -> SymInt").unwrap();
        assert!(size.accepts(3) && !size.accepts(2) && !size.accepts(4));
        assert_eq!(size.writes(), [2]);
    }

    #[test]
    fn lists_options_and_defaults_are_understood() {
        let signature = Signature::parse(
            "aten::x.out(Tensor?[] indices, int[2] stride=[1, 1], float? p=None, \
             Tensor[] many, ScalarType? dtype=None, *, Tensor(a!) a, Tensor(b!)[] out) \
             -> (Tensor(a!), Tensor(b!)[])",
        )
        .unwrap();
        let kinds: Vec<_> = signature.parameters().iter().map(|p| p.kind).collect();
        assert_eq!(
            kinds,
            [
                ParameterKind::OptionalTensorList,
                ParameterKind::IntList,
                ParameterKind::Double,
                ParameterKind::TensorList,
                ParameterKind::Int,
                ParameterKind::Tensor,
                ParameterKind::TensorList
            ]
        );
        let optional: Vec<_> = signature.parameters().iter().map(|p| p.optional).collect();
        assert_eq!(optional, [false, false, true, false, true, false, false]);
        assert_eq!(signature.writes(), [5, 6]);
    }

    #[test]
    fn several_results_are_one_argument() {
        let sort = Signature::parse(
            "aten::sort.values(Tensor self, int dim=-1, *, Tensor(a!) values, Tensor(b!) indices) \
             -> (Tensor(a!) values, Tensor(b!) indices)",
        )
        .unwrap();
        assert!(sort.accepts(5) && !sort.accepts(6));
        assert_eq!(sort.writes(), [2, 3]);
        assert!(Signature::parse("t::two(int a) -> (int, int)").is_err());
    }

    #[test]
    fn an_operator_may_return_nothing() {
        let nothing = Signature::parse("x::y(Tensor(a!) self) -> ()").unwrap();
        assert_eq!(nothing.argument_count(), 1);
    }

    #[test]
    fn what_is_no_signature_is_refused_with_the_place() {
        for text in [
            "",
            "aten::add",
            "aten::add(Tensor self",
            "aten::add(Foo x) -> Tensor",
            "a::b() -> Tensor x y",
        ] {
            let error = Signature::parse(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidOption, "{text}");
        }
    }
}
