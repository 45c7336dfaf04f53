//! The contexts of one instance of an engine: one for each profile that it uses, or one for all.

use thalweg_core::{DelegateSpec, Device as _, Error, OptionValue, Result, StreamHandle, bail};

use crate::abi::{is_over, wait};
use crate::loaded::Loaded;
use crate::prepared::Prepared;

/// The backend option for whether an instance has a single context, whatever the number of its
/// profiles: a boolean.
pub const SINGLE_CONTEXT: &str = "single_context";

/// How an instance makes its contexts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Making {
    /// Of all profiles, before the first call.
    pub(crate) at_once: bool,
    /// One, whose profile is switched.
    pub(crate) single: bool,
}

impl Making {
    /// # Errors
    /// If an option has a value that it cannot have.
    pub(crate) fn of(spec: &DelegateSpec<'_>) -> Result<Self> {
        let options = spec.options();
        Ok(Self {
            at_once: options.prepare_profiles(),
            single: match options.get(spec.backend(), SINGLE_CONTEXT) {
                None => false,
                Some(OptionValue::Bool(single)) => *single,
                Some(other) => bail!(
                    InvalidOption,
                    "{SINGLE_CONTEXT} is {other:?}, which is neither true nor false"
                ),
            },
        })
    }
}

/// Contexts, by profile.
///
/// To go from one profile to another is to take another context: nothing is told to either, and nothing
/// waits. Where a context cannot be made, one that is there is switched to the profile, which TensorRT
/// takes longer for; from then on, no more are made.
pub(crate) struct Contexts {
    by_profile: Vec<Option<Prepared>>,
    /// The profiles that have a context, the one that was not used for longest first.
    recent: Vec<usize>,
    /// The profile of the last call.
    last: Option<usize>,
    single: bool,
}

impl Contexts {
    /// Those that are made before the first call: that of the only profile; of several, nobody knows
    /// which will be used.
    pub(crate) fn new(loaded: &Loaded, making: Making) -> Result<Self> {
        let count = loaded.profiles.len();
        let mut contexts = Self {
            by_profile: (0..count).map(|_| None).collect(),
            recent: Vec::with_capacity(count),
            last: None,
            single: making.single,
        };
        let made = match (count, making) {
            (1, _) => 1,
            (_, Making { at_once: false, .. }) => 0,
            (_, Making { single: true, .. }) => 1,
            (_, _) => count,
        };
        if made == 0 {
            return Ok(contexts);
        }
        let _current = loaded.device().enter()?;
        let stream = loaded.device().default_stream();
        for profile in 0..made {
            match Prepared::new(loaded, profile, stream) {
                Ok(prepared) => contexts.insert(profile, prepared),
                Err(error) if profile == 0 => return Err(error),
                Err(error) => {
                    contexts.fall_back(loaded, &error);
                    break;
                }
            }
        }
        // Calls are on other streams, and the contexts may go before the first.
        if contexts.recent.len() > 1 {
            wait(loaded.device(), stream).inspect_err(|_| {
                if !is_over(loaded.device(), stream) {
                    contexts.abandon();
                }
            })?;
        }
        Ok(contexts)
    }

    /// The context of a profile that was selected.
    #[inline]
    pub(crate) fn get(&mut self, profile: usize) -> Result<&mut Prepared> {
        match self.by_profile.get_mut(profile) {
            Some(Some(prepared)) => Ok(prepared),
            _ => bail!(Internal, "no context for profile {profile}"),
        }
    }

    /// The context of a profile, if there is one.
    #[inline]
    pub(crate) fn existing(&self, profile: usize) -> Option<&Prepared> {
        self.by_profile.get(profile)?.as_ref()
    }

    /// Takes note that nothing runs that the contexts have enqueued.
    #[inline]
    pub(crate) fn rest(&mut self) {
        let contexts = self.by_profile.iter_mut().flatten();
        contexts.for_each(Prepared::rests);
    }

    /// The profile of the last call.
    #[inline]
    pub(crate) fn last(&self) -> Option<usize> {
        self.last
    }

    /// Sees to it that a profile has a context, and takes note that it is used. What is enqueued for
    /// that is on the stream.
    ///
    /// # Errors
    /// If there can be none. Then the profile of the last call is what it was.
    #[inline]
    pub(crate) fn select(
        &mut self,
        loaded: &Loaded,
        profile: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let usable = self.existing(profile).is_some_and(Prepared::is_usable);
        if usable && self.last == Some(profile) {
            return Ok(());
        }
        self.change(loaded, profile, usable, stream)
    }

    fn change(
        &mut self,
        loaded: &Loaded,
        profile: usize,
        usable: bool,
        stream: StreamHandle,
    ) -> Result<()> {
        if !usable {
            self.make(loaded, profile, stream)?;
        }
        // There is room, so that this allocates nothing.
        self.recent.retain(|other| *other != profile);
        self.recent.push(profile);
        if self.last.replace(profile) != Some(profile) {
            tracing::debug!(
                engine = loaded.name.as_str(),
                profile,
                "the profile has changed, or is the first"
            );
        }
        Ok(())
    }

    #[cold]
    fn make(&mut self, loaded: &Loaded, profile: usize, stream: StreamHandle) -> Result<()> {
        self.remove_unusable(loaded, stream)?;
        if self.existing(profile).is_some() {
            return Ok(());
        }
        if !self.single || self.recent.is_empty() {
            match Prepared::new(loaded, profile, stream) {
                Ok(prepared) => {
                    self.insert(profile, prepared);
                    return Ok(());
                }
                Err(error) if self.recent.is_empty() => return Err(error),
                Err(error) => self.fall_back(loaded, &error),
            }
        }
        let Some(&from) = self.recent.first() else {
            bail!(Internal, "no context to be switched to profile {profile}");
        };
        self.get(from)?.switch(loaded, profile, stream)?;
        self.by_profile.swap(from, profile);
        self.recent.retain(|other| *other != from);
        self.recent.push(profile);
        Ok(())
    }

    /// Drops contexts that nobody knows the profile of, since switching them has failed.
    fn remove_unusable(&mut self, loaded: &Loaded, stream: StreamHandle) -> Result<()> {
        for (profile, context) in self.by_profile.iter_mut().enumerate() {
            if context.as_ref().is_none_or(Prepared::is_usable) {
                continue;
            }
            // If this fails, it is still there, for the next call or the end.
            wait(loaded.device(), stream)?;
            *context = None;
            self.recent.retain(|other| *other != profile);
        }
        Ok(())
    }

    fn insert(&mut self, profile: usize, prepared: Prepared) {
        self.by_profile[profile] = Some(prepared);
        self.recent.push(profile);
    }

    #[cold]
    fn fall_back(&mut self, loaded: &Loaded, error: &Error) {
        self.single = true;
        tracing::warn!(
            engine = loaded.name.as_str(),
            "there can be no context for each profile, so that calls which change it take longer: {error}"
        );
    }

    /// Never frees them, since something may be running forever that they have enqueued.
    pub(crate) fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.by_profile));
        self.recent.clear();
    }
}
