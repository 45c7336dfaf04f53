//! Import cycles in small crates.

use thalweg_tidy::{Knot, Sources, cycles};

fn knots(files: &[(&str, &str)]) -> Vec<Knot> {
    let sources: Sources = files.iter().copied().collect();
    cycles(&sources).unwrap()
}

/// The cycles of a crate, each as its modules in order.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let knots = knots(files);
    let cycles = knots
        .iter()
        .flat_map(|knot| knot.cycles.iter().map(move |cycle| (knot, cycle)));
    cycles
        .map(|(knot, cycle)| {
            let modules: Vec<_> = cycle
                .steps
                .iter()
                .map(|(module, _)| module.as_str())
                .collect();
            format!("{}: {}", knot.parent, modules.join(" "))
        })
        .collect()
}

#[test]
fn modules_that_import_each_other_are_a_cycle() {
    let lib = ("src/lib.rs", "mod a; mod b; mod c;");
    let a = ("src/a.rs", "use crate::b::B;\npub struct A(B);");
    let b = (
        "src/b.rs",
        "pub struct B;\nfn made() -> super::a::A { todo!() }",
    );
    let c = ("src/c.rs", "use crate::a::A; use crate::b::B;");
    assert_eq!(found(&[lib, a, b, c]), ["crate: a b"]);
    let knots = knots(&[lib, a, b, c]);
    assert_eq!(knots[0].modules, ["a", "b"]);
    assert_eq!(knots[0].siblings, 3);
    let shown = knots[0].to_string();
    assert!(shown.contains("src/a.rs:1: crate::b::B (in b)"), "{shown}");
    assert!(shown.contains("src/b.rs:2: super::a::A (in a)"), "{shown}");
}

#[test]
fn imports_in_one_direction_are_no_cycle() {
    let lib = (
        "src/lib.rs",
        "mod a; mod b; mod c; pub use a::A; fn f() { b::f(); c::f() }",
    );
    let a = (
        "src/a.rs",
        "pub struct A; use std::fmt; fn f() { other::b::f() }",
    );
    let b = ("src/b.rs", "use crate::a::A; pub fn f() {}");
    let c = ("src/c.rs", "use crate::{a::A, b}; pub fn f() { b::f() }");
    assert!(found(&[lib, a, b, c]).is_empty());
}

#[test]
fn shorter_cycles_come_first() {
    let lib = ("src/lib.rs", "mod a; mod b; mod c; mod d;");
    let a = ("src/a.rs", "use crate::b::B; pub struct A;");
    let b = ("src/b.rs", "use crate::c::C; pub struct B;");
    let c = (
        "src/c.rs",
        "use crate::a::A; use crate::d::D; pub struct C;",
    );
    let d = ("src/d.rs", "use crate::c::C; pub struct D;");
    assert_eq!(found(&[lib, a, b, c, d]), ["crate: c d", "crate: a b c"]);
    let knots = knots(&[lib, a, b, c, d]);
    assert_eq!(knots[0].edges()[0], (1, "a", "b"));
}

#[test]
fn a_name_is_followed_through_what_the_root_exports() {
    let a = ("src/a.rs", "use crate::B; pub struct A;");
    let b = ("src/b.rs", "use crate::A; pub struct B;");
    for root in [
        "pub use a::A; pub use b::B;",
        "pub use a::*; pub use b::*;",
        "pub use crate::{a::*, b::B as B};",
    ] {
        let lib = format!("mod a; mod b; {root}");
        assert_eq!(
            found(&[("src/lib.rs", &lib), a, b]),
            ["crate: a b"],
            "{root}"
        );
    }
}

#[test]
fn a_name_is_followed_through_several_modules_and_new_names() {
    let lib = ("src/lib.rs", "mod a; mod b; mod face; use face::Deep;");
    let face = ("src/face.rs", "pub use crate::b::*;");
    let a = ("src/a.rs", "use crate::Deep; pub struct A;");
    let b = (
        "src/b/mod.rs",
        "mod inner; pub use inner::B as Deep; use crate::a;",
    );
    let inner = ("src/b/inner.rs", "pub struct B;");
    assert_eq!(found(&[lib, face, a, b, inner]), ["crate: a b"]);
}

#[test]
fn what_another_module_exports_again_is_not_imported_of_that_module() {
    // `face` is what both look at, and `b` alone is what `a` needs.
    let lib = ("src/lib.rs", "mod a; mod b; mod face;");
    let face = ("src/face.rs", "pub use crate::a::A; pub use crate::b::B;");
    let a = ("src/a.rs", "use crate::face::B; pub struct A;");
    let b = ("src/b.rs", "pub struct B;");
    assert!(found(&[lib, face, a, b]).is_empty());
}

#[test]
fn names_of_globs_count_where_they_are_used() {
    let lib = ("src/lib.rs", "mod a; mod b; use a::A; use b::{f, B};");
    let a = ("src/a.rs", "use super::*; pub struct A; fn g() { f() }");
    let unused = ("src/a.rs", "use super::*; pub struct A;");
    let b = ("src/b.rs", "use crate::a::A; pub fn f() {} pub struct B;");
    assert_eq!(found(&[lib, a, b]), ["crate: a b"]);
    assert!(found(&[lib, unused, b]).is_empty());
    let glob = ("src/a.rs", "use crate::b::*; pub struct A;");
    assert_eq!(found(&[lib, glob, b]), ["crate: a b"]);
}

#[test]
fn a_variable_is_not_the_function_of_its_name() {
    let lib = ("src/lib.rs", "mod a; mod b; use b::order;");
    let a = (
        "src/a.rs",
        "use super::*; pub struct A; fn g(order: u8) -> u8 { order } fn h() { let order = 1; print!(\"{}\", order) }",
    );
    let b = ("src/b.rs", "use crate::a::A; pub fn order() {}");
    assert!(found(&[lib, a, b]).is_empty());
    let called = (
        "src/a.rs",
        "use super::*; pub struct A; fn h() { print!(\"{}\", order()) }",
    );
    assert_eq!(found(&[lib, called, b]), ["crate: a b"]);
}

#[test]
fn modules_of_a_folder_import_each_other_through_their_parent() {
    let lib = ("src/lib.rs", "mod a;");
    let a = ("src/a/mod.rs", "mod x; mod y; pub use x::X; use y::Y;");
    let x = ("src/a/x.rs", "use super::Y; pub struct X;");
    let y = ("src/a/y.rs", "use crate::a::X; pub struct Y;");
    assert_eq!(
        found(&[lib, a, x, y]),
        ["crate::a: x y"].map(|cycle| cycle.replace("crate::", ""))
    );
}

#[test]
fn a_parent_and_its_children_may_import_each_other() {
    let lib = ("src/lib.rs", "mod a; pub struct Root; use a::A;");
    let a = (
        "src/a.rs",
        "mod x; use x::X; pub struct A(X); pub struct Helper; use crate::Root;",
    );
    let x = (
        "src/a/x.rs",
        "use super::{A, Helper}; use crate::Root; pub struct X;",
    );
    assert!(found(&[lib, a, x]).is_empty());
}

#[test]
fn what_a_child_imports_counts_for_the_module_that_it_is_in() {
    let lib = ("src/lib.rs", "mod a; mod b;");
    let a = ("src/a/mod.rs", "mod x; pub struct A;");
    let x = ("src/a/x.rs", "use super::super::b::B;");
    let b = ("src/b/mod.rs", "pub struct B; mod y { use crate::a::A; }");
    assert_eq!(found(&[lib, a, x, b]), ["crate: a b"]);
}

#[test]
fn paths_in_types_expressions_patterns_and_macros_count() {
    let lib = ("src/lib.rs", "mod a; mod b;");
    let b = (
        "src/b.rs",
        "use crate::a::A; pub struct B; pub const C: u8 = 1; pub trait T {} pub fn f() {}",
    );
    for used in [
        "fn f(_: crate::b::B) {}",
        "fn f() { super::b::f() }",
        "fn f() { match 1 { crate::b::C => {} _ => {} } }",
        "fn f() { assert_eq!(1, crate::b::C); }",
        "fn f() { local!(x => crate::b::f()); }",
        "impl<X: crate::b::T> A<X> {}",
        "fn f() { <u8 as crate::b::T>::g() }",
        "fn f() { use crate::b::f as g; g() }",
        "fn f() { use crate::b; b::f() }",
        "macro_rules! m { () => { $crate::b::f() } }",
    ] {
        let a = format!("pub struct A; {used}");
        assert_eq!(found(&[lib, ("src/a.rs", &a), b]), ["crate: a b"], "{used}");
    }
}

#[test]
fn macros_are_imported_of_the_module_that_defines_them() {
    let a = ("src/a.rs", "pub struct A; fn f() { bail!(\"no\") }");
    let by_path = ("src/a.rs", "pub struct A; fn f() { crate::bail!(\"no\") }");
    let imported = ("src/a.rs", "use crate::b::bail; pub struct A;");
    let exported = (
        "src/b.rs",
        "use crate::a::A; #[macro_export] macro_rules! bail { () => {} }",
    );
    let named = (
        "src/b.rs",
        "use crate::a::A; macro_rules! bail { () => {} } pub(crate) use bail;",
    );
    let lib = ("src/lib.rs", "#[macro_use] mod b; mod a;");
    assert_eq!(found(&[lib, a, exported]), ["crate: a b"]);
    assert_eq!(found(&[lib, by_path, exported]), ["crate: a b"]);
    assert_eq!(found(&[lib, imported, named]), ["crate: a b"]);
    // A macro of the root, and one of another crate.
    let root = ("src/lib.rs", "macro_rules! bail { () => {} } mod b; mod a;");
    assert!(found(&[root, a, ("src/b.rs", "use crate::a::A;")]).is_empty());
    assert!(
        found(&[
            ("src/lib.rs", "mod b; mod a;"),
            a,
            ("src/b.rs", "use crate::a::A;")
        ])
        .is_empty()
    );
}

#[test]
fn what_a_macro_has_made_is_in_the_module_that_the_path_says() {
    let lib = ("src/lib.rs", "mod a; mod b; pub use b::Made;");
    let a = ("src/a.rs", "use crate::Made; pub struct A;");
    let b = ("src/b.rs", "use crate::a::A; handle!(Made);");
    assert_eq!(found(&[lib, a, b]), ["crate: a b"]);
}

#[test]
fn tests_may_import_anything() {
    let lib = ("src/lib.rs", "mod a; mod b; #[cfg(test)] mod testing;");
    let testing = ("src/testing.rs", "use crate::a::A;");
    let a = (
        "src/a.rs",
        "pub struct A; #[cfg(test)] mod tests { use crate::b::B; } #[cfg(all(test, unix))] use crate::b::B; \
         impl A { #[cfg(test)] fn f(_: crate::b::B) {} }",
    );
    let b = ("src/b.rs", "use crate::a::A; pub struct B;");
    assert!(found(&[lib, testing, a, b]).is_empty());
    let feature = (
        "src/a.rs",
        "pub struct A; #[cfg(any(test, feature = \"x\"))] use crate::b::B;",
    );
    assert_eq!(found(&[lib, testing, feature, b]), ["crate: a b"]);
}

#[test]
fn programs_are_checked_too() {
    let main = ("src/main.rs", "mod a; mod b; fn main() {}");
    let a = ("src/a.rs", "use crate::b::B; pub struct A;");
    let b = ("src/b.rs", "use crate::a::A; pub struct B;");
    assert_eq!(found(&[main, a, b]), ["crate: a b"]);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let wrong: Sources = [("src/lib.rs", "mod a;\nfn 3() {}")].into_iter().collect();
    assert!(
        cycles(&wrong)
            .unwrap_err()
            .to_string()
            .starts_with("src/lib.rs:2: ")
    );
    let missing: Sources = [("src/lib.rs", "\nmod a;")].into_iter().collect();
    assert_eq!(
        cycles(&missing).unwrap_err().to_string(),
        "src/lib.rs:2: module `a` has no file"
    );
}
