//! Element types: converting, promoting, and the types that operators compute in.

pub(crate) mod cast;
pub(crate) mod compute;
pub(crate) mod convert;
pub(crate) mod dispatch;
pub(crate) mod elements;
pub(crate) mod fast;
pub(crate) mod float;
pub(crate) mod number;
pub(crate) mod promotion;
