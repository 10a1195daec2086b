//! [`PolicyFactory`]: makes the handover policy of each association.

use core::fmt;
use std::sync::Arc;

use super::{Conservative, HandoverPolicy};

type Make = dyn Fn() -> Box<dyn HandoverPolicy> + Send + Sync;

/// Makes the handover policy of each association. The default makes [`Conservative`].
///
/// ```
/// use msctp_proto::handover::{Conservative, PolicyFactory};
///
/// let factory = PolicyFactory::new(|| Box::new(Conservative));
/// assert_eq!(factory.make().name(), "conservative");
/// ```
#[derive(Clone, Default)]
pub struct PolicyFactory(Option<Arc<Make>>);

impl PolicyFactory {
    /// Creates a factory from a function that makes a policy.
    pub fn new(make: impl Fn() -> Box<dyn HandoverPolicy> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(make)))
    }

    /// Makes the policy of one association.
    pub fn make(&self) -> Box<dyn HandoverPolicy> {
        self.0.as_ref().map_or_else(|| Box::new(Conservative) as Box<dyn HandoverPolicy>, |make| make())
    }
}

/// Clones are equal, and so are factories whose policies print alike.
impl PartialEq for PolicyFactory {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(a), Some(b)) if Arc::ptr_eq(a, b) => true,
            _ => format!("{:?}", self.make()) == format!("{:?}", other.make()),
        }
    }
}

impl fmt::Debug for PolicyFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.make().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_conservative_and_equals_it_by_value() {
        let own = PolicyFactory::new(|| Box::new(Conservative));
        assert_eq!(PolicyFactory::default().make().name(), "conservative");
        assert_eq!(PolicyFactory::default(), own);
    }
}
