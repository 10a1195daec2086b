//! [`DeliveryRate`]: the delivery rate of a path, sampled from acknowledgements (draft-ietf-ccwg-bbr §4.1).
//!
//! For controllers that model the path. Knows sendings by number, bytes and time; no packet, no TSN.

use std::collections::VecDeque;

use msctp_units::{Span, Time};

/// Maximum number of stored transmissions, equal to that of outstanding chunks. The oldest is dropped
/// unmeasured.
const MOST_REMEMBERED: usize = 1 << 16;

/// The state at the departure of a packet (P.* of the draft).
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// Number of the packet's first transmission, and their count: the numbers are consecutive.
    number: u64,
    sendings: u32,
    /// Transmissions of the packet that are neither acknowledged nor abandoned.
    pending: u32,
    sent: Time,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
    lost: u64,
    in_flight: u64,
    app_limited: bool,
}

/// Measures the delivery rate of one path from its transmissions, acknowledgements and losses.
///
/// Sizes are in bytes as congestion control counts them.
#[derive(Clone, Debug, Default)]
pub struct DeliveryRate {
    /// C.delivered, C.delivered_time
    delivered: u64,
    delivered_at: Time,
    /// C.first_send_time
    first_sent: Time,
    /// C.lost
    lost: u64,
    /// C.app_limited: `delivered` value until which samples are limited by the application; 0: not limited.
    app_limited: u64,
    departures: VecDeque<Departure>,
    lost_packets: VecDeque<LostPacket>,
    /// The latest transmission acknowledged since the last sample.
    newest: Option<Departure>,
    newly_acked: u64,
    newly_lost: u64,
}

/// A rate sample from one SACK (RS.* of the draft). Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliverySample {
    /// Time at which the SACK arrived.
    pub now: Time,
    /// Delivered over the path's life.
    pub total_delivered: u64,
    /// `total_delivered` when the latest packet that it acknowledges was sent.
    pub prior_delivered: u64,
    /// Time in which `delivered` bytes were delivered: the longer of their sending and their arrival time
    /// (§4.1.1.4).
    pub interval: Span,
    /// Bytes in flight after the latest acknowledged packet was sent, including it.
    pub tx_in_flight: u64,
    /// Bytes declared lost since that packet was sent.
    pub lost: u64,
    /// Bytes in flight after this SACK.
    pub in_flight: u64,
    /// Bytes that this SACK newly acknowledged.
    pub newly_acked: u64,
    /// Bytes declared lost since the last sample.
    pub newly_lost: u64,
    /// True if the sender limited the rate, not the path.
    pub app_limited: bool,
}

impl DeliverySample {
    /// Returns the bytes delivered between the latest packet's departure and its acknowledgement.
    pub const fn delivered(&self) -> u64 {
        self.total_delivered - self.prior_delivered
    }

    /// Returns the rate in bytes per second. Returns `None` if the interval is shorter than `min_rtt` or zero
    /// (§4.1.2.3).
    pub fn rate(&self, min_rtt: Option<Span>) -> Option<u64> {
        if self.interval.is_zero() || min_rtt.is_some_and(|least| self.interval < least) {
            return None;
        }
        let rate = u128::from(self.delivered()) * 1_000_000_000 / u128::from(self.interval.as_nanos());
        Some(u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

/// A packet declared lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPacket {
    /// Size of the packet in bytes.
    pub bytes: u64,
    /// Bytes in flight after the packet was sent, itself included.
    pub tx_in_flight: u64,
    /// Bytes declared lost since the packet was sent, itself included.
    pub lost: u64,
    /// True if the sender, not the path, limited the rate when the packet was sent.
    pub app_limited: bool,
}

impl DeliveryRate {
    /// Creates the state before the first packet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a sent packet with `sendings` transmissions, numbered from `number`. `in_flight` has the bytes
    /// before and after it.
    pub fn on_sent(&mut self, now: Time, number: u64, sendings: u32, in_flight: (u64, u64)) {
        // §4.1.2.2: after idle time the intervals begin anew
        if in_flight.0 == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        if self.departures.len() >= MOST_REMEMBERED {
            self.departures.pop_front();
        }
        self.departures.push_back(Departure {
            number,
            sendings,
            pending: sendings,
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight: in_flight.1,
            app_limited: self.app_limited != 0,
        });
    }

    /// Records that transmission `number`, of `bytes` bytes, was acknowledged; a [`sample`](Self::sample)
    /// follows.
    pub fn on_acked(&mut self, number: u64, bytes: u64) {
        self.delivered += bytes;
        self.newly_acked += bytes;
        if let Some(departure) = self.settle(number)
            && self.newest.is_none_or(|newest| newest.number <= departure.number)
        {
            self.newest = Some(departure);
        }
    }

    /// Records that transmission `number`, of `bytes` bytes, was declared lost.
    pub fn on_lost(&mut self, number: u64, bytes: u64) {
        self.lost += bytes;
        self.newly_lost += bytes;
        let Some(departure) = self.settle(number) else { return };
        if self.lost_packets.len() < MOST_REMEMBERED {
            self.lost_packets.push_back(LostPacket {
                bytes,
                tx_in_flight: departure.in_flight,
                lost: self.lost - departure.lost,
                app_limited: departure.app_limited,
            });
        }
    }

    /// Removes and returns the next lost packet, in the order of detection.
    pub fn take_lost(&mut self) -> Option<LostPacket> {
        self.lost_packets.pop_front()
    }

    /// Removes transmission `number`, which was abandoned.
    pub fn on_abandoned(&mut self, number: u64) {
        self.settle(number);
    }

    /// Marks the rate as limited by the application or the peer's receive window (§4.1.2.4). `in_flight` is
    /// the number of bytes now.
    pub fn on_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Returns the sample of the acknowledgements since the last call, if any. `in_flight` is the number of
    /// bytes after them.
    pub fn sample(&mut self, now: Time, in_flight: u64) -> Option<DeliverySample> {
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let (newly_acked, newly_lost) =
            (core::mem::take(&mut self.newly_acked), core::mem::take(&mut self.newly_lost));
        if newly_acked > 0 {
            self.delivered_at = now;
        }
        let newest = self.newest.take()?;
        self.first_sent = newest.sent;
        let sending = newest.sent.since(newest.first_sent);
        let arriving = self.delivered_at.since(newest.delivered_at);
        Some(DeliverySample {
            now,
            total_delivered: self.delivered,
            prior_delivered: newest.delivered,
            interval: sending.max(arriving),
            tx_in_flight: newest.in_flight,
            lost: self.lost - newest.lost,
            in_flight,
            newly_acked,
            newly_lost,
            app_limited: newest.app_limited,
        })
    }

    /// Settles one transmission of a departure.
    fn settle(&mut self, number: u64) -> Option<Departure> {
        let index = self.departures.partition_point(|departure| departure.number <= number).checked_sub(1)?;
        let departure = &mut self.departures[index];
        if number >= departure.number + u64::from(departure.sendings) {
            return None;
        }
        let settled = *departure;
        // A sending may be declared lost and still be acknowledged.
        departure.pending = departure.pending.saturating_sub(1);
        while self.departures.front().is_some_and(|front| front.pending == 0) {
            self.departures.pop_front();
        }
        Some(settled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Packets a millisecond apart, each acknowledged 50 ms later.
    #[test]
    fn a_steady_flow_is_measured_at_its_rate() {
        let mut path = DeliveryRate::new();
        let (mut in_flight, mut last) = (0, None);
        for t in 0..200u64 {
            if t >= 50 {
                path.on_acked(t - 50, 1000);
                in_flight -= 1000;
                last = path.sample(ms(t), in_flight);
            }
            path.on_sent(ms(t), t, 1, (in_flight, in_flight + 1000));
            in_flight += 1000;
        }
        let last = last.unwrap();
        assert_eq!(last.rate(None), Some(1_000_000));
        assert_eq!((last.interval, last.delivered()), (Span::from_millis(50), 50_000));
        assert_eq!(last.tx_in_flight, 50_000);
        assert!(!last.app_limited);
        assert_eq!(last.rate(Some(Span::from_millis(51))), None);
        assert_eq!(path.departures.len(), 50);
    }

    /// §4.1.1.4: the rate of a burst is limited by the longer of its sending and its arrival time.
    #[test]
    fn the_longer_interval_counts() {
        let mut path = DeliveryRate::new();
        // sent at once, acknowledged 10 ms apart
        for number in 0..5 {
            path.on_sent(ms(0), number, 1, (number * 1000, number * 1000 + 1000));
        }
        let mut last = None;
        for number in 0..5 {
            path.on_acked(number, 1000);
            last = path.sample(ms(100 + 10 * number), 4000 - number * 1000);
        }
        assert_eq!(last.unwrap().rate(None), Some(5000 * 1000 / 140));
        // sent 10 ms apart, acknowledged at once
        let mut path = DeliveryRate::new();
        for number in 0..5u64 {
            path.on_sent(ms(10 * number), number, 1, (number * 1000, number * 1000 + 1000));
        }
        path.on_acked(0, 1000);
        let first = path.sample(ms(100), 4000).unwrap();
        assert_eq!((first.interval, first.delivered()), (Span::from_millis(100), 1000));
        path.on_sent(ms(100), 5, 1, (4000, 5000));
        (1..6).for_each(|number| path.on_acked(number, 1000));
        let sample = path.sample(ms(200), 0).unwrap();
        assert_eq!((sample.interval, sample.delivered()), (Span::from_millis(100), 5000));
    }

    #[test]
    fn idle_time_is_no_part_of_an_interval() {
        let mut path = DeliveryRate::new();
        path.on_sent(ms(0), 0, 1, (0, 1000));
        path.on_acked(0, 1000);
        path.sample(ms(50), 0);
        path.on_sent(ms(10_000), 1, 1, (0, 1000));
        path.on_acked(1, 1000);
        let sample = path.sample(ms(10_050), 0).unwrap();
        assert_eq!((sample.interval, sample.delivered()), (Span::from_millis(50), 1000));
    }

    /// §4.1.2.4: the bytes in flight when the application ran out of data are application-limited, and so are
    /// all bytes sent until these are delivered.
    #[test]
    fn app_limited_samples_are_marked() {
        let mut path = DeliveryRate::new();
        path.on_sent(ms(0), 0, 1, (0, 1000));
        path.on_limited(1000);
        path.on_sent(ms(10), 1, 1, (1000, 2000));
        path.on_acked(0, 1000);
        assert!(!path.sample(ms(50), 1000).unwrap().app_limited, "it was sent before");
        path.on_acked(1, 1000);
        assert!(path.sample(ms(60), 0).unwrap().app_limited);
        path.on_sent(ms(60), 2, 1, (0, 1000));
        path.on_acked(2, 1000);
        assert!(!path.sample(ms(110), 0).unwrap().app_limited);
    }

    #[test]
    fn losses_are_counted_from_when_a_packet_was_sent() {
        let mut path = DeliveryRate::new();
        for number in 0..4u64 {
            path.on_sent(ms(number), number * 2, 2, (number * 2000, number * 2000 + 2000));
        }
        path.on_lost(1, 1000);
        path.on_lost(0, 1000);
        let lost = path.take_lost().unwrap();
        assert_eq!((lost.tx_in_flight, lost.lost, lost.bytes), (2000, 1000, 1000));
        assert_eq!(path.take_lost().unwrap().lost, 2000);
        assert_eq!(path.take_lost(), None);
        path.on_sent(ms(61), 8, 1, (6000, 7000));
        path.on_acked(7, 1000);
        let sample = path.sample(ms(70), 6000).unwrap();
        assert_eq!((sample.lost, sample.newly_lost, sample.tx_in_flight), (2000, 2000, 8000));
        path.on_acked(8, 1000);
        assert_eq!(path.sample(ms(111), 5000).unwrap().lost, 0, "lost before it was sent");
    }

    /// Abandoned transmissions and those reported twice are removed, and memory is bounded for a caller that
    /// never reports.
    #[test]
    fn memory_is_bounded() {
        let mut path = DeliveryRate::new();
        for number in 0..100 {
            path.on_sent(ms(0), number, 1, (0, 1000));
            match number % 3 {
                0 => path.on_abandoned(number),
                1 => path.on_lost(number, 1000),
                _ => path.on_acked(number, 1000),
            }
            path.on_acked(number, 1000);
        }
        assert!(path.departures.is_empty());
        (0..200_000).for_each(|number| path.on_sent(ms(0), number, 1, (0, 1000)));
        assert_eq!(path.departures.len(), MOST_REMEMBERED);
        path.take_lost();
        path.on_lost(5, 1000);
        assert_eq!(path.lost_packets.len(), 32, "nothing is known of it");
    }
}
