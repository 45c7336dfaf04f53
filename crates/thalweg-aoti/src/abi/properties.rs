//! What a device is like, in the form that CUDA's runtime says it in.
//!
//! The form changes with versions of CUDA, and libraries were compiled for one of them. What CUDA 12 calls
//! `cudaGetDeviceProperties` is exported as `cudaGetDeviceProperties_v2`; what is exported without the
//! suffix is CUDA 13's. CUDA 11's had that name, too, but no library that this crate runs is as old.
#![allow(
    unsafe_code,
    reason = "the driver is called by address, and the library passes a place for the answer; each \
              block says why it is right"
)]

use std::ffi::{c_char, c_int};

use super::driver::{Code, INVALID_VALUE, Table};
use super::runtime::do_it;

/// There is no such device.
const INVALID_DEVICE: Code = 101;

macro_rules! functions {
    ($($name:ident: $form:expr;)*) => {$(
        pub(super) unsafe extern "C" fn $name(properties: *mut u8, device: c_int) -> Code {
            do_it(stringify!($name), |session| {
                if properties.is_null() {
                    return INVALID_VALUE;
                }
                match fill(session.driver, device, $form) {
                    Ok(bytes) => {
                        // SAFETY: the library has a place for a form of that size.
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
    cudaGetDeviceProperties: THIRTEEN;
    cudaGetDeviceProperties_v2: TWELVE;
}

/// A part of a form. Numbers are those of the driver's attributes.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// 256 bytes of text, 16 that identify the device, and 12 that only Windows has.
    Name,
    Identity,
    Memory,
    /// An attribute of four bytes.
    Int(c_int),
    /// An attribute of eight bytes.
    Long(c_int),
    /// So many bytes that say nothing.
    Nothing(usize),
}
use Part::{Identity, Int, Long, Memory, Name, Nothing};

const TWELVE: &[Part] = &[
    Name,
    Identity,
    Memory,
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
    Nothing(63 * 4),
];

/// As [`TWELVE`], without clocks and some modes, and with more of memory that is near.
const THIRTEEN: &[Part] = &[
    Name,
    Identity,
    Memory,
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
    Nothing(56 * 4),
];

/// Fills a form. What a driver does not know is 0.
fn fill(driver: &Table, device: c_int, form: &[Part]) -> Result<Vec<u8>, Code> {
    let mut count = 0;
    // SAFETY: the driver writes a number.
    let code = unsafe { (driver.device_count)(&raw mut count) };
    if code != 0 {
        return Err(code);
    }
    if !(0..count).contains(&device) {
        return Err(INVALID_DEVICE);
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
    for part in form {
        match *part {
            Name => {
                let mut name = [0u8; 256];
                let place = name.as_mut_ptr().cast::<c_char>();
                // SAFETY: the driver writes text that ends with a zero, of so many bytes at most.
                check(unsafe { (driver.device_name)(place, name.len() as c_int, device) })?;
                bytes.extend(name);
            }
            Identity => {
                let mut identity = [0u8; 16];
                // SAFETY: the driver writes so many bytes.
                check(unsafe { (driver.device_identity)(&raw mut identity, device) })?;
                bytes.extend(identity);
                bytes.extend([0; 12]);
            }
            Memory => {
                let mut memory = 0usize;
                // SAFETY: the driver writes a number.
                check(unsafe { (driver.device_memory)(&raw mut memory, device) })?;
                put(&mut bytes, &(memory as u64).to_ne_bytes());
            }
            Int(number) => put(&mut bytes, &attribute(number).to_ne_bytes()),
            Long(number) => put(&mut bytes, &i64::from(attribute(number)).to_ne_bytes()),
            Nothing(count) => bytes.extend(std::iter::repeat_n(0, count)),
        }
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    Ok(bytes)
}

fn check(code: Code) -> Result<(), Code> {
    if code == 0 { Ok(()) } else { Err(code) }
}

/// Appends a number where C would have it: at a multiple of its size.
fn put(bytes: &mut Vec<u8>, number: &[u8]) {
    bytes.resize(bytes.len().next_multiple_of(number.len().max(1)), 0);
    bytes.extend(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each attribute lies, and how many bytes there are.
    fn places(form: &[Part]) -> (Vec<(c_int, usize)>, usize) {
        let (mut places, mut bytes) = (Vec::new(), Vec::new());
        for part in form {
            let (attribute, size) = match *part {
                Name => (-1, 256),
                Identity => (-2, 28),
                Memory => (-3, 8),
                Int(attribute) => (attribute, 4),
                Long(attribute) => (attribute, 8),
                Nothing(size) => (-4, size),
            };
            match size {
                4 | 8 => put(&mut bytes, &vec![0; size]),
                _ => bytes.resize(bytes.len() + size, 0),
            }
            places.push((attribute, bytes.len() - size));
        }
        (places, bytes.len().next_multiple_of(8))
    }

    /// Sizes and offsets are what C's compiler says of the headers of CUDA 12.4 and 13.5.
    #[test]
    fn forms_are_those_of_the_headers() {
        for (form, size, expected) in [
            (
                TWELVE,
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
                THIRTEEN,
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
            let (places, bytes) = places(form);
            assert_eq!(bytes, size);
            for place in expected {
                assert!(places.contains(&place), "{place:?} in {places:?}");
            }
        }
    }
}
