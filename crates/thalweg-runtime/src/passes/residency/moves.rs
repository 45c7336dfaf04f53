//! Operators that only move memory.

use thalweg_core::{Movement, Shape, StaticArguments, ValueId, is_row_major, numel};

use super::analysis::ResidencyAnalysis;
use super::device_heap::{Home, Part};
use super::host_shadows::{Move, Shadow, Source};
use crate::facts::Region;
use crate::facts::static_shapes;
use crate::schedule::{Execution, What};

impl ResidencyAnalysis<'_> {
    /// What an operator moves to which of its arguments, if all that it does is to move bytes.
    pub(super) fn moved(
        &self,
        operator: usize,
        arguments: &[ValueId],
    ) -> Option<(Movement, usize)> {
        let kernel = &self.kernels[operator];
        let call = static_shapes(self.plan, arguments, self.changing);
        let moved = kernel.movement(&call)?;
        let &[position] = kernel.signature().writes() else {
            return None;
        };
        let to = usize::from(position);
        let fits = match moved {
            Movement::Same { from } => {
                self.same_in_order(*arguments.get(from)?, *arguments.get(to)?)?
            }
            Movement::Range { from, offset } => fits(&call, from, offset, to),
            Movement::Concatenation { list } => joins(&call, list, to).is_some(),
        };
        fits.then_some((moved, to))
    }

    /// An operator that only moves whole ranges: if a device has what it moves, the device has the
    /// result. Whether that is so.
    pub(super) fn moves(
        &mut self,
        (moved, to): (Movement, usize),
        arguments: &[ValueId],
    ) -> Option<bool> {
        let to = *arguments.get(to)?;
        match moved {
            Movement::Same { from } => {
                let from = *arguments.get(from)?;
                let moves = self.moves_range(from, 0, to)?;
                if moves && !self.is_static(from)? {
                    self.do_before(What::PassShape(from, to));
                }
                Some(moves)
            }
            Movement::Range { from, offset } => self.moves_range(*arguments.get(from)?, offset, to),
            Movement::Concatenation { list } => self.moves_list(*arguments.get(list)?, to),
        }
    }

    /// Several values are joined on the device that has them all.
    fn moves_list(&mut self, list: ValueId, to: ValueId) -> Option<bool> {
        let plan = self.plan;
        let target = self.region(to)?;
        let mut parts = Vec::new();
        for id in plan.tensors_of(list) {
            let region = self.region_of(id)?;
            self.check_update(&region)?;
            let known = |shadow: &&Shadow| shadow.region.covers(&region) && shadow.source.is_some();
            let device = self
                .shadows
                .iter()
                .find(known)
                .and_then(|shadow| shadow.on_device);
            // Where the host has one of them, the host joins them.
            let Some((device, _)) = device else {
                return Some(false);
            };
            let (shadow, part) = self.shadow_on(&region, device)?;
            parts.push((device, shadow, part, region));
        }
        let Some(&(device, ..)) = parts.first() else {
            return Some(false);
        };
        let apart = |(other, _, _, region): &(usize, usize, Part, Region)| {
            *other == device && !region.overlaps(&target)
        };
        let arena = self.arena_on(device);
        let (Some(arena), true) = (arena, parts.iter().all(apart)) else {
            return Some(false);
        };
        if !self.is_planned(to)? || self.is_moving(&target) || self.kept(&target).is_some() {
            return Some(false);
        }
        let whole = self.add_buffer(device, target.bytes.len(), Home::Arena(arena));
        let mut at = whole;
        for (_, shadow, part, region) in &parts {
            self.use_region(region);
            let since = self.brought_before(&self.shadows[*shadow]);
            self.bring_to_device(*part, since);
            self.copy_before(device, *part, at, region.bytes.len());
            at.offset += region.bytes.len();
        }
        self.write_region(&target)?;
        let result = Shadow {
            region: target,
            on_device: Some((device, whole)),
            since: None,
            source: None,
            input: None,
        };
        self.runs_nowhere(to, result, false);
        Some(true)
    }

    /// All of an input becomes another value: that is the input, too.
    fn moves_input(&mut self, range: &Region, to: ValueId, target: &Region) -> Option<bool> {
        let whole = |shadow: &&Shadow| shadow.region == *range && shadow.on_device.is_none();
        let found = self.shadows.iter().find(whole);
        let Some(&Shadow {
            input: Some(input),
            source: Some(source),
            ..
        }) = found
        else {
            return Some(false);
        };
        if self.input_buffers.contains_key(&input)
            || range.overlaps(target)
            || !self.is_planned(to)?
            || self.is_moving(target)
            || self.kept(target).is_some()
        {
            return Some(false);
        }
        self.use_region(range);
        self.write_region(target)?;
        let result = Shadow {
            region: target.clone(),
            on_device: None,
            since: None,
            source: Some(source),
            input: Some(input),
        };
        self.runs_nowhere(to, result, true);
        Some(true)
    }

    /// A range of a value becomes another value.
    fn moves_range(&mut self, from: ValueId, offset: usize, to: ValueId) -> Option<bool> {
        let (source, target) = (self.region(from)?, self.region(to)?);
        let bytes = target.bytes.len();
        let start = source.bytes.start.checked_add(offset)?;
        let range = Region {
            storage: source.storage,
            bytes: start..start.checked_add(bytes)?,
        };
        self.check_update(&source)?;
        let covers = |shadow: &&Shadow| shadow.region.covers(&range) && shadow.on_device.is_some();
        let Some(shadow) = self.shadows.iter().find(covers) else {
            return self.moves_input(&range, to, &target);
        };
        let (device, whole) = shadow.on_device?;
        let (since, known) = (self.brought_before(shadow), shadow.source);
        let within = range.bytes.start - shadow.region.bytes.start;
        let part = Part {
            buffer: whole.buffer,
            offset: whole.offset + within,
        };
        if source.overlaps(&target) || !self.is_planned(to)? || self.is_moving(&target) {
            return Some(false);
        }
        if self.kept(&target).is_some() {
            // A copy within the device is as long as the memory, not as the shape.
            if !self.is_static(to)? {
                return Some(false);
            }
            self.bring_to_device(part, since);
        }
        self.use_region(&range);
        if known.is_none() {
            self.fetch(&range)?;
        }
        if self.write_kept(device, part, &target, known.is_none())? {
            self.touch(part, self.now);
            return Some(true);
        }
        self.touch(part, self.now);
        self.write_region(&target)?;
        let result = Shadow {
            region: target,
            on_device: Some((device, part)),
            since,
            source: known,
            input: None,
        };
        match known {
            // Both sides have it: the host moves its own, and the device has the result, too.
            None => self.learn(result),
            Some(source) => {
                let by_host = match source {
                    Source::Input(_) | Source::Kept(_) => true,
                    Source::Download { .. } => false,
                    Source::Part { step, .. } => self.moved_at(step)?.by_host,
                };
                self.runs_nowhere(to, result, by_host);
            }
        }
        Some(true)
    }

    /// This instruction runs nowhere, for its result, whose source is that of what it moves, is there.
    /// `by_host`: if the host needs the result, the instruction makes it there.
    fn runs_nowhere(&mut self, to: ValueId, result: Shadow, by_host: bool) {
        let step = self.now;
        self.moves.push(Move {
            step,
            source: result.source,
            on_device: result.on_device,
            on_host: self.executions[step],
            by_host,
        });
        self.executions[step] = Execution::Nothing;
        self.learn(Shadow {
            source: Some(Source::Part { step, to }),
            ..result
        });
    }
}

/// Whether a move is one of bytes: within the source, of the same type, and in logical order on
/// both sides.
fn fits(call: &StaticArguments<'_>, from: usize, offset: usize, output: usize) -> bool {
    let (Some(from), Some(to)) = (call.shape(from), call.shape(output)) else {
        return false;
    };
    let bytes = |sizes: &[usize]| numel(sizes).ok()?.checked_mul(from.dtype.size());
    let (Some(room), Some(needed)) = (bytes(from.sizes), bytes(to.sizes)) else {
        return false;
    };
    let end = offset.checked_add(needed);
    from.dtype == to.dtype
        && is_row_major(from.sizes, from.dim_order)
        && is_row_major(to.sizes, to.dim_order)
        && end.is_some_and(|end| end <= room)
}

/// The same for tensors that are joined: together they are as large as the output.
fn joins(call: &StaticArguments<'_>, list: usize, output: usize) -> Option<()> {
    let Shape {
        dtype: to,
        sizes: to_sizes,
        dim_order: to_order,
    } = call.shape(output)?;
    let mut elements = 0usize;
    for index in 0..call.list_len(list)? {
        let Shape {
            dtype: from,
            sizes,
            dim_order: order,
        } = call.list_shape(list, index)?;
        if from != to || !is_row_major(sizes, order) {
            return None;
        }
        elements = elements.checked_add(numel(sizes).ok()?)?;
    }
    (is_row_major(to_sizes, to_order) && elements == numel(to_sizes).ok()?).then_some(())
}
