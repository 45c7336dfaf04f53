//! Programs with TensorRT engines.

mod calls;
mod doctor;
mod inspect;
pub(crate) mod programs;
