//! A build without the feature `tls`: there are no key managers.

use msctp_proto::{Event, Handle};
use msctp_units::Time;

use crate::state::State;

impl State {
    pub(crate) fn advance_keys(&mut self, _now: Time, _handle: Handle) {}
    pub(crate) fn note_key_message(&mut self, _now: Time, _handle: Handle) {}
    pub(crate) fn enter_set_up(&mut self, _handle: Handle, _remote: std::net::IpAddr) {}
    pub(crate) fn leave_set_up(&mut self, _handle: Handle, _proved: bool) {}
    pub(crate) fn finish_set_up(&mut self, _now: Time, _handle: Handle) {}
    pub(crate) fn note_evicted(&mut self, _handle: Handle) {}
    pub(crate) fn note_backlog_full(&mut self, _handle: Handle) {}
    pub(crate) fn restart_keys(&mut self, _now: Time, _handle: Handle) {}
    pub(crate) fn close_keys(&mut self, _handle: Handle) {}
    pub(crate) fn expire_keys(&mut self, _now: Time) {}
    pub(crate) fn end_keys(&mut self, _handle: Handle) {}
    pub(crate) fn note_refused(&mut self, _now: Time, _remote: std::net::SocketAddr) {}
    pub(crate) fn note_keys_differ(&mut self, _handle: Handle, _event: &Event) {}
    pub(crate) fn serve_set_ups(&mut self, _now: Time, _most: u32) -> u32 {
        0
    }

    pub(crate) fn next_set_up(&self) -> Option<Time> {
        None
    }

    pub(crate) fn time_out_keys(&mut self, _now: Time, _handle: Handle) {}
}
