//! Tools for registries of names.

use std::fmt;

use crate::OptionInfo;

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
