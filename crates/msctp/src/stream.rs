//! [`Stream`]: one SCTP stream as bytes, and its halves [`SendStream`] and [`RecvStream`].

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use msctp_proto::OutMessage;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::association::Association;
use crate::budget::within_budget;
use crate::error::{AssociationError, FinishError, SendError, StreamError, StreamReset};
use crate::stream_calls::{Read, WriteError};

/// Maximum length in bytes of the messages into which written bytes are split.
const MESSAGE: usize = 64 << 10;

/// A stream of an association in both directions, for code that reads and writes bytes. The bounds of
/// messages are not kept.
///
/// [`split`](Self::split) lends the two directions, [`into_split`](Self::into_split) gives them to two tasks.
///
/// # The end
///
/// Each direction ends by itself (RFC 6525):
///
/// - [`finish`](SendStream::finish), `shutdown` of [`AsyncWrite`], or dropping the [`SendStream`]: the peer
///   reads everything that was written, and then the end of file. The calls wait until it is acknowledged,
///   dropping does not.
/// - [`reset`](SendStream::reset): what is not sent is dropped, and the peer reads an error with the code.
/// - [`stop`](RecvStream::stop), or dropping the [`RecvStream`] before the end: what arrives is discarded,
///   and the peer's writes fail.
///
/// [`leave_open`](Self::leave_open) ends nothing. The end of the association ends every stream.
///
/// A number is used again when both directions have ended and their ends were acknowledged. What arrives late
/// is discarded and never reaches the next user of the number, however the handles were dropped, also by a
/// future that was abandoned.
///
/// # Flow control
///
/// Under protection, between two ends of this crate, a stream that is not read stops only its own writer,
/// after at most a thirty-second of the receive buffer (`Config::receive_buffer`) if nobody has read from it,
/// or after all of it. The others go on ([`Agreed::stream_credit`](crate::Agreed)).
///
/// In clear, and with other stacks, SCTP has one receive window for all streams. A stream that is not read
/// then stops the others when the receive buffer is full of it, which
/// [`Event::ReceiveBufferFull`](crate::Event::ReceiveBufferFull) reports. Read every stream that the peer may
/// send on, or drop its [`RecvStream`].
#[derive(Debug)]
pub struct Stream {
    // Dropped first: the peer must be asked for its end before it learns of ours.
    recv: RecvStream,
    send: SendStream,
}

/// The sending half of a [`Stream`], from [`Stream::into_split`]. Dropping it ends the direction as
/// [`finish`](Self::finish) does, without waiting; while its task panics, as [`reset`](Self::reset) does,
/// with code 0.
#[derive(Debug)]
pub struct SendStream {
    claim: Arc<Claim>,
}

/// The receiving half of a [`Stream`], from [`Stream::into_split`]. Dropping it before the end of file is
/// [`stop`](Self::stop) without a code.
#[derive(Debug)]
pub struct RecvStream {
    claim: Arc<Claim>,
    /// The rest of a partially read message.
    rest: Bytes,
    /// How the peer has ended its direction.
    ended: Option<Result<(), StreamReset>>,
}

/// The right to read and write a stream of an association, which both halves share.
#[derive(Debug)]
struct Claim {
    association: Association,
    stream: u16,
    /// The stream is left as it is.
    left: AtomicBool,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.left.load(Ordering::Relaxed) {
            self.association.drop_stream(self.stream);
        }
    }
}

impl Association {
    /// Takes the stream of this number for reading and writing bytes. Its messages then go there and not to
    /// [`recv`](Self::recv). For streams that both ends know by their numbers; a request has
    /// [`open_stream`](Self::open_stream).
    ///
    /// # Errors
    ///
    /// The association has no such stream in either direction, or the stream is taken, or its last use has
    /// not ended.
    pub fn stream(&self, stream: u16) -> Result<Stream, StreamError> {
        self.claim_stream(stream)?;
        Ok(Stream::new(self.clone(), stream))
    }

    /// Opens a free stream; waits while there is none, first come, first served. The peer's
    /// [`accept_stream`](Self::accept_stream) returns it with the first bytes, or with its end.
    ///
    /// The end that connected opens even numbers and the other end odd ones, as WebRTC data channels do, so
    /// both may open at once. Numbers are used in turn. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The association has ended.
    pub async fn open_stream(&self) -> Result<Stream, StreamError> {
        Ok(Stream::new(self.clone(), self.claim_next_free_stream().await?))
    }

    /// Opens a free stream as [`open_stream`](Self::open_stream) does, without waiting.
    ///
    /// # Errors
    ///
    /// All streams of this end are taken (`Config::outbound_streams`), or others wait for one, or the
    /// association has ended.
    pub fn try_open_stream(&self) -> Result<Stream, StreamError> {
        let stream = self.claim_free_stream()?.ok_or_else(|| StreamError::NoneFree(self.pairs()))?;
        Ok(Stream::new(self.clone(), stream))
    }

    /// Returns the number of streams in both directions.
    fn pairs(&self) -> u16 {
        let (outbound, inbound) = self.streams();
        outbound.min(inbound)
    }

    /// Waits until the peer opens a stream, by sending on one of its numbers or ending it, and returns that
    /// stream. `None` if the peer has shut down. Takes what [`recv`](Self::recv) would return: use one of the
    /// two. Cancel-safe.
    ///
    /// After a restart of the peer it returns the streams of the new one
    /// ([`restarts`](Association::restarts)); reads and writes of earlier ones fail.
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
        let claim = Arc::new(Claim { association, stream, left: AtomicBool::new(false) });
        let recv = RecvStream { claim: Arc::clone(&claim), rest: Bytes::new(), ended: None };
        Self { recv, send: SendStream { claim } }
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

    /// Gives the stream up without ending it: what was written is delivered, and
    /// [`Association::recv`] returns what was not read and what arrives later. For numbers that both ends use
    /// for as long as the association lasts. The rest of a message that was read in part is lost.
    pub fn leave_open(self) {
        let Claim { association, stream, left } = &*self.send.claim;
        left.store(true, Ordering::Relaxed);
        association.leave_stream(*stream);
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
    /// was delivered by then), or does not want it; it stopped reading; or the association was lost.
    pub async fn finish(&mut self) -> Result<(), FinishError> {
        poll_fn(|cx| self.poll_finish(cx)).await
    }

    fn poll_finish(&mut self, cx: &Context<'_>) -> Poll<Result<(), FinishError>> {
        self.claim.association.poll_finish(cx, self.claim.stream)
    }

    /// Waits for the end of this end's direction without requesting it: an answer that takes long to make
    /// need not be made for a peer that no longer wants it. Cancel-safe.
    ///
    /// # Errors
    ///
    /// [`FinishError::Stopped`] as soon as the peer has stopped reading; otherwise as
    /// [`finish`](Self::finish), which another task has called.
    pub async fn stopped(&self) -> Result<(), FinishError> {
        poll_fn(|cx| self.claim.association.poll_stopped(cx, self.claim.stream)).await
    }

    /// Gives this end's direction up: messages that were not sent are dropped, and the peer's reader gets
    /// [`StreamReset`] with this code behind what was sent. Does nothing after [`finish`](Self::finish) was
    /// acknowledged. A peer that is not msctp reads an end of file.
    pub fn reset(self, code: u32) {
        self.claim.association.reset_stream(self.claim.stream, code);
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
    /// Does not want the rest: what arrives is discarded, and the peer's writes fail with
    /// [`FinishError::Stopped`] and this code (RFC 6525 §5.1.3). Does nothing after the end of file.
    pub fn stop(self, code: u32) {
        self.end(Some(code));
    }

    fn end(&self, code: Option<u32>) {
        self.claim.association.stop_stream(self.claim.stream, code);
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

impl AsyncRead for RecvStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // An empty part of a message is not the end.
        while self.rest.is_empty() {
            if let Some(ended) = self.ended {
                return Poll::Ready(ended.map_err(io::Error::from));
            }
            let Claim { association, stream, .. } = &*self.claim;
            match ready!(within_budget(cx, |cx| association.poll_read_stream(cx, *stream)))? {
                Read::Data(data) => self.rest = data,
                Read::End(end) => {
                    self.ended = Some(end.code.map_or(Ok(()), |code| Err(StreamReset { code })));
                }
                Read::Over => return Poll::Ready(Ok(())),
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
        if !self.claim.left.load(Ordering::Relaxed) {
            self.end(None);
        }
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        let Claim { association, stream, left } = &*self.claim;
        if left.load(Ordering::Relaxed) {
            return;
        }
        if std::thread::panicking() {
            // The peer must not take what was written for the whole.
            association.reset_stream(*stream, 0);
        } else {
            association.end_stream(*stream);
        }
    }
}

impl AsyncWrite for SendStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let len = buf.len().min(MESSAGE);
        if len == 0 {
            return Poll::Ready(Ok(0));
        }
        let Claim { association, stream, .. } = &*self.claim;
        let message = |len| {
            let data = Bytes::copy_from_slice(&buf[..len]);
            OutMessage { stream: *stream, ppid: 0, unordered: false, data, ..OutMessage::default() }
        };
        let mut write =
            |len| within_budget(cx, |cx| association.poll_write_stream(cx, &message(len))).map_ok(|()| len);
        let mut written = ready!(write(len));
        if let Err(WriteError::Send(SendError::TooLarge { max: max @ 1.., .. })) = written {
            // The send buffer is smaller (`Config::send_buffer`).
            written = ready!(write(max));
        }
        Poll::Ready(match written {
            Ok(len) => Ok(len),
            Err(WriteError::Send(error)) => Err(error.into()),
            Err(WriteError::Ended(error)) => Err(error.into()),
            Err(WriteError::Finished) => {
                Err(io::Error::new(io::ErrorKind::BrokenPipe, "this stream was finished"))
            }
        })
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
