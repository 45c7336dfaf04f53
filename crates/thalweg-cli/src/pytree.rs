//! The names of a method's inputs and outputs.
//!
//! A program stores the nesting of its inputs and outputs, in PyTorch's JSON encoding: `[1, NODE]`,
//! where a node has a `type` (null for a leaf), a `context` (for a dict, its keys as JSON in a
//! string) and `children_spec`. Inputs are a pair of positional arguments and keyword arguments.

use serde::Deserialize;

/// The name of each input: the keyword with the path within it; for positional arguments that
/// nest, `args[0]` with the path; none for plain ones.
pub(crate) fn input_names(encoded: Option<&str>, count: usize) -> Vec<Option<String>> {
    let mut names = Vec::new();
    if let Some(root) = encoded.and_then(parse) {
        match &root.children_spec[..] {
            [arguments, keywords] => {
                for (index, argument) in arguments.children_spec.iter().enumerate() {
                    if argument.is_leaf() {
                        names.push(None);
                    } else {
                        argument.collect(&format!("args[{index}]"), &mut names);
                    }
                }
                keywords.collect("", &mut names);
            }
            _ => root.collect("", &mut names),
        }
    }
    fitting(names, count)
}

/// The name of each output: its path within what the module returns; none for plain ones.
pub(crate) fn output_names(encoded: Option<&str>, count: usize) -> Vec<Option<String>> {
    let mut names = Vec::new();
    if let Some(root) = encoded.and_then(parse) {
        if root.is_leaf() {
            names.push(None);
        } else if root.keys().is_some() {
            root.collect("", &mut names);
        } else {
            for (index, child) in root.children_spec.iter().enumerate() {
                if child.is_leaf() {
                    names.push(None);
                } else {
                    child.collect(&format!("[{index}]"), &mut names);
                }
            }
        }
    }
    fitting(names, count)
}

#[derive(Deserialize)]
struct Node {
    #[serde(rename = "type")]
    kind: Option<String>,
    context: Option<serde_json::Value>,
    #[serde(default)]
    children_spec: Vec<Self>,
}

impl Node {
    fn is_leaf(&self) -> bool {
        self.kind.is_none() && self.children_spec.is_empty()
    }

    /// The keys of a dict.
    fn keys(&self) -> Option<Vec<String>> {
        let is_dict = self.kind.as_ref()?.to_lowercase().contains("dict");
        let context = self.context.as_ref()?.as_str()?;
        let keys: Vec<serde_json::Value> = serde_json::from_str(context).ok()?;
        let name = |key: serde_json::Value| match key {
            serde_json::Value::String(text) => text,
            other => other.to_string(),
        };
        (is_dict && keys.len() == self.children_spec.len())
            .then(|| keys.into_iter().map(name).collect())
    }

    /// Adds the names of the leaves below.
    fn collect(&self, path: &str, names: &mut Vec<Option<String>>) {
        if self.is_leaf() {
            names.push(Some(path.to_string()));
            return;
        }
        let keys = self.keys();
        for (index, child) in self.children_spec.iter().enumerate() {
            let inner = match keys.as_ref().and_then(|keys| keys.get(index)) {
                Some(key) if path.is_empty() => key.clone(),
                Some(key) => format!("{path}.{key}"),
                None => format!("{path}[{index}]"),
            };
            child.collect(&inner, names);
        }
    }
}

fn parse(encoded: &str) -> Option<Node> {
    let (version, root): (u32, Node) = serde_json::from_str(encoded).ok()?;
    (version == 1).then_some(root)
}

/// The names, if there is one for each value. If not, the tree has another form than expected.
fn fitting(names: Vec<Option<String>>, count: usize) -> Vec<Option<String>> {
    if names.len() == count {
        names
    } else {
        vec![None; count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;

    fn node(kind: &str, context: &str, children: &[&str]) -> String {
        let context = serde_json::to_string(context).unwrap();
        let children = children.join(", ");
        format!(
            r#"{{"type": "builtins.{kind}", "context": {context}, "children_spec": [{children}]}}"#
        )
    }

    fn inputs(tree: &str, count: usize) -> Vec<Option<String>> {
        input_names(Some(&format!("[1, {tree}]")), count)
    }

    fn outputs(tree: &str, count: usize) -> Vec<Option<String>> {
        output_names(Some(&format!("[1, {tree}]")), count)
    }

    #[test]
    fn keywords_name_inputs_and_plain_arguments_have_no_name() {
        let list = node("list", "null", &[LEAF, LEAF]);
        let arguments = node("tuple", "null", &[LEAF, &list]);
        let keywords = node("dict", r#"["mask", "pair"]"#, &[LEAF, &list]);
        let names = inputs(&node("tuple", "null", &[&arguments, &keywords]), 6);
        let names: Vec<_> = names.iter().map(|name| name.as_deref()).collect();
        assert_eq!(
            names,
            [
                None,
                Some("args[1][0]"),
                Some("args[1][1]"),
                Some("mask"),
                Some("pair[0]"),
                Some("pair[1]")
            ]
        );
    }

    #[test]
    fn a_returned_dict_names_outputs() {
        let list = node("list", "null", &[LEAF]);
        let names = outputs(&node("dict", r#"["sum", "parts"]"#, &[LEAF, &list]), 2);
        assert_eq!(names, [Some("sum".to_string()), Some("parts[0]".into())]);
        assert_eq!(outputs(LEAF, 1), [None]);
    }

    #[test]
    fn a_tree_that_does_not_fit_names_nothing() {
        let tree = node("dict", r#"["sum"]"#, &[LEAF]);
        assert_eq!(outputs(&tree, 2), [None, None]);
        assert_eq!(outputs("nonsense", 1), [None]);
        assert_eq!(output_names(None, 1), [None]);
    }
}
