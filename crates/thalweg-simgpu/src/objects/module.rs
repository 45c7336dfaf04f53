//! Modules, and the kernels and variables in them.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A module, or a library.
pub(crate) struct Module {
    pub(crate) context: u64,
    /// The names of its kernels. `None` for an image for real devices, in which any name is a
    /// kernel.
    pub(crate) names: Option<Vec<Arc<str>>>,
    /// The handles of its functions that were looked up, by name.
    pub(crate) functions: BTreeMap<Arc<str>, u64>,
    pub(crate) globals: BTreeMap<Arc<str>, (u64, u64)>,
    /// True for a library, which belongs to no context.
    pub(crate) library: bool,
}

/// A function of a module: a kernel.
pub(crate) struct Function {
    pub(crate) name: Arc<str>,
    pub(crate) module: u64,
    pub(crate) attributes: BTreeMap<i32, i32>,
}

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub(crate) const MAX_SHARED: i32 = 8;

/// The first line of an image for the stand-in. The names of its kernels follow, one a line; `name:
/// bytes` is a variable.
const MAGIC: &str = "simgpu";

impl Module {
    pub(crate) fn new(context: u64, names: Option<Vec<Arc<str>>>, library: bool) -> Self {
        Self {
            context,
            names,
            functions: BTreeMap::new(),
            globals: BTreeMap::new(),
            library,
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names
            .as_ref()
            .is_none_or(|names| names.iter().any(|known| &**known == name))
    }
}

/// The kernels, and the variables with their sizes, that an image of text names.
pub(crate) fn parse_image(text: &str) -> Option<(Vec<Arc<str>>, Vec<(Arc<str>, u64)>)> {
    let mut lines = text.lines().map(str::trim);
    if lines.next() != Some(MAGIC) {
        return None;
    }
    let (mut kernels, mut variables) = (Vec::new(), Vec::new());
    for line in lines.filter(|line| !line.is_empty()) {
        match line
            .split_once(':')
            .map(|(name, len)| (name, len.trim().parse()))
        {
            Some((name, Ok(len))) => variables.push((name.into(), len)),
            _ => kernels.push(line.into()),
        }
    }
    Some((kernels, variables))
}

/// The kernels that PTX names.
pub(crate) fn parse_ptx(text: &str) -> Vec<Arc<str>> {
    let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '$'));
    text.split(".entry")
        .skip(1)
        .filter_map(|rest| rest.trim_start().split(ends).next())
        .filter(|name| !name.is_empty())
        .map(Into::into)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_names_kernels_and_variables() {
        let (kernels, variables) = parse_image("simgpu\nadd\n  scale\n table: 64\n").unwrap();
        assert_eq!(kernels, ["add".into(), "scale".into()]);
        assert_eq!(variables, [("table".into(), 64)]);
        assert!(parse_image(".version 8.0\n").is_none());
        let ptx = ".version 8.0\n.visible .entry one(.param .u64 x) {}\n.entry two\n() {}";
        assert_eq!(parse_ptx(ptx), ["one".into(), "two".into()]);
    }
}
