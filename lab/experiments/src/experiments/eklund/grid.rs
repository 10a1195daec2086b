//! The grid of runs, and each run's overrides of the scenario file.

use std::fmt;
use std::ops::RangeInclusive;

use msctp_sim::random::component_seed;
use msctp_units::Span;
use serde::Serialize;

use crate::experiments::Effort;

/// Interval between messages (the paper, §III.A).
pub const INTERVAL: Span = Span::from_millis(33);
/// Bytes of a message (the paper, §III.A).
pub const MESSAGE_BYTES: u64 = 6395;

/// The network that the videos move to (the paper's Table I).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// 6 Mbps, RTT 300 ms.
    Low,
    /// 45 Mbps, RTT 40 ms.
    High,
}

impl Network {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Low, Self::High];

    /// Returns the paper's name, as used in file names.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::Low => "lc",
            Self::High => "hc",
        }
    }

    /// Returns the rate of the bottleneck in bit/s.
    #[must_use]
    pub fn rate(self) -> f64 {
        match self {
            Self::Low => 6e6,
            Self::High => 45e6,
        }
    }

    /// Returns the times at which the videos move, the videos end and the run ends, in whole seconds, as in
    /// the scenario files.
    #[must_use]
    pub fn times(self) -> (u32, u32, u32) {
        match self {
            Self::Low => (60, 125, 140),
            Self::High => (20, 50, 55),
        }
    }

    /// Returns the numbers of video flows.
    #[must_use]
    pub fn videos(self) -> &'static [u8] {
        match self {
            Self::Low => &[1, 2],
            Self::High => &[1, 2, 5],
        }
    }

    /// Returns the numbers of competing TCP flows.
    #[must_use]
    pub fn tcps(self) -> &'static [u8] {
        match self {
            Self::Low => &[1, 2],
            Self::High => &[2, 5, 10],
        }
    }

    /// Returns the span of the TCP flows' random starts, in seconds after the first possible one.
    fn start_within(self) -> f64 {
        match self {
            Self::Low => 30.0,
            Self::High => 5.0,
        }
    }
}

/// A set of flows on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Mix {
    /// The network.
    pub network: Network,
    /// Video flows.
    pub videos: u8,
    /// Competing TCP flows.
    pub tcps: u8,
}

impl Mix {
    /// Creates a mix.
    #[must_use]
    pub const fn new(network: Network, videos: u8, tcps: u8) -> Self {
        Self { network, videos, tcps }
    }

    /// Returns every combination of the paper.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for network in Network::ALL {
            for &videos in network.videos() {
                all.extend(network.tcps().iter().map(|&tcps| Self { network, videos, tcps }));
            }
        }
        all
    }

    /// Returns the fair share in bit/s of a video and of a TCP flow, max–min: a video takes at most its own
    /// rate, the TCP flows divide the rest.
    #[must_use]
    pub fn fair_shares(&self) -> (f64, f64) {
        let (videos, tcps) = (f64::from(self.videos), f64::from(self.tcps));
        let equal = self.network.rate() / (videos + tcps);
        let wanted = video_rate();
        if wanted <= equal {
            (wanted, (self.network.rate() - videos * wanted) / tcps)
        } else {
            (equal, equal)
        }
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} video, {} TCP", self.network.slug(), self.videos, self.tcps)
    }
}

/// Returns the user rate of a video in bit/s.
#[must_use]
pub fn video_rate() -> f64 {
    MESSAGE_BYTES as f64 * 8.0 / INTERVAL.as_secs_f64()
}

/// The competing TCP's controller, which the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tcp {
    /// NewReno's window: the verdicts are taken from these runs.
    NewReno,
    /// CUBIC.
    Cubic,
}

impl Tcp {
    /// Both; the verdicts are from the first.
    pub const ALL: [Self; 2] = [Self::NewReno, Self::Cubic];

    /// Returns the text for readers.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NewReno => "against NewReno",
            Self::Cubic => "against CUBIC",
        }
    }

    /// Returns the form used in file names.
    #[must_use]
    pub fn slug(self) -> &'static str {
        match self {
            Self::NewReno => "newreno",
            Self::Cubic => "cubic",
        }
    }

    fn controller(self) -> &'static str {
        match self {
            Self::NewReno => "reno",
            Self::Cubic => "cubic",
        }
    }
}

/// The window with which the new path starts (the paper's init_cwnd).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// 3 MSS, the default.
    Three,
    /// 10 MSS.
    Ten,
    /// 20 MSS.
    Twenty,
    /// 50 KB: no restriction.
    Nr,
}

impl Window {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Three, Self::Ten, Self::Twenty, Self::Nr];

    /// Returns the paper's name.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Three => "3 MSS",
            Self::Ten => "10 MSS",
            Self::Twenty => "20 MSS",
            Self::Nr => "NR",
        }
    }

    fn toml(self) -> &'static str {
        match self {
            Self::Three => "{ packets = 3 }",
            Self::Ten => "{ packets = 10 }",
            Self::Twenty => "{ packets = 20 }",
            Self::Nr => "{ bytes = 50000 }",
        }
    }
}

/// One run. Sorted by conditions, then window, then seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct RunKey {
    /// The competing TCP.
    pub tcp: Tcp,
    /// The flows.
    pub mix: Mix,
    /// The initial window is spread over a round trip (ours; the paper sends it at once).
    pub paced: bool,
    /// The initial window.
    pub window: Window,
    /// Seed of every random stream and of the starting times of the TCP flows. Runs that differ only in the
    /// window are identical until the videos move.
    pub seed: u64,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tcp, mix, paced, window, seed } = self;
        let paced = if *paced { " paced" } else { "" };
        write!(f, "{mix} {}, {}{paced}, seed {seed}", tcp.words(), window.words())
    }
}

impl RunKey {
    /// Returns the overrides of the scenario file, in the form of `msctp sim --set`.
    #[must_use]
    pub fn overrides(&self) -> Vec<String> {
        let Mix { network, videos, tcps } = self.mix;
        let mut overrides = vec![
            format!("sctp.cn.policy.initial_window={}", self.window.toml()),
            format!("tcp-profile.bulk.controller={}", self.tcp.controller()),
        ];
        if self.paced {
            overrides.push("sctp.cn.policy.pace_start=true".to_owned());
        }
        let most = |numbers: &[u8]| numbers.iter().copied().max().unwrap_or_default();
        for number in videos + 1..=most(network.videos()) {
            overrides.push(format!("app.video-{number}.start=action"));
        }
        for number in 1..=most(network.tcps()) {
            let start = if number <= tcps { self.tcp_start(number) } else { "action".to_owned() };
            overrides.push(format!("app.bulk-{number}.start={start}"));
        }
        overrides
    }

    /// Returns the start of a TCP flow, from 1 s on, drawn from the stream `eklund/bulk-N` of the run's seed,
    /// to the millisecond.
    fn tcp_start(&self, number: u8) -> String {
        let draw = component_seed(self.seed, &format!("eklund/bulk-{number}"));
        let share = f64::from(u32::from_be_bytes([draw[0], draw[1], draw[2], draw[3]])) / 4_294_967_296.0;
        format!("{:.0}ms", 1000.0 + share * self.mix.network.start_within() * 1000.0)
    }
}

/// The number of runs, by seeds and conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Combinations of flows, ascending.
    pub mixes: Vec<Mix>,
    /// Competitors, ascending.
    pub tcps: Vec<Tcp>,
    /// Number of seeds, from 1.
    pub seeds: u64,
}

/// The combinations in which pacing is compared with sending at once: those of the claims on start-up.
pub const PACED: [Mix; 4] = [
    Mix::new(Network::Low, 1, 1),
    Mix::new(Network::Low, 2, 1),
    Mix::new(Network::High, 1, 2),
    Mix::new(Network::High, 5, 2),
];

impl Extent {
    /// Returns the extent for an effort.
    #[must_use]
    pub fn of(effort: &Effort) -> Self {
        let mut extent = if effort.quick { Self::quick() } else { Self::full() };
        extent.seeds = effort.seeds.unwrap_or(extent.seeds);
        extent
    }

    /// Returns the paper's extent: every combination, 40 repetitions.
    #[must_use]
    pub fn full() -> Self {
        Self { mixes: Mix::all(), tcps: Tcp::ALL.to_vec(), seeds: 40 }
    }

    /// Returns a subset that takes under a minute: the combinations in the paper's figures, fewer
    /// repetitions, NewReno alone.
    #[must_use]
    pub fn quick() -> Self {
        let shown = [(1, 2), (2, 2), (1, 10), (5, 2), (5, 10)];
        let mut mixes = vec![Mix::new(Network::Low, 1, 1), Mix::new(Network::Low, 2, 1)];
        mixes.extend(shown.map(|(videos, tcps)| Mix::new(Network::High, videos, tcps)));
        mixes.sort();
        Self { mixes, tcps: vec![Tcp::NewReno], seeds: 5 }
    }

    /// Returns every run.
    #[must_use]
    pub fn runs(&self) -> Vec<RunKey> {
        let mut runs = Vec::new();
        for &tcp in &self.tcps {
            for &mix in &self.mixes {
                for paced in [false, true] {
                    if paced && (tcp != Tcp::NewReno || !PACED.contains(&mix)) {
                        continue;
                    }
                    for window in Window::ALL {
                        runs.extend(self.seeds().map(|seed| RunKey { tcp, mix, paced, window, seed }));
                    }
                }
            }
        }
        runs
    }

    /// Returns the seeds.
    #[must_use]
    pub fn seeds(&self) -> RangeInclusive<u64> {
        1..=self.seeds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_grid_is_the_papers_with_two_competitors_and_pacing() {
        let runs = Extent::full().runs();
        assert_eq!(Mix::all().len(), 4 + 9);
        assert_eq!(runs.len(), (2 * 13 * 4 + 4 * 4) * 40);
        assert!(runs.is_sorted(), "the order of the grid is the order of the key");
        assert!(Extent::quick().runs().is_sorted());
    }

    #[test]
    fn a_run_has_the_flows_of_its_mix_and_the_starts_of_its_seed() {
        let key = |seed| RunKey {
            tcp: Tcp::Cubic,
            mix: Mix::new(Network::High, 2, 5),
            paced: true,
            window: Window::Nr,
            seed,
        };
        let overrides = key(1).overrides();
        let has = |text: &str| overrides.iter().any(|set| set == text);
        assert!(has("sctp.cn.policy.initial_window={ bytes = 50000 }"));
        assert!(has("sctp.cn.policy.pace_start=true") && has("tcp-profile.bulk.controller=cubic"));
        assert!(has("app.video-3.start=action") && has("app.video-5.start=action"));
        assert!(!overrides.iter().any(|set| set.starts_with("app.video-2")));
        assert!(has("app.bulk-6.start=action") && has("app.bulk-10.start=action"));
        assert_eq!(overrides.iter().filter(|set| set.ends_with("ms")).count(), 5);
        assert_ne!(key(1).tcp_start(1), key(2).tcp_start(1));
        assert_ne!(key(1).tcp_start(1), key(1).tcp_start(2));
    }

    /// The paper: "the available fair share of the bandwidth should theoretically be enough to satisfy the
    /// mSCTP flows" (2 videos and 1 TCP flow on 6 Mbps).
    #[test]
    fn a_videos_unused_share_goes_to_the_other_flows() {
        let (video, tcp) = Mix::new(Network::Low, 2, 1).fair_shares();
        assert!((video - 1.5503e6).abs() < 1e3, "{video}");
        assert!((tcp - (6e6 - 2.0 * video)).abs() < 1.0, "{tcp}");
        assert_eq!(Mix::new(Network::Low, 2, 2).fair_shares(), (1.5e6, 1.5e6));
    }
}
