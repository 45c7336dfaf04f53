//! Whether an engine shares its scratch, and how much of it there may be.

use thalweg_core::{DelegateSpec, OptionValue, Result, bail, ensure};

/// The backend option for whether an engine shares its scratch with others on the device: a boolean.
pub const SHARED_SCRATCH: &str = "use_shared_activation_scratch";

/// The backend option for how much shared scratch there may be on a device: a number of bytes, as a
/// number or as digits, or a number of buffers, as `3 buffers`.
pub const SHARED_SCRATCH_LIMIT: &str = "shared_scratch_limit";

/// How much scratch a pool may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Limit {
    /// As much as calls at the same time need.
    #[default]
    None,
    /// So many pieces, of whatever size.
    Buffers(usize),
    /// So many bytes in all.
    Bytes(usize),
}

/// The limit of what the delegate shares with others; `None` if it does not share.
///
/// # Errors
/// If an option has a value that it cannot have.
pub(crate) fn sharing(spec: &DelegateSpec<'_>) -> Result<Option<Limit>> {
    let option = |key| spec.options().get(spec.backend(), key);
    let shares = match option(SHARED_SCRATCH) {
        None => spec.options().shared_scratch(),
        Some(OptionValue::Bool(shares)) => *shares,
        Some(other) => bail!(
            InvalidOption,
            "{SHARED_SCRATCH} is {other:?}, which is neither true nor false"
        ),
    };
    let limit = option(SHARED_SCRATCH_LIMIT).map(Limit::of_option);
    let limit = limit.transpose()?.unwrap_or_default();
    if !shares && limit != Limit::None {
        tracing::warn!("{SHARED_SCRATCH_LIMIT} has no effect: scratch is not shared");
    }
    Ok(shares.then_some(limit))
}

impl Limit {
    fn of_option(value: &OptionValue) -> Result<Self> {
        let limit = match value {
            OptionValue::Int(bytes) => usize::try_from(*bytes).ok().map(Self::Bytes),
            OptionValue::String(text) => Self::of_text(text),
            _ => None,
        };
        match limit {
            Some(limit) if !matches!(limit, Self::Bytes(0) | Self::Buffers(0)) => Ok(limit),
            _ => bail!(
                InvalidOption,
                "{SHARED_SCRATCH_LIMIT} is {value:?}, which is neither a number of bytes above zero \
                 nor a number of buffers, such as \"3 buffers\""
            ),
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let buffers = text.strip_suffix(" buffers");
        let buffers = buffers.or_else(|| text.strip_suffix(" buffer"));
        let digits = buffers.unwrap_or(text);
        let number = match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse().ok()?,
            false => return None,
        };
        Some(match buffers {
            Some(_) => Self::Buffers(number),
            None => Self::Bytes(number),
        })
    }

    /// Fails for a piece that is larger than all may be.
    pub(super) fn check(self, bytes: usize) -> Result<()> {
        if let Self::Bytes(limit) = self {
            ensure!(
                bytes <= limit,
                OutOfMemory,
                "an engine needs {bytes} bytes of scratch, and {SHARED_SCRATCH_LIMIT} is {limit} bytes"
            );
        }
        Ok(())
    }

    /// Whether a piece can be a call's for as long as that runs, where calls have `leased` others.
    ///
    /// There is always one left that calls have only while they enqueue an engine. So no call ever
    /// waits for another to end: they may depend on each other in ways that nobody here knows of.
    /// Of bytes, nobody knows how many the next engine will need.
    pub(super) fn leaves_one(self, leased: usize) -> bool {
        match self {
            Self::None => true,
            Self::Buffers(limit) => leased + 1 < limit,
            Self::Bytes(_) => false,
        }
    }

    /// The most bytes that one more piece can have, beside `count` others of `bytes` bytes in all.
    pub(super) fn room_beside(self, count: usize, bytes: usize) -> usize {
        match self {
            Self::None => usize::MAX,
            Self::Buffers(limit) if count < limit => usize::MAX,
            Self::Buffers(_) => 0,
            Self::Bytes(limit) => limit.saturating_sub(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_bytes_or_of_buffers() {
        let of = |value: OptionValue| Limit::of_option(&value);
        assert_eq!(of(1.into()).unwrap(), Limit::Bytes(1));
        assert_eq!(of("1048576".into()).unwrap(), Limit::Bytes(1 << 20));
        assert_eq!(of("1 buffer".into()).unwrap(), Limit::Buffers(1));
        assert_eq!(of("3 buffers".into()).unwrap(), Limit::Buffers(3));
        for wrong in [
            "",
            "0",
            "0 buffers",
            " 1",
            "1 MiB",
            "-1",
            "buffers",
            "1.5",
            "99999999999999999999",
        ] {
            let error = of(wrong.into()).unwrap_err();
            assert!(error.to_string().contains(SHARED_SCRATCH_LIMIT), "{error}");
        }
        assert!(of(0.into()).is_err());
        assert!(of((-1).into()).is_err());
        assert!(of(true.into()).is_err());
    }
}
