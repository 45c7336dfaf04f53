//! Dispatch from element types, known when a program runs, to Rust types.
//!
//! `dispatch!(dtype, real => T, { ... })` runs the block with `T` standing for the Rust type of
//! `dtype`, for the types of a group, and is an error for others. Groups:
//!
//! | group | types |
//! |---|---|
//! | `float` | f16, bf16, f32, f64 |
//! | `integer` | u8, u16, u32, u64, i8, i16, i32, i64 |
//! | `integer_bool` | integers and booleans |
//! | `quantized` | u8, u16, i8, i16, i32 |
//! | `real` | integers and floats |
//! | `real_bool` | reals and booleans |
//! | `complex` | c64, c128 |
//! | `all` | everything that has a Rust type |
//!
//! `dispatch_size!(bytes => T, { ... })` is for operators that move elements without looking at
//! them: `T` is an unsigned type of that size ([`Wide`] for 16 bytes).

/// An element of 16 bytes, aligned as a complex number of two f64 is.
pub(crate) type Wide = [u64; 2];

macro_rules! dispatch {
    ($dtype:expr, float => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body, F16 BF16 F32 F64)
    };
    ($dtype:expr, integer => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body, U8 U16 U32 U64 I8 I16 I32 I64)
    };
    ($dtype:expr, integer_bool => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body, U8 U16 U32 U64 I8 I16 I32 I64 Bool)
    };
    ($dtype:expr, real => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body,
            U8 U16 U32 U64 I8 I16 I32 I64 F16 BF16 F32 F64)
    };
    ($dtype:expr, real_bool => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body,
            U8 U16 U32 U64 I8 I16 I32 I64 F16 BF16 F32 F64 Bool)
    };
    ($dtype:expr, complex => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body, ComplexF32 ComplexF64)
    };
    ($dtype:expr, all => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body,
            U8 U16 U32 U64 I8 I16 I32 I64 F16 BF16 F32 F64 Bool ComplexF32 ComplexF64)
    };
    ($dtype:expr, quantized => $T:ident, $body:block) => {
        $crate::dtype::dispatch::dispatch!(@match $dtype, $T, $body, U8 U16 I8 I16 I32)
    };
    (@match $dtype:expr, $T:ident, $body:block, $($variant:ident)*) => {
        $crate::dtype::dispatch::dispatch!(@table $dtype, $T, $body,
            $([$variant: $crate::dtype::dispatch::dispatch!(@type $variant)])*)
    };
    // Several element types may have one Rust type.
    (@table $dtype:expr, $T:ident, $body:block, $([$($variant:ident)*: $type:ty])*) => {
        match $dtype {
            $($(::thalweg_core::DType::$variant)|* => {
                type $T = $type;
                $body
            })*
            other => ::thalweg_core::bail!(
                Unsupported,
                "the operator does not work on elements of type {other}"
            ),
        }
    };
    (@type U8) => { u8 };
    (@type U16) => { u16 };
    (@type U32) => { u32 };
    (@type U64) => { u64 };
    (@type I8) => { i8 };
    (@type I16) => { i16 };
    (@type I32) => { i32 };
    (@type I64) => { i64 };
    (@type F16) => { ::thalweg_core::f16 };
    (@type BF16) => { ::thalweg_core::bf16 };
    (@type F32) => { f32 };
    (@type F64) => { f64 };
    (@type Bool) => { ::thalweg_core::Bool };
    (@type ComplexF32) => { ::thalweg_core::Complex32 };
    (@type ComplexF64) => { ::thalweg_core::Complex64 };
}

macro_rules! dispatch_size {
    ($size:expr => $T:ident, $body:block) => {
        match $size {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                // Complex f16 is aligned to 2 bytes only and has no tensors in practice; a
                // misaligned one is an error when its bytes are cast, not undefined behaviour.
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            16 => {
                type $T = $crate::dtype::dispatch::Wide;
                $body
            }
            other => ::thalweg_core::bail!(Internal, "no element has {other} bytes"),
        }
    };
}

pub(crate) use {dispatch, dispatch_size};
