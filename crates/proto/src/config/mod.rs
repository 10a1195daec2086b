//! Options of an association, with RFC 9260's values as defaults, and their validation; an endpoint's are in
//! `endpoint`.

mod endpoint;
mod moves;
mod path_use;
mod profile;

pub use self::endpoint::EndpointConfig;
pub use self::moves::Moves;
pub use self::path_use::PathUse;

use core::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use msctp_congestion::classifier::ClassifierFactory;
use msctp_congestion::{ControllerConfig, ControllerFactory, InitialWindow, IpVersion, RtoConfig};
use msctp_units::Span;

use crate::auth::AuthConfig;
use crate::error::{ConfigError, check, within};
use crate::extensions::{Extensions, OfferConfig};
use crate::handover::PolicyFactory;
use crate::inbound::InboundConfig;
use crate::outbound::{LossRecovery, OutboundConfig, RetransmissionPath, SpuriousTimeouts};
use crate::path::{FailoverConfig, MAX_PMTU, MIN_PMTU, PathsConfig, Pmtu, pmdcs};
use crate::protection::{MAX_ROOM, Protection};
use crate::streams::StreamsConfig;

/// Options of one association. [`Config::default`] is RFC 9260 §16 where it gives a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// RTO.Initial. Default: 1 s.
    pub rto_initial: Span,
    /// RTO.Min. Default: 1 s.
    pub rto_min: Span,
    /// RTO.Max. Default: 60 s.
    pub rto_max: Span,
    /// HB.interval. Default: 30 s. [`Span::ZERO`] disables all heartbeats except those that confirm an
    /// address (RFC 9260 §8.3).
    pub hb_interval: Span,
    /// Path.Max.Retrans. Default: 5 (RFC 9260 §8.2).
    pub path_max_retrans: u32,
    /// Failover from a path that stops answering (RFC 7829).
    pub failover: FailoverConfig,
    /// Whether and how addresses change.
    pub moves: Moves,
    /// The paths that carry new data: one, or several at once.
    pub paths: PathUse,
    /// Association.Max.Retrans. Default: 10 (RFC 9260 §8.1).
    ///
    /// If more timers of user data than this expire in as many [`rto_max`](Self::rto_max), answers to
    /// HEARTBEATs do not save the association ([`LossReason::DataUnacknowledged`](crate::LossReason)).
    pub assoc_max_retrans: u32,
    /// Time without a packet from the peer after which the association is lost
    /// ([`LossReason::IdleTimeout`](crate::LossReason)), at least 100 ms.
    ///
    /// HEARTBEATs on every path begin after a third of it, and keep an idle association alive. The peer gets
    /// an ABORT. `None`, the default, is RFC 9260: only error counters end an association, which takes
    /// minutes, and longer when nothing is sent.
    pub idle_timeout: Option<Span>,
    /// Max.Init.Retransmits. Default: 8 (RFC 9260 §4).
    pub max_init_retransmits: u32,
    /// SACK.Delay, at most 500 ms. Default: 200 ms (RFC 9260 §6.2). Zero acknowledges every packet at once.
    pub sack_delay: Span,
    /// Maximum number of packets with DATA per SACK. Default: 2 (RFC 9260 §6.2).
    pub sack_frequency: u32,
    /// Maximum number of gap blocks in a SACK. The default is as many as fit, as RFC 9260 §6.2 requires.
    /// Fewer allow a comparison with TCP, whose SACK option holds three or four.
    pub max_gap_blocks: u32,
    /// Receive buffer in bytes, announced as a_rwnd. Default: 1 MiB; at least 1500 (RFC 9260 §3.3.2).
    ///
    /// A chunk counts as at least 256 bytes, about its cost in memory: with smaller chunks a_rwnd (RFC 9260
    /// §6.2) reaches 0 sooner. An incomplete message may take as much again while nothing else can be read. A
    /// longer one is delivered in parts (§11.1.7).
    pub receive_buffer: u32,
    /// Send buffer in bytes, for messages that are queued or not yet acknowledged. Default: 2 MiB.
    ///
    /// A queued message and a sent chunk count as at least 256 bytes, about their cost in memory: 8192
    /// messages of one byte fit.
    pub send_buffer: u32,
    /// The PMTU of each path: discovered (RFC 8899) up to 1500 bytes, or fixed.
    pub pmtu: Pmtu,
    /// Max.Burst in packets; 0 means no limit (RFC 9260 §6.1 rule D). Default: 4.
    pub max_burst: u32,
    /// Path on which timed-out chunks are retransmitted.
    pub retransmission_path: RetransmissionPath,
    /// Classifier of losses found by gap blocks, in congestion avoidance only. A loss classified as wireless
    /// leaves the window unchanged. `None`, the default, is RFC 9260: every loss is congestion.
    pub loss_classifier: Option<ClassifierFactory>,
    /// Whether spurious expirations of T3-rtx are detected and undone. Default: `Ignore`.
    pub spurious_timeouts: SpuriousTimeouts,
    /// Explicit congestion notification (RFC 4960 Appendix A; RFC 9260 keeps only its chunk types). Default:
    /// false.
    ///
    /// The network may mark packets with new data instead of dropping them, if the peer offers the same. The
    /// caller must pass the ECN field in both directions: [`Transmit::ecn`](crate::Transmit) and
    /// [`handle_marked_datagram`](crate::Endpoint::handle_marked_datagram).
    pub ecn: bool,
    /// Detection of lost chunks. Default: `Rfc9260`.
    pub loss_recovery: LossRecovery,
    /// Congestion controller of each path; RFC 9260's by default.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
    //= type=exception
    //= reason=option `controller`, rfc9260 by default: others (DelayBound in `Config::mobile`) control the
    //= reason=window by their own rules
    //# The slow-start and congestion avoidance algorithms MUST be used by an endpoint to control the amount
    //# of data being injected into the network.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2
    //= type=exception
    //= reason=option `controller`, rfc9260 by default: others (DelayBound in `Config::mobile`) control the
    //= reason=window by their own rules
    //# an SCTP sender MUST NOT be more aggressive than the following algorithms allow.
    pub controller: ControllerFactory,
    /// A path's congestion window before its first data (RFC 9260 §7.2.1).
    //= https://www.rfc-editor.org/rfc/rfc9260#section-7.2.1
    //= type=exception
    //= reason=option `initial_window`, that of the RFC by default: experiments and `Config::mobile` start
    //= reason=with more packets
    //# The initial cwnd before data transmission MUST be set to min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if
    //# the peer address is an IPv4 address
    pub initial_window: InitialWindow,
    /// Policy at path changes. Default: [`Conservative`](crate::handover::Conservative), as RFC 9260
    /// requires.
    pub handover_policy: PolicyFactory,
    /// Protection of all packets by the DTLS chunk. Default: off.
    pub protection: Protection,
    /// Authentication of chunks (RFC 4895). It always covers those that change addresses and windows.
    pub auth: AuthConfig,
    /// Optional contents of INIT and INIT ACK.
    pub offer: OfferConfig,
    /// Stream scheduling, and the extensions that concern messages.
    pub streams: StreamsConfig,
    /// Number of outbound streams to request. Default: 10 (RFC 9260 §5.1.1).
    pub outbound_streams: u16,
    /// Maximum number of inbound streams to accept. Default: 65535.
    pub max_inbound_streams: u16,
    /// Maximum number of equal-sized packets per `poll_transmit`. Default: 1.
    pub max_segments: u32,
    /// Record trace events ([`TraceEvent`](crate::TraceEvent)). False.
    pub trace: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rto_initial: Span::from_secs(1),
            rto_min: Span::from_secs(1),
            rto_max: Span::from_secs(60),
            hb_interval: Span::from_secs(30),
            path_max_retrans: 5,
            failover: FailoverConfig::default(),
            moves: Moves::Standard,
            paths: PathUse::One,
            assoc_max_retrans: 10,
            idle_timeout: None,
            max_init_retransmits: 8,
            sack_delay: Span::from_millis(200),
            sack_frequency: 2,
            max_gap_blocks: u32::MAX,
            receive_buffer: 1 << 20,
            send_buffer: 2 << 20,
            pmtu: Pmtu::default(),
            max_burst: 4,
            retransmission_path: RetransmissionPath::Alternate,
            loss_classifier: None,
            spurious_timeouts: SpuriousTimeouts::Ignore,
            ecn: false,
            loss_recovery: LossRecovery::Rfc9260,
            controller: ControllerFactory::default(),
            initial_window: InitialWindow::default(),
            handover_policy: PolicyFactory::default(),
            protection: Protection::default(),
            auth: AuthConfig::default(),
            offer: OfferConfig::default(),
            streams: StreamsConfig::default(),
            outbound_streams: 10,
            max_inbound_streams: u16::MAX,
            max_segments: 1,
            trace: false,
        }
    }
}

impl Config {
    /// Checks every option and the relations between them.
    ///
    /// # Errors
    ///
    /// An option is invalid. The error names the first such option, its value and the allowed values.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_timers()?;
        self.validate_sizes()?;
        self.validate_controller()?;
        self.auth.validate()?;
        self.validate_protection()?;
        self.failover.validate(self.path_max_retrans)?;
        self.streams.validate()?;
        self.validate_policy()?;
        within("assoc_max_retrans", self.assoc_max_retrans, 1.., " attempt")
    }

    fn validate_policy(&self) -> Result<(), ConfigError> {
        let policy = self.handover_policy.make();
        let taken = policy.private_chunks().iter().find_map(|chunk| chunk.name());
        let want = "types without a name, such as 0xb0 to 0xba";
        let value = format_args!("private chunk {}", taken.unwrap_or_default());
        check(taken.is_none(), "handover_policy", value, want)
    }

    fn validate_timers(&self) -> Result<(), ConfigError> {
        check(!self.rto_min.is_zero(), "rto_min", self.rto_min, "more than 0s")?;
        check(
            self.rto_max >= self.rto_min,
            "rto_max",
            self.rto_max,
            format_args!("at least rto_min ({})", self.rto_min),
        )?;
        check(
            self.rto_initial >= self.rto_min && self.rto_initial <= self.rto_max,
            "rto_initial",
            self.rto_initial,
            format_args!("between rto_min ({}) and rto_max ({})", self.rto_min, self.rto_max),
        )?;
        if let Some(limit) = self.idle_timeout {
            within("idle_timeout", limit, Span::from_millis(100).., ", or none")?;
        }
        // RFC 9260 §6.2: an implementation MUST NOT allow the maximum delay to be above 500 ms
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# An implementation MUST NOT allow the maximum delay (protocol parameter 'SACK.Delay') to be
        //# configured to be more than 500 ms.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
        //# MUST NOT raise it above 500 ms.
        within("sack_delay", self.sack_delay, ..=Span::from_millis(500), "")
    }

    /// Rejects protection together with AUTH (draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.2).
    fn validate_protection(&self) -> Result<(), ConfigError> {
        let Some(keys) = self.protection.keys() else { return Ok(()) };
        let want = "none while protection is on: the DTLS chunk takes the place of AUTH";
        check(self.auth.keys.is_empty(), "auth.keys", self.auth.keys.len(), want)?;
        check(
            keys.is_usable(),
            "protection",
            format_args!("{keys:?}"),
            "1 to 32 methods and at least one role",
        )
    }

    fn validate_controller(&self) -> Result<(), ConfigError> {
        let none = matches!(self.initial_window, InitialWindow::Packets(0) | InitialWindow::Bytes(0));
        check(!none, "initial_window", format_args!("{:?}", self.initial_window), "at least 1")?;
        // Without room for one packet nothing would ever be sent.
        let pmdcs = pmdcs(self.pmtu.max(), 0, &IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let config = ControllerConfig {
            initial_window: self.initial_window,
            ..ControllerConfig::rfc9260(pmdcs.into(), IpVersion::V4)
        };
        let made = self.controller.make(&config);
        let cwnd = made.window().cwnd;
        check(
            cwnd >= config.pmdcs,
            "controller",
            format_args!("{} with a window of {cwnd} bytes", made.name()),
            format_args!("at least 1 PMDCS ({pmdcs}) before the first data"),
        )
    }

    /// Returns the extensions that this end offers.
    pub(crate) fn extensions(&self) -> Extensions {
        Extensions::offered(self.auth.policy, &self.protection, self.offer, &self.streams, self.ecn)
    }

    /// Returns `pmtu`, limited to what a record can hold if protection is on
    /// (draft-ietf-tsvwg-sctp-dtls-chunk-04 §3.1).
    pub(crate) fn usable_pmtu(&self) -> Pmtu {
        const MOST: u32 = 20 + MAX_ROOM as u32;
        match self.protection {
            Protection::Insecure => self.pmtu,
            _ => self.pmtu.with_max(self.pmtu.max().min(MOST)),
        }
    }

    fn validate_sizes(&self) -> Result<(), ConfigError> {
        within("sack_frequency", self.sack_frequency, 1.., " packet")?;
        // RFC 9260 §3.3.2: a_rwnd MUST NOT be less than 1500
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
        //# The Advertised Receiver Window Credit MUST NOT be smaller than 1500.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
        //# The Advertised Receiver Window Credit MUST NOT be smaller than 1500.
        within("receive_buffer", self.receive_buffer, 1500.., " bytes")?;
        within("send_buffer", self.send_buffer, 1500.., " bytes")?;
        within("pmtu", self.pmtu.max(), MIN_PMTU..=MAX_PMTU, " bytes")?;
        // RFC 9260 §3.3.2: a value of 0 MUST NOT be used
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
        //# The value of 0 MUST NOT be used
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
        //# The value of 0 MUST NOT be used
        within("outbound_streams", self.outbound_streams, 1.., "")?;
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
        //# The value 0 MUST NOT be used.
        //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
        //# The value 0 MUST NOT be used.
        within("max_inbound_streams", self.max_inbound_streams, 1.., "")?;
        let unit = " packets (64 is what segmentation offload takes)";
        within("max_segments", self.max_segments, 1..=64, unit)
    }
}

/// Options that several associations share, with what is computed from them once.
#[derive(Clone, Debug)]
pub(crate) struct SharedConfig {
    pub(crate) config: Arc<Config>,
    pub(crate) paths: Arc<PathsConfig>,
}

impl From<Arc<Config>> for SharedConfig {
    fn from(config: Arc<Config>) -> Self {
        Self { paths: Arc::new(PathsConfig::from(&*config)), config }
    }
}

impl core::ops::Deref for SharedConfig {
    type Target = Config;
    fn deref(&self) -> &Config {
        &self.config
    }
}

impl From<&Config> for PathsConfig {
    fn from(config: &Config) -> Self {
        Self {
            rto: RtoConfig {
                initial: config.rto_initial,
                min: config.rto_min,
                max: config.rto_max,
                ..RtoConfig::default()
            },
            hb_interval: config.hb_interval,
            hb_max_burst: config.moves.hb_max_burst(),
            path_max_retrans: config.path_max_retrans,
            failover: config.failover,
            overlap: config.moves.is_fast(),
            aggregate: config.paths == PathUse::Aggregate,
            assoc_max_retrans: config.assoc_max_retrans,
            pmtu: config.usable_pmtu(),
            controller: config.controller.clone(),
            initial_window: config.initial_window,
        }
    }
}

impl<'a> From<&'a Config> for OutboundConfig<'a> {
    fn from(config: &'a Config) -> Self {
        Self {
            scheduler: &config.streams.scheduler,
            send_buffer: config.send_buffer,
            max_burst: config.max_burst,
            full_packets: config.max_segments > 1,
            copies_small: config.paths == PathUse::Redundant,
            retransmission_path: config.retransmission_path,
            loss_recovery: config.loss_recovery,
            spurious_timeouts: config.spurious_timeouts,
            loss_classifier: config.loss_classifier.as_ref(),
            silence: config.failover.silence,
            sack_delay: config.sack_delay,
            trace: config.trace,
        }
    }
}

impl From<&Config> for InboundConfig {
    fn from(config: &Config) -> Self {
        Self {
            receive_buffer: config.receive_buffer,
            pmtu: config.pmtu.max(),
            sack_delay: config.sack_delay,
            sack_frequency: config.sack_frequency,
            max_gap_blocks: config.max_gap_blocks,
        }
    }
}

#[cfg(test)]
mod tests {
    use msctp_congestion::StartState;
    use msctp_wire::ChunkType;

    use super::*;
    use crate::handover::{Action, HandoverPolicy, PathView, View};

    /// Maximum number of options of an association. Each is a liability: merge or remove one before adding
    /// another.
    const MOST_OPTIONS: usize = 45;

    /// Returns the names of the options: the fields of `Config` and of the structs nested in it that group
    /// options.
    fn options() -> Vec<String> {
        let groups = ["FailoverConfig {", "AuthConfig {", "OfferConfig {", "StreamsConfig {"];
        let text = format!("{:#?}", Config::default());
        let (mut options, mut path, mut skipped) = (Vec::new(), Vec::new(), None);
        for line in text.lines().skip(1) {
            let indent = line.len() - line.trim_start().len();
            let line = line.trim_start();
            match (line.split_once(": "), skipped) {
                (_, Some(outer)) if indent > outer => {}
                (_, Some(_)) => skipped = None,
                (Some((name, value)), None) if groups.contains(&value) => path.push(name),
                (Some((name, value)), None) => {
                    options.push([&path[..], &[name]].concat().join("."));
                    skipped = value.ends_with(['{', '[', '(']).then_some(indent);
                }
                (None, None) => drop(path.pop()),
            }
        }
        options
    }

    /// A policy that wants a chunk type for itself.
    #[derive(Debug)]
    struct Wants(&'static [ChunkType]);

    impl HandoverPolicy for Wants {
        fn name(&self) -> &'static str {
            "wants"
        }

        fn private_chunks(&self) -> &'static [ChunkType] {
            self.0
        }

        fn on_primary_switch(
            &mut self,
            _: &PathView,
            _: &PathView,
            _: &View<'_>,
            _: &mut Vec<Action>,
        ) -> Option<StartState> {
            None
        }
    }

    #[test]
    fn a_policy_cannot_have_a_chunk_type_of_the_core() {
        let with = |wanted: &'static [ChunkType]| {
            let handover_policy = PolicyFactory::new(move || Box::new(Wants(wanted)));
            Config { handover_policy, ..Config::default() }.validate()
        };
        assert_eq!(with(&[ChunkType(0xba), ChunkType(0xbe)]), Ok(()));
        let error = with(&[ChunkType(0xba), ChunkType::STREAM_CREDIT]).unwrap_err().to_string();
        assert!(error.contains("handover_policy") && error.contains("STREAM CREDIT"), "{error}");
    }

    #[test]
    fn the_number_of_options_does_not_grow() {
        let options = options();
        for known in
            ["rto_initial", "failover.silence", "auth.keys", "streams.scheduler", "controller", "trace"]
        {
            assert!(options.iter().any(|name| name == known), "{known} in {options:?}");
        }
        assert!(options.len() <= MOST_OPTIONS, "{} options: {options:?}", options.len());
    }

    #[test]
    fn the_defaults_are_valid_and_rfc_9260_section_16() {
        let config = Config::default();
        assert_eq!(config.validate(), Ok(()));
        assert_eq!(EndpointConfig::default().validate(), Ok(()));
        assert_eq!(config.rto_initial, Span::from_secs(1));
        assert_eq!(config.path_max_retrans, 5);
        assert_eq!(config.assoc_max_retrans, 10);
        assert_eq!(config.max_init_retransmits, 8);
        assert_eq!(config.max_burst, 4);
    }

    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
    //= type=test
    //# An implementation MUST NOT allow the maximum delay (protocol parameter 'SACK.Delay') to be configured
    //# to be more than 500 ms.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-6.2
    //= type=test
    //# MUST NOT raise it above 500 ms.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
    //= type=test
    //# The Advertised Receiver Window Credit MUST NOT be smaller than 1500.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
    //= type=test
    //# The value of 0 MUST NOT be used
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.2
    //= type=test
    //# The value 0 MUST NOT be used.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
    //= type=test
    //# The Advertised Receiver Window Credit MUST NOT be smaller than 1500.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
    //= type=test
    //# The value of 0 MUST NOT be used
    //= https://www.rfc-editor.org/rfc/rfc9260#section-3.3.3
    //= type=test
    //# The value 0 MUST NOT be used.
    #[test]
    fn each_error_names_the_field_the_value_and_the_remedy() {
        let wrong = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        assert_eq!(
            wrong(|c| c.sack_delay = Span::from_millis(501)),
            "sack_delay = 501ms: want at most 500ms"
        );
        assert_eq!(
            wrong(|c| c.rto_max = Span::from_millis(500)),
            "rto_max = 500ms: want at least rto_min (1s)"
        );
        assert_eq!(
            wrong(|c| c.rto_initial = Span::from_secs(61)),
            "rto_initial = 61s: want between rto_min (1s) and rto_max (60s)"
        );
        assert_eq!(
            wrong(|c| c.initial_window = InitialWindow::Packets(0)),
            "initial_window = Packets(0): want at least 1"
        );
        assert_eq!(
            wrong(|c| c.streams.scheduler = "fifo".to_owned()),
            "scheduler = fifo: want one of first-come, round-robin, round-robin-packet, priority, fair, \
             weighted-fair"
        );
        assert_eq!(wrong(|c| c.pmtu = Pmtu::Fixed(100)), "pmtu = 100: want 512 to 65535 bytes");
        assert_eq!(wrong(|c| c.receive_buffer = 1499), "receive_buffer = 1499: want at least 1500 bytes");
        assert_eq!(
            wrong(|c| c.failover.primary_switchover_threshold = Some(4)),
            "primary_switchover_threshold = 4: want 5 (where data leaves the primary) to 255 errors"
        );
        assert_eq!(wrong(|c| c.outbound_streams = 0), "outbound_streams = 0: want at least 1");
    }
}
