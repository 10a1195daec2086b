//! A source of packets at a constant rate, as ns-2's CBR traffic.

use rand_chacha::ChaCha8Rng;

use msctp_units::{Rate, Span, Time};

use crate::packet::AddressId;
use crate::random;

/// Destination port of the source's packets: the discard service (RFC 863).
pub(crate) const PORT: u16 = 9;

/// Returns the source port of application `app`.
pub(crate) fn source_port(app: u32) -> u16 {
    40_000 + (app % 20_000) as u16
}

/// A constant-rate source of UDP packets.
#[derive(Debug)]
pub(crate) struct Cbr {
    pub(crate) source: AddressId,
    pub(crate) destination: AddressId,
    /// Bytes per packet on the wire.
    pub(crate) packet: u32,
    interval: Span,
    jitter: bool,
    random_phase: bool,
    running: bool,
    /// Number of starts and stops. Wake-ups requested before the last one are void.
    next: Time,
    phase: ChaCha8Rng,
    gaps: ChaCha8Rng,
    /// Packets sent.
    pub(crate) sent: u64,
    /// Packets that reached the destination.
    pub(crate) received: u64,
    /// Bytes on the wire that reached the destination.
    pub(crate) received_bytes: u64,
}

/// The parameters of a [`Cbr`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CbrOptions {
    pub(crate) source: AddressId,
    pub(crate) destination: AddressId,
    pub(crate) rate: Rate,
    pub(crate) packet: u32,
    pub(crate) jitter: bool,
    pub(crate) random_phase: bool,
}

impl Cbr {
    /// Creates a stopped source, which draws from the streams `app/NAME/phase` and `app/NAME/gaps`.
    pub(crate) fn new(options: CbrOptions, name: &str, seed: u64) -> Self {
        Self {
            source: options.source,
            destination: options.destination,
            packet: options.packet,
            interval: options.rate.time_for(u64::from(options.packet)),
            jitter: options.jitter,
            random_phase: options.random_phase,
            running: false,
            next: Time::ZERO,
            phase: random::stream(seed, &format!("app/{name}/phase")),
            gaps: random::stream(seed, &format!("app/{name}/gaps")),
            sent: 0,
            received: 0,
            received_bytes: 0,
        }
    }

    /// Starts the source. Returns the time of the first packet.
    pub(crate) fn start(&mut self, now: Time) -> Time {
        self.running = true;
        let wait =
            if self.random_phase { random::span_below(&mut self.phase, self.interval) } else { Span::ZERO };
        self.next = now + wait;
        self.next
    }

    /// Stops the source and voids its scheduled wake-up.
    pub(crate) fn stop(&mut self) {
        self.running = false;
    }

    /// Handles a wake-up. Returns the number of the packet that is due, if any, and the time of the next one.
    pub(crate) fn poll(&mut self, now: Time) -> Option<(u64, Time)> {
        if !self.running || now != self.next {
            return None;
        }
        // ns-2: interval · U(0.5, 1.5) when random_ is set.
        let gap = if self.jitter {
            self.interval / 2 + random::span_below(&mut self.gaps, self.interval)
        } else {
            self.interval
        };
        // A rate above what nanoseconds can tell apart still makes progress in time.
        self.next = now + gap.max(Span::from_nanos(1));
        self.sent += 1;
        Some((self.sent - 1, self.next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(jitter: bool, random_phase: bool) -> CbrOptions {
        CbrOptions {
            source: AddressId(0),
            destination: AddressId(1),
            rate: Rate::from_mbps(2),
            packet: 1000,
            jitter,
            random_phase,
        }
    }

    /// Returns the times of the packets sent until `end`.
    fn times(mut cbr: Cbr, end: Time) -> Vec<Time> {
        let mut now = cbr.start(Time::from_nanos(7));
        let mut times = Vec::new();
        while now <= end {
            let (_, next) = cbr.poll(now).expect("due");
            times.push(now);
            now = next;
        }
        times
    }

    #[test]
    fn without_jitter_packets_are_exactly_an_interval_apart() {
        // 1000 bytes at 2 Mbps: 4 ms.
        let times = times(Cbr::new(options(false, false), "c", 1), Time::from_nanos(20_000_007));
        let expected: Vec<Time> = (0..6).map(|i| Time::from_nanos(7 + i * 4_000_000)).collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn jitter_keeps_the_rate_and_stays_within_half_an_interval() {
        let times = times(Cbr::new(options(true, true), "c", 1), Time::from_nanos(40_000_000_000));
        let gaps: Vec<u64> = times.windows(2).map(|w| w[1].since(w[0]).as_nanos()).collect();
        assert!(gaps.iter().all(|g| (2_000_000..=6_000_000).contains(g)));
        let mean = gaps.iter().sum::<u64>() / gaps.len() as u64;
        // 10,000 gaps, standard deviation 4 ms/√12: the mean lies within 5 standard errors of 4 ms.
        assert!((3_942_000..4_058_000).contains(&mean), "{mean}");
        assert!(gaps.iter().min() < Some(&2_010_000) && gaps.iter().max() > Some(&5_990_000));
        assert_ne!(times[0], Time::from_nanos(7));
    }

    #[test]
    fn a_wake_up_from_before_a_restart_is_void() {
        let mut cbr = Cbr::new(options(false, false), "c", 1);
        let first = cbr.start(Time::ZERO);
        let (_, old) = cbr.poll(first).unwrap();
        cbr.stop();
        let start = cbr.start(Time::from_nanos(1_000_000));
        assert_eq!(cbr.poll(old), None);
        assert_eq!(cbr.poll(start).map(|(number, _)| number), Some(1));
    }
}
