//! Key managers against each other: set-up, rekeying, identities, codes, timers, and hostile messages.

use std::sync::Arc;

use msctp_protection::{Direction, End, FIRST_EPOCH, KeyContext};
use msctp_security::{
    Agreed, AnyPeer, Code, Error, Fault, Identity, KeyManager, MAX_HANDSHAKE_BYTES, Output, Pinned, Rekey,
    TlsConfig, TlsConfigError,
};
use msctp_units::{Span, Time};
use proptest::prelude::*;

use crate::support;

use support::{Pair, Party, agreed, config, identity, provider};

const HOUR: Span = Span::from_secs(3600);

#[test]
fn both_ends_derive_the_same_keys_and_know_each_other() {
    let (client, server) = (identity(), identity());
    let configs = [&client, &server].map(|one| Arc::new(one.config(Arc::new(AnyPeer)).unwrap()));
    let mut pair = Pair::new(&configs[0], &configs[1]);
    pair.run();
    pair.assert_protected(FIRST_EPOCH);
    assert_eq!(pair.client.peer.as_ref().unwrap().fingerprint, server.fingerprint());
    assert_eq!(pair.server.peer.as_ref().unwrap().fingerprint, client.fingerprint());
    // Restart keys were established, and only primary keys are used.
    assert_eq!(pair.client.sealer.usage(KeyContext::Restart).map(|usage| usage.records), Some(0));
}

/// The set-up takes three round trips. INIT and INIT ACK are the first, COOKIE ECHO and the client's first
/// messages the second. The client's Finished and *Protection Established* are the third
/// (draft-porfiri-tsvwg-sctp-dtls-handshake-01 §6.1).
#[test]
fn two_round_trips_follow_the_init() {
    for code in [false, true] {
        let mut pair = if code { with_codes("7-a-b", "7-a-b") } else { Pair::any() };
        assert!(pair.deliver(End::Server) > 0 && pair.deliver(End::Client) > 0);
        assert!(pair.client.protected.is_empty() && pair.server.protected.is_empty());
        pair.deliver(End::Server);
        assert_eq!(pair.server.protected, [FIRST_EPOCH], "after one and a half");
        pair.deliver(End::Client);
        assert_eq!(pair.client.protected, [FIRST_EPOCH], "after two");
    }
}

/// §6.1: the client's Finished is in clear. *Protection Established* is protected, and arrives when the
/// client can open it.
#[test]
fn protection_begins_behind_the_finished_message() {
    let mut pair = Pair::any();
    pair.deliver(End::Server);
    pair.deliver(End::Client);
    assert!(pair.client.opener.is_ready() && !pair.client.sealer.is_ready() && !pair.client.required);
    assert!(pair.client.sent.iter().all(|(_, protected)| !protected));
    pair.deliver(End::Server);
    assert!(pair.server.sent.iter().all(|(_, protected)| *protected));
    assert_eq!(pair.server.sent.back().unwrap().0, [0x83, 0x01], "§4.1.1");
    pair.deliver(End::Client);
    // Only the end of its direction is left to say.
    assert_eq!(pair.client.sent.len(), 1);
    pair.run();
    pair.assert_protected(FIRST_EPOCH);
}

#[test]
fn each_association_has_its_own_keys() {
    let (client, server) = (config(AnyPeer), config(AnyPeer));
    let (mut one, mut two) = (Pair::new(&client, &server), Pair::new(&client, &server));
    one.run();
    two.run();
    let packet = one.client.seal(1);
    assert!(!two.server.opens(packet.clone(), 1));
    assert!(one.server.opens(packet, 1));
}

/// Ends whose INIT or INIT ACK was changed have other keys.
#[test]
fn a_changed_set_up_gives_other_keys() {
    let mut pair = Pair::any();
    let binding = msctp_protection::Binding::from_bytes([0x5b; 32]);
    let agreed = Agreed { binding, ..agreed(End::Server) };
    pair.server = Party::new(KeyManager::new(config(AnyPeer), agreed, None, Time::ZERO).unwrap());
    pair.deliver(End::Server);
    pair.deliver(End::Client);
    pair.deliver(End::Server);
    let packet = pair.server.seal(1);
    assert!(!pair.client.opens(packet, 1), "the client never opens *Protection Established*");
}

/// §5.2: a parameter that was changed in transit gives different keys.
#[test]
fn a_changed_parameter_is_a_downgrade_that_fails() {
    let changed: &[u8] = &[0x80, 0x06, 0, 10, 1, 2, 3, 4, 0x01, 0];
    for (client_parameter, server_parameter) in
        [(changed, support::SERVER_PARAMETER), (support::CLIENT_PARAMETER, changed)]
    {
        let mut pair = Pair::any();
        let agreed = Agreed { client_parameter, server_parameter, ..agreed(End::Server) };
        pair.server = Party::new(KeyManager::new(config(AnyPeer), agreed, None, Time::ZERO).unwrap());
        pair.deliver(End::Server);
        pair.deliver(End::Client);
        pair.deliver(End::Server);
        let packet = pair.server.seal(1);
        assert!(!pair.client.opens(packet, 1), "the client never opens *Protection Established*");
    }
}

#[test]
fn a_pinned_key_is_accepted_and_another_refused() {
    let (client, server, other) = (identity(), identity(), identity());
    let of = |one: &Identity, pinned: &Identity| {
        Arc::new(one.config(Arc::new(Pinned(vec![pinned.fingerprint()]))).unwrap())
    };
    let mut pair = Pair::new(&of(&client, &server), &of(&server, &client));
    pair.run();
    pair.assert_protected(FIRST_EPOCH);

    let mut pair = Pair::new(&of(&client, &other), &of(&server, &client));
    pair.run();
    let error = pair.client.error.expect("a refusal");
    assert_eq!(error.fault(), Fault::Identity);
    let expected = format!("the peer's key is {}, must be {}", server.fingerprint(), other.fingerprint());
    assert_eq!(error.to_string(), expected);
    assert!(matches!(pair.server.error, Some(Error::Alert(_))), "§7: an alert");

    let mut pair = Pair::new(&of(&client, &server), &of(&server, &other));
    pair.run();
    assert!(matches!(pair.server.error, Some(Error::Refused(_))));
    assert!(pair.client.error.is_some() && !pair.client.sealer.is_ready());
}

/// RFC 7250: the fingerprint of a raw public key equals that of its certificate.
#[test]
fn raw_public_keys_have_the_fingerprint_of_their_certificates() {
    let key = Identity::generate_key().unwrap();
    let der = rustls::pki_types::PrivatePkcs8KeyDer::from(key.to_vec());
    let certified = Identity::self_signed(provider(), &key).unwrap();
    let raw = Identity::raw_public_key(provider(), der.into()).unwrap();
    assert_eq!(raw.fingerprint(), certified.fingerprint());
    let raw = Arc::new(raw.config(Arc::new(Pinned(vec![raw.fingerprint()]))).unwrap());
    let mut pair = Pair::new(&raw, &raw);
    pair.run();
    pair.assert_protected(FIRST_EPOCH);
    rekey(&mut pair, End::Server);
    pair.assert_protected(FIRST_EPOCH + 1);
    // An end with certificates has no common format with it.
    let mut pair = Pair::new(&raw, &config(AnyPeer));
    pair.run();
    assert!(pair.client.error.is_some() && pair.server.error.is_some());
}

#[test]
fn a_certificate_is_the_same_each_time() {
    let key = Identity::generate_key().unwrap();
    let make = || Identity::self_signed(provider(), &key).unwrap().fingerprint();
    assert_eq!(make(), make());
    assert!(Identity::self_signed(provider(), &key[..20]).is_err());
}

/// Returns a function that creates configurations with certificates of one CA, by the name of the end.
fn authority() -> impl Fn(&str) -> Arc<TlsConfig> {
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
    let ca_key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&ca_key).unwrap().der().clone();
    let issuer = Issuer::new(params, ca_key);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ca).unwrap();
    let roots = Arc::new(roots);
    move |name: &str| {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let certificate = || vec![certificate.der().clone()];
        let key = || rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let versions = &[&rustls::version::TLS13];
        let verifier =
            rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), provider());
        let client = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(Arc::clone(&roots))
            .with_client_auth_cert(certificate(), key())
            .unwrap();
        let server = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(versions)
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(certificate(), key())
            .unwrap();
        Arc::new(TlsConfig::new(client, server).unwrap())
    }
}

/// rustls's own verifiers check certificates of a CA.
#[test]
fn certificates_of_a_ca_are_verified_by_name() {
    let config_of = authority();
    let mut pair = Pair::new(&config_of("client.example"), &config_of("server.example"));
    pair.run();
    pair.assert_protected(FIRST_EPOCH);
    for end in [End::Server, End::Client] {
        let epoch = pair.client.protected.last().unwrap() + 1;
        rekey(&mut pair, end);
        pair.assert_protected(epoch);
    }

    let mut pair = Pair::new(&config_of("client.example"), &config_of("another.example"));
    pair.run();
    assert_eq!(pair.client.error.expect("another name").fault(), Fault::Identity);
    let alert = rustls::AlertDescription::BadCertificate;
    assert_eq!(pair.server.error, Some(Error::Alert(alert)));
    let mut pair = Pair::new(&config(AnyPeer), &config_of("server.example"));
    pair.run();
    assert_eq!(pair.server.error.expect("no certificate of the CA").fault(), Fault::Identity);
    assert_eq!(pair.client.error, Some(Error::Alert(rustls::AlertDescription::UnknownCA)));
}

/// The second handshake resumes the first: its flights have no certificates.
#[test]
fn false_start_sends_behind_finished_and_resumes() {
    let config_of = authority();
    let (client, server) = (config_of("client.example"), config_of("server.example"));
    let mut flights = Vec::new();
    for _ in 0..2 {
        let mut pair = Pair::false_start(&client, &server);
        pair.deliver(End::Server);
        pair.deliver(End::Client);
        assert!(pair.client.starts == 1 && pair.client.protected.is_empty());
        let finished = pair.client.sent.iter().map(|(message, _)| message.len()).sum::<usize>();
        assert!(pair.client.sent.iter().all(|(_, sealed)| !sealed), "before the keys");
        flights.push(finished);
        // Data leaves with it; the server opens it when it has received the message.
        let data = pair.client.seal(1);
        assert!(!pair.server.opens(data.clone(), 1), "no keys yet");
        pair.deliver(End::Server);
        assert!(pair.server.opens(data, 1));
        pair.run();
        pair.assert_protected(FIRST_EPOCH);
        rekey(&mut pair, End::Client);
        pair.assert_protected(FIRST_EPOCH + 1);
        assert_eq!(pair.client.starts, 1, "not when keys are replaced");
    }
    assert!(flights[1] < 100 && flights[0] > 400, "{flights:?}");
}

#[test]
fn configurations_that_contradict_the_draft_are_rejected() {
    let builder = || {
        rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
    };
    let server = || {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    };
    assert_eq!(
        TlsConfig::new(builder().with_no_client_auth(), server()).unwrap_err(),
        TlsConfigError::NoClientCertificate
    );
    // rustls does not tell whether a server demands a certificate: the handshake fails instead (§3.3).
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
    let key = || rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let chain = vec![certificate.der().clone()];
    let mut early = builder().with_client_auth_cert(chain.clone(), key()).unwrap();
    let lax = TlsConfig::new(early.clone(), server()).unwrap();
    early.enable_early_data = true;
    assert_eq!(TlsConfig::new(early, server()).unwrap_err(), TlsConfigError::EarlyData);
    let mut pair = Pair::new(&config(AnyPeer), &Arc::new(lax));
    pair.run();
    assert_eq!(pair.server.error, Some(Error::NoCertificate));
    assert!(!pair.server.opener.is_ready());
}

/// Lets an end rekey.
fn rekey(pair: &mut Pair, end: End) {
    let now = pair.now;
    let party = if end == End::Client { &mut pair.client } else { &mut pair.server };
    party.call(|manager| manager.rekey(now));
    pair.run();
}

#[test]
fn either_end_rekeys_and_old_packets_are_opened_until_they_drain() {
    let mut pair = Pair::any();
    pair.run();
    for (i, end) in [End::Client, End::Server, End::Server, End::Client, End::Client].into_iter().enumerate()
    {
        let (to_server, to_client) = (pair.client.seal(7), pair.server.seal(8));
        let epoch = FIRST_EPOCH + 1 + i as u64;
        rekey(&mut pair, end);
        pair.assert_protected(epoch);
        assert!(pair.server.opens(to_server, 7) && pair.client.opens(to_client, 8), "sent before");

        let late = [pair.client.seal(9), pair.server.seal(9)];
        assert_eq!(late.map(|packet| packet[5] & 3), [(epoch & 3) as u8; 2]);
        // §6.2.3: 120 s, as both ends know that the other one has the keys.
        let until = pair.now + Span::from_secs(120);
        assert_eq!(pair.client.retired.last(), Some(&(epoch, until)));
        assert_eq!(pair.server.retired.last(), Some(&(epoch, until)));
        pair.wait(Span::from_secs(120));
        assert_eq!(pair.client.opener.usage(KeyContext::Primary, epoch - 1), None);
        assert_eq!(pair.server.opener.usage(KeyContext::Primary, epoch - 1), None);
    }
}

/// Makes the client rekey until the server has the new keys, without delivering the server's confirmation.
/// Returns the time.
fn rekey_without_confirmation(pair: &mut Pair) -> Time {
    let now = pair.now;
    pair.client.call(|manager| manager.rekey(now));
    for end in [End::Server, End::Client, End::Server] {
        pair.deliver(end);
    }
    now
}

/// §6.2.3: while the peer may lack the new keys, the old ones stay for the time in which the association
/// would fail.
#[test]
fn old_keys_stay_while_the_client_may_not_have_the_new_ones() {
    let mut pair = Pair::any();
    pair.run();
    let now = rekey_without_confirmation(&mut pair);
    assert_eq!(pair.server.retired, [(FIRST_EPOCH + 1, now + Span::from_secs(303))]);
    assert_eq!(pair.client.retired, []);
    // The client still sends by the old keys, the server by the new ones, and both are opened.
    let (old, new) = (pair.client.seal(1), pair.server.seal(2));
    assert_eq!((old[5] & 3, new[5] & 3), (3, 0));
    assert!(pair.server.opens(old, 1) && pair.client.opens(new, 2));
    pair.run();
    assert_eq!(pair.server.retired.last(), Some(&(FIRST_EPOCH + 1, now + Span::from_secs(120))));
}

#[test]
fn of_two_simultaneous_rekeys_the_clients_wins() {
    for first in [End::Client, End::Server] {
        let mut pair = Pair::any();
        pair.run();
        let now = pair.now;
        pair.client.call(|manager| manager.rekey(now));
        pair.server.call(|manager| manager.rekey(now));
        // Both ClientHellos are on their way; they arrive in either order.
        pair.deliver(first);
        pair.run();
        pair.assert_protected(FIRST_EPOCH + 1);
        assert_eq!(pair.client.protected.len(), 2, "one of them");
        rekey(&mut pair, End::Server);
        pair.assert_protected(FIRST_EPOCH + 2);
    }
}

#[test]
fn keys_are_replaced_each_hour_and_the_client_begins() {
    let mut pair = Pair::any();
    pair.run();
    pair.wait(HOUR - Span::from_secs(1));
    pair.assert_protected(FIRST_EPOCH);
    pair.wait(HOUR * 10);
    pair.assert_protected(FIRST_EPOCH + 10);
    assert_eq!((pair.client.rekeys_failed.len(), pair.server.rekeys_failed.len()), (0, 0));
}

#[test]
fn keys_are_replaced_after_a_number_of_bytes() {
    let mut config = identity().config(Arc::new(AnyPeer)).unwrap();
    config.rekey = Rekey { bytes: 1000, ..Rekey::default() };
    let mut pair = Pair::new(&Arc::new(config), &support::config(AnyPeer));
    pair.run();
    let mut sent = 0;
    while pair.client.sent.is_empty() {
        pair.client.seal(1);
        sent += 1;
        assert!(sent < 100, "no rekey");
        let (send, receive) = pair.client.usage();
        let now = pair.now;
        pair.client.call(|manager| manager.handle_usage(now, send, receive));
    }
    // A packet of four bytes is two blocks, its tag included.
    assert_eq!(sent, 1000_u32.div_ceil(32));
    pair.run();
    pair.assert_protected(FIRST_EPOCH + 1);
}

/// If the peer is silent, the ends keep their keys, try again, and fail eventually (§6.2.5, §7).
#[test]
fn an_unanswered_rekey_is_tried_again_until_the_keys_expire() {
    let mut pair = Pair::any();
    pair.run();
    let mut now = pair.now + HOUR;
    let mut hellos = 0;
    while pair.client.error.is_none() {
        pair.client.call(|manager| manager.handle_timeout(now));
        hellos += std::mem::take(&mut pair.client.sent).len();
        now = pair.client.manager.poll_timeout().unwrap_or(now);
    }
    assert_eq!(pair.client.error, Some(Error::Expired));
    // A minute for each attempt, ten seconds in between.
    assert_eq!(hellos, 3600_usize.div_ceil(70));
    assert_eq!(pair.client.rekeys_failed.len(), hellos - 1);
    assert_eq!(pair.client.manager.poll_timeout(), None);
    assert_eq!(pair.client.manager.handle_timeout(now), Err(Error::Failed));
}

#[test]
fn a_rekey_after_an_unanswered_one_succeeds() {
    let mut pair = Pair::any();
    pair.run();
    let now = pair.now;
    pair.client.call(|manager| manager.rekey(now));
    // The server's answer is so late that the client has begun again.
    pair.deliver(End::Server);
    let later = now + Span::from_secs(75);
    for at in [now + Span::from_secs(60), later] {
        pair.client.call(|manager| manager.handle_timeout(at));
    }
    pair.now = later;
    pair.client.call(|manager| manager.rekey(later));
    pair.run();
    pair.wait(Span::from_secs(60));
    pair.assert_protected(FIRST_EPOCH + 1);
}

#[test]
fn a_set_up_that_is_not_answered_times_out() {
    let mut pair = Pair::any();
    let now = pair.now + Span::from_secs(60);
    for party in [&mut pair.client, &mut pair.server] {
        assert_eq!(party.manager.poll_timeout(), Some(now));
        party.call(|manager| manager.handle_timeout(now));
        assert_eq!(party.error, Some(Error::TimedOut));
        assert!(!party.sealer.is_ready() && !party.opener.is_ready());
    }
}

/// §3.3: a rekey cannot change the peer's identity, and the keys in use stay.
#[test]
fn another_identity_cannot_rekey() {
    for end in [End::Client, End::Server] {
        let (one, two, third) = (config(AnyPeer), config(AnyPeer), config(AnyPeer));
        let (mut pair, mut other) = match end {
            End::Client => (Pair::new(&one, &third), Pair::new(&two, &third)),
            End::Server => (Pair::new(&third, &one), Pair::new(&third, &two)),
        };
        pair.run();
        other.run();
        let now = pair.now;
        // The rekey of another association with the same end, whose peer has another key.
        let (into, from, peer) = match end {
            End::Client => (&mut pair.server, &mut other.client, End::Server),
            End::Server => (&mut pair.client, &mut other.server, End::Client),
        };
        from.call(|manager| manager.rekey(now));
        for _ in 0..4 {
            for (message, _) in std::mem::take(&mut from.sent) {
                into.receive(now, &message);
            }
            for (message, _) in std::mem::take(&mut into.sent) {
                from.receive(now, &message);
            }
        }
        assert!(
            matches!(into.rekeys_failed[..], [Error::IdentityChanged { .. }]),
            "{:?}",
            into.rekeys_failed
        );
        assert_eq!(into.error, None);
        assert_eq!(into.protected, [FIRST_EPOCH]);
        // The rightful peer can.
        pair.client.sent.clear();
        pair.server.sent.clear();
        pair.now = now + Span::from_secs(10);
        rekey(&mut pair, peer);
        pair.assert_protected(FIRST_EPOCH + 1);
    }
}

/// A ticket would admit a peer whose key is no longer accepted.
#[test]
fn the_next_association_does_not_resume() {
    #[derive(Clone, Debug, Default)]
    struct Counted(Arc<std::sync::atomic::AtomicUsize>);
    impl msctp_security::CheckPeer for Counted {
        fn check(&self, _: &msctp_security::Fingerprint) -> Result<(), msctp_security::Refused> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
    }
    let (here, there) = (Counted::default(), Counted::default());
    let (client, server) = (config(here.clone()), config(there.clone()));
    for count in 1..3 {
        let mut pair = Pair::new(&client, &server);
        pair.run();
        pair.assert_protected(FIRST_EPOCH);
        let checks = [&here, &there].map(|check| check.0.load(std::sync::atomic::Ordering::Relaxed));
        assert_eq!(checks, [count; 2]);
    }
}

/// Each ClientHello costs this end a key exchange, a signature and a flight in its send buffer.
#[test]
fn client_hellos_in_a_row_are_answered_once() {
    let mut pair = Pair::any();
    pair.run();
    let now = pair.now;
    pair.client.call(|manager| manager.rekey(now));
    let (hello, _) = pair.client.sent.pop_front().unwrap();
    let mut flights = 0;
    for second in 0..40 {
        pair.server.receive(now + Span::from_secs(second), &hello);
        flights += std::mem::take(&mut pair.server.sent).len();
    }
    assert_eq!(pair.server.error, None);
    assert_eq!(flights, 4, "one in ten seconds");
}

/// A path may fail for longer than a handshake may take, during which the old keys are used.
#[test]
fn the_server_may_take_long_to_confirm_new_keys() {
    let mut pair = Pair::any();
    pair.run();
    let now = rekey_without_confirmation(&mut pair);
    let later = now + Span::from_secs(600);
    pair.client.call(|manager| manager.handle_timeout(later));
    pair.now = later;
    pair.run();
    pair.assert_protected(FIRST_EPOCH + 1);
    // Not for ever.
    pair.client.call(|manager| manager.rekey(later));
    pair.deliver(End::Server);
    pair.deliver(End::Client);
    pair.client.call(|manager| manager.handle_timeout(later + HOUR * 2));
    assert_eq!(pair.client.error, Some(Error::Expired));
}

fn with_codes(client: &str, server: &str) -> Pair {
    let party = |code: &str, end| {
        let code = Code::new(code).unwrap();
        let manager = KeyManager::with_code(config(AnyPeer), agreed(end), None, &code, Time::ZERO);
        Party::new(manager.unwrap())
    };
    Pair { client: party(client, End::Client), server: party(server, End::Server), now: Time::ZERO }
}

#[test]
fn a_code_authenticates_both_ends() {
    let mut pair = with_codes("7-lamp-cedar", "7-lamp-cedar");
    pair.run();
    pair.assert_protected(FIRST_EPOCH);
    rekey(&mut pair, End::Client);
    pair.assert_protected(FIRST_EPOCH + 1);
}

#[test]
fn a_wrong_code_gives_no_keys() {
    let mut pair = with_codes("7-lamp-cedar", "7-lamp-cider");
    pair.run();
    assert_eq!(pair.server.error, Some(Error::WrongCode));
    assert!(pair.server.protected.is_empty() && !pair.server.opener.is_ready());
    assert!(pair.client.protected.is_empty() && !pair.client.sealer.is_ready());
}

#[test]
fn a_code_at_one_end_only_gives_no_keys() {
    let mut pair = with_codes("7-lamp-cedar", "7-lamp-cedar");
    pair.server = Party::of(&config(AnyPeer), End::Server);
    pair.run();
    assert_eq!(pair.server.error, Some(Error::CodeExpected));
    let mut pair = with_codes("7-lamp-cedar", "7-lamp-cedar");
    pair.client = Party::of(&config(AnyPeer), End::Client);
    pair.run();
    assert_eq!(pair.server.error, Some(Error::CodeMissing));
    assert!(!pair.server.opener.is_ready() && pair.client.protected.is_empty());
}

/// An attacker between the ends runs a TLS connection with each, and forwards the messages of the code.
#[test]
fn an_attacker_between_the_ends_cannot_pass_the_code_on() {
    let is_code = |message: &[u8]| message[0] & 0x80 != 0 && message[1] > 0xf0;
    let mut pair = with_codes("7-lamp-cedar", "7-lamp-cedar");
    let mut attackers = with_codes("1-guess-guess", "1-guess-guess");
    // Towards the client the attacker is the server, towards the server the client.
    for _ in 0..4 {
        let mut proofs = Vec::new();
        for (message, _) in std::mem::take(&mut pair.client.sent) {
            attackers.server.receive(pair.now, &message);
            if message[1] == 0xf2 && is_code(&message) {
                proofs.push(message);
            } else if is_code(&message) {
                pair.server.receive(pair.now, &message);
            }
        }
        for (message, _) in std::mem::take(&mut attackers.client.sent) {
            if !is_code(&message) {
                pair.server.receive(pair.now, &message);
            }
        }
        // Once the server's TLS is complete.
        for proof in proofs {
            pair.server.receive(pair.now, &proof);
        }
        for (message, _) in std::mem::take(&mut pair.server.sent) {
            attackers.client.receive(pair.now, &message);
            if is_code(&message) {
                pair.client.receive(pair.now, &message);
            }
        }
        for (message, _) in std::mem::take(&mut attackers.server.sent) {
            if !is_code(&message) {
                pair.client.receive(pair.now, &message);
            }
        }
    }
    assert_eq!(pair.server.error, Some(Error::WrongCode));
    assert!(pair.server.protected.is_empty() && pair.client.protected.is_empty());
    assert!(!pair.client.sealer.is_ready());
}

#[test]
fn a_handshake_that_does_not_end_is_bounded() {
    let mut server = Party::of(&config(AnyPeer), End::Server);
    // A ClientHello of 2^24 bytes, in records of 16 KiB.
    let mut record = vec![3, 22, 3, 3, 0x40, 0];
    record.extend([1, 0xff, 0xff, 0xff]);
    record.resize(6 + 0x4000, 0);
    let mut received = 0;
    while server.error.is_none() {
        server.receive(Time::ZERO, &record);
        received += record.len();
        assert!(received < 2 * MAX_HANDSHAKE_BYTES, "no limit");
    }
    assert_eq!(server.error.as_ref().unwrap().fault(), Fault::Peer);
}

#[test]
fn messages_out_of_turn_fail() {
    for message in [&[0x83, 1][..], &[3, 22, 3, 3, 0, 4, 2, 0, 0, 0], &[4, 22], &[], &[0x83, 0xf1, 0]] {
        let mut server = Party::of(&config(AnyPeer), End::Server);
        server.receive(Time::ZERO, message);
        assert!(server.error.is_some(), "{message:?}");
        assert!(!server.sealer.is_ready() && !server.opener.is_ready());
    }
    // *Protection Established* before the handshake is complete; a control message to be ignored.
    let mut client = Party::of(&config(AnyPeer), End::Client);
    client.receive(Time::ZERO, &[0x83, 0x42, 1, 2, 3]);
    assert_eq!(client.error, None);
    client.receive(Time::ZERO, &[0x83, 1]);
    assert_eq!(client.error, Some(Error::Unexpected("Protection Established")));
}

/// An attack on a message in transit.
#[derive(Clone, Debug)]
enum Attack {
    Deliver,
    Drop,
    Flip(prop::sample::Index, u8),
    Truncate(prop::sample::Index),
    Repeat,
    Swap,
    Insert(Vec<u8>),
}

fn attack() -> impl Strategy<Value = Attack> {
    prop_oneof![
        6 => Just(Attack::Deliver),
        1 => Just(Attack::Drop),
        1 => (any::<prop::sample::Index>(), 1u8..).prop_map(|(at, bits)| Attack::Flip(at, bits)),
        1 => any::<prop::sample::Index>().prop_map(Attack::Truncate),
        1 => Just(Attack::Repeat),
        1 => Just(Attack::Swap),
        1 => prop::collection::vec(any::<u8>(), 0..60).prop_map(Attack::Insert),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// For any handling of the messages, no end panics or protects with keys that its peer does not have.
    #[test]
    fn an_attacker_cannot_change_the_keys_of_either_end(
        attacks in prop::collection::vec(attack(), 0..30),
        code in any::<bool>(),
        rekeys in 0..3,
    ) {
        let mut pair = if code { with_codes("7-a-b", "7-a-b") } else { Pair::any() };
        let mut attacks = attacks.into_iter();
        for _ in 0..=rekeys {
            for _ in 0..8 {
                for to in [End::Server, End::Client] {
                    let now = pair.now;
                    let (from, to) = match to {
                        End::Server => (&mut pair.client, &mut pair.server),
                        End::Client => (&mut pair.server, &mut pair.client),
                    };
                    while let Some((mut message, _)) = from.sent.pop_front() {
                        match attacks.next().unwrap_or(Attack::Deliver) {
                            Attack::Deliver => {}
                            Attack::Drop => continue,
                            Attack::Flip(at, bits) => *at.get_mut(&mut message) ^= bits,
                            Attack::Truncate(at) => message.truncate(at.index(message.len())),
                            Attack::Repeat => to.receive(now, &message),
                            Attack::Swap => {
                                if let Some((next, _)) = from.sent.pop_front() {
                                    to.receive(now, &next);
                                }
                            }
                            Attack::Insert(bytes) => to.receive(now, &bytes),
                        }
                        to.receive(now, &message);
                    }
                }
            }
            // Where both ends protect, each opens what the other seals.
            if pair.client.sealer.is_ready() && pair.server.sealer.is_ready() {
                let packet = pair.client.seal(1);
                prop_assert!(pair.server.opens(packet, 1));
                let packet = pair.server.seal(2);
                prop_assert!(pair.client.opens(packet, 2));
            }
            prop_assert!(!pair.client.sealer.is_ready() || pair.server.sealer.is_ready());
            let now = pair.now;
            pair.server.call(|manager| manager.rekey(now));
        }
    }
}

/// Keys are established in the order of draft-ietf-tsvwg-sctp-dtls-chunk-04 §6: for receiving before the peer
/// has them for sending, primary before restart keys.
#[test]
fn keys_for_receiving_come_first() {
    let mut manager = KeyManager::new(config(AnyPeer), agreed(End::Server), None, Time::ZERO).unwrap();
    let mut client = Party::of(&config(AnyPeer), End::Client);
    let mut order = Vec::new();
    for _ in 0..3 {
        for (message, _) in std::mem::take(&mut client.sent) {
            manager.handle_message(Time::ZERO, &message).unwrap();
        }
        while let Some(output) = manager.poll_output() {
            match output {
                Output::Send(message) => client.receive(Time::ZERO, &message),
                Output::Establish { direction, context, .. } => order.push((direction, context)),
                _ => {}
            }
        }
    }
    let expected = [Direction::Receive, Direction::Send]
        .map(|direction| [(direction, KeyContext::Primary), (direction, KeyContext::Restart)]);
    assert_eq!(order, expected.concat());
}
