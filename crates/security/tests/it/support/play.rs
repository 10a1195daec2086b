//! Code that the fuzz target and the test of arbitrary messages share.

use std::sync::{Arc, LazyLock};

use msctp_protection::{End, FIRST_EPOCH};
use msctp_security::{Agreed, AnyPeer, Code, KeyManager, TlsConfig};
use msctp_units::{Span, Time};

use super::{Pair, Party, agreed, config};

/// Total time of a script. It is shorter than old keys stay, so that every protected packet can be opened.
const LIMIT: Time = Time::from_nanos(110_000_000_000);

static CONFIGS: LazyLock<[Arc<TlsConfig>; 2]> = LazyLock::new(|| [config(AnyPeer), config(AnyPeer)]);

/// Plays a script against two key managers. The first byte chooses their one-time codes and False Start; the
/// others deliver, drop, repeat, change and inject messages, advance the time and replace keys. Returns the
/// number of epochs.
///
/// # Panics
/// Epochs are skipped or repeated, or an end protects with keys that its peer does not have.
pub(crate) fn play(script: &[u8]) -> usize {
    let [choice, script @ ..] = script else { return 0 };
    let mut pair = begin(*choice);
    let (mut script, mut delivered) = (script.iter().copied(), Vec::new());
    while let Some(step) = script.next() {
        let to_server = step & 0x10 == 0;
        let (from, to) = if to_server {
            (&mut pair.client, &mut pair.server)
        } else {
            (&mut pair.server, &mut pair.client)
        };
        let now = pair.now;
        let mut next = || script.next().unwrap_or(0);
        match step & 0x0f {
            0..=8 => {
                if let Some((message, _)) = from.sent.pop_front() {
                    to.receive(now, &message);
                    delivered.push(message);
                }
            }
            9 => {
                from.sent.pop_front();
            }
            10 if !delivered.is_empty() => {
                let index = usize::from(next()) % delivered.len();
                to.receive(now, &delivered[index]);
            }
            11 => {
                if let Some((mut message, _)) = from.sent.pop_front() {
                    let at = usize::from(u16::from_be_bytes([next(), next()])) % message.len();
                    message[at] ^= next().max(1);
                    to.receive(now, &message);
                }
            }
            12 => {
                let len = next() % 32;
                let message: Vec<u8> = (0..len).map(|_| next()).collect();
                to.receive(now, &message);
            }
            13 => {
                // The head of a message of its own is known: what follows is not.
                let mut message = from.sent.front().map(|(message, _)| message.clone()).unwrap_or_default();
                message.truncate(usize::from(next()));
                to.receive(now, &message);
            }
            14 => {
                let end = (now + Span::from_millis(250) * u64::from(next())).min(LIMIT);
                pair.now = end;
                for party in [&mut pair.client, &mut pair.server] {
                    if party.manager.poll_timeout().is_some_and(|due| due <= end) {
                        party.call(|manager| manager.handle_timeout(end));
                    }
                    party.opener.expire(end);
                }
            }
            _ => to.call(|manager| manager.rekey(now)),
        }
        check(&mut pair);
    }
    pair.client.protected.len().min(pair.server.protected.len())
}

fn begin(choice: u8) -> Pair {
    let false_start = choice & 0x40 != 0;
    let party = |end, config: &Arc<TlsConfig>, choice| {
        let name = (end == End::Client).then(|| "server.example".try_into().expect("a name"));
        let (config, now) = (Arc::clone(config), Time::ZERO);
        let agreed = Agreed { false_start, ..agreed(end) };
        let manager = match choice % 3 {
            0 => KeyManager::new(config, agreed, name, now),
            right => {
                let code = Code::new(if right == 1 { "7-lamp" } else { "8-lamp" }).expect("a code");
                KeyManager::with_code(config, agreed, name, &code, now)
            }
        };
        Party::new(manager.expect("a manager"))
    };
    let [client, server] = &*CONFIGS;
    // Most scripts need no code, or have the same one.
    let [one, other] = if choice < 128 { [choice; 2] } else { [choice, choice >> 4] };
    let (client, server) = (party(End::Client, client, one), party(End::Server, server, other));
    Pair { client, server, now: Time::ZERO }
}

fn check(pair: &mut Pair) {
    check_sender(&mut pair.client, &mut pair.server);
    check_sender(&mut pair.server, &mut pair.client);
}

fn check_sender(one: &mut Party, other: &mut Party) {
    let expected = (FIRST_EPOCH..).take(one.protected.len());
    assert!(one.protected.iter().copied().eq(expected), "{:?}", one.protected);
    // With False Start the client seals before the server has keys.
    if one.sealer.is_ready() && !(one.starts > 0 && one.protected.is_empty()) {
        let packet = one.seal(7);
        assert!(other.opens(packet, 7), "{:?} {:?}", one.protected, other.protected);
    }
}
