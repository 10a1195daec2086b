//! Congestion controllers and handover policies by name, those to deploy: `--controller` and `--policy`.

use msctp::congestion::{
    BbrConfig, ControllerFactory, CubicConfig, DelayBoundConfig, LiaConfig, RenoConfig, Rfc9260Config,
};
use msctp::handover::{Anticipate, Conservative, PolicyFactory};
use msctp_names::UnknownName;

/// A name, and the function that makes what it names.
type Named<T> = (&'static str, fn() -> T);

/// The controllers. `delay-bound` is that of `Config::mobile`.
pub(super) const CONTROLLERS: [Named<ControllerFactory>; 6] = [
    ("rfc9260", || Rfc9260Config::default().into()),
    ("reno", || RenoConfig::default().into()),
    ("cubic", || CubicConfig::default().into()),
    ("lia", || LiaConfig.into()),
    ("bbr", || BbrConfig::default().into()),
    ("delay-bound", || DelayBoundConfig.into()),
];

/// Policy that moves data to the network that carries more, and starts there at the measured rate.
pub(super) const DEFAULT_POLICY: &str = Anticipate::NAME;

/// The policies. Those from the literature are the laboratory's.
pub(super) const POLICIES: [Named<PolicyFactory>; 2] = [
    ("conservative", || PolicyFactory::new(|| Box::new(Conservative))),
    (DEFAULT_POLICY, || PolicyFactory::new(|| Box::new(Anticipate::default()))),
];

/// Lists the names.
pub(super) fn names<T>(of: &'static [Named<T>]) -> Vec<&'static str> {
    of.iter().map(|(name, _)| *name).collect()
}

/// Makes what `name` names; errors call it a `what`.
pub(super) fn make<T>(of: &'static [Named<T>], what: &'static str, name: &str) -> Result<T, UnknownName> {
    let found = of.iter().find(|(known, _)| *known == name);
    let unknown = || UnknownName { what, name: name.to_owned(), known: names(of) };
    found.map(|(_, make)| make()).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use msctp::congestion::{ControllerConfig, IpVersion};

    use super::*;

    #[test]
    fn every_name_is_that_of_what_it_makes() {
        let path = ControllerConfig::rfc9260(1452, IpVersion::V4);
        for (name, make) in CONTROLLERS {
            assert_eq!(make().make(&path).name(), name);
        }
        for (name, make) in POLICIES {
            assert_eq!(make().make().name(), name);
        }
    }
}
