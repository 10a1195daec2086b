//! The sources of messages at one end of an association.

use bytes::Bytes;

use msctp_proto::OutMessage;
use msctp_units::Time;

use super::bulk::Bulk;
use super::video::Video;
use crate::scenario::Sending;

/// A source of messages.
#[derive(Debug)]
pub(crate) enum Source {
    Bulk(Bulk),
    Video(Box<Video>),
}

impl Source {
    /// Starts or stops the source. A video's first message is due at [`due`](Self::due).
    pub(crate) fn set_running(&mut self, now: Time, start: bool) {
        match self {
            Self::Bulk(bulk) => bulk.set_running(start),
            Self::Video(video) if start => {
                video.start(now);
            }
            Self::Video(video) => video.stop(now),
        }
    }

    /// Returns when the next message is generated; `None`: never.
    pub(crate) fn due(&self) -> Option<Time> {
        match self {
            Self::Bulk(_) => None,
            Self::Video(video) => video.due(),
        }
    }

    /// Generates the message of `due`.
    pub(crate) fn generate(&mut self, due: Time) {
        if let Self::Video(video) = self {
            video.poll(due);
        }
    }

    /// Returns the next message to offer, if there is one. Its payload protocol identifier is `app`, the
    /// number of the application, which identifies the source at the other end.
    #[inline]
    pub(crate) fn next(&self, app: u32) -> Option<OutMessage> {
        let message = |data: Bytes, sending: Sending| OutMessage {
            stream: sending.stream,
            ppid: app,
            unordered: sending.unordered,
            data,
            context: 0,
            reliability: sending.reliability,
            ..OutMessage::default()
        };
        match self {
            Self::Bulk(bulk) => Some(message(bulk.next()?, bulk.sending)),
            Self::Video(video) => Some(message(video.next()?, video.sending)),
        }
    }

    /// Returns true if there is a next message.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.has_more(),
            Self::Video(video) => video.has_more(),
        }
    }

    /// Records that the association accepted the offered message of `len` bytes.
    #[inline]
    pub(crate) fn accepted(&mut self, len: usize) {
        match self {
            Self::Bulk(bulk) => bulk.accepted(len),
            Self::Video(video) => video.accepted(),
        }
    }

    /// Records the delivery of a message of `len` bytes that begin with `head`. Returns true if all messages
    /// are now delivered.
    #[inline]
    pub(crate) fn was_delivered(&mut self, now: Time, head: &[u8], len: usize) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.was_delivered(now, len),
            Self::Video(video) => {
                video.was_delivered(now, head);
                false
            }
        }
    }

    /// Returns the time at which all messages had been delivered.
    pub(crate) fn completed(&self) -> Option<Time> {
        match self {
            Self::Bulk(bulk) => bulk.completed,
            Self::Video(video) => video.completed,
        }
    }

    /// Returns true if the source has nothing to send now and all that it sent was delivered.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Bulk(bulk) => bulk.is_done(),
            Self::Video(video) => video.is_done(),
        }
    }
}
