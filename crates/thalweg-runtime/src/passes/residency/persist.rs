//! The persistent buffers of a method, and their coherence actions.

use std::collections::HashSet;

use super::analysis::{Refusal, ResidencyAnalysis};
use super::device_heap::{Buffer, Home, Part};
use super::host_shadows::{Shadow, Source};
use super::persistent::{Candidate, Keeping};
use crate::facts::Region;
use crate::plan::PlannedStorage;
use crate::schedule::{CoherenceAction, Execution, StepBefore, What};
use thalweg_core::engine::StorageId;

impl ResidencyAnalysis<'_> {
    /// What lasts and can be kept on the device that takes it or gives it, in a method that runs
    /// straight on.
    pub(super) fn candidates(&self, refused: &HashSet<Candidate>) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut all: Vec<Candidate> = self.keeping.iter().map(|k| k.candidate.clone()).collect();
        all.extend(self.taken.iter().cloned());
        for candidate in all {
            let lasts = |lasting: &Region| candidate.region.covers(lasting);
            let of_input = |input: &crate::plan::PlannedInput| {
                let mut tensors = self.plan.tensors_of(input.value);
                tensors.any(|id| {
                    self.planned_region(id)
                        .is_none_or(|region| region.overlaps(&candidate.region))
                })
            };
            let known = candidates
                .iter()
                .any(|other| other.region.overlaps(&candidate.region));
            if self.straight
                && !known
                && !refused.contains(&candidate)
                && !candidate.region.bytes.is_empty()
                && !matches!(
                    self.plan.storages[candidate.region.storage.0 as usize],
                    PlannedStorage::Unplanned
                )
                && (self.is_state(&candidate.region) || self.lasting.iter().any(lasts))
                && !self.plan.inputs.iter().any(of_input)
            {
                candidates.push(candidate);
            }
        }
        candidates
    }

    /// How many copies between host and device what is kept takes in each call but the first.
    pub(super) fn kept_traffic(&self) -> Vec<usize> {
        let mut steps = self.steps_before.clone();
        steps.sort_by_key(|step| step.before);
        let traffic = |kept: usize| {
            let (mut host, mut device, mut copies) = (true, false, 0);
            for _ in 0..2 {
                copies = 0;
                for step in &steps {
                    let What::Persist(k, action) = step.what else {
                        continue;
                    };
                    match action {
                        _ if k != kept => {}
                        CoherenceAction::ToDevice => {
                            copies += usize::from(!device);
                            device = true;
                        }
                        CoherenceAction::ToHost => {
                            copies += usize::from(!host);
                            host = true;
                        }
                        CoherenceAction::DeviceWrites => host &= !device,
                        CoherenceAction::HostWrites => device &= !host,
                        CoherenceAction::DeviceOnly => (host, device) = (false, true),
                        CoherenceAction::HostOnly => (host, device) = (true, false),
                        CoherenceAction::AddHost => host = true,
                    }
                }
            }
            copies
        };
        (0..self.keeping.len()).map(traffic).collect()
    }

    /// A device has what is written to memory that is kept there: it is written there, too.
    /// Whether that is so.
    ///
    /// `on_host`: the host has it, too, and writes it as well, if that is all of the memory.
    pub(super) fn write_kept(
        &mut self,
        device: usize,
        part: Part,
        target: &Region,
        on_host: bool,
    ) -> Option<bool> {
        if self.lasts(target) {
            self.taken.push(Candidate {
                region: self.whole(target),
                device,
            });
        }
        let Some(k) = self.kept(target) else {
            return Some(false);
        };
        let keeping = &self.keeping[k];
        let (own, region) = (keeping.buffer, keeping.candidate.region.clone());
        if keeping.candidate.device != device {
            return Some(false);
        }
        let there = Part {
            buffer: own,
            offset: target.bytes.start - region.bytes.start,
        };
        if part == there && keeping.updated_by.is_some() && *target == region {
            // The delegate has written it where it belongs.
            self.keeping[k].updated_by = None;
            self.write_region_but(target, k)?;
            self.executions[self.now] = Execution::Nothing;
            self.learn_kept(k, self.now + 1);
            return Some(true);
        }
        self.check_update(target)?;
        if part.buffer == own {
            if part != there || *target != region {
                // It would move within itself.
                self.blame = Some(Refusal::Persistent(self.keeping[k].candidate.clone()));
                return None;
            }
            // It is what the device has there, whatever the host has written since.
            if self.shadow_on(&region, device).is_none() {
                self.act_after(k, CoherenceAction::DeviceOnly);
            }
            self.write_region_but(target, k)?;
            self.executions[self.now] = Execution::Nothing;
            self.learn_kept(k, self.now + 1);
            return Some(true);
        }
        let partly = *target != region;
        if partly {
            self.act(k, CoherenceAction::ToDevice);
            self.act(k, CoherenceAction::DeviceOnly);
        } else {
            self.act(k, CoherenceAction::DeviceWrites);
        }
        self.write_region_but(target, k)?;
        self.overwrite(own, Refusal::Persistent(self.keeping[k].candidate.clone()));
        let both = on_host && !partly;
        if both {
            self.copy_before(device, part, there, target.bytes.len());
        } else {
            self.copy(device, part, there, target.bytes.len());
        }
        if !partly {
            self.act_after(k, CoherenceAction::DeviceOnly);
        }
        self.learn_kept(k, self.now + 1);
        if let (true, Some(shadow)) = (both, self.shadows.last_mut()) {
            shadow.source = None;
            self.act_after(k, CoherenceAction::AddHost);
        }
        Some(true)
    }

    /// The host may lack what is kept on a device, which has it, at the latest, once it is brought there
    /// before this instruction.
    pub(super) fn learn_kept(&mut self, k: usize, since: usize) {
        let Keeping {
            candidate, buffer, ..
        } = &self.keeping[k];
        let (region, device, buffer) = (candidate.region.clone(), candidate.device, *buffer);
        self.shadows.retain(|shadow| shadow.region != region);
        self.shadows.push(Shadow {
            region,
            on_device: Some((device, Part { buffer, offset: 0 })),
            since: Some(since),
            source: Some(Source::Kept(k)),
            input: None,
        });
    }

    /// Something is kept on a device from the start.
    pub(super) fn keep(&mut self, candidate: &Candidate) {
        let k = self.keeping.len();
        self.buffers.push(Buffer {
            device: candidate.device,
            bytes: candidate.region.bytes.len(),
            first: 0,
            last: self.plan.steps.len(),
            home: Home::Kept(k),
        });
        self.keeping.push(Keeping {
            candidate: candidate.clone(),
            buffer: self.buffers.len() - 1,
            updated_by: None,
        });
        self.learn_kept(k, 0);
    }

    /// The host has written what is kept, and the device takes it anew.
    pub(super) fn keep_on_device_again(&mut self, k: usize) -> Option<()> {
        let Keeping {
            candidate, buffer, ..
        } = &self.keeping[k];
        let (candidate, buffer) = (candidate.clone(), *buffer);
        self.fetch(&candidate.region)?;
        self.overwrite(buffer, Refusal::Persistent(candidate));
        self.act(k, CoherenceAction::ToDevice);
        self.learn_kept(k, self.now);
        if let Some(shadow) = self.shadows.last_mut() {
            shadow.source = None;
        }
        Some(())
    }

    /// Whether the value of something kept may be on its device, rather than an older one.
    pub(super) fn is_current(&self, k: usize) -> bool {
        let keeping = &self.keeping[k];
        self.shadows.iter().any(|shadow| {
            let there = shadow.on_device.map(|(_, part)| (part.buffer, part.offset));
            shadow.region == keeping.candidate.region && there == Some((keeping.buffer, 0))
        })
    }

    /// The instruction before which what is kept has to be brought to the device, if that is why it has
    /// a value. What is kept itself may be brought as late as it is used.
    pub(super) fn brought_before(&self, shadow: &Shadow) -> Option<usize> {
        let itself = |keeping: &Keeping| {
            let there = shadow.on_device.map(|(_, part)| part.buffer);
            keeping.candidate.region == shadow.region && there == Some(keeping.buffer)
        };
        match self.keeping.iter().any(itself) {
            true => Some(self.now),
            false => shadow.since,
        }
    }

    /// If a part is one of something kept, the device gets it where it became that.
    pub(super) fn bring_to_device(&mut self, part: Part, since: Option<usize>) {
        if let (Home::Kept(k), Some(since)) = (self.buffers[part.buffer].home, since) {
            self.act_before(since, k, CoherenceAction::ToDevice);
        }
    }

    pub(super) fn act(&mut self, kept: usize, action: CoherenceAction) {
        self.act_before(self.now, kept, action);
    }

    pub(super) fn act_after(&mut self, kept: usize, action: CoherenceAction) {
        self.act_before(self.now + 1, kept, action);
    }

    pub(super) fn act_before(&mut self, before: usize, kept: usize, action: CoherenceAction) {
        self.steps_before.push(StepBefore {
            before,
            what: What::Persist(kept, action),
        });
    }

    /// `None` if a delegate has updated memory in place, and somebody looks at what was there.
    pub(super) fn check_update(&mut self, region: &Region) -> Option<()> {
        let updated = |keeping: &&Keeping| {
            keeping.updated_by.is_some() && keeping.candidate.region.overlaps(region)
        };
        if let Some(alias) = self.keeping.iter().find(updated).and_then(|k| k.updated_by) {
            self.blame = Some(Refusal::Alias(alias));
            return None;
        }
        Some(())
    }

    /// What is kept that covers a region.
    pub(super) fn kept(&self, region: &Region) -> Option<usize> {
        self.keeping
            .iter()
            .position(|keeping| keeping.candidate.region.covers(region))
    }

    /// The region that would be kept for a part of it: all of a named buffer.
    pub(super) fn whole(&self, region: &Region) -> Region {
        match &self.plan.storages[region.storage.0 as usize] {
            PlannedStorage::State { bytes, .. } => Region {
                storage: region.storage,
                bytes: 0..*bytes,
            },
            _ => region.clone(),
        }
    }

    pub(super) fn is_state(&self, region: &Region) -> bool {
        matches!(
            self.plan.storages[region.storage.0 as usize],
            PlannedStorage::State { .. }
        )
    }

    /// The named buffers, which other methods, and callers, may look at after the call.
    pub(super) fn states(&self) -> Vec<Region> {
        let storages = self.plan.storages.iter().enumerate();
        storages
            .filter_map(|(index, storage)| match storage {
                PlannedStorage::State { bytes, .. } => Some(Region {
                    storage: StorageId(index as u32),
                    bytes: 0..*bytes,
                }),
                _ => None,
            })
            .collect()
    }
}
