//! The repository's programs give the answers that PyTorch has given, whether instructions do the work
//! of those that follow them or each runs by itself.

mod models;

use models::Files;
use serde_json::Value as Json;
use thalweg::info::StepExecution;
use thalweg::{DType, LoadOptions, Method, Optimizations, Runtime, Tensor, Value, bf16, f16};

#[test]
fn programs_give_the_recorded_answers_with_separate_instructions_and_without() {
    let runtime = Runtime::builder().threads(2).build();
    let (mut compared, mut absorbed) = (0, 0);
    for (name, files) in models::all() {
        let case: Json = serde_json::from_slice(&files["case.json"]).unwrap();
        // Nothing here runs the delegate, and data files are not in memory.
        let is_alone = case["delegates"].as_array().is_some_and(Vec::is_empty);
        if !is_alone || files.keys().any(|file| file.ends_with(".ptd")) {
            continue;
        }
        let case = Case { name, files, case };
        let [apart, together] = [true, false].map(|separate| {
            let options = LoadOptions::new().optimizations(Optimizations::all().fusion(!separate));
            let program = runtime.load_bytes(case.files["model.pte"].clone(), &options);
            let program = program.unwrap();
            let methods = case.case["methods"].as_object().unwrap();
            let answers = methods.keys().map(|method| {
                let steps = program.schedule(method).unwrap().steps;
                let count = steps
                    .iter()
                    .filter(|step| step.execution == StepExecution::Fused)
                    .count();
                assert!(count == 0 || !separate, "{}.{method}", case.name);
                absorbed += count;
                case.run(&mut program.method(method).unwrap())
            });
            answers.collect::<Vec<_>>()
        });
        for (method, (apart, together)) in apart.iter().zip(&together).enumerate() {
            assert_eq!(apart.len(), together.len());
            for (output, (apart, together)) in apart.iter().zip(together).enumerate() {
                let what = format!("{}, method {method}, output {output}", case.name);
                if !case.is_free(method, output) {
                    case.compare(apart, together, &what);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 100, "only {compared} outputs were compared");
    assert!(absorbed > 40, "only {absorbed} instructions were absorbed");
}

/// A recorded program.
struct Case {
    name: String,
    files: Files,
    case: Json,
}

impl Case {
    /// The outputs of all recorded runs of a method, one after another, each compared with the recorded.
    fn run(&self, method: &mut Method) -> Vec<Value> {
        let mut all = Vec::new();
        for (index, run) in self.runs(method.name()).iter().enumerate() {
            let inputs = run["inputs"].as_array().unwrap();
            let inputs: Vec<_> = inputs.iter().map(|entry| self.value(entry)).collect();
            let outputs = method.run(&models::borrowed(&inputs)).unwrap();
            let outputs = outputs.to_values().unwrap();
            let entries = run["outputs"].as_array().unwrap();
            assert_eq!(outputs.len(), entries.len(), "{}", self.name);
            for (output, entry) in outputs.iter().zip(entries) {
                let what = format!("{}.{}, run {index}", self.name, method.name());
                let recorded = self.value(entry);
                if entry["compare"] == "shape" {
                    let [own, recorded] = [output, &recorded].map(|value| value.tensor().unwrap());
                    assert_eq!(own.sizes(), recorded.sizes(), "{what}");
                    assert_eq!(own.dtype(), recorded.dtype(), "{what}");
                } else if self.case["sequence"].is_null() {
                    self.compare(output, &recorded, &what);
                }
            }
            all.extend(outputs);
        }
        all
    }

    fn runs(&self, method: &str) -> &Vec<Json> {
        self.case["methods"][method].as_array().unwrap()
    }

    /// Whether the values of an output of the runs of a method are free.
    fn is_free(&self, method: usize, output: usize) -> bool {
        let methods = self.case["methods"].as_object().unwrap();
        let runs = methods.values().nth(method).unwrap().as_array().unwrap();
        let outputs = runs
            .iter()
            .flat_map(|run| run["outputs"].as_array().unwrap());
        outputs.into_iter().nth(output).unwrap()["compare"] == "shape"
    }

    fn value(&self, entry: &Json) -> Value {
        let text = |entry: &Json| entry.as_str().unwrap().to_string();
        match entry["kind"].as_str() {
            Some("none") => Value::None,
            Some("int") => Value::Int(entry["value"].as_i64().unwrap()),
            Some("bool") => Value::Bool(entry["value"].as_bool().unwrap()),
            Some("string") => Value::String(text(&entry["value"])),
            Some("double") => Value::Double(match entry["value"].as_f64() {
                Some(value) => value,
                None => text(&entry["value"]).parse().unwrap(),
            }),
            _ => Value::Tensor(self.tensor(entry)),
        }
    }

    fn tensor(&self, entry: &Json) -> Tensor {
        let numbers = |list: &Json| -> Vec<usize> {
            let list = list.as_array().unwrap().iter();
            list.map(|size| size.as_u64().unwrap() as usize).collect()
        };
        let sizes = numbers(&entry["shape"]);
        let order = match entry["dim_order"].is_null() {
            true => (0..sizes.len()).collect(),
            false => numbers(&entry["dim_order"]),
        };
        let order: Vec<u8> = order.into_iter().map(|dim| dim as u8).collect();
        let dtype = DType::from_name(entry["dtype"].as_str().unwrap()).unwrap();
        let bytes = &self.files[entry["file"].as_str().unwrap()];
        Tensor::from_bytes(dtype, &sizes, &order, bytes).unwrap()
    }

    fn compare(&self, own: &Value, other: &Value, what: &str) {
        let (Value::Tensor(own), Value::Tensor(other)) = (own, other) else {
            return assert_eq!(format!("{own:?}"), format!("{other:?}"), "{what}");
        };
        assert_eq!(own.sizes(), other.sizes(), "{what}");
        assert_eq!(own.dtype(), other.dtype(), "{what}");
        let [tolerance, rtol] = ["tolerance", "rtol"].map(|key| self.case[key].as_f64().unwrap());
        let pairs = numbers(own).into_iter().zip(numbers(other));
        for (at, (own, other)) in pairs.enumerate() {
            let is_right = own == other
                || own.is_nan() && other.is_nan()
                || (own - other).abs() <= tolerance + rtol * other.abs();
            assert!(is_right, "{what}, element {at}: {own}, not {other}");
        }
    }
}

/// All elements, in logical order.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    let tensor = tensor.to_row_major().unwrap();
    let view = tensor.view();
    macro_rules! all {
        ($type:ty, $number:expr) => {
            view.data::<$type>()
                .unwrap()
                .iter()
                .copied()
                .map($number)
                .collect()
        };
    }
    match tensor.dtype() {
        DType::F16 => all!(f16, f64::from),
        DType::BF16 => all!(bf16, f64::from),
        DType::F32 => all!(f32, f64::from),
        DType::F64 => all!(f64, f64::from),
        DType::I64 => all!(i64, |x| x as f64),
        DType::I32 => all!(i32, f64::from),
        // Booleans and small integers.
        _ => view.bytes().iter().map(|&byte| f64::from(byte)).collect(),
    }
}
