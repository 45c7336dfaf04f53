//! Accesses of the host: what it reads is fetched, what it writes is no shadow any more.

use std::ops::Range;

use thalweg_core::ValueId;
use thalweg_core::engine::TensorId;

use super::analysis::ResidencyAnalysis;
use super::device_heap::Part;
use super::host_shadows::{Move, Shadow, Source};
use crate::facts::Region;
use crate::schedule::{CoherenceAction, Execution};

/// Among more tensors than these it is not looked for who uses a part of memory.
const MOST_USES: usize = 10_000;

impl ResidencyAnalysis<'_> {
    /// The host reads a value: whatever of it only a device has is fetched.
    pub(super) fn read(&mut self, value: ValueId) -> Option<()> {
        let plan = self.plan;
        for id in plan.tensors_of(value) {
            let region = self.region_of(id)?;
            self.read_region(&region)?;
        }
        Some(())
    }

    pub(super) fn read_region(&mut self, region: &Region) -> Option<()> {
        self.use_region(region);
        self.fetch(region)
    }

    /// Remembers that a value is used, by whomever. Whether it is from before the call.
    pub(super) fn use_region(&mut self, region: &Region) -> bool {
        let lasts = self.lasts(region);
        if lasts {
            self.lasting.push(region.clone());
        }
        lasts
    }

    /// Whether a region has not been written in this call, as far as is certain, or is shared.
    pub(super) fn lasts(&self, region: &Region) -> bool {
        let written = self.written.get(&region.storage);
        let covers = |range: &Range<usize>| {
            range.start <= region.bytes.start && region.bytes.end <= range.end
        };
        self.is_state(region) || !written.is_some_and(|ranges| ranges.iter().any(covers))
    }

    /// What is fetched is fetched at the instruction that would have made it, so that the copy is
    /// under way while the device goes on.
    pub(super) fn fetch(&mut self, region: &Region) -> Option<()> {
        self.check_update(region)?;
        for index in 0..self.shadows.len() {
            if self.shadows[index].region.overlaps(region) {
                self.provide(index)?;
            }
        }
        Some(())
    }

    /// The host gets a value that it does not have.
    pub(super) fn provide(&mut self, shadow: usize) -> Option<()> {
        match self.shadows[shadow].source.take() {
            Some(source) => self.provide_from(source, self.now),
            None => Some(()),
        }
    }

    pub(super) fn provide_from(&mut self, source: Source, before: usize) -> Option<()> {
        match source {
            Source::Input(input) => self.inputs_on_host[input] = true,
            Source::Kept(k) => self.act_before(before, k, CoherenceAction::ToHost),
            Source::Download { step, device } => {
                self.executions[step] = Execution::Download(device);
            }
            Source::Part { step, to } => {
                let moved = self.moved_at(step)?;
                let (on_host, on_device) = (moved.on_host, moved.on_device);
                if let (true, Some(from)) = (moved.by_host, moved.source) {
                    self.provide_from(from, step)?;
                    self.executions[step] = on_host;
                } else {
                    self.executions[step] = Execution::fetch(on_device?.0, to);
                }
            }
        }
        Some(())
    }

    /// The host, or a copy to it, writes a value: what was there before is gone.
    pub(super) fn write(&mut self, value: ValueId) -> Option<()> {
        let plan = self.plan;
        for id in plan.tensors_of(value) {
            let region = self.region_of(id)?;
            self.write_region(&region)?;
        }
        Some(())
    }

    pub(super) fn write_region(&mut self, region: &Region) -> Option<()> {
        for k in 0..self.keeping.len() {
            let kept = self.keeping[k].candidate.region.clone();
            if !kept.overlaps(region) {
                continue;
            }
            if region.covers(&kept) {
                self.keeping[k].updated_by = None;
                self.act(k, CoherenceAction::HostWrites);
                self.act_after(k, CoherenceAction::HostOnly);
            } else {
                self.check_update(&kept)?;
                self.act(k, CoherenceAction::ToHost);
                self.act(k, CoherenceAction::HostOnly);
            }
        }
        self.forget(region, None)
    }

    /// As for `write_region`, but the device writes what it keeps.
    pub(super) fn write_region_but(&mut self, region: &Region, kept: usize) -> Option<()> {
        self.forget(region, Some(kept))
    }

    /// Nothing is known any more of a region, but of what is kept on the device that writes it.
    pub(super) fn forget(&mut self, region: &Region, but: Option<usize>) -> Option<()> {
        let is_kept = |shadow: &Shadow| match shadow.on_device {
            Some((_, part)) => but.is_some_and(|k| {
                self.keeping[k].buffer == part.buffer
                    && self.keeping[k].candidate.region == shadow.region
            }),
            None => false,
        };
        // What is overwritten only in part is still needed for the rest.
        let in_part = |shadow: &Shadow| {
            shadow.region.overlaps(region)
                && !region.covers(&shadow.region)
                && !is_kept(shadow)
                && self.rest_is_used(&shadow.region, region)
        };
        let partly: Vec<usize> = (0..self.shadows.len())
            .filter(|&index| in_part(&self.shadows[index]))
            .collect();
        for index in partly {
            self.provide(index)?;
        }
        let written = self.written.entry(region.storage).or_default();
        if !written.contains(&region.bytes) {
            written.push(region.bytes.clone());
        }
        self.shadows
            .retain(|shadow| !shadow.region.overlaps(region));
        Some(())
    }

    /// Whether something still looks at what is left of a value whose memory is overwritten in part.
    /// Nothing does if no tensor there that has been used before is used again.
    fn rest_is_used(&self, value: &Region, overwritten: &Region) -> bool {
        let again = |&(id, (first, last)): &(TensorId, (usize, usize))| {
            first <= self.now && self.now < last && {
                let region = self.region_of(id);
                region.is_none_or(|r| r.overlaps(value) && !overwritten.covers(&r))
            }
        };
        !self.straight
            || self.is_state(value)
            || self.uses.len() > MOST_USES
            || self.uses.iter().any(again)
    }

    pub(super) fn learn(&mut self, shadow: Shadow) {
        if !self.is_moving(&shadow.region) {
            self.shadows.push(shadow);
        } else if let Some(Source::Input(input)) = shadow.source {
            self.inputs_on_host[input] = true;
        }
    }

    /// What a device has of a region: a value that covers it, and where the region is in it.
    pub(super) fn shadow_on(&self, region: &Region, device: usize) -> Option<(usize, Part)> {
        let covers = |shadow: &Shadow| {
            let there = shadow.on_device.is_some_and(|(other, _)| other == device);
            there && shadow.region.covers(region)
        };
        let index = self.shadows.iter().position(covers)?;
        let shadow = &self.shadows[index];
        let (_, part) = shadow.on_device?;
        let within = region.bytes.start - shadow.region.bytes.start;
        Some((
            index,
            Part {
                buffer: part.buffer,
                offset: part.offset + within,
            },
        ))
    }

    /// A stretch ends here: the host has what others may look at, and nothing is known any more.
    pub(super) fn leave(&mut self) -> Option<()> {
        let stretch = self.stretches[self.now - 1];
        for index in 0..self.shadows.len() {
            let region = self.shadows[index].region.clone();
            let overlaps = |other: &Region| other.overlaps(&region);
            let elsewhere = |&(other, id): &(usize, TensorId)| {
                other != stretch && self.region_of(id).is_none_or(|other| overlaps(&other))
            };
            if self.lasting.iter().any(overlaps)
                || self.states().iter().any(overlaps)
                || self.mentions.iter().any(elsewhere)
            {
                self.provide(index)?;
            }
        }
        self.shadows.clear();
        self.written.clear();
        Some(())
    }

    /// Values change their places: the host has everything.
    pub(super) fn move_value(&mut self) -> Option<()> {
        for index in 0..self.shadows.len() {
            self.provide(index)?;
        }
        self.shadows.clear();
        self.written.clear();
        Some(())
    }

    pub(super) fn moved_at(&self, step: usize) -> Option<&Move> {
        self.moves.iter().find(|moved| moved.step == step)
    }
}
