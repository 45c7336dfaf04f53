//! Failures of cases that no fixture has.

use std::path::Path;

use thalweg::Runtime;

use super::panics::PanicNotes;
use super::report::Outcome;
use super::{Arguments, check, check_folder};
use crate::options::{Graphs, Profiles, Threads};

fn arguments(repeat: Option<usize>) -> Arguments {
    Arguments {
        paths: Vec::new(),
        filter: String::new(),
        repeat,
        at_once: 1,
        graph: Graphs::Auto,
        own_stream: false,
        profiles: Profiles::default(),
        threads: Threads::default(),
        json: false,
    }
}

#[test]
fn a_panic_is_the_failure_of_its_case_and_says_where_it_was() {
    let add = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) \
               -> Tensor(a!)";
    let runtime = Runtime::builder()
        .kernel(add, |_| panic!("no sum today"))
        .unwrap()
        .build();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/add");
    let panics = PanicNotes::keep();
    let outcome = check_folder(&runtime, &folder, &arguments(None), &panics);
    drop(panics);
    let Outcome::Failed(failures) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(failures[0].starts_with("panicked at "), "{failures:?}");
    assert!(failures[0].contains("verify/tests.rs"), "{failures:?}");
    assert!(failures[0].ends_with(": no sum today"), "{failures:?}");
}

#[test]
fn an_answer_that_is_right_each_time_has_to_be_the_same_each_time() {
    let add = "aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) \
               -> Tensor(a!)";
    let made = std::sync::atomic::AtomicUsize::new(0);
    // A sum that is another one each time, and always within the tolerance.
    let runtime: Runtime = Runtime::builder()
        .kernel(add, move |call| {
            let sum = call.tensor(0)?.item::<f32>()? + call.tensor(1)?.item::<f32>()?;
            let time = made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let mut out = call.output(3, &[1])?;
            out.data_mut::<f32>()?[0] = sum + time as f32 * 1e-4;
            Ok(())
        })
        .unwrap()
        .build();
    let folder = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/add");
    for file in std::fs::read_dir(fixture).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let record = folder.path().join("case.json");
    let text = std::fs::read_to_string(&record).unwrap();
    let loose = text.replace("\"tolerance\": 0,", "\"tolerance\": 0.1,");
    assert_ne!(text, loose);
    std::fs::write(record, loose).unwrap();
    let check = |repeat| check(&runtime, folder.path(), &arguments(repeat)).unwrap();
    for repeat in [None, Some(1)] {
        let outcome = check(repeat);
        assert!(matches!(outcome, Outcome::Ok { .. }), "{outcome:?}");
    }
    let Outcome::Failed(failures) = check(Some(3)) else {
        panic!("it passes");
    };
    // The second time is the last one.
    assert_eq!(failures.len(), 2, "{failures:?}");
    let text = "(second time), output 0 is not the same each time: 1 of 1 element changed";
    assert!(failures[0].contains(text), "{failures:?}");
}
