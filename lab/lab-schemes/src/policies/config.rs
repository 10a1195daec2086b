//! [`PolicyConfig`]: the options of the policies. The defaults follow RFC 9260; the papers' choices are
//! options.

use core::net::IpAddr;

use msctp_congestion::{InitialWindow, StartState};
use msctp_proto::handover::PathView;
use msctp_schemes::Anticipate;
use msctp_units::{Rate, Span};

use super::BdpDelay;
use crate::wbest::{InvalidWBest, WBestConfig};

/// Options of every policy. A policy ignores the options that do not concern it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyConfig {
    /// The window with which a path starts that gets "an initial window" at the switch.
    ///
    /// `None`, the default: conservative leaves the new path's window alone (RFC 9260 keeps windows per path,
    /// §7.1, so a path never used has its initial window anyhow), adaptive without an estimate takes RFC
    /// 9260's. Kim & Koh's comparison: `Packets(1)`.
    pub initial_window: Option<InitialWindow>,
    /// The new path's slow-start threshold.
    pub ssthresh: SwitchSsthresh,
    /// Spread the window with which the new path starts over one of its round trips, if one was measured,
    /// instead of sending it at once. False. Concerns the policies that give the path a window.
    pub pace_start: bool,
    /// inherit: send data in copy on both paths while both exist (C-SCTP). Kim & Koh leave it out: false.
    pub bicast: bool,
    /// Parameters of the estimator, for the policies and options that need it.
    pub wbest: WBestConfig,
    /// Other parameters for certain paths: the first rule that matches a path wins. Kim & Koh have other
    /// pairs and trains towards WLAN than towards 3G, and the link's own capacity as B(0).
    pub probe_rules: Vec<ProbeRule>,
    /// Switch to an active path on another local address when the link below the primary path's local address
    /// is reported down. True.
    pub switch_on_link_down: bool,
    /// qos-measurement: the delay by which the reported rate gives the window of a new cell.
    pub qos_delay: BdpDelay,
    /// anticipate: [`Anticipate::probe_budget`](msctp_schemes::Anticipate). One million.
    pub probe_budget: u64,
    /// oracle, clairvoyant: the true rate and round trip of certain paths. The first entry that matches a
    /// path counts. Empty.
    pub truths: Vec<Truth>,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self {
            initial_window: None,
            ssthresh: SwitchSsthresh::Controller,
            pace_start: false,
            bicast: false,
            wbest: WBestConfig::default(),
            probe_rules: Vec::new(),
            switch_on_link_down: true,
            qos_delay: BdpDelay::default(),
            probe_budget: Anticipate::default().probe_budget,
            truths: Vec::new(),
        }
    }
}

/// Estimator parameters for the paths of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRule {
    /// The local or remote address.
    pub address: IpAddr,
    /// The parameters.
    pub wbest: WBestConfig,
}

/// The true rate and round trip of the paths of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The local or remote address.
    pub address: IpAddr,
    /// Available bandwidth of the path: its rate less the other traffic's.
    pub available: Rate,
    /// The round-trip time without queues.
    pub rtt: Span,
}

/// The slow-start threshold of a path that becomes primary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SwitchSsthresh {
    /// The controller's value for any new path: arbitrarily high (RFC 9260 §7.2.1).
    #[default]
    Controller,
    /// B·RTT_min / 2 (Kim & Koh §3.3, there in packets: B·RTT_min / 2L). Every policy then probes new paths.
    /// It has no floor: on a loaded path it can be below the 4·PMDCS that RFC 9260 §7.2.3 sets after a loss,
    /// even 0, and the path then starts in congestion avoidance. Without an estimate as
    /// [`Controller`](Self::Controller).
    EstimatedHalfBdp,
    /// This many bytes.
    Bytes(u64),
}

impl PolicyConfig {
    /// Checks the estimator's parameters.
    ///
    /// # Errors
    /// [`InvalidWBest`] for the first field that is out of range.
    pub fn validate(&self) -> Result<(), InvalidWBest> {
        self.wbest.validate()?;
        self.probe_rules.iter().try_for_each(|rule| rule.wbest.validate())
    }

    /// Returns the estimator's parameters on `path`.
    pub(super) fn wbest_for(&self, path: &PathView) -> WBestConfig {
        let matching = |rule: &&ProbeRule| rule.address == path.local || rule.address == path.remote;
        self.probe_rules.iter().find(matching).map_or(self.wbest, |rule| rule.wbest)
    }

    /// Returns the truth about `path`, if one was given.
    pub(super) fn truth(&self, path: &PathView) -> Option<&Truth> {
        self.truths.iter().find(|truth| truth.address == path.local || truth.address == path.remote)
    }

    /// Returns the start state of `path` with `cwnd` bytes and the threshold of these options.
    pub(super) fn start(&self, cwnd: u64, path: &PathView) -> StartState {
        let ssthresh = match self.ssthresh {
            SwitchSsthresh::Controller => None,
            SwitchSsthresh::Bytes(bytes) => Some(bytes),
            SwitchSsthresh::EstimatedHalfBdp => {
                path.estimate.map(|estimate| estimate.available.bytes_in(estimate.rtt_min) / 2)
            }
        };
        let pacing_rate =
            path.srtt.filter(|_| self.pace_start).and_then(|rtt| rate_of_window(cwnd, rtt, path));
        StartState { cwnd, ssthresh, pacing_rate }
    }
}

/// Returns the rate on the IP wire at which a window of `cwnd` bytes, in full packets, takes one round trip
/// to send; `None` if there is no such rate.
fn rate_of_window(cwnd: u64, rtt: Span, path: &PathView) -> Option<Rate> {
    Rate::of(path.wire_bytes(cwnd), rtt).filter(|rate| !rate.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::testing::{estimate, path};

    /// Kim & Koh §3.3: B·RTT_min / 2. 6.6 Mbps · 70 ms / 8 / 2 = 28,875 bytes.
    #[test]
    fn the_three_threshold_rules() {
        let new = PathView { estimate: Some(estimate(11_000, 6_600, 70)), ..path(1) };
        let rule = |ssthresh| PolicyConfig { ssthresh, ..PolicyConfig::default() };
        assert_eq!(rule(SwitchSsthresh::Controller).start(3000, &new).ssthresh, None);
        assert_eq!(rule(SwitchSsthresh::Bytes(65_536)).start(3000, &new).ssthresh, Some(65_536));
        let estimated = rule(SwitchSsthresh::EstimatedHalfBdp);
        assert_eq!(
            estimated.start(3000, &new),
            StartState { cwnd: 3000, ssthresh: Some(28_875), pacing_rate: None }
        );
        assert_eq!(estimated.start(3000, &path(1)).ssthresh, None, "no estimate");
        let loaded = PathView { estimate: Some(estimate(11_000, 0, 70)), ..path(1) };
        assert_eq!(estimated.start(3000, &loaded).ssthresh, Some(0), "no floor, as in the paper");
    }

    /// 10 packets of 1500 bytes on the wire over 40 ms: 3 Mbps.
    #[test]
    fn a_paced_start_takes_one_round_trip() {
        let measured = PathView { srtt: Some(Span::from_millis(40)), ..path(1) };
        let paced = PolicyConfig { pace_start: true, ..PolicyConfig::default() };
        assert_eq!(paced.start(10 * 1468, &measured).pacing_rate, Some(Rate::from_mbps(3)));
        assert_eq!(paced.start(10 * 1468, &path(1)).pacing_rate, None, "no round trip is known");
        assert_eq!(PolicyConfig::default().start(10 * 1468, &measured).pacing_rate, None);
        let unmeasurable = PathView { srtt: Some(Span::ZERO), ..path(1) };
        assert_eq!(paced.start(10 * 1468, &unmeasurable).pacing_rate, None);
    }

    #[test]
    fn the_first_matching_rule_gives_the_estimator_parameters() {
        let special = WBestConfig { pairs: 4, train: 12, ..WBestConfig::default() };
        let other = WBestConfig { pairs: 9, ..special };
        let by = |address, wbest| ProbeRule { address, wbest };
        let config = PolicyConfig {
            probe_rules: vec![by(path(1).remote, special), by(path(1).local, other)],
            ..PolicyConfig::default()
        };
        assert_eq!(config.wbest_for(&path(1)), special);
        assert_eq!(config.wbest_for(&PathView { remote: path(7).remote, ..path(1) }), other);
        assert_eq!(config.wbest_for(&path(2)), WBestConfig::default());
    }

    #[test]
    fn validation_reaches_the_rules() {
        let bad = WBestConfig { pairs: 0, ..WBestConfig::default() };
        let rules = vec![ProbeRule { address: path(1).remote, wbest: bad }];
        assert!(PolicyConfig { probe_rules: rules, ..PolicyConfig::default() }.validate().is_err());
        assert!(PolicyConfig { wbest: bad, ..PolicyConfig::default() }.validate().is_err());
        assert_eq!(PolicyConfig::default().validate(), Ok(()));
    }
}
