//! Optimization profiles of TensorRT engines on the command line.

use std::str::FromStr;

use thalweg::{DelegateKey, LoadOptions, Profile};

/// The profiles that are pinned.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Profiles {
    /// The optimization profile of TensorRT engines [default: the one that fits the inputs]. `1` pins
    /// it for all engines, `METHOD=1` for those of a method, `METHOD:0=1` for a delegate by index or
    /// name, `:0=1` for that delegate in every method. Repeatable
    #[arg(long = "profile", value_name = "SPEC")]
    pins: Vec<Pin>,
}

/// A pinned profile.
#[derive(Clone, Debug, PartialEq)]
struct Pin {
    target: Target,
    profile: usize,
}

/// The engines that a pin applies to.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    Everything,
    Method(String),
    Delegate(DelegateKey),
}

impl Profiles {
    /// Load options with these profiles.
    pub(crate) fn load_options(&self, options: LoadOptions) -> LoadOptions {
        options.profile(self.profile())
    }

    fn profile(&self) -> Profile {
        let everything = |pin: &&Pin| pin.target == Target::Everything;
        let start = match self.pins.iter().rfind(everything) {
            Some(pin) => Profile::index(pin.profile),
            None => Profile::Automatic,
        };
        self.pins
            .iter()
            .fold(start, |profile, pin| match &pin.target {
                Target::Everything => profile,
                Target::Method(method) => profile.for_method(method, pin.profile),
                Target::Delegate(key) => profile.for_delegate(key.clone(), pin.profile),
            })
    }
}

impl FromStr for Pin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (target, profile) = match text.rsplit_once('=') {
            None => (Target::Everything, text),
            Some((target, profile)) => (target.parse()?, profile),
        };
        match profile.parse() {
            Ok(profile) => Ok(Self { target, profile }),
            Err(_) => Err(format!("`{profile}` is no index of a profile")),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((method, delegate)) = text.split_once(':') else {
            return match text {
                "" => Err("there is no method before `=`".into()),
                method => Ok(Self::Method(method.into())),
            };
        };
        if delegate.is_empty() {
            return Err("there is no delegate after `:`".into());
        }
        Ok(Self::Delegate(match (method, delegate.parse::<usize>()) {
            ("", Ok(index)) => index.into(),
            ("", Err(_)) => delegate.into(),
            (method, Ok(index)) => (method, index).into(),
            (method, Err(_)) => (method, delegate).into(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(texts: &[&str]) -> Profile {
        let pins = texts.iter().map(|text| text.parse().unwrap());
        Profiles {
            pins: pins.collect(),
        }
        .profile()
    }

    #[test]
    fn a_pin_is_for_all_for_a_method_or_for_a_delegate() {
        assert_eq!(pinned(&[]), Profile::Automatic);
        assert_eq!(pinned(&["1"]), Profile::index(1));
        let expected = Profile::index(2)
            .for_method("decode", 0)
            .for_delegate(("decode", 3), 1)
            .for_delegate(("decode", "a=b"), 1)
            .for_delegate(0, 4)
            .for_delegate("encoder", 5);
        let texts = [
            "1",
            "decode=0",
            "decode:3=1",
            "decode:a=b=1",
            ":0=4",
            ":encoder=5",
            "2",
        ];
        assert_eq!(pinned(&texts), expected);
    }

    #[test]
    fn what_pins_nothing_is_refused() {
        for wrong in [
            "",
            "x",
            "-1",
            "forward=",
            "forward=x",
            "=1",
            "forward:=1",
            ":=1",
        ] {
            let error = wrong.parse::<Pin>().unwrap_err();
            assert!(!error.is_empty(), "{wrong}");
        }
    }
}
