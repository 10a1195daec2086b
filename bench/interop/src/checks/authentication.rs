//! RFC 4895: chunks signed with the null key and with shared keys, keys that do not agree.

use std::time::Duration;

use msctp_proto::{Config, HmacAlgorithm, SharedKey};

use super::Check;
use super::basic::{connect_over, listen_there};
use crate::frames::{ASCONF, ASCONF_ACK, DATA};
use crate::message::Batch;
use crate::world::{Stop, World, ensure};

pub const CHECKS: &[Check] = &[
    Check::new(
        "AUTH agreed",
        "Random, Chunk List, HMAC Algorithm; both ends say that AUTH is spoken",
        spoken,
    ),
    Check::new("AUTH, shared key, SHA-256", "DATA signed both ways with key 7; hashes compared", shared_key)
        .config(|config| keyed(config, "a-secret"))
        .frames(|frames| frames.signed(DATA).and_then(|()| frames.have(&[DATA], &[DATA]))),
    Check::new("AUTH, shared key, SHA-1", "the same; the peer takes SHA-1 only", shared_key_sha1)
        .config(|config| {
            keyed(config, "a-secret");
            config.auth.algorithms = vec![HmacAlgorithm::Sha1];
        })
        .frames(|frames| frames.signed(DATA).and_then(|()| frames.have(&[DATA], &[DATA]))),
    Check::new(
        "AUTH, our key differs",
        "the peer demands DATA signed; it delivers nothing of what another key signed",
        wrong_key,
    )
    .config(|config| keyed(config, "another")),
    Check::new(
        "AUTH, the peer's key differs",
        "a key at our end demands COOKIE ACK signed; another key's is dropped, and nothing is delivered",
        wrong_key_of_peer,
    )
    .config(|config| keyed(config, "another")),
    Check::new("no AUTH at the peer", "the peer without RFC 4895: no ASCONF is sent, data flows", without)
        .frames(|frames| frames.lack(&[ASCONF, ASCONF_ACK])),
];

/// Requires DATA signed with key 7.
fn keyed(config: &mut Config, secret: &str) {
    config.auth.chunks = vec![DATA];
    config.auth.keys = vec![SharedKey { id: 7, secret: secret.into() }];
}

fn key_there(world: &mut World) -> Result<(), Stop> {
    world.ask("option key 7 a-secret")?;
    world.ask(&format!("option sign {DATA}"))
}

fn spoken(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    ensure(
        world
            .association()
            .is_some_and(|association| association.agreed().is_some_and(|agreed| agreed.authentication)),
        "our end: not spoken",
    )?;
    // SCTP_ASSOC_SUPPORTS_AUTH and …_ASCONF (RFC 6458 §6.1.1).
    ensure(
        world.said.iter().any(|line| line.starts_with("up ") && line.contains(" 2") && line.contains(" 3")),
        format!("the peer: {:?}", world.said),
    )
}

fn both_ways(world: &mut World) -> Result<(), Stop> {
    connect_over(world, 1)?;
    world.deliver(&[Batch::new(0, 100, 1000), Batch::new(1, 3, 20_000)])?;
    world.collect(&[Batch::new(0, 100, 1000), Batch::new(1, 3, 20_000)])
}

fn shared_key(world: &mut World) -> Result<(), Stop> {
    if world.ask("option hmac 3 1").is_err() {
        return Err(Stop::Unsupported("the library is built without SHA-256".to_owned()));
    }
    key_there(world)?;
    both_ways(world)
}

fn shared_key_sha1(world: &mut World) -> Result<(), Stop> {
    world.ask("option hmac 1")?;
    key_there(world)?;
    both_ways(world)
}

/// Checks a peer that requires signed DATA against our wrong key.
fn wrong_key(world: &mut World) -> Result<(), Stop> {
    key_there(world)?;
    listen_there(world, 1)?;
    world.send(&Batch::new(0, 3, 100));
    world.connect(1)?;
    world.rest(Duration::from_secs(3));
    ensure(world.theirs.is_empty(), "the peer took data signed with another key")
}

/// Checks that we reject a peer that signs with another key.
fn wrong_key_of_peer(world: &mut World) -> Result<(), Stop> {
    world.ask("option key 7 a-secret")?;
    listen_there(world, 1)?;
    world.connect(1)?;
    world.rest(Duration::from_secs(3));
    ensure(world.ours.is_empty(), "our end took data signed with another key")?;
    let stats = world.association().map(|association| association.stats()).unwrap_or_default();
    ensure(stats.unauthenticated_chunks > 0, "nothing came")
}

fn without(world: &mut World) -> Result<(), Stop> {
    world.ask("option asconf 0")?;
    world.ask("option auth 0")?;
    connect_over(world, 1)?;
    let address = world.net.ours(1);
    let refused = world.call(|association, now| association.add_local_address(now, address))?;
    ensure(refused.is_err(), "our end asks a peer that cannot")?;
    world.deliver(&[Batch::new(0, 10, 1000)])?;
    world.collect(&[Batch::new(0, 10, 1000)])
}
