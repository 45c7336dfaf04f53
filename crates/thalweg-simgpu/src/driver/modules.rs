//! Modules: their functions, and unloading them.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;

use super::Driver;
use crate::objects::Function;
use crate::report::Site;
use crate::status::{CallResult, fail};

impl Driver {
    /// The handle of a kernel of a module.
    pub(crate) fn function(&mut self, module: u64, name: &str) -> CallResult<u64> {
        let known = self.modules.get(module)?;
        if let Some(handle) = known.functions.get(name) {
            return Ok(*handle);
        }
        if !known.has(name) {
            return fail(CUresult::CUDA_ERROR_NOT_FOUND);
        }
        let name: Arc<str> = name.into();
        let handle = self.functions.insert(Function {
            name: name.clone(),
            module,
            attributes: Default::default(),
        });
        self.modules.get_mut(module)?.functions.insert(name, handle);
        Ok(handle)
    }

    /// Unloads a module, with its functions and its variables.
    pub(crate) fn unload(&mut self, handle: u64, site: &Arc<Site>) -> CallResult {
        let module = self.modules.remove(handle)?;
        for function in module.functions.values() {
            self.functions.remove(*function)?;
        }
        for (address, _) in module.globals.values() {
            if self.memory.starting_at(*address).is_some() {
                self.free_now(*address, site, false)?;
            }
        }
        Ok(())
    }
}
