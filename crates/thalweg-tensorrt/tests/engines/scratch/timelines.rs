//! What traces say of shared scratch.

use super::*;
use crate::read::Read;
use thalweg_runtime::Trace;

#[test]
fn shared_scratch_that_grows_or_is_waited_for_says_so() {
    on_every_machine(20, |driver| {
        let links = [doubles(1024), doubles(8192)];
        let mut method = Machine::new(driver).method(&links, &shared());
        let trace = Trace::new();
        let x = numbers(1, &[8, 8]);
        let options = RunOptions::new().trace(&trace);
        let outputs = run_with(&mut method, &[&x], &options).unwrap();
        assert_eq!(outputs[0].1, doubled(&x, 2));
        let read = Read::of(&trace);
        let grows = read.all("shared scratch grows");
        assert_eq!(grows.len(), 1, "{}", read.text);
        assert!(grows[0]["args"]["from"].as_u64().unwrap() >= 1024);
        assert!(grows[0]["args"]["to"].as_u64().unwrap() >= 8192);
        let held = read.all("shared scratch, cuda:0");
        let held: Vec<_> = held
            .iter()
            .map(|event| event["args"]["bytes"].clone())
            .collect();
        assert_eq!(held, [1024, 8192]);
    });
}
