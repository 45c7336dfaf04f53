//! Import cycles among modules that lie beside each other.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use crate::imports::{Import, imports};
use crate::sources::{Error, Sources};
use crate::tree::{ModuleId, ModuleTree};

/// Modules of one folder that import each other, each of them reachable from each.
#[derive(Debug)]
pub struct Knot {
    /// The module that they are in: `crate` for those of the crate's root.
    pub parent: String,
    /// The names of the modules in the knot.
    pub modules: Vec<String>,
    /// How many modules are in `parent`.
    pub siblings: usize,
    /// The shortest cycle through each import between them, shortest first.
    pub cycles: Vec<Cycle>,
}

/// A way through imports from a module back to it.
#[derive(Debug, Clone)]
pub struct Cycle {
    /// The modules on the way, and what each imports of the next; the last one imports of the first.
    pub steps: Vec<(String, Vec<Import>)>,
}

/// The import cycles of the crate's library and programs.
///
/// A module and the modules in it may import each other. All else counts for the two modules beside
/// each other that the import crosses: what `a::x` imports of `b::y` is imported by `a` of `b`. Paths
/// are followed to the module that defines the name. Modules for tests do not count.
///
/// # Errors
///
/// A file that is not Rust, or a module without a file.
pub fn cycles(sources: &Sources) -> Result<Vec<Knot>, Error> {
    let mut knots = Vec::new();
    for root in sources.roots() {
        let tree = ModuleTree::read(sources, root)?;
        let mut folders: BTreeMap<ModuleId, Graph> = BTreeMap::new();
        for (from, to, import) in imports(&tree) {
            if let Some((parent, from, to)) = crossing(&tree, from, to) {
                folders
                    .entry(parent)
                    .or_default()
                    .add(&tree, from, to, import);
            }
        }
        for (parent, graph) in folders {
            let siblings = tree.modules[parent].children.len();
            knots.extend(graph.knots(&tree.path(parent), siblings));
        }
    }
    Ok(knots)
}

/// The modules beside each other that an import crosses, and the one that both are in; none between a
/// module and what is in it.
fn crossing(
    tree: &ModuleTree,
    from: ModuleId,
    to: ModuleId,
) -> Option<(ModuleId, ModuleId, ModuleId)> {
    let path = |module| {
        let mut path: Vec<_> = tree.ancestors(module).collect();
        path.reverse();
        path
    };
    let (from, to) = (path(from), path(to));
    let shared = from
        .iter()
        .zip(&to)
        .take_while(|(from, to)| from == to)
        .count();
    Some((from[shared - 1], *from.get(shared)?, *to.get(shared)?))
}

/// The imports between the modules of one folder, by their names.
#[derive(Default)]
struct Graph(BTreeMap<String, BTreeMap<String, Vec<Import>>>);

impl Graph {
    fn add(&mut self, tree: &ModuleTree, from: ModuleId, to: ModuleId, import: Import) {
        let (from, to) = (&tree.modules[from].name, &tree.modules[to].name);
        // A module that has several definitions, for several systems, is one.
        if from != to {
            self.0
                .entry(from.clone())
                .or_default()
                .entry(to.clone())
                .or_default()
                .push(import);
        }
    }

    fn knots(&self, parent: &str, siblings: usize) -> Vec<Knot> {
        let mut knots = Vec::new();
        let mut placed = BTreeSet::new();
        for module in self.0.keys() {
            let modules: BTreeSet<&str> = self
                .reachable(module)
                .into_iter()
                .filter(|other| *other == module || self.reachable(other).contains(module.as_str()))
                .collect();
            if modules.len() > 1 && placed.insert(modules.clone()) {
                knots.push(Knot {
                    parent: parent.to_owned(),
                    modules: modules.iter().map(|&module| module.to_owned()).collect(),
                    siblings,
                    cycles: self.cycles(&modules),
                });
            }
        }
        knots
    }

    fn next(&self, module: &str) -> impl Iterator<Item = &str> {
        self.0
            .get(module)
            .into_iter()
            .flatten()
            .map(|(next, _)| next.as_str())
    }

    /// The modules that are reached from one, without itself unless it is on a cycle.
    fn reachable(&self, module: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut waiting: Vec<&str> = self.next(module).collect();
        while let Some(module) = waiting.pop() {
            if reached.insert(module) {
                waiting.extend(self.next(module));
            }
        }
        reached
    }

    /// The shortest cycle through each import within `modules`, each once, shortest first.
    fn cycles(&self, modules: &BTreeSet<&str>) -> Vec<Cycle> {
        let mut ways = BTreeSet::new();
        for &from in modules {
            for to in self.next(from).filter(|to| modules.contains(to)) {
                let mut way = self.shortest(to, from);
                let first = (0..way.len()).min_by_key(|&at| way[at]).unwrap_or(0);
                way.rotate_left(first);
                ways.insert((way.len(), way));
            }
        }
        let step = |way: &[&str], at: usize| {
            let next = way[(at + 1) % way.len()];
            (way[at].to_owned(), self.0[way[at]][next].clone())
        };
        ways.iter()
            .map(|(length, way)| Cycle {
                steps: (0..*length).map(|at| step(way, at)).collect(),
            })
            .collect()
    }

    /// The modules on the shortest way between two in one knot, both included.
    fn shortest<'g>(&'g self, from: &'g str, to: &'g str) -> Vec<&'g str> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut waiting = VecDeque::from([from]);
        while let Some(module) = waiting.pop_front() {
            if module == to {
                break;
            }
            for next in self.next(module) {
                if next != from && !before.contains_key(next) {
                    before.insert(next, module);
                    waiting.push_back(next);
                }
            }
        }
        let mut way: Vec<_> =
            std::iter::successors(Some(to), |module| before.get(module).copied()).collect();
        way.reverse();
        way
    }
}

impl Knot {
    /// The imports between modules of the knot that are on its cycles, fewest first: the module that
    /// imports, the one that is imported, and how many imports there are.
    pub fn edges(&self) -> Vec<(usize, &str, &str)> {
        let mut edges = BTreeSet::new();
        for Cycle { steps } in &self.cycles {
            for (at, (from, imports)) in steps.iter().enumerate() {
                let (to, _) = &steps[(at + 1) % steps.len()];
                edges.insert((imports.len(), from.as_str(), to.as_str()));
            }
        }
        edges.into_iter().collect()
    }
}

impl fmt::Display for Knot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            parent,
            modules,
            siblings,
            cycles,
        } = self;
        writeln!(
            f,
            "{} of {siblings} modules in `{parent}` are in cycles: {}",
            modules.len(),
            modules.join(", ")
        )?;
        cycles.iter().try_for_each(|cycle| write!(f, "{cycle}"))
    }
}

/// The imports of a step that are named; the others are counted.
const NAMED: usize = 4;

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .steps
            .iter()
            .map(|(module, _)| module.as_str())
            .collect();
        writeln!(f, "  {} -> {}", names.join(" -> "), names[0])?;
        for (at, (from, imports)) in self.steps.iter().enumerate() {
            writeln!(f, "    {from} -> {}", names[(at + 1) % names.len()])?;
            for Import {
                file,
                line,
                path,
                to,
                ..
            } in imports.iter().take(NAMED)
            {
                writeln!(f, "      {}:{line}: {path} (in {to})", file.display())?;
            }
            if imports.len() > NAMED {
                writeln!(f, "      and {} more", imports.len() - NAMED)?;
            }
        }
        Ok(())
    }
}
