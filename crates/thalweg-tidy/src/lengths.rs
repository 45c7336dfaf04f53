//! Lengths of files and functions.

use std::fmt;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Block, ImplItemFn, ItemFn, Macro, Signature, TraitItemFn};

use crate::sources::{Error, Sources};

/// The most lines that a file and a function may have.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Lines of a file, tests and empty ones included.
    pub file: usize,
    /// Lines of a function, from its signature to its closing brace.
    pub function: usize,
}

/// A file or a function that is too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oversized {
    /// The file, as a path in the crate.
    pub file: PathBuf,
    /// The function, by its name and first line; none if the file is too long.
    pub function: Option<(String, usize)>,
    /// The number of lines.
    pub lines: usize,
}

/// The files and functions of a crate, of its tests too, that are longer than `limits`.
///
/// # Errors
///
/// A file that is not Rust.
pub fn oversized(sources: &Sources, limits: Limits) -> Result<Vec<Oversized>, Error> {
    let mut found = Vec::new();
    for (file, text) in sources.files() {
        let lines = text.lines().count();
        if lines > limits.file {
            found.push(Oversized {
                file: file.to_owned(),
                function: None,
                lines,
            });
        }
        let syntax = syn::parse_file(text).map_err(|error| Error::syntax(file, &error))?;
        Functions {
            file,
            limit: limits.function,
            found: &mut found,
        }
        .visit_file(&syntax);
    }
    Ok(found)
}

/// Finds the long functions of a file.
struct Functions<'f> {
    file: &'f Path,
    limit: usize,
    found: &'f mut Vec<Oversized>,
}

impl Functions<'_> {
    fn measure(&mut self, name: String, first: usize, last: usize) {
        let lines = last + 1 - first;
        if lines > self.limit {
            self.found.push(Oversized {
                file: self.file.to_owned(),
                function: Some((name, first)),
                lines,
            });
        }
    }

    fn function(&mut self, signature: &Signature, body: &Block) {
        let first = signature.fn_token.span.start().line;
        self.measure(
            signature.ident.to_string(),
            first,
            body.brace_token.span.close().end().line,
        );
    }

    /// Measures functions in the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            if let TokenTree::Group(group) = token {
                self.tokens(group.stream());
            }
            if let (TokenTree::Ident(word), Some(TokenTree::Ident(name))) =
                (token, tokens.get(at + 1))
                && word == "fn"
            {
                let body = tokens[at..].iter().find_map(|token| match token {
                    TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
                    _ => None,
                });
                if let Some(body) = body {
                    self.measure(
                        name.to_string(),
                        word.span().start().line,
                        body.span_close().end().line,
                    );
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.tokens(call.tokens.clone());
    }
}

impl fmt::Display for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.function {
            Some((name, line)) => write!(f, "{file}:{line}: `{name}` has {} lines", self.lines),
            None => write!(f, "{file} has {} lines", self.lines),
        }
    }
}
