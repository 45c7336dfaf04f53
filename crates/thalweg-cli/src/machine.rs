//! The machine: system, processor, memory.

use std::fs;

use serde::Serialize;

/// The machine that a command runs on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) os: &'static str,
    pub(crate) arch: &'static str,
    /// The name of the processor, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu: Option<String>,
    /// The number of threads that this process can run at once.
    pub(crate) cores: usize,
    /// The vector extensions of the processor that matter for kernels.
    pub(crate) features: Vec<&'static str>,
    /// The bytes of memory, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_bytes: Option<u64>,
    /// The bytes of memory that are available, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) available_bytes: Option<u64>,
}

impl Machine {
    /// This machine.
    pub(crate) fn detect() -> Self {
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cpu: cpu_name(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            features: features(),
            memory_bytes: kilobytes(&memory, "MemTotal:"),
            available_bytes: kilobytes(&memory, "MemAvailable:"),
        }
    }

    /// The name of the processor, or its architecture.
    pub(crate) fn cpu_or_arch(&self) -> &str {
        self.cpu.as_deref().unwrap_or(self.arch)
    }
}

/// The peak memory of this process in bytes, if known.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    kilobytes(&status, "VmHWM:")
}

fn cpu_name() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    // Arm processors have no name there, but boards do.
    ["model name", "Model", "Hardware"]
        .iter()
        .find_map(|field| {
            let line = info.lines().find(|line| line.starts_with(field))?;
            let name = line.split_once(':')?.1.trim();
            (!name.is_empty()).then(|| name.to_string())
        })
}

/// A field in kB of a table in `/proc`, in bytes.
fn kilobytes(table: &str, field: &str) -> Option<u64> {
    let line = table.lines().find(|line| line.starts_with(field))?;
    let count: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    count.checked_mul(1024)
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt),*) => {
            [$(($name, std::arch::is_x86_feature_detected!($name))),*]
        };
    }
    named(&detected![
        "sse4.2",
        "avx",
        "f16c",
        "fma",
        "avx2",
        "avxvnni",
        "avx512f",
        "avx512bw",
        "avx512vl",
        "avx512vnni",
        "avx512bf16",
        "avx512fp16"
    ])
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt),*) => {
            [$(($name, std::arch::is_aarch64_feature_detected!($name))),*]
        };
    }
    named(&detected![
        "neon", "fp16", "dotprod", "i8mm", "bf16", "sve", "sve2"
    ])
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn named(detected: &[(&'static str, bool)]) -> Vec<&'static str> {
    let present = detected.iter().filter(|(_, present)| *present);
    present.map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_system_count_in_kb() {
        let table = "MemTotal:       16303236 kB\nMemFree: 1 kB\n";
        assert_eq!(kilobytes(table, "MemTotal:"), Some(16_303_236 * 1024));
        assert_eq!(kilobytes(table, "Nothing:"), None);
        assert_eq!(kilobytes("MemTotal: x kB", "MemTotal:"), None);
    }
}
