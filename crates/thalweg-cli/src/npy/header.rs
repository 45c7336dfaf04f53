//! The header: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.

use crate::failure::{Failure, Result, fail};

/// The fields of a header.
#[derive(Debug, PartialEq)]
pub(super) struct Header {
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

impl Header {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut rest = Rest(text);
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.string()?;
            rest.expect(':')?;
            match key {
                "descr" => descr = Some(rest.string()?.to_string()),
                "fortran_order" => fortran_order = Some(rest.boolean()?),
                "shape" => shape = Some(rest.tuple()?),
                other => fail!("the header has an unknown field `{other}`"),
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) => Ok(Self {
                descr,
                fortran_order,
                shape,
            }),
            _ => fail!("the header lacks one of descr, fortran_order and shape"),
        }
    }
}

/// The text that is left to read.
struct Rest<'t>(&'t str);

impl<'t> Rest<'t> {
    /// Reads a character if it comes next. Returns true if it does.
    fn take(&mut self, c: char) -> bool {
        self.0 = self.0.trim_start();
        match self.0.strip_prefix(c) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, c: char) -> Result<()> {
        if self.take(c) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{c}`")))
        }
    }

    /// `'text'`, or `"text"`. Texts with escapes do not occur.
    fn string(&mut self) -> Result<&'t str> {
        for quote in ['\'', '"'] {
            if self.take(quote)
                && let Some((text, rest)) = self.0.split_once(quote)
            {
                self.0 = rest;
                return Ok(text);
            }
        }
        // Arrays of records have a list here.
        Err(self.unexpected("a text"))
    }

    fn boolean(&mut self) -> Result<bool> {
        self.0 = self.0.trim_start();
        for (name, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.strip_prefix(name) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(self.unexpected("True or False"))
    }

    /// `(3, 4)`, `(3,)`, `()`.
    fn tuple(&mut self) -> Result<Vec<usize>> {
        let mut sizes = Vec::new();
        self.expect('(')?;
        while !self.take(')') {
            sizes.push(self.size()?);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(sizes)
    }

    /// `3`, or `3L` as old versions of Python wrote it.
    fn size(&mut self) -> Result<usize> {
        self.0 = self.0.trim_start();
        let end = self.0.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        let size = digits.parse().map_err(|_| self.unexpected("a size"))?;
        self.0 = rest.strip_prefix('L').unwrap_or(rest);
        Ok(size)
    }

    fn unexpected(&self, wanted: &str) -> Failure {
        let found: String = self.0.chars().take(20).collect();
        Failure::new(format!("the header has {found:?} where {wanted} should be"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Result<Vec<usize>> {
        let header = format!("{{'shape': {text}, 'descr': \"<f4\", 'fortran_order': True}}");
        Ok(Header::parse(&header)?.shape)
    }

    #[test]
    fn fields_come_in_any_order_and_with_any_spaces() {
        let header = Header::parse(" { 'shape':(3,4 ) ,'fortran_order' : True,'descr':'<f4'} \n");
        assert_eq!(
            header.unwrap(),
            Header {
                descr: "<f4".into(),
                fortran_order: true,
                shape: vec![3, 4],
            }
        );
    }

    #[test]
    fn shapes_are_written_as_tuples() {
        assert!(shape("()").unwrap().is_empty());
        assert_eq!(shape("(5,)").unwrap(), [5]);
        assert_eq!(shape("(5L, 6L)").unwrap(), [5, 6]);
        for wrong in ["5", "(5", "(-1,)", "(a,)", "(99999999999999999999,)", "(,)"] {
            assert!(shape(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_field_that_is_missing_or_unknown_is_refused() {
        assert!(Header::parse("{}").is_err());
        assert!(Header::parse("{'descr': '<f4', 'shape': ()}").is_err());
        assert!(Header::parse("{'other': '<f4'}").is_err());
        assert!(Header::parse("{'descr': [('a', '<f4')], }").is_err());
    }
}
