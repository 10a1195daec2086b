//! [`InterfaceWatch`]: changes of links and addresses from netlink (Linux).

use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, ready};

use netlink_packet_core::{NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::AddressMessage;
use netlink_packet_route::link::LinkMessage;
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::change::{Interface, LocalAddress};
use crate::interfaces::Table;
use crate::readiness::watch;

/// Multicast groups (linux/rtnetlink.h): RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR.
const GROUPS: u32 = 0x1 | 0x10 | 0x100;

/// Error code of a full receive queue: the kernel dropped messages for this socket, so that the known state
/// may be wrong.
const ENOBUFS: i32 = 105;

/// Length of the receive buffer in bytes. The kernel puts at most 32 KiB into one answer.
const BUFFER: usize = 1 << 15;

/// Watches the interfaces of this host's network namespace.
///
/// The first changes report those that exist.
#[derive(Debug)]
pub struct InterfaceWatch {
    socket: AsyncFd<Socket>,
    table: Table,
    changes: VecDeque<Interface>,
    buffer: Vec<u8>,
}

impl InterfaceWatch {
    /// Subscribes to changes and reads the current state. Must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// The kernel refuses a netlink socket.
    pub fn new() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        // Subscribes first, so that no change is missed between the dump and the subscription.
        socket.bind(&SocketAddr::new(0, GROUPS))?;
        socket.set_non_blocking(true)?;
        let socket = watch(socket, Interest::READABLE)?;
        let mut watch = Self {
            socket,
            table: Table::default(),
            changes: VecDeque::new(),
            buffer: Vec::with_capacity(BUFFER),
        };
        watch.read_all()?;
        Ok(watch)
    }

    /// Returns the usable addresses.
    pub fn usable(&self) -> Vec<LocalAddress> {
        self.table.usable()
    }

    /// Returns the next interface whose state changed. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The netlink socket is broken.
    pub fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Interface>> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Poll::Ready(Ok(change));
            }
            let mut ready = ready!(self.socket.poll_read_ready(cx))?;
            match receive(ready.get_inner(), &mut self.buffer) {
                Ok(()) => {
                    take(&self.buffer, &mut self.table, &mut self.changes);
                    drop(ready);
                    // Linux reports a new carrier at once and a lost one up to a second late, but a dump has
                    // the present state. A mobile that moves to a link needs to know whether it and the old
                    // one are still up.
                    if !self.changes.is_empty() {
                        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => ready.clear_ready(),
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => {
                    drop(ready);
                    self.read_all()?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Dumps all links, then all addresses. The kernel answers a dump synchronously, so nothing blocks.
    fn read_all(&mut self) -> io::Result<()> {
        self.table.begin_again();
        self.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
        self.dump(RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
        self.changes.extend(self.table.end_again());
        Ok(())
    }

    fn dump(&mut self, question: RouteNetlinkMessage) -> io::Result<()> {
        let mut request = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(question));
        request.header.flags = NLM_F_DUMP | NLM_F_REQUEST;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        let socket = self.socket.get_ref();
        socket.send_to(&bytes, &SocketAddr::new(0, 0), 0)?;
        loop {
            match receive(socket, &mut self.buffer) {
                Ok(()) => {}
                // Notifications overflowed the buffer; the dump itself is not lost.
                Err(error) if error.raw_os_error() == Some(ENOBUFS) => continue,
                Err(error) => return Err(error),
            }
            if take(&self.buffer, &mut self.table, &mut self.changes) {
                return Ok(());
            }
        }
    }
}

fn receive(socket: &Socket, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.clear();
    socket.recv(buffer, 0).map(|_| ())
}

/// Parses the messages of one answer. Returns whether a dump ended.
fn take(mut bytes: &[u8], table: &mut Table, changes: &mut VecDeque<Interface>) -> bool {
    let mut done = false;
    while !bytes.is_empty() {
        // Message kinds of newer kernels are skipped by their length.
        let Some(length) = bytes.first_chunk().map(|length| u32::from_ne_bytes(*length) as usize) else {
            break;
        };
        if let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes) {
            match &message.payload {
                NetlinkPayload::InnerMessage(message) => changes.extend(table.apply(message)),
                NetlinkPayload::Done(_) | NetlinkPayload::Error(_) => done = true,
                _ => {}
            }
        }
        // Messages begin at multiples of four (NLMSG_ALIGN).
        bytes = bytes.get(length.max(4).next_multiple_of(4)..).unwrap_or_default();
    }
    done
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_loopback_address_is_listed_from_the_start() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut watch = InterfaceWatch::new().unwrap();
            let loopback = watch.usable().into_iter().find(|address| address.loopback).unwrap();
            assert!(loopback.ip.is_loopback());
            let first = poll_fn(|cx| watch.poll_change(cx));
            let first = tokio::time::timeout(Duration::from_secs(60), first).await.unwrap().unwrap();
            assert!(!first.name.is_empty(), "{first:?}");
        });
    }
}
