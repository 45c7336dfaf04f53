//! What reading gives, and what it refuses.

mod repository;

use std::borrow::Cow;

use thalweg_format::*;

#[test]
fn every_program_of_the_exporter_is_read() {
    for name in repository::PROGRAMS {
        let bytes = repository::program(name);
        let program = Program::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(program.method("forward").is_some(), "{name}");
    }
}

#[test]
fn a_program_is_read_as_it_was_exported() {
    let bytes = repository::program("add");
    let program = Program::parse(&bytes).unwrap();
    let forward = program.method("forward").unwrap();
    assert_eq!(forward.operators.len(), 1);
    assert_eq!(forward.operators[0].name, "aten::add");
    assert_eq!(forward.operators[0].overload, "out");
    assert_eq!(forward.inputs.len(), 2);
    assert_eq!(forward.outputs.len(), 1);
    assert_eq!(forward.chains.len(), 1);
    let Instruction::KernelCall { operator: 0, args } = &forward.chains[0].instructions[0] else {
        panic!("{:?}", forward.chains[0].instructions);
    };
    assert_eq!(args.len(), 5);
    let Value::Tensor(x) = &forward.values[forward.inputs[0] as usize] else {
        panic!("the input is no tensor");
    };
    assert_eq!(x.scalar_type, ScalarType::Float);
    assert_eq!(x.sizes, [1]);
    assert_eq!(x.nbytes(), Some(4));
    assert_eq!(x.data_source(), DataSource::None);
    assert!(program.method("backward").is_none());
}

#[test]
fn reading_copies_neither_names_nor_data() {
    for name in repository::PROGRAMS {
        let bytes = repository::program(name);
        let program = Program::parse(&bytes).unwrap();
        let data = program.segments.iter().chain(&program.delegate_data);
        for piece in data.filter(|piece| !piece.is_empty()) {
            assert!(matches!(piece, Cow::Borrowed(_)));
            assert!(bytes.as_ptr_range().contains(&piece.as_ptr()));
        }
        assert!(matches!(program.methods[0].name, Cow::Borrowed("forward")));
    }
}

#[test]
fn the_data_of_every_constant_and_state_is_found() {
    let bytes = repository::program("counter_initial_state");
    let program = Program::parse(&bytes).unwrap();
    let mut found = 0;
    for value in program.methods.iter().flat_map(|m| &m.values) {
        let Value::Tensor(tensor) = value else {
            continue;
        };
        let bytes = tensor.nbytes().unwrap() as usize;
        if tensor.data_source() == DataSource::Program {
            let data = if tensor.is_constant() {
                program.constant_data(tensor, bytes).unwrap()
            } else {
                found += 1;
                program.initial_data(tensor, bytes).unwrap()
            };
            assert_eq!(data.len(), bytes);
            let far = bytes + 1_000_000;
            assert!(program.constant_data(tensor, far).is_err());
            assert!(program.initial_data(tensor, far).is_err());
        }
    }
    assert!(found > 0, "the program has no state with an initial value");
}

#[test]
fn an_external_constant_is_named_and_its_data_file_has_it() {
    let program = repository::program("external_some");
    let program = Program::parse(&program).unwrap();
    let data = repository::file("external_some", "second.ptd");
    let data = DataFile::parse(&data).unwrap();
    let mut names = 0;
    for value in program.methods.iter().flat_map(|m| &m.values) {
        if let Value::Tensor(tensor) = value
            && let DataSource::External(name) = tensor.data_source()
        {
            let entry = data.entry(name).unwrap();
            let layout = entry.layout.as_ref().unwrap();
            assert_eq!(layout.sizes, tensor.sizes);
            assert_eq!(layout.scalar_type, tensor.scalar_type);
            let stored = data.get(name).unwrap();
            assert!(stored.len() as u64 >= tensor.nbytes().unwrap());
            names += 1;
        }
    }
    assert_eq!(names, data.entries.len());
    assert!(names > 0);
    assert!(data.get("no such name").is_none());
}

#[test]
fn a_payload_in_the_flatbuffer_and_one_in_a_segment_are_both_found() {
    let bytes = repository::program("xnnpack_inline_delegate");
    let program = Program::parse(&bytes).unwrap();
    let delegate = &program.methods[0].delegates[0];
    assert!(matches!(delegate.data, DelegateData::Inline(_)));
    assert_eq!(delegate.backend, "XnnpackBackend");
    assert!(!program.delegate_payload(delegate).unwrap().is_empty());

    let program = two_delegates().build().unwrap();
    let delegates = &program.methods[0].delegates;
    assert_eq!(program.delegate_payload(&delegates[0]).unwrap(), b"inline");
    assert_eq!(program.delegate_payload(&delegates[1]).unwrap(), b"segment");
}

#[test]
fn named_data_is_found_by_its_name() {
    let mut program = ProgramBuilder::new();
    program.named("first", *b"one");
    program.named("second", *b"two");
    let program = program.build().unwrap();
    assert_eq!(program.named("second"), Some(&b"two"[..]));
    assert_eq!(program.named("third"), None);
}

#[test]
fn constants_are_found_in_the_flatbuffer_of_an_old_file() {
    let mut builder = ProgramBuilder::new();
    builder.inline_constants();
    let first = builder.constant([1, 2, 3]);
    let second = builder.constant([4, 5]);
    let mut forward = MethodBuilder::new("forward");
    forward.constant(ScalarType::Byte, &[3], first);
    forward.constant(ScalarType::Byte, &[2], second);
    builder.method(forward);
    let bytes = to_bytes(&builder.build().unwrap());
    let program = Program::parse(&bytes).unwrap();
    let constant = |i: usize| match &program.methods[0].values[i] {
        Value::Tensor(tensor) => program.constant_data(tensor, tensor.sizes[0] as usize),
        other => panic!("{other:?}"),
    };
    assert_eq!(constant(0).unwrap(), [1, 2, 3]);
    assert_eq!(constant(1).unwrap(), [4, 5]);
    assert_eq!(Layout::parse(&bytes).unwrap().header_length, None);
}

#[test]
fn what_is_no_program_is_refused_as_such() {
    assert_eq!(kind_of(b""), ErrorKind::NotThisFormat);
    assert_eq!(
        kind_of(b"\x7fELF\x02\x01\x01\0\0\0\0\0"),
        ErrorKind::NotThisFormat
    );
    assert_eq!(kind_of(b"\x1c\0\0\0ET99aaaaaaaa"), ErrorKind::Unsupported);
    let data_file = repository::file("external_some", "second.ptd");
    assert_eq!(kind_of(&data_file), ErrorKind::NotThisFormat);
    let program = repository::program("add");
    let error = DataFile::parse(&program).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotThisFormat);
    assert_eq!(
        error.to_string(),
        "not a data file that this version reads: the identifier is `ET12` and not `FT01`"
    );
}

#[test]
fn a_program_cut_anywhere_is_an_error() {
    let whole = to_bytes(&two_delegates().build().unwrap());
    for len in 0..whole.len() {
        assert!(Program::parse(&whole[..len]).is_err(), "cut at {len}");
    }
    let whole = repository::file("external_some", "second.ptd");
    for len in 0..whole.len() {
        assert!(DataFile::parse(&whole[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn a_segment_beyond_the_end_of_the_file_is_an_error() {
    let mut bytes = to_bytes(&two_delegates().build().unwrap());
    let base = u64::from_le_bytes(bytes[24..32].try_into().unwrap());
    bytes[24..32].copy_from_slice(&(base + 1).to_le_bytes());
    let error = Program::parse(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert!(
        error.to_string().starts_with("the header promises "),
        "{error}"
    );

    // Old headers do not say how many bytes of segments there are.
    bytes[12..16].copy_from_slice(&24u32.to_le_bytes());
    let error = Program::parse(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Truncated);
    assert_eq!(error.place(), "segment 1");
    bytes[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(Program::parse(&bytes).is_err());
    bytes[24..32].copy_from_slice(&base.to_le_bytes());
    assert!(Program::parse(&bytes).is_ok());
}

#[test]
fn a_header_that_is_too_short_is_an_error() {
    let mut bytes = to_bytes(&two_delegates().build().unwrap());
    bytes[12..16].copy_from_slice(&8u32.to_le_bytes());
    assert_eq!(
        message(&bytes),
        "the header says that it is 8 bytes long, too few for its fields"
    );
}

#[test]
fn an_argument_that_names_no_value_is_an_error_that_says_where() {
    let mut builder = ProgramBuilder::new();
    let mut forward = MethodBuilder::new("forward");
    for i in 0..100 {
        forward.int(i);
    }
    forward.call("test::nothing", &[]);
    forward.call("test::these", &[7, 77, 97]);
    builder.method(forward);
    let mut bytes = to_bytes(&builder.build().unwrap());
    replace(&mut bytes, &[7, 77, 97], &[7, 101, 97]);
    assert_eq!(
        message(&bytes),
        "method `forward`, instruction 1: argument 1 names value 101, but there are 100 values"
    );
    replace(&mut bytes, &[7, 101, 97], &[7, -2, 97]);
    assert_eq!(
        message(&bytes),
        "method `forward`, instruction 1, argument 1: -2 is not an index"
    );
}

#[test]
fn an_element_type_from_the_future_is_an_error_that_names_it() {
    let mut builder = ProgramBuilder::new();
    let mut forward = MethodBuilder::new("forward");
    forward.tensor(ScalarType::UInt64, &[2]);
    builder.method(forward);
    let bytes = to_bytes(&builder.build().unwrap());
    let mut changed = 0;
    for at in 0..bytes.len() {
        if bytes[at] == ScalarType::UInt64 as u8 {
            let mut bytes = bytes.clone();
            bytes[at] = 99;
            if let Err(error) = Program::parse(&bytes)
                && error.kind() == ErrorKind::Unsupported
            {
                let text = error.to_string();
                assert!(
                    text.starts_with(
                        "method `forward`, value 0: `Tensor.scalar_type` has the value 99, \
                         which is unknown to this version"
                    ),
                    "{text}"
                );
                changed += 1;
            }
        }
    }
    assert_eq!(changed, 1);
}

#[test]
fn a_name_in_a_message_is_short_and_harmless() {
    let mut builder = ProgramBuilder::new();
    let mut method = MethodBuilder::new("\x1b[2J".to_owned() + &"x".repeat(1000));
    method.input(3);
    builder.method(method);
    let text = builder.build().unwrap_err().to_string();
    assert!(!text.contains('\x1b'));
    assert!(text.len() < 200, "{text}");
}

#[test]
fn a_small_file_that_unfolds_to_a_large_one_is_refused() {
    // The list of methods names one method again and again, and that has many values.
    let mut builder = ProgramBuilder::new();
    let mut forward = MethodBuilder::new("forward");
    for _ in 0..5_000 {
        forward.none();
    }
    builder.method(forward);
    for i in 0..5_000 {
        builder.method(MethodBuilder::new(format!("{i}")));
    }
    let mut bytes = to_bytes(&builder.build().unwrap());
    let root = follow(&bytes, 0);
    let back = u32_at(&bytes, root) as i32 as isize;
    let vtable = root.checked_add_signed(-back).unwrap();
    let methods = follow(&bytes, root + u16_at(&bytes, vtable + 4 + 2) as usize);
    let first = follow(&bytes, methods + 4);
    for i in 0..u32_at(&bytes, methods) as usize {
        let at = methods + 4 + 4 * i;
        let offset = (first as u32).wrapping_sub(at as u32);
        bytes[at..at + 4].copy_from_slice(&offset.to_le_bytes());
    }
    let error = Program::parse(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooBig, "{error}");
}

#[test]
fn the_layout_accounts_for_every_byte() {
    for name in repository::PROGRAMS {
        let bytes = repository::program(name);
        let layout = Layout::parse(&bytes).unwrap();
        assert_eq!(layout.kind, FileKind::Program);
        assert_eq!(layout.file_size, bytes.len() as u64);
        let parts: u64 = layout.segments.iter().map(|s| s.size).sum();
        assert_eq!(
            layout.flatbuffer.size + parts + layout.padding(),
            layout.file_size,
            "{name}"
        );
        for segment in layout.segments.iter().filter(|s| s.size > 0) {
            assert!(segment.alignment().unwrap() >= 128, "{name}: {segment:?}");
        }
    }
    let bytes = repository::file("external_some", "second.ptd");
    let layout = Layout::parse(&bytes).unwrap();
    assert_eq!(layout.kind, FileKind::DataFile);
    assert_eq!(layout.header_length, Some(40));
}

fn two_delegates() -> ProgramBuilder {
    let mut builder = ProgramBuilder::new();
    let inline = builder.inline_payload(*b"inline");
    let segment = builder.payload(*b"segment");
    let mut forward = MethodBuilder::new("forward");
    let x = forward.tensor(ScalarType::Float, &[4]);
    forward.input(x);
    for data in [inline, segment] {
        let delegate = forward.delegate("TestBackend", data, &[("level", b"9")]);
        forward.call_delegate(delegate, &[x, x]);
    }
    forward.output(x);
    builder.method(forward);
    builder
}

fn to_bytes(program: &Program<'_>) -> Vec<u8> {
    program.to_bytes(&WriteOptions::default()).unwrap()
}

fn kind_of(bytes: &[u8]) -> ErrorKind {
    Program::parse(bytes).unwrap_err().kind()
}

fn message(bytes: &[u8]) -> String {
    Program::parse(bytes).unwrap_err().to_string()
}

/// Replaces numbers that follow each other somewhere in a file.
fn replace(bytes: &mut [u8], old: &[i32], new: &[i32]) {
    let flat =
        |numbers: &[i32]| -> Vec<u8> { numbers.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let (old, new) = (flat(old), flat(new));
    let at = bytes.windows(old.len()).position(|w| w == old).unwrap();
    bytes[at..at + new.len()].copy_from_slice(&new);
}

fn follow(bytes: &[u8], at: usize) -> usize {
    at + u32_at(bytes, at) as usize
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}
