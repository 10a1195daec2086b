//! All integration tests of `msctp` in one program: what they share is compiled and linked once.

mod alerts;
mod bind;
mod calls;
mod cancelled;
mod common;
mod ending;
mod false_start;
mod flood;
mod leaks;
mod liveness;
mod loopback;
mod names;
mod nat;
mod own;
mod requests;
mod restarts;
mod sandbox;
mod scopes;
mod setup;
mod shards;
mod small_mtu;
mod streams;
mod surface;
mod tls;
mod trace;
mod unconfirmed;
