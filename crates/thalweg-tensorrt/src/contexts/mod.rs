//! The execution contexts of an instance: one for each profile that it uses, or one for all.

mod configured;

use thalweg_core::{DelegateSpec, Device as _, Error, OptionValue, Result, StreamHandle, bail};

use crate::abi::{is_idle, synchronize};
use crate::loaded::LoadedEngine;

pub(crate) use configured::{ConfiguredContext, DeviceCopy};

/// The backend option for a single context per instance, whatever the number of profiles: a boolean.
pub const SINGLE_CONTEXT: &str = "single_context";

/// The options for the contexts of an instance.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ContextOptions {
    /// Create the contexts of all profiles before the first call.
    pub(crate) at_once: bool,
    /// Create one context, and switch its profile.
    pub(crate) single: bool,
}

impl ContextOptions {
    /// The options of a delegate.
    ///
    /// # Errors
    /// If an option has an invalid value.
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

/// The contexts of an instance, by profile.
///
/// A call with another profile uses another context. Neither context is changed, and nothing waits. If a
/// context cannot be created, an existing one is switched to the profile, which takes TensorRT longer.
/// From then on, no more contexts are created.
pub(crate) struct Contexts {
    by_profile: Vec<Option<ConfiguredContext>>,
    /// The profiles that have a context, least recently used first.
    recent: Vec<usize>,
    /// The profile of the last call.
    last: Option<usize>,
    single: bool,
}

impl Contexts {
    /// The contexts that are created before the first call. That is the context of the only profile. Of
    /// several profiles, nobody knows which will be used, so there is none, unless the options ask for it.
    pub(crate) fn new(loaded: &LoadedEngine, options: ContextOptions) -> Result<Self> {
        let count = loaded.profiles.len();
        let mut contexts = Self {
            by_profile: (0..count).map(|_| None).collect(),
            recent: Vec::with_capacity(count),
            last: None,
            single: options.single,
        };
        let eager = match (count, options) {
            (1, _) => 1,
            (_, ContextOptions { at_once: false, .. }) => 0,
            (_, ContextOptions { single: true, .. }) => 1,
            (_, _) => count,
        };
        if eager == 0 {
            return Ok(contexts);
        }
        let _current = loaded.device().enter()?;
        let stream = loaded.device().default_stream();
        for profile in 0..eager {
            match ConfiguredContext::new(loaded, profile, stream) {
                Ok(context) => contexts.insert(profile, context),
                Err(error) if profile == 0 => return Err(error),
                Err(error) => {
                    contexts.fall_back(loaded, &error);
                    break;
                }
            }
        }
        // Calls are on other streams, and the contexts may be dropped before the first call.
        if contexts.recent.len() > 1 {
            synchronize(loaded.device(), stream).inspect_err(|_| {
                if !is_idle(loaded.device(), stream) {
                    contexts.abandon();
                }
            })?;
        }
        Ok(contexts)
    }

    /// The context of a profile that is selected.
    #[inline]
    pub(crate) fn get(&mut self, profile: usize) -> Result<&mut ConfiguredContext> {
        match self.by_profile.get_mut(profile) {
            Some(Some(context)) => Ok(context),
            _ => bail!(Internal, "no context for profile {profile}"),
        }
    }

    /// The context of a profile; `None` if there is none.
    #[inline]
    pub(crate) fn existing(&self, profile: usize) -> Option<&ConfiguredContext> {
        self.by_profile.get(profile)?.as_ref()
    }

    /// Notes that all work that the contexts have enqueued is complete.
    #[inline]
    pub(crate) fn set_idle(&mut self) {
        let contexts = self.by_profile.iter_mut().flatten();
        contexts.for_each(ConfiguredContext::set_idle);
    }

    /// The profile of the last call.
    #[inline]
    pub(crate) fn last(&self) -> Option<usize> {
        self.last
    }

    /// Makes a profile the current one, and sees to it that it has a context. Work for that is enqueued on
    /// the stream.
    ///
    /// # Errors
    /// If it can have no context. The profile of the last call stays the same then.
    #[inline]
    pub(crate) fn select(
        &mut self,
        loaded: &LoadedEngine,
        profile: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        let usable = self
            .existing(profile)
            .is_some_and(ConfiguredContext::is_usable);
        if usable && self.last == Some(profile) {
            return Ok(());
        }
        self.change(loaded, profile, usable, stream)
    }

    fn change(
        &mut self,
        loaded: &LoadedEngine,
        profile: usize,
        usable: bool,
        stream: StreamHandle,
    ) -> Result<()> {
        if !usable {
            self.create(loaded, profile, stream)?;
        }
        // The capacity is that of all profiles, so that this allocates nothing.
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

    /// Creates the context of a profile, or switches another context to it.
    #[cold]
    fn create(
        &mut self,
        loaded: &LoadedEngine,
        profile: usize,
        stream: StreamHandle,
    ) -> Result<()> {
        self.remove_unusable(loaded, stream)?;
        if self.existing(profile).is_some() {
            return Ok(());
        }
        if !self.single || self.recent.is_empty() {
            match ConfiguredContext::new(loaded, profile, stream) {
                Ok(context) => {
                    self.insert(profile, context);
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

    /// Drops contexts whose profile is unknown because a switch has failed.
    fn remove_unusable(&mut self, loaded: &LoadedEngine, stream: StreamHandle) -> Result<()> {
        for (profile, context) in self.by_profile.iter_mut().enumerate() {
            if context.as_ref().is_none_or(ConfiguredContext::is_usable) {
                continue;
            }
            // If this fails, the context stays, for the next call or the end.
            synchronize(loaded.device(), stream)?;
            *context = None;
            self.recent.retain(|other| *other != profile);
        }
        Ok(())
    }

    fn insert(&mut self, profile: usize, context: ConfiguredContext) {
        self.by_profile[profile] = Some(context);
        self.recent.push(profile);
    }

    /// Creates no more contexts from now on.
    #[cold]
    fn fall_back(&mut self, loaded: &LoadedEngine, error: &Error) {
        self.single = true;
        tracing::warn!(
            engine = loaded.name.as_str(),
            "there can be no context for each profile, so that calls which change it take longer: {error}"
        );
    }

    /// Leaks the contexts, because work that they have enqueued may run forever.
    pub(crate) fn abandon(&mut self) {
        std::mem::forget(std::mem::take(&mut self.by_profile));
        self.recent.clear();
    }
}
