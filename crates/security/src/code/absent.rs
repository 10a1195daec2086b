//! The exchange of a build without the feature `code`: there is none.

use msctp_protection::{End, Secret};

use crate::error::Error;

/// The exchange of a one-time code.
pub(crate) enum Exchange {}

impl Exchange {
    pub(crate) fn share(&self) -> &[u8] {
        match *self {}
    }

    pub(crate) fn receive_share(&mut self, _share: &[u8]) -> Result<(), Error> {
        match *self {}
    }

    pub(crate) const fn has_key(&self) -> bool {
        match *self {}
    }

    pub(crate) fn confirmation(&self, _end: End, _binding: &Secret) -> Result<Vec<u8>, Error> {
        match *self {}
    }

    pub(crate) fn verify(&self, _end: End, _binding: &Secret, _tag: &[u8]) -> Result<(), Error> {
        match *self {}
    }
}
