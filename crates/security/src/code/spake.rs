//! The exchange of a one-time code.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use msctp_protection::{End, Secret};
use rand_core_06::{CryptoRng, RngCore};
use rustls::crypto::SecureRandom;
use sha2::Sha256;
use spake2::{Ed25519Group, Identity, Password, Spake2};
use zeroize::{Zeroize, Zeroizing};

use crate::error::Error;

/// A one-time code that the users at both ends know.
///
/// It authenticates one attempt: each wrong guess of an attacker uses up a code. SPAKE2 proves that both ends
/// know it without revealing it. The proof covers a secret exported from the TLS connection, and so its key
/// exchange and the server's certificate; the client's signature in the same connection covers its own. An
/// attacker between the ends has two connections, and cannot relay the proof.
///
/// The code is not a pre-shared key of TLS, because rustls has no external pre-shared keys. In addition, the
/// certificates remain useful: their fingerprints are authenticated from then on.
pub struct Code(Zeroizing<String>);

/// A code cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the code is empty")]
pub struct CodeError;

impl Code {
    /// Creates a code from its text. Case, and white space around it, do not matter.
    ///
    /// # Errors
    /// If the text is empty apart from white space.
    pub fn new(code: &str) -> Result<Self, CodeError> {
        let code = Zeroizing::new(code.trim().to_lowercase());
        if code.is_empty() { Err(CodeError) } else { Ok(Self(code)) }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

/// The exchange of a one-time code.
pub(crate) struct Exchange {
    /// The code, until this end computes its element. The server does when the client's arrives.
    code: Option<(Zeroizing<String>, &'static dyn SecureRandom)>,
    /// State of SPAKE2; `None` before this end computed its element, and after the peer's arrived.
    state: Option<Spake2<Ed25519Group>>,
    /// This end's element; empty before it is computed.
    share: Vec<u8>,
    /// The key that both ends share if they know the same code.
    key: Option<Secret>,
}

impl Exchange {
    /// Begins the exchange. The server computes nothing before the client does, because anyone can set up an
    /// association.
    pub(crate) fn new(code: &Code, end: End, random: &'static dyn SecureRandom) -> Result<Self, Error> {
        let mut new =
            Self { code: Some((code.0.clone(), random)), state: None, share: Vec::new(), key: None };
        if end == End::Client {
            new.start(end)?;
        }
        Ok(new)
    }

    /// Computes this end's element, once.
    fn start(&mut self, end: End) -> Result<(), Error> {
        let Some((code, random)) = self.code.take() else { return Ok(()) };
        let mut scalar = Scalar(Zeroizing::new([0; 64]), 0);
        random.fill(&mut *scalar.0).map_err(|_| rustls::Error::FailedToGetRandomBytes)?;
        let password = Password::new(code.as_bytes());
        let (client, server) = (Identity::new(b"msctp client"), Identity::new(b"msctp server"));
        let (state, share) = match end {
            End::Client => Spake2::start_a_with_rng(&password, &client, &server, &mut scalar),
            End::Server => Spake2::start_b_with_rng(&password, &client, &server, &mut scalar),
        };
        (self.state, self.share) = (Some(state), share);
        Ok(())
    }

    /// Returns this end's element.
    pub(crate) fn share(&self) -> &[u8] {
        &self.share
    }

    /// Processes the peer's element. The server then computes its own.
    pub(crate) fn receive_share(&mut self, share: &[u8]) -> Result<(), Error> {
        self.start(End::Server)?;
        let state = self.state.take().ok_or(Error::Unexpected("a second SPAKE2 element"))?;
        let mut key = state.finish(share).map_err(|_| Error::Malformed("its SPAKE2 element is invalid"))?;
        self.key = Some(Secret::from(&key[..]));
        key.zeroize();
        Ok(())
    }

    /// Returns whether the peer's element has arrived.
    pub(crate) const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the proof that an end knows the code.
    pub(crate) fn confirmation(&self, end: End, binding: &Secret) -> Result<Vec<u8>, Error> {
        Ok(self.mac(end, binding)?.finalize().into_bytes().to_vec())
    }

    /// Verifies the proof of an end in constant time.
    pub(crate) fn verify(&self, end: End, binding: &Secret, tag: &[u8]) -> Result<(), Error> {
        self.mac(end, binding)?.verify_slice(tag).map_err(|_| Error::WrongCode)
    }

    fn mac(&self, end: End, binding: &Secret) -> Result<Hmac<Sha256>, Error> {
        let key = self.key.as_ref().ok_or(Error::CodeMissing)?;
        let mut mac = Hmac::<Sha256>::new_from_slice(key.bytes()).expect("HMAC takes keys of any length");
        mac.update(match end {
            End::Client => b"msctp code client",
            End::Server => b"msctp code server",
        });
        mac.update(binding.bytes());
        Ok(mac)
    }
}

/// The random bytes of the scalar. They are drawn beforehand, because spake2's generator cannot report an
/// error.
struct Scalar(Zeroizing<[u8; 64]>, usize);

impl RngCore for Scalar {
    fn next_u32(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.fill_bytes(&mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill_bytes(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn fill_bytes(&mut self, out: &mut [u8]) {
        let end = self.1 + out.len();
        out.copy_from_slice(self.0.get(self.1..end).expect("SPAKE2 draws one scalar of 64 bytes"));
        self.1 = end;
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), rand_core_06::Error> {
        self.fill_bytes(out);
        Ok(())
    }
}

impl CryptoRng for Scalar {}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stand-in for the system's random numbers.
    #[derive(Debug)]
    struct Fixed(u8);

    impl SecureRandom for Fixed {
        fn fill(&self, out: &mut [u8]) -> Result<(), rustls::crypto::GetRandomFailed> {
            out.fill(self.0);
            Ok(())
        }
    }

    fn exchanges(client: &str, server: &str) -> (Exchange, Exchange) {
        let make = |code: &str, end, seed| {
            let random = if seed == 1 { &Fixed(1) } else { &Fixed(2) };
            Exchange::new(&Code::new(code).unwrap(), end, random).expect("an exchange")
        };
        let (mut client, mut server) = (make(client, End::Client, 1), make(server, End::Server, 2));
        assert!(server.share().is_empty(), "the server computes nothing before the client does");
        server.receive_share(client.share()).unwrap();
        client.receive_share(server.share()).unwrap();
        (client, server)
    }

    #[test]
    fn the_same_code_is_proved_both_ways() {
        let (client, server) = exchanges("7-Lamp-Cedar", " 7-lamp-cedar\n");
        let binding = Secret::from(&[9; 32][..]);
        for (prover, end, verifier) in [(&client, End::Client, &server), (&server, End::Server, &client)] {
            let tag = prover.confirmation(end, &binding).unwrap();
            assert_eq!(verifier.verify(end, &binding, &tag), Ok(()));
            // Another connection, the other end's proof sent back, a short proof.
            let other = Secret::from(&[8; 32][..]);
            assert_eq!(verifier.verify(end, &other, &tag), Err(Error::WrongCode));
            let back =
                verifier.confirmation(if end == End::Client { End::Server } else { End::Client }, &binding);
            assert_eq!(verifier.verify(end, &binding, &back.unwrap()), Err(Error::WrongCode));
            assert_eq!(verifier.verify(end, &binding, &tag[..16]), Err(Error::WrongCode));
        }
    }

    #[test]
    fn another_code_is_not_proved() {
        let (client, server) = exchanges("7-lamp-cedar", "8-lamp-cedar");
        let binding = Secret::from(&[9; 32][..]);
        let tag = client.confirmation(End::Client, &binding).unwrap();
        assert_eq!(server.verify(End::Client, &binding, &tag), Err(Error::WrongCode));
    }

    #[test]
    fn invalid_elements_are_rejected() {
        for share in [&[][..], &[0x42], &[0x41; 33], &[0xff; 33]] {
            let code = Code::new("a").unwrap();
            let mut exchange = Exchange::new(&code, End::Client, &Fixed(1)).unwrap();
            assert!(matches!(exchange.receive_share(share), Err(Error::Malformed(_))), "{share:?}");
        }
        assert_eq!(Code::new("  ").unwrap_err(), CodeError);
        assert_eq!(format!("{:?}", Code::new("7-lamp-cedar").unwrap()), "Code");
    }
}
