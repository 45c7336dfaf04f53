//! Tensors: dense, typed, with their dimensions laid out in any order.
//!
//! Every tensor of a program is dense: its elements fill its memory without gaps, and only the
//! order of the dimensions may differ from the logical one (upstream's "dim order"; channels last
//! is 0 2 3 1). So a shape and a dim order say everything, and strides follow from them.

mod dims;
mod owned;
mod view;

pub(crate) use dims::check_dim_order;
pub use dims::{Dims, MAX_RANK, identity_order, is_row_major, numel, same_dims, strides_of};
pub use owned::Tensor;
pub use view::{TensorView, TensorViewMut};
