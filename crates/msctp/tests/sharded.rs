//! The tests of other files with endpoints of several shards (`EndpointOptions::shards`).
#![cfg(target_os = "linux")]
#![allow(clippy::duplicate_mod, reason = "each file has its own `common`")]

#[path = "calls.rs"]
mod calls;
#[path = "cancelled.rs"]
mod cancelled;
#[path = "ending.rs"]
mod ending;
#[path = "liveness.rs"]
mod liveness;
#[path = "loopback.rs"]
mod loopback;
#[path = "nat.rs"]
mod nat;
#[path = "own.rs"]
mod own;
#[path = "restarts.rs"]
mod restarts;
#[path = "setup.rs"]
mod setup;
#[path = "streams.rs"]
mod streams;
#[path = "surface.rs"]
mod surface;
#[cfg(feature = "tls")]
#[path = "tls.rs"]
mod tls;
#[path = "trace.rs"]
mod trace;

mod common {
    //! That this program has what it says.

    #[path = "../common/mod.rs"]
    mod own;

    #[test]
    fn endpoints_have_several_shards_here() {
        assert_eq!(own::options().shards, 3);
    }
}
