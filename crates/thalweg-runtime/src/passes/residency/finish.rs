//! Placing what was found out.

use std::collections::{HashMap, HashSet};

use thalweg_core::engine::StorageId;

use super::analysis::ResidencyAnalysis;
use super::device_heap::{Home, Part, place};
use super::host_shadows::Source;
use crate::schedule::{
    DeviceCopy, Execution, OutputPlace, PersistentBuffer, PlacedInput, PlacedStorage, Places,
    StepBefore,
};

impl ResidencyAnalysis<'_> {
    /// Places the buffers, and says so in the instructions. `None` if that takes much more memory
    /// than was planned.
    pub(super) fn finish(mut self, executions: &mut Vec<Execution>) -> Option<Places> {
        self.make_inputs()?;
        let offsets = place(self.plan, &self.buffers)?;
        let mut places = Places::default();
        let mut arenas: HashMap<StorageId, usize> = HashMap::new();
        for (buffer, place) in self.buffers.iter().zip(&offsets) {
            if let Some((storage, offset)) = place {
                let end = arenas.entry(*storage).or_default();
                *end = (*end).max(offset + buffer.bytes);
            }
        }
        places.arenas = Some(arenas);
        places.inputs = vec![None; self.plan.inputs.len()];
        let starts = self.starts(&offsets, &mut places)?;
        let at = |part: Part| {
            let (storage, start) = starts[part.buffer];
            (storage, start + part.offset)
        };
        for (&id, &part) in &self.tensors {
            places.tensors.insert(id, at(part));
        }
        // Tensors whose memory was written since lie there all the same.
        for (&id, (part, _)) in &self.stale {
            places.tensors.insert(id, at(*part));
        }
        let needed = self.fetch_sources()?;
        for moved in &self.moves {
            if let Execution::Fetch {
                storage, offset, ..
            } = &mut self.executions[moved.step]
            {
                (*storage, *offset) = at(moved.on_device?.1);
            }
        }
        for copy in &self.copies {
            places.copies.push(DeviceCopy {
                device: copy.device,
                from: at(copy.from),
                to: at(copy.to),
                bytes: copy.bytes,
            });
        }
        places.inputs_on_host = self.inputs_on_host.clone();
        for output in &self.outputs {
            let place = output.map(|(part, device, source)| {
                let (storage, offset) = at(part);
                let copies = |step: &usize| {
                    let execution = self.executions[*step];
                    matches!(execution, Execution::Download(_) | Execution::Fetch { .. })
                        && !needed.contains(step)
                };
                OutputPlace {
                    device,
                    storage,
                    offset,
                    fetch: source.and_then(Source::step).filter(copies),
                }
            });
            places.outputs.push(place);
        }
        self.steps_before.sort_by_key(|step| step.before);
        self.steps_before.dedup();
        if !self.steps_before.is_empty() {
            let starts = |index: usize| {
                let before = |step: &StepBefore| step.before < index;
                self.steps_before.partition_point(before) as u32
            };
            places.before_starts = (0..=self.plan.steps.len() + 1).map(starts).collect();
        }
        places.steps_before = self.steps_before;
        *executions = self.executions;
        Some(places)
    }

    /// Where the host has an input in its place, it also makes what is only another name for it: the
    /// copy to a device then starts there, and the input's place may have been used for something
    /// else by then.
    fn make_inputs(&mut self) -> Option<()> {
        for index in 0..self.moves.len() {
            let moved = &self.moves[index];
            if moved.on_device.is_some() {
                continue;
            }
            let mut root = moved.source;
            while let Some(Source::Part { step, .. }) = root {
                root = self.moved_at(step)?.source;
            }
            if let Some(Source::Input(input)) = root
                && self.inputs_on_host[input]
            {
                self.executions[moved.step] = moved.on_host;
            }
        }
        Some(())
    }

    /// The storage and offset at which each buffer starts.
    fn starts(
        &self,
        offsets: &[Option<(StorageId, usize)>],
        places: &mut Places,
    ) -> Option<Vec<(StorageId, usize)>> {
        let mut starts = Vec::with_capacity(self.buffers.len());
        for (buffer, place) in self.buffers.iter().zip(offsets) {
            let start = match buffer.home {
                Home::Planned(_) | Home::Arena(_) => (*place)?,
                Home::Input(input, _) => {
                    let storage = self.add(places, PlacedStorage::Input(input));
                    let lent = self.add(places, PlacedStorage::Borrowed);
                    let placed = PlacedInput {
                        device: buffer.device,
                        storage,
                        home: (*place)?,
                        bytes: buffer.bytes,
                        borrowed: lent,
                        updated: self.updated_inputs.contains(&input),
                    };
                    places.inputs[input] = Some(placed);
                    (storage, 0)
                }
                Home::Kept(k) => {
                    let storage = self.add(places, PlacedStorage::Persistent(k));
                    let region = &self.keeping[k].candidate.region;
                    places.persistent.push(PersistentBuffer {
                        host: (region.storage, region.bytes.start),
                        bytes: region.bytes.len(),
                        device: buffer.device,
                        storage,
                    });
                    (storage, 0)
                }
            };
            starts.push(start);
        }
        Some(starts)
    }

    fn add(&self, places: &mut Places, storage: PlacedStorage) -> StorageId {
        places.storages.push(storage);
        StorageId((self.plan.storages.len() + places.storages.len() - 1) as u32)
    }

    /// What several moved values are made of is fetched once, rather than each of them; and what
    /// is made of something that the host has, the host makes.
    /// The result is the instructions that the host then needs.
    fn fetch_sources(&mut self) -> Option<HashSet<usize>> {
        let fetched = |execution: &Execution| matches!(execution, Execution::Fetch { .. });
        let mut moved_from: HashMap<usize, usize> = HashMap::new();
        // From the end, for a source may be moved itself: then the one thing that is fetched of what
        // is made of it counts for its own source.
        for index in (0..self.moves.len()).rev() {
            let moved = &self.moves[index];
            let wanted =
                fetched(&self.executions[moved.step]) || moved_from.get(&moved.step) == Some(&1);
            let (Some(step), true) = (moved.source.and_then(Source::step), wanted) else {
                continue;
            };
            let count = moved_from.entry(step).or_default();
            *count += 1;
            if *count == 2 {
                let (device, _) = moved.on_device?;
                self.executions[step] = match moved.source {
                    Some(Source::Part { to, .. }) => Execution::fetch(device, to),
                    _ => Execution::Download(device),
                };
            }
        }
        let mut needed = HashSet::new();
        for moved in &self.moves {
            let Some(step) = moved.source.and_then(Source::step) else {
                continue;
            };
            let source = self.executions[step];
            let on_host = !matches!(source, Execution::Elided | Execution::Nothing);
            let wanted =
                fetched(&self.executions[moved.step]) || moved_from.get(&moved.step) == Some(&1);
            if on_host && wanted {
                self.executions[moved.step] = moved.on_host;
                needed.insert(step);
            }
        }
        Some(needed)
    }
}
