//! The constants and buffers of models.

mod blob;
mod buffer;
mod storage;

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

use thalweg_core::{DelegateSpec, Result, SharedBytes, StateBuffers, bail, ensure};
use thalweg_cuda::Event;

use self::blob::BlobConstants;
use self::buffer::{InitialValue, ModelBuffer};
use self::storage::ConstantStorage;
pub(crate) use self::storage::ConstantStorages;
use crate::abi::{ConstantInfo, Location, Storage, Tensor};
use crate::compiled_library::CompiledLibrary;
use crate::device::DeviceResources;
use crate::payload::{Constant, Constants, Payload};

/// The constants of a delegate, which its instances share.
pub(crate) enum ConstantSource {
    /// Constants with storages of their own, by name in the model.
    Named(HashMap<String, NamedConstant>),
    /// Constants of one blob.
    Blob(Arc<BlobConstants>),
    /// No constants.
    Empty,
}

/// A constant of the program.
pub(crate) struct NamedConstant {
    constant: Constant,
    bytes: SharedBytes,
    /// The loaded storage; `None` if the constant belongs to a state, or the library does not use it.
    storage: Option<Arc<ConstantStorage>>,
}

/// The constants and buffers of one instance.
#[derive(Default)]
pub(crate) struct InstanceConstants {
    /// By name in the library.
    pub(crate) tensors: Vec<(CString, Tensor)>,
    /// The events of uploads and copies of these.
    pub(crate) ready: Vec<Event>,
    /// The owners of the tensors' memory.
    pub(crate) storages: Vec<Arc<ConstantStorage>>,
    pub(crate) buffers: Vec<Arc<ModelBuffer>>,
}

impl ConstantSource {
    /// Loads the constants that a payload names, of those that the library has.
    ///
    /// # Errors
    /// If constants are missing, or do not fit the library.
    pub(crate) fn load(
        payload: &Payload,
        constants: &[ConstantInfo],
        spec: &DelegateSpec<'_>,
        storages: &ConstantStorages,
        library: &Arc<CompiledLibrary>,
    ) -> Result<Self> {
        match &payload.constants {
            Constants::Named(named) => {
                Self::named(named, constants, spec, storages, &library.resources)
            }
            Constants::Blob { key } => Self::blob(key, constants, spec, library),
        }
    }

    fn named(
        named: &[Constant],
        constants: &[ConstantInfo],
        spec: &DelegateSpec<'_>,
        storages: &ConstantStorages,
        resources: &DeviceResources,
    ) -> Result<Self> {
        let mut by_name = HashMap::new();
        for constant in named {
            let Some(bytes) = spec.named_data(&constant.storage) else {
                bail!(
                    MissingData,
                    "there is no data `{}`, which the constant `{}` is in; it belongs to a data file \
                     of the program",
                    constant.storage,
                    constant.name
                );
            };
            ensure!(
                bytes.len() as u64 == constant.storage_bytes,
                InvalidProgram,
                "the data `{}` has {} bytes, and the constant `{}` is said to be in {}",
                constant.storage,
                bytes.len(),
                constant.name,
                constant.storage_bytes
            );
            let info = constants.iter().find(|info| info.original == constant.name);
            let storage = match info {
                Some(info) if !info.is_of_state() => {
                    Some(storages.get(&bytes, constant.on_device, resources)?)
                }
                _ => None,
            };
            let entry = NamedConstant {
                constant: constant.clone(),
                bytes,
                storage,
            };
            by_name.insert(constant.name.clone(), entry);
        }
        for info in constants.iter().filter(|info| !info.folded) {
            ensure!(
                by_name.contains_key(&info.original),
                InvalidProgram,
                "the compiled library uses the constant `{}`, which the delegate does not name",
                info.original
            );
        }
        Ok(Self::Named(by_name))
    }

    fn blob(
        key: &str,
        constants: &[ConstantInfo],
        spec: &DelegateSpec<'_>,
        library: &Arc<CompiledLibrary>,
    ) -> Result<Self> {
        let count = constants.iter().filter(|info| !info.folded).count();
        if count == 0 {
            return Ok(Self::Empty);
        }
        let Some(blob) = spec.named_data(key) else {
            bail!(
                MissingData,
                "there is no data `{key}`, which would be the {count} constants of the compiled \
                 library; it belongs to a data file of the program"
            );
        };
        let constants = BlobConstants::load(library, blob, count)?;
        Ok(Self::Blob(Arc::new(constants)))
    }

    /// The constants of an instance, with the buffers of its state. `constants` are those of the library.
    ///
    /// # Errors
    /// If a buffer cannot be created, or differs from the state's.
    pub(crate) fn of_instance(
        &self,
        constants: &[ConstantInfo],
        state: &dyn StateBuffers,
        resources: &Arc<DeviceResources>,
    ) -> Result<InstanceConstants> {
        let mut of_instance = InstanceConstants::default();
        let constants = constants.iter().filter(|info| !info.folded);
        match self {
            Self::Empty => {}
            Self::Named(named) => {
                for info in constants {
                    let Some(named) = named.get(&info.original) else {
                        bail!(Internal, "the constant `{}` is gone", info.original);
                    };
                    of_instance.add_named(info, named, state, resources)?;
                }
            }
            Self::Blob(blob) => {
                of_instance.ready.extend(blob.ready().cloned());
                for (info, tensor) in constants.zip(blob.tensors()) {
                    of_instance.add_of_blob(info, tensor, blob, state, resources)?;
                }
            }
        }
        Ok(of_instance)
    }
}

impl InstanceConstants {
    fn add_named(
        &mut self,
        info: &ConstantInfo,
        named: &NamedConstant,
        state: &dyn StateBuffers,
        resources: &Arc<DeviceResources>,
    ) -> Result<()> {
        let constant = &named.constant;
        let tensor = match &named.storage {
            Some(storage) => {
                self.ready.extend(storage.ready().cloned());
                self.storages.push(storage.clone());
                constant.tensor_in(storage.storage())?
            }
            None => {
                let location = match constant.on_device {
                    true => Location::Device(resources.device.ordinal()),
                    false => Location::Host,
                };
                let initial = InitialValue::Bytes(named.bytes.clone());
                let name = &info.original;
                let buffer = ModelBuffer::of_state(state, name, initial, location, resources)?;
                let tensor = constant.tensor_in(buffer.storage())?;
                self.add_buffer(buffer);
                tensor
            }
        };
        self.tensors.push((info.name.clone(), tensor));
        Ok(())
    }

    fn add_of_blob(
        &mut self,
        info: &ConstantInfo,
        tensor: &Tensor,
        blob: &Arc<BlobConstants>,
        state: &dyn StateBuffers,
        resources: &Arc<DeviceResources>,
    ) -> Result<()> {
        let mut tensor = tensor.clone();
        if info.is_of_state() {
            let location = tensor.storage.location;
            let initial = InitialValue::Blob {
                from: tensor.storage.clone(),
                blob: blob.clone(),
            };
            let name = &info.original;
            let buffer = ModelBuffer::of_state(state, name, initial, location, resources)?;
            tensor = tensor.in_storage(buffer.storage().clone());
            self.add_buffer(buffer);
        }
        self.tensors.push((info.name.clone(), tensor));
        Ok(())
    }

    fn add_buffer(&mut self, buffer: Arc<ModelBuffer>) {
        self.ready.extend(buffer.ready().cloned());
        self.buffers.push(buffer);
    }
}

impl Constant {
    /// The tensor of the constant, in its loaded storage.
    fn tensor_in(&self, storage: &Arc<Storage>) -> Result<Tensor> {
        let signed =
            |values: &[u64]| -> Vec<i64> { values.iter().map(|&value| value as i64).collect() };
        let (sizes, strides) = (signed(&self.sizes), signed(&self.strides));
        let offset = self.offset as i64;
        Tensor::new(storage.clone(), self.dtype, &sizes, &strides, offset)
    }
}
