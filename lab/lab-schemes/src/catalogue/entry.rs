//! [`Entry`]: a scheme by name.

use msctp_names::UnknownName;

use super::OptionInfo;

/// A scheme by name, made by a function of type `M`.
#[derive(Clone, Copy, Debug)]
pub struct Entry<M: 'static> {
    /// Its name in scenario files and on the command line.
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    /// The options it reads.
    pub options: &'static [OptionInfo],
    /// Makes an instance.
    pub make: M,
}

impl<M> Entry<M> {
    /// Returns the entry called `name` in `entries`; errors call it a `what`.
    ///
    /// # Errors
    /// [`UnknownName`] if there is none of that name.
    pub fn find(
        entries: &'static [Self],
        what: &'static str,
        name: &str,
    ) -> Result<&'static Self, UnknownName> {
        let found = entries.iter().find(|info| info.name == name);
        found.ok_or_else(|| UnknownName {
            what,
            name: name.to_owned(),
            known: entries.iter().map(|info| info.name).collect(),
        })
    }
}
