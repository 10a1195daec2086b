//! Endpoints over loopback for the tests of this folder. In the program `sharded`, which has most of these
//! tests again, they have several shards.

#![allow(dead_code, reason = "no test uses all of it")]

use std::net::SocketAddr;
use std::time::Duration;

use msctp::{Association, Config, Endpoint, EndpointOptions, Peer};
use tokio::time::timeout;

/// Runs a test on its own runtime, and fails after a time limit.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(60), test).await.expect("done in time") })
}

pub(crate) fn options() -> EndpointOptions {
    options_at(["127.0.0.1:0".parse().unwrap()])
}

pub(crate) fn options_at(addresses: impl IntoIterator<Item = SocketAddr>) -> EndpointOptions {
    let shards = if module_path!().starts_with("sharded::") { 3 } else { 1 };
    EndpointOptions { shards, ..EndpointOptions::new(addresses) }
}

pub(crate) fn bind() -> Endpoint {
    Endpoint::bind(&options()).unwrap()
}

/// Binds an endpoint that listens at `port`. Returns it with its address.
pub(crate) fn server(port: u16) -> (Endpoint, Peer) {
    let server = bind();
    server.listen(port, Config::default()).unwrap();
    let peer = Peer { port, ..Peer::new(server.local_addresses()[0]) };
    (server, peer)
}

/// Sends until the buffers of both ends are full, because the peer does not read.
pub(crate) async fn fill(association: &Association) {
    while let Ok(sent) = timeout(Duration::from_millis(300), association.send_bytes(0, vec![7; 50_000])).await
    {
        sent.unwrap();
    }
}
