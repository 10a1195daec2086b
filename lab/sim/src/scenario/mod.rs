//! A scenario: plain data that describe a simulation, from a TOML file or from code. The same rules apply to
//! both ([`Scenario::check`]).

mod actions;
mod apps;
mod check;
pub mod compose;
mod configs;
pub mod document;
mod error;
mod frames;
pub mod keys;
mod link;
mod node;
mod options;
mod outside;
mod policy;
mod read;
mod resolved;
mod routes;
mod schemes;
mod sctp;
mod tcp;
mod usage;

pub use crate::middlebox::{
    Change as MiddleboxChange, Dependence, FirewallOptions, MiddleboxOptions, NatOptions, PortalOptions,
};
pub use crate::mobile_ip::{AgentOptions, MobileOptions, Switching};
pub use crate::mobility::{Position, Waypoint};
pub use actions::{ActionSpec, Do, Happening, Level, SAMPLING, When};
pub use apps::{AppKind, AppSpec, AssociationSpec, Sending, Side};
pub(crate) use configs::Configs;
pub(crate) use error::suggest;
pub use error::{Problem, ScenarioError};
pub use frames::{Frame, FramesError, LEAST_FRAME, MOST_FRAME, read_frames};
pub use link::{
    CellularChannel, CellularSpec, CodingSpec, DirectionSpec, EgprsSpec, Fading, LinkDirection, LinkFactory,
    LinkSpec, LteSpec, OwnLink, OwnSpec, PlainSpec, TraceSpec, WlanSpec,
};
pub use msctp_link::{LossConfig, QueueLimit};
pub use node::{MiddleboxSpec, MobileSpec, NodeKind, NodeSpec};
pub use outside::WithOutsideHosts;
pub use resolved::resolved;
pub(crate) use routes::{DirectionIndex, Interface, NO_ROUTE, Outside, Routes};
pub use schemes::Schemes;
pub use sctp::SctpProfile;
pub use tcp::{TcpProfile, TcpSpec};

use std::collections::BTreeMap;
use std::net::IpAddr;

use msctp_proto::MIN_PMTU;
use msctp_units::Span;

/// Length of a UDP header in bytes (RFC 768).
pub(crate) const UDP_HEADER: u32 = 8;

/// The description of a simulation.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Short name for reports.
    pub name: String,
    /// Purpose, in one sentence.
    pub description: String,
    /// Virtual time after which the run ends.
    pub duration: Span,
    /// Seed of every random stream.
    pub seed: u64,
    /// Hosts and routers.
    pub nodes: Vec<NodeSpec>,
    /// Links between the nodes.
    pub links: Vec<LinkSpec>,
    /// Named sets of SCTP options.
    pub sctp: Vec<SctpProfile>,
    /// SCTP associations.
    pub associations: Vec<AssociationSpec>,
    /// Named sets of TCP options.
    pub tcp_profiles: Vec<TcpProfile>,
    /// TCP connections.
    pub tcp: Vec<TcpSpec>,
    /// Traffic sources and readers.
    pub apps: Vec<AppSpec>,
    /// Actions and their times: mobility, address changes, primary switches.
    pub actions: Vec<ActionSpec>,
    /// Time series to record.
    pub probes: ProbeSpec,
}

/// Time series to record. Disabled ones cost nothing.
#[derive(Clone, Debug, Default)]
pub struct ProbeSpec {
    /// Length of the intervals over which delivered bytes are summed; `None` for no recording.
    pub throughput: Option<Span>,
    /// True to record the time and size of every delivery, 16 bytes each.
    pub deliveries: bool,
    /// True to record the associations' traces: windows, round-trip times, estimates, state changes.
    pub trace: bool,
    /// True to record every DATA and SACK chunk as well, which takes much memory.
    pub chunks: bool,
    /// Interval between samples of queue lengths; `None` for no recording.
    pub queues: Option<Span>,
    /// True to record the times of every message of the video applications.
    pub messages: bool,
}

impl Scenario {
    /// Creates an empty scenario, to be filled in code.
    #[must_use]
    pub fn empty(name: &str, duration: Span, seed: u64) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            duration,
            seed,
            nodes: Vec::new(),
            links: Vec::new(),
            sctp: Vec::new(),
            associations: Vec::new(),
            tcp_profiles: Vec::new(),
            tcp: Vec::new(),
            apps: Vec::new(),
            actions: Vec::new(),
            probes: ProbeSpec::default(),
        }
    }

    /// Reads a scenario file. `file` names it in errors. `overrides` are `key=value` pairs that replace
    /// values, as `duration=10s`, `link.wlan.rate=5Mbps` or `sctp.default.initial_ssthresh=65536`. Tables are
    /// selected by name if they have one, else by number from 0. The value is TOML, or else text.
    ///
    /// # Errors
    /// The scenario is invalid. The error names the line and the key of the first fault, and the allowed
    /// values. A scenario that names other files is rejected; use
    /// [`from_toml_and_files`](Self::from_toml_and_files).
    pub fn from_toml(text: &str, file: &str, overrides: &[String]) -> Result<Self, ScenarioError> {
        let none = |_: &str| Err("no other files can be read here".to_owned());
        Self::from_toml_and_files(text, file, overrides, &none)
    }

    /// Reads a scenario like [`from_toml`](Self::from_toml), for one that may name other files, such as
    /// frame-size traces. `open` returns the text of a file by its name in the scenario, or the reason why it
    /// cannot be read.
    ///
    /// # Errors
    /// A file is invalid. The error names the line of the first fault, and the file if it is another one.
    pub fn from_toml_and_files(
        text: &str,
        file: &str,
        overrides: &[String],
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ScenarioError> {
        Self::with_schemes(text, file, overrides, open, &Schemes::none())
    }

    /// Reads a scenario like [`from_toml_and_files`](Self::from_toml_and_files), for one that may name
    /// `schemes`.
    ///
    /// # Errors
    /// Same as [`from_toml_and_files`](Self::from_toml_and_files).
    pub fn with_schemes(
        text: &str,
        file: &str,
        overrides: &[String],
        open: &dyn Fn(&str) -> Result<String, String>,
        schemes: &Schemes,
    ) -> Result<Self, ScenarioError> {
        read::scenario(text, file, overrides, (open, schemes), Ok)
    }

    /// Returns the core's options of a profile. The trace is enabled if a probe needs it. Over UDP the path
    /// MTU is smaller by a UDP header (RFC 6951 §5.6).
    pub(crate) fn config(&self, profile: Option<&str>) -> msctp_proto::Config {
        let named = self.sctp.iter().find(|p| Some(p.name.as_str()) == profile);
        let config = named.map(|p| p.config.clone()).unwrap_or_default();
        let pmtu = match config.pmtu.max() {
            mtu if self.is_encapsulated() && mtu >= MIN_PMTU => {
                config.pmtu.with_max((mtu - UDP_HEADER).max(MIN_PMTU))
            }
            _ => config.pmtu,
        };
        msctp_proto::Config { trace: self.probes.trace, max_segments: 1, pmtu, ..config }
    }

    /// Returns true if SCTP runs over UDP (RFC 6951), since middleboxes pass nothing else.
    #[must_use]
    pub fn is_encapsulated(&self) -> bool {
        self.nodes.iter().any(|node| node.middlebox.is_some())
    }

    /// Returns the addresses that actions add to each association.
    pub(crate) fn added_addresses(&self) -> BTreeMap<&str, Vec<IpAddr>> {
        let mut added: BTreeMap<&str, Vec<IpAddr>> = BTreeMap::new();
        for action in &self.actions {
            if let Do::AddAddress { association, address } = &action.what {
                added.entry(association).or_default().push(*address);
            }
        }
        added
    }

    /// Returns true if the peer may see another address in place of one of the scenario's.
    pub(crate) fn has_nat(&self) -> bool {
        let options = self.nodes.iter().filter_map(|node| Some(node.middlebox.as_ref()?.options));
        options.into_iter().any(|options| matches!(options, MiddleboxOptions::Nat(_)))
    }

    /// Returns the laboratory TCP's options of a profile, for an address of this family.
    pub(crate) fn tcp_config(&self, profile: Option<&str>, v6: bool) -> msctp_lab_tcp::Config {
        let named = self.tcp_profiles.iter().find(|p| Some(p.name.as_str()) == profile);
        let config = named.map(|p| p.config.clone()).unwrap_or_default();
        let mss = named.and_then(|p| p.mss).unwrap_or(if v6 { 1440 } else { 1460 });
        msctp_lab_tcp::Config { trace: self.probes.trace, mss, ..config }
    }

    /// Checks that names exist, addresses are used once, times lie before the end, and values are in range.
    ///
    /// # Errors
    /// A part is invalid. The error names the key of the first fault, without a line.
    pub fn check(&self) -> Result<(), ScenarioError> {
        check::scenario(self).map_err(|problem| problem.without_file())
    }
}
