//! Options of the handover policies in an SCTP profile: `[sctp.NAME.policy]`, by the core's own names.

use toml::de::DeTable;

use msctp_congestion::InitialWindow;
use msctp_lab_schemes::policies::{
    BdpDelay, PolicyConfig, ProbeRule, SwitchSsthresh, Truth, needs_truth, policies, policy,
};
use msctp_lab_schemes::wbest::WBestConfig;
use msctp_proto::{AuthPolicy, Config};

use super::document::Section;
use super::error::Problem;
use super::{Schemes, keys};

/// Reads `handover_policy` and the table `policy` of a profile. A policy's private chunks are authenticated
/// if the profile requires it for address changes.
pub(super) fn read(profile: &Section<'_, '_>, config: &mut Config, schemes: &Schemes) -> Result<(), Problem> {
    let options = options(profile)?;
    let known = policies().iter().map(|info| (info.name, (info.name, None)));
    let own = schemes.policies().map(|(name, factory)| (name, (name, Some(factory))));
    let chosen = profile.choice("handover_policy", &known.chain(own).collect::<Vec<_>>())?;
    if chosen.is_some() || options != PolicyConfig::default() {
        config.handover_policy = match chosen.unwrap_or((policies()[0].name, None)) {
            (_, Some(own)) => own.clone(),
            (name, None) if needs_truth(name) && options.truths.is_empty() => {
                let want = "want a table for each new path, such as [{ address = \"10.0.2.2\", available = \
                            \"4400kbps\", rtt = \"70ms\" }]";
                let why = format!("missing: the policy \"{name}\" starts a path at its true rate: {want}");
                return Err(Problem::new(profile.key("policy.truth"), why));
            }
            (name, None) => policy(name, &options)
                .map_err(|error| Problem::new(profile.key("policy"), error.to_string()))?,
        };
        if config.auth.policy == AuthPolicy::Required {
            let private = config.handover_policy.make().private_chunks();
            config.auth.chunks.extend(private.iter().map(|chunk_type| chunk_type.0));
        }
    }
    Ok(())
}

/// Reads the table `policy` of a profile.
fn options(profile: &Section<'_, '_>) -> Result<PolicyConfig, Problem> {
    let mut config = PolicyConfig::default();
    let Some(section) = profile.section("policy", &keys::POLICY.names())? else { return Ok(config) };
    config.initial_window = initial_window(&section, "initial_window")?;
    if let Some(ssthresh) = ssthresh(&section)? {
        config.ssthresh = ssthresh;
    }
    if let Some(bicast) = section.flag("bicast")? {
        config.bicast = bicast;
    }
    if let Some(pace) = section.flag("pace_start")? {
        config.pace_start = pace;
    }
    if let Some(switch) = section.flag("switch_on_link_down")? {
        config.switch_on_link_down = switch;
    }
    if let Some(inner) = section.section("wbest", &keys::WBEST.names())? {
        wbest(&inner, &mut config.wbest)?;
    }
    let delays = [("path", BdpDelay::Path), ("link", BdpDelay::Link)];
    if let Some(delay) = section.choice("qos_delay", &delays)? {
        config.qos_delay = delay;
    }
    if let Some(budget) = section.integer("probe_budget", 0, i128::from(u32::MAX))? {
        config.probe_budget = budget;
    }
    for (path, table) in section.items("probe_rule")? {
        config.probe_rules.push(probe_rule(table, path, config.wbest)?);
    }
    for (path, table) in section.items("truth")? {
        config.truths.push(truth(table, path)?);
    }
    Ok(config)
}

/// Reads `[[sctp.NAME.policy.truth]]`: the true capacity and delay of the paths of one address, for the
/// oracle.
fn truth(table: &DeTable<'_>, path: String) -> Result<Truth, Problem> {
    let section = Section::open(table, path, &keys::TRUTH.names())?;
    Ok(Truth {
        address: section.required("address", section.address("address")?, "\"10.0.2.2\"")?,
        available: section.required("available", section.rate("available")?, "\"4400kbps\"")?,
        rtt: section.required("rtt", section.span("rtt")?, "\"70ms\"")?,
    })
}

/// Reads `"rfc9260"`, `{ packets = 3 }` or `{ bytes = 50000 }`.
pub(super) fn initial_window(section: &Section<'_, '_>, key: &str) -> Result<Option<InitialWindow>, Problem> {
    if !section.is_table(key) {
        return section.choice(key, &[("rfc9260", InitialWindow::Rfc9260)]);
    }
    let inner = section.section(key, &keys::INITIAL_WINDOW.names())?;
    let inner = section.required(key, inner, "{ packets = 3 }")?;
    let packets = inner.integer("packets", 1, 1 << 32)?.map(InitialWindow::Packets);
    let bytes = inner.integer("bytes", 1, 1 << 40)?.map(InitialWindow::Bytes);
    match (packets, bytes) {
        (Some(window), None) | (None, Some(window)) => Ok(Some(window)),
        _ => Err(Problem::new(
            section.key(key),
            "want exactly one of packets and bytes, such as { packets = 3 } or { bytes = 50000 }",
        )),
    }
}

/// Reads `"controller"`, `"estimated-half-bdp"` or a number of bytes.
fn ssthresh(section: &Section<'_, '_>) -> Result<Option<SwitchSsthresh>, Problem> {
    if section.is_integer("ssthresh") {
        return Ok(section.integer("ssthresh", 0, i128::from(i64::MAX))?.map(SwitchSsthresh::Bytes));
    }
    section.choice(
        "ssthresh",
        &[
            ("controller", SwitchSsthresh::Controller),
            ("estimated-half-bdp", SwitchSsthresh::EstimatedHalfBdp),
        ],
    )
}

/// Applies the section's keys to the estimator's parameters.
fn wbest(section: &Section<'_, '_>, config: &mut WBestConfig) -> Result<(), Problem> {
    for (key, field) in [
        ("pairs", &mut config.pairs),
        ("train", &mut config.train),
        ("max_outstanding", &mut config.max_outstanding),
    ] {
        if let Some(number) = section.integer(key, 0, i128::from(u16::MAX))? {
            *field = number;
        }
    }
    if let Some(bytes) = section.integer("probe_bytes", 0, i128::from(u32::MAX))? {
        config.probe_bytes = bytes;
    }
    if let Some(smoothing) = section.number("smoothing")? {
        if !(smoothing > 0.0 && smoothing <= 1.0) {
            return Err(Problem::new(
                section.key("smoothing"),
                format!("{smoothing}: want more than 0, at most 1"),
            ));
        }
        config.smoothing = ((smoothing * 1000.0).round().max(1.0) as u32, 1000);
    }
    if let Some(rate) = section.rate("initial_capacity")? {
        config.initial_capacity = Some(rate);
    }
    for (key, field) in
        [("interval", &mut config.interval), ("response_timeout", &mut config.response_timeout)]
    {
        if let Some(span) = section.span(key)? {
            *field = span;
        }
    }
    config.validate().map_err(|e| Problem::new(section.path(), e.to_string()))
}

/// Reads `[[sctp.NAME.policy.probe_rule]]`: estimator parameters for the paths of one address. Omitted keys
/// are as in `wbest`.
fn probe_rule(table: &DeTable<'_>, path: String, default: WBestConfig) -> Result<ProbeRule, Problem> {
    let section = Section::open(table, path, &keys::PROBE_RULE.names())?;
    let address = section.required("address", section.address("address")?, "\"10.0.2.2\"")?;
    let mut rule = ProbeRule { address, wbest: default };
    wbest(&section, &mut rule.wbest)?;
    Ok(rule)
}
