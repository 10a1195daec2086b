//! RFC 6525: streams are reset and added, at the request of either end.

use msctp_proto::{Config, Event, ReconfigOutcome, StreamEvent, StreamRequest};

use super::Check;
use super::basic::connect_over;
use crate::frames::{Frames, RE_CONFIG};
use crate::message::Batch;
use crate::world::{Stop, World, ensure};

pub const CHECKS: &[Check] = &[
    Check::new(
        "stream reset by us",
        "messages, Outgoing SSN Reset of their stream, messages again from number 0; both ends report it; RE-CONFIG both ways",
        reset_by_us,
    )
    .for_all()
    .frames(both_ways),
    Check::new("stream reset by the peer", "the same, the other way round", reset_by_the_peer)
        .for_all()
        .frames(both_ways),
    Check::new("stream reset asked for by us", "Incoming SSN Reset: the peer resets its stream, messages follow", asked_by_us)
        .frames(both_ways),
    Check::new("stream reset asked for by the peer", "the same, the other way round", asked_by_the_peer)
        .frames(both_ways),
    Check::new("streams added by us", "Add Outgoing Streams: messages on one that was not there", added_by_us)
        .config(few)
        .frames(both_ways),
    Check::new("streams added by the peer", "the same, the other way round", added_by_the_peer)
        .config(few)
        .frames(both_ways),
];

fn both_ways(frames: &Frames) -> Result<(), String> {
    frames.have(&[RE_CONFIG], &[RE_CONFIG])
}

fn few(config: &mut Config) {
    config.outbound_streams = 3;
}

/// Stops with pion, whose test program has no command for resets.
fn has_resets(world: &World) -> Result<(), Stop> {
    if world.peer_name.starts_with("pion") {
        return Err(Stop::Unsupported("its interface reports no resets".to_owned()));
    }
    Ok(())
}

/// Requests a change and waits until it is done.
fn change(world: &mut World, request: StreamRequest) -> Result<(), Stop> {
    let done = Event::Streams(StreamEvent::Answered {
        request: request.clone(),
        outcome: ReconfigOutcome::Performed,
    });
    world.call(|association, now| association.reconfigure(now, request))??;
    world.until("our request is answered", |world| answer(world).is_some())?;
    ensure(world.events.contains(&done), format!("answered {:?}", answer(world)))
}

fn answer(world: &World) -> Option<&Event> {
    world.events.iter().find(|event| matches!(event, Event::Streams(StreamEvent::Answered { .. })))
}

fn until_reset_here(world: &mut World, stream: u16) -> Result<(), Stop> {
    let reset = Event::Streams(StreamEvent::IncomingReset(vec![stream]));
    world.until("we hear of the peer's reset", |world| world.events.contains(&reset))
}

const BEFORE: Batch = Batch::new(1, 20, 500);
const OTHER: Batch = Batch::new(2, 20, 500);

fn reset_by_us(world: &mut World) -> Result<(), Stop> {
    has_resets(world)?;
    connect_over(world, 1)?;
    world.deliver(&[BEFORE, OTHER])?;
    change(world, StreamRequest::ResetOutgoing(vec![1]))?;
    world.until("the peer hears of our reset", |world| world.has_said("reset in 1"))?;
    world.deliver(&[BEFORE, OTHER])
}

fn reset_by_the_peer(world: &mut World) -> Result<(), Stop> {
    has_resets(world)?;
    connect_over(world, 1)?;
    world.collect(&[BEFORE, OTHER])?;
    world.ask("reset out 1")?;
    until_reset_here(world, 1)?;
    world.until("the peer hears our answer", |world| world.has_said("reset out 1"))?;
    world.collect(&[BEFORE, OTHER])
}

fn asked_by_us(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.collect(&[BEFORE])?;
    change(world, StreamRequest::ResetIncoming(vec![1]))?;
    until_reset_here(world, 1)?;
    world.collect(&[BEFORE])
}

fn asked_by_the_peer(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.deliver(&[BEFORE])?;
    world.ask("reset in 1")?;
    world.until("the peer hears of our reset", |world| world.has_said("reset in 1"))?;
    world.deliver(&[BEFORE])
}

/// Messages on stream 4, one of the two added to the three streams 0 to 2.
const ADDED: Batch = Batch::new(4, 20, 500);

fn added_by_us(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.deliver(&[BEFORE])?;
    change(world, StreamRequest::AddOutgoing(2))?;
    world.deliver(&[ADDED])
}

fn added_by_the_peer(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.ask("add-streams 2 0")?;
    world.until("we hear of more streams", |world| {
        world.events.iter().any(|event| matches!(event, Event::Streams(StreamEvent::IncomingAdded(_))))
    })?;
    world.collect(&[BEFORE])
}
