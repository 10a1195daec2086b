//! Byte scripts played on two endpoints: forged chunks and packets between the steps of a transfer. Shared by
//! the tests here and the fuzz target `association`.

use msctp_proto::{Config, PathAddr, Reliability, SendError, StreamRequest};
use msctp_units::Span;

use super::bytes::Bytes;
use super::forged;
use crate::support::{Fate, Flight, PORT_A, PORT_B, Pair, Side, a_ip, b_ip, message, reseal};

/// Largest number of steps in a script: a run takes a few milliseconds.
const MAX_STEPS: usize = 64;
/// Maximum number of packets in answer to one foreign datagram. A SACK in it can open the entire window.
const MAX_ANSWERS: usize = 1500;

/// Returns the end that the next byte names.
fn side(bytes: &mut Bytes<'_>) -> Option<Side> {
    bytes.byte().map(|byte| if byte & 1 == 0 { Side::A } else { Side::B })
}

/// Writes ports, tag and checksum into a packet, so that it passes the first checks.
fn seal(packet: &mut [u8], to: Side, tag: u32) {
    let (src, dst) = match to {
        Side::A => (PORT_B, PORT_A),
        Side::B => (PORT_A, PORT_B),
    };
    packet[0..2].copy_from_slice(&src.to_be_bytes());
    packet[2..4].copy_from_slice(&dst.to_be_bytes());
    packet[4..8].copy_from_slice(&tag.to_be_bytes());
    reseal(packet);
}

/// Injects a packet and checks that its answers are bounded.
fn strike(pair: &mut Pair, to: Side, at: PathAddr, packet: &[u8]) {
    let before = pair.log_len();
    pair.inject(to, at, packet);
    let answers = pair.log_len() - before;
    assert!(answers <= MAX_ANSWERS, "{answers} packets in answer to one of {} bytes", packet.len());
}

/// Returns the addresses of a foreign packet: those of the association, or strangers'.
fn between(to: Side, choice: u8) -> PathAddr {
    let mut at = Pair::at(to);
    if choice & 0x10 != 0 {
        at.remote = "198.51.100.7".parse().expect("an address");
    }
    if choice & 0x20 != 0 {
        at.local = if to == Side::A { a_ip(1) } else { b_ip(1) };
    }
    at
}

/// Returns the tag of a foreign packet: the right one, none, the peer's own, a wrong one.
fn tag(pair: &Pair, to: Side, choice: u8) -> u32 {
    let log = pair.log.as_ref().expect("the log is on");
    // Before the first packet in that direction the tag is unknown: use 0.
    let towards = |side: Side| {
        log.iter()
            .rev()
            .find(|flight| flight.from == side.other() && flight.tag() != 0)
            .map_or(0, Flight::tag)
    };
    match choice >> 6 {
        0 | 1 => towards(to),
        2 if choice & 8 == 0 => 0,
        2 => towards(to.other()),
        _ => 0xdead_beef,
    }
}

/// Plays a script.
///
/// # Panics
/// An end panics, or answers a datagram without bound.
pub(crate) fn play(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let Some(set_up) = bytes.byte() else { return };
    let mut config = Config { outbound_streams: 3, receive_buffer: 20_000, ..Config::default() };
    config.streams.interleaving = set_up & 8 != 0;
    let mut pair = Pair::new(config.clone(), vec![b_ip(0), b_ip(1)]);
    pair.log = Some(Vec::new());
    pair.connect(config, vec![a_ip(0), a_ip(1)], vec![b_ip(0)]);
    // The attacker may inject before the handshake is complete.
    for _ in 0..set_up % 8 {
        pair.step(pair.now + Span::from_secs(1));
    }
    for _ in 0..MAX_STEPS {
        if step(&mut pair, &mut bytes).is_none() {
            break;
        }
    }
    pair.run_for(Span::from_secs(3));
}

fn step(pair: &mut Pair, bytes: &mut Bytes<'_>) -> Option<()> {
    let choice = bytes.byte()?;
    match choice & 7 {
        // A chunk of any type and flags, with a right or wrong length.
        0 | 1 => {
            let to = side(bytes)?;
            let (typ, flags, len) = (bytes.byte()?, bytes.byte()?, usize::from(bytes.byte()?));
            let value = bytes.upto(len);
            let claimed = 4 + if choice & 8 == 0 { value.len() } else { len } as u16;
            let mut packet = vec![0; 12];
            packet.extend_from_slice(&[typ, flags]);
            packet.extend_from_slice(&claimed.to_be_bytes());
            packet.extend_from_slice(value);
            packet.resize(packet.len().next_multiple_of(4), 0);
            let tag = tag(pair, to, choice);
            seal(&mut packet, to, tag);
            strike(pair, to, between(to, choice), &packet);
        }
        // A whole packet of several chunks.
        2 => {
            let to = side(bytes)?;
            let len = usize::from(bytes.byte()?) * 4;
            let mut packet = vec![0; 12];
            packet.extend_from_slice(bytes.upto(len));
            let tag = tag(pair, to, choice);
            seal(&mut packet, to, tag);
            strike(pair, to, between(to, choice), &packet);
        }
        // One of the sent packets, replayed with some bytes changed.
        3 => {
            let to = side(bytes)?;
            let back = usize::from(bytes.byte()?);
            let log = pair.log.as_ref().expect("the log is on");
            let sent: Vec<_> = log.iter().filter(|flight| flight.from != to).collect();
            let mut packet = sent.get(sent.len().checked_sub(1 + back)?)?.bytes.clone();
            for _ in 0..bytes.byte()? % 4 {
                let (place, value) = (usize::from(bytes.byte()?), bytes.byte()?);
                let len = packet.len();
                packet[12 + place % (len - 12).max(1)..].iter_mut().take(1).for_each(|byte| *byte ^= value);
            }
            let tag = u32::from_be_bytes(packet[4..8].try_into().expect("four bytes"));
            seal(&mut packet, to, tag);
            strike(pair, to, between(to, choice), &packet);
        }
        4 => {
            let (side, stream, len) = (side(bytes)?, bytes.byte()?, usize::from(bytes.byte()?) * 16 + 1);
            if pair.host(side).state().is_some() {
                let mut message = message(u16::from(stream % 4), vec![stream; len]);
                if stream & 0x80 != 0 {
                    message.reliability = Reliability::Retransmissions(u16::from(stream >> 5 & 3));
                }
                let sent = pair.with(side, |association, now| association.send(now, message));
                assert!(!matches!(sent, Err(SendError::Empty)), "{sent:?}");
            }
        }
        5 => {
            let lost = bytes.byte()?;
            let mut count = 0_u32;
            pair.drop_if(move |_| {
                count += 1;
                lost != 0 && count.is_multiple_of(u32::from(lost % 8) + 1)
            });
        }
        6 if choice & 8 == 0 => pair.filter = Box::new(|_| Fate::Pass),
        6 if choice & 0x10 == 0 => forge(pair, choice, bytes)?,
        6 => ask(pair, side(bytes)?, bytes.byte()?),
        _ => pair.run_for(Span::from_millis(u64::from(bytes.byte()?) * 8)),
    }
    Some(())
}

/// Injects nearly valid chunks.
fn forge(pair: &mut Pair, choice: u8, bytes: &mut Bytes<'_>) -> Option<()> {
    let to = side(bytes)?;
    let mut packet = vec![0; 12];
    forged::push(&mut packet, pair, to, bytes)?;
    let tag = tag(pair, to, choice);
    seal(&mut packet, to, tag);
    strike(pair, to, between(to, choice), &packet);
    Some(())
}

/// Requests a change of streams; an impossible request is rejected.
fn ask(pair: &mut Pair, side: Side, which: u8) {
    if pair.host(side).state().is_none() {
        return;
    }
    let request = match which & 3 {
        0 => StreamRequest::ResetOutgoing(vec![u16::from(which >> 2 & 3)]),
        1 => StreamRequest::ResetIncoming(vec![]),
        2 => StreamRequest::AddOutgoing(u16::from(which >> 2)),
        _ => StreamRequest::AddIncoming(u16::from(which >> 2)),
    };
    let _ = pair.with(side, |association, now| association.reconfigure(now, request));
}
