//! Where the names of a path are defined.

use crate::tree::{Module, ModuleId, ModuleTree, Use};

/// The kinds of names, which are apart from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    Types,
    Values,
    Macros,
}

impl Namespace {
    pub(crate) const ALL: [Self; 3] = [Self::Types, Self::Values, Self::Macros];
}

/// The definition that a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Definition {
    Module(ModuleId),
    /// An item of the module, by its name there.
    Item(ModuleId, String),
}

impl Definition {
    /// The module itself, or the one that has the item.
    pub(crate) fn module(&self) -> ModuleId {
        match self {
            Self::Module(module) | Self::Item(module, _) => *module,
        }
    }
}

/// Globs and imports that are being followed, so that circles of them end.
type Followed = Vec<(ModuleId, String, Namespace)>;

impl ModuleTree {
    /// Where the path `path`, written in `module`, leads to; none if that is outside of the crate.
    ///
    /// Imports and re-exports are followed. A name that nothing in a module is seen to define
    /// (a macro has made it) is taken to be defined there.
    pub(crate) fn resolve(
        &self,
        module: ModuleId,
        path: &[String],
        namespace: Namespace,
    ) -> Option<Definition> {
        self.follow(module, path, namespace, &mut Vec::new())
    }

    /// Where an import leads to, for each kind of name that it imports.
    pub(crate) fn resolve_use(&self, module: ModuleId, item: &Use) -> Vec<Definition> {
        if item.absolute {
            return Vec::new();
        }
        let found = Namespace::ALL
            .iter()
            .filter_map(|&namespace| self.resolve(module, &item.path, namespace));
        let mut found: Vec<_> = found.collect();
        found.dedup();
        found
    }

    fn follow(
        &self,
        module: ModuleId,
        path: &[String],
        namespace: Namespace,
        followed: &mut Followed,
    ) -> Option<Definition> {
        let mut current = module;
        // True if names are looked for in `current` alone, rather than in all that is in scope there.
        let mut inside = false;
        for (position, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => current = 0,
                "self" if path.len() > 1 => {}
                "super" => current = self.modules[current].parent?,
                "self" | "Self" => return None,
                _ if position + 1 == path.len() => {
                    return self.last(current, name, namespace, inside, followed);
                }
                _ => match self.name_in(current, name, Namespace::Types, followed) {
                    Some(Definition::Module(module)) => current = module,
                    Some(item) => return Some(item),
                    None if inside => return Some(Definition::Item(current, name.clone())),
                    None => return None,
                },
            }
            inside = true;
        }
        Some(Definition::Module(current))
    }

    /// The last name of a path.
    fn last(
        &self,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
        inside: bool,
        followed: &mut Followed,
    ) -> Option<Definition> {
        if let Some(found) = self.name_in(module, name, namespace, followed) {
            return Some(found);
        }
        if !inside {
            return (namespace == Namespace::Macros)
                .then(|| self.macro_in_scope(module, name))
                .flatten();
        }
        let elsewhere = Namespace::ALL
            .iter()
            .any(|&other| self.name_in(module, name, other, followed).is_some());
        (!elsewhere).then(|| Definition::Item(module, name.to_owned()))
    }

    /// What `name` is in a module: its own, or imported there.
    fn name_in(
        &self,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
        followed: &mut Followed,
    ) -> Option<Definition> {
        let Module {
            children,
            types,
            values,
            macros,
            uses,
            ..
        } = &self.modules[module];
        let defined = match namespace {
            Namespace::Types => {
                if let Some(children) = children.get(name) {
                    return Some(Definition::Module(children[0]));
                }
                types.contains(name)
            }
            Namespace::Values => values.contains(name),
            Namespace::Macros => {
                if module == 0
                    && let Some(&module) = self.exported_macros.get(name)
                {
                    return Some(Definition::Item(module, name.to_owned()));
                }
                macros.contains(name)
            }
        };
        if defined {
            return Some(Definition::Item(module, name.to_owned()));
        }
        let step = (module, name.to_owned(), namespace);
        if followed.contains(&step) {
            return None;
        }
        followed.push(step);
        let found = self.imported_as(module, name, namespace, uses, followed);
        followed.pop();
        found
    }

    /// What one of these imports of `module` makes of `name`.
    pub(crate) fn imported_as(
        &self,
        module: ModuleId,
        name: &str,
        namespace: Namespace,
        uses: &[Use],
        followed: &mut Followed,
    ) -> Option<Definition> {
        let uses = || uses.iter().filter(|item| !item.absolute);
        let named = uses().filter(|item| item.name.as_deref() == Some(name));
        for item in named {
            if let Some(found) = self.follow(module, &item.path, namespace, followed) {
                return Some(found);
            }
        }
        for glob in uses().filter(|item| item.name.is_none()) {
            let found = match self.follow(module, &glob.path, Namespace::Types, followed) {
                None => None,
                Some(Definition::Module(module)) => self.name_in(module, name, namespace, followed),
                Some(Definition::Item(module, item)) => {
                    let variants = self.modules[module].variants.get(&item);
                    let known = variants.is_some_and(|variants| variants.contains(name));
                    known.then_some(Definition::Item(module, item))
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// A macro that is in scope without an import: from the module or what it is in, or from a
    /// module that hands its macros on (`#[macro_use]`).
    fn macro_in_scope(&self, module: ModuleId, name: &str) -> Option<Definition> {
        let shared = |id: &ModuleId| {
            let mut ancestors = self.ancestors(*id);
            ancestors.all(|id| id == 0 || self.modules[id].shares_macros)
        };
        let all = 0..self.modules.len();
        self.ancestors(module)
            .chain(all.filter(shared))
            .find(|&id| self.modules[id].macros.contains(name))
            .map(|id| Definition::Item(id, name.to_owned()))
    }
}
