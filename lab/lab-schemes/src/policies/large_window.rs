//! [`LargeInitialWindow`]: starts the new path with a window larger than the standard's (Eklund, Grinnemo,
//! Brunstrom 2012).

use msctp_congestion::{InitialWindow, StartState};

use super::{ByRule, PolicyConfig, StartRule};
use msctp_proto::handover::PathView;

/// Starts the new path with the configured initial window, whatever the state of either path. 10 packets by
/// default: the paper finds them enough in most cases, as RFC 6928 does for TCP.
///
/// The paper compares 3, 10 and 20 packets and 50 KB, which limits none of its transfers.
/// [`PolicyConfig::pace_start`] sets whether the window is sent at once or paced; the paper sends it at once.
pub type LargeInitialWindow = ByRule<LargeInitialWindowStart>;

/// The rule of [`LargeInitialWindow`].
#[derive(Clone, Copy, Debug)]
pub enum LargeInitialWindowStart {}

/// The window when none is configured.
const DEFAULT: InitialWindow = InitialWindow::Packets(10);

impl StartRule for LargeInitialWindowStart {
    const NAME: &'static str = "large-initial-window";

    fn start(config: &PolicyConfig, _old: &PathView, new: &PathView) -> Option<StartState> {
        let cwnd = new.initial_window(config.initial_window.unwrap_or(DEFAULT));
        Some(config.start(cwnd, new))
    }
}

#[cfg(test)]
mod tests {
    use msctp_units::{Rate, Span};

    use super::*;
    use crate::policies::testing::{path, switch, view, with_cwnd};
    use msctp_proto::handover::HandoverPolicy;

    fn start(config: &PolicyConfig, new: &PathView) -> StartState {
        let (start, actions) = switch(&mut LargeInitialWindow::new(config), &with_cwnd(0, 65_536), new);
        assert!(actions.is_empty());
        start.unwrap()
    }

    /// The paper's Table I; MSS 1500 bytes on the wire is 1468 of a DATA chunk.
    #[test]
    fn the_papers_windows() {
        let of = |window| PolicyConfig { initial_window: Some(window), ..PolicyConfig::default() };
        for (window, cwnd) in [
            (InitialWindow::Packets(3), 4404),
            (InitialWindow::Packets(10), 14_680),
            (InitialWindow::Packets(20), 29_360),
            (InitialWindow::Bytes(50_000), 50_000),
        ] {
            let expected = StartState { cwnd, ssthresh: None, pacing_rate: None };
            assert_eq!(start(&of(window), &with_cwnd(1, 7777)), expected);
        }
        assert_eq!(start(&PolicyConfig::default(), &path(1)).cwnd, 14_680);
    }

    #[test]
    fn nothing_is_probed() {
        let paths = [path(0), path(1)];
        let mut actions = Vec::new();
        LargeInitialWindow::new(&PolicyConfig::default()).on_path_added(
            paths[1].id,
            &view(0, &paths),
            &mut actions,
        );
        assert!(actions.is_empty());
    }

    #[test]
    fn the_burst_can_be_paced_over_a_round_trip() {
        let config = PolicyConfig { pace_start: true, ..PolicyConfig::default() };
        let new = PathView { srtt: Some(Span::from_millis(300)), ..path(1) };
        // 10 packets of 1500 bytes in 300 ms
        assert_eq!(start(&config, &new).pacing_rate, Some(Rate::from_kbps(400)));
    }
}
