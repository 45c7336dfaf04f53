//! What is written is what was read, laid out as asked for.

mod repository;

use std::borrow::Cow;

use thalweg_format::*;

#[test]
fn every_program_of_the_exporter_survives_writing() {
    for name in repository::PROGRAMS {
        let bytes = repository::program(name);
        let program = Program::parse(&bytes).unwrap();
        let again = program.to_bytes(&WriteOptions::default()).unwrap();
        assert_eq!(Program::parse(&again).unwrap(), program, "{name}");
    }
}

#[test]
fn a_data_file_of_the_exporter_survives_writing() {
    let bytes = repository::file("external_some", "second.ptd");
    let data = DataFile::parse(&bytes).unwrap();
    let again = data.to_bytes(&WriteOptions::default()).unwrap();
    assert_eq!(DataFile::parse(&again).unwrap(), data);
}

#[test]
fn a_program_with_everything_survives_writing() {
    let program = everything();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    let again = Program::parse(&bytes).unwrap();
    // Compared as text, since a NaN is not equal to itself.
    assert_eq!(format!("{again:?}"), format!("{program:?}"));
}

#[test]
fn an_empty_program_survives_writing() {
    let bytes = Program::default()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    assert_eq!(Program::parse(&bytes).unwrap(), Program::default());
    let bytes = DataFile::default()
        .to_bytes(&WriteOptions::default())
        .unwrap();
    assert_eq!(DataFile::parse(&bytes).unwrap(), DataFile::default());
}

#[test]
fn writing_twice_gives_the_same_bytes() {
    let options = WriteOptions::default();
    let first = everything().to_bytes(&options).unwrap();
    let read = Program::parse(&first).unwrap();
    assert_eq!(read.to_bytes(&options).unwrap(), first);
}

#[test]
fn a_program_without_segments_has_no_header() {
    let mut builder = ProgramBuilder::new();
    builder.method(MethodBuilder::new("forward"));
    let program = builder.build().unwrap();
    let bytes = program.to_bytes(&WriteOptions::default()).unwrap();
    assert_eq!(Layout::parse(&bytes).unwrap().header_length, None);
}

#[test]
fn segments_are_aligned_as_asked_for() {
    for alignment in [1, 16, 128, 4096] {
        let options = WriteOptions {
            segment_alignment: alignment,
            ..WriteOptions::default()
        };
        let bytes = everything().to_bytes(&options).unwrap();
        let layout = Layout::parse(&bytes).unwrap();
        for segment in &layout.segments {
            assert_eq!(segment.offset % u64::from(alignment), 0);
        }
        assert_eq!(layout.segment_base + layout.segment_bytes, layout.file_size);
        assert_eq!(
            Program::parse(&bytes).unwrap().segments,
            everything().segments
        );
    }
}

#[test]
fn inline_data_is_aligned_as_asked_for() {
    for alignment in [4, 16, 64, 1024] {
        let options = WriteOptions {
            inline_alignment: alignment,
            ..WriteOptions::default()
        };
        let bytes = everything().to_bytes(&options).unwrap();
        let program = Program::parse(&bytes).unwrap();
        for data in program.delegate_data.iter().filter(|d| !d.is_empty()) {
            let offset = data.as_ptr() as usize - bytes.as_ptr() as usize;
            assert_eq!(offset % alignment as usize, 0);
        }
    }
}

#[test]
fn an_alignment_that_is_no_power_of_two_is_an_error() {
    for (segment_alignment, inline_alignment) in [(0, 16), (48, 16), (128, 24)] {
        let options = WriteOptions {
            segment_alignment,
            inline_alignment,
        };
        let error = everything().to_bytes(&options).unwrap_err();
        assert!(error.to_string().contains("power of two"), "{error}");
    }
}

#[test]
fn a_program_that_contradicts_itself_is_not_written() {
    let mut program = everything();
    program.methods[0].inputs.push(1000);
    assert!(program.to_bytes(&WriteOptions::default()).is_err());
}

#[test]
fn a_failing_writer_is_an_error_with_its_cause() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = everything()
        .write_to(&mut Full, &WriteOptions::default())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_data_file_keeps_blobs_without_layout_and_shared_segments() {
    let file = DataFile {
        version: 0,
        segments: vec![Cow::Borrowed(b"blob"), Cow::Borrowed(&[0; 24])],
        entries: vec![
            DataEntry {
                key: "blob".into(),
                segment: 0,
                layout: None,
            },
            DataEntry {
                key: "weight".into(),
                segment: 1,
                layout: Some(TensorLayout {
                    scalar_type: ScalarType::Float,
                    sizes: vec![2, 3],
                    dim_order: vec![1, 0],
                }),
            },
            DataEntry {
                key: "the same weight".into(),
                segment: 1,
                layout: None,
            },
        ],
    };
    let bytes = file.to_bytes(&WriteOptions::default()).unwrap();
    let again = DataFile::parse(&bytes).unwrap();
    assert_eq!(again, file);
    assert_eq!(again.get("blob"), Some(&b"blob"[..]));
}

/// Changes a method to what the builder does not write: unusual tensors, stack traces, a second chain.
fn edit(method: &mut Method<'static>, x: u32, z: u32) {
    method.container_meta = Some(ContainerMeta {
        inputs: Some("{}".into()),
        outputs: None,
    });
    let Value::Tensor(tensor) = &mut method.values[x as usize] else {
        unreachable!();
    };
    tensor.storage_offset = -3;
    tensor.dim_order = vec![1, 0];
    tensor.requires_grad = true;
    tensor.layout = -1;
    tensor.extra = Some(ExtraTensorInfo {
        device: Device {
            kind: DeviceKind::Cuda,
            index: -1,
        },
        ..ExtraTensorInfo::default()
    });
    let chain = &mut method.chains[0];
    chain.inputs = vec![x];
    chain.outputs = vec![z];
    chain.stacktrace = Some(vec![
        vec![],
        vec![
            Frame::default(),
            Frame {
                file: Some("model.py".into()),
                line: 12,
                function: Some("forward".into()),
                context: Some("x + y".into()),
            },
        ],
    ]);
    method.chains.push(Chain::default());
}

/// A program that uses all that the format has.
fn everything() -> Program<'static> {
    let mut builder = ProgramBuilder::new();
    let weight = builder.constant([7; 24]);
    let bias = builder.constant([8; 3]);
    let start = builder.initial_value([9; 8]);
    builder.named("engine", vec![1; 300]);
    let empty = builder.inline_payload([]);
    let inline = builder.inline_payload(vec![2; 33]);
    let other_inline = builder.inline_payload(vec![3; 5]);
    let segment = builder.payload(vec![4; 1000]);
    builder.segment([]);

    let mut m = MethodBuilder::new("forward");
    let gpu = m.arena(Device {
        kind: DeviceKind::Cuda,
        index: 1,
    });
    let x = m.tensor(ScalarType::Float, &[2, 3]);
    let y = m.dynamic_tensor(ScalarType::BFloat16, &[5, 7]);
    let z = m.tensor_in(gpu, ScalarType::Long, &[]);
    let late = m.unplanned_tensor(ScalarType::Bool, &[0, 4]);
    let weight = m.constant(ScalarType::Float, &[2, 3], weight);
    let bias = m.constant(ScalarType::QUInt2x4, &[3], bias);
    let state = m.state(ScalarType::Int, &[2], start);
    m.external("layers.0.weight", ScalarType::Float8E4M3Fn, &[1 << 20]);
    let none = m.none();
    let condition = m.bool(true);
    for value in [0.0, -0.0, 1.5, f64::INFINITY, f64::NAN] {
        m.double(value);
    }
    for value in [0, -1, i64::MIN, i64::MAX] {
        m.int(value);
    }
    m.string("");
    m.string("naïve\0text");
    m.int_list(&[1, 2, 3]);
    m.int_list(&[]);
    m.tensor_list(&[x, y]);
    m.value(Value::DoubleList(vec![-0.0, 2.5]));
    m.value(Value::BoolList(vec![true, false, true]));
    m.value(Value::OptionalTensorList(vec![None, Some(none), Some(x)]));

    m.input(x);
    m.call("aten::add.out", &[x, weight, y, y]);
    m.call("custom::no_overload", &[bias, state]);
    for (i, data) in [empty, inline, other_inline, segment]
        .into_iter()
        .enumerate()
    {
        let spec = vec![i as u8; 3 * i];
        let delegate = m.delegate("TestBackend", data, &[("", b""), ("key", &spec)]);
        m.call_delegate(delegate, &[x, z]);
    }
    let jump = m.jump_if_false(condition, 0);
    m.move_value(x, late);
    m.instruction(Instruction::Free { value: late });
    m.land(jump);
    m.output(z);

    edit(m.edit(), x, z);
    builder.method(m);
    builder.method(MethodBuilder::new(""));
    let mut program = builder.build().unwrap();
    program.version = 3;
    // An allocation that needs more than 32 bits.
    program.methods[0].arena_sizes.push(1 << 40);
    if let Value::Tensor(tensor) = &mut program.methods[0].values[z as usize] {
        tensor.allocation = Some(Allocation {
            arena: 3,
            offset: (1 << 39) + 5,
        });
    }
    program
}
