//! [`Keys`] of a build without the feature `tls`: there are none.

use msctp_proto::{ConfigError, Protection};

use crate::error::AssociationError;

/// The key management of an association.
#[derive(Debug)]
pub(crate) enum Keys {}

impl Keys {
    pub(crate) const fn of(_protection: &Protection) -> Option<Box<Self>> {
        None
    }

    /// Rejects keys that nothing in this crate would establish.
    pub(crate) fn check(protection: &Protection) -> Result<(), ConfigError> {
        let Some(external) = protection.keys().filter(|keys| keys.is_external()) else { return Ok(()) };
        let want = "pre-shared keys: this build has no feature `tls`".to_owned();
        Err(ConfigError { field: "protection", value: format!("{external:?}"), want })
    }

    pub(crate) const fn is_ready(&self) -> bool {
        match *self {}
    }

    pub(crate) const fn note_opened(&mut self) {
        match *self {}
    }

    pub(crate) fn failure(&self) -> Option<AssociationError> {
        match *self {}
    }
}

/// Returns the protection of a listener, or of an end that connects.
pub(crate) const fn for_role(protection: Protection, _listens: bool) -> Protection {
    protection
}
