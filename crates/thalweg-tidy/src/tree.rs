//! The modules of a crate and the names that each defines.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use syn::{
    Attribute, Expr, Fields, ForeignItem, Ident, Item, ItemMacro, ItemMod, ItemUse, Lit, Meta,
    UseTree,
};

use crate::cfg::{attributes, only_in_tests};
use crate::sources::{Error, Sources};

/// The position of a module in its tree.
pub(crate) type ModuleId = usize;

/// The modules of a crate, without those that exist in tests only. The root is the first.
pub(crate) struct ModuleTree {
    pub(crate) modules: Vec<Module>,
    /// Macros that can be named at the root (`#[macro_export]`), with their modules.
    pub(crate) exported_macros: HashMap<String, ModuleId>,
}

/// A module of a crate.
#[derive(Default)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) parent: Option<ModuleId>,
    pub(crate) file: PathBuf,
    pub(crate) children: HashMap<String, Vec<ModuleId>>,
    /// True if macros of this module are in scope in its parent from here on (`#[macro_use]`).
    pub(crate) shares_macros: bool,
    /// Names of types and traits.
    pub(crate) types: HashSet<String>,
    /// Names of functions, constants, statics, and structs that are constructed like functions.
    pub(crate) values: HashSet<String>,
    pub(crate) macros: HashSet<String>,
    /// Variants of enums, by the enum's name.
    pub(crate) variants: HashMap<String, HashSet<String>>,
    pub(crate) uses: Vec<Use>,
    /// Items that are not modules.
    pub(crate) items: Vec<Item>,
}

/// One name of a `use` declaration.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    /// The path of what is imported, or, for a glob, of what its names are in.
    pub(crate) path: Vec<String>,
    /// The name that it gets; none for a glob.
    pub(crate) name: Option<String>,
    /// True if the path starts with `::`, at another crate.
    pub(crate) absolute: bool,
    pub(crate) line: usize,
}

impl ModuleTree {
    /// Reads the modules of the crate whose first file is `root`.
    pub(crate) fn read(sources: &Sources, root: &Path) -> Result<Self, Error> {
        let mut tree = Self {
            modules: Vec::new(),
            exported_macros: HashMap::new(),
        };
        let directory = root.parent().unwrap_or(Path::new("")).to_path_buf();
        tree.read_file(sources, root, "crate", None, &directory)?;
        Ok(tree)
    }

    /// The path of a module as it is written: `device::calls`.
    pub(crate) fn path(&self, module: ModuleId) -> String {
        match self.modules[module].parent {
            None | Some(0) => self.modules[module].name.clone(),
            Some(parent) => format!("{}::{}", self.path(parent), self.modules[module].name),
        }
    }

    /// The module and all that it is in, from the inside out.
    pub(crate) fn ancestors(&self, module: ModuleId) -> impl Iterator<Item = ModuleId> {
        std::iter::successors(Some(module), |&module| self.modules[module].parent)
    }

    fn read_file(
        &mut self,
        sources: &Sources,
        file: &Path,
        name: &str,
        parent: Option<ModuleId>,
        directory: &Path,
    ) -> Result<ModuleId, Error> {
        let text = sources.text(file).unwrap_or_default();
        let syntax = syn::parse_file(text).map_err(|error| Error::syntax(file, &error))?;
        self.add(sources, file, name, parent, directory, syntax.items)
    }

    /// Adds a module with these items; files of its children are in `directory`.
    fn add(
        &mut self,
        sources: &Sources,
        file: &Path,
        name: &str,
        parent: Option<ModuleId>,
        directory: &Path,
        items: Vec<Item>,
    ) -> Result<ModuleId, Error> {
        let id = self.modules.len();
        let module = Module {
            name: name.to_owned(),
            parent,
            file: file.to_owned(),
            ..Module::default()
        };
        self.modules.push(module);
        for item in items {
            if only_in_tests(attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(item) => self.add_child(sources, id, directory, item)?,
                item => self.modules[id].add_item(item),
            }
        }
        for item in &self.modules[id].items {
            if let Item::Macro(ItemMacro {
                ident: Some(name),
                attrs,
                ..
            }) = item
                && attrs
                    .iter()
                    .any(|attribute| attribute.path().is_ident("macro_export"))
            {
                self.exported_macros.insert(name.to_string(), id);
            }
        }
        Ok(id)
    }

    fn add_child(
        &mut self,
        sources: &Sources,
        parent: ModuleId,
        directory: &Path,
        item: ItemMod,
    ) -> Result<(), Error> {
        let name = item.ident.to_string();
        let file = self.modules[parent].file.clone();
        let below = directory.join(&name);
        let child = match item.content {
            Some((_, items)) => self.add(sources, &file, &name, Some(parent), &below, items)?,
            None => {
                let candidates = match path_attribute(&item.attrs) {
                    Some(path) => vec![file.parent().unwrap_or(Path::new("")).join(path)],
                    None => vec![directory.join(format!("{name}.rs")), below.join("mod.rs")],
                };
                let line = item.ident.span().start().line;
                let found = candidates
                    .into_iter()
                    .find(|path| sources.text(path).is_some());
                let found = found.ok_or_else(|| Error::missing(&file, line, &name))?;
                self.read_file(sources, &found, &name, Some(parent), &below)?
            }
        };
        self.modules[child].shares_macros = item
            .attrs
            .iter()
            .any(|attribute| attribute.path().is_ident("macro_use"));
        self.modules[parent]
            .children
            .entry(name)
            .or_default()
            .push(child);
        Ok(())
    }
}

impl Module {
    fn add_item(&mut self, item: Item) {
        match &item {
            Item::Const(item) => self.add_value(&item.ident),
            Item::Static(item) => self.add_value(&item.ident),
            Item::Fn(item) => self.add_value(&item.sig.ident),
            Item::Struct(item) => {
                self.add_type(&item.ident);
                if !matches!(item.fields, Fields::Named(_)) {
                    self.add_value(&item.ident);
                }
            }
            Item::Enum(item) => {
                let variants = item
                    .variants
                    .iter()
                    .map(|variant| variant.ident.to_string());
                self.variants
                    .insert(item.ident.to_string(), variants.collect());
                self.add_type(&item.ident);
            }
            Item::Union(item) => self.add_type(&item.ident),
            Item::Trait(item) => self.add_type(&item.ident),
            Item::TraitAlias(item) => self.add_type(&item.ident),
            Item::Type(item) => self.add_type(&item.ident),
            Item::Macro(ItemMacro {
                ident: Some(name), ..
            }) => {
                self.macros.insert(name.to_string());
            }
            Item::ForeignMod(block) => block.items.iter().for_each(|item| match item {
                ForeignItem::Fn(item) => self.add_value(&item.sig.ident),
                ForeignItem::Static(item) => self.add_value(&item.ident),
                ForeignItem::Type(item) => self.add_type(&item.ident),
                _ => {}
            }),
            Item::Use(item) => self.uses.extend(uses(item)),
            _ => {}
        }
        self.items.push(item);
    }

    fn add_type(&mut self, name: &Ident) {
        self.types.insert(name.to_string());
    }

    fn add_value(&mut self, name: &Ident) {
        self.values.insert(name.to_string());
    }
}

/// The names that a declaration imports.
pub(crate) fn uses(item: &ItemUse) -> Vec<Use> {
    fn collect(tree: &UseTree, path: &mut Vec<String>, absolute: bool, uses: &mut Vec<Use>) {
        let mut add = |path: Vec<String>, name: Option<String>, line: usize| {
            uses.push(Use {
                path,
                name,
                absolute,
                line,
            });
        };
        match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                collect(&tree.tree, path, absolute, uses);
                path.pop();
            }
            UseTree::Name(tree) => {
                let mut path = path.clone();
                if tree.ident != "self" {
                    path.push(tree.ident.to_string());
                }
                let name = path.last().cloned();
                add(path, name, tree.ident.span().start().line);
            }
            UseTree::Rename(tree) => {
                let mut path = path.clone();
                if tree.ident != "self" {
                    path.push(tree.ident.to_string());
                }
                add(
                    path,
                    Some(tree.rename.to_string()),
                    tree.ident.span().start().line,
                );
            }
            UseTree::Glob(tree) => {
                add(path.clone(), None, tree.star_token.spans[0].start().line);
            }
            UseTree::Group(tree) => {
                for tree in &tree.items {
                    collect(tree, path, absolute, uses);
                }
            }
        }
    }
    let mut uses = Vec::new();
    collect(
        &item.tree,
        &mut Vec::new(),
        item.leading_colon.is_some(),
        &mut uses,
    );
    uses
}

/// The value of `#[path = "..."]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
                Expr::Lit(value) => match &value.lit {
                    Lit::Str(path) => Some(path.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
}
