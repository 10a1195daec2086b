//! The tests of other files with endpoints of several shards (`EndpointOptions::shards`).
#![cfg(target_os = "linux")]

#[path = "it/calls.rs"]
mod calls;
#[path = "it/cancelled.rs"]
mod cancelled;
#[path = "it/ending.rs"]
mod ending;
#[path = "it/liveness.rs"]
mod liveness;
#[path = "it/loopback.rs"]
mod loopback;
#[path = "it/nat.rs"]
mod nat;
#[path = "it/own.rs"]
mod own;
#[path = "it/restarts.rs"]
mod restarts;
#[path = "it/setup.rs"]
mod setup;
#[path = "it/streams.rs"]
mod streams;
#[path = "it/surface.rs"]
mod surface;
#[cfg(feature = "tls")]
#[path = "it/tls.rs"]
mod tls;
#[path = "it/trace.rs"]
mod trace;

#[path = "it/common/mod.rs"]
mod common;

#[test]
fn endpoints_have_several_shards_here() {
    assert_eq!(common::options().shards, 3);
}
