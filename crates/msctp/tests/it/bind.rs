//! Where endpoints are bound: runtimes without drivers, wildcards of both families.

use crate::common;

use std::net::{IpAddr, SocketAddr, UdpSocket};

use common::{options, options_at, run, soon};
use msctp::{BindError, Config, Endpoint, EndpointOptions, Mobility, Peer, Security};
use tokio::runtime::Builder;

#[test]
fn a_runtime_without_drivers_is_an_error_of_bind() {
    let mut builders =
        [Builder::new_current_thread(), Builder::new_current_thread(), Builder::new_current_thread()];
    builders[1].enable_io();
    builders[2].enable_time();
    for builder in &mut builders {
        let runtime = builder.build().unwrap();
        let error = runtime.block_on(async { Endpoint::bind(&options()) }).unwrap_err();
        assert!(matches!(error, BindError::NoRuntime), "{error:?}");
        assert_eq!(
            error.to_string(),
            "no tokio runtime with I/O and time here: bind within one, built with Builder::enable_all"
        );
    }
    assert!(matches!(Endpoint::bind(&options()), Err(BindError::NoRuntime)), "no runtime at all");
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { Endpoint::bind(&options()).unwrap().close().await.unwrap() });
}

#[test]
fn one_bind_of_the_ipv6_wildcard_serves_both_families() {
    if UdpSocket::bind("[::1]:0").is_err() {
        eprintln!("left out: this host has no IPv6");
        return;
    }
    run(async {
        let any = || options_at(["[::]:0".parse().unwrap()]);
        let mobile = EndpointOptions { shards: 1, ..any() }.mobile(Mobility::default());
        let clients = [Endpoint::bind(&any()).unwrap(), Endpoint::bind(&mobile).unwrap()];
        let server = Endpoint::bind(&any()).unwrap();
        server.listen(7, Security::insecure(), Config::default()).unwrap();
        let bound = server.local_addresses();
        for called in ["127.0.0.1", "::1"].map(|ip| ip.parse::<IpAddr>().unwrap()) {
            let at = SocketAddr::new(called, bound[0].port());
            assert!(bound.contains(&at), "{bound:?}");
            for client in &clients {
                let peer = Peer { port: 7, ..Peer::new(at) };
                let connected =
                    soon(client.connect(peer, Security::insecure(), Config::default())).await.unwrap();
                let accepted = soon(server.accept(7)).await.unwrap();
                connected.send_bytes(0, "hello").await.unwrap();
                assert_eq!(soon(accepted.recv()).await.unwrap().unwrap().data, "hello");
            }
        }
        // A port that one of the families does not have.
        let taken = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let held = UdpSocket::bind(taken).unwrap();
        let error = Endpoint::bind(&options_at([SocketAddr::new("::".parse().unwrap(), taken.port())]));
        assert!(error.unwrap_err().to_string().contains("the port is in use"));
        drop(held);
    });
}
