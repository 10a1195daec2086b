//! The sans-IO stacks of `bench/peers` over a socket, under a driver that uses the kernel as msctp's does:
//! segmentation offload, coalesced and batched receiving.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use msctp_bench_peers::pair::End;
use msctp_bench_peers::peers::{proto, rtc};
use msctp_udp::{Batch, Fragment, Outgoing, Socket, SocketOptions};

use super::closing::{CLOSING, closing};
use crate::job::{AT_ONCE, Job, SMALL, Tally, block_on, failed, pause, ready};

/// Maximum bytes that one call passes to segmentation offload.
const OFFLOAD: usize = 65_000;

pub fn rtc_server(job: &Job) -> Result<(), String> {
    block_on(server(rtc::Node::new(Instant::now(), true, job.len), job))
}

pub fn rtc_client(job: &Job) -> Result<(), String> {
    block_on(client(rtc::Node::new(Instant::now(), false, job.len), job))
}

pub fn proto_server(job: &Job) -> Result<(), String> {
    block_on(server(proto::Node::new(Instant::now(), true, job.len), job))
}

pub fn proto_client(job: &Job) -> Result<(), String> {
    block_on(client(proto::Node::new(Instant::now(), false, job.len), job))
}

pub fn rtc_hold(job: &Job) -> Result<(), String> {
    block_on(hold(rtc::Node::new(Instant::now(), true, SMALL), job))
}

pub fn rtc_open(job: &Job) -> Result<(), String> {
    block_on(open(rtc::Node::new(Instant::now(), false, SMALL), job))
}

pub fn proto_hold(job: &Job) -> Result<(), String> {
    block_on(hold(proto::Node::new(Instant::now(), true, SMALL), job))
}

pub fn proto_open(job: &Job) -> Result<(), String> {
    block_on(open(proto::Node::new(Instant::now(), false, SMALL), job))
}

/// A node at its socket.
struct Driver<E> {
    node: E,
    socket: Socket,
    peer: Option<SocketAddr>,
    start: Instant,
    batch: Batch,
    incoming: VecDeque<Bytes>,
    outgoing: VecDeque<Bytes>,
    burst: Vec<u8>,
    over: bool,
}

impl<E: End<Wire = VecDeque<Bytes>>> Driver<E> {
    fn new(node: E, address: SocketAddr, peer: Option<SocketAddr>) -> Result<Self, String> {
        let socket = Socket::bind(address, &SocketOptions::default()).map_err(|e| failed("bind")(&e))?;
        Ok(Self {
            node,
            socket,
            peer,
            start: Instant::now(),
            batch: Batch::default(),
            incoming: VecDeque::new(),
            outgoing: VecDeque::new(),
            burst: Vec::new(),
            over: false,
        })
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// Drives the node and sends its packets.
    async fn drive(&mut self) -> Result<(), String> {
        let now = self.now();
        self.node.drive(now, &mut self.incoming, &mut self.outgoing);
        self.transmit().await
    }

    /// Sends packets of one length together; the last may be shorter.
    async fn transmit(&mut self) -> Result<(), String> {
        let Some(to) = self.peer else { return Ok(()) };
        while let Some(first) = self.outgoing.pop_front() {
            let segment = first.len();
            self.burst.clear();
            self.burst.extend_from_slice(&first);
            while let Some(next) = self.outgoing.front()
                && next.len() <= segment
                && self.burst.len() + next.len() <= OFFLOAD
            {
                let last = next.len() < segment;
                self.burst.extend_from_slice(next);
                self.outgoing.pop_front();
                if last {
                    break;
                }
            }
            let mut sent = 0;
            loop {
                let packets = Outgoing {
                    from: None,
                    to,
                    bytes: &self.burst[sent..],
                    segment_size: Some(segment),
                    ecn: None,
                    fragment: Fragment::Here,
                };
                sent += self.socket.send(&packets).map_err(|e| failed("sending")(&e))?.bytes;
                if sent >= self.burst.len() {
                    break;
                }
                poll_fn(|cx| self.socket.poll_send_ready(cx)).await.map_err(|e| failed("sending")(&e))?;
            }
        }
        Ok(())
    }

    /// Receives packets; waits for them until a timer is due.
    async fn receive(&mut self) -> Result<(), String> {
        let wake = self.node.wake().map(|wake| wake.saturating_sub(self.now()));
        let mut timer = pin!(tokio::time::sleep(wake.unwrap_or(Duration::from_secs(1))));
        let received = poll_fn(|cx| match self.socket.poll_recv(cx, &mut self.batch) {
            Poll::Ready(result) => Poll::Ready(result.map(|()| true)),
            Poll::Pending => timer.as_mut().poll(cx).map(|()| Ok(false)),
        });
        if received.await.map_err(|e| failed("receiving")(&e))? {
            for datagram in self.batch.datagrams() {
                self.peer = Some(datagram.remote);
                if datagram.bytes.len() == CLOSING {
                    self.over = true;
                } else {
                    self.incoming.push_back(Bytes::copy_from_slice(datagram.bytes));
                }
            }
        }
        Ok(())
    }
}

async fn server<E: End<Wire = VecDeque<Bytes>>>(node: E, job: &Job) -> Result<(), String> {
    let mut driver = Driver::new(node, job.address, None)?;
    ready();
    let mut tally = Tally::default();
    while !driver.over {
        driver.receive().await?;
        driver.drive().await?;
        let bytes = driver.node.receive();
        if bytes > 0 {
            tally.add(bytes as usize);
            driver.drive().await?;
        }
    }
    tally.report();
    Ok(())
}

async fn client<E: End<Wire = VecDeque<Bytes>>>(node: E, job: &Job) -> Result<(), String> {
    let mut driver = Driver::new(node, job.own(), Some(job.address))?;
    let now = driver.now();
    driver.node.connect(now);
    driver.drive().await?;
    while driver.node.connected() == 0 {
        driver.receive().await?;
        driver.drive().await?;
    }
    let begin = Instant::now();
    while begin.elapsed() < job.time {
        let now = driver.now();
        driver.node.send(now, u64::MAX);
        driver.drive().await?;
        driver.receive().await?;
        driver.drive().await?;
    }
    driver.socket.send(&closing(job.address)).map_err(|e| failed("sending")(&e))?;
    Ok(())
}

/// Accepts associations until the other end closes.
async fn hold<E: End<Wire = VecDeque<Bytes>>>(node: E, job: &Job) -> Result<(), String> {
    let mut driver = Driver::new(node, job.address, None)?;
    ready();
    while !driver.over {
        driver.receive().await?;
        driver.drive().await?;
    }
    Tally::default().report();
    Ok(())
}

/// Sets up `len` associations; data goes over the first.
async fn open<E: End<Wire = VecDeque<Bytes>>>(node: E, job: &Job) -> Result<(), String> {
    let mut driver = Driver::new(node, job.own(), Some(job.address))?;
    pause("begin", 0)?;
    let (begin, mut begun) = (Instant::now(), 0);
    while driver.node.connected() < job.len {
        let now = driver.now();
        while begun - driver.node.connected() < AT_ONCE && begun < job.len {
            driver.node.connect(now);
            begun += 1;
        }
        driver.drive().await?;
        driver.receive().await?;
        driver.drive().await?;
    }
    pause("opened", begin.elapsed().as_nanos())?;
    pause("sent", 0)?;
    driver.socket.send(&closing(job.address)).map_err(|e| failed("sending")(&e))?;
    pause("closed", 0)
}
