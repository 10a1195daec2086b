//! Sent, received and failed messages. Every message is identified by its payload protocol identifier, which
//! the protocol does not interpret.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use msctp_proto::PartialAbort;
use msctp_proto::{Message, OutMessage, Reliability, SendFailure};

/// Returns the payload of the message `id`, in which each byte depends on the message and its place.
pub(crate) fn payload(id: u32, len: usize) -> Bytes {
    let mut word = id.wrapping_mul(0x9e37_79b1) | 1;
    let byte = |_| {
        word ^= word << 13;
        word ^= word >> 17;
        word ^= word << 5;
        word as u8
    };
    (0..len).map(byte).collect::<Vec<u8>>().into()
}

struct Sent {
    stream: u16,
    unordered: bool,
    len: usize,
    /// The association that sent the message.
    epoch: u32,
    /// Place of the message among the ordered messages of its stream.
    place: u64,
    /// True if `send` accepted the message.
    accepted: bool,
    delivered: bool,
    /// Report of the failed message; true if it was never sent.
    failed: Option<bool>,
    /// The message may be abandoned.
    partial: bool,
    /// True if the application that had to read the message, or to receive its report, restarted.
    excused: bool,
}

/// All messages of one end.
#[derive(Default)]
pub(crate) struct Outbox {
    sent: Vec<Sent>,
    /// Number of associations so far. A restart begins another.
    epoch: u32,
    /// Number of ordered messages accepted in this epoch, per stream.
    places: BTreeMap<u16, u64>,
    /// The same messages, by epoch, stream and place.
    by_place: BTreeMap<(u32, u16, u64), u32>,
    /// True if stream numbers restarted or were skipped, so that they no longer give the place.
    renumbered: bool,
}

impl Outbox {
    pub(crate) fn compose(
        &mut self,
        stream: u16,
        len: usize,
        unordered: bool,
        reliability: Reliability,
    ) -> OutMessage {
        let partial = reliability != Reliability::Full;
        self.renumbered |= partial;
        let id = self.sent.len() as u32;
        self.sent.push(Sent {
            stream,
            unordered,
            len,
            epoch: 0,
            place: 0,
            accepted: false,
            delivered: false,
            failed: None,
            partial,
            excused: false,
        });
        OutMessage {
            stream,
            ppid: id,
            unordered,
            data: payload(id, len),
            context: u64::from(id),
            reliability,
            redundant: id.is_multiple_of(5),
            ..OutMessage::default()
        }
    }

    /// Records that `send` accepted the message.
    pub(crate) fn accept(&mut self, id: u32) {
        let sent = &mut self.sent[id as usize];
        sent.accepted = true;
        sent.epoch = self.epoch;
        if !sent.unordered {
            let place = self.places.entry(sent.stream).or_default();
            sent.place = *place;
            self.by_place.insert((self.epoch, sent.stream, *place), id);
            *place += 1;
        }
    }

    /// Records the reset of a stream of this end.
    pub(crate) fn renumber(&mut self) {
        self.renumbered = true;
    }

    /// Returns the streams with ordered messages since the association began.
    pub(crate) fn streams(&self) -> Vec<u16> {
        self.places.keys().copied().collect()
    }

    /// Records a restart of the association.
    pub(crate) fn begin_epoch(&mut self) {
        self.epoch += 1;
        self.places.clear();
    }

    /// Records the restart of an application, after which messages that have not arrived may be lost without
    /// a report.
    pub(crate) fn excuse(&mut self) {
        self.sent.iter_mut().filter(|sent| sent.accepted).for_each(|sent| sent.excused = true);
    }

    /// Records `Event::SendFailed`.
    pub(crate) fn fail(&mut self, failure: &SendFailure) {
        let message = &failure.message;
        // It has no stream sequence number.
        self.renumbered |= failure.unsent;
        let sent = &mut self.sent[message.context as usize];
        assert!(sent.accepted, "message {} failed that was never accepted", message.context);
        assert!(sent.failed.is_none(), "message {} failed twice", message.context);
        // RFC 3758 §3.4: only messages with limited reliability may be abandoned.
        assert!(
            sent.partial || !failure.abandoned,
            "message {} was abandoned, and is reliable",
            message.context
        );
        let same = (u64::from(message.ppid), message.stream, message.unordered)
            == (message.context, sent.stream, sent.unordered);
        assert!(same, "the failed message is not the one that was sent: {message:?}");
        let whole = message.data == payload(message.ppid, sent.len);
        assert!(message.data.is_empty() && !failure.unsent || whole, "failed message changed: {message:?}");
        assert!(
            !(failure.unsent && sent.delivered),
            "message {} was delivered and then reported as never sent",
            message.context
        );
        sent.failed = Some(failure.unsent);
    }

    /// Returns the accepted messages that were neither received nor reported.
    pub(crate) fn missing(&self) -> Vec<usize> {
        self.find(|sent| sent.accepted && !sent.delivered && sent.failed.is_none() && !sent.excused)
    }

    /// Returns the messages reported as failed.
    pub(crate) fn failed(&self) -> Vec<usize> {
        self.find(|sent| sent.failed.is_some())
    }

    fn find(&self, wanted: impl Fn(&Sent) -> bool) -> Vec<usize> {
        self.sent.iter().enumerate().filter(|(_, sent)| wanted(sent)).map(|(id, _)| id).collect()
    }

    /// Returns true if every message reported as failed was for a stream from `streams` on, or may be
    /// abandoned.
    pub(crate) fn failed_only_from_stream(&self, streams: u16) -> bool {
        self.sent.iter().all(|sent| sent.failed.is_none() || sent.partial || sent.stream >= streams)
    }

    pub(crate) fn delivered(&self) -> usize {
        self.sent.iter().filter(|sent| sent.delivered).count()
    }
}

/// Key of a part: stream, unordered, stream sequence number (0 if it has no meaning).
type PartKey = (u16, bool, u16);

fn part_key(stream: u16, unordered: bool, ssn: u16) -> PartKey {
    (stream, unordered, if unordered { 0 } else { ssn })
}

/// The messages that one association delivered to its application.
#[derive(Default)]
pub(crate) struct Inbox {
    seen: BTreeSet<u32>,
    /// Received parts of messages larger than the receive buffer, which are delivered in parts.
    parts: BTreeMap<u32, (PartKey, Vec<u8>)>,
    /// Aborted partial deliveries.
    aborts: Vec<PartKey>,
    /// Number of ordered messages read per epoch and stream.
    places: BTreeMap<(u32, u16), u64>,
    /// User bytes read.
    pub(crate) bytes: u64,
}

impl Inbox {
    /// Checks a message read against the one that `from` sent.
    pub(crate) fn take(&mut self, message: &Message, from: &mut Outbox) {
        let id = message.ppid;
        self.bytes += message.data.len() as u64;
        let key = part_key(message.stream, message.unordered, message.ssn);
        let (_, part) = self.parts.entry(id).or_insert_with(|| (key, Vec::new()));
        assert_eq!(message.begin, part.is_empty(), "message {id}: a part that does not fit the one before");
        part.extend_from_slice(&message.data);
        if !message.end {
            return;
        }
        let data = self.parts.remove(&id).map(|(_, data)| data).unwrap_or_default();
        let Some(sent) = from.sent.get(id as usize) else { panic!("message {id} was never sent") };
        assert!(sent.accepted, "message {id} arrived though it was refused");
        assert!(self.seen.insert(id), "message {id} was delivered twice");
        let same = (message.stream, message.unordered, data.len()) == (sent.stream, sent.unordered, sent.len);
        assert!(same, "message {id} changed: stream, order or length");
        assert!(data == payload(id, sent.len), "message {id}: content changed");
        assert!(sent.failed != Some(true), "message {id} arrived after it was reported as never sent");
        if !sent.unordered {
            let place = self.places.entry((sent.epoch, sent.stream)).or_default();
            assert!(*place <= sent.place, "stream {}: message {id} out of order", sent.stream);
            let at = |place| (sent.epoch, sent.stream, place);
            // A reliable message that was not rejected at connect time is not overtaken.
            for (_, &skipped) in from.by_place.range(at(*place)..at(sent.place)) {
                let other = &from.sent[skipped as usize];
                assert!(
                    other.partial || other.failed == Some(true) || other.delivered,
                    "stream {}: message {id} came before {skipped}",
                    sent.stream
                );
            }
            *place = sent.place + 1;
            let number = sent.place & 0xffff;
            assert!(
                from.renumbered || u64::from(message.ssn) == number,
                "message {id}: stream sequence number {}",
                message.ssn
            );
        }
        from.sent[id as usize].delivered = true;
    }

    /// Records that a reader of this stream left. It may have held an earlier use of the stream than the
    /// messages that were read meanwhile.
    pub(crate) fn rejoin(&mut self, stream: u16) {
        self.places.retain(|(_, of), _| *of != stream);
    }

    /// Records `Event::PartialDeliveryAborted`; earlier parts can still be unread.
    pub(crate) fn abort(&mut self, abort: &PartialAbort) {
        self.aborts.push(part_key(abort.stream, abort.unordered, abort.ssn));
    }

    /// Checks after reading everything that each incomplete message was reported and may be abandoned.
    pub(crate) fn check_parts(&self, from: &Outbox) {
        let mut open: Vec<PartKey> = self.parts.values().map(|(key, _)| *key).collect();
        let mut aborts = self.aborts.clone();
        open.sort_unstable();
        aborts.sort_unstable();
        assert_eq!(open, aborts, "messages that came in part, and those reported so");
        for &id in self.parts.keys() {
            assert!(from.sent[id as usize].partial, "message {id} came in part and is reliable");
        }
    }
}
