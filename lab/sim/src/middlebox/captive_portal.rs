//! A captive portal: the network is up and gives an address, and nothing passes until somebody signs in (RFC
//! 8952). It answers nothing; a real one redirects HTTP, which no transport here uses.

use msctp_units::Time;

use super::{Change, Flow, Middlebox};

/// Options of a captive portal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortalOptions {
    /// True if the portal passes everything from the start, until an action closes it.
    pub open: bool,
}

/// A captive portal.
#[derive(Clone, Debug)]
pub(super) struct CaptivePortal {
    open: bool,
}

impl CaptivePortal {
    pub(super) fn new(options: PortalOptions) -> Self {
        Self { open: options.open }
    }
}

impl Middlebox for CaptivePortal {
    fn outward(&mut self, _now: Time, _flow: &mut Flow) -> bool {
        self.open
    }

    fn inward(&mut self, _now: Time, _flow: &mut Flow) -> bool {
        self.open
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Open => self.open = true,
            Change::Close => self.open = false,
            Change::Rebind => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{End, Protocol};
    use super::*;

    #[test]
    fn nothing_passes_in_either_direction_until_it_is_opened() {
        let ends = [0, 1].map(|address| End { address, port: 9899 });
        let mut flow = Flow { protocol: Protocol::Udp, source: ends[0], destination: ends[1] };
        let mut portal = CaptivePortal::new(PortalOptions::default());
        for (change, passes) in [(Change::Rebind, false), (Change::Open, true), (Change::Close, false)] {
            portal.change(change);
            assert_eq!(portal.outward(Time::ZERO, &mut flow), passes, "{change:?}");
            assert_eq!(portal.inward(Time::ZERO, &mut flow), passes, "{change:?}");
        }
        assert_eq!(flow.source, ends[0], "nothing is translated");
    }
}
