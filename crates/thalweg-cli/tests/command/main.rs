//! The command, seen from outside.

mod bench;
mod doctor;
#[cfg(target_os = "linux")]
mod engines;
#[cfg(target_os = "linux")]
mod gpu;
mod inspect;
#[cfg(target_os = "linux")]
mod libraries;
#[cfg(target_os = "linux")]
mod programs;
mod run;
#[cfg(target_os = "linux")]
mod traces;
mod verify;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of running the command.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// Runs the command in the repository's root.
fn thalweg<S: AsRef<OsStr>>(arguments: &[S]) -> Ran {
    thalweg_in(&[], arguments)
}

/// Runs the command with additions to its environment.
fn thalweg_in<S: AsRef<OsStr>>(environment: &[(&str, &OsStr)], arguments: &[S]) -> Ran {
    let output = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(root())
        .output()
        .unwrap();
    let ran = Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    };
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
    ran
}

impl Ran {
    /// The output of a run that ended well.
    fn ok(self) -> String {
        assert_eq!(self.code, 0, "{}{}", self.out, self.err);
        assert_eq!(self.err, "");
        self.out
    }

    /// The output of a run that ended well, as JSON.
    fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok()).unwrap()
    }

    /// The message of a run that failed.
    fn refused(self) -> String {
        assert_eq!(self.code, 2, "{}{}", self.out, self.err);
        assert!(self.err.starts_with("error: "), "{}", self.err);
        self.err
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of a fixture in a folder of its own, to be changed.
fn copy_of(fixture: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join(fixture);
    std::fs::create_dir(&target).unwrap();
    for file in std::fs::read_dir(root().join("fixtures").join(fixture)).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), target.join(file.file_name())).unwrap();
    }
    folder
}

/// A copy of the fixture `add` whose operator no build has.
fn copy_with_unknown_operator() -> tempfile::TempDir {
    let folder = copy_of("add");
    let program = folder.path().join("add/model.pte");
    let mut bytes = std::fs::read(&program).unwrap();
    let at = bytes.windows(9).position(|w| w == b"aten::add").unwrap();
    bytes[at..][..9].copy_from_slice(b"aten::xyz");
    std::fs::write(&program, bytes).unwrap();
    folder
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn without_a_command_the_commands_are_listed() {
    let ran = thalweg::<&str>(&[]);
    assert_eq!(ran.code, 2);
    for command in ["run", "inspect", "verify", "bench", "doctor"] {
        assert!(ran.err.contains(&format!("\n  {command}")), "{}", ran.err);
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    use std::process::Stdio;
    let mut child = Command::new(env!("CARGO_BIN_EXE_thalweg"))
        .args(["inspect", "--json", "fixtures/cond/model.pte"])
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}
