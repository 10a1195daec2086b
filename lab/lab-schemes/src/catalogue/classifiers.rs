//! Loss classifiers by name. A new classifier is one file and one line here.

use msctp_congestion::classifier::ClassifierFactory;

use super::{Entry, OptionInfo, Options, UnknownName};
use crate::classifiers::{Measured, MeasuredConfig, ParkJang, ParkJangConfig};

/// A loss classifier by name; makes the factory that the core takes, or `None`: no losses are classified.
///
/// Each factory makes a [`Measured`] classifier.
pub type ClassifierEntry = Entry<fn(&Options) -> Option<ClassifierFactory>>;

const K: OptionInfo = OptionInfo::thousandths(
    "k",
    1000,
    (500, 8000, 500),
    "k in inequality (1) of Park & Jang: the greater, the more losses are congestion",
);

const CLASSIFIERS: &[ClassifierEntry] = &[
    ClassifierEntry { name: "none", summary: "every loss is congestion", options: &[], make: |_| None },
    ClassifierEntry {
        name: ParkJang::NAME,
        summary: "by the round trip before the loss (Park & Jang, inequality 1)",
        options: &[K],
        make: |options| {
            // At most 16.
            let twice_k = (options.get(&K) / 500) as u8;
            measured(Some(ParkJangConfig { twice_k }.into()))
        },
    },
    ClassifierEntry {
        name: Measured::ORACLE,
        summary: "the simulator reports which link lost the packet",
        options: &[],
        make: |_| measured(None),
    },
];

fn measured(classifier: Option<ClassifierFactory>) -> Option<ClassifierFactory> {
    Some(MeasuredConfig { classifier }.into())
}

/// Returns all classifiers, in a fixed order, the default first.
pub fn classifiers() -> &'static [ClassifierEntry] {
    CLASSIFIERS
}

/// Returns the classifier called `name`.
///
/// # Errors
/// [`UnknownName`] if there is no such name; it lists the known ones.
pub fn find_classifier(name: &str) -> Result<&'static ClassifierEntry, UnknownName> {
    Entry::find(CLASSIFIERS, "loss classifier", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_makes_the_classifier_of_its_name_with_its_defaults() {
        for entry in classifiers() {
            let made = (entry.make)(&Options::new()).map(|factory| factory.make(&()).name());
            assert_eq!(made.unwrap_or("none"), entry.name);
        }
        let park_jang = find_classifier("park-jang").unwrap();
        let default = Some(ParkJangConfig::default().into());
        assert_eq!((park_jang.make)(&Options::new()), measured(default));
        let k = Options::new().with(&K, 8000);
        assert_eq!((park_jang.make)(&k), measured(Some(ParkJangConfig { twice_k: 16 }.into())));
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one() {
        let text = find_classifier("park-yang").unwrap_err().to_string();
        assert!(text.contains("no loss classifier") && text.contains("did you mean \"park-jang\""), "{text}");
    }
}
