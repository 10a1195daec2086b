//! Error counters of paths and association (RFC 9260 §8.1, §8.2), and the path states they lead to
//! (RFC 7829).

use msctp_units::{Span, Time};

use super::{Path, PathAddr, PathEvent, PathId, PathState, Paths};

/// What is known of a path when an error is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The path answered lately, so it lost a packet and has not failed. The error counts (RFC 9260 §8.2),
    /// but data does not leave the path for it. RFC 7829 §3.2 would have it potentially failed, and active
    /// again with the next acknowledgement.
    Answers,
    /// The path did not answer.
    Silent,
}

/// Most answers to HEARTBEATs in a row that revive a path, as a power of two.
const MOST_DOUBT: u8 = 6;

/// Failures of a path to deliver data, between which answers to HEARTBEATs revived it.
///
/// A network may pass nothing else: an observer decides, or a queue drops large packets. Each time that data
/// finds the path dead, it takes twice as many answers until data may go there again, while another path
/// works.
#[derive(Debug, Default)]
pub(super) struct Doubt {
    /// Bytes acknowledged on the path at the last failure, plus 1, modulo 2^32; 0 before the first.
    acked: u32,
    /// Failures since something was acknowledged, at most [`MOST_DOUBT`].
    failures: u8,
    /// Answers since the last failure.
    answers: u8,
}

impl Doubt {
    /// Records that data found the path dead. `acked`: bytes acknowledged there so far.
    fn on_failure(&mut self, acked: u64) {
        let acked = (acked as u32).wrapping_add(1);
        let again = self.acked == acked;
        self.failures = if again { (self.failures + 1).min(MOST_DOUBT) } else { 0 };
        (self.acked, self.answers) = (acked, 0);
    }

    /// Returns whether an answer revived the path and data then failed there.
    pub(super) fn is_founded(&self) -> bool {
        self.failures > 0
    }

    /// Records an answer. Returns whether they are enough.
    fn on_answer(&mut self) -> bool {
        self.answers = self.answers.saturating_add(1);
        self.answers >= 1 << self.failures
    }
}

/// Consecutive timeouts of user data.
#[derive(Debug, Default)]
pub(super) struct DataTimeouts {
    count: u32,
    /// Time of the first.
    since: Time,
}

impl Paths {
    /// Counts a timeout of user data, or of a question for credit. Reports
    /// [`PathEvent::DataUnacknowledged`] after more than Association.Max.Retrans in as many RTO.Max.
    ///
    /// An association whose DATA is lost while its HEARTBEATs are answered would never end: somebody on the
    /// way deletes larger packets, or the peer acknowledges nothing. The time gives a path that is revived
    /// again and again, with a short RTO, as much patience as one that backs off.
    ///
    /// RFC 9260 §8.1: "The receiver of the HEARTBEAT ACK chunk MAY choose not to clear the counter if there
    /// is outstanding data on the association."
    pub(crate) fn count_data_timeout(&mut self, now: Time) {
        let limit = self.config.assoc_max_retrans;
        let patience = self.config.rto.max * u64::from(limit);
        let timeouts = &mut self.data_timeouts;
        if timeouts.count == 0 {
            timeouts.since = now;
        }
        timeouts.count = timeouts.count.saturating_add(1);
        let after = now.since(timeouts.since);
        if timeouts.count > limit && after >= patience {
            self.emit(PathEvent::DataUnacknowledged { after });
        }
    }

    /// Clears the count of timeouts of user data: the peer received some and has no room for it, or lacks the
    /// COOKIE ACK and may not answer it yet (RFC 9260 §5.1 C).
    pub(crate) fn on_data_refused(&mut self) {
        self.data_timeouts.count = 0;
    }

    /// Counts an unanswered request on the path and backs off its RTO (T4-rto, RFC 5061 §5.1 B1, B2;
    /// RFC 6525 §5.1.1).
    ///
    /// In other respects it is like [`on_timeout`](Self::on_timeout).
    pub(crate) fn on_request_timeout(&mut self, id: PathId) {
        self.on_timeout(id);
        if let Some(path) = self.get_mut(id) {
            path.rtt.back_off();
        }
    }

    /// Limits the back-off of every path at the end of the set-up (RFC 6298 §5.7).
    ///
    /// RFC 9260 §6.3.2 R1 starts T3-rtx with the RTO "after any doubling due to previous T3-rtx timer
    /// expirations", not those of T1. An RTO of minutes would outlast the patience of a peer that waits for
    /// data.
    pub(crate) fn limit_back_off(&mut self, limit: Span, now: Time) {
        for path in &mut self.list {
            path.limit_back_off(limit, now);
        }
    }

    /// Counts an expiration of T3-rtx (RFC 9260 §8.2) or T4-rto (RFC 5061 §5.1 B1, B2) on the path.
    ///
    /// The error counts for the path and the association. The caller backs off the RTO.
    pub(crate) fn on_timeout(&mut self, id: PathId) {
        self.on_t3_timeout(id, Evidence::Silent);
    }

    /// As [`on_timeout`](Self::on_timeout), on a path that may have answered lately.
    pub(crate) fn on_t3_timeout(&mut self, id: PathId, evidence: Evidence) {
        if let Some(index) = self.index(id) {
            // RFC 8899 §4.3: the packet may have been too large
            let event = self.list[index].suspect_pmtu();
            self.emit_all(event);
            let was_active = self.list[index].state == PathState::Active;
            self.count_path_error(index, evidence);
            let path = &mut self.list[index];
            if was_active && path.state != PathState::Active {
                path.doubt.on_failure(path.bytes_acked);
            }
        }
        // RFC 9260 §8.1. Counted even if the path was removed: the peer did not answer.
        self.count_assoc_error();
    }

    /// Clears both counters after the acknowledgement of data sent on this path alone, or of a request
    /// (RFC 5061 §5.1 A5).
    ///
    /// An inactive or potentially failed path becomes active (RFC 9260 §8.1, §8.2, RFC 7829 §3.2).
    #[inline]
    pub(crate) fn on_acknowledged(&mut self, id: PathId) {
        self.assoc_error_count = 0;
        let Some(index) = self.index(id) else { return };
        let path = &mut self.list[index];
        path.error_count = 0;
        if path.state != PathState::Active && path.confirmed {
            self.set_state(index, PathState::Active);
        }
    }

    /// Records an answer to a HEARTBEAT on a path that is not active. Returns whether it becomes active.
    //= https://www.rfc-editor.org/rfc/rfc9260#section-8.3
    //= type=exception
    //= reason=a path that answers HEARTBEATs and delivers no data takes more than one answer while another
    //= reason=path works
    //# Upon the receipt of the HEARTBEAT ACK chunk, the sender of the HEARTBEAT chunk SHOULD clear the error
    //# counter of the destination transport address to which the HEARTBEAT chunk was sent and mark the
    //# destination transport address as active if it is not so marked.
    pub(super) fn is_revived(&mut self, index: usize) -> bool {
        let enough = self.list[index].doubt.on_answer();
        let id = self.list[index].id;
        enough || !self.list.iter().any(|other| other.id != id && other.is_usable())
    }

    /// Clears the association's counters after an acknowledgement of data on any path (RFC 9260 §8.1).
    ///
    /// [`on_acknowledged`](Self::on_acknowledged) credits a path. For data sent on several paths, RFC 9260
    /// §8.2 allows crediting none, and RFC 7829 §3.2 requires it. A chunk retransmitted on another path must
    /// not keep alive the path that lost it.
    #[inline]
    pub(crate) fn on_data_acknowledged(&mut self) {
        self.assoc_error_count = 0;
        self.data_timeouts.count = 0;
    }

    /// Clears the association's error counter after an answer that acknowledges no data.
    #[inline]
    pub(crate) fn clear_assoc_error_count(&mut self) {
        self.assoc_error_count = 0;
    }

    /// Confirms the path of a request if its answer arrived on the same pair (RFC 5061 §5.1 A5).
    ///
    /// `id` is the path of the last transmission, and `at` has the addresses of the answer. The remote
    /// address must be confirmed already. An interface that replaces another then needs no further round trip
    /// before it carries data.
    pub(crate) fn on_request_answered(&mut self, id: PathId, at: PathAddr, now: Time) {
        self.on_acknowledged(id);
        if self.get(id).is_some_and(|path| path.addr == at) && self.remote_is_confirmed(&at.remote) {
            self.confirm(id, now);
        }
    }

    /// Fails an unconfirmed path at whose remote address another endpoint than the peer's answers.
    ///
    /// It is verified at the rate of heartbeats from now on (RFC 9260 §5.4): the address may be the peer's
    /// from another network.
    pub(crate) fn fail_unconfirmed(&mut self, id: PathId, now: Time) {
        let unconfirmed = |index: &usize| self.list[*index].state == PathState::Unconfirmed;
        let Some(index) = self.index(id).filter(unconfirmed) else { return };
        let errors = self.config.path_max_retrans.saturating_add(1);
        let path = &mut self.list[index];
        (path.error_count, path.early) = (errors, 0);
        self.set_state(index, PathState::Inactive);
        self.postpone_heartbeat(index, now);
    }

    /// Returns the number of consecutive errors over all paths (RFC 9260 §8.1).
    pub(crate) fn assoc_error_count(&self) -> u32 {
        self.assoc_error_count
    }

    /// Counts an error for the association only.
    ///
    /// Used for T1 and T2, whose limits are the association's, for an unanswered heartbeat on the data path,
    /// and for unanswered questions for credit.
    pub(crate) fn count_assoc_error(&mut self) {
        let limit = self.config.assoc_max_retrans;
        // RFC 9260 §8.1: "exceeds"
        if self.assoc_error_count == limit {
            self.emit(PathEvent::PeerUnreachable);
        }
        self.assoc_error_count = self.assoc_error_count.saturating_add(1).min(limit.saturating_add(1));
    }

    /// Counts an error of a path. With `Evidence::Answers` the path does not become potentially failed.
    pub(super) fn count_path_error(&mut self, index: usize, evidence: Evidence) {
        let limit = self.config.path_max_retrans;
        let path = &mut self.list[index];
        path.error_count = path.error_count.saturating_add(1);
        let exceeds =
            |threshold: Option<u32>| threshold.is_some_and(|threshold| path.error_count > threshold);
        // RFC 9260 §8.2: "exceeds"
        if path.error_count > limit {
            self.set_state(index, PathState::Inactive);
        } else if path.state == PathState::Active
            && exceeds(self.config.failover.potentially_failed_threshold)
        {
            if evidence == Evidence::Answers {
                return;
            }
            // RFC 7829 §3.2
            self.set_state(index, PathState::PotentiallyFailed);
            self.heartbeat_every_rto(index);
        } else if path.state == PathState::PotentiallyFailed {
            // RFC 7829 §3.2: the potentially failed path with the fewest errors carries data
            self.refresh();
        }
        self.switch_over(index);
    }

    /// Makes the data path the primary if the primary has too many errors (RFC 7829 §5).
    fn switch_over(&mut self, index: usize) {
        let path = &self.list[index];
        let threshold = self.config.failover.primary_switchover_threshold;
        if Some(path.id) != self.primary || threshold.is_none_or(|threshold| path.error_count <= threshold) {
            return;
        }
        let alternate = self.data_path.filter(|&to| to != path.id);
        if let Some(to) = alternate.filter(|&to| self.get(to).is_some_and(Path::is_usable)) {
            self.emit(PathEvent::PrimarySwitchover { to });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{
        P0, P1, P2, P3, confirmed, confirmed_with, events, fail, heartbeats, local, ms, remote,
    };
    use super::super::{PathsConfig, SourceUse};
    use super::*;
    use crate::path::FailoverConfig;

    #[test]
    fn a_path_becomes_inactive_when_its_counter_exceeds_path_max_retrans() {
        // RFC 9260 §8.2
        let mut paths = confirmed(2, 1);
        for _ in 0..5 {
            paths.on_timeout(P0);
        }
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Active, "5 do not exceed 5");
        paths.on_timeout(P0);
        assert_eq!(
            events(&mut paths),
            [
                PathEvent::StateChanged { path: P0, from: PathState::Active, to: PathState::Inactive },
                PathEvent::DataPathChanged { from: Some(P0), to: Some(P1) },
            ]
        );
    }

    #[test]
    fn an_acknowledgement_clears_both_counters_and_revives_the_path() {
        // RFC 9260 §8.1, §8.2
        let mut paths = confirmed(1, 1);
        fail(&mut paths, P0);
        paths.on_timeout(P0);
        events(&mut paths);
        paths.on_acknowledged(P0);
        assert_eq!((paths.get(P0).unwrap().error_count(), paths.assoc_error_count()), (0, 0));
        assert_eq!(
            events(&mut paths),
            [PathEvent::StateChanged { path: P0, from: PathState::Inactive, to: PathState::Active }]
        );
    }

    #[test]
    fn the_peer_is_unreachable_when_the_common_counter_exceeds_its_limit() {
        // RFC 9260 §8.1: over all paths together
        let mut paths = confirmed(2, 1);
        for n in 0..10 {
            paths.on_timeout(if n % 2 == 0 { P0 } else { P1 });
        }
        assert_eq!(events(&mut paths), []);
        paths.on_timeout(P0);
        let told = events(&mut paths);
        assert_eq!(told.iter().filter(|event| **event == PathEvent::PeerUnreachable).count(), 1);
        paths.on_timeout(P0);
        assert!(!events(&mut paths).contains(&PathEvent::PeerUnreachable), "told once");
    }

    #[test]
    fn a_request_answered_over_the_same_pair_confirms_it_if_the_address_is() {
        // RFC 9260 §5.4 is about addresses
        let mut paths = confirmed(1, 1);
        let new = paths.add_local(local(1), SourceUse::AsconfOnly, ms(0)).unwrap()[0];
        let at = paths.get(new).unwrap().addr();
        paths.on_request_answered(new, paths.get(P0).unwrap().addr(), ms(1));
        assert!(!paths.get(new).unwrap().is_confirmed(), "answered over another pair");
        paths.on_request_answered(new, at, ms(1));
        assert!(paths.get(new).unwrap().is_confirmed());
        let stranger = paths.add_remote(remote(1), ms(2)).unwrap()[0];
        paths.on_request_answered(stranger, paths.get(stranger).unwrap().addr(), ms(3));
        assert!(!paths.get(stranger).unwrap().is_confirmed(), "the address was never verified");
    }

    #[test]
    fn a_timeout_on_a_removed_path_still_counts_for_the_association() {
        let mut paths = confirmed(1, 1);
        paths.on_timeout(P1);
        assert_eq!(paths.assoc_error_count(), 1);
    }

    fn quick(locals: u8, remotes: u8) -> Paths {
        let failover = FailoverConfig { potentially_failed_threshold: Some(0), ..FailoverConfig::default() };
        confirmed_with(PathsConfig { failover, ..PathsConfig::default() }, locals, remotes)
    }

    #[test]
    fn one_error_makes_a_path_potentially_failed_and_six_inactive() {
        // RFC 7829 §3.2, recommended threshold
        let mut paths = quick(2, 1);
        paths.on_timeout(P0);
        assert_eq!(
            events(&mut paths),
            [
                PathEvent::StateChanged {
                    path: P0,
                    from: PathState::Active,
                    to: PathState::PotentiallyFailed
                },
                PathEvent::DataPathChanged { from: Some(P0), to: Some(P1) },
            ]
        );
        for _ in 0..5 {
            paths.on_timeout(P0);
        }
        let inactive =
            PathEvent::StateChanged { path: P0, from: PathState::PotentiallyFailed, to: PathState::Inactive };
        assert_eq!(events(&mut paths), [inactive]);
    }

    /// It lost several retransmissions of one chunk, and acknowledges others.
    #[test]
    fn a_timeout_of_a_path_that_answers_counts_and_data_stays() {
        let mut paths = quick(2, 1);
        let path = paths.get_mut(P0).unwrap();
        path.answered = ms(900);
        let rto = path.rtt.rto();
        assert_eq!(path.evidence_at_t3(ms(901)), Evidence::Answers);
        assert_eq!(path.evidence_at_t3(ms(900) + rto / 2), Evidence::Silent);
        paths.on_t3_timeout(P0, Evidence::Answers);
        assert_eq!((paths.get(P0).unwrap().error_count(), paths.assoc_error_count()), (1, 1));
        assert_eq!((events(&mut paths), paths.data_path()), (vec![], Some(P0)));
        paths.on_t3_timeout(P0, Evidence::Silent);
        assert_eq!(paths.data_path(), Some(P1));
        (0..4).for_each(|_| paths.on_t3_timeout(P0, Evidence::Answers));
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Inactive, "RFC 9260 §8.2");
    }

    #[test]
    fn with_none_active_data_takes_the_potentially_failed_path_with_the_fewest_errors() {
        // RFC 7829 §3.2. P0 = 0-0, P1 = 1-0, P2 = 0-1, P3 = 1-1
        let mut paths = quick(2, 2);
        for (path, errors) in [(P0, 3), (P1, 2), (P2, 1), (P3, 2)] {
            (0..errors).for_each(|_| paths.on_timeout(path));
        }
        assert_eq!(paths.data_path(), Some(P2));
        assert_eq!(paths.retransmission_path(P0), Some(P2));
        paths.on_timeout(P2);
        paths.on_timeout(P2);
        assert_eq!(paths.data_path(), Some(P1), "of equals the most divergent one");
        assert_eq!(paths.retransmission_path(P0), Some(P3), "of equals the most divergent one");
        paths.set_link(&local(1), false, ms(1));
        assert_eq!(paths.data_path(), Some(P2), "of equals the one most different from that which was left");
    }

    #[test]
    fn an_ambiguous_acknowledgement_clears_only_the_associations_counter() {
        // RFC 7829 §3.2, RFC 9260 §8.1
        let mut paths = quick(2, 1);
        paths.on_timeout(P0);
        paths.on_data_acknowledged();
        assert_eq!((paths.get(P0).unwrap().error_count(), paths.assoc_error_count()), (1, 0));
        assert_eq!(paths.get(P0).unwrap().state(), PathState::PotentiallyFailed);
        paths.on_acknowledged(P0);
        assert_eq!(paths.get(P0).unwrap().state(), PathState::Active);
    }

    #[test]
    fn after_it_was_potentially_failed_a_path_is_monitored_as_before() {
        // RFC 9260 §8.3
        let mut paths = quick(1, 1);
        paths.start_heartbeats(ms(0));
        paths.on_timeout(P0);
        let sent = heartbeats(&mut paths, ms(1000));
        assert_eq!(sent.len(), 1, "at once");
        assert_eq!(paths.next_timeout(), Some(ms(2000)), "the answer is due within one RTO");
        // Data is acknowledged first.
        paths.on_acknowledged(P0);
        paths.on_heartbeat_ack(&sent[0].info, ms(1100));
        let next = paths.next_timeout().expect("HB.interval");
        assert!(next > ms(30_000) && next < ms(33_000), "{next:?}");
    }
}
