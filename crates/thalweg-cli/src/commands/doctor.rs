//! `thalweg doctor`: says what this machine and this build have.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::Verdict;
use crate::failure::Result;
use crate::libraries;
use crate::machine::Machine;
use crate::text;

/// How to say it.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Prints everything as JSON
    #[arg(long)]
    json: bool,
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    machine: Machine,
    /// How many threads operators use if nothing else is said.
    threads: usize,
    operators: usize,
    cuda: Cuda,
    tensorrt: Library,
    backends: Vec<Backend>,
}

/// The driver of NVIDIA GPUs.
#[derive(Debug, Serialize)]
struct Cuda {
    driver: Library,
    /// The version of the kernel's part of the driver, if it is loaded.
    kernel_module: Option<String>,
    gpus: Vec<String>,
}

/// A library of the system.
#[derive(Debug, Serialize)]
struct Library {
    found: Option<PathBuf>,
    version: Option<String>,
    /// What was looked for.
    names: Vec<&'static str>,
}

/// A backend, and why it does not work.
#[derive(Debug, Serialize)]
struct Backend {
    name: String,
    works: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

/// Backends that programs are known to name, with what is said of them where they are missing.
const KNOWN: [(&str, &str); 3] = [
    ("TensorRTBackend", "this build has no TensorRTBackend"),
    ("CudaBackend", "this build has no CudaBackend"),
    (
        "XnnpackBackend",
        "this build has no XnnpackBackend, and none is planned: export the program without it",
    ),
];

/// Runs the command.
pub(crate) fn doctor(arguments: &Arguments, out: &mut dyn Write) -> Result<Verdict> {
    let report = look();
    if arguments.json {
        serde_json::to_writer_pretty(&mut *out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&report, out)?;
    }
    Ok(Verdict::Right)
}

fn look() -> Report {
    let runtime = super::runtime(None);
    let mut backends: Vec<Backend> = runtime
        .backends()
        .map(|name| Backend {
            name: name.to_string(),
            works: true,
            why_not: None,
        })
        .collect();
    for (name, why_not) in KNOWN {
        if runtime.backend(name).is_none() {
            backends.push(Backend {
                name: name.to_string(),
                works: false,
                why_not: Some(why_not.to_string()),
            });
        }
    }
    Report {
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::look(),
        threads: runtime.threads(),
        operators: runtime.kernels().len(),
        cuda: Cuda {
            driver: Library::find(&["libcuda.so.1"]),
            kernel_module: kernel_module(),
            gpus: gpus(),
        },
        tensorrt: Library::find(&["libnvinfer.so.11", "libnvinfer.so.10"]),
        backends,
    }
}

impl Library {
    fn find(names: &[&'static str]) -> Self {
        let found = names.iter().find_map(|name| libraries::find(name));
        Self {
            version: found.as_deref().and_then(libraries::version),
            found,
            names: names.to_vec(),
        }
    }

    fn in_words(&self) -> String {
        match (&self.found, &self.version) {
            (Some(path), Some(version)) => format!("{} (version {version})", path.display()),
            (Some(path), None) => path.display().to_string(),
            (None, _) => format!(
                "not found: no {} in LD_LIBRARY_PATH, the loader's cache or the usual folders",
                self.names.join(" or ")
            ),
        }
    }
}

fn kernel_module() -> Option<String> {
    let text = fs::read_to_string("/proc/driver/nvidia/version").ok()?;
    let line = text.lines().next()?;
    Some(line.trim_start_matches("NVRM version:").trim().to_string())
}

fn gpus() -> Vec<String> {
    let folders = fs::read_dir("/proc/driver/nvidia/gpus");
    let mut gpus: Vec<String> = folders
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|folder| {
            let text = fs::read_to_string(folder.path().join("information")).ok()?;
            let line = text.lines().find(|line| line.starts_with("Model:"))?;
            Some(line.trim_start_matches("Model:").trim().to_string())
        })
        .collect();
    gpus.sort();
    gpus
}

fn print(report: &Report, out: &mut dyn Write) -> Result<()> {
    let machine = &report.machine;
    let memory = match (machine.memory_bytes, machine.available_bytes) {
        (Some(all), Some(free)) => format!("{}, {} available", text::bytes(all), text::bytes(free)),
        (Some(all), None) => text::bytes(all),
        _ => "unknown".into(),
    };
    let features = if machine.features.is_empty() {
        "none that operators use".into()
    } else {
        machine.features.join(" ")
    };
    let cuda = &report.cuda;
    let kernel_module = match &cuda.kernel_module {
        Some(version) => version.clone(),
        None => "not loaded: there is no /proc/driver/nvidia/version".into(),
    };
    let gpus = if cuda.gpus.is_empty() {
        "none found".into()
    } else {
        cuda.gpus.join(", ")
    };
    let rows = [
        ("thalweg", report.version.to_string()),
        ("system", format!("{} on {}", machine.os, machine.arch)),
        ("processor", machine.cpu_or_arch().to_string()),
        ("features", features),
        ("threads", report.threads.to_string()),
        ("memory", memory),
        ("CUDA driver", cuda.driver.in_words()),
        ("kernel module", kernel_module),
        ("GPUs", gpus),
        ("TensorRT", report.tensorrt.in_words()),
        ("operators", format!("{} on the CPU", report.operators)),
    ];
    let rows = rows.map(|(name, value)| vec![name.to_string(), value]);
    out.write_all(text::columns("", rows).as_bytes())?;
    writeln!(out, "backends")?;
    let rows = report.backends.iter().map(|backend| {
        let state = match &backend.why_not {
            None => "works".to_string(),
            Some(why) => format!("does not work: {why}"),
        };
        vec![backend.name.clone(), state]
    });
    out.write_all(text::columns("  ", rows).as_bytes())?;
    Ok(())
}
