//! [`Watched`]: a UDP socket, and the runtime's notifications that it can receive or send.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns whether the current tokio runtime has its I/O driver. Tokio says so only by a panic, whose message
/// a runtime without the driver prints.
pub fn has_io_driver() -> bool {
    // Without a socket to ask with, binding says why.
    let Ok(socket) = std::net::UdpSocket::bind(("0.0.0.0", 0)) else { return true };
    if socket.set_nonblocking(true).is_err() {
        return true;
    }
    #[cfg(not(unix))]
    let watched = || all::Watched::new(socket).is_ok();
    #[cfg(unix)]
    let watched = || descriptor::Watched::new(socket).is_ok();
    catch_unwind(AssertUnwindSafe(watched)).unwrap_or(false)
}

#[cfg(not(unix))]
pub(crate) use all::{Udp, Watched};
#[cfg(target_os = "linux")]
pub(crate) use descriptor::watch;
#[cfg(unix)]
pub(crate) use descriptor::{Udp, Watched};

/// A socket that waits for arrivals only, and for room in the send buffer only while there is none. The
/// kernel reports the room that each sent packet frees, so waiting for it always would wake the task once
/// more per packet.
#[cfg(unix)]
mod descriptor {
    use std::io;
    use std::os::fd::AsRawFd;
    use std::sync::{Mutex, PoisonError};
    use std::task::{Context, Poll};

    use tokio::io::unix::AsyncFd;
    use tokio::io::{Interest, Ready};
    use tokio::runtime::Handle;

    pub(crate) type Udp = std::net::UdpSocket;

    #[derive(Debug)]
    pub(crate) struct Watched {
        socket: AsyncFd<Udp>,
        room: Mutex<Room>,
    }

    /// Room in the send buffer.
    #[derive(Debug)]
    enum Room {
        /// There is room, as far as is known.
        Free,
        /// The kernel refused a packet; a second descriptor of the socket waits for room.
        Awaited(AsyncFd<Udp>),
        /// The kernel refused a packet, and there is no descriptor or runtime to wait by.
        Unwatched,
    }

    impl Watched {
        pub(crate) fn new(socket: Udp) -> io::Result<Self> {
            Ok(Self { socket: watch(socket, Interest::READABLE)?, room: Mutex::new(Room::Free) })
        }

        pub(crate) fn socket(&self) -> &Udp {
            self.socket.get_ref()
        }

        pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            Ok(self.socket.ready(interest).await?.ready())
        }

        pub(crate) fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.socket.poll_read_ready(cx).map_ok(drop)
        }

        /// Calls `take` if the socket may have something. If it returns "would block", waits for more.
        pub(crate) fn try_take<R>(
            &self,
            interest: Interest,
            take: impl FnOnce() -> io::Result<R>,
        ) -> io::Result<R> {
            self.socket.try_io(interest, |_| take())
        }

        /// After a packet was refused for lack of room: waits for room. The packet was not sent.
        pub(crate) fn send_later(&self, _attempt: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
            // A socket may send its last packets after the end of its runtime.
            let watched = Handle::try_current().ok().and_then(|_| {
                let socket = self.socket().try_clone().ok()?;
                watch(socket, Interest::WRITABLE).ok()
            });
            *self.room.lock().unwrap_or_else(PoisonError::into_inner) =
                watched.map_or(Room::Unwatched, Room::Awaited);
            Err(io::ErrorKind::WouldBlock.into())
        }

        pub(crate) fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
            let result = match &*room {
                Room::Free => return Poll::Ready(Ok(())),
                Room::Awaited(watched) => watched.poll_write_ready(cx).map_ok(drop),
                Room::Unwatched => {
                    cx.waker().wake_by_ref();
                    *room = Room::Free;
                    return Poll::Pending;
                }
            };
            if result.is_ready() {
                *room = Room::Free;
            }
            result
        }
    }

    /// Registers a socket with the current runtime, without which it panics.
    pub(crate) fn watch<T: AsRawFd>(socket: T, interest: Interest) -> io::Result<AsyncFd<T>> {
        #[expect(deprecated, reason = "its successor is unsafe; a socket keeps its descriptor for life")]
        AsyncFd::with_interest(socket, interest)
    }
}

/// A socket that waits for arrivals and room.
#[cfg(not(unix))]
mod all {
    use std::io;
    use std::task::{Context, Poll};

    use tokio::io::{Interest, Ready};

    pub(crate) type Udp = tokio::net::UdpSocket;

    #[derive(Debug)]
    pub(crate) struct Watched(Udp);

    impl Watched {
        pub(crate) fn new(socket: std::net::UdpSocket) -> io::Result<Self> {
            Ok(Self(Udp::from_std(socket)?))
        }

        pub(crate) fn socket(&self) -> &Udp {
            &self.0
        }

        pub(crate) async fn ready(&self, interest: Interest) -> io::Result<Ready> {
            self.0.ready(interest).await
        }

        pub(crate) fn poll_recv_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.0.poll_recv_ready(cx)
        }

        pub(crate) fn try_take<R>(
            &self,
            interest: Interest,
            take: impl FnOnce() -> io::Result<R>,
        ) -> io::Result<R> {
            self.0.try_io(interest, take)
        }

        /// After a packet was refused for lack of room: retries it through the runtime, which waits for room.
        pub(crate) fn send_later(&self, attempt: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
            self.0.try_io(Interest::WRITABLE, attempt)
        }

        pub(crate) fn poll_send_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.0.poll_send_ready(cx)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::future::poll_fn;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::task::Poll;
    use std::time::Duration;

    use super::Watched;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.unwrap() });
    }

    /// A socket that has no room while its peer has packets to read, and the peer.
    fn pair() -> (Watched, UnixDatagram) {
        let (near, far) = UnixDatagram::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        (Watched::new(OwnedFd::from(near).into()).unwrap(), far)
    }

    fn send(watched: &Watched) -> io::Result<()> {
        let attempt = || watched.socket().send(b"packet").map(drop);
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => watched.send_later(attempt),
            result => result,
        }
    }

    async fn has_room(watched: &Watched) -> bool {
        poll_fn(|cx| Poll::Ready(watched.poll_send_ready(cx).is_ready())).await
    }

    #[test]
    fn a_socket_without_room_waits_until_the_kernel_has_some() {
        run(async {
            let (watched, peer) = pair();
            peer.set_nonblocking(true).unwrap();
            for _ in 0..2 {
                assert!(has_room(&watched).await);
                while send(&watched).is_ok() {}
                tokio::time::sleep(Duration::from_millis(20)).await;
                assert!(!has_room(&watched).await);
                let reader = peer.try_clone().unwrap();
                let read = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    while reader.recv(&mut [0; 9]).is_ok() {}
                });
                poll_fn(|cx| watched.poll_send_ready(cx)).await.unwrap();
                read.await.unwrap();
                send(&watched).unwrap();
            }
        });
    }

    #[test]
    fn a_socket_without_room_outlives_its_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (watched, peer) = runtime.block_on(async { pair() });
        drop(runtime);
        let refused = loop {
            if let Err(error) = send(&watched) {
                break error;
            }
        };
        assert_eq!(refused.kind(), io::ErrorKind::WouldBlock);
        drop(peer);
    }

    /// Returns how often this thread gave up the processor to wait.
    #[cfg(target_os = "linux")]
    fn waits() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_packet_that_leaves_the_send_buffer_does_not_wake_the_sender() {
        const PACKETS: u64 = 100;
        run(async {
            let (watched, peer) = pair();
            let read = tokio::task::spawn_blocking(move || {
                for _ in 0..PACKETS {
                    peer.recv(&mut [0; 9]).unwrap();
                }
            });
            let before = waits();
            for _ in 0..PACKETS {
                send(&watched).unwrap();
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let waits = waits() - before;
            assert!(waits <= PACKETS + PACKETS / 4, "{waits} waits for {PACKETS} packets");
            read.await.unwrap();
        });
    }
}
