//! Programs that go to a device and back, hop by hop: made step by step, or at random.
//!
//! Tests of other crates that run such programs include this file, and `programs`, too.

#![allow(dead_code, reason = "every test file uses some of it")]

use thalweg_core::Movement;
use thalweg_core::StaticArguments;
use thalweg_core::{DeviceId, DeviceKind, Kernel, KernelCall, KernelRegistry, Result, bail};
use thalweg_format::{
    Allocation, ExtraTensorInfo, MethodBuilder, Program, ProgramBuilder, ScalarType, ShapeDynamism,
};

use crate::programs::tensor_mut;

pub(crate) const UPLOAD: &str = "et_copy::_h2d_copy.out";
pub(crate) const DOWNLOAD: &str = "et_copy::_d2h_copy.out";
const VIEW: &str = "executorch_prim::et_view.default";

/// A device by its index.
pub(crate) const fn cuda(index: i8) -> DeviceId {
    DeviceId {
        kind: DeviceKind::Cuda,
        index,
    }
}

/// A method under construction, on tensors of two elements a row. Its delegates, of the backends
/// `Increment` and `Update`, add 1 on the device of their arguments; `Update` does it in place.
pub(crate) struct Maker {
    program: ProgramBuilder,
    pub(crate) forward: MethodBuilder,
    /// One for each device.
    arenas: Vec<u32>,
    /// The device that memory is made on, among them.
    pub(crate) at: usize,
    delegate: u32,
    update: u32,
}

impl Maker {
    pub(crate) fn new() -> Self {
        Self::on(&[cuda(0)])
    }

    pub(crate) fn on(devices: &[DeviceId]) -> Self {
        Self::with("forward", devices)
    }

    pub(crate) fn named(name: &'static str) -> Self {
        Self::with(name, &[cuda(0)])
    }

    fn with(name: &'static str, devices: &[DeviceId]) -> Self {
        let mut program = ProgramBuilder::new();
        let payload = program.payload(vec![0]);
        let mut forward = MethodBuilder::new(name);
        Self {
            arenas: devices.iter().map(|&id| forward.arena(id)).collect(),
            at: 0,
            delegate: forward.delegate("Increment", payload, &[]),
            update: forward.delegate("Update", payload, &[]),
            program,
            forward,
        }
    }

    pub(crate) fn host(&mut self, rows: u32) -> u32 {
        self.forward.tensor(ScalarType::Float, &[rows, 2])
    }

    pub(crate) fn input(&mut self, rows: u32) -> u32 {
        let x = self.host(rows);
        self.forward.input(x);
        x
    }

    pub(crate) fn device(&mut self, rows: u32) -> u32 {
        self.forward
            .tensor_in(self.arenas[self.at], ScalarType::Float, &[rows, 2])
    }

    /// As for `host`, at a place in the first arena.
    pub(crate) fn host_at(&mut self, rows: u32, offset: u64) -> u32 {
        let value = self.host(rows);
        let tensor = tensor_mut(&mut self.forward, value);
        tensor.allocation = tensor
            .allocation
            .map(|place| Allocation { offset, ..place });
        value
    }

    /// As for `host`, of any number of rows up to this.
    pub(crate) fn dynamic(&mut self, rows: u32) -> u32 {
        self.forward.dynamic_tensor(ScalarType::Float, &[rows, 2])
    }

    /// The same, on the device.
    pub(crate) fn dynamic_device(&mut self, rows: u32) -> u32 {
        let value = self.device(rows);
        tensor_mut(&mut self.forward, value).dynamism = ShapeDynamism::DynamicBound;
        value
    }

    pub(crate) fn upload(&mut self, x: u32, rows: u32) -> u32 {
        let to = self.device(rows);
        self.forward.call(UPLOAD, &[x, to, to]);
        to
    }

    pub(crate) fn download(&mut self, x: u32, rows: u32) -> u32 {
        let to = self.host(rows);
        self.forward.call(DOWNLOAD, &[x, to, to]);
        to
    }

    pub(crate) fn increment(&mut self, x: u32, rows: u32) -> u32 {
        let out = self.device(rows);
        self.forward.call_delegate(self.delegate, &[x, out]);
        out
    }

    pub(crate) fn increment_to(&mut self, x: u32, out: u32) {
        self.forward.call_delegate(self.delegate, &[x, out]);
    }

    pub(crate) fn increment_in_place(&mut self, x: u32) {
        self.forward.call_delegate(self.delegate, &[x, x]);
    }

    /// Up, plus one, and down again.
    pub(crate) fn hop(&mut self, x: u32, rows: u32) -> u32 {
        let up = self.upload(x, rows);
        let out = self.increment(up, rows);
        self.download(out, rows)
    }

    /// The same, by a delegate that updates its argument in place.
    pub(crate) fn update(&mut self, x: u32, rows: u32) -> u32 {
        let (up, out) = (self.upload(x, rows), self.device(rows));
        self.forward.call_delegate(self.update, &[up, out]);
        self.download(out, rows)
    }

    pub(crate) fn copy_to(&mut self, target: u32, x: u32) {
        self.forward.call("t::copy_", &[target, x, target]);
    }

    pub(crate) fn clone_of(&mut self, x: u32, rows: u32) -> u32 {
        let out = self.host(rows);
        self.forward.call("t::clone.out", &[x, out, out]);
        out
    }

    pub(crate) fn rows_of(&mut self, x: u32, start: i64, rows: u32) -> u32 {
        let start = self.forward.int(start);
        let out = self.host(rows);
        self.forward.call("t::rows.out", &[x, start, out, out]);
        out
    }

    /// Two tensors, one after the other.
    pub(crate) fn join(&mut self, (a, rows): (u32, u32), (b, more): (u32, u32)) -> u32 {
        let parts = self.forward.tensor_list(&[a, b]);
        let out = self.host(rows + more);
        self.forward.call("t::join.out", &[parts, out, out]);
        out
    }

    pub(crate) fn view_of(&mut self, x: u32, rows: u32) -> u32 {
        let sizes = self.forward.int_list(&[i64::from(rows), 2]);
        let out = self.forward.unplanned_tensor(ScalarType::Float, &[rows, 2]);
        self.forward.call(VIEW, &[x, sizes, out]);
        out
    }

    pub(crate) fn name(&mut self, x: u32, name: &'static str) {
        tensor_mut(&mut self.forward, x).extra = Some(ExtraTensorInfo {
            fully_qualified_name: Some(name.into()),
            ..ExtraTensorInfo::default()
        });
    }

    pub(crate) fn double(&mut self, x: u32) {
        let two = self.forward.double(2.0);
        self.forward.call("t::scale_", &[x, two, x]);
    }

    pub(crate) fn build(self) -> Program<'static> {
        self.into_program().build().unwrap()
    }

    /// The program with this method, for others to come.
    pub(crate) fn into_program(mut self) -> ProgramBuilder {
        self.program.method(self.forward);
        self.program
    }

    pub(crate) fn constant(&mut self, numbers: [f32; 4]) -> u32 {
        self.program
            .constant(numbers.map(f32::to_ne_bytes).as_flattened())
    }

    pub(crate) fn initial(&mut self, numbers: [f32; 4]) -> u32 {
        let bytes = numbers.map(f32::to_ne_bytes);
        self.program.initial_value(bytes.as_flattened())
    }
}

/// Delegates, operators of the host, moves and state, in any order.
pub(crate) fn random_program(seed: u64, devices: &[DeviceId]) -> Program<'static> {
    let mut random = Random::new(seed);
    let mut m = Maker::on(devices);
    let x = m.host(4);
    m.forward.input(x);
    let total = m.forward.state(ScalarType::Float, &[4, 2], 0);
    if seed.is_multiple_of(2) {
        m.name(total, "total");
    }
    let other = m.forward.state(ScalarType::Float, &[4, 2], 0);
    if seed.is_multiple_of(3) {
        m.name(other, "other");
    }
    let mut values = vec![(x, 4), (total, 4), (other, 4)];
    // The input is the caller's; what is made of it may be written.
    let first = m.clone_of(x, 4);
    values.push((first, 4));
    values.push((m.hop(first, 4), 4));
    // A part that a condition may skip, and what was there before it.
    let mut skipped: Option<(u32, usize)> = None;
    for _ in 0..random.below(18) + 3 {
        let (value, rows) = values[random.below(values.len())];
        if devices.len() > 1 {
            m.at = random.below(devices.len());
        }
        match random.below(14) {
            0..=2 => values.push((m.hop(value, rows), rows)),
            3 => values.push((m.clone_of(value, rows), rows)),
            4 if rows > 1 => {
                let start = random.below(rows as usize - 1) as i64;
                let rows = rows - start as u32 - random.below(2) as u32;
                values.push((m.rows_of(value, start, rows.max(1)), rows.max(1)));
            }
            5 => values.push((m.view_of(value, rows), rows)),
            6 if value != x => m.double(value),
            7 => {
                let out = m.host(rows);
                m.forward.call("t::add.out", &[value, value, out, out]);
                values.push((out, rows));
            }
            8 if rows == 4 && value != total => m.copy_to(total, value),
            9 if rows == 4 && value != other => m.copy_to(other, value),
            10 => {
                let state = [total, other][random.below(2)];
                let y = m.update(state, 4);
                if random.below(4) > 0 {
                    m.copy_to(state, y);
                }
                values.push((y, 4));
            }
            11 => values.push((m.update(value, rows), rows)),
            13 => {
                let (other, more) = values[random.below(values.len())];
                values.push((m.join((value, rows), (other, more)), rows + more));
            }
            12 if seed.is_multiple_of(5) => match skipped.take() {
                None => {
                    let condition = m.forward.bool(random.below(2) == 0);
                    skipped = Some((m.forward.jump_if_false(condition, 0), values.len()));
                }
                Some((jump, known)) => {
                    m.forward.land(jump);
                    // What may not have been computed is not used.
                    values.truncate(known);
                }
            },
            _ => {}
        }
    }
    if let Some((jump, known)) = skipped {
        m.forward.land(jump);
        values.truncate(known);
    }
    for _ in 0..3 {
        m.forward.output(values[random.below(values.len())].0);
    }
    m.build()
}

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

/// Operators that only move memory: a copy, and leading rows.
pub(crate) fn moving() -> Result<KernelRegistry> {
    let mut kernels = KernelRegistry::new();
    let clone = "t::clone.out(Tensor a, *, Tensor(a!) out) -> Tensor(a!)";
    kernels.add(Kernel::new(clone, rows)?.with_movement(|_| Some(Movement::Same { from: 0 })));
    let rows_from = "t::rows.out(Tensor a, int start, *, Tensor(a!) out) -> Tensor(a!)";
    kernels.add(Kernel::new(rows_from, rows)?.with_movement(rows_moved));
    let copy = "t::copy_(Tensor(a!) self, Tensor src) -> Tensor(a!)";
    let copied = |_: &StaticArguments<'_>| Some(Movement::Range { from: 1, offset: 0 });
    kernels.add(Kernel::new(copy, copy_over)?.with_movement(copied));
    let joined = "t::join.out(Tensor[] parts, *, Tensor(a!) out) -> Tensor(a!)";
    kernels.add(
        Kernel::new(joined, join)?.with_movement(|_| Some(Movement::Concatenation { list: 0 })),
    );
    for copy in [UPLOAD, DOWNLOAD] {
        let signature = format!("{copy}(Tensor self, *, Tensor(a!) out) -> Tensor(a!)");
        kernels.register(&signature, |_| bail!(Internal, "copies between devices"))?;
    }
    Ok(kernels)
}

fn rows(call: &KernelCall<'_>) -> Result<()> {
    let a = call.tensor(0)?;
    let out = call.len() - 2;
    // A clone has the shape of what it is made of; of leading rows there are as many as fit.
    let (start, sizes) = match out {
        1 => (0, a.sizes().to_vec()),
        _ => (call.int(1)? as usize, call.output_sizes(out)?.to_vec()),
    };
    let mut target = call.output(out, &sizes)?;
    let target = target.data_mut::<f32>()?;
    target.copy_from_slice(&a.data::<f32>()?[start * 2..][..target.len()]);
    Ok(())
}

fn rows_moved(call: &StaticArguments<'_>) -> Option<Movement> {
    let start = usize::try_from(call.int(1)?).ok()?;
    let offset = start * 2 * size_of::<f32>();
    Some(Movement::Range { from: 0, offset })
}

fn join(call: &KernelCall<'_>) -> Result<()> {
    let mut all = Vec::new();
    let parts = call.tensor_list(0)?;
    for index in 0..parts.len() {
        all.extend_from_slice(parts.get(index)?.data::<f32>()?);
    }
    let sizes = call.output_sizes(1)?;
    let mut target = call.output(1, &sizes)?;
    target.data_mut::<f32>()?.copy_from_slice(&all);
    Ok(())
}

fn copy_over(call: &KernelCall<'_>) -> Result<()> {
    let src = call.tensor(1)?;
    call.in_place(0)?
        .data_mut::<f32>()?
        .copy_from_slice(src.data()?);
    Ok(())
}
