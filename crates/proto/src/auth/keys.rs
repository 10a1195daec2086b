//! [`KeyRing`]: endpoint pair shared keys by identifier, and the HMAC keys made of them (RFC 4895 §6.1; the
//! operations are those of RFC 6458).

use zeroize::Zeroizing;

use super::hmac::Schedule;
use super::{HmacAlgorithm, KeyError, SharedKey};

/// Keys that an association holds at most.
pub const MAX_KEYS: usize = 64;

#[derive(Clone, Debug)]
struct Key {
    shared: SharedKey,
    /// True if the key no longer signs, but still verifies (RFC 6458).
    deactivated: bool,
    /// The HMAC keys derived so far.
    schedules: Vec<Schedule>,
}

impl Key {
    fn new(shared: SharedKey) -> Self {
        Self { shared, deactivated: false, schedules: Vec::new() }
    }
}

/// The keys of one association.
#[derive(Clone, Debug)]
pub(crate) struct KeyRing {
    /// Keys; empty for only the null key before its first use. The active key always exists.
    keys: Vec<Key>,
    active: u16,
}

impl KeyRing {
    /// Creates a ring of these keys; without keys, a ring of the null key with identifier 0 (RFC 4895 §6.1,
    /// §6.2).
    pub(crate) fn new(keys: &[SharedKey], active: u16) -> Self {
        Self { keys: keys.iter().cloned().map(Key::new).collect(), active }
    }

    /// Returns the key that signs.
    pub(crate) fn active(&self) -> u16 {
        self.active
    }

    fn find(&mut self, id: u16) -> Result<&mut Key, KeyError> {
        if self.keys.is_empty() {
            //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
            //# If the endpoint has no endpoint pair shared key for the peer, it MUST use Shared Key
            //# Identifier zero with an empty endpoint pair shared
            self.keys.push(Key::new(SharedKey { id: 0, secret: Vec::new() }));
        }
        self.keys.iter_mut().find(|key| key.shared.id == id).ok_or(KeyError::Unknown(id))
    }

    /// Adds a key, or replaces the one with its identifier.
    pub(crate) fn set(&mut self, shared: SharedKey) -> Result<(), KeyError> {
        if let Ok(key) = self.find(shared.id) {
            *key = Key::new(shared);
        } else if self.keys.len() >= MAX_KEYS {
            return Err(KeyError::TooMany);
        } else {
            self.keys.push(Key::new(shared));
        }
        Ok(())
    }

    pub(crate) fn activate(&mut self, id: u16) -> Result<(), KeyError> {
        if self.find(id)?.deactivated {
            return Err(KeyError::Deactivated(id));
        }
        self.active = id;
        Ok(())
    }

    pub(crate) fn deactivate(&mut self, id: u16) -> Result<(), KeyError> {
        if self.active == id {
            return Err(KeyError::Active(id));
        }
        self.find(id)?.deactivated = true;
        Ok(())
    }

    pub(crate) fn delete(&mut self, id: u16) -> Result<(), KeyError> {
        if self.active == id {
            return Err(KeyError::Active(id));
        }
        self.find(id)?;
        self.keys.retain(|key| key.shared.id != id);
        Ok(())
    }

    /// Drops derived keys, because the key vectors of the ends changed.
    pub(crate) fn forget_schedules(&mut self) {
        self.keys.iter_mut().for_each(|key| key.schedules.clear());
    }

    /// Returns the association shared key of this identifier, derived from the shared key and `material`.
    /// Returns `None` if there is no such key.
    pub(super) fn schedule(
        &mut self,
        id: u16,
        algorithm: HmacAlgorithm,
        material: &[u8],
    ) -> Option<&Schedule> {
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //# If an endpoint with no shared key receives a Shared Key Identifier other than 0, it MUST silently
        //# discard all authenticated chunks.
        //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
        //# If no endpoint pair shared key has been configured for that Shared Key Identifier, all
        //# authenticated chunks MUST be silently discarded.
        let key = self.find(id).ok()?;
        if let Some(at) = key.schedules.iter().position(|schedule| schedule.algorithm() == algorithm) {
            return key.schedules.get(at);
        }
        // RFC 4895 §6.1: the endpoint pair shared key, then the key vectors
        let whole = Zeroizing::new([&key.shared.secret[..], material].concat());
        let made = Schedule::new(algorithm, &whole)?;
        key.schedules.push(made);
        key.schedules.last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::hmac::MAX_LEN;

    fn key(id: u16, secret: &[u8]) -> SharedKey {
        SharedKey { id, secret: secret.to_vec() }
    }

    fn mac(ring: &mut KeyRing, id: u16) -> Option<[u8; MAX_LEN]> {
        let mut out = [0; MAX_LEN];
        ring.schedule(id, HmacAlgorithm::Sha256, b"material")?.sign(b"message", &mut out);
        Some(out)
    }

    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.2
    //= type=test
    //# If the endpoint has no endpoint pair shared key for the peer, it MUST use Shared Key Identifier zero
    //# with an empty endpoint pair shared
    //= https://www.rfc-editor.org/rfc/rfc4895#section-6.3
    //= type=test
    //# If an endpoint with no shared key receives a Shared Key Identifier other than 0, it MUST silently
    //# discard all authenticated chunks.
    #[test]
    fn the_null_key_exists_only_without_other_keys() {
        let mut ring = KeyRing::new(&[], 0);
        assert!(mac(&mut ring, 0).is_some() && mac(&mut ring, 1).is_none());
        let mut ring = KeyRing::new(&[key(3, b"x")], 3);
        assert!(mac(&mut ring, 0).is_none(), "RFC 4895 §6.3: no key for that identifier");
        assert!(mac(&mut ring, 3).is_some());
    }

    #[test]
    fn keys_are_switched_as_rfc_6458_says() {
        let mut ring = KeyRing::new(&[], 0);
        assert_eq!(ring.activate(1), Err(KeyError::Unknown(1)));
        ring.set(key(1, b"one")).unwrap();
        assert_eq!(ring.active(), 0, "setting it does not use it");
        assert_eq!(ring.delete(0), Err(KeyError::Active(0)));
        assert_eq!(ring.deactivate(0), Err(KeyError::Active(0)));
        ring.activate(1).unwrap();
        ring.deactivate(0).unwrap();
        assert!(mac(&mut ring, 0).is_some(), "the peer may still use it");
        assert_eq!(ring.activate(0), Err(KeyError::Deactivated(0)));
        ring.delete(0).unwrap();
        assert!(mac(&mut ring, 0).is_none());
        assert_eq!(ring.delete(0), Err(KeyError::Unknown(0)));
        let old = mac(&mut ring, 1);
        ring.set(key(1, b"another")).unwrap();
        assert_ne!(mac(&mut ring, 1), old, "the new one is used at once");
    }

    #[test]
    fn the_number_of_keys_is_bounded() {
        let mut ring = KeyRing::new(&[], 0);
        for id in 1..MAX_KEYS as u16 {
            ring.set(key(id, &[])).unwrap();
        }
        assert_eq!(ring.set(key(999, &[])), Err(KeyError::TooMany));
        ring.set(key(5, b"again")).unwrap();
    }
}
