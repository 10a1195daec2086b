//! [`Outgoing`]: the reports to the peer about this end's links. The latest one about a link wins.

use core::net::IpAddr;

use msctp_units::{Span, Time};

use msctp_proto::handover::LinkQuality;

use super::Report;

/// The least time between two reports about the same address.
pub const INTERVAL: Span = Span::from_millis(200);

/// Reports to the peer, at most one waiting per local address.
///
/// A report is sent at set-up, when its content changes, and at a handover ([`again`](Self::again)), at least
/// [`INTERVAL`] after the one before about the same address. Nothing acknowledges it.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    entries: Vec<Entry>,
    /// The last Report Number given.
    number: u32,
}

#[derive(Clone, Debug)]
struct Entry {
    address: IpAddr,
    quality: LinkQuality,
    number: u32,
    /// Not sent yet.
    waits: bool,
    /// Time of the last report about this address.
    last: Option<Time>,
}

impl Outgoing {
    /// Records the quality of the link below `address`. Queues a report if it changed.
    pub fn set(&mut self, address: IpAddr, quality: LinkQuality) {
        match self.entries.iter_mut().find(|entry| entry.address == address) {
            Some(entry) if entry.quality == quality => return,
            Some(entry) => entry.quality = quality,
            None => self.entries.push(Entry { address, quality, number: 0, waits: false, last: None }),
        }
        self.again(address);
    }

    /// Queues a new report about `address` after a handover to it.
    pub fn again(&mut self, address: IpAddr) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.address == address) {
            self.number = self.number.wrapping_add(1);
            entry.number = self.number;
            entry.waits = true;
        }
    }

    /// Queues all reports, because the association was set up or restarted.
    pub fn begin(&mut self) {
        for entry in &mut self.entries {
            self.number = self.number.wrapping_add(1);
            entry.number = self.number;
            entry.waits = true;
            entry.last = None;
        }
    }

    /// Discards an address that this end removed.
    pub fn forget(&mut self, address: &IpAddr) {
        self.entries.retain(|entry| entry.address != *address);
    }

    /// Returns when the next report is due, of those about addresses that `can_tell`.
    pub fn next_timeout(&self, can_tell: impl Fn(&IpAddr) -> bool) -> Option<Time> {
        let waiting = self.entries.iter().filter(|entry| entry.waits && can_tell(&entry.address));
        waiting.map(Entry::due).min()
    }

    /// Returns the next report that is due, of those about addresses that `can_tell`. It counts as sent.
    pub fn poll(&mut self, now: Time, can_tell: impl Fn(&IpAddr) -> bool) -> Option<Report> {
        let due = |entry: &&mut Entry| entry.waits && entry.due() <= now && can_tell(&entry.address);
        let entry = self.entries.iter_mut().find(due)?;
        entry.waits = false;
        entry.last = Some(now);
        Some(Report { number: Some(entry.number), address: Some(entry.address), quality: entry.quality })
    }
}

impl Entry {
    fn due(&self) -> Time {
        self.last.map_or(Time::ZERO, |last| last + INTERVAL)
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::Rate;

    use super::*;

    fn ip(host: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, host])
    }

    fn kbps(rate: u64) -> LinkQuality {
        LinkQuality { rate: Some(Rate::from_kbps(rate)), ..LinkQuality::default() }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn poll(out: &mut Outgoing, ms: u64) -> Option<(u32, IpAddr, u64)> {
        let sending = out.poll(at(ms), |_| true)?;
        Some((sending.number?, sending.address?, sending.quality.rate.unwrap().as_bps() / 1000))
    }

    #[test]
    fn the_latest_wins_and_keeps_its_distance() {
        let mut out = Outgoing::default();
        out.set(ip(1), kbps(60));
        assert_eq!(poll(&mut out, 100), Some((1, ip(1), 60)));
        assert_eq!((poll(&mut out, 100), out.next_timeout(|_| true)), (None, None));
        out.set(ip(1), kbps(43));
        out.set(ip(1), kbps(36));
        assert_eq!(poll(&mut out, 299), None);
        assert_eq!(out.next_timeout(|_| true), Some(at(300)));
        assert_eq!(poll(&mut out, 300), Some((3, ip(1), 36)));
        out.set(ip(1), kbps(36));
        assert_eq!(poll(&mut out, 9000), None, "nothing has changed");
    }

    #[test]
    fn a_handover_and_a_new_peer_repeat_the_report() {
        let mut out = Outgoing::default();
        out.set(ip(1), kbps(60));
        out.set(ip(2), kbps(40));
        assert_eq!(poll(&mut out, 0), Some((1, ip(1), 60)));
        assert_eq!(poll(&mut out, 0), Some((2, ip(2), 40)));
        out.again(ip(2));
        assert_eq!(poll(&mut out, 1000), Some((3, ip(2), 40)));
        out.again(ip(3));
        assert_eq!(poll(&mut out, 9000), None, "nothing is known of it");
        out.begin();
        assert_eq!(poll(&mut out, 1001), Some((4, ip(1), 60)), "at once");
        out.forget(&ip(2));
        assert_eq!(poll(&mut out, 9000), None);
    }

    #[test]
    fn a_report_that_cannot_be_sent_yet_waits_without_a_deadline() {
        let mut out = Outgoing::default();
        out.set(ip(1), kbps(60));
        assert_eq!(out.poll(at(0), |_| false), None);
        assert_eq!(out.next_timeout(|_| false), None);
        assert_eq!(out.next_timeout(|_| true), Some(Time::ZERO));
    }
}
