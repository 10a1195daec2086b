//! RFC 8260: messages in I-DATA chunks, small ones between the fragments of a large one.

use msctp_proto::Config;

use super::Check;
use super::basic::connect_over;
use crate::frames::{DATA, Frames, I_DATA};
use crate::message::{Batch, Got};
use crate::world::{Stop, World, ensure};

pub const CHECKS: &[Check] = &[
    Check::new(
        "I-DATA both ways",
        "ordered, unordered and fragmented messages in I-DATA chunks only; hashes compared",
        both_ways,
    )
    .for_all()
    .config(offer)
    .frames(i_data_only),
    Check::new(
        "interleaving by us",
        "10 small messages overtake one of 200,000 bytes sent before them on another stream",
        overtake,
    )
    .for_all()
    .config(|config| {
        offer(config);
        config.streams.scheduler = "round-robin".to_owned();
    })
    .frames(i_data_only),
    Check::new("I-DATA refused", "we offer it, the peer does not: DATA", refused)
        .for_all()
        .config(offer)
        .frames(|frames| frames.lack(&[I_DATA]).and_then(|()| frames.have(&[DATA], &[DATA]))),
];

pub fn offer(config: &mut Config) {
    config.streams.interleaving = true;
}

/// Has the peer offer interleaving too.
pub fn offered(world: &mut World) -> Result<(), Stop> {
    world.ask("option interleaving 1").map_err(|_| Stop::Unsupported("it cannot be switched on".to_owned()))
}

fn i_data_only(frames: &Frames) -> Result<(), String> {
    frames.lack(&[DATA]).and_then(|()| frames.have(&[I_DATA], &[I_DATA]))
}

fn both_ways(world: &mut World) -> Result<(), Stop> {
    offered(world)?;
    connect_over(world, 1)?;
    let batches = [Batch::new(0, 200, 1000), Batch::new(2, 100, 300).unordered(), Batch::new(3, 5, 50_000)];
    world.deliver(&batches)?;
    world.collect(&batches)
}

fn overtake(world: &mut World) -> Result<(), Stop> {
    offered(world)?;
    connect_over(world, 1)?;
    let (large, small) = (Batch::new(1, 1, 200_000), Batch::new(2, 10, 100));
    world.deliver(&[large, small])?;
    let order: Vec<Got> = small.expected().chain(large.expected()).collect();
    ensure(world.theirs == order, "the large message came before a small one")?;
    world.collect(&[small])
}

fn refused(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    let batch = Batch::new(0, 100, 1000);
    world.deliver(&[batch])?;
    world.collect(&[batch])
}
