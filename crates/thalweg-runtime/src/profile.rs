//! Profiles: which of the variants that delegates were built with a call uses.

use std::borrow::Cow;
use std::fmt;

use thalweg_core::{Delegate, Result, bail, ensure};

/// Which of their profiles delegates use.
///
/// A delegate that was built with several profiles, each for a range of shapes, runs any of them. This
/// says which: for all calls ([`LoadOptions::profile`](crate::LoadOptions::profile)), or for one
/// ([`RunOptions::profile`](crate::RunOptions::profile)).
///
/// ```
/// use thalweg_runtime::Profile;
///
/// // All delegates with several profiles use their profile 1.
/// let profile = Profile::index(1);
/// // One method's delegates use profile 1, another's use profile 0, and one delegate its profile 2.
/// let profile = Profile::Automatic
///     .for_method("prefill", 1)
///     .for_method("decode", 0)
///     .for_delegate(("decode", 3), 2);
/// # assert_ne!(profile, Profile::default());
/// ```
///
/// # What wins
/// A pin of a delegate before that of its method, and that before one for everything. Of pins of one
/// delegate, one that names the method wins, and else the later. What nothing pins is chosen by the
/// inputs.
///
/// # What is refused
/// A pin of a method or a delegate ([`for_method`](Profile::for_method),
/// [`for_delegate`](Profile::for_delegate)) is exact: a delegate that does not have that profile is an
/// error, and so is a delegate or method that is not there. Under a pin for everything
/// ([`index`](Profile::index)), a delegate with a single profile uses that, which is logged once, and
/// one with several that lacks the index is an error.
///
/// An index may mean different things to two delegates: profile 0 may be for short inputs here, and
/// for long ones there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// Each delegate chooses by its inputs.
    #[default]
    Automatic,
    /// Some, or all, use the profile that is said here.
    Pinned(Pins),
}

/// Which profiles are pinned. Made by the methods of [`Profile`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    everywhere: Option<usize>,
    methods: Vec<(String, usize)>,
    delegates: Vec<(DelegateKey, usize)>,
}

/// A delegate: its index among the delegates of its method, or the name that its backend knows it by,
/// such as that of an engine; in one method, or in any. Both are what `thalweg inspect` shows.
///
/// Made from `0`, `"name"`, `("method", 0)`, or `("method", "name")`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelegateKey {
    method: Option<String>,
    which: Which,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Which {
    Index(usize),
    Name(String),
}

impl Profile {
    /// The profile with this index, for every delegate that has several.
    pub fn index(index: usize) -> Self {
        Self::Pinned(Pins {
            everywhere: Some(index),
            ..Pins::default()
        })
    }

    /// The same, but the delegates of a method use the profile with this index. They must have it, if
    /// they have profiles at all.
    #[must_use]
    pub fn for_method(self, method: impl Into<String>, index: usize) -> Self {
        let (mut pins, method) = (self.into_pins(), method.into());
        pins.methods.retain(|(other, _)| *other != method);
        pins.methods.push((method, index));
        Self::Pinned(pins)
    }

    /// The same, but a delegate uses the profile with this index. It must have it.
    #[must_use]
    pub fn for_delegate(self, delegate: impl Into<DelegateKey>, index: usize) -> Self {
        let (mut pins, key) = (self.into_pins(), delegate.into());
        pins.delegates.retain(|(other, _)| *other != key);
        pins.delegates.push((key, index));
        Self::Pinned(pins)
    }

    /// The pins; `None` if there are none.
    pub(crate) fn pins(&self) -> Option<&Pins> {
        match self {
            Self::Automatic => None,
            Self::Pinned(pins) => Some(pins),
        }
    }

    fn into_pins(self) -> Pins {
        match self {
            Self::Automatic => Pins::default(),
            Self::Pinned(pins) => pins,
        }
    }
}

impl From<Profile> for Cow<'_, Profile> {
    fn from(profile: Profile) -> Self {
        Cow::Owned(profile)
    }
}

impl<'p> From<&'p Profile> for Cow<'p, Profile> {
    fn from(profile: &'p Profile) -> Self {
        Cow::Borrowed(profile)
    }
}

impl From<usize> for DelegateKey {
    fn from(index: usize) -> Self {
        Self {
            method: None,
            which: Which::Index(index),
        }
    }
}

impl From<&str> for DelegateKey {
    fn from(name: &str) -> Self {
        name.to_string().into()
    }
}

impl From<String> for DelegateKey {
    fn from(name: String) -> Self {
        Self {
            method: None,
            which: Which::Name(name),
        }
    }
}

impl<M: Into<String>> From<(M, usize)> for DelegateKey {
    fn from((method, index): (M, usize)) -> Self {
        Self {
            method: Some(method.into()),
            which: Which::Index(index),
        }
    }
}

impl<M: Into<String>> From<(M, &str)> for DelegateKey {
    fn from((method, name): (M, &str)) -> Self {
        Self {
            method: Some(method.into()),
            which: Which::Name(name.into()),
        }
    }
}

impl fmt::Display for DelegateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            Which::Index(index) => write!(f, "delegate {index}")?,
            Which::Name(name) => write!(f, "delegate `{name}`")?,
        }
        match &self.method {
            Some(method) => write!(f, " of method `{method}`"),
            None => Ok(()),
        }
    }
}

/// The methods of a program, and how many delegates each has.
pub(crate) struct Outline(pub(crate) Vec<(String, usize)>);

impl Outline {
    /// Fails if pins name a method, or an index of a delegate, that the program does not have. Names of
    /// delegates are known only when these are loaded.
    pub(crate) fn check(&self, pins: &Pins) -> Result<()> {
        for (method, _) in &pins.methods {
            self.delegates_of(method)?;
        }
        for (key, _) in &pins.delegates {
            let most = match &key.method {
                Some(method) => self.delegates_of(method)?,
                None => self.0.iter().map(|(_, count)| *count).max().unwrap_or(0),
            };
            let exists = match key.which {
                Which::Index(index) => index < most,
                Which::Name(_) => most > 0,
            };
            ensure!(
                exists,
                InvalidOption,
                "a profile is pinned for {key}, which is not there: {}",
                self.describe()
            );
        }
        Ok(())
    }

    fn delegates_of(&self, method: &str) -> Result<usize> {
        match self.0.iter().find(|(name, _)| name == method) {
            Some((_, count)) => Ok(*count),
            None => bail!(
                InvalidOption,
                "a profile is pinned for method `{method}`, which is not there: {}",
                self.describe()
            ),
        }
    }

    fn describe(&self) -> String {
        let methods = self.0.iter().map(|(name, count)| match count {
            0 => format!("`{name}` without delegates"),
            1 => format!("`{name}` with delegate 0"),
            more => format!("`{name}` with delegates 0 to {}", more - 1),
        });
        let methods: Vec<_> = methods.collect();
        format!("the program has {}", methods.join(", "))
    }
}

/// The delegates of one method, as far as profiles go.
pub(crate) struct Profiled {
    method: String,
    delegates: Vec<Known>,
}

/// What is known of a delegate.
struct Known {
    backend: String,
    name: Option<String>,
    /// How many profiles it has; none, if its backend does not know of profiles.
    profiles: usize,
}

/// What a delegate uses, by pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// `None`: what the inputs say.
    pub(crate) profile: Option<usize>,
    /// Whether its only profile takes the place of the one that is pinned for everything.
    pub(crate) replaced: bool,
}

impl Profiled {
    pub(crate) fn new<'d>(
        method: &str,
        delegates: impl Iterator<Item = (&'d str, &'d dyn Delegate)>,
    ) -> Self {
        let known = |(backend, delegate): (&str, &dyn Delegate)| Known {
            backend: backend.into(),
            name: delegate.name().map(Into::into),
            profiles: delegate.profile_count(),
        };
        Self {
            method: method.into(),
            delegates: delegates.map(known).collect(),
        }
    }

    /// Whether a delegate here has a name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.delegates.iter().any(|known| known.is_called(name))
    }

    /// Fails if pins are for delegates of this method that are not there, or are not to be told apart.
    /// Pins without a method are looked at if `all`.
    pub(crate) fn check(&self, pins: &Pins, all: bool) -> Result<()> {
        for (key, _) in &pins.delegates {
            match &key.method {
                Some(method) if *method != self.method => continue,
                None if !all && !matches!(&key.which, Which::Name(name) if self.has_name(name)) => {
                    continue;
                }
                _ => {}
            }
            let those = || (0..self.delegates.len()).filter(|&index| self.is(index, key));
            match those().count() {
                1 => {}
                0 => bail!(
                    InvalidOption,
                    "a profile is pinned for {key}, which is not there: {}",
                    self.describe()
                ),
                _ => bail!(
                    InvalidOption,
                    "a profile is pinned for {key}, and delegates {} of method `{}` are called so; \
                     pin one by its index",
                    those()
                        .map(|index| index.to_string())
                        .collect::<Vec<_>>()
                        .join(" and "),
                    self.method
                ),
            }
        }
        let pinned = pins.methods.iter().any(|(name, _)| *name == self.method);
        ensure!(
            !pinned || self.delegates.iter().any(|known| known.profiles > 0),
            InvalidOption,
            "a profile is pinned for method `{}`, where nothing has profiles: {}",
            self.method,
            self.describe()
        );
        Ok(())
    }

    /// What a delegate uses.
    ///
    /// # Errors
    /// If it does not have that.
    pub(crate) fn resolve(&self, pins: &Pins, index: usize) -> Result<Resolved> {
        let known = &self.delegates[index];
        let of_delegate = |with_method: bool| {
            let mut fitting = pins.delegates.iter().rev().filter(|(key, _)| {
                key.method.is_some() == with_method
                    && key.method.as_ref().is_none_or(|name| *name == self.method)
                    && self.is(index, key)
            });
            fitting.next().map(|(_, profile)| *profile)
        };
        let of_method = || {
            let mut methods = pins.methods.iter();
            let of_method = methods.find(|(name, _)| *name == self.method);
            of_method.map(|(_, profile)| *profile)
        };
        let mut resolved = Resolved {
            profile: None,
            replaced: false,
        };
        let (profile, exact) = match of_delegate(true).or_else(|| of_delegate(false)) {
            Some(profile) => (profile, true),
            None if known.profiles == 0 => return Ok(resolved),
            None => match (of_method(), pins.everywhere) {
                (Some(profile), _) => (profile, true),
                (None, Some(profile)) => (profile, false),
                (None, None) => return Ok(resolved),
            },
        };
        if profile < known.profiles {
            resolved.profile = Some(profile);
        } else {
            ensure!(
                known.profiles == 1 && !exact,
                InvalidOption,
                "profile {profile} is pinned for a delegate that does not have it: {}",
                self.describe_one(index)
            );
            resolved.replaced = true;
        }
        Ok(resolved)
    }

    /// Says that a delegate's only profile takes the place of another.
    #[cold]
    pub(crate) fn warn(&self, pins: &Pins, index: usize) {
        tracing::warn!(
            "method `{}`: {}, so that is used, and not profile {}",
            self.method,
            self.describe_one(index),
            pins.everywhere.unwrap_or_default()
        );
    }

    fn is(&self, index: usize, key: &DelegateKey) -> bool {
        match &key.which {
            Which::Index(which) => *which == index,
            Which::Name(name) => self.delegates[index].is_called(name),
        }
    }

    /// The delegates, in words.
    pub(crate) fn describe(&self) -> String {
        if self.delegates.is_empty() {
            return format!("method `{}` has no delegates", self.method);
        }
        let all: Vec<_> = (0..self.delegates.len())
            .map(|index| self.describe_one(index))
            .collect();
        format!("in method `{}`, {}", self.method, all.join("; "))
    }

    fn describe_one(&self, index: usize) -> String {
        let known = &self.delegates[index];
        let mut text = format!("delegate {index} ({}", known.backend);
        if let Some(name) = &known.name {
            text += &format!(", `{name}`");
        }
        text += &match known.profiles {
            0 => ") has no profiles".into(),
            1 => ") has profile 0 alone".into(),
            count => format!(") has profiles 0 to {}", count - 1),
        };
        text
    }
}

impl Known {
    fn is_called(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name)
    }
}

impl Pins {
    /// Names of delegates that are pinned in whatever method has them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.delegates.iter().filter_map(|(key, _)| match key {
            DelegateKey {
                method: None,
                which: Which::Name(name),
            } => Some(&**name),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
