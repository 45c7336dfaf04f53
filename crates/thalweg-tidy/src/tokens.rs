//! Paths in the tokens of macros.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::names::Namespace;

/// A path in the tokens of a macro.
#[derive(Debug)]
pub(crate) struct TokenPath {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    /// What its last name can be.
    pub(crate) namespaces: &'static [Namespace],
}

/// The paths in `tokens`: those of several names, and single names that are written like types or
/// calls. What is written after `.` is a field or method, and no path.
pub(crate) fn paths(tokens: TokenStream, paths: &mut Vec<TokenPath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => self::paths(group.stream(), paths),
            TokenTree::Ident(name) => {
                let line = name.span().start().line;
                let mut path = vec![name.to_string()];
                let start = at;
                while is_double_colon(&tokens, at + 1)
                    && let Some(TokenTree::Ident(name)) = tokens.get(at + 3)
                {
                    path.push(name.to_string());
                    at += 3;
                }
                let absolute = start >= 2 && is_double_colon(&tokens, start - 2);
                if !absolute && !is_member(&tokens, start) {
                    let namespaces = namespaces(&tokens, &path, at + 1);
                    if !namespaces.is_empty() {
                        paths.push(TokenPath {
                            path,
                            line,
                            namespaces,
                        });
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// What the path that ends before `tokens[end]` can name.
fn namespaces(tokens: &[TokenTree], path: &[String], end: usize) -> &'static [Namespace] {
    let next = tokens.get(end);
    if is_punct(next, '!') && matches!(tokens.get(end + 1), Some(TokenTree::Group(_))) {
        return &[Namespace::Macros];
    }
    let called = matches!(next, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
    let type_like = path[0].starts_with(|first: char| first.is_ascii_uppercase());
    match path.len() {
        1 if type_like => &[Namespace::Types, Namespace::Values],
        1 if called => &[Namespace::Values],
        1 => &[],
        _ => &Namespace::ALL,
    }
}

/// True if the name at `at` is a field, a method or a lifetime.
fn is_member(tokens: &[TokenTree], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return false;
    };
    let range = before > 0 && is_punct(tokens.get(before - 1), '.');
    is_punct(tokens.get(before), '\'') || (is_punct(tokens.get(before), '.') && !range)
}

fn is_double_colon(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(first)) if first.as_char() == ':' && first.spacing() == Spacing::Joint)
        && is_punct(tokens.get(at + 1), ':')
}

fn is_punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}
