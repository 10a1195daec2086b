//! SCTP profiles of a scenario: named sets of the core's options, by the core's own names.

use toml::de::DeTable;

use msctp_proto::{
    AuthPolicy, Config, LossRecovery, Moves, PathUse, Pmtu, Protection, Reconfiguration, RetransmissionPath,
    SpuriousTimeouts, schedulers,
};

use super::document::Section;
use super::error::Problem;
use super::{Schemes, keys, options, policy};
use crate::held::controllers_with_held;

/// A named set of SCTP options.
#[derive(Clone, Debug, PartialEq)]
pub struct SctpProfile {
    /// Unique among profiles.
    pub name: String,
    /// The options.
    pub config: Config,
}

/// Returns the core's defaults for links with a known MTU: packets have the length `pmtu` from the start, and
/// no probes disturb the measurement. `pmtu_discovery = true` enables discovery.
fn rfc9260() -> Config {
    Config { pmtu: Pmtu::Fixed(1500), ..Config::default() }
}

/// Returns the core's WebRTC options, adapted as in [`rfc9260`].
fn webrtc() -> Config {
    Config { pmtu: Pmtu::Fixed(1500), ..Config::webrtc() }
}

/// The core's options of a profile, and its controller by name and options in the catalogue.
#[derive(Clone, Copy)]
struct CoreProfile {
    name: &'static str,
    config: fn() -> Config,
    controller: (&'static str, &'static [(&'static str, u64)]),
}

const PROFILES: [CoreProfile; 3] = [
    CoreProfile { name: "rfc9260", config: rfc9260, controller: ("rfc9260", &[]) },
    CoreProfile { name: "mobile", config: Config::mobile, controller: ("delay-bound", &[]) },
    CoreProfile { name: "webrtc", config: webrtc, controller: ("rfc9260", &[]) },
];

/// Reads `[sctp.NAME]`. An omitted key has the value of its `profile`: RFC 9260's defaults, or another set of
/// the core's.
pub(super) fn read(table: &DeTable<'_>, name: String, schemes: &Schemes) -> Result<SctpProfile, Problem> {
    let section = Section::open(table, format!("sctp.{name}"), &keys::SCTP.names())?;
    let profiles = PROFILES.map(|profile| (profile.name, profile));
    let profile = section.choice("profile", &profiles)?.unwrap_or(PROFILES[0]);
    let mut config = (profile.config)();
    spans(&section, &mut config)?;
    numbers(&section, &mut config)?;
    words(&section, &mut config)?;
    flags(&section, &mut config)?;
    config.pmtu = pmtu(&section, config.pmtu)?;
    config.auth.policy = auth_policy(&section, config.auth.policy)?;
    if section.choice("protection", &[("off", false), ("psk", true)])?.unwrap_or(false) {
        config.protection = protection().map_err(|why| Problem::new(section.key("protection"), why))?;
    }
    config.spurious_timeouts = spurious_timeouts(&section, config.spurious_timeouts)?;
    failover(&section, &mut config)?;
    config.controller = options::controller(&section, controllers_with_held(), profile.controller, schemes)?;
    names(&section, &mut config)?;
    if let Some(window) = policy::initial_window(&section, "initial_window")? {
        config.initial_window = window;
    }
    if let Some(ssthresh) = section.integer("initial_ssthresh", 1, i128::from(i64::MAX))? {
        config.controller = config.controller.with_initial_ssthresh(ssthresh);
    }
    policy::read(&section, &mut config, schemes)?;
    Ok(SctpProfile { name, config })
}

/// Reads the keys whose value is one of several words.
fn words(section: &Section<'_, '_>, config: &mut Config) -> Result<(), Problem> {
    let paths = [("alternate", RetransmissionPath::Alternate), ("same", RetransmissionPath::Same)];
    if let Some(path) = section.choice("retransmission_path", &paths)? {
        config.retransmission_path = path;
    }
    if let Some(moves) = section.choice("moves", &[("standard", Moves::Standard), ("fast", Moves::Fast)])? {
        config.moves = moves;
    }
    let uses = [("one", PathUse::One), ("aggregate", PathUse::Aggregate), ("redundant", PathUse::Redundant)];
    if let Some(paths) = section.choice("paths", &uses)? {
        config.paths = paths;
    }
    let reconfiguration =
        [("off", Reconfiguration::Off), ("own", Reconfiguration::Own), ("accept", Reconfiguration::Accept)];
    if let Some(reconfiguration) = section.choice("reconfiguration", &reconfiguration)? {
        config.streams.reconfiguration = reconfiguration;
    }
    let kinds = [
        ("rfc9260", LossRecovery::Rfc9260),
        ("prr", LossRecovery::Prr),
        ("rack", LossRecovery::Rack),
        ("rack-prr", LossRecovery::RackPrr),
    ];
    if let Some(kind) = section.choice("loss_recovery", &kinds)? {
        config.loss_recovery = kind;
    }
    Ok(())
}

/// Reads the keys that are true or false.
fn flags(section: &Section<'_, '_>, config: &mut Config) -> Result<(), Problem> {
    for (key, field) in [
        ("list_addresses", &mut config.offer.list_addresses),
        ("dynamic_addresses", &mut config.offer.dynamic_addresses),
        ("lower_layer_protects", &mut config.offer.lower_layer_protects),
        ("ecn", &mut config.ecn),
        ("interleaving", &mut config.streams.interleaving),
        ("partial_reliability", &mut config.streams.partial_reliability),
    ] {
        if let Some(flag) = section.flag(key)? {
            *field = flag;
        }
    }
    Ok(())
}

/// Reads the thresholds of RFC 7829 and of the detection of silence.
fn failover(section: &Section<'_, '_>, config: &mut Config) -> Result<(), Problem> {
    for (key, field) in [
        ("potentially_failed_threshold", &mut config.failover.potentially_failed_threshold),
        ("primary_switchover_threshold", &mut config.failover.primary_switchover_threshold),
    ] {
        if let Some(threshold) = section.integer(key, 0, 255)? {
            *field = Some(threshold);
        }
    }
    if let Some(least) = section.span("silence")? {
        config.failover.silence = Some(least);
    }
    Ok(())
}

/// Reads `pmtu` and `pmtu_discovery`, which says whether `pmtu` is the limit of discovery or the size for
/// every path.
fn pmtu(section: &Section<'_, '_>, default: Pmtu) -> Result<Pmtu, Problem> {
    let bytes = section.integer("pmtu", 0, i128::from(u32::MAX))?.unwrap_or(default.max());
    let discovered = section.flag("pmtu_discovery")?.unwrap_or(default.is_discovered());
    Ok(if discovered { Pmtu::UpTo(bytes) } else { Pmtu::Fixed(bytes) })
}

/// Reads `authentication` (enables AUTH) and `auth` (whether chunks that change addresses require it).
fn auth_policy(section: &Section<'_, '_>, default: AuthPolicy) -> Result<AuthPolicy, Problem> {
    let speaks = section.flag("authentication")?.unwrap_or(default.speaks());
    let required = section.choice("auth", &[("required", true), ("not-required", false)])?;
    Ok(match (speaks, required.unwrap_or(default.protects_addresses())) {
        (true, true) => AuthPolicy::Required,
        (true, false) => AuthPolicy::NotRequired,
        (false, true) => AuthPolicy::Off,
        (false, false) => AuthPolicy::Unprotected,
    })
}

/// Returns protection by the DTLS chunk under one key that all associations of all scenarios share, so that
/// runs are repeatable.
#[cfg(not(target_arch = "wasm32"))]
fn protection() -> Result<Protection, &'static str> {
    use std::sync::{Arc, OnceLock};

    use msctp_protection::{CipherSuite, Ring, Secret};
    use msctp_proto::KeyManagement;

    static KEYS: OnceLock<Arc<KeyManagement>> = OnceLock::new();
    let keys = KEYS.get_or_init(|| {
        let key = Secret::from(&[0; 32][..]);
        let keys = KeyManagement::pre_shared(Arc::new(Ring), CipherSuite::Aes128GcmSha256, key);
        Arc::new(keys.expect("a key of 32 bytes"))
    });
    Ok(Protection::Required(Arc::clone(keys)))
}

/// Returns an error, since a build for the browser has no cryptography.
#[cfg(target_arch = "wasm32")]
fn protection() -> Result<Protection, &'static str> {
    Err("\"psk\" is not available in a browser; use \"off\", or run the scenario with msctp-lab sim")
}

/// Reads `frto` and `restart_rtt_after_spurious`.
fn spurious_timeouts(
    section: &Section<'_, '_>,
    default: SpuriousTimeouts,
) -> Result<SpuriousTimeouts, Problem> {
    let undo = section.flag("frto")?.unwrap_or(default != SpuriousTimeouts::Ignore);
    let restart = section.flag("restart_rtt_after_spurious")?;
    Ok(match (undo, restart.unwrap_or(default == SpuriousTimeouts::UndoAndRestartRtt)) {
        (false, _) => SpuriousTimeouts::Ignore,
        (true, false) => SpuriousTimeouts::Undo,
        (true, true) => SpuriousTimeouts::UndoAndRestartRtt,
    })
}

/// Reads the options that the core selects by name.
fn names(section: &Section<'_, '_>, config: &mut Config) -> Result<(), Problem> {
    config.loss_classifier = options::classifier(section)?;
    let schedulers: Vec<_> = schedulers().iter().map(|info| (info.name, info.name)).collect();
    if let Some(name) = section.choice("scheduler", &schedulers)? {
        name.clone_into(&mut config.streams.scheduler);
    }
    Ok(())
}

fn spans(section: &Section<'_, '_>, config: &mut Config) -> Result<(), Problem> {
    for (key, field) in [
        ("rto_initial", &mut config.rto_initial),
        ("rto_min", &mut config.rto_min),
        ("rto_max", &mut config.rto_max),
        ("hb_interval", &mut config.hb_interval),
        ("sack_delay", &mut config.sack_delay),
    ] {
        if let Some(span) = section.span(key)? {
            *field = span;
        }
    }
    Ok(())
}

fn numbers(section: &Section<'_, '_>, config: &mut Config) -> Result<(), Problem> {
    for (key, field) in [
        ("path_max_retrans", &mut config.path_max_retrans),
        ("assoc_max_retrans", &mut config.assoc_max_retrans),
        ("max_init_retransmits", &mut config.max_init_retransmits),
        ("sack_frequency", &mut config.sack_frequency),
        ("max_gap_blocks", &mut config.max_gap_blocks),
        ("receive_buffer", &mut config.receive_buffer),
        ("send_buffer", &mut config.send_buffer),
        ("max_burst", &mut config.max_burst),
    ] {
        if let Some(number) = section.integer(key, 0, i128::from(u32::MAX))? {
            *field = number;
        }
    }
    for (key, field) in [
        ("outbound_streams", &mut config.outbound_streams),
        ("max_inbound_streams", &mut config.max_inbound_streams),
    ] {
        if let Some(number) = section.integer(key, 0, i128::from(u16::MAX))? {
            *field = number;
        }
    }
    Ok(())
}

/// Checks a profile by the core's own rules.
pub(super) fn check(profile: &SctpProfile) -> Result<(), Problem> {
    profile.config.validate().map_err(|e| {
        Problem::new(
            format!("sctp.{}.{}", profile.name, e.field),
            format!("{} cannot be used: want {}", e.value, e.want),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_the_controller_of_the_core() {
        for profile in PROFILES {
            let text = format!("profile = {:?}", profile.name);
            let read = read(DeTable::parse(&text).unwrap().get_ref(), "x".to_owned(), &Schemes::none());
            let read = read.unwrap_or_else(|_| panic!("{}", profile.name));
            assert_eq!(read.config, (profile.config)(), "{}", profile.name);
        }
    }
}
