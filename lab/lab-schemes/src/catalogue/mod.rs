//! Schemes by name, with named options: what scenario files and command lines select.
//!
//! One mechanism for all kinds: an [`Entry`] has a name, a one-line summary and the [`OptionInfo`]s that it
//! reads, and makes a factory from the [`Options`] that are set. A program that selects nothing by name needs
//! none of this: it gives the core a typed value.

mod classifiers;
mod controllers;
mod entry;
mod options;

pub use classifiers::{ClassifierEntry, classifiers, find_classifier};
pub use controllers::{ControllerEntry, controllers, find_controller, window_controllers};
pub use entry::Entry;
pub use msctp_names::{UnknownName, suggest};
pub use options::{BadOption, OptionInfo, OptionKind, Options};
