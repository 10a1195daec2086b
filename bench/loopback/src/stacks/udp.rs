//! Plain UDP in packets of full size: the upper bound for the other stacks. Nothing is retransmitted; bytes
//! count when they arrive.

use std::future::poll_fn;
use std::io::{IoSlice, IoSliceMut};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use msctp_udp::{Batch, Fragment, Outgoing, Socket, SocketOptions};
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, sendmmsg, setsockopt, sockopt};

use super::closing::{CLOSING, closing};
use crate::job::{Job, MTU, Tally, block_on, failed, ready};

/// User bytes of a packet: without the IPv4 and UDP headers.
const PAYLOAD: usize = MTU as usize - 28;
/// Packets in one call.
const BATCH: usize = 64;
/// Packets that segmentation offload takes at once: 65,507 bytes.
const SEGMENTS: usize = 65_507 / PAYLOAD;
/// Closing datagrams sent: any of them may be lost.
const CLOSINGS: u32 = 20;

fn plain(address: std::net::SocketAddr) -> Result<UdpSocket, String> {
    let socket = UdpSocket::bind(address).map_err(|e| failed("bind")(&e))?;
    let size = SocketOptions::default().buffer;
    setsockopt(&socket, sockopt::RcvBuf, &size).map_err(|e| failed("buffer")(&e))?;
    setsockopt(&socket, sockopt::SndBuf, &size).map_err(|e| failed("buffer")(&e))?;
    Ok(socket)
}

pub fn server_plain(job: &Job) -> Result<(), String> {
    let socket = plain(job.address)?;
    ready();
    let mut bytes = vec![[0_u8; 2048]; BATCH];
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, None);
    let mut tally = Tally::default();
    loop {
        let mut slices: Vec<_> = bytes.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let received =
            recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), MsgFlags::MSG_WAITFORONE, None)
                .map_err(|e| failed("receiving")(&e))?;
        let sizes: Vec<usize> = received.map(|message| message.bytes).collect();
        let data: usize = sizes.iter().filter(|&&size| size != CLOSING).sum();
        if data > 0 {
            tally.add(data);
        }
        if sizes.contains(&CLOSING) {
            tally.report();
            return Ok(());
        }
    }
}

pub fn client_plain(job: &Job) -> Result<(), String> {
    let socket = plain(job.own())?;
    let bytes = vec![0x5a; PAYLOAD];
    let slices = [[IoSlice::new(&bytes)]; BATCH];
    let to = [Some(SockaddrStorage::from(job.address)); BATCH];
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(BATCH, None);
    let begin = Instant::now();
    while begin.elapsed() < job.time {
        sendmmsg(socket.as_raw_fd(), &mut headers, &slices, to, [], MsgFlags::empty())
            .map_err(|e| failed("sending")(&e))?;
    }
    for _ in 0..CLOSINGS {
        std::thread::sleep(Duration::from_millis(10));
        let _ = socket.send_to(closing(job.address).bytes, job.address);
    }
    Ok(())
}

pub fn server_gro(job: &Job) -> Result<(), String> {
    block_on(async {
        let socket = Socket::bind(job.address, &SocketOptions::default()).map_err(|e| failed("bind")(&e))?;
        ready();
        let (mut batch, mut tally) = (Batch::default(), Tally::default());
        loop {
            poll_fn(|cx| socket.poll_recv(cx, &mut batch)).await.map_err(|e| failed("receiving")(&e))?;
            let (mut data, mut over) = (0, false);
            for datagram in batch.datagrams() {
                match datagram.bytes.len() {
                    CLOSING => over = true,
                    len => data += len,
                }
            }
            if data > 0 {
                tally.add(data);
            }
            if over {
                tally.report();
                return Ok(());
            }
        }
    })
}

pub fn client_gso(job: &Job) -> Result<(), String> {
    block_on(async {
        let socket = Socket::bind(job.own(), &SocketOptions::default()).map_err(|e| failed("bind")(&e))?;
        let bytes = vec![0x5a; PAYLOAD * SEGMENTS];
        let packets = Outgoing {
            from: None,
            to: job.address,
            bytes: &bytes,
            segment_size: Some(PAYLOAD),
            ecn: None,
            fragment: Fragment::Here,
        };
        let begin = Instant::now();
        while begin.elapsed() < job.time {
            if socket.send(&packets).map_err(|e| failed("sending")(&e))?.bytes == 0 {
                poll_fn(|cx| socket.poll_send_ready(cx)).await.map_err(|e| failed("sending")(&e))?;
            }
        }
        for _ in 0..CLOSINGS {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let _ = socket.send(&closing(job.address));
        }
        Ok(())
    })
}
