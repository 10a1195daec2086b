//! [`Stream`]: one SCTP stream as bytes, and its halves [`SendStream`] and [`RecvStream`].

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use msctp_proto::OutMessage;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::association::Association;
use crate::error::{AssociationError, FinishError, StreamError};
use crate::inbox::Item;

/// Maximum length in bytes of the messages into which written bytes are split.
const MESSAGE: usize = 64 << 10;

/// A stream of an association in both directions, for code that reads and writes bytes. The bounds of
/// messages are not kept.
///
/// [`split`](Self::split) lends the two directions, [`into_split`](Self::into_split) gives them to two tasks.
///
/// # The end
///
/// Each direction ends independently. [`finish`](Self::finish), or `shutdown` of [`AsyncWrite`], ends this
/// end's. Reading gives the end of file when the peer has ended its own direction, or has shut the
/// association down. The number can then be used again: drop this `Stream`, and take it anew from
/// [`Association::stream`].
///
/// Dropping a `Stream` ends nothing: written data is delivered, and [`Association::recv`] returns data that
/// arrives later. An end in progress continues.
///
/// Written data cannot be revoked, as QUIC's RESET_STREAM does: a stream reset of RFC 6525 follows the last
/// message and drops none. Send data that may be dropped as messages with a lifetime
/// ([`OutMessage::reliability`](crate::OutMessage), RFC 3758); [`Association::abort`] drops everything.
///
/// SCTP has one receive window for all streams of an association. A stream that is not read therefore stops
/// the others eventually: when 256 KiB wait here for all readers together, and the core's receive buffer
/// (`Config::receive_buffer`) is full. Read every stream that the peer may send on, drop its [`RecvStream`],
/// or shut down.
#[derive(Debug)]
pub struct Stream {
    // Dropped first: messages that nobody read go to `recv`.
    send: SendStream,
    recv: RecvStream,
}

/// The sending half of a [`Stream`], from [`Stream::into_split`]. Dropping it does not end the direction:
/// written data is delivered. The number can be used again when the other half is dropped, too.
#[derive(Debug)]
pub struct SendStream {
    claim: Arc<Claim>,
    /// True if the application has ended the direction.
    finishing: bool,
}

/// The receiving half of a [`Stream`], from [`Stream::into_split`]. If it is dropped before the other half,
/// received data of the stream is discarded until that half is dropped as well.
#[derive(Debug)]
pub struct RecvStream {
    claim: Arc<Claim>,
    /// The rest of a partially read message.
    rest: Bytes,
    /// True if the peer has ended its direction.
    ended: bool,
}

/// The right to read and write a stream of an association, which both halves share.
#[derive(Debug)]
struct Claim {
    association: Association,
    stream: u16,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.association.release_stream(self.stream);
    }
}

impl Association {
    /// Opens a stream for reading and writing bytes. Its messages then go there and not to
    /// [`recv`](Self::recv).
    ///
    /// # Errors
    ///
    /// The association has no such stream in either direction, or the stream is taken.
    pub fn stream(&self, stream: u16) -> Result<Stream, StreamError> {
        self.claim_stream(stream)?;
        Ok(Stream::new(self.clone(), stream))
    }

    /// Opens a free stream. The peer's [`accept_stream`](Self::accept_stream) returns it with the first
    /// bytes.
    ///
    /// The end that connected opens even numbers and the other end odd ones, as WebRTC data channels do, so
    /// both may open at once. Numbers are used in turn and then reused: finish a stream at both ends before
    /// dropping it.
    ///
    /// # Errors
    ///
    /// All streams of this end are taken (`Config::outbound_streams`), or the association has ended.
    pub fn open_stream(&self) -> Result<Stream, StreamError> {
        Ok(Stream::new(self.clone(), self.claim_free_stream()?))
    }

    /// Waits until the peer sends on a stream that is not taken here, and returns that stream. `None` if the
    /// peer has shut down. Consumes what [`recv`](Self::recv) would return: use one of the two.
    ///
    /// # Errors
    ///
    /// The association was lost.
    pub async fn accept_stream(&self) -> Result<Option<Stream>, AssociationError> {
        let accepted = self.claim_incoming_stream().await?;
        Ok(accepted.map(|stream| Stream::new(self.clone(), stream)))
    }
}

impl Stream {
    fn new(association: Association, stream: u16) -> Self {
        let claim = Arc::new(Claim { association, stream });
        let recv = RecvStream { claim: Arc::clone(&claim), rest: Bytes::new(), ended: false };
        Self { send: SendStream { claim, finishing: false }, recv }
    }

    /// Borrows the two directions, to write and read at once in one task.
    pub fn split(&mut self) -> (&mut SendStream, &mut RecvStream) {
        (&mut self.send, &mut self.recv)
    }

    /// Separates the two directions, for a task each.
    pub fn into_split(self) -> (SendStream, RecvStream) {
        (self.send, self.recv)
    }

    /// Ends this end's direction; see [`SendStream::finish`].
    ///
    /// # Errors
    ///
    /// As [`SendStream::finish`].
    pub async fn finish(&mut self) -> Result<(), FinishError> {
        self.send.finish().await
    }

    /// Returns the stream's number.
    pub fn number(&self) -> u16 {
        self.send.number()
    }

    /// Returns the stream's association.
    pub fn association(&self) -> &Association {
        self.send.association()
    }
}

impl SendStream {
    /// Ends this end's direction (RFC 6525 §5.1.2). Ready when the peer has acknowledged all written data and
    /// the end; its reader sees the end of file. Later writes fail; reading continues. Dropping the future
    /// does not cancel the end; call again to wait for it.
    ///
    /// # Errors
    ///
    /// The peer cannot be notified: it does not support RFC 6525 ([`FinishError::NotAgreedOn`]; everything
    /// was delivered by then), or does not want it, or the association was lost.
    pub async fn finish(&mut self) -> Result<(), FinishError> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    fn poll_finish(&mut self, cx: &Context<'_>) -> Poll<Result<(), FinishError>> {
        let Claim { association, stream } = &*self.claim;
        if !self.finishing {
            // A number whose last end is still under way: this one comes after it.
            ready!(association.poll_open(cx, *stream));
            self.finishing = true;
        }
        association.poll_finish(cx, *stream)
    }

    /// Returns the stream's number.
    pub fn number(&self) -> u16 {
        self.claim.stream
    }

    /// Returns the stream's association.
    pub fn association(&self) -> &Association {
        &self.claim.association
    }
}

impl RecvStream {
    /// Returns the stream's number.
    pub fn number(&self) -> u16 {
        self.claim.stream
    }

    /// Returns the stream's association.
    pub fn association(&self) -> &Association {
        &self.claim.association
    }
}

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // An empty part of a message is not the end.
        while self.rest.is_empty() && !self.ended {
            let Claim { association, stream } = &*self.claim;
            match ready!(association.poll_recv(cx, Some(*stream)))? {
                Some(Item::Message(message)) => self.rest = message.data,
                Some(Item::End(_)) => self.ended = true,
                // A restart is an error of `poll_recv`.
                None | Some(Item::Restarted) => return Poll::Ready(Ok(())),
            }
        }
        let len = self.rest.len().min(buf.remaining());
        buf.put_slice(&self.rest[..len]);
        self.rest.advance(len);
        Poll::Ready(Ok(()))
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        if Arc::strong_count(&self.claim) > 1 {
            self.claim.association.discard_stream(self.claim.stream);
        }
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let len = buf.len().min(MESSAGE);
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        if self.finishing {
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, "this stream was finished")));
        }
        let Claim { association, stream } = &*self.claim;
        ready!(association.poll_open(cx, *stream));
        let data = Bytes::copy_from_slice(&buf[..len]);
        let message =
            OutMessage { stream: *stream, ppid: 0, unordered: false, data, ..OutMessage::default() };
        ready!(association.poll_send(cx, &message))?;
        Poll::Ready(Ok(len))
    }

    /// Succeeds at once: written data is already in the send buffer.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Ends the direction like [`finish`](SendStream::finish).
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_finish(cx).map_err(io::Error::from)
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.recv).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.send).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.send).poll_flush(cx)
    }

    /// Ends this end's direction like [`finish`](Stream::finish).
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.send).poll_shutdown(cx)
    }
}
