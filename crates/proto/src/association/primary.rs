//! The primary path: its change, and the window with which data starts on a path.

use msctp_congestion::Measured;
use msctp_units::Time;

use super::Association;
use super::policy::view_of;
use crate::addr::PathId;
use crate::call_error::CallError;
use crate::event::Event;
use crate::handover::PathView;
use crate::path::SetPrimaryError;
use crate::stats::AssociationState as State;
use crate::trace::{PrimaryCause, TraceKind};

impl Association {
    /// Sends new data to `path` from now on (RFC 9260 §11.1.6).
    ///
    /// # Errors
    ///
    /// There is no such path, it is not confirmed, or the association is closed.
    pub fn set_primary(&mut self, now: Time, path: PathId) -> Result<(), CallError> {
        self.choose_primary(now, path, PrimaryCause::Local)
    }

    /// Sends new data to `path` from now on, for this reason.
    pub(crate) fn choose_primary(
        &mut self,
        now: Time,
        path: PathId,
        cause: PrimaryCause,
    ) -> Result<(), CallError> {
        if self.state == State::Closed {
            return Err(CallError::WrongState { state: self.state });
        }
        self.switch_primary(now, path, cause).map_err(|error| match error {
            SetPrimaryError::Unknown(path) => CallError::UnknownPath(path),
            SetPrimaryError::Unconfirmed(path) => CallError::UnconfirmedPath(path),
        })?;
        self.after_change(now);
        Ok(())
    }

    /// Makes `path` the primary; the policy sets its starting window.
    pub(super) fn switch_primary(
        &mut self,
        now: Time,
        path: PathId,
        cause: PrimaryCause,
    ) -> Result<(), SetPrimaryError> {
        let old = self.primary_view();
        self.paths.set_primary(path)?;
        self.after_switch(now, old, cause);
        Ok(())
    }

    /// Reports a change of the primary. `old` is the primary before the change.
    pub(super) fn after_switch(&mut self, now: Time, old: Option<PathView>, cause: PrimaryCause) {
        let (Some(old), Some(new)) = (old, self.primary_view()) else { return };
        if old.id == new.id {
            return;
        }
        self.report_primary(now, old.id, new.id, cause);
        let start =
            self.ask_policy(now, |policy, view, actions| policy.on_primary_switch(&old, &new, view, actions));
        if let Some(start) = start.flatten()
            && let joined = self.paths.is_aggregating()
            // A path that carries data already keeps its window.
            && let Some(path) = self.paths.get_mut(new.id).filter(|path| !joined || !path.has_carried_data())
        {
            path.controller.start(&start);
            let window = path.controller.window();
            let kind = TraceKind::StartState { path: new.id, cwnd: window.cwnd, ssthresh: window.ssthresh };
            self.tracer.push(now, kind);
        }
    }

    fn report_primary(&mut self, now: Time, from: PathId, to: PathId, cause: PrimaryCause) {
        self.handover.reported = Some(to);
        // The paths on which no INIT was answered go with the INIT ACK: nothing has moved.
        if !self.is_setting_up() {
            self.events.push(Event::PrimaryChanged { path: to, cause });
        }
        self.tracer.push(now, TraceKind::Primary { from, to, cause });
    }

    /// Reports the data path if the last report named another one. `from` is the data path before the first
    /// report.
    ///
    /// Uses the current data path, not that of a queued change, which a switch may have overtaken.
    pub(super) fn report_data_path(&mut self, now: Time, from: Option<PathId>) {
        if let Some(to) = self.paths.data_path()
            && let Some(from) = self.handover.reported.or(from)
            && from != to
            && self.state != State::Closed
        {
            self.report_primary(now, from, to, PrimaryCause::Failover);
            self.outbound.leave_failed_paths(now, to, &mut self.paths);
        }
    }

    /// Returns the policy's view of the primary path.
    pub(super) fn primary_view(&self) -> Option<PathView> {
        let primary = self.paths.primary().and_then(|primary| self.paths.get(primary))?;
        Some(view_of(primary))
    }

    /// Sets the window of a path at the policy's request.
    pub(super) fn adjust_window(&mut self, now: Time, path: PathId, cwnd: u64, ssthresh: u64) {
        let Some(path) = self.paths.get_mut(path) else { return };
        path.controller.adjust(cwnd.max(u64::from(path.pmdcs())), ssthresh);
        let (path, cwnd) = (path.id(), path.controller.window().cwnd);
        self.tracer.push(now, TraceKind::Adjusted { path, cwnd, ssthresh });
    }

    /// Restarts a path's controller with a measurement of the policy.
    pub(super) fn resume_path(&mut self, now: Time, path: PathId, measured: &Measured) {
        let Some(path) = self.paths.get_mut(path).filter(|_| !measured.bandwidth.is_zero()) else { return };
        path.controller.resume(measured, path.flight_size);
        let window = path.controller.window();
        let (path, cwnd, ssthresh) = (path.id(), window.cwnd, window.ssthresh);
        self.tracer.push(now, TraceKind::StartState { path, cwnd, ssthresh });
    }
}
