//! The classes of NVIDIA's: the slot of each method in the virtual table, by version.
//!
//! Slots 0 and 1 are the destructor. The methods follow in the order of a class's list, without those
//! that the version does not have.

/// The major and the minor number of a version.
pub(super) type Version = (i32, i32);

/// A class.
pub(super) struct Class {
    pub(super) name: &'static str,
    /// True if only one thread at a time may call its methods.
    pub(super) exclusive: bool,
    /// All methods of all versions.
    pub(super) methods: fn() -> Vec<Method>,
}

impl Class {
    /// The methods of a version, from slot 2 on.
    pub(super) fn methods(&self, version: Version) -> Vec<Method> {
        let mut methods = (self.methods)();
        methods.retain(|method| method.since <= version && version < method.until);
        methods
    }

    /// The method in a slot of a version's table.
    pub(super) fn method(&self, version: Version, slot: usize) -> Option<Method> {
        let index = slot.checked_sub(2)?;
        self.methods(version).into_iter().nth(index)
    }
}

/// A method.
pub(super) struct Method {
    pub(super) name: &'static str,
    /// The first version that has it.
    pub(super) since: Version,
    /// The first version that does not have it any more.
    pub(super) until: Version,
    /// The function of the method, if the stand-in models it.
    pub(super) function: Option<usize>,
}

/// The number of slots in each table. It is more than any class has, so that a call of a slot behind
/// the last method is reported, too.
pub(super) const SLOTS: usize = 96;

pub(super) const ALWAYS: Version = (10, 0);
pub(super) const NEVER: Version = (i32::MAX, 0);
pub(super) const TO_10: Version = (11, 0);

/// Lists the methods of a class.
macro_rules! methods_of {
    ($($name:literal $(from $since:expr)? $(, until $until:expr)? $(=> $function:expr)?;)*) => {
        vec![$($crate::nvinfer::class::Method {
            name: $name,
            since: $crate::nvinfer::class::first([$($since,)? $crate::nvinfer::class::ALWAYS]),
            until: $crate::nvinfer::class::first([$($until,)? $crate::nvinfer::class::NEVER]),
            function: $crate::nvinfer::class::first([$(Some($function as *const () as usize),)? None]),
        }),*]
    };
}

pub(super) use methods_of;

/// The first of two choices, of which a list gives one or both.
pub(super) fn first<T: Copy, const N: usize>(choices: [T; N]) -> T {
    choices[0]
}
