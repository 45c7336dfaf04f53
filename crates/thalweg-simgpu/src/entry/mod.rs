//! The entry points: the functions of the driver that the library exports.
//!
//! Handles are numbers here, as wide as the pointers that they are for callers. Pointers of callers
//! are read and written only through the types of [`argument`].

mod argument;
mod capture;
mod context;
mod copy;
mod device;
mod event;
mod fill;
mod function;
mod graph;
mod graph_nodes;
mod green;
mod init;
mod launch;
mod memory;
mod module;
mod pointer;
mod pool;
mod stream;
mod table;
mod unsupported;
mod user_object;

/// Defines a function of the driver, and its variant for the default stream of the thread if it
/// has one.
macro_rules! entry {
    ($(#[$doc:meta])* fn $name:ident / $variant:ident $($rest:tt)*) => {
        $crate::entry::entry! { @one false [$($doc)*] $name $($rest)* }
        $crate::entry::entry! { @one true [$($doc)*] $variant $($rest)* }
    };
    ($(#[$doc:meta])* fn $name:ident $($rest:tt)*) => {
        $crate::entry::entry! { @one false [$($doc)*] $name $($rest)* }
    };
    (
        @one $per_thread:literal [$($doc:meta)*] $name:ident ($($arg:ident: $type:ty),* $(,)?),
        $rules:expr, |$call:ident| $body:expr
    ) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function of the driver: pointers must be null or point to what they say.
        #[allow(non_snake_case, reason = "the name is the driver's")]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $crate::status::Status {
            $crate::simulator::enter(stringify!($name), $rules, $per_thread, |$call| $body)
        }
    };
}
pub(crate) use entry;
