//! The input of a run: options of both ends and a list of operations. Plain values, so that a sequence can be
//! shrunk and printed as Rust code.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use msctp_congestion::InitialWindow;
use msctp_lab_schemes::catalogue::{Options, controllers};
use msctp_lab_schemes::policies::{PolicyConfig, policies, policy};
use msctp_protection::{CipherSuite, Ring, Secret};
use msctp_proto::handover::PolicyFactory;
use msctp_proto::{
    AuthConfig, Config, FailoverConfig, KeyManagement, LossRecovery, Moves, OfferConfig, PathUse, Pmtu,
    Protection, Reconfiguration, Reliability, RetransmissionPath, StreamsConfig, schedulers,
};
use msctp_units::Span;

/// The addresses that the mobile can have.
pub(crate) const MOBILE: [IpAddr; 4] = [
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1)),
];

/// The addresses that the server can have.
pub(crate) const SERVER: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 9, 0, 0, 0, 0, 1)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 129)),
];

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Mobile,
    Server,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::Mobile, Self::Server];

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Mobile => Self::Server,
            Self::Server => Self::Mobile,
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// Returns one of its possible addresses.
    pub(crate) fn address(self, index: u8) -> IpAddr {
        self.pool()[usize::from(index) % self.pool().len()]
    }

    /// Returns its possible addresses.
    pub(crate) fn pool(self) -> &'static [IpAddr] {
        match self {
            Self::Mobile => &MOBILE,
            Self::Server => &SERVER,
        }
    }
}

/// A sequence, which determines the whole run.
#[derive(Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) setup: Setup,
    pub(crate) ops: Vec<Op>,
}

/// The configuration of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setup {
    /// Seed of both endpoints and of the network.
    pub(crate) seed: u64,
    /// Addresses at the start, as bits of the indexes in `MOBILE` and `SERVER`.
    pub(crate) mobile_addresses: u8,
    pub(crate) server_addresses: u8,
    /// True if the mobile knows all addresses of the server, false for only the first reachable one.
    pub(crate) names_all: bool,
    /// Neither end has AUTH.
    pub(crate) plain: bool,
    pub(crate) mobile: Tuning,
    pub(crate) server: Tuning,
    /// The network's state at the end.
    pub(crate) heal: Heal,
    pub(crate) ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Heal {
    /// Every pair of addresses works.
    All,
    /// One path that both ends have works, if there is one. The others are dead.
    One,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ending {
    MobileShutsDown,
    ServerShutsDown,
    BothShutDown,
    MobileAborts,
    ServerAborts,
}

/// The reliability of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effort {
    LifetimeMs(u32),
    Retransmissions(u16),
    Priority(u16),
}

impl Effort {
    pub(crate) fn reliability(self) -> Reliability {
        match self {
            Self::LifetimeMs(ms) => Reliability::Lifetime(Span::from_millis(u64::from(ms))),
            Self::Retransmissions(limit) => Reliability::Retransmissions(limit),
            Self::Priority(priority) => Reliability::Priority(priority),
        }
    }
}

/// Options of one end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tuning {
    /// Index of the controller in the registry, modulo its length.
    pub(crate) controller: u8,
    pub(crate) policy: u8,
    pub(crate) bicast: bool,
    pub(crate) rto_min_ms: u32,
    pub(crate) rto_max_ms: u32,
    pub(crate) sack_delay_ms: u32,
    pub(crate) sack_frequency: u32,
    pub(crate) hb_interval_ms: u32,
    pub(crate) path_max_retrans: u32,
    pub(crate) assoc_max_retrans: u32,
    pub(crate) receive_buffer: u32,
    pub(crate) send_buffer: u32,
    pub(crate) pmtu: u32,
    pub(crate) max_burst: u32,
    pub(crate) max_segments: u32,
    pub(crate) same_path: bool,
    /// Initial window in packets; 0 as in RFC 9260.
    pub(crate) initial_window: u32,
    /// In bytes; 0: none.
    pub(crate) initial_ssthresh: u32,
    pub(crate) outbound_streams: u16,
    pub(crate) max_inbound_streams: u16,
    /// True if the peer must also sign data and SACKs.
    pub(crate) demands_data: bool,
    /// RACK-TLP and PRR.
    pub(crate) rack: bool,
    pub(crate) prr: bool,
    /// Index of the scheduler in the registry, modulo its length.
    pub(crate) scheduler: u8,
    pub(crate) interleaving: bool,
    pub(crate) partial_reliability: bool,
    pub(crate) reconfiguration: bool,
    /// True if addresses can be changed in an established association.
    pub(crate) dynamic_addresses: bool,
    /// True if the peer may reset and add streams.
    pub(crate) peer_may_reset: bool,
    pub(crate) peer_may_add: bool,
    /// RFC 7829's threshold plus one; 0 disables it, as in RFC 9260.
    pub(crate) potentially_failed: u8,
    /// True if `Config::moves` is that of the mobile profile.
    pub(crate) quick_moves: bool,
    /// `Config::paths`: 1 is `Aggregate`, 2 `Redundant`.
    pub(crate) paths: u8,
    /// `FailoverConfig::silence` in ms; 0 for none.
    pub(crate) silence_ms: u64,
}

impl Tuning {
    /// The defaults of `Config`, except for an error limit that a hostile network does not reach at once.
    pub(crate) const DEFAULT: Self = Self {
        controller: 0,
        policy: 0,
        bicast: false,
        rto_min_ms: 1000,
        rto_max_ms: 60_000,
        sack_delay_ms: 200,
        sack_frequency: 2,
        hb_interval_ms: 30_000,
        path_max_retrans: 5,
        assoc_max_retrans: 30,
        receive_buffer: 1 << 20,
        send_buffer: 2 << 20,
        pmtu: 1500,
        max_burst: 4,
        max_segments: 1,
        same_path: false,
        initial_window: 0,
        initial_ssthresh: 0,
        outbound_streams: 10,
        max_inbound_streams: u16::MAX,
        demands_data: false,
        rack: false,
        prr: false,
        scheduler: 0,
        interleaving: false,
        partial_reliability: true,
        reconfiguration: true,
        dynamic_addresses: true,
        peer_may_reset: true,
        peer_may_add: true,
        potentially_failed: 0,
        quick_moves: false,
        paths: 0,
        silence_ms: 0,
    };

    pub(crate) fn config(&self, setup: &Setup) -> Config {
        let plain = setup.plain;
        let controllers = controllers();
        let controller =
            (controllers[usize::from(self.controller) % controllers.len()].make)(&Options::new());
        let ms = |ms: u32| Span::from_millis(u64::from(ms));
        Config {
            rto_initial: ms(self.rto_min_ms.max(1000).min(self.rto_max_ms)),
            rto_min: ms(self.rto_min_ms),
            rto_max: ms(self.rto_max_ms),
            hb_interval: ms(self.hb_interval_ms),
            path_max_retrans: self.path_max_retrans,
            assoc_max_retrans: self.assoc_max_retrans,
            max_init_retransmits: 30,
            sack_delay: ms(self.sack_delay_ms),
            sack_frequency: self.sack_frequency,
            receive_buffer: self.receive_buffer,
            send_buffer: self.send_buffer,
            pmtu: Pmtu::UpTo(self.pmtu),
            max_burst: self.max_burst,
            retransmission_path: if self.same_path {
                RetransmissionPath::Same
            } else {
                RetransmissionPath::Alternate
            },
            controller: match self.initial_ssthresh {
                0 => controller,
                bytes => controller.with_initial_ssthresh(u64::from(bytes)),
            },
            initial_window: match self.initial_window {
                0 => InitialWindow::Rfc9260,
                packets => InitialWindow::Packets(u64::from(packets)),
            },
            handover_policy: self.policy(),
            outbound_streams: self.outbound_streams,
            max_inbound_streams: self.max_inbound_streams,
            max_segments: self.max_segments,
            protection: setup.protection(),
            auth: if plain {
                AuthConfig::without()
            } else {
                let chunks = if self.demands_data { vec![0, 3] } else { Vec::new() };
                AuthConfig { chunks, ..AuthConfig::default() }
            },
            loss_recovery: match (self.rack, self.prr) {
                (false, false) => LossRecovery::Rfc9260,
                (false, true) => LossRecovery::Prr,
                (true, false) => LossRecovery::Rack,
                (true, true) => LossRecovery::RackPrr,
            },
            streams: StreamsConfig {
                scheduler: scheduler_name(self.scheduler).to_owned(),
                partial_reliability: self.partial_reliability,
                interleaving: self.interleaving,
                reconfiguration: match (self.reconfiguration, self.peer_may_reset && self.peer_may_add) {
                    (false, _) => Reconfiguration::Off,
                    (true, false) => Reconfiguration::Own,
                    (true, true) => Reconfiguration::Accept,
                },
            },
            offer: OfferConfig { dynamic_addresses: self.dynamic_addresses, ..OfferConfig::default() },
            moves: if self.quick_moves { Config::mobile().moves } else { Moves::Standard },
            paths: [PathUse::One, PathUse::Aggregate, PathUse::Redundant][usize::from(self.paths)],
            failover: FailoverConfig {
                potentially_failed_threshold: self.potentially_failed.checked_sub(1).map(u32::from),
                silence: (self.silence_ms > 0).then(|| Span::from_millis(self.silence_ms)),
                ..FailoverConfig::default()
            },
            ..Config::default()
        }
    }

    /// Returns the options that differ from `DEFAULT`, as Rust code.
    fn changes(&self) -> String {
        let (own, default) = (format!("{self:#?}"), format!("{:#?}", Self::DEFAULT));
        let pairs = own.lines().zip(default.lines());
        pairs.filter(|(own, default)| own != default).map(|(own, _)| format!(" {}", own.trim())).collect()
    }

    fn policy(&self) -> PolicyFactory {
        let options = PolicyConfig { bicast: self.bicast, ..PolicyConfig::default() };
        policy(self.policy_name(), &options).expect("a registered policy")
    }

    pub(crate) fn policy_name(&self) -> &'static str {
        policies()[usize::from(self.policy) % policies().len()].name
    }
}

/// Returns a scheduler by its index in the registry, modulo its length.
pub(crate) fn scheduler_name(index: u8) -> &'static str {
    schedulers()[usize::from(index) % schedulers().len()].name
}

impl Setup {
    /// Returns whether both ends use the DTLS chunk: three eighths of the setups that are not plain.
    pub(crate) fn is_protected(&self) -> bool {
        !self.plain && matches!(self.seed % 8, 1 | 3 | 6)
    }

    fn protection(&self) -> Protection {
        if !self.is_protected() {
            return Protection::Insecure;
        }
        let suite = CipherSuite::ALL[self.seed as usize / 8 % CipherSuite::ALL.len()];
        let keys = KeyManagement::pre_shared(Arc::new(Ring), suite, Secret::from(&[7; 32][..]));
        Protection::Required(Arc::new(keys.unwrap()))
    }

    pub(crate) fn tuning(&self, side: Side) -> &Tuning {
        match side {
            Side::Mobile => &self.mobile,
            Side::Server => &self.server,
        }
    }

    /// Returns the addresses of that end at the start.
    pub(crate) fn addresses(&self, side: Side) -> Vec<IpAddr> {
        let bits = match side {
            Side::Mobile => self.mobile_addresses,
            Side::Server => self.server_addresses,
        };
        side.pool().iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, ip)| *ip).collect()
    }

    /// Returns the server's addresses that the mobile knows.
    pub(crate) fn named(&self) -> Vec<IpAddr> {
        let local = self.addresses(Side::Mobile);
        let mut named = self.addresses(Side::Server);
        // Put a reachable address first.
        named.sort_by_key(|remote| !local.iter().any(|ip| ip.is_ipv4() == remote.is_ipv4()));
        if !self.names_all {
            named.truncate(1);
        }
        named
    }

    /// Returns false if no address of one end can reach one of the other.
    pub(crate) fn is_possible(&self) -> bool {
        let (mobile, server) = (self.addresses(Side::Mobile), self.addresses(Side::Server));
        mobile.iter().any(|a| server.iter().any(|b| a.is_ipv4() == b.is_ipv4()))
    }
}

/// The treatment of packets in one direction of an address pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quality {
    pub(crate) delay_ms: u16,
    /// Maximum random addition to the delay in ms, drawn per packet, which reorders packets.
    pub(crate) jitter_ms: u16,
    /// Percent; 100 is a dead path.
    pub(crate) loss: u8,
    /// Percentage of packets that arrive twice or three times.
    pub(crate) duplicate: u8,
    /// Percentage with flipped bits or truncated.
    pub(crate) corrupt: u8,
}

impl Quality {
    pub(crate) const GOOD: Self = Self { delay_ms: 20, jitter_ms: 0, loss: 0, duplicate: 0, corrupt: 0 };
    pub(crate) const DEAD: Self = Self { loss: 100, ..Self::GOOD };
}

/// Rate at which the application reads messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    AtOnce,
    OneEvery {
        ms: u16,
    },
    Never,
    /// At once, except this stream.
    AllBut {
        stream: u16,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Link {
    Up,
    Degrading,
    Down,
    PredictedDown,
    /// Reports the current state.
    Report {
        bps: u64,
        round_trip_ms: u16,
        cell: u8,
    },
}

/// One operation. Impossible ones (no association, unknown path) are skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    /// Lets time pass.
    Run {
        ms: u32,
    },
    /// Sends `count` messages. Those that do not fit wait for `Event::Writable`.
    Send {
        side: Side,
        stream: u16,
        len: u32,
        count: u32,
        unordered: bool,
    },
    /// Like `Send`, with messages that are not fully reliable.
    SendPartial {
        side: Side,
        stream: u16,
        len: u32,
        count: u32,
        unordered: bool,
        effort: Effort,
    },
    /// Resets `count` streams from the first on, or all (0): this end's, or the peer's (`incoming`).
    Reset {
        side: Side,
        incoming: bool,
        first: u16,
        count: u8,
    },
    AddStreams {
        side: Side,
        incoming: bool,
        count: u16,
    },
    /// Sets a stream's value for the scheduler.
    StreamValue {
        side: Side,
        stream: u16,
        value: u16,
    },
    /// Sets a scheduler by its index in the registry.
    Schedule {
        side: Side,
        scheduler: u8,
    },
    Read {
        side: Side,
        pace: Pace,
    },
    /// Sets the quality of an address pair, by indexes in `MOBILE` and `SERVER`.
    Path {
        mobile: u8,
        server: u8,
        to_server: Quality,
        to_mobile: Quality,
    },
    /// Drops all packets to or from this address, until revoked.
    Cut {
        side: Side,
        address: u8,
        dead: bool,
    },
    AddAddress {
        side: Side,
        address: u8,
    },
    /// Like `AddAddress`, by the wildcard: adds the address from which the request comes.
    AddWildcard {
        side: Side,
        address: u8,
    },
    /// Deletes all other addresses by the wildcard.
    KeepOnly {
        side: Side,
        address: u8,
    },
    RemoveAddress {
        side: Side,
        address: u8,
    },
    /// Requests that the peer send to this address.
    RequestPrimary {
        side: Side,
        address: u8,
    },
    /// Sets the primary by the path's index in the list of paths.
    SetPrimary {
        side: Side,
        path: u8,
    },
    LinkEvent {
        side: Side,
        address: u8,
        link: Link,
    },
    /// The end drops all state. The mobile connects again.
    Restart {
        side: Side,
    },
    Shutdown {
        side: Side,
    },
    Abort {
        side: Side,
    },
}

impl fmt::Display for Plan {
    /// Writes the Rust code of a regression test.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setup { seed, mobile_addresses, server_addresses, names_all, plain, heal, ending, .. } =
            self.setup;
        writeln!(f, "#[test]\nfn sequence_{seed}() {{")?;
        writeln!(f, "    let setup = Setup {{")?;
        writeln!(f, "        seed: {seed},\n        mobile_addresses: {mobile_addresses:#b},")?;
        writeln!(f, "        server_addresses: {server_addresses:#b},\n        names_all: {names_all},")?;
        writeln!(f, "        plain: {plain},")?;
        for side in Side::BOTH {
            let name = format!("{side:?}").to_lowercase();
            writeln!(
                f,
                "        {name}: Tuning {{{} ..Tuning::DEFAULT }},",
                self.setup.tuning(side).changes()
            )?;
        }
        writeln!(f, "        heal: Heal::{heal:?},\n        ending: Ending::{ending:?},\n    }};")?;
        writeln!(f, "    check(setup, &[")?;
        for op in &self.ops {
            writeln!(f, "        {op:?},")?;
        }
        writeln!(f, "    ]);\n}}")
    }
}
