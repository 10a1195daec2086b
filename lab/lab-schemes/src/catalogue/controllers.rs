//! Congestion controllers by name. A new controller is one file and one line here.

use msctp_congestion::{
    Bbr, BbrConfig, ControllerConfig, ControllerFactory, Cubic, CubicConfig, DelayBound, DelayBoundConfig,
    IpVersion, Lia, LiaConfig, Reno, RenoConfig, Rfc9260, Rfc9260Config,
};

use super::{Entry, OptionInfo, Options, UnknownName};
use crate::controllers::{Rfc4960, Rfc4960Config};

/// A controller by name; makes the factory that the core takes.
pub type ControllerEntry = Entry<fn(&Options) -> ControllerFactory>;

const LIMIT: OptionInfo = OptionInfo::integer(
    "l",
    0,
    (0, 1_000_000),
    "L: slow start opens the window by at most L packets per ACK (RFC 3465 §2.2); 0: 8 with HyStart++ (RFC 9406 §4.2), \
     otherwise 1 (RFC 5681 §3.1)",
);

const fn hystart(default: bool) -> OptionInfo {
    OptionInfo::flag(
        "hystart",
        default,
        "leave the first slow start when the round trip grows (HyStart++, RFC 9406)",
    )
}

const HYSTART: OptionInfo = hystart(false);
const COUNT_ACKS: OptionInfo = OptionInfo::flag(
    "count_acks",
    false,
    "one packet per ACK in slow start and 1/cwnd packet per ACK above, as ns-2's TCP, not by bytes",
);
const GROW_UNUSED: OptionInfo = OptionInfo::flag(
    "grow_unused",
    false,
    "grow the window even if it is not fully used (RFC 5681 allows it, ns-2 does it)",
);
const CUBIC_HYSTART: OptionInfo = hystart(true);
const BETA: OptionInfo = OptionInfo::thousandths(
    "beta",
    700,
    (100, 950, 1),
    "share of the window kept after a loss (RFC 9438 §4.6)",
);
const C: OptionInfo = OptionInfo::thousandths(
    "c",
    400,
    (1, 10_000, 1),
    "steepness of the curve, in packets per cubic second (RFC 9438 §5.1)",
);
const FAST_CONVERGENCE: OptionInfo = OptionInfo::flag(
    "fast_convergence",
    true,
    "release bandwidth to new flows if the window fell twice in a row (RFC 9438 §4.7)",
);
const RENO_FRIENDLY: OptionInfo =
    OptionInfo::flag("reno_friendly", true, "never open the window slower than Reno would (RFC 9438 §4.3)");
const BBR_HYSTART: OptionInfo = OptionInfo::flag(
    "hystart",
    false,
    "heed the round trip: leave Startup and each probe for bandwidth when it grows, by the measure of HyStart++ (RFC 9406), \
     stay below the bandwidth only while it shows a queue, and look for the shortest only when it was not seen",
);

/// Returns the option L, or `None` for 0.
fn limit(options: &Options) -> Option<u64> {
    Some(options.get(&LIMIT)).filter(|&limit| limit > 0)
}

fn rfc9260(options: &Options) -> Rfc9260Config {
    Rfc9260Config { slow_start_limit: limit(options), hystart: options.flag(&HYSTART) }
}

fn reno(options: &Options) -> ControllerFactory {
    RenoConfig {
        slow_start_limit: limit(options),
        hystart: options.flag(&HYSTART),
        count_acks: options.flag(&COUNT_ACKS),
        grow_unused: options.flag(&GROW_UNUSED),
    }
    .into()
}

fn cubic(options: &Options) -> ControllerFactory {
    CubicConfig {
        slow_start_limit: limit(options),
        hystart: options.flag(&CUBIC_HYSTART),
        beta: options.get(&BETA),
        c: options.get(&C),
        fast_convergence: options.flag(&FAST_CONVERGENCE),
        reno_friendly: options.flag(&RENO_FRIENDLY),
    }
    .into()
}

const CONTROLLERS: &[ControllerEntry] = &[
    ControllerEntry {
        name: Rfc9260::NAME,
        summary: "slow start and congestion avoidance of RFC 9260 §7.2",
        options: &[LIMIT, HYSTART],
        make: |options| rfc9260(options).into(),
    },
    ControllerEntry {
        name: Rfc4960::NAME,
        summary: "the same, but only SACKs that advance the Cumulative TSN Ack Point open the window (RFC 4960 §7.2)",
        options: &[LIMIT, HYSTART],
        make: |options| Rfc4960Config(rfc9260(options)).into(),
    },
    ControllerEntry {
        name: Reno::NAME,
        summary: "TCP's slow start and congestion avoidance (RFC 5681), counting bytes (RFC 3465) or as ns-2 does",
        options: &[LIMIT, HYSTART, COUNT_ACKS, GROW_UNUSED],
        make: reno,
    },
    ControllerEntry {
        name: Cubic::NAME,
        summary: "CUBIC (RFC 9438) with HyStart++ (RFC 9406)",
        options: &[LIMIT, CUBIC_HYSTART, BETA, C, FAST_CONVERGENCE, RENO_FRIENDLY],
        make: cubic,
    },
    ControllerEntry {
        name: Lia::NAME,
        summary: "coupled over several paths (LIA, RFC 6356): together they take one flow's share of a common bottleneck",
        options: &[],
        make: |_| LiaConfig.into(),
    },
    ControllerEntry {
        name: Bbr::NAME,
        summary: "BBR version 3 (draft-ietf-ccwg-bbr): a model of the path's bandwidth and round trip, paced",
        options: &[BBR_HYSTART],
        make: |options| BbrConfig { hystart: options.flag(&BBR_HYSTART) }.into(),
    },
    ControllerEntry {
        name: DelayBound::NAME,
        summary: "for links whose rate varies: follows the delivery rate with a bounded queueing delay, paced",
        options: &[],
        make: |_| DelayBoundConfig.into(),
    },
];

/// Returns all controllers, in a fixed order, the default first.
pub fn controllers() -> &'static [ControllerEntry] {
    CONTROLLERS
}

/// Returns the controllers that need neither packet events nor pacing
/// ([`Controller::models_delivery`](msctp_congestion::Controller::models_delivery) is false).
pub fn window_controllers() -> impl Iterator<Item = &'static ControllerEntry> {
    let path = ControllerConfig::rfc9260(1452, IpVersion::V4);
    CONTROLLERS.iter().filter(move |entry| !(entry.make)(&Options::new()).make(&path).models_delivery())
}

/// Returns the controller called `name`.
///
/// # Errors
/// [`UnknownName`] if there is no such name; it lists the known ones.
pub fn find_controller(name: &str) -> Result<&'static ControllerEntry, UnknownName> {
    Entry::find(CONTROLLERS, "congestion controller", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_makes_the_controller_of_its_name_with_its_defaults() {
        let path = ControllerConfig::rfc9260(1452, IpVersion::V4);
        let defaults: [ControllerFactory; 7] = [
            Rfc9260Config::default().into(),
            Rfc4960Config::default().into(),
            RenoConfig::default().into(),
            CubicConfig::default().into(),
            LiaConfig.into(),
            BbrConfig::default().into(),
            DelayBoundConfig.into(),
        ];
        for (entry, default) in controllers().iter().zip(defaults) {
            let factory = (entry.make)(&Options::new());
            assert_eq!((factory.make(&path).name(), &factory), (entry.name, &default));
        }
        assert_eq!((controllers()[0].make)(&Options::new()), ControllerFactory::default());
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let text = find_controller("RFC9620").unwrap_err().to_string();
        assert!(text.contains("\"RFC9620\"") && text.contains("\"rfc9260\""), "{text}");
    }
}
