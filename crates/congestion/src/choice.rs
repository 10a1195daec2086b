//! [`Choice`]: a registry entry by name, or a user's function; both become a [`Maker`].

use std::fmt;
use std::sync::Arc;

use crate::{Registered, UnknownName};

/// A registry entry by name, or a function that makes a `T` from a `C`.
///
/// Two choices are equal if they have the same name, or are clones of one function.
pub struct Choice<C, T: ?Sized>(Chosen<C, T>);

enum Chosen<C, T: ?Sized> {
    Named(String),
    Own(Own<C, T>),
}

/// An entry of a registry.
pub type Entry<C, T> = Registered<fn(&C) -> Box<T>>;

/// A user's function that makes a `T`.
pub type Own<C, T> = Arc<dyn Fn(&C) -> Box<T> + Send + Sync>;

impl<C, T: ?Sized> Choice<C, T> {
    /// Chooses an entry by name. The name is checked on use.
    pub fn named(name: impl Into<String>) -> Self {
        Self(Chosen::Named(name.into()))
    }

    /// Chooses the function `make`. It runs for each path (controllers) or each association (policies), and
    /// whenever options are checked.
    pub fn own(make: impl Fn(&C) -> Box<T> + Send + Sync + 'static) -> Self {
        Self(Chosen::Own(Arc::new(make)))
    }

    /// Returns the name, or `None` for a function.
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Chosen::Named(name) => Some(name),
            Chosen::Own(_) => None,
        }
    }

    /// Returns the registry entry, or `None` for a function; errors call the entry a `what`.
    ///
    /// # Errors
    /// [`UnknownName`] if the registry has no such name; it lists the known ones.
    pub fn registered(
        &self,
        registry: &'static [Entry<C, T>],
        what: &'static str,
    ) -> Result<Option<&'static Entry<C, T>>, UnknownName> {
        self.name().map(|name| Registered::find(registry, what, name)).transpose()
    }

    /// Returns the function that makes a `T`.
    ///
    /// # Errors
    /// As [`registered`](Self::registered).
    pub fn maker(
        &self,
        registry: &'static [Entry<C, T>],
        what: &'static str,
    ) -> Result<Maker<C, T>, UnknownName> {
        match &self.0 {
            Chosen::Named(name) => Ok(Maker::Registered(Registered::find(registry, what, name)?.make)),
            Chosen::Own(make) => Ok(Maker::Own(Arc::clone(make))),
        }
    }
}

impl<C, T: ?Sized> From<&str> for Choice<C, T> {
    fn from(name: &str) -> Self {
        Self::named(name)
    }
}

impl<C, T: ?Sized> From<String> for Choice<C, T> {
    fn from(name: String) -> Self {
        Self::named(name)
    }
}

impl<C, T: ?Sized> Clone for Choice<C, T> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            Chosen::Named(name) => Chosen::Named(name.clone()),
            Chosen::Own(make) => Chosen::Own(Arc::clone(make)),
        })
    }
}

impl<C, T: ?Sized> PartialEq for Choice<C, T> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Chosen::Named(name), Chosen::Named(other)) => name == other,
            (Chosen::Own(make), Chosen::Own(other)) => Arc::ptr_eq(make, other),
            _ => false,
        }
    }
}

impl<C, T: ?Sized> Eq for Choice<C, T> {}

impl<C, T: ?Sized> fmt::Debug for Choice<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => fmt::Debug::fmt(name, f),
            None => f.write_str("own"),
        }
    }
}

/// The name, or “own”.
impl<C, T: ?Sized> fmt::Display for Choice<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name().unwrap_or("own"))
    }
}

/// Makes a `T` from a `C`; the result of [`Choice::maker`].
pub enum Maker<C, T: ?Sized> {
    /// The registry's.
    Registered(fn(&C) -> Box<T>),
    /// The user's.
    Own(Own<C, T>),
}

impl<C, T: ?Sized> Maker<C, T> {
    /// Makes one.
    pub fn make(&self, config: &C) -> Box<T> {
        match self {
            Self::Registered(make) => make(config),
            Self::Own(make) => make(config),
        }
    }
}

impl<C, T: ?Sized> Clone for Maker<C, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Registered(make) => Self::Registered(*make),
            Self::Own(make) => Self::Own(Arc::clone(make)),
        }
    }
}

impl<C, T: ?Sized> fmt::Debug for Maker<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Registered(_) => "registered",
            Self::Own(_) => "own",
        })
    }
}
