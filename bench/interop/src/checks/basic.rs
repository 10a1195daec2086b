//! RFC 9260 with one address at each end: set-up from both sides, data both ways, the three ways to end.

use std::time::Duration;

use msctp_proto::{AbortReason, AssociationState, Event, LossReason};

use super::Check;
use crate::frames::{
    ABORT, COOKIE_ACK, COOKIE_ECHO, DATA, INIT, INIT_ACK, SACK, SHUTDOWN, SHUTDOWN_ACK, SHUTDOWN_COMPLETE,
};
use crate::message::Batch;
use crate::world::{OUR_PORT, Stop, THEIR_PORT, World, ensure};

pub const CHECKS: &[Check] = &[
    Check::new("set-up by us", "INIT, INIT ACK, COOKIE ECHO, COOKIE ACK; streams agreed", connect)
        .for_all()
        .frames(|frames| frames.have(&[INIT, COOKIE_ECHO], &[INIT_ACK, COOKIE_ACK])),
    Check::new("set-up by the peer", "the same, the other way round", accept)
        .for_all()
        .frames(|frames| frames.have(&[INIT_ACK, COOKIE_ACK], &[INIT, COOKIE_ECHO])),
    Check::new("IPv6", "set-up and data over IPv6", over_v6).over_v6(),
    Check::new("data to the peer", MESSAGES, to_peer)
        .for_all()
        .frames(|frames| frames.have(&[DATA], &[SACK])),
    Check::new("data to us", MESSAGES, to_us).for_all().frames(|frames| frames.have(&[SACK], &[DATA])),
    Check::new(
        "data both ways at once",
        "2,000 messages of 1,000 bytes each way, hashes compared",
        both_ways,
    )
    .for_all(),
    Check::new("losses", "every 20th packet with data lost, 500 messages each way, hashes compared", losses)
        .for_all(),
    Check::new(
        "shutdown by us",
        "queued data is delivered, then SHUTDOWN, SHUTDOWN ACK, SHUTDOWN COMPLETE",
        shutdown,
    )
    .for_all()
    .frames(|frames| frames.have(&[SHUTDOWN, SHUTDOWN_COMPLETE], &[SHUTDOWN_ACK])),
    Check::new("shutdown by the peer", "the same, the other way round", shutdown_by_peer)
        .for_all()
        .frames(|frames| frames.have(&[SHUTDOWN_ACK], &[SHUTDOWN, SHUTDOWN_COMPLETE])),
    Check::new("abort by us", "ABORT; the peer says that the association is lost", abort)
        .for_all()
        .frames(|frames| frames.have(&[ABORT], &[])),
    Check::new("abort by the peer", "ABORT; our end says why", abort_by_peer)
        .for_all()
        .frames(|frames| frames.have(&[], &[ABORT])),
];

const MESSAGES: &str = "1,000 messages of 1,200 bytes and 1,000 of 7 on two streams, 200 unordered ones, 8 of 100,000 bytes in \
fragments; hashes and order compared";

fn messages() -> [Batch; 4] {
    [
        Batch::new(0, 1000, 1200),
        Batch::new(1, 1000, 7),
        Batch::new(2, 200, 300).unordered(),
        Batch::new(3, 8, 100_000),
    ]
}

/// Connects from `links` addresses to the same number of addresses of the peer.
pub fn connect_over(world: &mut World, links: u8) -> Result<(), Stop> {
    listen_there(world, links)?;
    world.connect(links)?;
    world.until_up()
}

/// Has the peer listen on `links` addresses.
pub fn listen_there(world: &mut World, links: u8) -> Result<(), Stop> {
    let addresses: Vec<String> = (0..links).map(|link| world.net.theirs(link).to_string()).collect();
    world.ask(&format!("open {THEIR_PORT} {}", addresses.join(" ")))
}

/// Has the peer connect from `links` addresses to the same number of ours.
pub fn accept_over(world: &mut World, links: u8) -> Result<(), Stop> {
    world.listen(links)?;
    listen_there(world, links)?;
    world.tell(&format!("connect {OUR_PORT} {}", world.net.ours(0)))?;
    world.until_up()
}

fn connect(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    let streams = world.events.iter().find_map(|event| match event {
        Event::Connected { outbound_streams, inbound_streams } => Some((*outbound_streams, *inbound_streams)),
        _ => None,
    });
    let (outbound, inbound) = streams.unwrap_or_default();
    ensure(outbound > 0 && inbound > 0, "no streams")?;
    // A library that does not say how many streams there are.
    if world.has_said("up ? ?") {
        return Ok(());
    }
    // The outbound streams of one end are the inbound streams of the other.
    ensure(
        world.has_said(&format!("up {inbound} {outbound}")),
        format!("we: {outbound} out, {inbound} in; the peer: {:?}", world.said),
    )
}

fn accept(world: &mut World) -> Result<(), Stop> {
    accept_over(world, 1)?;
    world.collect(&[Batch::new(0, 1, 10)])?;
    world.deliver(&[Batch::new(0, 1, 10)])
}

fn over_v6(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.deliver(&[Batch::new(0, 100, 3000)])?;
    world.collect(&[Batch::new(0, 100, 3000)])
}

fn to_peer(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.deliver(&messages())
}

fn to_us(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.collect(&messages())
}

fn both_ways(world: &mut World) -> Result<(), Stop> {
    accept_over(world, 1)?;
    let batch = Batch::new(4, 2000, 1000);
    world.send(&batch);
    world.collect(&[batch])?;
    world.until("our messages at the peer", |world| world.theirs.len() >= 2000)?;
    Ok(crate::message::compare(&world.theirs, &[batch])?)
}

/// Loses every `n`th packet with data, in both directions.
pub fn lose_every(world: &mut World, n: u64) {
    let mut counts = [0; 2];
    world.lose(move |ours, bytes, _| {
        let data = bytes.len() > 500;
        let count = &mut counts[usize::from(ours)];
        *count += u64::from(data);
        data && *count % n == 0
    });
}

fn losses(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    lose_every(world, 20);
    let batch = Batch::new(1, 500, 1000);
    world.deliver(&[batch])?;
    world.collect(&[batch])?;
    let stats = world.association().map(|association| association.stats()).unwrap_or_default();
    ensure(stats.data_chunks_retransmitted > 0, "nothing was lost")
}

fn is_over(world: &World) -> bool {
    world.association().is_none_or(|association| association.state() == AssociationState::Closed)
}

fn shutdown(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    let batch = Batch::new(0, 100, 1000);
    world.send(&batch);
    world.rest(Duration::from_millis(1));
    world.call(|association, now| association.shutdown(now))?;
    world.until("both ends are closed", |world| is_over(world) && world.has_said("closed"))?;
    ensure(world.events.contains(&Event::Closed), "no event Closed")?;
    Ok(crate::message::compare(&world.theirs, &[batch])?)
}

fn shutdown_by_peer(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    let batch = Batch::new(0, 100, 1000);
    world.tell(&batch.command())?;
    world.tell("shutdown")?;
    world.until("both ends are closed", |world| is_over(world) && world.has_said("closed"))?;
    ensure(world.events.contains(&Event::PeerShutdown), "no event PeerShutdown")?;
    ensure(world.events.contains(&Event::Closed), "no event Closed")?;
    Ok(crate::message::compare(&world.ours, &[batch])?)
}

fn abort(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.call(|association, now| association.abort(now, &AbortReason::from("enough")))?;
    world.until("the peer knows", |world| world.has_said("lost"))
}

fn abort_by_peer(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.ask("abort")?;
    let told = |event: &Event| matches!(event, Event::Lost(LossReason::PeerAborted { .. }));
    world.until("our end knows", |world| world.events.iter().any(told))
}
