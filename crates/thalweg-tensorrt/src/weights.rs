//! Weight streaming: weights that stay on the host, and the budget of those on the device.

use thalweg_core::{DelegateSpec, OptionValue, Result, bail, ensure};

use crate::abi::Engine;

/// The weight streaming budget: the bytes of weights that may be on the device. It is the key of a
/// compile spec in programs, and of a backend option for callers.
pub const WEIGHT_STREAMING_BUDGET: &str = "weight_streaming_budget";

/// The weight streaming budget of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Budget {
    /// What TensorRT recommends.
    Automatic,
    /// A number of bytes, or all streamable weights, if they have fewer.
    Bytes(i64),
}

/// The sizes of weight streaming of an engine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WeightStreaming {
    /// The weights that can stay on the host.
    pub(crate) streamable: i64,
    /// The part of them that is on the device; `None` if all are.
    pub(crate) budget: Option<i64>,
    /// The device memory through which a context streams the others.
    pub(crate) scratch: i64,
}

impl Budget {
    /// The budget of the caller's option, else of the program's compile spec.
    ///
    /// # Errors
    /// If the value is not a number of bytes.
    pub(crate) fn of(spec: &DelegateSpec<'_>) -> Result<Self> {
        if let Some(value) = spec.options().get(spec.backend(), WEIGHT_STREAMING_BUDGET) {
            return Self::of_option(value);
        }
        let mut specs = spec
            .compile_specs()
            .filter(|(key, _)| *key == WEIGHT_STREAMING_BUDGET);
        let first = specs.next();
        ensure!(
            specs.next().is_none(),
            InvalidProgram,
            "the program says {WEIGHT_STREAMING_BUDGET} twice"
        );
        Self::of_program(first.map(|(_, value)| value))
    }

    /// The budget of a program's compile spec.
    ///
    /// # Errors
    /// If the value is not a number of bytes.
    pub(crate) fn of_program(value: Option<&[u8]>) -> Result<Self> {
        let Some(value) = value else {
            return Ok(Self::Automatic);
        };
        match std::str::from_utf8(value).ok().and_then(parse) {
            Some(bytes) => Ok(Self::Bytes(bytes)),
            None => bail!(
                InvalidProgram,
                "the program's {WEIGHT_STREAMING_BUDGET} is \"{}\", which is no number of bytes from 0 to {}",
                value.escape_ascii(),
                i64::MAX
            ),
        }
    }

    fn of_option(value: &OptionValue) -> Result<Self> {
        let bytes = match value {
            OptionValue::Int(bytes) => Some(*bytes).filter(|&bytes| bytes >= 0),
            OptionValue::String(text) => parse(text),
            _ => None,
        };
        match bytes {
            Some(bytes) => Ok(Self::Bytes(bytes)),
            None => bail!(
                InvalidOption,
                "{WEIGHT_STREAMING_BUDGET} is {value:?}, which is no number of bytes from 0 to {}",
                i64::MAX
            ),
        }
    }

    /// Sets the budget of an engine that has no contexts yet.
    pub(crate) fn apply(self, engine: &mut Engine) -> Result<WeightStreaming> {
        let streamable = engine.streamable_weights()?;
        if streamable == 0 {
            if let Self::Bytes(bytes) = self {
                tracing::warn!(
                    bytes,
                    "{WEIGHT_STREAMING_BUDGET} has no effect: the engine has no weights that can stay on the host"
                );
            }
            return Ok(WeightStreaming::default());
        }
        if !engine.has_weight_budget() {
            ensure!(
                self == Self::Automatic,
                Unsupported,
                "{WEIGHT_STREAMING_BUDGET} needs TensorRT 10.1 or later"
            );
            return Ok(WeightStreaming {
                streamable,
                ..WeightStreaming::default()
            });
        }
        match self {
            Self::Bytes(bytes) => engine.set_weight_budget(bytes.min(streamable))?,
            Self::Automatic => {
                let bytes = engine.automatic_weight_budget()?;
                if let Err(error) = engine.set_weight_budget(bytes) {
                    // A budget of zero always fits.
                    tracing::warn!("weights are streamed: {error}");
                    engine.set_weight_budget(0)?;
                }
            }
        }
        Ok(WeightStreaming {
            streamable,
            budget: Some(engine.weight_budget()?),
            scratch: engine.weight_scratch()?,
        })
    }
}

/// A number of bytes: digits, and nothing else.
fn parse(text: &str) -> Option<i64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_number_or_digits() {
        let of = |value: OptionValue| Budget::of_option(&value);
        assert_eq!(of(0.into()).unwrap(), Budget::Bytes(0));
        assert_eq!(of(i64::MAX.into()).unwrap(), Budget::Bytes(i64::MAX));
        assert_eq!(of("1048576".into()).unwrap(), Budget::Bytes(1 << 20));
        assert_eq!(
            of(i64::MAX.to_string().into()).unwrap(),
            Budget::Bytes(i64::MAX)
        );
        for wrong in [
            "",
            "-1",
            "+1",
            " 1",
            "1 ",
            "0x10",
            "1e3",
            "9223372036854775808",
            "١",
        ] {
            let error = of(wrong.into()).unwrap_err();
            assert!(
                error.to_string().contains(WEIGHT_STREAMING_BUDGET),
                "{error}"
            );
        }
        assert!(of((-1).into()).is_err());
        assert!(of(true.into()).is_err());
    }
}
