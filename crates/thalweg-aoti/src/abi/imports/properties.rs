//! Device properties in the layouts of CUDA's runtime, `cudaDeviceProp`.
//!
//! The layout depends on the version of CUDA that a library was compiled for. CUDA 12 exports
//! `cudaGetDeviceProperties` as `cudaGetDeviceProperties_v2`, and CUDA 13 without the suffix. CUDA 11 did
//! so, too, but no library that this crate runs is that old.
#![allow(
    unsafe_code,
    reason = "the driver is called by address, and the library passes an out-parameter; each \
              block says why it is right"
)]

use std::ffi::{c_char, c_int};

use super::super::driver::{CuResult, DriverTable, error};
use super::runtime::runtime_function;

macro_rules! functions {
    ($($name:ident: $layout:expr;)*) => {$(
        pub(in crate::abi) unsafe extern "C" fn $name(properties: *mut u8, device: c_int) -> CuResult {
            runtime_function(stringify!($name), |session| {
                if properties.is_null() {
                    return error::INVALID_VALUE;
                }
                match fill(session.driver, device, $layout) {
                    Ok(bytes) => {
                        // SAFETY: the library's out-parameter has that layout.
                        unsafe { properties.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
                        0
                    }
                    Err(code) => code,
                }
            })
        }
    )*};
}

functions! {
    cudaGetDeviceProperties: CUDA_13;
    cudaGetDeviceProperties_v2: CUDA_12;
}

/// A field of `cudaDeviceProp`. Numbers are those of the driver's device attributes.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// The name: 256 bytes of text.
    Name,
    /// The UUID: 16 bytes, and 12 bytes for Windows.
    Uuid,
    /// The size of the device's memory.
    TotalMemory,
    /// An attribute of four bytes.
    Int(c_int),
    /// An attribute of eight bytes.
    Long(c_int),
    /// Reserved bytes.
    Reserved(usize),
}
use Field::{Int, Long, Name, Reserved, TotalMemory, Uuid};

/// The fields of CUDA 12.
const CUDA_12: &[Field] = &[
    Name,
    Uuid,
    TotalMemory,
    Long(8),
    Int(12),
    Int(10),
    Long(11),
    Int(1),
    Int(2),
    Int(3),
    Int(4),
    Int(5),
    Int(6),
    Int(7),
    Int(13),
    Long(9),
    Int(75),
    Int(76),
    Long(14),
    Long(51),
    Int(15),
    Int(16),
    Int(17),
    Int(18),
    Int(19),
    Int(20),
    Int(21),
    Int(77),
    Int(69),
    Int(22),
    Int(23),
    Int(73),
    Int(74),
    Int(70),
    Int(71),
    Int(72),
    Int(45),
    Int(46),
    Int(24),
    Int(25),
    Int(26),
    Int(47),
    Int(48),
    Int(49),
    Int(52),
    Int(42),
    Int(43),
    Int(27),
    Int(28),
    Int(29),
    Int(53),
    Int(54),
    Int(55),
    Int(56),
    Int(57),
    Int(58),
    Int(59),
    Int(60),
    Int(61),
    Int(62),
    Int(63),
    Int(64),
    Int(65),
    Int(66),
    Int(67),
    Int(68),
    Long(30),
    Int(31),
    Int(32),
    Int(33),
    Int(34),
    Int(50),
    Int(35),
    Int(40),
    Int(41),
    Int(36),
    Int(37),
    Int(38),
    Int(108),
    Int(39),
    Int(78),
    Int(79),
    Int(80),
    Long(81),
    Int(82),
    Int(83),
    Int(84),
    Int(85),
    Int(86),
    Int(87),
    Int(88),
    Int(89),
    Int(90),
    Int(91),
    Int(95),
    Int(96),
    Long(97),
    Int(100),
    Int(101),
    Int(106),
    Int(109),
    Long(111),
    Int(99),
    Int(112),
    Int(113),
    Int(114),
    Int(115),
    Int(116),
    Int(117),
    Int(118),
    Int(119),
    Int(121),
    Int(125),
    Int(120),
    Int(129),
    Reserved(63 * 4),
];

/// The fields of CUDA 13: those of [`CUDA_12`] without clocks and some modes, and with more of NUMA.
const CUDA_13: &[Field] = &[
    Name,
    Uuid,
    TotalMemory,
    Long(8),
    Int(12),
    Int(10),
    Long(11),
    Int(1),
    Int(2),
    Int(3),
    Int(4),
    Int(5),
    Int(6),
    Int(7),
    Long(9),
    Int(75),
    Int(76),
    Long(14),
    Long(51),
    Int(16),
    Int(18),
    Int(19),
    Int(21),
    Int(77),
    Int(22),
    Int(23),
    Int(73),
    Int(74),
    Int(70),
    Int(71),
    Int(72),
    Int(45),
    Int(46),
    Int(24),
    Int(25),
    Int(26),
    Int(47),
    Int(48),
    Int(49),
    Int(52),
    Int(42),
    Int(43),
    Int(27),
    Int(28),
    Int(29),
    Int(53),
    Int(54),
    Int(55),
    Int(56),
    Int(57),
    Int(58),
    Int(59),
    Int(60),
    Int(61),
    Int(62),
    Int(63),
    Int(64),
    Int(65),
    Int(66),
    Int(67),
    Int(68),
    Long(30),
    Int(31),
    Int(32),
    Int(33),
    Int(34),
    Int(50),
    Int(35),
    Int(40),
    Int(41),
    Int(37),
    Int(38),
    Int(108),
    Int(39),
    Int(78),
    Int(79),
    Int(80),
    Long(81),
    Int(82),
    Int(83),
    Int(84),
    Int(85),
    Int(86),
    Int(88),
    Int(89),
    Int(90),
    Int(91),
    Int(95),
    Long(97),
    Int(100),
    Int(101),
    Int(106),
    Int(109),
    Long(111),
    Int(99),
    Int(112),
    Int(113),
    Int(114),
    Int(115),
    Int(116),
    Int(117),
    Int(118),
    Int(119),
    Int(121),
    Int(125),
    Int(120),
    Int(129),
    Int(130),
    Int(131),
    Int(133),
    Int(134),
    Int(139),
    Int(140),
    Int(143),
    Reserved(56 * 4),
];

/// The properties of a device. A field that the driver does not know is 0.
fn fill(driver: &DriverTable, device: c_int, layout: &[Field]) -> Result<Vec<u8>, CuResult> {
    let mut count = 0;
    // SAFETY: the driver writes a number.
    let code = unsafe { (driver.device_count)(&raw mut count) };
    if code != 0 {
        return Err(code);
    }
    if !(0..count).contains(&device) {
        return Err(error::INVALID_DEVICE);
    }
    let attribute = |attribute| {
        let mut value: c_int = 0;
        // SAFETY: the driver writes a number, or nothing.
        match unsafe { (driver.device_attribute)(&raw mut value, attribute, device) } {
            0 => value,
            _ => 0,
        }
    };
    let mut bytes = Vec::new();
    for field in layout {
        match *field {
            Name => {
                let mut name = [0u8; 256];
                let text = name.as_mut_ptr().cast::<c_char>();
                // SAFETY: the driver writes text that ends with a zero, of so many bytes at most.
                check(unsafe { (driver.device_name)(text, name.len() as c_int, device) })?;
                bytes.extend(name);
            }
            Uuid => {
                let mut identity = [0u8; 16];
                // SAFETY: the driver writes so many bytes.
                check(unsafe { (driver.device_identity)(&raw mut identity, device) })?;
                bytes.extend(identity);
                bytes.extend([0; 12]);
            }
            TotalMemory => {
                let mut memory = 0usize;
                // SAFETY: the driver writes a number.
                check(unsafe { (driver.device_memory)(&raw mut memory, device) })?;
                put(&mut bytes, &(memory as u64).to_ne_bytes());
            }
            Int(number) => put(&mut bytes, &attribute(number).to_ne_bytes()),
            Long(number) => put(&mut bytes, &i64::from(attribute(number)).to_ne_bytes()),
            Reserved(count) => bytes.extend(std::iter::repeat_n(0, count)),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

fn check(code: CuResult) -> Result<(), CuResult> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// Appends a number at its natural alignment.
fn put(bytes: &mut Vec<u8>, number: &[u8]) {
    bytes.resize(bytes.len().next_multiple_of(number.len().max(1)), 0);
    bytes.extend(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset of each attribute, and the size.
    fn offsets(layout: &[Field]) -> (Vec<(c_int, usize)>, usize) {
        let (mut offsets, mut bytes) = (Vec::new(), Vec::new());
        for field in layout {
            let (attribute, size) = match *field {
                Name => (-1, 256),
                Uuid => (-2, 28),
                TotalMemory => (-3, 8),
                Int(attribute) => (attribute, 4),
                Long(attribute) => (attribute, 8),
                Reserved(size) => (-4, size),
            };
            match size {
                4 | 8 => put(&mut bytes, &vec![0; size]),
                _ => bytes.resize(bytes.len() + size, 0),
            }
            offsets.push((attribute, bytes.len() - size));
        }
        (offsets, bytes.len().next_multiple_of(8))
    }

    /// Sizes and offsets are what C's compiler says of the headers of CUDA 12.4 and 13.5.
    #[test]
    fn layouts_are_those_of_the_headers() {
        for (layout, size, expected) in [
            (
                CUDA_12,
                1032,
                [
                    (-3, 288),
                    (9, 352),
                    (75, 360),
                    (16, 388),
                    (30, 568),
                    (38, 616),
                    (97, 696),
                    (120, 772),
                ],
            ),
            (
                CUDA_13,
                1008,
                [
                    (-3, 288),
                    (9, 352),
                    (75, 360),
                    (16, 384),
                    (30, 552),
                    (38, 596),
                    (97, 672),
                    (120, 748),
                ],
            ),
        ] {
            let (offsets, bytes) = offsets(layout);
            assert_eq!(bytes, size);
            for offset in expected {
                assert!(offsets.contains(&offset), "{offset:?} in {offsets:?}");
            }
        }
    }
}
