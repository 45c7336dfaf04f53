//! Devices, and their attributes.

use std::ffi::{c_char, c_int};

use cudarc::driver::sys::CUresult;

use super::argument::{Out, Text};
use super::entry;
use crate::simulator::{Call, Rules};
use crate::status::{CallResult, fail};

impl Call {
    /// The index of a device.
    pub(super) fn device_index(&self, device: c_int) -> CallResult<usize> {
        match usize::try_from(device) {
            Ok(index) if index < self.devices.len() => Ok(index),
            _ => fail(CUresult::CUDA_ERROR_INVALID_DEVICE),
        }
    }
}

entry! {
    /// The number of devices.
    fn cuDeviceGetCount(count: Out<c_int>), Rules::DRIVER, |call| {
        count.set(call.devices.len() as c_int)
    }
}

entry! {
    /// The device of an index: the same number.
    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int), Rules::DRIVER, |call| {
        call.device_index(ordinal)?;
        device.set(ordinal)
    }
}

entry! {
    /// The name of a device.
    fn cuDeviceGetName(name: Out<c_char>, len: c_int, device: c_int), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        write_text(name, len, &format!("Stand-in GPU {index}"))
    }
}

fn write_text(to: Out<c_char>, len: c_int, text: &str) -> CallResult {
    if len <= 0 {
        return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    let room = len as usize - 1;
    for (index, byte) in text.bytes().take(room).chain([0]).enumerate() {
        to.nth(index).set(byte as c_char)?;
    }
    Ok(())
}

fn uuid(index: usize) -> [u8; 16] {
    let mut bytes = *b"thalweg simgpu 0";
    bytes[15] = b'0' + (index % 10) as u8;
    bytes
}

entry! {
    /// The UUID of a device.
    fn cuDeviceGetUuid_v2(id: Out<[u8; 16]>, device: c_int), Rules::DRIVER, |call| {
        id.set(uuid(call.device_index(device)?))
    }
}

entry! {
    /// The UUID of a device.
    fn cuDeviceGetUuid(id: Out<[u8; 16]>, device: c_int), Rules::DRIVER, |call| {
        id.set(uuid(call.device_index(device)?))
    }
}

entry! {
    /// The PCI bus id of a device.
    fn cuDeviceGetPCIBusId(id: Out<c_char>, len: c_int, device: c_int), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        write_text(id, len, &format!("0000:{:02X}:00.0", index + 1))
    }
}

entry! {
    /// The device of a PCI bus id.
    fn cuDeviceGetByPCIBusId(device: Out<c_int>, id: Text), Rules::DRIVER, |call| {
        let id = id.get()?;
        let found = (0..call.devices.len()).find(|index| id == format!("0000:{:02X}:00.0", index + 1));
        match found {
            Some(index) => device.set(index as c_int),
            None => fail(CUresult::CUDA_ERROR_INVALID_DEVICE),
        }
    }
}

entry! {
    /// The memory of a device, in bytes.
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        bytes.set(call.memory.arenas[index].len() as usize)
    }
}

entry! {
    /// The compute capability of a device.
    fn cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int), Rules::DRIVER, |call| {
        call.device_index(device)?;
        let capability = call.config.capability;
        major.set(capability.0)?;
        minor.set(capability.1)
    }
}

entry! {
    /// An attribute of a device.
    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int), Rules::DRIVER, |call| {
        let index = call.device_index(device)?;
        let config = &call.config;
        value.set(match attribute {
            1 => 1024,                     // threads per block
            2 | 3 => 1024,                 // block dimensions
            4 => 64,
            5 => i32::MAX,                 // grid dimensions
            6 | 7 => 65535,
            8 => 48 << 10,                 // shared memory per block
            9 => 64 << 10,                 // constant memory
            10 => 32,                      // warp size
            11 => i32::MAX,                // pitch
            12 => 65536,                   // registers per block
            13 => 1_980_000,               // clock rate, kHz
            14 => 512,                     // texture alignment
            15 => 1,                       // overlap of copies and kernels
            16 => config.multiprocessors as c_int,
            17 | 18 => 0,                  // kernel timeout, integrated
            19 => 1,                       // can map host memory
            20 => 0,                       // compute mode
            31 => 1,                       // concurrent kernels
            32 => 0,                       // ECC
            33 => index as c_int + 1,      // PCI bus
            34 | 50 => 0,                  // PCI device, domain
            35 => 0,                       // TCC driver
            36 => 2_619_000,               // memory clock, kHz
            37 => 6144,                    // bus width
            38 => 50 << 20,                // L2 cache
            39 => 2048,                    // threads per multiprocessor
            40 => 3,                       // engines for copies
            41 => 1,                       // unified addresses
            75 => config.capability.0,
            76 => config.capability.1,
            78 => 1,                       // stream priorities
            79 | 80 => 1,                  // caching in L1
            81 => 228 << 10,               // shared memory per multiprocessor
            82 => 65536,                   // registers per multiprocessor
            83 => 0,                       // managed memory
            84 => 0,                       // multi-GPU board
            85 => index as c_int,
            95 => 1,                       // cooperative launch
            97 => 227 << 10,               // opt-in shared memory per block
            99 => 1,                       // host registration
            106 => 32,                     // blocks per multiprocessor
            115 => i32::from(call.config.pools), // memory pools
            _ => 0,
        })
    }
}

entry! {
    /// 1 if one device can access the memory of another.
    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int), Rules::DRIVER, |call| {
        let (device, peer) = (call.device_index(device)?, call.device_index(peer)?);
        can.set(c_int::from(device != peer))
    }
}

entry! {
    /// An attribute of the access between two devices.
    fn cuDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, device: c_int, peer: c_int), Rules::DRIVER, |call| {
        let (device, peer) = (call.device_index(device)?, call.device_index(peer)?);
        if device == peer {
            return fail(CUresult::CUDA_ERROR_INVALID_DEVICE);
        }
        value.set(c_int::from(attribute == 2))
    }
}
