//! Waits that are cancelled at any point lose nothing and do nothing twice.

use crate::common;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;

use common::soon;
use msctp::{Config, Endpoint, Peer, Security};
use tokio::task::JoinSet;

fn endpoint() -> Endpoint {
    Endpoint::bind(&common::options()).unwrap()
}

/// Drops the future after it has been pending this many times.
async fn within<F: Future>(polls: u32, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        left -= 1;
        if left == 0 { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// Repeats an operation until it completes, cancelled after one wait, then two, then three. Returns the
/// number of cancellations.
async fn at_last<F: Future>(mut begin: impl FnMut() -> F) -> (F::Output, u32) {
    let mut given_up = 0;
    loop {
        if let Some(output) = within(1 + given_up % 3, begin()).await {
            return (output, given_up);
        }
        given_up += 1;
        tokio::task::yield_now().await;
    }
}

const MESSAGES: u32 = 400;

#[tokio::test]
async fn send_recv_and_accept_given_up_lose_and_repeat_nothing() {
    let (server, client) = (endpoint(), endpoint());
    // Room for a few messages, so that sending waits too.
    let config = Config { send_buffer: 16 << 10, ..Config::default() };
    server.listen(9899, Security::insecure(), config.clone()).unwrap();
    let peer = Peer::new(server.local_addresses()[0]);
    let (association, (accepted, _)) =
        tokio::join!(client.connect(peer, Security::insecure(), config), at_last(|| server.accept(9899)));
    let (association, accepted) = (association.unwrap(), accepted.unwrap());
    let message = |n: u32| [n.to_be_bytes().to_vec(), vec![n as u8; 5000]].concat();
    let sending = async {
        let mut given_up = 0;
        for n in 0..MESSAGES {
            let (sent, times) = at_last(|| association.send_bytes(1, message(n))).await;
            sent.unwrap();
            given_up += times;
        }
        given_up
    };
    let receiving = async {
        let mut given_up = 0;
        for n in 0..MESSAGES {
            let (got, times) = at_last(|| accepted.recv()).await;
            assert_eq!(got.unwrap().unwrap().data, message(n));
            given_up += times;
        }
        given_up
    };
    let both = async { tokio::join!(sending, receiving) };
    let (sends, receives) = soon(both).await;
    assert!(sends > 10 && receives > 10, "{sends} and {receives} waits were cancelled");
    association.shutdown().await.unwrap();
    assert_eq!(accepted.recv().await.unwrap(), None, "no message twice");
}

#[tokio::test]
async fn connect_given_up_leaves_nothing_and_hinders_nothing() {
    let (server, client) = (endpoint(), endpoint());
    server.listen(9899, Security::insecure(), Config::default()).unwrap();
    let peer = Peer::new(server.local_addresses()[0]);
    for polls in 1..6 {
        let given_up =
            within(polls, client.connect(peer.clone(), Security::insecure(), Config::default())).await;
        drop(given_up);
        tokio::task::yield_now().await;
    }
    soon(client.idle()).await;
    let whole = async {
        tokio::join!(client.connect(peer, Security::insecure(), Config::default()), server.accept(9899))
    };
    let (association, _accepted) = soon(whole).await;
    association.unwrap().abort("done");
}

/// Thousands of tasks wait for room in the send buffer, and every second one stops waiting: all messages of
/// the others arrive, and a task is not woken for each message of the others.
#[tokio::test]
async fn of_many_tasks_that_wait_for_the_send_buffer_few_are_woken_at_a_time() {
    const TASKS: u32 = 2_000;
    let (server, client) = (endpoint(), endpoint());
    // Room for four messages.
    let config = Config { send_buffer: 20 << 10, ..Config::default() };
    server.listen(9899, Security::insecure(), config.clone()).unwrap();
    let peer = Peer::new(server.local_addresses()[0]);
    let (association, accepted) =
        tokio::join!(client.connect(peer, Security::insecure(), config), server.accept(9899));
    let (association, accepted) = (Arc::new(association.unwrap()), accepted.unwrap());
    let polls = Arc::new(AtomicU32::new(0));
    let mut tasks = JoinSet::new();
    for n in 0..TASKS {
        let (association, polls) = (Arc::clone(&association), Arc::clone(&polls));
        tasks.spawn(async move {
            let mut sending = pin!(association.send_bytes(1, vec![n as u8; 5000]));
            let counted = poll_fn(|cx| {
                polls.fetch_add(1, Ordering::Relaxed);
                sending.as_mut().poll(cx)
            });
            match n % 2 {
                0 => counted.await.map(|()| 1),
                // The task goes on, and its waker stays behind.
                _ => Ok(u32::from(within(1, counted).await.transpose()?.is_some())),
            }
        });
    }
    let all = async {
        let mut sent = 0;
        while let Some(done) = tasks.join_next().await {
            sent += done.unwrap().unwrap();
        }
        sent
    };
    let receiving = async {
        let mut received = 0;
        while accepted.recv().await.unwrap().is_some() {
            received += 1;
        }
        received
    };
    let sending = async {
        let sent = all.await;
        association.shutdown().await.unwrap();
        sent
    };
    let (sent, received) = soon(async { tokio::join!(sending, receiving) }).await;
    assert!(sent >= TASKS / 2 && sent == received, "{sent} sent, {received} received");
    let polls = polls.load(Ordering::Relaxed);
    println!("{polls} polls");
    assert!(polls < 30 * TASKS, "{polls} polls");
}
