use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

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

fn config() -> Config {
    let identity = Identity::self_signed(provider(), &Identity::generate_key().unwrap()).unwrap();
    let tls = Tls::new(identity.config(Arc::new(AnyPeer)).unwrap());
    Config { protection: tls.required(), ..Config::default() }
}

/// Polls a server's task only when it is woken, as the runtime does, while many clients set associations up
/// at once. Whenever it waits, a queued set-up must wake it: at once, or by its timer.
fn set_up_together(clients: usize, max_handshakes_per_second: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = EndpointOptions::new(["127.0.0.1:0".parse().unwrap()]);
        let (server, mut drivers) =
            Endpoint::open(&EndpointOptions { max_handshakes_per_second, ..options.clone() }).unwrap();
        server.listen(PORT, config()).unwrap();
        let mut driver = Box::pin(drivers.pop().unwrap());
        let peer = Peer { port: PORT, ..Peer::new(server.local_addresses()[0]) };
        let (client, config) = (Endpoint::bind(&options).unwrap(), config());
        let connecting: Vec<_> =
            (0..clients).map(|_| tokio::spawn(client.connect(peer.clone(), config.clone()))).collect();
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let (mut waited, mut first) = (0, true);
        let served = async {
            while !connecting.iter().all(tokio::task::JoinHandle::is_finished) {
                while std::mem::take(&mut first) || woken.0.swap(false, Ordering::SeqCst) {
                    assert!(driver.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
                    let state = driver.shared.lock();
                    let Some(next) = state.next_set_up() else { continue };
                    waited += 1;
                    // One that may be served now has no time.
                    let timer = next > Time::ZERO && driver.deadline.is_some_and(|at| at <= next);
                    assert!(timer || woken.0.load(Ordering::SeqCst), "nothing wakes the task");
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), served).await.expect("all are served");
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
