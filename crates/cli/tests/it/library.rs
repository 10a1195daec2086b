//! Associations of the library with a command.

/// Returns security with which an association of the library can talk to a command: a new key.
pub(crate) fn security() -> msctp::Security {
    use msctp::security::{AnyPeer, Identity, Tls, provider};
    let identity = Identity::generate(provider()).unwrap();
    Tls::new(&identity, AnyPeer).unwrap().into()
}
