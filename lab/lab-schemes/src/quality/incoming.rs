//! [`Incoming`]: the peer's reports, the latest for each of its addresses.

use core::net::IpAddr;

use msctp_proto::handover::LinkQuality;

use super::Report;

/// The peer's latest report about each of its links, at most one per address.
#[derive(Clone, Debug, Default)]
pub struct Incoming {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    address: IpAddr,
    number: Option<u32>,
    quality: LinkQuality,
}

impl Incoming {
    /// Stores the peer's report about `address`. Returns false if it is old: its number is not above the last
    /// one's (modulo 2^32, as RFC 1982 compares). A report without a number is never old.
    pub fn accept(&mut self, address: IpAddr, report: &Report) -> bool {
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.address == address) else {
            self.entries.push(Entry { address, number: report.number, quality: report.quality });
            return true;
        };
        if let (Some(old), Some(new)) = (entry.number, report.number)
            && new.wrapping_sub(old).cast_signed() <= 0
        {
            return false;
        }
        entry.number = report.number.or(entry.number);
        entry.quality = report.quality;
        true
    }

    /// Returns the latest report about `address`.
    pub fn latest(&self, address: &IpAddr) -> Option<LinkQuality> {
        self.entries.iter().find(|entry| entry.address == *address).map(|entry| entry.quality)
    }

    /// Keeps only the reports about addresses that the peer still has.
    pub fn retain(&mut self, is_the_peers: impl Fn(&IpAddr) -> bool) {
        self.entries.retain(|entry| is_the_peers(&entry.address));
    }

    /// Forgets everything: the peer began anew.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::Rate;

    use super::*;

    fn report(number: impl Into<Option<u32>>, kbps: u64) -> Report {
        let quality = LinkQuality { rate: Some(Rate::from_kbps(kbps)), ..LinkQuality::default() };
        Report { number: number.into(), address: None, quality }
    }

    #[test]
    fn older_ones_and_repeats_are_passed_over() {
        let (mut incoming, ip, other) =
            (Incoming::default(), IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let kbps = |incoming: &Incoming| incoming.latest(&ip).unwrap().rate.unwrap().as_bps() / 1000;
        assert!(incoming.accept(ip, &report(u32::MAX, 60)));
        assert!(!incoming.accept(ip, &report(u32::MAX, 61)));
        assert!(!incoming.accept(ip, &report(u32::MAX - 5, 62)));
        assert_eq!(kbps(&incoming), 60);
        assert!(incoming.accept(ip, &report(1, 40)), "over the wrap");
        assert!(incoming.accept(ip, &report(None, 30)));
        assert!(!incoming.accept(ip, &report(0, 50)), "the number outlives one without");
        assert_eq!(kbps(&incoming), 30);
        assert_eq!(incoming.latest(&other), None);
        assert!(incoming.accept(other, &report(0, 50)), "each address counts for itself");
        incoming.retain(|address| *address == other);
        assert_eq!(incoming.latest(&ip), None);
        incoming.clear();
        assert_eq!(incoming.latest(&other), None);
    }
}
