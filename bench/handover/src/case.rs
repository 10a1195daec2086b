//! The cases: moves, kinds of handover, and the scenario of each.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Address of the server.
pub const SERVER: &str = "10.0.0.1";
/// The mobile's address on the old link.
pub const OLD: &str = "10.0.1.2";
/// The mobile's address on the new link.
pub const NEW: &str = "10.0.2.2";

/// Time before the switch in which gaps count, in seconds.
pub const BEFORE: f64 = 0.5;
/// Time after the switch in which gaps count and bytes are summed, in seconds.
pub const AFTER: f64 = 5.0;
/// Time for which both links of a make-before-break are up, in seconds.
const OVERLAP: f64 = 3.0;
/// Delay of the link from server to router, in ms. Its rate exceeds that of every other link.
const CORE_DELAY_MS: f64 = 0.1;

/// A radio link.
#[derive(Clone, Copy, Debug)]
pub struct Radio {
    /// Its name in tables.
    pub name: &'static str,
    /// Rate in bit/s, each way.
    pub rate: f64,
    /// One-way delay in ms.
    pub delay_ms: f64,
    /// Queue limit in packets, each way.
    pub queue: u32,
}

const THIRD_GENERATION: Radio = Radio { name: "3G", rate: 384e3, delay_ms: 100.0, queue: 50 };
const OLD_WLAN: Radio = Radio { name: "WLAN", rate: 11e6, delay_ms: 20.0, queue: 50 };
const LTE: Radio = Radio { name: "LTE", rate: 50e6, delay_ms: 25.0, queue: 200 };
const WLAN: Radio = Radio { name: "WLAN", rate: 100e6, delay_ms: 5.0, queue: 200 };

/// A move from one link to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Move {
    /// 384 kbps, 100 ms → 11 Mbps, 20 ms.
    SlowUp,
    /// The reverse of `SlowUp`.
    SlowDown,
    /// 50 Mbps, 25 ms → 100 Mbps, 5 ms.
    FastUp,
    /// The reverse of `FastUp`.
    FastDown,
}

/// The order in which links go up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The new link comes up at the switch and is preferred; the old one goes down 3 s later.
    MakeBeforeBreak,
    /// At the switch the old link goes down and the new one comes up.
    BreakBeforeMake,
    /// Both links stay up and the old one is preferred; from the switch on it drops every packet without a
    /// signal.
    Silent,
}

/// A transport stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// This project's crate, in its mobile profile.
    Msctp,
    /// The kernel's multipath TCP.
    Mptcp,
    /// QUIC, whose application calls `Endpoint::rebind`.
    Quinn,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Case {
    /// The old and the new link.
    pub route: Move,
    /// The kind of handover.
    pub kind: Kind,
}

impl Move {
    /// Returns the old and the new link.
    #[must_use]
    pub fn radios(self) -> (Radio, Radio) {
        match self {
            Self::SlowUp => (THIRD_GENERATION, OLD_WLAN),
            Self::SlowDown => (OLD_WLAN, THIRD_GENERATION),
            Self::FastUp => (LTE, WLAN),
            Self::FastDown => (WLAN, LTE),
        }
    }

    /// Returns whether both links are slow enough to emulate several runs at a time.
    #[must_use]
    pub fn is_slow(self) -> bool {
        matches!(self, Self::SlowUp | Self::SlowDown)
    }

    /// Returns the time of the switch in seconds: after the queues of both pairs have long been full.
    #[must_use]
    pub fn switch(self) -> f64 {
        match self {
            Self::SlowUp | Self::SlowDown => 10.0,
            Self::FastUp | Self::FastDown => 6.0,
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (old, new) = self.radios();
        write!(f, "{} → {}", old.name, new.name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MakeBeforeBreak => "make before break",
            Self::BreakBeforeMake => "break before make",
            Self::Silent => "silent",
        })
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Msctp => "msctp",
            Self::Mptcp => "MPTCP",
            Self::Quinn => "quinn",
        })
    }
}

impl Radio {
    /// Returns the round trip of a full packet and a small answer without queues, in ms.
    #[must_use]
    pub fn round_trip_ms(self) -> f64 {
        2.0 * (self.delay_ms + CORE_DELAY_MS) + 1500.0 * 8e3 / self.rate
    }
}

impl Case {
    /// Returns all cases, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        let kinds = Kind::value_variants();
        Move::value_variants()
            .iter()
            .flat_map(move |&route| kinds.iter().map(move |&kind| Self { route, kind }))
    }

    /// Returns whether the stack detects this kind: quinn's application gets no signal of a silent loss.
    #[must_use]
    pub fn concerns(self, stack: Stack) -> bool {
        !(self.kind == Kind::Silent && stack == Stack::Quinn)
    }

    /// Returns the duration of a run in seconds.
    #[must_use]
    pub fn duration(self) -> f64 {
        self.route.switch() + AFTER + 1.0
    }

    /// Returns the link that the mobile prefers.
    #[must_use]
    pub fn preferred(self) -> &'static str {
        match self.kind {
            Kind::MakeBeforeBreak | Kind::BreakBeforeMake => "new",
            Kind::Silent => "old",
        }
    }

    /// Returns the text of the scenario file.
    #[must_use]
    pub fn scenario(self) -> String {
        let (old, new) = self.route.radios();
        let mut text = format!(
            r#"
            name = "handover"
            duration = "{}s"
            [[node]]
            name = "mobile"
            kind = "host"
            [[node]]
            name = "server"
            kind = "host"
            [[node]]
            name = "r"
            kind = "router"
            [[link]]
            name = "core"
            a = "server"
            b = "r"
            address_a = "{SERVER}"
            rate = "1Gbps"
            delay = "{}us"
            queue = {{ packets = 10000 }}
            "#,
            self.duration(),
            CORE_DELAY_MS * 1e3,
        );
        // The host's first interface is the one that the kernel's multipath TCP prefers.
        let up = self.kind == Kind::Silent;
        let mut links = [link("old", OLD, old, true), link("new", NEW, new, up)];
        if self.preferred() == "new" {
            links.reverse();
        }
        text.extend(links);
        let at = self.route.switch();
        match self.kind {
            Kind::MakeBeforeBreak => {
                text += &action(at, "link-up", "new", "");
                text += &action(at + OVERLAP, "link-down", "old", "");
            }
            Kind::BreakBeforeMake => {
                text += &action(at, "link-down", "old", "");
                text += &action(at, "link-up", "new", "");
            }
            Kind::Silent => text += &action(at, "set-link", "old", "loss = 1.0"),
        }
        text
    }
}

fn link(name: &str, address: &str, radio: Radio, up: bool) -> String {
    let Radio { rate, delay_ms, queue, .. } = radio;
    format!(
        r#"
            [[link]]
            name = "{name}"
            a = "r"
            b = "mobile"
            address_b = "{address}"
            rate = "{}bps"
            delay = "{delay_ms}ms"
            queue = {{ packets = {queue} }}
            up = {up}
        "#,
        rate as u64
    )
}

fn action(at: f64, what: &str, link: &str, more: &str) -> String {
    format!("\n[[action]]\nat = \"{at}s\"\ndo = \"{what}\"\nlink = \"{link}\"\n{more}\n")
}
