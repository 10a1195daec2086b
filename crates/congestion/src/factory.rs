//! [`Factory`]: makes a controller for each path, or a loss classifier, from typed options or by a function.

use std::any::{Any, type_name};
use std::fmt;
use std::sync::Arc;

use crate::controller::{Controller, ControllerConfig};

/// Makes the congestion controller of each path.
///
/// From the options of a controller of this crate, or from a function:
///
/// ```
/// use msctp_congestion::{BbrConfig, ControllerFactory, Reno};
///
/// let bbr: ControllerFactory = BbrConfig { hystart: true, ..BbrConfig::default() }.into();
/// let own = ControllerFactory::new(|path| Box::new(Reno::new(path)));
/// assert_ne!(bbr, own);
/// ```
pub type ControllerFactory = Factory<ControllerConfig, dyn Controller>;

/// Makes a `T` from a `C`. Clones share one maker.
///
/// Two factories are equal if they have equal options of one type, or are clones of one function.
pub struct Factory<C, T: ?Sized>(Arc<dyn Maker<C, T>>);

/// Typed options that make a `T` from a `C`; [`Factory::of`] takes them.
pub trait Make<C, T: ?Sized>: fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Makes a controller or policy from these options.
    fn make(&self, config: &C) -> Box<T>;
}

impl<C: 'static, T: ?Sized + 'static> Factory<C, T> {
    /// Makes each `T` by calling `make`: for each path, and whenever options are checked.
    pub fn new(make: impl Fn(&C) -> Box<T> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Function(make)))
    }

    /// Makes each `T` from `options`.
    pub fn of(options: impl Make<C, T>) -> Self {
        Self(Arc::new(Typed(options)))
    }

    /// Makes an instance.
    pub fn make(&self, config: &C) -> Box<T> {
        self.0.make(config)
    }
}

impl<M: Make<ControllerConfig, dyn Controller>> From<M> for ControllerFactory {
    fn from(options: M) -> Self {
        Self::of(options)
    }
}

impl ControllerFactory {
    /// Makes the same controllers with this slow-start threshold before their first loss, in bytes, instead
    /// of an arbitrarily high one (RFC 9260 §7.2.1).
    #[must_use]
    pub fn with_initial_ssthresh(self, ssthresh: u64) -> Self {
        Self::of(InitialSsthresh { controller: self, ssthresh })
    }
}

/// Options of a controller that begins with a slow-start threshold.
#[derive(Debug, PartialEq)]
struct InitialSsthresh {
    controller: ControllerFactory,
    ssthresh: u64,
}

impl Make<ControllerConfig, dyn Controller> for InitialSsthresh {
    fn make(&self, config: &ControllerConfig) -> Box<dyn Controller> {
        let ssthresh = Some(self.ssthresh);
        self.controller.make(&ControllerConfig { initial_ssthresh: ssthresh, ..*config })
    }
}

impl<C, T: ?Sized> Clone for Factory<C, T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: 'static, T: ?Sized + 'static> PartialEq for Factory<C, T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.is_same(&*other.0)
    }
}

impl<C: 'static, T: ?Sized + 'static> Eq for Factory<C, T> {}

/// Writes the options, or the function's type if there are no options.
impl<C, T: ?Sized> fmt::Debug for Factory<C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// [`Make`] or a function, with its type erased.
trait Maker<C, T: ?Sized>: Any + fmt::Debug + Send + Sync {
    fn make(&self, config: &C) -> Box<T>;
    fn is_same(&self, other: &dyn Any) -> bool;
}

#[derive(Debug)]
struct Typed<M>(M);

impl<C, T: ?Sized, M: Make<C, T>> Maker<C, T> for Typed<M> {
    fn make(&self, config: &C) -> Box<T> {
        self.0.make(config)
    }

    fn is_same(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| other.0 == self.0)
    }
}

struct Function<F>(F);

impl<C, T: ?Sized, F: Fn(&C) -> Box<T> + Send + Sync + 'static> Maker<C, T> for Function<F> {
    fn make(&self, config: &C) -> Box<T> {
        (self.0)(config)
    }

    fn is_same(&self, _other: &dyn Any) -> bool {
        false
    }
}

impl<F> fmt::Debug for Function<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<F>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BbrConfig, CubicConfig, IpVersion, RenoConfig, Rfc9260, Rfc9260Config};

    #[test]
    fn options_make_the_controller_they_are_named_after() {
        let path = ControllerConfig::rfc9260(1452, IpVersion::V4);
        let factories: [(ControllerFactory, &str); 4] = [
            (Rfc9260Config::default().into(), "rfc9260"),
            (RenoConfig::default().into(), "reno"),
            (CubicConfig::default().into(), "cubic"),
            (BbrConfig::default().into(), "bbr"),
        ];
        for (factory, name) in factories {
            assert_eq!(factory.make(&path).name(), name);
            assert!(format!("{factory:?}").to_lowercase().contains(name), "{factory:?}");
        }
    }

    #[test]
    fn an_initial_ssthresh_reaches_the_controller() {
        let path = ControllerConfig::rfc9260(1452, IpVersion::V4);
        let plain = ControllerFactory::from(CubicConfig::default());
        let limited = |ssthresh| plain.clone().with_initial_ssthresh(ssthresh);
        assert_eq!(plain.make(&path).window().ssthresh, u64::MAX);
        assert_eq!(limited(20_000).make(&path).window().ssthresh, 20_000);
        assert!(limited(1) == limited(1) && limited(1) != limited(2) && limited(1) != plain);
    }

    #[test]
    fn equal_are_the_same_options_and_clones_of_a_function() {
        let own = || -> ControllerFactory { ControllerFactory::new(|path| Box::new(Rfc9260::new(path))) };
        let (a, b) = (own(), own());
        assert!(a == a.clone() && a != b && a != ControllerFactory::default());
        let cubic = |beta| ControllerFactory::from(CubicConfig { beta, ..CubicConfig::default() });
        assert!(cubic(700) == cubic(700) && cubic(700) != cubic(800));
        assert_ne!(ControllerFactory::from(RenoConfig::default()), cubic(700));
    }
}
