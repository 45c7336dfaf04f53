//! Prefill and decode of a model whose engines have a profile for each.
//!
//! ```text
//! cargo run --release --example prefill_decode -- model.pte
//! ```
//!
//! The program has methods `prefill` and `decode`, or a single one for both. Their inputs are tensors of
//! f32, f16 or bf16. What is computed means nothing here, since inputs are made up: it shows how profiles
//! are chosen, and what that costs.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use thalweg::extend::bail;
use thalweg::info::MethodInfo;
use thalweg::info::{TensorInfo, ValueInfo};
use thalweg::{DType, Input, LoadOptions, Method, Profile, RunOptions, Runtime};
use thalweg::{Result, Tensor, TensorView, bf16, f16};

/// The profile for many rows, and the one for a single row, as the engine was built with them.
const PREFILL: usize = 1;
const DECODE: usize = 0;

/// So many rows are decoded after the first, which is not measured.
const DECODED: usize = 16;

fn main() -> Result<()> {
    let Some(path) = std::env::args().nth(1) else {
        bail!(InvalidOption, "usage: prefill_decode MODEL.pte");
    };
    print!("{}", run(&Runtime::detect(), Path::new(&path))?);
    Ok(())
}

/// Runs a program, and says what came of it.
pub(crate) fn run(runtime: &Runtime, path: &Path) -> Result<String> {
    // To look at it, which loads no engine.
    let methods = runtime.load(path)?;
    let names: Vec<_> = methods.method_names().collect();
    match (names.contains(&"prefill"), names.contains(&"decode")) {
        (true, true) => two_methods(runtime, path),
        _ => one_method(runtime, path, names.first().copied().unwrap_or("forward")),
    }
}

/// Each method has its profile for good: it is said once, when the program is loaded.
fn two_methods(runtime: &Runtime, path: &Path) -> Result<String> {
    let options = LoadOptions::new()
        .profile(
            Profile::Automatic
                .for_method("prefill", PREFILL)
                .for_method("decode", DECODE),
        )
        // So that no call has to make a context.
        .prepare_profiles(true);
    let program = runtime.load_with(path, &options)?;
    let prompt = inputs(&program.method_info("prefill")?, false)?;
    let one = program.method_info("decode")?;
    let token = inputs(&one, one.inputs == program.method_info("prefill")?.inputs)?;
    let (mut prefill, mut decode) = (program.method("prefill")?, program.method("decode")?);
    let pinned = RunOptions::new();
    let mut report = String::new();
    call(&mut report, "prefill", &mut prefill, &prompt, &pinned)?;
    decode_all(&mut report, &mut decode, &token, &pinned)?;
    // Another prompt, with the other method's profile used in between.
    call(&mut report, "prefill", &mut prefill, &prompt, &pinned)?;
    Ok(report)
}

/// One instance does both. Its engines have a context for each profile, so that going from one to the
/// other costs nothing; each call says which it wants.
fn one_method(runtime: &Runtime, path: &Path, name: &str) -> Result<String> {
    let options = LoadOptions::new().prepare_profiles(true);
    let program = runtime.load_with(path, &options)?;
    let info = program.method_info(name)?;
    let (prompt, token) = (inputs(&info, false)?, inputs(&info, true)?);
    let mut method = program.method(name)?;
    let profiles = [Profile::index(PREFILL), Profile::index(DECODE)];
    let [prefill, decode] = profiles.each_ref();
    let prefill = RunOptions::new().profile(prefill);
    let decode = RunOptions::new().profile(decode);
    let mut report = String::new();
    call(&mut report, "prefill", &mut method, &prompt, &prefill)?;
    decode_all(&mut report, &mut method, &token, &decode)?;
    call(&mut report, "prefill", &mut method, &prompt, &prefill)?;
    Ok(report)
}

fn decode_all(
    report: &mut String,
    method: &mut Method,
    token: &[Tensor],
    options: &RunOptions<'_>,
) -> Result<()> {
    call(report, "decode", method, token, options)?;
    let given: Vec<Input<'_>> = token.iter().map(Input::from).collect();
    let start = Instant::now();
    for _ in 0..DECODED {
        method.run_with(&given, options)?;
    }
    let each = start.elapsed() / DECODED as u32;
    let _ = writeln!(report, "decode: {DECODED} more, {each:?} each");
    Ok(())
}

/// Makes a call, and says how long it took and what came out.
fn call(
    report: &mut String,
    what: &str,
    method: &mut Method,
    inputs: &[Tensor],
    options: &RunOptions<'_>,
) -> Result<Duration> {
    let given: Vec<Input<'_>> = inputs.iter().map(Input::from).collect();
    let start = Instant::now();
    let outputs = method.run_with(&given, options)?;
    let time = start.elapsed();
    for (index, output) in outputs.iter().enumerate() {
        let output = output?.tensor()?;
        let first: Vec<_> = numbers(output)?.into_iter().take(4).collect();
        let _ = writeln!(
            report,
            "{what}: output {index} is {}{:?}, {first:?} ...; {time:?}",
            output.dtype(),
            output.sizes()
        );
    }
    Ok(time)
}

/// Inputs for a method, as large as it takes; or with a single row, where there could be more.
fn inputs(info: &MethodInfo, one_row: bool) -> Result<Vec<Tensor>> {
    let input = |input: &ValueInfo| match input {
        ValueInfo::Tensor(info) => tensor(info, one_row),
        other => bail!(Unsupported, "an input that is no tensor, but {other:?}"),
    };
    info.inputs.iter().map(input).collect()
}

/// A tensor with small numbers.
fn tensor(info: &TensorInfo, one_row: bool) -> Result<Tensor> {
    let mut sizes = info.sizes.clone();
    if one_row && let Some(rows) = sizes.iter_mut().find(|size| **size > 1) {
        *rows = 1;
    }
    let count = thalweg::extend::numel(&sizes)?;
    let numbers = (0..count).map(|index| (index % 7) as f32 - 3.0);
    match info.dtype {
        DType::F32 => Tensor::from_slice(&numbers.collect::<Vec<_>>(), &sizes),
        DType::F16 => Tensor::from_slice(&numbers.map(f16::from_f32).collect::<Vec<_>>(), &sizes),
        DType::BF16 => Tensor::from_slice(&numbers.map(bf16::from_f32).collect::<Vec<_>>(), &sizes),
        other => bail!(
            Unsupported,
            "an input of {other}; this takes f32, f16 and bf16"
        ),
    }
}

/// The elements of a tensor, as what they are. Other types are refused, rather than taken for these.
fn numbers(tensor: TensorView<'_>) -> Result<Vec<f32>> {
    Ok(match tensor.dtype() {
        DType::F32 => tensor.data::<f32>()?.to_vec(),
        DType::F16 => tensor.data::<f16>()?.iter().map(|x| x.to_f32()).collect(),
        DType::BF16 => tensor.data::<bf16>()?.iter().map(|x| x.to_f32()).collect(),
        other => bail!(
            Unsupported,
            "an output of {other}; this reads f32, f16 and bf16"
        ),
    })
}
