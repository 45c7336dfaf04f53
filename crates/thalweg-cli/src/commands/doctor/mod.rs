//! `thalweg doctor`: describes this machine and this build.

mod gpu;

use std::io::Write;

use serde::Serialize;
use thalweg::Runtime;

use self::gpu::{Attempt, Cuda, DeviceState, TensorRt};
use super::verdict::Verdict;
use crate::failure::{Result, with_causes};
use crate::machine::Machine;
use crate::text;

/// The form of the report.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Prints the report as JSON
    #[arg(long)]
    json: bool,
}

/// The report: all that was found.
#[derive(Debug, Serialize)]
struct Report {
    version: &'static str,
    machine: Machine,
    /// The default number of threads for CPU operators.
    threads: usize,
    operators: usize,
    cuda: Cuda,
    tensorrt: TensorRt,
    backends: Vec<Backend>,
}

/// A backend, with the reason if it does not work.
#[derive(Debug, Serialize)]
struct Backend {
    name: String,
    works: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

/// Backends that programs are known to name, each with the reason for a build that lacks it.
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
    let report = detect();
    if arguments.json {
        serde_json::to_writer_pretty(&mut *out, &report).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        print(&report, out)?;
    }
    Ok(Verdict::Right)
}

fn detect() -> Report {
    // Before anything else opens libraries, so that the places are those of any program.
    let (cuda, tensorrt) = gpu::search();
    let runtime = Runtime::detect();
    let mut backends: Vec<Backend> = runtime
        .backends()
        .map(|name| {
            let works = runtime.backend(name).map(|backend| backend.available());
            let why_not = works.and_then(|works| works.err().map(|error| with_causes(&error)));
            Backend {
                name: name.to_string(),
                works: why_not.is_none(),
                why_not,
            }
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
        machine: Machine::detect(),
        threads: runtime.threads(),
        operators: runtime.kernels().len(),
        cuda,
        tensorrt,
        backends,
    }
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
    let rows = [
        ("thalweg", report.version.to_string()),
        ("system", format!("{} on {}", machine.os, machine.arch)),
        ("processor", machine.cpu_or_arch().to_string()),
        ("features", features),
        ("threads", report.threads.to_string()),
        ("memory", memory),
        ("operators", format!("{} on the CPU", report.operators)),
    ];
    let rows = rows.map(|(name, value)| vec![name.to_string(), value]);
    out.write_all(text::columns("", rows).as_bytes())?;
    print_cuda(&report.cuda, out)?;
    print_tensorrt(&report.tensorrt, out)?;
    writeln!(out, "backends")?;
    for backend in &report.backends {
        match &backend.why_not {
            None => writeln!(out, "  {}: works", backend.name)?,
            Some(why) => writeln!(out, "  {}: does not work: {why}", backend.name)?,
        }
    }
    Ok(())
}

fn print_cuda(cuda: &Cuda, out: &mut dyn Write) -> Result<()> {
    match &cuda.version {
        Some(version) => writeln!(out, "CUDA driver: for CUDA {version}")?,
        None => writeln!(out, "CUDA driver: none that can be used")?,
    }
    print_search(&cuda.search, out)?;
    match &cuda.kernel_module {
        Some(version) => writeln!(out, "  kernel module: {version}")?,
        None => writeln!(
            out,
            "  kernel module: not loaded: there is no /proc/driver/nvidia/version"
        )?,
    }
    for gpu in &cuda.gpus {
        writeln!(out, "  the kernel knows: {gpu}")?;
    }
    for device in &cuda.devices {
        let state = match &device.state {
            DeviceState::Works {
                name,
                compute_capability,
                multiprocessors,
                memory_bytes,
                free_bytes,
            } => {
                let free = free_bytes.map_or("unknown".into(), |free| text::bytes(free as u64));
                format!(
                    "{name}, compute capability {compute_capability}, {multiprocessors} \
                     multiprocessors, {}, {free} free",
                    text::bytes(*memory_bytes as u64),
                )
            }
            DeviceState::Broken { error } => format!("does not work: {error}"),
        };
        writeln!(out, "  {}: {state}", device.device)?;
    }
    if let Some(error) = &cuda.error {
        writeln!(out, "  no devices: {error}")?;
    }
    print_advice(cuda.advice, out)
}

fn print_tensorrt(tensorrt: &TensorRt, out: &mut dyn Write) -> Result<()> {
    match (&tensorrt.version, &tensorrt.flavor) {
        (Some(version), Some(flavor)) => writeln!(out, "TensorRT: {flavor} {version}")?,
        _ => writeln!(out, "TensorRT: none that can be used")?,
    }
    print_search(&tensorrt.search, out)?;
    if let Some(device) = &tensorrt.works_on {
        writeln!(out, "  works on {device}")?;
    }
    if let Some(why_not) = &tensorrt.why_not {
        writeln!(out, "  not known to work: {why_not}")?;
    }
    print_advice(tensorrt.advice, out)
}

fn print_search(search: &[Attempt], out: &mut dyn Write) -> Result<()> {
    for attempt in search {
        let found = if attempt.found { "found " } else { "failed" };
        writeln!(out, "  {found} {}: {}", attempt.place, attempt.outcome)?;
    }
    Ok(())
}

fn print_advice(advice: Option<&str>, out: &mut dyn Write) -> Result<()> {
    match advice {
        Some(advice) => Ok(writeln!(out, "  try: {advice}")?),
        None => Ok(()),
    }
}
