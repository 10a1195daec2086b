//! RFC 5061: addresses added, preferred and deleted while data flows, by either end, authenticated.

use msctp_proto::{AddressRequest, Event, LossReason};

use super::Check;
use super::basic::listen_there;
use crate::frames::{ASCONF, ASCONF_ACK, DATA, Frames};
use crate::message::Batch;
use crate::world::{OUR_PORT, Stop, World, ensure};

pub const CHECKS: &[Check] = &[
    Check::new("Add-IP by us", "our second address added and confirmed; ASCONF and ASCONF-ACK signed", add)
        .frames(ours_signed),
    Check::new(
        "Set-Primary by us",
        "added, then the peer asked to send there: its data comes there",
        set_primary,
    )
    .frames(|frames| {
        ours_signed(frames)?;
        arrivals(frames)
    }),
    Check::new(
        "Delete-IP by us",
        "added, preferred, then the first address deleted: data both ways continues",
        delete,
    )
    .frames(ours_signed),
    Check::new("Add-IP by the peer", "its second address added; we confirm it", peer_add)
        .frames(theirs_signed),
    Check::new(
        "Set-Primary by the peer",
        "added, then we are asked to send there: our data goes there",
        peer_set_primary,
    )
    .frames(theirs_signed),
    Check::new(
        "Delete-IP by the peer",
        "added, preferred, then its first address deleted: our data continues",
        peer_delete,
    )
    .frames(theirs_signed),
    Check::new("Delete-IP from the address it deletes", DELETES_SOURCE, peer_deletes_source).frames(
        |frames| {
            theirs_signed(frames)?;
            frames.cause(true, 0x00a2)
        },
    ),
];

const DELETES_SOURCE: &str = "what usrsctp does when its primary is on the link of the deleted address, because over UDP it lets the \
kernel choose the source: we refuse it (Request to Delete Source IP Address, RFC 5061 §4.3.3, §5.2); usrsctp then aborts the association, since our \
answer comes to an address it has no more (its fault: RFC 5061 §5.3)";

fn ours_signed(frames: &Frames) -> Result<(), String> {
    frames.have(&[ASCONF], &[ASCONF_ACK])?;
    frames.signed(ASCONF).and_then(|()| frames.signed(ASCONF_ACK))
}

fn theirs_signed(frames: &Frames) -> Result<(), String> {
    frames.have(&[ASCONF_ACK], &[ASCONF])?;
    frames.signed(ASCONF).and_then(|()| frames.signed(ASCONF_ACK))
}

/// Checks that the peer's data arrived at two addresses of ours.
fn arrivals(frames: &Frames) -> Result<(), String> {
    let mut ends: Vec<_> = frames.with(false, DATA).map(|frame| frame.destination).collect();
    ends.sort_unstable();
    ends.dedup();
    if ends.len() == 2 { Ok(()) } else { Err(format!("the peer's data came to {ends:?} only")) }
}

/// Sets up an association between one address of ours and two of the peer's.
fn begin(world: &mut World) -> Result<(), Stop> {
    listen_there(world, 2)?;
    world.connect(1)?;
    world.until_up()?;
    world.deliver(&[Batch::new(0, 20, 1000)])?;
    world.collect(&[Batch::new(0, 20, 1000)])
}

fn answered(world: &mut World, request: AddressRequest) -> Result<(), Stop> {
    let answer = |accepted| Event::AddressChange { request, accepted };
    let (yes, no) = (answer(true), answer(false));
    world.until(&format!("an answer to {request:?}"), |world| {
        world.events.contains(&yes) || world.events.contains(&no)
    })?;
    ensure(world.events.contains(&yes), format!("the peer refused {request:?}"))
}

fn add_second(world: &mut World) -> Result<(), Stop> {
    let address = world.net.ours(1);
    world.call(|association, now| association.add_local_address(now, address))??;
    answered(world, AddressRequest::Add(address))?;
    world.until("the peer has it", |world| world.has_said(&format!("address {address} added")))?;
    world.until("it is confirmed there", |world| world.has_said(&format!("address {address} confirmed")))?;
    world.until("it is confirmed here", |world| world.path(1).is_some())
}

fn prefer_second(world: &mut World) -> Result<(), Stop> {
    let address = world.net.ours(1);
    world.call(|association, now| association.request_peer_primary(now, address))??;
    answered(world, AddressRequest::SetPrimary(address))?;
    world.collect(&[Batch::new(0, 50, 1000).from(20)])
}

fn add(world: &mut World) -> Result<(), Stop> {
    begin(world)?;
    add_second(world)
}

fn set_primary(world: &mut World) -> Result<(), Stop> {
    begin(world)?;
    add_second(world)?;
    prefer_second(world)
}

fn delete(world: &mut World) -> Result<(), Stop> {
    begin(world)?;
    add_second(world)?;
    prefer_second(world)?;
    let first = world.net.ours(0);
    world.call(|association, now| association.remove_local_address(now, first))??;
    answered(world, AddressRequest::Delete(first))?;
    world.until("the peer deleted it", |world| world.has_said(&format!("address {first} removed")))?;
    // Nothing reaches the deleted address any more.
    world.lose(move |_, _, at| at.local == first);
    world.deliver(&[Batch::new(0, 50, 1000).from(20)])?;
    world.collect(&[Batch::new(0, 50, 1000).from(70)])
}

/// Sets up an association between two addresses of ours and one of the peer's.
fn begin_at_peer(world: &mut World) -> Result<(), Stop> {
    listen_there(world, 1)?;
    world.connect(2)?;
    world.until_up()?;
    world.deliver(&[Batch::new(0, 20, 1000)])?;
    world.collect(&[Batch::new(0, 20, 1000)])
}

fn add_at_peer(world: &mut World) -> Result<(), Stop> {
    world.ask(&format!("add {}", world.net.theirs(1)))?;
    world.until("we confirmed it", |world| world.path(1).is_some())
}

fn prefer_at_peer(world: &mut World) -> Result<(), Stop> {
    let second = world.net.theirs(1);
    world.ask(&format!("peer-primary {second}"))?;
    world.until("we send there", |world| {
        world.paths().iter().any(|path| path.primary && path.at.remote == second)
    })?;
    world.deliver(&[Batch::new(0, 50, 1000).from(20)])
}

fn peer_add(world: &mut World) -> Result<(), Stop> {
    begin_at_peer(world)?;
    add_at_peer(world)
}

fn peer_set_primary(world: &mut World) -> Result<(), Stop> {
    begin_at_peer(world)?;
    add_at_peer(world)?;
    prefer_at_peer(world)
}

fn peer_delete(world: &mut World) -> Result<(), Stop> {
    begin_at_peer(world)?;
    add_at_peer(world)?;
    prefer_at_peer(world)?;
    // The request has to come from another address than the one it deletes, and so have its acknowledgements.
    let second = world.net.ours(1);
    world.ask(&format!("heartbeat {OUR_PORT} {second}"))?;
    world.until("our second address is confirmed there", |world| {
        world.has_said(&format!("address {second} confirmed"))
    })?;
    world.ask(&format!("primary {OUR_PORT} {second}"))?;
    let path = world.path(1).ok_or_else(|| "the path is gone".to_owned())?.id;
    world.call(|association, now| association.set_primary(now, path))??;
    world.collect(&[Batch::new(0, 10, 1000).from(20)])?;
    delete_first(world)?;
    world.deliver(&[Batch::new(0, 50, 1000).from(70)])?;
    world.collect(&[Batch::new(0, 10, 1000).from(30)])
}

fn delete_first(world: &mut World) -> Result<(), Stop> {
    let first = world.net.theirs(0);
    world.ask(&format!("delete {first}"))?;
    world.until("we have no path to it", |world| world.paths().iter().all(|path| path.at.remote != first))
}

fn peer_deletes_source(world: &mut World) -> Result<(), Stop> {
    begin_at_peer(world)?;
    add_at_peer(world)?;
    prefer_at_peer(world)?;
    let first = world.net.theirs(0);
    world.ask(&format!("delete {first}"))?;
    let aborted = |event: &Event| matches!(event, Event::Lost(LossReason::PeerAborted { .. }));
    world.until("the peer's ABORT", |world| world.events.iter().any(aborted))
}
