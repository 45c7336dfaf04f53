//! The options for shared scratch, and its limit.

use thalweg_core::{DelegateSpec, OptionValue, Result, bail, ensure};
use thalweg_cuda::Limit;

/// The backend option that lets an engine share its scratch with others on the device: a boolean.
pub const SHARED_SCRATCH: &str = "use_shared_activation_scratch";

/// The backend option for the most shared scratch on a device: a number of bytes, as a
/// number or as digits, or a number of buffers, as `3 buffers`.
pub const SHARED_SCRATCH_LIMIT: &str = "shared_scratch_limit";

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
    let limit = option(SHARED_SCRATCH_LIMIT).map(limit_of);
    let limit = limit.transpose()?.unwrap_or_default();
    if !shares && limit != Limit::None {
        tracing::warn!("{SHARED_SCRATCH_LIMIT} has no effect: scratch is not shared");
    }
    Ok(shares.then_some(limit))
}

/// The limit that an option says.
fn limit_of(value: &OptionValue) -> Result<Limit> {
    let limit = match value {
        OptionValue::Int(bytes) => usize::try_from(*bytes).ok().map(Limit::Bytes),
        OptionValue::String(text) => limit_of_text(text),
        _ => None,
    };
    match limit {
        Some(limit) if !matches!(limit, Limit::Bytes(0) | Limit::Blocks(0)) => Ok(limit),
        _ => bail!(
            InvalidOption,
            "{SHARED_SCRATCH_LIMIT} is {value:?}, which is neither a number of bytes above zero \
             nor a number of buffers, such as \"3 buffers\""
        ),
    }
}

fn limit_of_text(text: &str) -> Option<Limit> {
    let buffers = text.strip_suffix(" buffers");
    let buffers = buffers.or_else(|| text.strip_suffix(" buffer"));
    let digits = buffers.unwrap_or(text);
    let number = match digits.bytes().all(|byte| byte.is_ascii_digit()) {
        true => digits.parse().ok()?,
        false => return None,
    };
    Some(match buffers {
        Some(_) => Limit::Blocks(number),
        None => Limit::Bytes(number),
    })
}

/// Fails for a piece that is larger than all may be.
pub(super) fn check(limit: Limit, bytes: usize) -> Result<()> {
    if let Limit::Bytes(limit) = limit {
        ensure!(
            bytes <= limit,
            OutOfMemory,
            "an engine needs {bytes} bytes of scratch, and {SHARED_SCRATCH_LIMIT} is {limit} bytes"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_of_bytes_or_of_buffers() {
        let of = |value: OptionValue| limit_of(&value);
        assert_eq!(of(1.into()).unwrap(), Limit::Bytes(1));
        assert_eq!(of("1048576".into()).unwrap(), Limit::Bytes(1 << 20));
        assert_eq!(of("1 buffer".into()).unwrap(), Limit::Blocks(1));
        assert_eq!(of("3 buffers".into()).unwrap(), Limit::Blocks(3));
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
