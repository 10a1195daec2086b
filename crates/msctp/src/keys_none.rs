//! [`Keys`] of a build without the feature `tls`: there are none.

use msctp_proto::Protection;

use crate::error::AssociationError;

/// The key management of an association.
#[derive(Debug)]
pub(crate) enum Keys {}

impl Keys {
    pub(crate) const fn of(_protection: &Protection) -> Option<Box<Self>> {
        None
    }

    pub(crate) const fn is_protected(&self) -> bool {
        match *self {}
    }

    pub(crate) fn failure(&self) -> Option<AssociationError> {
        match *self {}
    }
}

/// Returns a listener's protection.
pub(crate) const fn for_listener(protection: Protection) -> Protection {
    protection
}
