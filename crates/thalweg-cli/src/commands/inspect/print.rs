//! The description of a file as text.

use std::io::{self, Write};

use super::describe::{Beside, Data, DataEntry, FileLayout, Program};
use super::engine::{Binding, Contained, Described, Engine, Seen};
use super::methods::{
    Argument, CompileSpec, Delegate, Instructions, Method, Missing, MutableBuffer, Shape,
};
use super::plan::{Instruction, Known, Plan};
use crate::text::{bytes, columns, count, list, named, printable};

/// The number of entries of a long list that are printed. JSON has all of them.
const LONGEST: usize = 24;

/// Prints a program.
pub(super) fn program(program: &Program, out: &mut dyn Write) -> io::Result<()> {
    let methods = count(program.methods.len(), "method");
    let size = bytes(program.layout.file_bytes);
    writeln!(out, "{}: program of {size}, {methods}", program.file)?;
    if let Some(refused) = &program.refused {
        writeln!(out, "cannot be loaded: {refused}")?;
    }
    for method in &program.methods {
        writeln!(out)?;
        print_method(method, program.refused.is_some(), out)?;
    }
    if !program.named_data.is_empty() {
        writeln!(out, "\nnamed data")?;
        let rows = program.named_data.iter().map(|entry| {
            vec![
                printable(&entry.key),
                bytes(entry.bytes as u64),
                format!("segment {}", entry.segment),
            ]
        });
        print_rows("  ", rows, out)?;
    }
    for beside in &program.data_files {
        writeln!(out)?;
        match beside {
            Beside::Readable(data) => print_entries(data, out)?,
            Beside::Broken { file, error } => {
                writeln!(out, "{file}: cannot be read: {error}")?;
            }
        }
    }
    writeln!(out)?;
    print_layout(&program.layout, out)
}

/// Prints a data file.
pub(super) fn data_file(data: &Data, out: &mut dyn Write) -> io::Result<()> {
    print_entries(data, out)?;
    writeln!(out)?;
    print_layout(&data.layout, out)
}

fn print_method(method: &Method, refused: bool, out: &mut dyn Write) -> io::Result<()> {
    let runs = if method.runs_here {
        "runs here".into()
    } else if refused {
        "cannot run here".into()
    } else {
        format!("cannot run here: needs {}", needs(&method.missing))
    };
    writeln!(out, "method {}: {runs}", printable(&method.name))?;
    for reason in &method.missing.reasons {
        writeln!(out, "  {}", printable(reason))?;
    }
    print_arguments("inputs", &method.inputs, out)?;
    print_arguments("outputs", &method.outputs, out)?;
    writeln!(
        out,
        "  instructions: {}",
        instructions(&method.instructions)
    )?;
    if !method.operators.is_empty() {
        writeln!(out, "  operators")?;
        let rows = method.operators.iter().map(|operator| {
            vec![
                printable(&operator.name),
                count(operator.calls, "call"),
                availability(operator.available),
            ]
        });
        out.write_all(columns("    ", rows).as_bytes())?;
    }
    print_delegates(method, out)?;
    if !method.arenas.is_empty() {
        writeln!(out, "  memory")?;
        let rows = method.arenas.iter().map(|arena| {
            vec![
                format!("arena {}", arena.arena),
                bytes(arena.bytes),
                format!("on {}", arena.device),
            ]
        });
        print_rows("    ", rows, out)?;
    }
    let constants = &method.constants;
    if constants.tensors > 0 {
        let external = match constants.external.len() {
            0 => String::new(),
            n => format!(", {n} of them in data files"),
        };
        let tensors = count(constants.tensors, "tensor");
        let size = bytes(constants.bytes);
        writeln!(out, "  constants: {tensors} of {size}{external}")?;
    }
    if !method.mutable_buffers.is_empty() {
        writeln!(out, "  mutable buffers")?;
        print_rows("    ", method.mutable_buffers.iter().map(buffer), out)?;
    }
    match &method.plan {
        None => Ok(()),
        Some(Plan::Known(plan)) => print_plan(plan, out),
        Some(Plan::Unknown { error }) => print_no_plan(error, &method.missing.reasons, out),
    }
}

/// Prints a plan, with all instructions, however many there are.
fn print_plan(plan: &Known, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  plan: {}", copies(plan))?;
    let rows = plan.instructions.iter().enumerate();
    let rows = rows.map(|(index, instruction)| {
        vec![
            index.to_string(),
            printable(&instruction.name),
            instruction.runs.clone(),
            brought(plan, instruction),
        ]
    });
    out.write_all(columns("    ", rows).as_bytes())?;
    if !plan.kept.is_empty() {
        writeln!(out, "  stays on devices from call to call")?;
        let rows = plan.kept.iter().enumerate().map(|(index, kept)| {
            vec![
                printable(plan.kept_name(index)),
                bytes(kept.bytes as u64),
                format!("on {}", kept.device),
            ]
        });
        out.write_all(columns("    ", rows).as_bytes())?;
    }
    if !plan.device_memory.is_empty() {
        writeln!(out, "  an instance has on devices")?;
        let rows = plan.device_memory.iter().map(|memory| {
            let size = bytes(memory.bytes as u64);
            vec![size, format!("on {}", memory.device)]
        });
        out.write_all(columns("    ", rows).as_bytes())?;
    }
    Ok(())
}

/// Prints the reason that there is no plan. Reasons in `said` are printed already, and left out.
fn print_no_plan(error: &str, said: &[String], out: &mut dyn Write) -> io::Result<()> {
    let lines = error.lines().map(str::trim);
    let new: Vec<_> = lines
        .filter(|line| !said.iter().any(|said| said == line))
        .map(printable)
        .collect();
    writeln!(out, "  plan: cannot be made: {}", new.join("; "))
}

fn copies(plan: &Known) -> String {
    let copies = match (plan.copies, plan.copies_not_made) {
        (0, _) => "there are no copies between host and devices".into(),
        (1, 1) => "the only copy between host and device is not made".into(),
        (1, _) => "the only copy between host and device is made".into(),
        (all, left_out) => format!(
            "{left_out} of {all} copies between host and devices {} not made",
            if left_out == 1 { "is" } else { "are" }
        ),
    };
    match plan.reordered {
        0 => copies,
        1 => format!("{copies}; one tensor has its channels last"),
        count => format!("{copies}; {count} tensors have their channels last"),
    }
}

/// The persistent buffers that are copied before an instruction, in words.
fn brought(plan: &Known, instruction: &Instruction) -> String {
    let brought = instruction.first.iter().map(|brought| {
        let name = printable(plan.kept_name(brought.kept));
        format!("{name} to {}", brought.to)
    });
    let brought: Vec<_> = brought.collect();
    if brought.is_empty() {
        String::new()
    } else {
        format!("first: {}", list(&brought))
    }
}

fn print_arguments(title: &str, values: &[Argument], out: &mut dyn Write) -> io::Result<()> {
    if values.is_empty() {
        return writeln!(out, "  {title}: none");
    }
    writeln!(out, "  {title}")?;
    let named = values.iter().any(|value| value.name.is_some());
    let rows = values.iter().enumerate().map(|(index, value)| {
        let mut row = vec![index.to_string()];
        if named {
            row.push(printable(value.name.as_deref().unwrap_or_default()));
        }
        row.push(argument(value));
        row
    });
    print_rows("    ", rows, out)
}

fn print_delegates(method: &Method, out: &mut dyn Write) -> io::Result<()> {
    if method.delegates.is_empty() {
        return Ok(());
    }
    writeln!(out, "  delegates")?;
    let mut said = None;
    for (index, delegate) in method.delegates.iter().enumerate() {
        let row = vec![
            index.to_string(),
            printable(&delegate.backend),
            format!(
                "{} in {}",
                bytes(delegate.payload_bytes as u64),
                delegate.stored
            ),
            count(delegate.calls, "call"),
            usability(delegate),
        ];
        out.write_all(columns("    ", [row]).as_bytes())?;
        let specs = delegate.compile_specs.iter().map(compile_spec);
        print_rows("       ", specs, out)?;
        if let Some(engine) = &delegate.engine {
            print_engine(engine, &mut said, out)?;
        }
    }
    Ok(())
}

/// Prints an engine. The reason that TensorRT cannot describe it is usually the same for all engines.
/// The reason in `said` is printed already, and not repeated.
fn print_engine<'m>(
    engine: &'m Engine,
    said: &mut Option<&'m str>,
    out: &mut dyn Write,
) -> io::Result<()> {
    const INDENT: &str = "       ";
    let engine = match engine {
        Engine::Broken { error } => {
            return writeln!(out, "{INDENT}cannot be read: {}", printable(error));
        }
        Engine::Readable(engine) => engine,
    };
    writeln!(out, "{INDENT}{}", engine_facts(engine))?;
    let described = match &engine.seen {
        Seen::TensorRt(described) => Some(described),
        Seen::NotShown(_) => None,
    };
    // The engine itself knows best.
    let bindings = described.map_or(&engine.bindings, |described| &described.bindings);
    print_rows(INDENT, bindings.iter().map(binding), out)?;
    for alias in &engine.aliases {
        let (output, input) = (printable(&alias.output), printable(&alias.input));
        let said_by = alias.said_by;
        writeln!(
            out,
            "{INDENT}{output} is the memory of {input}, says the {said_by}"
        )?;
    }
    match &engine.seen {
        Seen::TensorRt(described) => print_described(INDENT, described, out),
        Seen::NotShown(reason) if *said == Some(&**reason) => {
            writeln!(
                out,
                "{INDENT}profiles and weights are not shown, for the same reason"
            )
        }
        Seen::NotShown(reason) => {
            *said = Some(reason);
            let reason = printable(reason);
            writeln!(out, "{INDENT}profiles and weights are not shown: {reason}")
        }
    }
}

fn print_described(indent: &str, described: &Described, out: &mut dyn Write) -> io::Result<()> {
    if !described.name.is_empty() {
        writeln!(out, "{indent}named {}", printable(&described.name))?;
    }
    for (index, profile) in described.profiles.iter().enumerate() {
        let scratch = bytes(profile.scratch_bytes as u64);
        let of_shapes = match profile.least_scratch_bytes {
            None => String::new(),
            Some(least) if least < profile.scratch_bytes => {
                format!(", {} for the least shapes", bytes(least as u64))
            }
            Some(_) => ", whatever the shapes".into(),
        };
        writeln!(
            out,
            "{indent}profile {index}: up to {scratch} of scratch{of_shapes}"
        )?;
        let rows = profile.inputs.iter().map(|input| {
            vec![
                printable(&input.input),
                input.text.clone(),
                format!("best at {:?}", input.opt),
            ]
        });
        print_rows(&format!("{indent}  "), rows, out)?;
    }
    let size = |size: i64| bytes(u64::try_from(size).unwrap_or(0));
    if described.streamable_weights > 0 {
        let budget = described.weight_budget.map_or("all".into(), size);
        writeln!(
            out,
            "{indent}{} of weights can stay on the host; {budget} would be on the device, and {} \
             for streaming the others",
            size(described.streamable_weights),
            size(described.weight_scratch),
        )?;
    }
    Ok(())
}

/// The metadata of an engine, in a line.
fn engine_facts(engine: &Contained) -> String {
    let mut facts = vec![format!("engine of {}", bytes(engine.engine_bytes as u64))];
    if let Some(version) = &engine.built_by {
        facts.push(format!("built by TensorRT {version}"));
    }
    facts.push(format!("for device {}", engine.device));
    if let Some(platform) = &engine.platform {
        facts.push(format!("for {}", printable(platform)));
    }
    if engine.hardware_compatible {
        facts.push("for more than one kind of GPU".into());
    }
    facts.join(", ")
}

fn binding(binding: &Binding) -> Vec<String> {
    let kind = if binding.is_input { "input" } else { "output" };
    let size = |size: &i64| match size {
        -1 => "?".into(),
        size => size.to_string(),
    };
    let shape = binding.shape.as_ref().map(|shape| {
        let sizes: Vec<String> = shape.iter().map(size).collect();
        format!("[{}]", sizes.join(", "))
    });
    let host = match binding.on_host {
        Some(true) => " on the host",
        _ => "",
    };
    let dtype = binding.dtype.as_deref().map(printable).unwrap_or_default();
    vec![
        kind.into(),
        printable(&binding.name),
        format!("{dtype}{}{host}", shape.unwrap_or_default()),
    ]
}

fn print_entries(data: &Data, out: &mut dyn Write) -> io::Result<()> {
    let size = bytes(data.layout.file_bytes);
    let entries = match data.entries.len() {
        1 => "1 entry".to_string(),
        n => format!("{n} entries"),
    };
    writeln!(out, "{}: data file of {size}, {entries}", data.file)?;
    print_rows("  ", data.entries.iter().map(entry), out)
}

fn print_layout(layout: &FileLayout, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "file layout")?;
    let mut rows = Vec::new();
    if let Some(header) = layout.header_bytes {
        rows.push(vec!["header".into(), "8".into(), bytes(header.into())]);
    }
    rows.push(vec![
        "flatbuffer".into(),
        "0".into(),
        bytes(layout.flatbuffer_bytes),
    ]);
    for (index, segment) in layout.segments.iter().enumerate() {
        let used_for = match &segment.used_for[..] {
            [] => "unused".into(),
            [one] => printable(one),
            [first, rest @ ..] => format!("{} and {} more", printable(first), rest.len()),
        };
        rows.push(vec![
            format!("segment {index}"),
            segment.offset.to_string(),
            bytes(segment.bytes),
            used_for,
        ]);
    }
    for row in &mut rows {
        row[1].insert_str(0, "at ");
    }
    print_rows("  ", rows, out)?;
    writeln!(out, "  padding: {}", bytes(layout.padding_bytes))
}

/// Prints rows in columns; of a long list, only the first rows.
fn print_rows(
    indent: &str,
    rows: impl IntoIterator<Item = Vec<String>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows: Vec<_> = rows.into_iter().collect();
    let total = rows.len();
    // To leave out a single one would save nothing.
    let shown = if total > LONGEST + 1 { LONGEST } else { total };
    out.write_all(columns(indent, rows.into_iter().take(shown)).as_bytes())?;
    if shown < total {
        writeln!(out, "{indent}... and {} more (see --json)", total - shown)?;
    }
    Ok(())
}

fn argument(argument: &Argument) -> String {
    match (&argument.tensor, &argument.value) {
        (Some(shape), _) => tensor(shape),
        (None, Some(value)) => format!("{} {}", argument.kind, printable(&value.to_string())),
        (None, None) if argument.kind == "any" => "any, known only at run time".into(),
        (None, None) => argument.kind.into(),
    }
}

fn tensor(tensor: &Shape) -> String {
    let sizes: Vec<String> = tensor
        .shape
        .iter()
        .map(|size| match tensor.sizes {
            "bounded" => format!("≤{size}"),
            "unbounded" => "?".into(),
            _ => size.to_string(),
        })
        .collect();
    let mut text = format!("{}[{}]", tensor.dtype, sizes.join(", "));
    if let Some(order) = &tensor.dim_order {
        text += &format!(" in dim order {order:?}");
    }
    if let Some(device) = &tensor.device {
        text += &format!(" on {device}");
    }
    text
}

fn buffer(buffer: &MutableBuffer) -> Vec<String> {
    vec![
        buffer.name.as_deref().map_or("(no name)".into(), printable),
        tensor(&buffer.tensor),
        bytes(buffer.bytes),
        match buffer.initial {
            "stored" => "starts with a stored value".into(),
            "external" => "starts with a value from a data file".into(),
            other => format!("starts with {other}"),
        },
    ]
}

fn entry(entry: &DataEntry) -> Vec<String> {
    vec![
        printable(&entry.key),
        entry.tensor.as_ref().map_or("blob".into(), tensor),
        bytes(entry.bytes as u64),
        format!("segment {}", entry.segment),
    ]
}

fn compile_spec(spec: &CompileSpec) -> Vec<String> {
    let value = match (&spec.text, &spec.hex) {
        (Some(text), _) => {
            let mut shown: String = text.chars().take(60).collect();
            if shown.len() < text.len() {
                shown += &format!("... ({})", count(spec.bytes, "byte"));
            }
            format!("= {}", printable(&shown))
        }
        (None, Some(hex)) if hex.len() < 2 * spec.bytes => {
            format!("= 0x{hex}... ({})", count(spec.bytes, "byte"))
        }
        (None, Some(hex)) => format!("= 0x{hex}"),
        (None, None) => "is set".into(),
    };
    vec![printable(&spec.key), value]
}

fn instructions(counts: &Instructions) -> String {
    let kinds = [
        (counts.kernel_calls, "kernel call"),
        (counts.delegate_calls, "delegate call"),
        (counts.moves, "move"),
        (counts.jumps, "jump"),
        (counts.frees, "free"),
    ];
    let present: Vec<String> = kinds
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|&(n, kind)| count(n, kind))
        .collect();
    if present.is_empty() {
        "none".into()
    } else {
        list(&present)
    }
}

/// The requirements that are missing, in words.
fn needs(missing: &Missing) -> String {
    let mut needs = Vec::new();
    for (names, kind) in [
        (&missing.operators, "the operator"),
        (&missing.backends, "the backend"),
        (&missing.devices, "the device"),
    ] {
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
            needs.push(named(kind, &names));
        }
    }
    needs.join("; ")
}

/// A note on a delegate whose backend is missing or does not work; else empty.
fn usability(delegate: &Delegate) -> String {
    match (delegate.available, delegate.works_here) {
        (true, false) => "does not work here".into(),
        (available, _) => availability(available),
    }
}

fn availability(available: bool) -> String {
    let text = if available { "" } else { "not in this build" };
    text.into()
}
