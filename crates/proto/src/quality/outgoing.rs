//! [`Outgoing`]: which of this end's links the peer is to be told about, and when. The latest report wins.

use core::net::IpAddr;

use msctp_units::{Span, Time};

use super::LinkQuality;

/// Reports to the peer, at most one waiting per local address.
///
/// A report is sent at set-up, when its content changes, and on a handover ([`again`](Self::again)); at least
/// `Config::quality_interval` lies between two about one address. Nothing acknowledges it; `Config::quality_repeats` sends it again.
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
    /// Times it is still to be sent.
    left: u32,
    /// When one was last sent about this address.
    last: Option<Time>,
}

/// A report that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Its Report Number.
    pub number: u32,
    /// Whose link it is about.
    pub address: IpAddr,
    /// What it says.
    pub quality: LinkQuality,
}

impl Outgoing {
    /// The link below `address` is like this now; to be sent `times` times. Nothing new if the peer was told so already.
    pub fn set(&mut self, address: IpAddr, quality: LinkQuality, times: u32) {
        match self.entries.iter_mut().find(|entry| entry.address == address) {
            Some(entry) if entry.quality == quality => return,
            Some(entry) => entry.quality = quality,
            None => self.entries.push(Entry { address, quality, number: 0, left: 0, last: None }),
        }
        self.again(address, times);
    }

    /// A handover to `address`: what is known of its link is told anew, as a report of its own.
    pub fn again(&mut self, address: IpAddr, times: u32) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.address == address) {
            self.number = self.number.wrapping_add(1);
            entry.number = self.number;
            entry.left = times;
        }
    }

    /// A peer that knows nothing: the association is up, or up anew.
    pub fn begin(&mut self, times: u32) {
        for entry in &mut self.entries {
            self.number = self.number.wrapping_add(1);
            entry.number = self.number;
            entry.left = times;
            entry.last = None;
        }
    }

    /// The address is no longer this end's.
    pub fn forget(&mut self, address: &IpAddr) {
        self.entries.retain(|entry| entry.address != *address);
    }

    /// When the next report is due, of those about addresses that `can_tell`.
    pub fn next_timeout(&self, interval: Span, can_tell: impl Fn(&IpAddr) -> bool) -> Option<Time> {
        let waiting = self.entries.iter().filter(|entry| entry.left > 0 && can_tell(&entry.address));
        waiting.map(|entry| entry.due(interval)).min()
    }

    /// The next report that is due, of those about addresses that `can_tell`. It counts as sent.
    pub fn poll(&mut self, now: Time, interval: Span, can_tell: impl Fn(&IpAddr) -> bool) -> Option<Sending> {
        let due =
            |entry: &&mut Entry| entry.left > 0 && entry.due(interval) <= now && can_tell(&entry.address);
        let entry = self.entries.iter_mut().find(due)?;
        entry.left -= 1;
        entry.last = Some(now);
        Some(Sending { number: entry.number, address: entry.address, quality: entry.quality })
    }
}

impl Entry {
    fn due(&self, interval: Span) -> Time {
        self.last.map_or(Time::ZERO, |last| last + interval)
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::Rate;

    use super::*;

    const INTERVAL: Span = Span::from_secs(1);

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
        let sending = out.poll(at(ms), INTERVAL, |_| true)?;
        Some((sending.number, sending.address, sending.quality.rate.unwrap().as_bps() / 1000))
    }

    #[test]
    fn the_latest_wins_and_keeps_its_distance() {
        let mut out = Outgoing::default();
        out.set(ip(1), kbps(60), 1);
        assert_eq!(poll(&mut out, 100), Some((1, ip(1), 60)));
        assert_eq!((poll(&mut out, 100), out.next_timeout(INTERVAL, |_| true)), (None, None));
        out.set(ip(1), kbps(43), 1);
        out.set(ip(1), kbps(36), 1);
        assert_eq!(poll(&mut out, 1099), None);
        assert_eq!(out.next_timeout(INTERVAL, |_| true), Some(at(1100)));
        assert_eq!(poll(&mut out, 1100), Some((3, ip(1), 36)));
        out.set(ip(1), kbps(36), 1);
        assert_eq!(poll(&mut out, 9000), None, "nothing has changed");
    }

    #[test]
    fn a_handover_and_a_new_peer_are_told_again() {
        let mut out = Outgoing::default();
        out.set(ip(1), kbps(60), 1);
        out.set(ip(2), kbps(40), 1);
        assert_eq!(poll(&mut out, 0), Some((1, ip(1), 60)));
        assert_eq!(poll(&mut out, 0), Some((2, ip(2), 40)));
        out.again(ip(2), 1);
        assert_eq!(poll(&mut out, 1000), Some((3, ip(2), 40)));
        out.again(ip(3), 1);
        assert_eq!(poll(&mut out, 9000), None, "nothing is known of it");
        out.begin(1);
        assert_eq!(poll(&mut out, 1001), Some((4, ip(1), 60)), "at once");
        out.forget(&ip(2));
        assert_eq!(poll(&mut out, 9000), None);
    }

    #[test]
    fn repeats_have_one_number_and_yield_to_news() {
        let mut out = Outgoing::default();
        out.set(ip(1), kbps(60), 3);
        assert_eq!(poll(&mut out, 0), Some((1, ip(1), 60)));
        assert_eq!(poll(&mut out, 1000), Some((1, ip(1), 60)));
        out.set(ip(1), kbps(40), 2);
        assert_eq!(poll(&mut out, 2000), Some((2, ip(1), 40)));
        assert_eq!(poll(&mut out, 3000), Some((2, ip(1), 40)));
        assert_eq!(poll(&mut out, 4000), None);
    }

    #[test]
    fn what_cannot_be_told_yet_waits_without_a_deadline() {
        let mut out = Outgoing::default();
        out.set(ip(1), kbps(60), 1);
        assert_eq!(out.poll(at(0), INTERVAL, |_| false), None);
        assert_eq!(out.next_timeout(INTERVAL, |_| false), None);
        assert_eq!(out.next_timeout(INTERVAL, |_| true), Some(Time::ZERO));
    }
}
