//! Nothing is left behind: associations and endpoints end with their tasks and their sockets.
#![cfg(target_os = "linux")]

use crate::common;

use common::{in_own_process, inside, soon, until};
use msctp::{Config, Endpoint, EndpointOptions, Peer, Security};

fn endpoint() -> Endpoint {
    Endpoint::bind(&EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])).unwrap()
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

fn files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The way in which the two ends of an association end it.
#[derive(Clone, Copy)]
enum End {
    Shutdown,
    Abort,
    /// Both ends are dropped, with sent data unread.
    Dropped,
}

async fn one(server: &Endpoint, client: &Endpoint, end: End) {
    let peer = Peer::new(server.local_addresses()[0]);
    let both = async {
        tokio::join!(client.connect(peer, Security::insecure(), Config::mobile()), server.accept(9899))
    };
    let (association, accepted) = both.await;
    let (association, accepted) = (association.unwrap(), accepted.unwrap());
    association.send_bytes(0, vec![7; 3000]).await.unwrap();
    match end {
        End::Shutdown => {
            assert_eq!(accepted.recv().await.unwrap().unwrap().data.len(), 3000);
            association.shutdown().await.unwrap();
        }
        End::Abort => association.abort("enough"),
        End::Dropped => {}
    }
}

/// It counts all files of its process.
#[test]
fn a_thousand_associations_and_many_endpoints_leave_nothing() {
    in_own_process("exec", "leaks::inside_a_thousand_associations");
}

#[test]
#[ignore = "runs in its own process: a_thousand_associations_and_many_endpoints_leave_nothing"]
fn inside_a_thousand_associations() {
    inside(a_thousand_associations());
}

async fn a_thousand_associations() {
    let (tasks_before, files_before) = (tasks(), files());
    {
        let (server, client) = (endpoint(), endpoint());
        server.listen(9899, Security::insecure(), Config::mobile()).unwrap();
        let (tasks_idle, files_idle) = (tasks(), files());
        for n in 0..1000 {
            let end = [End::Shutdown, End::Abort, End::Dropped][n % 3];
            soon(one(&server, &client, end)).await;
        }
        let idle = async { tokio::join!(server.idle(), client.idle()) };
        soon(idle).await;
        assert_eq!((tasks(), files()), (tasks_idle, files_idle), "one task and one socket an endpoint");
        let more: Vec<Endpoint> = (0..50).map(|_| endpoint()).collect();
        assert_eq!(tasks(), tasks_idle + more.len());
    }
    until(|| (tasks(), files()) == (tasks_before, files_before)).await;
}
