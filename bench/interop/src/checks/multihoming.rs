//! Two addresses at each end, a link for each pair.

use std::time::Duration;

use msctp_proto::Config;
use msctp_units::Span;

use super::Check;
use super::basic::{accept_over, connect_over};
use crate::frames::{DATA, Frames, HEARTBEAT, HEARTBEAT_ACK};
use crate::message::Batch;
use crate::world::{Stop, World, ensure};

pub const CHECKS: &[Check] = &[
    Check::new(
        "multihoming, set-up by us",
        "both ends list two addresses; both links confirmed by HEARTBEAT",
        confirm,
    )
    .frames(|frames| frames.have(&[HEARTBEAT, HEARTBEAT_ACK], &[HEARTBEAT, HEARTBEAT_ACK])),
    Check::new("multihoming, set-up by the peer", "the same, the other way round", confirm_accepted)
        .frames(|frames| frames.have(&[HEARTBEAT, HEARTBEAT_ACK], &[HEARTBEAT, HEARTBEAT_ACK])),
    Check::new("primary changed by us", "set_primary: our data takes the other link", primary)
        .frames(|frames| data_over_both_links(frames, true)),
    Check::new(
        "primary changed by the peer",
        "SCTP_PRIMARY_ADDR: the peer's data takes the other link",
        peer_primary,
    )
    .frames(|frames| data_over_both_links(frames, false)),
    Check::new(
        "failover",
        "a link cut during a transfer each way; every message arrives over the other one",
        failover,
    )
    .config(impatient)
    .frames(|frames| data_over_both_links(frames, true).and_then(|()| data_over_both_links(frames, false))),
];

/// Makes paths fail at their second timeout.
fn impatient(config: &mut Config) {
    config.rto_min = Span::from_millis(200);
    config.rto_initial = Span::from_millis(200);
    config.path_max_retrans = 1;
}

/// Checks that data came from (or went to) two addresses of the peer.
fn data_over_both_links(frames: &Frames, ours: bool) -> Result<(), String> {
    let mut ends: Vec<_> =
        frames.with(ours, DATA).map(|frame| if ours { frame.destination } else { frame.source }).collect();
    ends.sort_unstable();
    ends.dedup();
    if ends.len() == 2 { Ok(()) } else { Err(format!("data over {ends:?} only")) }
}

fn both_confirmed(world: &mut World) -> Result<(), Stop> {
    world
        .until("both links are confirmed here", |world| world.path(0).is_some() && world.path(1).is_some())?;
    let address = world.net.ours(1);
    world.until("the second link is confirmed there", |world| {
        world.has_said(&format!("address {address} confirmed"))
    })
}

fn confirm(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 2)?;
    both_confirmed(world)
}

fn confirm_accepted(world: &mut World) -> Result<(), Stop> {
    accept_over(world, 2)?;
    both_confirmed(world)
}

fn primary(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 2)?;
    both_confirmed(world)?;
    world.deliver(&[Batch::new(0, 50, 1000)])?;
    let path = world.path(1).ok_or_else(|| "the path is gone".to_owned())?.id;
    world.call(|association, now| association.set_primary(now, path))??;
    world.deliver(&[Batch::new(0, 50, 1000).from(50)])?;
    ensure(world.path(1).is_some_and(|path| path.primary), "not the primary")
}

fn peer_primary(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 2)?;
    both_confirmed(world)?;
    world.collect(&[Batch::new(0, 50, 1000)])?;
    world.ask(&format!("primary {} {}", crate::world::OUR_PORT, world.net.ours(1)))?;
    world.collect(&[Batch::new(0, 50, 1000).from(50)])
}

fn failover(world: &mut World) -> Result<(), Stop> {
    world.ask("option rto 200")?;
    connect_over(world, 2)?;
    both_confirmed(world)?;
    world.deliver(&[Batch::new(0, 200, 1000)])?;
    world.collect(&[Batch::new(0, 20, 1000)])?;
    let (a, b) = (world.net.ours(0), world.net.theirs(0));
    world.lose(move |_, _, at| at.local == a || at.remote == b);
    world.rest(Duration::from_millis(10));
    world.deliver(&[Batch::new(0, 200, 1000).from(200)])?;
    world.collect(&[Batch::new(0, 20, 1000).from(20)])
}
