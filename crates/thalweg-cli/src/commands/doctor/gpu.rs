//! The CUDA driver, its devices, and TensorRT: where each was searched, and what was found.

use std::fs;
use std::path::PathBuf;

use serde::Serialize;

/// The CUDA driver and its devices.
#[derive(Debug, Default, Serialize)]
pub(super) struct Cuda {
    /// Every location that was searched, in order.
    pub(super) search: Vec<Attempt>,
    /// The version of CUDA that the driver supports.
    pub(super) version: Option<String>,
    pub(super) devices: Vec<Device>,
    /// The reason that there are no devices, if there is a driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The version of the kernel module, if it is loaded.
    pub(super) kernel_module: Option<String>,
    /// The GPUs that the kernel knows, even if the driver cannot be used.
    pub(super) gpus: Vec<String>,
    /// Advice on how to install what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<&'static str>,
}

/// A device of the driver.
#[derive(Debug, Serialize)]
pub(super) struct Device {
    pub(super) device: String,
    #[serde(flatten)]
    pub(super) state: DeviceState,
}

/// The properties of a device, or the reason that it cannot be used.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum DeviceState {
    Works {
        name: String,
        compute_capability: String,
        multiprocessors: i32,
        memory_bytes: usize,
        /// Absent if the driver does not report it.
        #[serde(skip_serializing_if = "Option::is_none")]
        free_bytes: Option<usize>,
    },
    Broken {
        error: String,
    },
}

/// The TensorRT library.
#[derive(Debug, Default, Serialize)]
pub(super) struct TensorRt {
    /// Every location that was searched, in order.
    pub(super) search: Vec<Attempt>,
    pub(super) version: Option<String>,
    /// The flavor: TensorRT, or TensorRT for RTX.
    pub(super) flavor: Option<String>,
    /// The file name that its library was opened by.
    pub(super) file: Option<PathBuf>,
    /// The device on which its runtime object was created, which shows that it works.
    pub(super) works_on: Option<String>,
    /// The reason that it does not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why_not: Option<String>,
    /// Advice on how to install what is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) advice: Option<&'static str>,
}

/// A location that was searched.
#[derive(Debug, Serialize)]
pub(super) struct Attempt {
    pub(super) place: String,
    pub(super) found: bool,
    /// What was found, or the reason that nothing was.
    pub(super) outcome: String,
}

/// Searches for both. This opens libraries and creates the devices' contexts, which takes a while.
pub(super) fn search() -> (Cuda, TensorRt) {
    let (mut cuda, tensorrt) = libraries::search();
    cuda.kernel_module = kernel_module();
    cuda.gpus = gpus();
    (cuda, tensorrt)
}

#[cfg(target_os = "linux")]
mod libraries {
    use thalweg::cuda::{self, Driver};
    use thalweg::tensorrt::{self, HOW_TO_GET, Options};

    use super::{Attempt, Cuda, Device, DeviceState, TensorRt};
    use crate::failure::with_causes;

    const HOW_TO_GET_A_DRIVER: &str = "install NVIDIA's driver, which brings libcuda.so.1; start a \
                                       container with the GPUs (`--gpus all`); set THALWEG_CUDA to \
                                       the file of libcuda.so.1 if it is not found by itself";

    pub(super) fn search() -> (Cuda, TensorRt) {
        let attempts = Driver::search(None).into_iter();
        let attempts = attempts.map(|attempt| Attempt {
            place: attempt.location.to_string(),
            found: matches!(attempt.outcome, cuda::Outcome::Opened(_)),
            outcome: attempt.outcome.to_string(),
        });
        let mut cuda = Cuda {
            search: attempts.collect(),
            ..Cuda::default()
        };
        let mut devices = Vec::new();
        let driver = match Driver::open(None) {
            Ok(driver) => {
                let (major, minor) = driver.version();
                cuda.version = Some(format!("{major}.{minor}"));
                match driver.device_count() {
                    Ok(count) => devices.extend((0..count).map(|index| driver.device(index))),
                    Err(error) => cuda.error = Some(with_causes(&error)),
                }
                Some(driver)
            }
            Err(_) => {
                cuda.advice = Some(HOW_TO_GET_A_DRIVER);
                None
            }
        };
        cuda.devices = devices.iter().enumerate().map(device).collect();
        let first = devices.iter().find_map(|device| device.as_ref().ok());
        let tensorrt = find_tensorrt(driver.as_ref(), first);
        (cuda, tensorrt)
    }

    fn device((index, device): (usize, &thalweg::Result<cuda::Device>)) -> Device {
        Device {
            device: format!("cuda:{index}"),
            state: match device {
                Ok(device) => {
                    let (major, minor) = device.compute_capability();
                    DeviceState::Works {
                        name: device.name().into(),
                        compute_capability: format!("{major}.{minor}"),
                        multiprocessors: device.multiprocessors(),
                        memory_bytes: device.total_memory(),
                        free_bytes: device.memory().ok().map(|(free, _)| free),
                    }
                }
                Err(error) => DeviceState::Broken {
                    error: with_causes(error),
                },
            },
        }
    }

    fn find_tensorrt(driver: Option<&Driver>, device: Option<&cuda::Device>) -> TensorRt {
        let options = Options::new();
        let attempts = tensorrt::TensorRt::search(&options);
        let opened = attempts.iter().find_map(|attempt| match &attempt.outcome {
            cuda::Outcome::Opened(found) => Some((found.version, found.flavor)),
            _ => None,
        });
        let search = attempts.iter().map(|attempt| Attempt {
            place: attempt.location.to_string(),
            found: matches!(attempt.outcome, cuda::Outcome::Opened(_)),
            outcome: attempt.outcome.to_string(),
        });
        let mut report = TensorRt {
            search: search.collect(),
            version: opened.map(|(version, _)| version.to_string()),
            flavor: opened.map(|(_, flavor)| flavor.to_string()),
            ..TensorRt::default()
        };
        if opened.is_none() {
            report.advice = Some(HOW_TO_GET);
            return report;
        }
        let (Some(driver), Some(device)) = (driver, device) else {
            report.why_not = Some("there is no device to try it on".into());
            return report;
        };
        let tried = tensorrt::TensorRt::find(driver, &options).and_then(|found| {
            report.file = Some(found.file().into());
            found.check(device)
        });
        match tried {
            Ok(()) => report.works_on = Some(format!("cuda:{}", device.ordinal())),
            Err(error) => report.why_not = Some(with_causes(&error)),
        }
        report
    }
}

#[cfg(not(target_os = "linux"))]
mod libraries {
    use super::{Cuda, TensorRt};

    const ON_LINUX: &str = "GPUs are used on Linux only";

    pub(super) fn search() -> (Cuda, TensorRt) {
        let cuda = Cuda {
            advice: Some(ON_LINUX),
            ..Cuda::default()
        };
        let tensorrt = TensorRt {
            advice: Some(ON_LINUX),
            ..TensorRt::default()
        };
        (cuda, tensorrt)
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
