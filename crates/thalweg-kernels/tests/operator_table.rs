//! The table in `docs/operators.md` says what the registry has: each operator, its overloads, and
//! the element types that it was seen to work on.
//!
//! Types are found by running: an operator works on a type if some small call with a first tensor of
//! that type (masks and indices aside; without inputs, an output) succeeds. Calls are made up from the
//! signature.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use thalweg_core::{Argument, DType, Kernel, KernelRegistry, Parameter, ParameterKind, Tensor};

/// What is above the table is written by hand.
const MARKER: &str = "<!-- The rest is generated: see CONTRIBUTING.md. -->\n";

#[test]
fn the_table_of_operators_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operators.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (by_hand, found) = text.split_once(MARKER).expect("the marker is there");
    let table = table();
    if std::env::var_os("THALWEG_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{by_hand}{MARKER}{table}")).unwrap();
        return;
    }
    for (line, expected) in found.lines().zip(table.lines()) {
        assert_eq!(
            line, expected,
            "docs/operators.md is out of date: see CONTRIBUTING.md"
        );
    }
    assert_eq!(
        found.len(),
        table.len(),
        "docs/operators.md is out of date: see CONTRIBUTING.md"
    );
}

fn table() -> String {
    let mut registry = KernelRegistry::new();
    thalweg_kernels::register(&mut registry).unwrap();
    // By operator and types: the overloads.
    let mut rows: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for kernel in registry.iter() {
        let name = kernel.signature().operator();
        let (operator, overload) = name.split_once('.').unwrap_or((name, ""));
        let row = (operator.to_string(), type_names(&types(kernel)));
        rows.entry(row).or_default().push(overload.to_string());
    }
    let mut table = format!(
        "\n{} operators.\n\n| operator | overloads | types |\n|---|---|---|\n",
        registry.len()
    );
    for ((operator, types), overloads) in rows {
        let overloads: Vec<_> = overloads.iter().filter(|name| !name.is_empty()).collect();
        let overloads: Vec<_> = overloads.iter().map(|name| format!("`{name}`")).collect();
        writeln!(
            table,
            "| `{operator}` | {} | {types} |",
            overloads.join(", ")
        )
        .unwrap();
    }
    table
}

const INTEGERS: [DType; 8] = [
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
];
const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
const COMPLEX: [DType; 2] = [DType::ComplexF32, DType::ComplexF64];

/// Types in the order of the table, groups that are complete by their names.
fn type_names(types: &[DType]) -> String {
    let groups: [(&str, &[DType]); 4] = [
        ("integers", &INTEGERS),
        ("floats", &FLOATS),
        ("bool", &[DType::Bool]),
        ("complex", &COMPLEX),
    ];
    let mut names = Vec::new();
    for (name, group) in groups {
        let found: Vec<_> = group.iter().filter(|dtype| types.contains(dtype)).collect();
        if found.len() == group.len() {
            names.push(name);
        } else {
            names.extend(found.iter().map(|dtype| dtype.name()));
        }
    }
    names.join(", ")
}

/// The types that an operator works on; none for operators without tensors.
fn types(kernel: &Kernel) -> Vec<DType> {
    let all = || {
        INTEGERS
            .into_iter()
            .chain(FLOATS)
            .chain([DType::Bool])
            .chain(COMPLEX)
    };
    let parameters = kernel.signature().parameters();
    if !parameters.iter().any(is_tensor) {
        return Vec::new();
    }
    let probes = probes(kernel);
    let works = |dtype: &DType| probes.iter().any(|probe| probe.succeeds(kernel, *dtype));
    let types: Vec<_> = all().filter(works).collect();
    assert!(
        !types.is_empty(),
        "{}: no call was made up that works",
        kernel.signature()
    );
    types
}

/// What a made-up call looks like.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// The shape of the first tensor: this size, so many times.
    size: usize,
    rank: usize,
    /// The ranks of other inputs, of the first output, and of further ones.
    input_rank: usize,
    out_rank: usize,
    more_rank: usize,
    int: i64,
    list: usize,
    types: OtherTypes,
}

/// The types of tensors behind the first; that of the first where there is none.
#[derive(Clone, Copy, Debug)]
struct OtherTypes {
    inputs: Option<DType>,
    out: Option<DType>,
    /// Outputs behind the first.
    more: Option<DType>,
}

/// Made-up calls of one shape, of which at least one works for some type.
fn probes(kernel: &Kernel) -> Vec<Probe> {
    use DType::{Bool, ComplexF32, F32, I8, I64, U8};
    let parameters = kernel.signature().parameters();
    let has = |test: &dyn Fn(&Parameter) -> bool| parameters.iter().any(test);
    let inputs = parameters
        .iter()
        .filter(|p| is_tensor(p) && !is_output(p))
        .count();
    let outputs = parameters.iter().filter(|p| is_output(p)).count();
    let has_list = has(&|p| matches!(p.kind, ParameterKind::IntList | ParameterKind::DoubleList));
    let has_int =
        has_list || has(&|p| matches!(p.kind, ParameterKind::Int | ParameterKind::Scalar));

    let others = other_types([inputs, outputs]);
    let shapes = shapes([inputs, outputs], has_int, has_list);
    for [size, rank, input_rank, out_rank, more_rank, int, list] in shapes {
        let typed = |types: &OtherTypes| Probe {
            size,
            rank,
            input_rank,
            out_rank,
            more_rank,
            int: int as i64,
            list,
            types: *types,
        };
        let probes: Vec<_> = others.iter().map(typed).collect();
        let works = |probe: &Probe| {
            [F32, I64, I8, U8, Bool, ComplexF32]
                .iter()
                .any(|dtype| probe.succeeds(kernel, *dtype))
        };
        if probes.iter().any(works) {
            return probes;
        }
    }
    Vec::new()
}

/// The types of other tensors to try, by how many inputs and outputs there are.
fn other_types([inputs, outputs]: [usize; 2]) -> Vec<OtherTypes> {
    use DType::{Bool, ComplexF32, ComplexF64, F32, F64, I8, I64, U8};
    let input_types = [None, Some(I64), Some(F32), Some(Bool), Some(I8)];
    let out_types = [
        None,
        Some(F32),
        Some(I64),
        Some(Bool),
        Some(U8),
        Some(I8),
        Some(F64),
        Some(ComplexF32),
        Some(ComplexF64),
    ];
    let more_types = [Some(I64), Some(Bool), None, Some(F32)];
    let mut others = Vec::new();
    for inputs in &input_types[..if inputs > 1 { 5 } else { 1 }] {
        for out in out_types {
            for more in &more_types[..if outputs > 1 { 4 } else { 1 }] {
                others.push(OtherTypes {
                    inputs: *inputs,
                    out,
                    more: *more,
                });
            }
        }
    }
    others
}

/// Sizes, ranks and numbers to try: those of a [`Probe`], in its order.
fn shapes([inputs, outputs]: [usize; 2], has_int: bool, has_list: bool) -> Vec<[usize; 7]> {
    let mut shapes = Vec::new();
    for size in [1, 2, 3] {
        for rank in [2usize, 1, 4, 3, 5, 0] {
            let below = rank.saturating_sub(1);
            for input_rank in if inputs > 1 {
                vec![rank, 1, below]
            } else {
                vec![rank]
            } {
                for out_rank in [rank, rank + 1, below, 0, 1, 2] {
                    for more_rank in if outputs > 1 {
                        vec![out_rank, 1]
                    } else {
                        vec![out_rank]
                    } {
                        for int in if has_int { vec![1, 0] } else { vec![1] } {
                            for list in if has_list {
                                vec![rank, 1, 2, 3, 0, 4, 6]
                            } else {
                                vec![0]
                            } {
                                shapes
                                    .push([size, rank, input_rank, out_rank, more_rank, int, list]);
                            }
                        }
                    }
                }
            }
        }
    }
    shapes
}

impl Probe {
    fn succeeds(&self, kernel: &Kernel, dtype: DType) -> bool {
        let signature = kernel.signature();
        let arguments = self.arguments(signature.operator(), signature.parameters(), dtype);
        kernel.invoke(arguments).is_ok()
    }

    fn arguments(&self, operator: &str, parameters: &[Parameter], dtype: DType) -> Vec<Argument> {
        if let Some(arguments) = with_packed_weights(operator, dtype) {
            return arguments;
        }
        let typed = |p: &Parameter| is_tensor(p) && named_type(p).is_none();
        let first = parameters.iter().position(typed);
        let first_out = parameters.iter().position(is_output);
        let out = self.types.out.unwrap_or(dtype);
        let arguments = parameters.iter().enumerate().map(|(position, parameter)| {
            let name = parameter.name.as_str();
            let (own_type, own_rank) = match () {
                () if Some(position) == first => (dtype, self.rank),
                () if Some(position) == first_out => (out, self.out_rank),
                () if is_output(parameter) => (self.types.more.unwrap_or(dtype), self.more_rank),
                () => (self.types.inputs.unwrap_or(dtype), self.input_rank),
            };
            let own_type = named_type(parameter).unwrap_or(own_type);
            let own_rank = match (operator, name) {
                ("llama::update_cache_with_indices.out", "indices") => 2,
                ("aten::convolution_backward.out", "out2") => 1,
                (_, "beta") if is_tensor(parameter) => self.rank.saturating_sub(1),
                _ => own_rank,
            };
            let size = if is_output(parameter) { 0 } else { self.size };
            let tensor = || Tensor::zeros(own_type, &vec![size; own_rank]).unwrap();
            // What has to be there although it may be none, and what differs from its neighbours.
            match (name, parameter.kind) {
                ("padding" | "output_padding", _) => return Argument::IntList(vec![0; self.list]),
                ("output_size", ParameterKind::IntList) if parameter.optional => {
                    return Argument::IntList(vec![1; 2]);
                }
                ("output_mask", _) => return Argument::BoolList(vec![true; 3]),
                ("training", _) => return true.into(),
                ("dim2", _) => return 1.into(),
                ("approximate", _) => return "none".into(),
                ("quant_min" | "weight_quant_min", _) => return 0.into(),
                ("quant_max" | "weight_quant_max", _) => return 100.into(),
                ("dtype", _) if operator.contains("::choose_qparams") => {
                    return code(DType::I8).into();
                }
                ("dtype", ParameterKind::Int) if operator.contains("::dequantize") => {
                    return code(dtype).into();
                }
                ("dtype" | "output_dtype", ParameterKind::Int) if !parameter.optional => {
                    return code(out).into();
                }
                ("min", _) => {}
                _ if parameter.optional => return Argument::None,
                _ => {}
            }
            match parameter.kind {
                ParameterKind::Tensor => tensor().into(),
                ParameterKind::TensorList | ParameterKind::OptionalTensorList => {
                    Argument::TensorList(vec![Some(tensor())])
                }
                ParameterKind::Scalar | ParameterKind::Int => self.int.into(),
                ParameterKind::Double => 1.0.into(),
                ParameterKind::Bool => false.into(),
                ParameterKind::String => "".into(),
                ParameterKind::IntList => Argument::IntList(vec![self.int; self.list]),
                ParameterKind::DoubleList => Argument::DoubleList(vec![1.0; self.list]),
                _ => Argument::BoolList(vec![true; self.list]),
            }
        });
        arguments.collect()
    }
}

/// A call of an operator that takes weights packed by torchao, whose type is always the same: what has a
/// type is the other input, or the output.
fn with_packed_weights(operator: &str, dtype: DType) -> Option<Vec<Argument>> {
    let name = operator.strip_suffix(".out")?;
    let bits = name.chars().rev().find(char::is_ascii_digit);
    let bits = bits.and_then(|digit| digit.to_digit(10)).unwrap_or(4) as i32;
    let zeros = |dtype, sizes: &[usize]| Argument::from(Tensor::zeros(dtype, sizes).unwrap());
    let packed = |header: &[i32], len: usize| {
        let mut bytes: Vec<u8> = header.iter().flat_map(|x| x.to_le_bytes()).collect();
        bytes.resize(64 + len, 0);
        bytes
    };
    let list = |bytes: &[u8]| {
        let bytes: Vec<_> = bytes.iter().map(|byte| byte.cast_signed()).collect();
        Argument::from(Tensor::from_slice(&bytes, &[bytes.len()]).unwrap())
    };
    // Strips of 8 columns, in a group of 32 rows.
    let strips = |count: usize| {
        let len = count * (32 * bits as usize + 64);
        packed(&[6712, 1, bits, 0, 0, 8, 16, 2], len)
    };
    let [row, out] = [dtype, DType::F32].map(|dtype| zeros(dtype, &[1, 32]));
    let index = || zeros(DType::I64, &[1]);
    let ints = |ints: &[i64]| {
        ints.iter()
            .map(|&int| int.into())
            .collect::<Vec<Argument>>()
    };
    let arguments = if name.starts_with("torchao::_linear_8bit_act") {
        [vec![row, list(&strips(1))], ints(&[32, 8, 32]), vec![out]].concat()
    } else if name.starts_with("torchao::_linear_groupwise") {
        let header = [6712, 5, bits, 32, 128, 1, 0, 4, 32, 8];
        let weights = list(&packed(&header, 64 + 16 + 16 * bits as usize));
        [vec![row, weights], ints(&[32, 128, 4, 32]), vec![out]].concat()
    } else if name.starts_with("torchao::_shared_embedding") {
        let out = zeros(dtype, &[1, 32]);
        [
            vec![list(&strips(1))],
            ints(&[32, 8, 32]),
            vec![index(), out],
        ]
        .concat()
    } else if name.starts_with("torchao::_embedding") {
        let table = list(&packed(&[6712, 2, 1, bits, 32, 128], 4 * bits as usize));
        let [scales, zero_points] = [DType::F32, DType::I8].map(|dtype| zeros(dtype, &[1, 1]));
        let rest = vec![scales, zero_points, index(), zeros(dtype, &[1, 32])];
        [vec![table], ints(&[1, 32]), rest].concat()
    } else if name == "llama::quantized_moe_ffn" {
        let expert = |bytes: Vec<u8>| -> Argument {
            Tensor::from_slice(&bytes, &[1, bytes.len()])
                .unwrap()
                .into()
        };
        let router = [zeros(DType::F32, &[1, 32]), zeros(DType::F32, &[0])];
        let weights = vec![expert(strips(8)), expert(strips(4))];
        let rest = vec!["sigmoid".into(), 1.0.into(), out];
        [
            vec![row],
            router.into(),
            weights,
            ints(&[1, 1, 32, 32, 32, 4]),
            rest,
        ]
        .concat()
    } else {
        return None;
    };
    Some(arguments)
}

/// The type of an input of which there is a usual one: it says nothing of the operator.
fn named_type(parameter: &Parameter) -> Option<DType> {
    let name = parameter.name.as_str();
    match name {
        _ if is_output(parameter) => None,
        "indices" | "index" | "offsets" => Some(DType::I64),
        "mask" | "condition" => Some(DType::Bool),
        _ if name.contains("zero_point") => Some(DType::I64),
        _ if name.contains("scale") => Some(DType::F32),
        _ => None,
    }
}

/// PyTorch's number of a type.
fn code(dtype: DType) -> i64 {
    (0..64)
        .find(|&code| DType::from_code(code) == Some(dtype))
        .unwrap()
}

/// What is written and not read.
fn is_output(parameter: &Parameter) -> bool {
    is_tensor(parameter) && parameter.written && parameter.keyword
}

fn is_tensor(parameter: &Parameter) -> bool {
    use ParameterKind::{OptionalTensorList, Tensor, TensorList};
    matches!(parameter.kind, Tensor | TensorList | OptionalTensorList)
}
