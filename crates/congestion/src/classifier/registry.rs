//! Classifiers by name. A new classifier is one file and one line here.

use super::{LossClassifier, None, Oracle, ParkJang, park_jang};
use crate::{Options, Registered, UnknownName};

/// A classifier that [`create`] can make for a path, from its options.
pub type ClassifierInfo = Registered<fn(&Options) -> Box<dyn LossClassifier>>;

/// The registry.
const CLASSIFIERS: &[ClassifierInfo] = &[
    ClassifierInfo {
        name: None::NAME,
        summary: "every loss is congestion",
        options: &[],
        make: |_| Box::new(None),
    },
    ClassifierInfo {
        name: ParkJang::NAME,
        summary: "by the round trip before the loss (Park & Jang, inequality 1)",
        options: &[park_jang::K],
        make: |options| Box::new(ParkJang::new(options)),
    },
    ClassifierInfo {
        name: Oracle::NAME,
        summary: "the simulator tells which link lost the packet",
        options: &[],
        make: |_| Box::new(Oracle),
    },
];

/// All classifiers, in a fixed order, the default first.
pub fn classifiers() -> &'static [ClassifierInfo] {
    CLASSIFIERS
}

/// The classifier called `name`.
///
/// # Errors
/// [`UnknownName`] if there is no such name; it lists the known ones.
pub fn find(name: &str) -> Result<&'static ClassifierInfo, UnknownName> {
    Registered::find(CLASSIFIERS, "loss classifier", name)
}

/// Makes the classifier called `name` for one path.
///
/// # Errors
/// As [`find`].
pub fn create(name: &str, options: &Options) -> Result<Box<dyn LossClassifier>, UnknownName> {
    Ok((find(name)?.make)(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_classifier_can_be_made_under_its_own_name() {
        for info in classifiers() {
            assert_eq!(create(info.name, &Options::new()).unwrap().name(), info.name);
        }
        let error = create("park-yang", &Options::new()).unwrap_err().to_string();
        assert!(
            error.contains("no loss classifier") && error.contains("did you mean \"park-jang\""),
            "{error}"
        );
    }
}
