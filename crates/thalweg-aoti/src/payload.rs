//! Payloads of delegates.
//!
//! | written by | form |
//! |---|---|
//! | ExecuTorch 1.4 and before | nothing, or two lines: the name of the library and the name of one blob with all constants |
//! | ExecuTorch 1.5 | [`MAGIC`], the name of the library, and for each constant its name, the name of its storage, and the tensor in that storage |
//!
//! An empty line stands for a default name: the method's name (a compile spec, which may be missing), then
//! `so_blob` or `weights_blob`.

use std::collections::HashSet;

use thalweg_core::{DType, MAX_RANK, Result, bail, ensure};
use thalweg_format::ScalarType;

/// The first bytes of a payload of the second form: a name, and a version of one digit.
pub(crate) const MAGIC: &[u8] = b"ETCUDAFQN3";

/// The most bytes of a name. Names of constants contain the names of nested modules, but are much shorter.
const MAX_NAME_LEN: usize = 4096;

/// The payload of a delegate: the names of its library and its constants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The key of the library in the program's named data.
    pub library: String,
    /// The constants.
    pub constants: Constants,
}

/// The constants that a payload names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constants {
    /// One blob with all constants, in the library's layout. It may be missing for a library without
    /// constants.
    Blob {
        /// The key of the blob in the program's named data.
        key: String,
    },
    /// Constants in storages of their own.
    Named(Vec<Constant>),
}

/// A constant of a model: a tensor in a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// The name in the model.
    pub name: String,
    /// The key of the storage in the program's named data. Constants of several libraries can share a
    /// storage.
    pub storage: String,
    /// The size of the storage in bytes.
    pub storage_bytes: u64,
    /// The element type.
    pub dtype: DType,
    /// True if it is used on the device, false if on the host.
    pub on_device: bool,
    /// The offset in the storage, in elements.
    pub offset: u64,
    /// The sizes.
    pub sizes: Vec<u64>,
    /// The strides, in elements.
    pub strides: Vec<u64>,
}

impl Payload {
    /// Parses a payload. `method` is the method's name, if there is a compile spec with it.
    ///
    /// # Errors
    /// If it is damaged, or of an unknown form.
    pub fn parse(bytes: &[u8], method: Option<&str>) -> Result<Self> {
        match bytes.strip_prefix(MAGIC) {
            Some(rest) => Reader {
                rest,
                len: bytes.len(),
            }
            .named(),
            None => Self::lines(bytes, method),
        }
    }

    /// Parses a payload of the first form.
    fn lines(bytes: &[u8], method: Option<&str>) -> Result<Self> {
        let known = &MAGIC[..MAGIC.len() - 1];
        if bytes.starts_with(known) {
            bail!(
                Unsupported,
                "the payload starts with `{}`; the version that is known is `{}`",
                bytes[..MAGIC.len().min(bytes.len())].escape_ascii(),
                MAGIC.escape_ascii()
            );
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            bail!(
                InvalidProgram,
                "a payload of {} bytes that start with `{}` is of no known form",
                bytes.len(),
                bytes[..bytes.len().min(16)].escape_ascii()
            );
        };
        let implied = |what: &str| match method {
            Some(method) if !method.is_empty() => format!("{method}_{what}"),
            _ => what.to_string(),
        };
        let (library, blob) = match text.split_once('\n') {
            Some(keys) => keys,
            None if text.is_empty() => ("", ""),
            None => bail!(
                InvalidProgram,
                "the payload is one line, `{}`, where there should be two: the names of the library \
                 and of its constants",
                shown(text)
            ),
        };
        // Some tools that edit programs terminate the second line, too.
        let blob = blob.strip_suffix('\n').unwrap_or(blob);
        for (what, key) in [("the library", library), ("its constants", blob)] {
            check_name(key, what)?;
        }
        let or_implied = |key: &str, what: &str| match key {
            "" => implied(what),
            key => key.to_string(),
        };
        Ok(Self {
            library: or_implied(library, "so_blob"),
            constants: Constants::Blob {
                key: or_implied(blob, "weights_blob"),
            },
        })
    }
}

/// The rest of a payload of the second form.
struct Reader<'a> {
    rest: &'a [u8],
    /// The length of the payload, for messages.
    len: usize,
}

impl<'a> Reader<'a> {
    /// Parses the rest.
    fn named(mut self) -> Result<Payload> {
        let library = self.text("the library's name")?;
        ensure!(
            !library.is_empty(),
            InvalidProgram,
            "the payload's library has no name"
        );
        let count = self.u32("the number of constants")?;
        // Nothing is reserved, since the count is not trusted.
        let mut constants = Vec::new();
        let mut names = HashSet::new();
        for index in 0..count {
            let constant = self.constant(index)?;
            ensure!(
                names.insert(constant.name.clone()),
                InvalidProgram,
                "the payload names the constant `{}` twice",
                constant.name
            );
            constants.push(constant);
        }
        ensure!(
            self.rest.is_empty(),
            InvalidProgram,
            "the payload has {} bytes behind its {count} constants",
            self.rest.len()
        );
        Ok(Payload {
            library,
            constants: Constants::Named(constants),
        })
    }

    fn constant(&mut self, index: u32) -> Result<Constant> {
        let name = self.text(&format!("the name of constant {index}"))?;
        let what = |part: &str| format!("{part} of constant {index} (`{}`)", shown(&name));
        ensure!(
            !name.is_empty(),
            InvalidProgram,
            "constant {index} of the payload has no name"
        );
        let storage = self.text(&what("the storage's name"))?;
        let storage_bytes = u64::from_le_bytes(self.take(&what("the size"))?);
        let code = i32::from_le_bytes(self.take(&what("the element type"))?);
        let device = i32::from_le_bytes(self.take(&what("the device"))?);
        let offset = i64::from_le_bytes(self.take(&what("the offset"))?);
        let rank = self.u32(&what("the number of dimensions"))? as usize;
        let dtype = i8::try_from(code).ok().and_then(ScalarType::from_code);
        let Some(dtype) = dtype.and_then(DType::from_scalar_type) else {
            bail!(
                Unsupported,
                "{} is {code}, which is none that is known",
                what("the element type")
            );
        };
        let on_device = match device {
            0 => false,
            1 => true,
            other => bail!(
                Unsupported,
                "{} is {other}; 0 is the host, 1 a CUDA device",
                what("the device")
            ),
        };
        ensure!(
            rank <= MAX_RANK,
            Unsupported,
            "{} is {rank}; at most {MAX_RANK} are supported",
            what("the number of dimensions")
        );
        let sizes = self.extents(rank, &what("the sizes"))?;
        let strides = self.extents(rank, &what("the strides"))?;
        let Ok(offset) = u64::try_from(offset) else {
            bail!(InvalidProgram, "{} is {offset}", what("the offset"));
        };
        let constant = Constant {
            name: name.clone(),
            storage,
            storage_bytes,
            dtype,
            on_device,
            offset,
            sizes,
            strides,
        };
        let needed = constant.needed_bytes();
        ensure!(
            needed.is_some_and(|needed| needed <= storage_bytes),
            InvalidProgram,
            "constant {index} (`{}`) of {dtype}, sizes {:?}, strides {:?}, from element {offset} on \
             does not lie within its storage of {storage_bytes} bytes",
            shown(&name),
            constant.sizes,
            constant.strides
        );
        Ok(constant)
    }

    /// Reads sizes or strides.
    fn extents(&mut self, rank: usize, what: &str) -> Result<Vec<u64>> {
        (0..rank)
            .map(|_| {
                let value = i64::from_le_bytes(self.take(what)?);
                match u64::try_from(value) {
                    Ok(value) => Ok(value),
                    Err(_) => bail!(InvalidProgram, "one of {what} is {value}"),
                }
            })
            .collect()
    }

    /// Reads a name.
    fn text(&mut self, what: &str) -> Result<String> {
        let len = self.u32(what)? as usize;
        ensure!(
            len <= self.rest.len(),
            InvalidProgram,
            "{what} is said to have {len} bytes, and the payload has {} more",
            self.rest.len()
        );
        let (text, rest) = self.rest.split_at(len);
        self.rest = rest;
        let Ok(text) = std::str::from_utf8(text) else {
            bail!(
                InvalidProgram,
                "{what} is not text: `{}`",
                text.escape_ascii()
            );
        };
        check_name(text, what)?;
        Ok(text.to_string())
    }

    fn u32(&mut self, what: &str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(what)?))
    }

    /// Reads bytes.
    fn take<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            bail!(
                InvalidProgram,
                "the payload of {} bytes ends in {what}",
                self.len
            );
        };
        self.rest = rest;
        Ok(*taken)
    }
}

impl Constant {
    /// The end of the tensor in its storage, in bytes; `None` if it overflows.
    fn needed_bytes(&self) -> Option<u64> {
        if self.sizes.contains(&0) {
            return Some(0);
        }
        let mut last = self.offset;
        for (size, stride) in self.sizes.iter().zip(&self.strides) {
            last = last.checked_add((size - 1).checked_mul(*stride)?)?;
        }
        last.checked_add(1)?.checked_mul(self.dtype.size() as u64)
    }
}

fn check_name(name: &str, what: &str) -> Result<()> {
    ensure!(
        name.len() <= MAX_NAME_LEN && !name.contains(char::is_control),
        InvalidProgram,
        "{what} is called `{}`, which is no name",
        shown(name)
    );
    Ok(())
}

/// A name, shortened for a message.
fn shown(name: &str) -> String {
    let cut: String = name.chars().take(80).collect();
    let dots = if cut.len() < name.len() { "..." } else { "" };
    format!("{}{dots}", cut.escape_debug())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    }

    /// A payload of the second form, as the exporter's `struct.pack` writes it.
    fn written(library: &str, constants: &[Constant]) -> Vec<u8> {
        let mut bytes = [MAGIC, &text(library)].concat();
        bytes.extend((constants.len() as u32).to_le_bytes());
        for constant in constants {
            bytes.extend(text(&constant.name));
            bytes.extend(text(&constant.storage));
            bytes.extend(constant.storage_bytes.to_le_bytes());
            let code: i32 = match constant.dtype {
                DType::F32 => 6,
                DType::I64 => 4,
                DType::BF16 => 15,
                other => panic!("{other}"),
            };
            bytes.extend(code.to_le_bytes());
            bytes.extend(i32::from(constant.on_device).to_le_bytes());
            bytes.extend((constant.offset as i64).to_le_bytes());
            bytes.extend((constant.sizes.len() as u32).to_le_bytes());
            for value in constant.sizes.iter().chain(&constant.strides) {
                bytes.extend((*value as i64).to_le_bytes());
            }
        }
        bytes
    }

    fn weight() -> Constant {
        Constant {
            name: "l1.weight".into(),
            storage: "cuda_fqn_weight:cuda:l1.weight".into(),
            storage_bytes: 4 * 6,
            dtype: DType::F32,
            on_device: true,
            offset: 0,
            sizes: vec![2, 3],
            strides: vec![3, 1],
        }
    }

    fn error(bytes: &[u8]) -> String {
        Payload::parse(bytes, None).unwrap_err().to_string()
    }

    #[test]
    fn two_lines_are_the_names_of_the_library_and_its_constants() {
        let payload = Payload::parse(b"abc_so_blob\ndef_weights_blob", Some("forward")).unwrap();
        assert_eq!(payload.library, "abc_so_blob");
        let key = "def_weights_blob".to_string();
        assert_eq!(payload.constants, Constants::Blob { key });
    }

    #[test]
    fn what_is_left_out_follows_from_the_methods_name() {
        for bytes in [&b""[..], b"\n"] {
            let payload = Payload::parse(bytes, Some("decode")).unwrap();
            assert_eq!(payload.library, "decode_so_blob");
            let key = "decode_weights_blob".to_string();
            assert_eq!(payload.constants, Constants::Blob { key });
        }
        assert_eq!(Payload::parse(b"", None).unwrap().library, "so_blob");
        let payload = Payload::parse(b"abc\n", Some("decode")).unwrap();
        assert_eq!(payload.library, "abc");
        let key = "decode_weights_blob".to_string();
        assert_eq!(payload.constants, Constants::Blob { key });
    }

    #[test]
    fn constants_have_storages_of_their_own() {
        let position = Constant {
            name: "position".into(),
            storage: "cuda_fqn_weight:cpu:lib:position".into(),
            storage_bytes: 80,
            dtype: DType::I64,
            on_device: false,
            offset: 3,
            sizes: vec![],
            strides: vec![],
        };
        let constants = vec![weight(), position];
        let payload = Payload::parse(&written("lib", &constants), None).unwrap();
        assert_eq!(payload.library, "lib");
        assert_eq!(payload.constants, Constants::Named(constants));
    }

    #[test]
    fn an_error_says_what_is_wrong_with_a_payload() {
        assert!(error(b"one line").contains("`one line`"));
        assert!(error(b"\x00\xff\x01").contains("3 bytes that start with `\\x00\\xff\\x01`"));
        assert!(error(b"a\x07\nb").contains("which is no name"));
        assert!(error(b"ETCUDAFQN4\x01\x00").contains("`ETCUDAFQN4`"));
        assert!(error(b"ETCUDAFQN").contains("the version that is known"));
        assert!(error(b"ETCUDAFQN3\x05\x00\x00\x00ab").contains("said to have 5 bytes"));
        assert!(error(&written("", &[])).contains("has no name"));
        let mut long = written("lib", &[weight()]);
        long.push(0);
        assert!(error(&long).contains("1 bytes behind its 1 constants"));
        let twice = written("lib", &[weight(), weight()]);
        assert!(error(&twice).contains("`l1.weight` twice"));
        let cut = written("lib", &[weight()]);
        for len in MAGIC.len()..cut.len() {
            Payload::parse(&cut[..len], None).unwrap_err();
        }
        let message = error(&cut[..cut.len() - 1]);
        assert!(
            message.contains("ends in the strides of constant 0"),
            "{message}"
        );
    }

    #[test]
    fn a_constant_lies_within_its_storage() {
        let with = |change: &dyn Fn(&mut Constant)| {
            let mut constant = weight();
            change(&mut constant);
            Payload::parse(&written("lib", &[constant]), None)
        };
        with(&|_| {}).unwrap();
        with(&|constant| constant.storage_bytes = 1000).unwrap();
        with(&|constant| constant.sizes = vec![0, u64::MAX >> 1]).unwrap();
        with(&|constant| constant.strides = vec![0, 0]).unwrap();
        for error in [
            with(&|constant| constant.storage_bytes = 23),
            with(&|constant| constant.offset = 1),
            with(&|constant| constant.strides = vec![3, 2]),
            with(&|constant| constant.strides = vec![u64::MAX >> 1, 1]),
            with(&|constant| constant.sizes = vec![u64::MAX >> 1, u64::MAX >> 1]),
        ] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("does not lie within its storage"), "{error}");
        }
        let error = with(&|constant| constant.sizes[1] = u64::MAX).unwrap_err();
        assert!(error.to_string().contains("is -1"), "{error}");
    }

    #[test]
    fn numbers_that_mean_nothing_are_refused() {
        let good = written("lib", &[weight()]);
        let place = good.len() - 2 * 16 - 4 - 8 - 4 - 4;
        let with = |at: usize, value: i32| {
            let mut bytes = good.clone();
            bytes[place + at..][..4].copy_from_slice(&value.to_le_bytes());
            error(&bytes)
        };
        assert!(with(0, 12).contains("the element type of constant 0 (`l1.weight`) is 12"));
        assert!(with(0, 300).contains("is 300"));
        assert!(with(4, 2).contains("the device of constant 0 (`l1.weight`) is 2"));
        assert!(with(12, -1).contains("the offset of constant 0"));
        assert!(with(16, 17).contains("is 17; at most 16"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_payload_or_an_error(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            with_magic in any::<bool>(),
        ) {
            let bytes = if with_magic { [MAGIC, &bytes].concat() } else { bytes };
            let _ = Payload::parse(&bytes, Some("forward"));
        }

        #[test]
        fn a_payload_that_changed_anywhere_is_read_within_its_bounds(
            at in any::<prop::sample::Index>(),
            value in any::<u8>(),
        ) {
            let mut bytes = written("lib", &[weight()]);
            let at = at.index(bytes.len());
            bytes[at] = value;
            if let Ok(Payload { constants: Constants::Named(constants), .. }) =
                Payload::parse(&bytes, None)
            {
                for constant in constants {
                    let needed = constant.needed_bytes().unwrap();
                    prop_assert!(needed <= constant.storage_bytes);
                }
            }
        }
    }
}
