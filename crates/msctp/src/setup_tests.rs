use std::time::Duration;

use msctp_proto::Config;
use tokio::time::timeout;

use crate::{Endpoint, EndpointOptions, Peer, Security};

/// More than any set-up takes: it hangs.
const HANGS: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_client_whose_port_another_host_has_takes_another() {
    let bind = || Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])).unwrap();
    for security in [Security::insecure(), Security::pre_shared(&[7; 32]).unwrap()] {
        let (server, first, second) = (bind(), bind(), bind());
        server.listen(7, security.clone(), Config::default()).unwrap();
        let peer = Peer { port: 7, ..Peer::new(server.local_addresses()[0]) };
        let config = security.over(Config::default()).unwrap();
        let connect = |endpoint: &Endpoint| {
            let connecting = endpoint.connect_from(peer.clone(), config.clone(), Some(50_000), (0, true));
            timeout(HANGS, connecting)
        };
        let first_one = connect(&first).await.unwrap().unwrap();
        let second_one = connect(&second).await.unwrap().unwrap();
        assert_ne!(first_one.local_port(), second_one.local_port());
        for association in [&first_one, &second_one] {
            let accepted = timeout(HANGS, server.accept(7)).await.unwrap().unwrap();
            association.send_bytes(0, "it is me").await.unwrap();
            assert_eq!(timeout(HANGS, accepted.recv()).await.unwrap().unwrap().unwrap().data, "it is me");
        }
    }
}
