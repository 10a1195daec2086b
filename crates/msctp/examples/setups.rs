//! Sets associations up between two endpoints over the loopback interface, 64 at a time, so that what a
//! set-up costs can be counted:
//!
//! `valgrind --tool=callgrind target/release/examples/setups 1000`, and the same with 2000: the difference is
//! 1000 set-ups with both their ends. `strace -c -f` counts the system calls.

use std::error::Error;

use msctp::{Config, Endpoint, EndpointOptions, Peer, Security};
use tokio::task::JoinSet;

const AT_ONCE: usize = 64;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(1000), |count| count.parse())?;
    let server = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    server.listen(msctp::DEFAULT_PORT, Security::insecure(), Config::default())?;
    let client = Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse()?]))?;
    let peer = Peer::new(server.local_addresses()[0]);
    let accept = tokio::spawn(async move {
        let mut accepted = Vec::new();
        while accepted.len() < count {
            accepted.extend(server.accept(msctp::DEFAULT_PORT).await);
        }
        accepted
    });
    let (mut up, mut begun) = (Vec::new(), JoinSet::new());
    for _ in 0..count {
        if begun.len() == AT_ONCE {
            up.extend(begun.join_next().await.transpose()?);
        }
        let (client, peer) = (client.clone(), peer.clone());
        begun.spawn(async move { client.connect(peer, Security::insecure(), Config::default()).await });
    }
    up.extend(begun.join_all().await);
    let up = up.into_iter().collect::<Result<Vec<_>, _>>()?;
    let accepted = accept.await?;
    println!("{} set-ups, {} accepted", up.len(), accepted.len());
    // What the end of so many costs is another matter.
    std::process::exit(0);
}
