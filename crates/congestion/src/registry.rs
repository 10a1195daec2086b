//! Registry of controllers by name, and the tools for other registries. A new controller is one file and one
//! line here.

use std::fmt;

use crate::{
    Bbr, Controller, ControllerConfig, Cubic, OptionInfo, Reno, Rfc4960, Rfc9260, bbr, cubic, reno, rfc9260,
};

/// A registry entry: made by name, with a function of type `M`.
#[derive(Clone, Copy, Debug)]
pub struct Registered<M: 'static> {
    /// Its name in scenario files and on the command line.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The options it reads.
    pub options: &'static [OptionInfo],
    /// Makes one.
    pub make: M,
}

impl<M> Registered<M> {
    /// Returns the entry called `name` in `registry`; errors call it a `what`.
    ///
    /// # Errors
    /// [`UnknownName`] if there is none of that name.
    pub fn find(
        registry: &'static [Self],
        what: &'static str,
        name: &str,
    ) -> Result<&'static Self, UnknownName> {
        let found = registry.iter().find(|info| info.name == name);
        found.ok_or_else(|| UnknownName {
            what,
            name: name.to_owned(),
            known: registry.iter().map(|info| info.name).collect(),
        })
    }
}

/// A controller that [`create`] can make for a path; its options are those of [`ControllerConfig::options`].
pub type ControllerInfo = Registered<fn(&ControllerConfig) -> Box<dyn Controller>>;

/// The registry.
const CONTROLLERS: &[ControllerInfo] = &[
    ControllerInfo {
        name: Rfc9260::NAME,
        summary: "slow start and congestion avoidance of RFC 9260 §7.2",
        options: rfc9260::OPTIONS,
        make: |config| Box::new(Rfc9260::new(config)),
    },
    ControllerInfo {
        name: Rfc4960::NAME,
        summary: "the same, but only SACKs that advance the Cumulative TSN Ack Point open the window (RFC 4960 §7.2)",
        options: rfc9260::OPTIONS,
        make: |config| Box::new(Rfc4960::new(config)),
    },
    ControllerInfo {
        name: reno::NAME,
        summary: "TCP's slow start and congestion avoidance (RFC 5681), counting bytes (RFC 3465) or as ns-2 does",
        options: reno::OPTIONS,
        make: |config| Box::new(Reno::new(config)),
    },
    ControllerInfo {
        name: cubic::NAME,
        summary: "CUBIC (RFC 9438) with HyStart++ (RFC 9406)",
        options: cubic::OPTIONS,
        make: |config| Box::new(Cubic::new(config)),
    },
    ControllerInfo {
        name: bbr::NAME,
        summary: "BBR version 3 (draft-ietf-ccwg-bbr): a model of the path's bandwidth and round trip, paced",
        options: bbr::OPTIONS,
        make: |config| Box::new(Bbr::new(config)),
    },
];

/// All controllers, in a fixed order, the default first.
pub fn controllers() -> &'static [ControllerInfo] {
    CONTROLLERS
}

/// Controllers that need neither packet events nor pacing ([`Controller::models_delivery`] is false).
pub fn window_controllers() -> impl Iterator<Item = &'static ControllerInfo> {
    let config = ControllerConfig::rfc9260(1452, crate::IpVersion::V4);
    CONTROLLERS.iter().filter(move |info| !(info.make)(&config).models_delivery())
}

/// The controller called `name`.
///
/// # Errors
/// [`UnknownName`] if there is no such name; it lists the known ones.
pub fn find(name: &str) -> Result<&'static ControllerInfo, UnknownName> {
    Registered::find(CONTROLLERS, "congestion controller", name)
}

/// Makes the controller called `name` for one path.
///
/// # Errors
/// As [`find`].
pub fn create(name: &str, config: &ControllerConfig) -> Result<Box<dyn Controller>, UnknownName> {
    Ok((find(name)?.make)(config))
}

/// A name that the registry does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownName {
    /// What kind of entry was requested.
    pub what: &'static str,
    /// The requested name.
    pub name: String,
    /// The names there are.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no {} is called {:?}; {}", self.what, self.name, self.known())
    }
}

impl UnknownName {
    /// Describes the allowed names.
    pub fn want(&self) -> String {
        format!("a {}: {}", self.what, self.known())
    }

    fn known(&self) -> String {
        let nearest = nearest_name(&self.name, self.known.iter().copied());
        let nearest = nearest.map_or(String::new(), |nearest| format!("the nearest is {nearest:?} "));
        format!("{nearest}(there are: {})", self.known.join(" "))
    }
}

/// The candidate that `name` was probably meant to be: the one at the least edit distance, the first of
/// equals, case ignored; `None` only if there is no candidate. For error messages, not for look-up.
pub fn nearest_name<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates.into_iter().min_by_key(|candidate| edit_distance(name, candidate))
}

/// Levenshtein distance between the lower-cased texts, over at most 64 characters of each: names are short,
/// and the text may come from a file that is not ours.
fn edit_distance(a: &str, b: &str) -> usize {
    let lower = |s: &str| s.chars().take(64).flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (lower(a), lower(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IpVersion;

    #[test]
    fn every_registered_controller_can_be_made_under_its_own_name() {
        let config = ControllerConfig::rfc9260(1452, IpVersion::V4);
        for info in controllers() {
            assert_eq!(create(info.name, &config).unwrap().name(), info.name);
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let error = create("RFC9620", &ControllerConfig::rfc9260(1452, IpVersion::V4)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("\"RFC9620\"") && text.contains("\"rfc9260\""), "{text}");
    }

    #[test]
    fn nearest_is_by_edit_distance_and_first_of_equals() {
        assert_eq!(nearest_name("adaptve", ["conservative", "adaptive"]), Some("adaptive"));
        assert_eq!(nearest_name("Inherited", ["conservative", "inherit"]), Some("inherit"));
        assert_eq!(nearest_name("xy", ["ab", "cd"]), Some("ab"));
        assert_eq!(nearest_name("x", []), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", ""), 3);
    }
}
