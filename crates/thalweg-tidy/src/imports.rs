//! What the modules of a crate use of each other.

use std::collections::HashSet;
use std::path::PathBuf;

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, ExprPath, ImplItem, ImplItemFn, Item, ItemFn, ItemMacro, ItemUse,
    Macro, PatIdent, PatTupleStruct, Path, Stmt, Token, TraitItem, TraitItemFn, Visibility,
};

use crate::cfg::{attributes, only_in_tests};
use crate::names::{Definition, Namespace};
use crate::tokens;
use crate::tree::{ModuleId, ModuleTree, Use, uses};

/// A name that a module uses and another one defines, where a file first uses it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    /// The file that uses the name, as a path in the crate.
    pub file: PathBuf,
    /// The line there, from 1.
    pub line: usize,
    /// The path that is written there.
    pub path: String,
    /// The module that uses the name.
    pub from: String,
    /// The module that defines it.
    pub to: String,
}

impl Import {
    /// The last name of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit("::").next().unwrap_or(&self.path)
    }
}

/// All imports between modules of a tree, with the modules that use and define them.
pub(crate) fn imports(tree: &ModuleTree) -> Vec<(ModuleId, ModuleId, Import)> {
    let mut imports = Vec::new();
    for module in 0..tree.modules.len() {
        let mut reader = Reader {
            tree,
            module,
            variables: Vec::new(),
            blocks: Vec::new(),
            found: Vec::new(),
        };
        for item in &tree.modules[module].items {
            reader.visit_item(item);
        }
        imports.append(&mut reader.found);
    }
    imports.sort_by(|left, right| left.2.cmp(&right.2));
    let mut seen = HashSet::new();
    imports.retain(|(from, to, import)| seen.insert((*from, *to, import.name().to_owned())));
    imports
}

/// Reads the items of one module.
struct Reader<'t> {
    tree: &'t ModuleTree,
    module: ModuleId,
    /// Names of variables, of the functions around what is read.
    variables: Vec<HashSet<String>>,
    /// Imports of the blocks around what is read.
    blocks: Vec<Vec<Use>>,
    found: Vec<(ModuleId, ModuleId, Import)>,
}

impl Reader<'_> {
    fn add(&mut self, definition: &Definition, path: &[String], line: usize) {
        let to = definition.module();
        if to != self.module {
            let import = Import {
                file: self.tree.modules[self.module].file.clone(),
                line,
                path: path.join("::"),
                from: self.tree.path(self.module),
                to: self.tree.path(to),
            };
            self.found.push((self.module, to, import));
        }
    }

    /// Adds what a path leads to, by the first of `namespaces` in which it leads anywhere.
    fn add_path(&mut self, path: &[String], line: usize, namespaces: &[Namespace]) {
        if let [name] = path
            && self
                .variables
                .iter()
                .any(|variables| variables.contains(name))
        {
            return;
        }
        for &namespace in namespaces {
            let found = self
                .in_blocks(path, namespace)
                .or_else(|| self.tree.resolve(self.module, path, namespace));
            if let Some(definition) = found {
                return self.add(&definition, path, line);
            }
        }
    }

    /// Where a path leads whose first name a block has imported.
    fn in_blocks(&self, path: &[String], namespace: Namespace) -> Option<Definition> {
        let first = if path.len() == 1 {
            namespace
        } else {
            Namespace::Types
        };
        self.blocks.iter().rev().find_map(|uses| {
            match self
                .tree
                .imported_as(self.module, &path[0], first, uses, &mut Vec::new())?
            {
                Definition::Module(module) if path.len() > 1 => {
                    let inside: Vec<_> = ["self".to_owned()]
                        .into_iter()
                        .chain(path[1..].iter().cloned())
                        .collect();
                    self.tree.resolve(module, &inside, namespace)
                }
                definition => Some(definition),
            }
        })
    }

    fn add_written(&mut self, path: &Path, namespaces: &[Namespace]) {
        if path.leading_colon.is_none() {
            let names: Vec<_> = path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect();
            let line = path.segments[0].ident.span().start().line;
            self.add_path(&names, line, namespaces);
        }
    }

    fn add_use(&mut self, item: &Use) {
        for definition in self.tree.resolve_use(self.module, item) {
            let mut path = item.path.clone();
            if item.name.is_none() {
                path.push("*".to_owned());
            }
            self.add(&definition, &path, item.line);
        }
    }

    /// Reads the tokens of a macro, as Rust if that is what they look like.
    fn tokens(&mut self, tokens: &TokenStream) {
        if let Ok(list) = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(tokens.clone()) {
            for expression in &list {
                self.visit_inside(
                    |reader| reader.visit_expr(expression),
                    |names| names.visit_expr(expression),
                );
            }
        } else if let Ok(statements) = Block::parse_within.parse2(tokens.clone()) {
            for statement in &statements {
                self.visit_inside(
                    |reader| reader.visit_stmt(statement),
                    |names| names.visit_stmt(statement),
                );
            }
        } else {
            let mut paths = Vec::new();
            tokens::paths(tokens.clone(), &mut paths);
            for path in paths {
                self.add_path(&path.path, path.line, path.namespaces);
            }
        }
    }

    /// Reads something in which there are variables of its own.
    fn visit_inside(
        &mut self,
        read: impl FnOnce(&mut Self),
        variables: impl FnOnce(&mut Variables),
    ) {
        let mut names = Variables::default();
        variables(&mut names);
        self.variables.push(names.0);
        read(self);
        self.variables.pop();
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !only_in_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes: &[Attribute] = match item {
            ImplItem::Const(item) => &item.attrs,
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Type(item) => &item.attrs,
            _ => &[],
        };
        if !only_in_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if !matches!(item, TraitItem::Fn(item) if only_in_tests(&item.attrs)) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if !matches!(statement, Stmt::Local(local) if only_in_tests(&local.attrs)) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.visit_inside(
            |reader| visit::visit_item_fn(reader, item),
            |names| names.visit_item_fn(item),
        );
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.visit_inside(
            |reader| visit::visit_impl_item_fn(reader, item),
            |names| names.visit_impl_item_fn(item),
        );
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.visit_inside(
            |reader| visit::visit_trait_item_fn(reader, item),
            |names| names.visit_trait_item_fn(item),
        );
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let imported = block.stmts.iter().filter_map(|statement| match statement {
            Stmt::Item(Item::Use(item)) => Some(uses(item)),
            _ => None,
        });
        self.blocks.push(imported.flatten().collect());
        visit::visit_block(self, block);
        self.blocks.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        for item in uses(item) {
            self.add_use(&item);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        self.add_written(path, &[Namespace::Types]);
        visit::visit_path(self, path);
    }

    fn visit_expr_path(&mut self, expression: &'ast ExprPath) {
        if expression.qself.is_none() {
            self.add_written(&expression.path, &[Namespace::Values, Namespace::Types]);
            visit::visit_path(self, &expression.path);
        } else {
            visit::visit_expr_path(self, expression);
        }
    }

    fn visit_pat_tuple_struct(&mut self, pattern: &'ast PatTupleStruct) {
        self.add_written(&pattern.path, &[Namespace::Values, Namespace::Types]);
        for pattern in &pattern.elems {
            self.visit_pat(pattern);
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        if is_constant(pattern) {
            let line = pattern.ident.span().start().line;
            self.add_path(&[pattern.ident.to_string()], line, &[Namespace::Values]);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.add_written(&call.path, &[Namespace::Macros]);
        self.tokens(&call.tokens);
    }

    fn visit_item_macro(&mut self, item: &'ast ItemMacro) {
        if item.ident.is_none() {
            return self.visit_macro(&item.mac);
        }
        // Other names in a definition are those of the place where the macro is used.
        let mut paths = Vec::new();
        tokens::paths(item.mac.tokens.clone(), &mut paths);
        for path in paths.iter().filter(|path| path.path[0] == "crate") {
            self.add_path(&path.path, path.line, path.namespaces);
        }
    }

    // Neither attributes nor `pub(in path)` import anything.
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// The names of variables in something.
#[derive(Default)]
struct Variables(HashSet<String>);

impl<'ast> Visit<'ast> for Variables {
    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        if !is_constant(pattern) {
            self.0.insert(pattern.ident.to_string());
        }
        visit::visit_pat_ident(self, pattern);
    }
}

/// True if the pattern looks like the name of a constant, rather than of a variable.
fn is_constant(pattern: &PatIdent) -> bool {
    let upper = pattern
        .ident
        .to_string()
        .starts_with(|first: char| first.is_ascii_uppercase());
    upper && pattern.by_ref.is_none() && pattern.subpat.is_none()
}
