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
pub struct PolicyFactory(Choice);

#[derive(Clone, Default)]
enum Choice {
    #[default]
    Conservative,
    Deployed,
    Own(Arc<Make>),
}

impl PolicyFactory {
    /// Creates a factory from a function that makes a policy. Factories are compared by the `Debug` texts of
    /// their policies, which must call no endpoint.
    pub fn new(make: impl Fn() -> Box<dyn HandoverPolicy> + Send + Sync + 'static) -> Self {
        Self(Choice::Own(Arc::new(make)))
    }

    /// Creates a factory of the policy that the driver deploys, which the core does not know: `Anticipate` in
    /// the crate `msctp`. [`Conservative`] where the driver has none.
    pub const fn deployed() -> Self {
        Self(Choice::Deployed)
    }

    /// Returns the driver's factory for [`deployed`](Self::deployed), and this one otherwise.
    #[must_use]
    pub fn deploying(self, driver: impl FnOnce() -> Self) -> Self {
        match self.0 {
            Choice::Deployed => driver(),
            Choice::Conservative | Choice::Own(_) => self,
        }
    }

    /// Makes the policy of one association.
    pub fn make(&self) -> Box<dyn HandoverPolicy> {
        match &self.0 {
            Choice::Conservative | Choice::Deployed => Box::new(Conservative),
            Choice::Own(make) => make(),
        }
    }
}

/// Clones are equal, and so are factories whose policies print alike.
impl PartialEq for PolicyFactory {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Choice::Conservative, Choice::Conservative) | (Choice::Deployed, Choice::Deployed) => true,
            (Choice::Deployed, _) | (_, Choice::Deployed) => false,
            (Choice::Own(a), Choice::Own(b)) if Arc::ptr_eq(a, b) => true,
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
        assert_eq!(PolicyFactory::deployed().make().name(), "conservative", "no driver");
        assert_ne!(PolicyFactory::deployed(), own);
        assert_eq!(PolicyFactory::deployed().deploying(|| own.clone()), own);
        for chosen in [PolicyFactory::default(), own] {
            assert_eq!(chosen.clone().deploying(PolicyFactory::deployed), chosen);
        }
    }
}
