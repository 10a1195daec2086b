//! Errors about unknown names ([`UnknownName`]), which suggest the nearest known one ([`suggest`]).

use std::fmt;

/// A name that is not among the known ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownName {
    /// The kind of entry requested.
    pub what: &'static str,
    /// The requested name.
    pub name: String,
    /// The valid names.
    pub known: Vec<&'static str>,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = suggest(&self.name, self.known.iter().copied());
        write!(f, "no {} is called {:?}{remedy}", self.what, self.name)
    }
}

impl UnknownName {
    /// Describes the allowed names, to follow "want".
    #[must_use]
    pub fn want(&self) -> String {
        match nearest_name(&self.name, &self.known) {
            Some(near) => format!("a {}; did you mean {near:?}?", self.what),
            None => format!("one of {}", self.known.join(", ")),
        }
    }
}

/// The longest list that [`suggest`] writes out.
const LISTED: usize = 20;

/// Returns the end of an error about an unknown `name`: `; did you mean "reno"?` if a candidate is near, else
/// `; want one of reno, cubic, bbr`. A list of more than 20 is cut.
#[must_use]
pub fn suggest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    match nearest_name(name, &candidates) {
        Some(near) => format!("; did you mean {near:?}?"),
        None if candidates.is_empty() => "; there are none".to_owned(),
        None if candidates.len() <= LISTED => format!("; want one of {}", candidates.join(", ")),
        None => {
            let first = candidates[..LISTED].join(", ");
            format!("; want one of {first}, … ({} in all)", candidates.len())
        }
    }
}

/// Returns the candidate that a mistyped `name` was meant to be: the one at the least edit distance, the
/// first of equals, case ignored. `None` if more than a quarter of the name, plus one character, would have
/// to change, or all of it.
fn nearest_name<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let near = candidates.iter().copied().min_by_key(|candidate| edit_distance(name, candidate))?;
    let (distance, len) = (edit_distance(name, near), name.chars().count());
    (distance <= 1 + len / 4 && distance < len).then_some(near)
}

/// Returns the edit distance between the lower-cased texts: characters inserted, deleted or replaced, and
/// neighbours exchanged. Looks at 64 characters of each: the text may come from a file that is not ours.
fn edit_distance(a: &str, b: &str) -> usize {
    let lower = |s: &str| s.chars().take(64).flat_map(char::to_lowercase).collect::<Vec<_>>();
    let (a, b) = (lower(a), lower(b));
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 0..a.len() {
        let above = &rows[i];
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = above[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_by_edit_distance_and_first_of_equals() {
        assert_eq!(nearest_name("adaptve", &["conservative", "adaptive"]), Some("adaptive"));
        assert_eq!(nearest_name("Inherited", &["conservative", "inherit"]), Some("inherit"));
        assert_eq!(nearest_name("ba", &["aa", "bb"]), Some("aa"));
        assert_eq!(nearest_name("x", &[]), None);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("cbr", "crb"), 1);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", ""), 3);
    }

    #[test]
    fn a_name_far_from_every_candidate_gets_the_whole_list() {
        let policies = ["conservative", "inherit", "oracle"];
        assert_eq!(suggest("foo", policies), "; want one of conservative, inherit, oracle");
        assert_eq!(suggest("orakel", policies), "; did you mean \"oracle\"?");
        assert_eq!(suggest("9", ["0", "1"]), "; want one of 0, 1");
        assert_eq!(suggest("foo", []), "; there are none");
        let many: Vec<String> = (100..125).map(|n| n.to_string()).collect();
        let text = suggest("foo", many.iter().map(String::as_str));
        assert!(text.ends_with("118, 119, … (25 in all)"), "{text}");
        let unknown =
            |name: &str| UnknownName { what: "policy", name: name.to_owned(), known: policies.into() };
        assert_eq!(unknown("foo").want(), "one of conservative, inherit, oracle");
        assert_eq!(unknown("orakle").want(), "a policy; did you mean \"oracle\"?");
        assert_eq!(unknown("orakle").to_string(), "no policy is called \"orakle\"; did you mean \"oracle\"?");
    }
}
