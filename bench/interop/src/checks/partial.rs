//! RFC 3758 with RFC 7496: messages abandoned by either end, the messages after them, and the same with
//! I-DATA (RFC 8260).

use std::time::Duration;

use msctp_proto::{Event, OutMessage, Reliability};
use msctp_units::Span;

use super::Check;
use super::basic::{connect_over, lose_every};
use super::interleaving::{offer, offered};
use crate::frames::{FORWARD_TSN, I_FORWARD_TSN};
use crate::message::{Batch, Got};
use crate::world::{Stop, World, ensure};

pub const CHECKS: &[Check] = &[
    Check::new("PR-SCTP by us, no retransmissions", RTX, by_us)
        .for_all()
        .frames(|frames| frames.have(&[FORWARD_TSN], &[])),
    Check::new("PR-SCTP by the peer, no retransmissions", THE_OTHER_WAY, by_peer)
        .for_all()
        .frames(|frames| frames.have(&[], &[FORWARD_TSN])),
    Check::new("PR-SCTP by us, lifetime", TTL, lifetime)
        .for_all()
        .frames(|frames| frames.have(&[FORWARD_TSN], &[])),
    Check::new("PR-SCTP by the peer, lifetime", THE_OTHER_WAY, lifetime_of_peer)
        .for_all()
        .frames(|frames| frames.have(&[], &[FORWARD_TSN])),
    Check::new("PR-SCTP with I-DATA by us", "as without retransmissions; I-FORWARD-TSN", interleaved_by_us)
        .for_all()
        .config(offer)
        .frames(|frames| frames.have(&[I_FORWARD_TSN], &[])),
    Check::new("PR-SCTP with I-DATA by the peer", THE_OTHER_WAY, interleaved_by_peer)
        .for_all()
        .config(offer)
        .frames(|frames| frames.have(&[], &[I_FORWARD_TSN])),
];

const RTX: &str = "200 messages that are sent once, every 10th packet lost: those are abandoned, the others arrive in order, \
and so do reliable ones after them; FORWARD-TSN";
const TTL: &str =
    "20 messages that live 100 ms, all lost: abandoned, and reliable ones after them arrive; FORWARD-TSN";
const THE_OTHER_WAY: &str = "the same, the other way round";

const LOSSY: Batch = Batch { stream: 1, unordered: false, count: 200, size: 1000, first: 0 };
const LOST: Batch = Batch { stream: 1, unordered: false, count: 20, size: 1000, first: 0 };
/// Reliable messages on the same stream.
const AFTER: Batch = Batch { stream: 1, unordered: false, count: 10, size: 900, first: 1000 };

/// Checks that `got` is a part of `batch`, then all of `AFTER`, in order. Returns the number missing.
fn missing(got: &[Got], batch: &Batch) -> Result<usize, Stop> {
    let end = got.len().checked_sub(AFTER.count as usize);
    let (first, after) = end.map(|end| got.split_at(end)).ok_or_else(|| "too few messages".to_owned())?;
    ensure(
        after.iter().cloned().eq(AFTER.expected()),
        "the reliable messages are not the last, or not whole",
    )?;
    let mut sent = batch.expected();
    let in_order = first.iter().all(|got| sent.any(|sent| sent == *got));
    ensure(in_order, "a message that was not sent, or out of order")?;
    Ok(batch.count as usize - first.len())
}

fn send_all(world: &mut World, batch: &Batch, reliability: Reliability) {
    world.send_with(batch, |message| OutMessage { reliability, ..message });
}

fn last_of(messages: &[Got]) -> bool {
    messages.last().is_some_and(|last| AFTER.expected().last().as_ref() == Some(last))
}

/// Checks that our end reported as many messages as are missing at the peer.
fn accounted(world: &World, batch: &Batch) -> Result<(), Stop> {
    let missing = missing(&world.theirs, batch)?;
    let told = |event: &&Event| matches!(event, Event::SendFailed(failure) if failure.abandoned);
    let told = world.events.iter().filter(told).count();
    ensure(missing > 0, "nothing was lost")?;
    ensure(told == missing, format!("{missing} messages are missing, {told} were reported as abandoned"))
}

fn send_lossy(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    lose_every(world, 10);
    send_all(world, &LOSSY, Reliability::Retransmissions(0));
    // The messages queued after it are reliable.
    world.send(&AFTER);
    world.until("the last message at the peer", |world| last_of(&world.theirs))?;
    accounted(world, &LOSSY)
}

fn by_us(world: &mut World) -> Result<(), Stop> {
    send_lossy(world)
}

fn collect_lossy(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    lose_every(world, 10);
    world.tell(&format!("{} rtx 0", LOSSY.command()))?;
    world.tell(&AFTER.command())?;
    world.until("the last message here", |world| last_of(&world.ours))?;
    ensure(missing(&world.ours, &LOSSY)? > 0, "nothing was lost")
}

fn by_peer(world: &mut World) -> Result<(), Stop> {
    collect_lossy(world)
}

/// Loses all data in one direction.
fn lose_data(world: &mut World, of_ours: bool) {
    world.lose(move |ours, bytes, _| ours == of_ours && bytes.len() > 500);
}

fn lifetime(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    lose_data(world, true);
    send_all(world, &LOST, Reliability::Lifetime(Span::from_millis(100)));
    world.rest(Duration::from_millis(500));
    world.lose(|_, _, _| false);
    world.send(&AFTER);
    world.until("the last message at the peer", |world| last_of(&world.theirs))?;
    accounted(world, &LOST)
}

fn lifetime_of_peer(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    lose_data(world, false);
    world.tell(&format!("{} ttl 100", LOST.command()))?;
    // Past its T3-rtx (RTO.Initial is 1 s): some look at the age of a message only then.
    world.rest(Duration::from_millis(1500));
    world.lose(|_, _, _| false);
    world.tell(&AFTER.command())?;
    world.until("the last message here", |world| last_of(&world.ours))?;
    ensure(missing(&world.ours, &LOST)? > 0, "nothing was lost")
}

fn interleaved_by_us(world: &mut World) -> Result<(), Stop> {
    offered(world)?;
    send_lossy(world)
}

fn interleaved_by_peer(world: &mut World) -> Result<(), Stop> {
    offered(world)?;
    collect_lossy(world)
}
