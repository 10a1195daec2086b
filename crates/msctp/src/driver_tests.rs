use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use tokio::time::timeout;

use super::*;
use crate::security::{AnyPeer, Identity, Tls, provider};
use crate::{Config, Endpoint, EndpointOptions, Peer};

const PORT: u16 = 9;

/// Records whether a task was woken.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn tls() -> Tls {
    Tls::new(&Identity::generate(provider()).unwrap(), AnyPeer).unwrap()
}

/// A server whose task runs only when a test polls it.
struct Server {
    endpoint: Endpoint,
    driver: Pin<Box<Driver>>,
    woken: Arc<Woken>,
    peer: Peer,
}

impl Server {
    fn new(max_handshakes_per_second: u32) -> Self {
        let (endpoint, mut drivers) =
            Endpoint::open(&EndpointOptions { max_handshakes_per_second, ..options() }).unwrap();
        endpoint.listen(PORT, tls(), Config::default()).unwrap();
        let peer = Peer { port: PORT, ..Peer::new(endpoint.local_addresses()[0]) };
        Self { endpoint, driver: Box::pin(drivers.pop().unwrap()), woken: Arc::default(), peer }
    }

    fn poll(&mut self) {
        let waker = Waker::from(Arc::clone(&self.woken));
        assert!(self.driver.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }

    /// Returns whether the task was woken since the last call.
    fn was_woken(&self) -> bool {
        self.woken.0.swap(false, Ordering::SeqCst)
    }

    fn next_set_up(&self) -> Option<Time> {
        self.driver.shared.lock().next_set_up()
    }
}

fn options() -> EndpointOptions {
    EndpointOptions::new(["127.0.0.1:0".parse().unwrap()])
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(Duration::from_secs(60), test).await.expect("no stall") });
}

/// Polls a server's task only when it is woken, as the runtime does, while many clients set associations up
/// at once. Whenever it waits, a queued set-up must wake it: at once, or by its timer.
fn set_up_together(clients: usize, max_handshakes_per_second: u32) {
    run(async {
        let mut server = Server::new(max_handshakes_per_second);
        let (client, tls) = (Endpoint::bind(&options()).unwrap(), tls());
        let connecting: Vec<_> = (0..clients)
            .map(|_| tokio::spawn(client.connect(server.peer.clone(), &tls, Config::default())))
            .collect();
        let (mut waited, mut first) = (0, true);
        while !connecting.iter().all(tokio::task::JoinHandle::is_finished) {
            while std::mem::take(&mut first) || server.was_woken() {
                server.poll();
                let Some(next) = server.next_set_up() else { continue };
                waited += 1;
                // One that may be served now has no time.
                let timer = next > Time::ZERO && server.driver.deadline.is_some_and(|at| at <= next);
                assert!(timer || server.woken.0.load(Ordering::SeqCst), "nothing wakes the task");
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for connected in connecting {
            connected.await.unwrap().unwrap();
        }
        assert!(waited > 0, "no set-up ever waited");
    });
}

#[test]
fn a_set_up_that_is_queued_wakes_the_task() {
    set_up_together(64, 100);
}

#[test]
fn a_set_up_beyond_the_rate_of_its_source_wakes_the_task_in_time() {
    set_up_together(20, 3);
}

#[test]
fn packets_of_proven_peers_precede_set_ups_that_wait() {
    run(async {
        let mut server = Server::new(100);
        let client = Endpoint::bind(&options()).unwrap();
        let connecting = tokio::spawn(client.connect(server.peer.clone(), tls(), Config::default()));
        while !connecting.is_finished() {
            server.poll();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let association = connecting.await.unwrap().unwrap();
        let accepted = loop {
            server.poll();
            if let Ok(accepted) = timeout(Duration::from_millis(1), server.endpoint.accept(PORT)).await {
                break accepted.unwrap();
            }
        };
        // More ClientHellos than one poll handles.
        let _others: Vec<_> =
            (0..64).map(|_| client.connect(server.peer.clone(), tls(), Config::default())).collect();
        while server.next_set_up().is_none() {
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.poll();
        }
        let before = association.stats().unwrap().packets_sent;
        association.send_bytes(0, "first").await.unwrap();
        while association.stats().unwrap().packets_sent == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        server.poll();
        assert!(server.next_set_up().is_some(), "set-ups wait");
        let received = timeout(Duration::ZERO, accepted.recv()).await.expect("it has arrived");
        assert_eq!(received.unwrap().unwrap().data, "first");
    });
}
