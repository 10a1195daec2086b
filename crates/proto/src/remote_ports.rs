//! [`RemotePorts`]: the UDP port of each address of one peer (RFC 6951 §5.1). Learned from packets whose
//! verification tag was checked (§5.4), which `association::encapsulation` decides.

use core::net::IpAddr;

/// The port that IANA assigned to SCTP over UDP (RFC 6951 §5.1).
pub const ENCAPSULATION_PORT: u16 = 9899;

/// The UDP ports of one association's peer, per path.
///
/// RFC 6951 §5.1 keeps one port for each destination address. This type keeps one for each path, because a
/// NAT may map each pair of addresses to another port. A pair from which no packet has arrived uses the port
/// of its remote address on another pair, then the port that the association began with.
#[derive(Clone, Debug)]
pub(crate) struct RemotePorts {
    initial: u16,
    /// Learned ports, sorted by (remote, local). There are few.
    learnt: Vec<((IpAddr, IpAddr), u16)>,
    /// Index of the entry that was learned last, since most packets repeat it.
    last: usize,
}

/// Maximum number of stored pairs, equal to that of an association's paths. A peer that keeps changing its
/// address thereby cannot fill the memory.
const MAX_PAIRS: usize = 64;

impl RemotePorts {
    /// Creates the state, which uses `initial` for every address of the peer until another port is learned.
    pub(crate) fn new(initial: u16) -> Self {
        Self { initial, learnt: Vec::new(), last: 0 }
    }

    /// Learns the port of a packet from `remote` to `local` *whose verification tag is right* (RFC 6951
    /// §5.4).
    ///
    /// `is_path` says whether the association has a path between the two. Nothing is learned for other pairs,
    /// since an attacker who has observed one packet can send from any number of addresses.
    pub(crate) fn learn(&mut self, local: IpAddr, remote: IpAddr, port: u16, is_path: bool) {
        let pair = (remote, local);
        match self.find(pair) {
            Ok(place) => (self.last, self.learnt[place].1) = (place, port),
            Err(_) if self.learnt.len() >= MAX_PAIRS || !is_path => {}
            Err(place) => {
                self.last = place;
                // Most associations have one pair.
                self.learnt.reserve_exact(1);
                self.learnt.insert(place, (pair, port));
            }
        }
    }

    /// Returns true if this port is that of the pair, which was learned last. False proves nothing.
    #[inline]
    pub(crate) fn is_last(&self, local: IpAddr, remote: IpAddr, port: u16) -> bool {
        self.learnt.get(self.last) == Some(&((remote, local), port))
    }

    /// Returns whether a packet has taught the port of this pair.
    pub(crate) fn knows(&self, local: IpAddr, remote: IpAddr) -> bool {
        self.find((remote, local)).is_ok()
    }

    fn find(&self, pair: (IpAddr, IpAddr)) -> Result<usize, usize> {
        self.learnt.binary_search_by(|(known, _)| known.cmp(&pair))
    }

    /// Returns the port to which a packet from `local` to `remote` goes.
    pub(crate) fn port(&self, local: IpAddr, remote: IpAddr) -> u16 {
        match self.find((remote, local)) {
            Ok(place) => self.learnt[place].1,
            // Any pair with this remote address is adjacent in the sorted list.
            Err(_) => {
                let first = self.learnt.partition_point(|((to, _), _)| *to < remote);
                let same_remote = self.learnt.get(first).filter(|((to, _), _)| *to == remote);
                same_remote.map_or(self.initial, |(_, port)| *port)
            }
        }
    }

    /// Returns whether the peer is known to use this port at one of its addresses, `remote`.
    pub(crate) fn has(&self, remote: IpAddr, port: u16) -> bool {
        let mut learnt = self.learnt.iter().filter(|((to, _), _)| *to == remote).peekable();
        if learnt.peek().is_none() { self.initial == port } else { learnt.any(|(_, known)| *known == port) }
    }

    /// Forgets all that was learned.
    pub(crate) fn forget_all(&mut self) {
        self.learnt.clear();
    }

    /// Removes a path that the association removed.
    pub(crate) fn forget(&mut self, local: IpAddr, remote: IpAddr) {
        if let Ok(place) = self.find((remote, local)) {
            self.learnt.remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_pair_has_its_own_port_then_its_remotes_then_the_initial_one() {
        let mut ports = RemotePorts::new(9899);
        let (wlan, cell, server) = (ip("10.1.0.2"), ip("10.2.0.2"), ip("192.0.2.1"));
        assert_eq!(ports.port(wlan, server), 9899);
        ports.learn(wlan, server, 4000, true);
        assert_eq!(ports.port(wlan, server), 4000);
        assert_eq!(ports.port(cell, server), 4000, "the same remote address on another pair");
        assert_eq!(ports.port(cell, ip("192.0.2.9")), 9899);
        ports.learn(cell, server, 5000, true);
        assert_eq!((ports.port(wlan, server), ports.port(cell, server)), (4000, 5000), "another NAT");
        ports.learn(wlan, server, 4001, true);
        assert_eq!(ports.port(wlan, server), 4001, "rebound");
        ports.forget(cell, server);
        assert_eq!(ports.port(cell, server), 4001);
    }

    #[test]
    fn forged_sources_leave_the_table_alone() {
        let (mut ports, server) = (RemotePorts::new(9899), ip("192.0.2.1"));
        ports.learn(server, ip("198.51.100.1"), 40_000, true);
        for n in 0..=255 {
            ports.learn(server, IpAddr::from([203, 0, 113, n]), 1, false);
        }
        assert_eq!(ports.learnt.len(), 1);
        let moved = ip("198.51.100.9");
        ports.learn(server, moved, 51_111, true);
        assert_eq!(ports.port(server, moved), 51_111, "the mobile moved behind another NAT");
    }

    #[test]
    fn families_do_not_mix_and_the_table_is_bounded() {
        let mut ports = RemotePorts::new(7);
        ports.learn(ip("2001:db8::2"), ip("2001:db8::1"), 8, true);
        assert_eq!(ports.port(ip("2001:db8::3"), ip("2001:db8::1")), 8);
        assert_eq!(ports.port(ip("10.0.0.2"), ip("10.0.0.1")), 7);
        for n in 0..=255 {
            ports.learn(ip("10.0.0.2"), IpAddr::from([10, 0, 1, n]), 9, true);
        }
        assert_eq!(ports.learnt.len(), MAX_PAIRS);
        ports.learn(ip("2001:db8::2"), ip("2001:db8::1"), 10, true);
        assert_eq!(ports.port(ip("2001:db8::2"), ip("2001:db8::1")), 10, "what is known can still change");
    }
}
