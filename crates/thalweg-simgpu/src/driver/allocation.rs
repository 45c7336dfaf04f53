//! Allocation: at once, and in the order of a stream.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use crate::clock::Timestamp;
use crate::clock::{Epoch, HOST};
use crate::driver::Driver;
use crate::memory::{Arena, Block, BlockId, BlockKind, Cached, History, Mapping};
use crate::report::Site;
use crate::status::{CallResult, fail};
use crate::work::Body;

impl Driver {
    /// Takes device memory, up to the limit of a plan of faults.
    fn take(&mut self, device: usize, len: u64) -> CallResult<u64> {
        let limit = self.faults.memory_limit();
        let Some(rounded) = Arena::rounded(len) else {
            return fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        };
        for retry in [false, true] {
            if retry {
                // Memory that pools keep and that is not in use is as good as free.
                self.trim_pools(device, |_| 0);
            }
            let arena = &mut self.memory.arenas[device];
            if arena.used().saturating_add(rounded) <= limit
                && let Some(address) = arena.take(len)
            {
                return Ok(address);
            }
        }
        fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Allocates device memory.
    pub(crate) fn allocate(&mut self, context: u64, len: u64, site: &Arc<Site>) -> CallResult<u64> {
        if len == 0 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let device = self.contexts.get(context)?.device;
        let start = self.take(device, len)?;
        let kind = BlockKind::Device {
            device,
            pool: None,
            reserved: len,
        };
        self.add_block(start, len, kind, context, site);
        Ok(start)
    }

    /// Allocates page-locked memory of the host.
    pub(crate) fn allocate_host(
        &mut self,
        context: u64,
        len: u64,
        flags: u32,
        site: &Arc<Site>,
    ) -> CallResult<u64> {
        let memory = usize::try_from(len).ok().filter(|len| *len > 0);
        let Some(memory) = memory else {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        };
        let Some(memory) = Mapping::new(memory) else {
            return fail(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        };
        let start = memory.address();
        let kind = BlockKind::Pinned { memory, flags };
        self.add_block(start, len, kind, context, site);
        Ok(start)
    }

    /// Adds an allocation that is live at once.
    pub(crate) fn add_block(
        &mut self,
        start: u64,
        len: u64,
        kind: BlockKind,
        context: u64,
        site: &Arc<Site>,
    ) {
        let context = self.owning_context(context);
        let id = self.memory.add(Block {
            start,
            len,
            kind,
            history: History::default(),
            origin: site.clone(),
            context,
        });
        self.memory.begin_lifetime(id);
    }

    /// Allocates device memory in the order of a stream that is not being captured.
    pub(crate) fn allocate_in_order(
        &mut self,
        pool: u64,
        stream: u64,
        len: u64,
        site: &Arc<Site>,
    ) -> CallResult<u64> {
        if len == 0 {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let device = self.pools.get(pool)?.device;
        let context = self.owning_context(self.streams.get(stream)?.context);
        // Its place in the order says which freed memory it may take, and what it took says what
        // the work does.
        let place = self.enqueue(stream, &site.name, Body::Marker, &[])?;
        let (start, reserved) = match self.reuse(pool, len, &place) {
            Some(cached) => (cached.start, cached.reserved),
            None => {
                let start = self.take(device, len)?;
                let reserved = Arena::rounded(len).unwrap_or(len);
                self.pools.get_mut(pool)?.grow(reserved);
                (start, reserved)
            }
        };
        self.pools.get_mut(pool)?.took(reserved);
        let id = self.memory.add(Block {
            start,
            len,
            kind: BlockKind::Device {
                device,
                pool: Some(pool),
                reserved,
            },
            history: History::default(),
            origin: site.clone(),
            context,
        });
        if let Some(op) = self.queues[place.epoch.slot].pending.back_mut() {
            op.body = Body::Alloc(id);
        }
        Ok(start)
    }

    fn reuse(&mut self, pool: u64, len: u64, place: &Timestamp) -> Option<Cached> {
        let queues = &self.queues;
        let done = |epoch: Epoch| queues[epoch.slot].completed >= epoch.count;
        let pool = self.pools.get_mut(pool).ok()?;
        pool.reuse(len, &place.clock, done)
    }

    /// Frees device memory in the order of a stream that is not being captured.
    pub(crate) fn free_in_order(
        &mut self,
        address: u64,
        stream: u64,
        site: &Arc<Site>,
        injected: bool,
    ) -> CallResult {
        let host = self.memory.starting_at(address);
        let host = host.and_then(|id| self.memory.block(id));
        if host.is_some_and(Block::is_host) {
            return fail(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let known = self
            .memory
            .free_known(address, site, injected, &mut self.reports)?;
        let Some(id) = known else {
            return Ok(());
        };
        let freed = self.enqueue(stream, &site.name, Body::Free(id), &[])?;
        self.cache(id, freed.epoch);
        Ok(())
    }

    /// Returns memory to its pool, after all work with it.
    pub(crate) fn return_to_pool(&mut self, id: BlockId) {
        self.cache(
            id,
            Epoch {
                slot: HOST,
                count: 0,
            },
        );
    }

    fn cache(&mut self, id: BlockId, freed: Epoch) {
        let Some(block) = self.memory.block(id) else {
            return;
        };
        let BlockKind::Device {
            device,
            pool: Some(pool),
            reserved,
        } = block.kind
        else {
            return;
        };
        let cached = Cached {
            start: block.start,
            reserved,
            freed,
        };
        // The memory of a destroyed pool belongs to the default pool.
        let gone = self.pools.get(pool).is_err();
        let default = self.devices[device].default_pool;
        let pool = if gone { default } else { pool };
        if let Ok(pool) = self.pools.get_mut(pool) {
            if gone {
                pool.grow(reserved);
            } else {
                pool.used -= reserved;
            }
            pool.cached.push(cached);
        }
    }

    /// Returns what pools keep above their threshold to the device, as every synchronization does.
    pub(crate) fn shrink_pools(&mut self) {
        for device in 0..self.devices.len() {
            self.trim_pools(device, |threshold| threshold);
        }
    }

    /// Trims all pools of a device. `keep` turns the threshold of a pool into the bytes that it
    /// keeps.
    fn trim_pools(&mut self, device: usize, keep: impl Fn(u64) -> u64) {
        let pools: Vec<u64> = self
            .pools
            .iter()
            .filter(|(_, pool)| pool.device == device && !pool.cached.is_empty())
            .map(|(handle, _)| handle)
            .collect();
        for handle in pools {
            if let Ok(pool) = self.pools.get(handle) {
                let keep = keep(pool.release_threshold);
                self.trim_pool(handle, keep);
            }
        }
    }

    /// Trims a pool to some bytes, as far as its memory is free.
    pub(crate) fn trim_pool(&mut self, pool: u64, keep: u64) {
        let queues = &self.queues;
        let done = |epoch: Epoch| queues[epoch.slot].completed >= epoch.count;
        let Ok(pool) = self.pools.get_mut(pool) else {
            return;
        };
        let device = pool.device;
        for cached in pool.trim(keep, done) {
            self.memory.arenas[device].give_back(cached.start, cached.reserved);
        }
    }

    /// Destroys a pool. Memory of it that is in use stays until it is freed.
    pub(crate) fn destroy_pool(&mut self, handle: u64) -> CallResult {
        self.trim_pool(handle, 0);
        let pool = self.pools.remove(handle)?;
        let device = &self.devices[pool.device];
        let default = device.default_pool;
        if device.current_pool == handle {
            self.devices[pool.device].current_pool = default;
        }
        let default = self.pools.get_mut(default)?;
        for cached in pool.cached {
            default.grow(cached.reserved);
            default.cached.push(cached);
        }
        Ok(())
    }
}
